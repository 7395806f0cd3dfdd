"use strict";
// Ties lines to instructions. Without it the page can be read, and its links lead to both.

const detail = document.getElementById("detail");
const words = JSON.parse(detail.dataset.words);
const rows = [...document.querySelectorAll(".row")];
const lines = [...document.querySelectorAll(".lines li")];
const linesOf = new Map(rows.map((row) => [row, JSON.parse(row.dataset.lines)]));
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** Highlights rows and lines, and nothing else. */
function light(found) {
  for (const one of document.querySelectorAll(".on")) one.classList.remove("on");
  for (const one of found) one.classList.add("on");
}

function reveal(one) {
  one?.scrollIntoView({ block: "nearest", behavior: calm.matches ? "auto" : "smooth" });
}

function lineOf(row) {
  const [number] = linesOf.get(row);
  return number === undefined ? null : document.getElementById(`L${number}`);
}

function madeOf(line) {
  const number = Number(line.id.slice(1));
  return rows.filter((row) => linesOf.get(row).includes(number));
}

function pickRow(row) {
  const line = lineOf(row);
  light(line ? [row, line] : [row]);
  reveal(line);
  const taken = row.dataset.live ? row.dataset.live.split(" ") : [];
  const said = words.taken.replace("{count}", taken.filter((one) => one[0] === "R").length);
  detail.textContent = `${row.querySelector(".instruction").textContent}: ${said} ${taken.join(" ")}`;
}

function pickLine(line) {
  const made = madeOf(line);
  light([line, ...made]);
  reveal(made[0]);
  detail.textContent = `${words.made.replace("{line}", line.id.slice(1))} ${made.length}`;
}

function clear() {
  light([]);
  detail.textContent = words.keys;
}

/** What of a line or a row has the focus. */
const stopOf = (one) => (one.matches(".row") ? one : one.firstElementChild);

/** One stop of the tab key for a list; arrows lead through it, Enter to the other side. */
function walk(list, pick, across) {
  let current = list[0];
  const go = (one) => {
    stopOf(current).tabIndex = -1;
    current = one;
    stopOf(current).tabIndex = 0;
    stopOf(current).focus();
    pick(current);
  };
  for (const one of list) {
    stopOf(one).tabIndex = -1;
    one.addEventListener("click", (event) => {
      event.preventDefault();
      go(one);
    });
    one.addEventListener("keydown", (event) => {
      const at = list.indexOf(one);
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: list.length - 1 }[event.key];
      if (event.key === "Enter") across(one);
      else if (list[to]) go(list[to]);
      else return;
      event.preventDefault();
    });
  }
  if (current) stopOf(current).tabIndex = 0;
  return go;
}

const made = lines.filter((one) => one.matches(".made"));
const goRow = walk(rows, pickRow, (row) => lineOf(row) && goLine(lineOf(row)));
const goLine = walk(made, pickLine, (line) => goRow(madeOf(line)[0]));
// Where the source scrolls by itself it begins with the kernel.
if (made[0]) made[0].closest("section").scrollTop = made[0].offsetTop - 80;

for (const link of document.querySelectorAll(".cited a")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const row = document.getElementById(link.hash.slice(1));
    if (row) goRow(row);
    reveal(row);
  });
}

for (const button of document.querySelectorAll("[data-show]")) {
  button.addEventListener("click", () => {
    const found = JSON.parse(button.dataset.show).map((id) => document.getElementById(id));
    const shown = found.filter(Boolean);
    light([...shown, ...shown.map(lineOf).filter(Boolean)]);
    reveal(shown[0]);
    reveal(shown[0] && lineOf(shown[0]));
  });
}

for (const button of document.querySelectorAll("[data-role]")) {
  button.addEventListener("click", () => {
    const pressed = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(pressed));
    const marked = rows.filter((row) => row.matches(`.role-${button.dataset.role}`));
    for (const row of marked) row.classList.toggle("marked", pressed);
    if (pressed) reveal(marked[0]);
  });
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") clear();
});
