"""The page of a kernel: its source beside its machine code, and what is said about them.

Knows a record of a kernel as plain values; draws no conclusions.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from oneread.report.document import data, document, element
from oneread.report.machine_code import anchor, lines_of, rows, taken_registers
from oneread.report.words import Words, words

Record = dict[str, Any]

_ADDRESS: Final = re.compile(r"0x[0-9a-f]{4,}")


def kernel_page(record: Record) -> str:
    """Return the page of a kernel.

    Parameters
    ----------
    record : dict
        What the explainer found out, of schema 1, with its story.

    Returns
    -------
    str
        An HTML document without any reference to the outside; readable without its script.
    """
    here = Path(__file__)
    said = words(record["language"])
    style = here.with_name("kernel_page.css").read_text("utf-8") + _widths(record)
    body = [
        *_head(record, said),
        "<main>",
        *_source(record, said),
        *_code(record, said),
        *_story(record, said),
        "</main>",
        element(
            "p",
            html.escape(said("keys")),
            {"id": "detail", "role": "status", "data-words": data(_detail_words(said))},
        ),
    ]
    title = f"{record['kernel']}, {record['arch']}"
    script = here.with_name("kernel_page.js").read_text("utf-8")
    return document(title, record["language"], style, script, body)


def _widths(record: Record) -> str:
    """Return a width for each number of registers: the policy forbids styles at an element."""
    counts = {taken_registers(one) for one in record["instructions"]}
    most = max(counts, default=1) or 1
    return "".join(f".taken{n} i{{width:{100 * n / most:.0f}%}}" for n in sorted(counts))


def _detail_words(said: Words) -> dict[str, str]:
    """Return what the script says of a line or an instruction; it fills the gaps itself."""
    return {
        "keys": said("keys"),
        "taken": said("taken", count="{count}"),
        "made": said("made", line="{line}"),
    }


def _head(record: Record, said: Words) -> Iterator[str]:
    resources = record["resources"]
    facts = [record["arch"], *record["flags"]]
    facts += [f"{name}={value}" for name, value in record["defines"].items()]
    facts.append(said("instructions", count=len(record["instructions"])))
    if resources["registers"] is not None:
        facts.append(said("registers", count=resources["registers"]))
    if resources["shared_bytes"] is not None:
        facts.append(said("shared", count=resources["shared_bytes"]))
    yield "<header>"
    yield element("h1", html.escape(record["kernel"]))
    yield element("p", " · ".join(map(html.escape, facts)), {"class": "facts"})
    parts = ("source", "code", "story")
    links = "".join(element("a", html.escape(said(one)), {"href": f"#{one}"}) for one in parts)
    yield element("nav", links, {"aria-label": said("parts")})
    counts = Counter(one["role"] for one in record["instructions"])
    buttons = "".join(
        element(
            "button",
            f"{html.escape(said.role(role))} <small>{counts[role]}</small>",
            {"type": "button", "class": f"role-{role}", "data-role": role, "aria-pressed": "false"},
        )
        for role in said.roles
        if counts[role]
    )
    yield element("div", buttons, {"class": "legend", "role": "group", "aria-label": said("roles")})
    if any("control" in one for one in record["instructions"]):
        box = '<input type="checkbox" id="bits">'
        yield element("label", f"{box} {html.escape(said('bits'))}", {"class": "bits-box"})
        yield element("p", html.escape(said("bits_help")), {"class": "bits-help"})
    yield "</header>"


def _source(record: Record, said: Words) -> Iterator[str]:
    """Yield the source, each line with the number of instructions that it became."""
    yield '<section id="source" aria-labelledby="source-head">'
    yield element("h2", html.escape(said("source")), {"id": "source-head"})
    if record["source"] is None:
        yield element("p", html.escape(said("no_source"))) + "</section>"
        return
    made: dict[int, list[Record]] = {}
    for one in record["instructions"]:
        for line in lines_of(record, one):
            made.setdefault(line, []).append(one)
    yield '<ol class="lines">'
    for number, text in enumerate(record["source"]["text"].splitlines(), 1):
        found = made.get(number, [])
        code = element("code", html.escape(text) or " ")
        if found:
            first = found[0]["at"]
            link = {"href": f"#{anchor(first)}", "aria-label": said("line") + f" {number}"}
            count = element("small", str(len(found)))
            yield element(
                "li",
                element("a", str(number), link) + code + count,
                {"id": f"L{number}", "class": "made"},
            )
        else:
            yield element("li", f"<span>{number}</span>{code}", {"id": f"L{number}"})
    yield "</ol></section>"


def _code(record: Record, said: Words) -> Iterator[str]:
    yield '<section id="code" aria-labelledby="code-head">'
    yield element("h2", html.escape(said("code")), {"id": "code-head"})
    yield '<div role="grid" class="rows" aria-labelledby="code-head">'
    yield from rows(record, said)
    yield "</div></section>"


def _story(record: Record, said: Words) -> Iterator[str]:
    yield '<section id="story" aria-labelledby="story-head">'
    yield element("h2", html.escape(said("story")), {"id": "story-head"})
    texts = {one["at"]: one["text"] for one in record["instructions"]}
    for number, section in enumerate(record["story"], 1):
        yield element("h3", f"{number}. {html.escape(section['heading'])}")
        for sentence in section["sentences"]:
            yield element("p", html.escape(sentence["text"]) + _cited(sentence, said))
            if sentence["quotes"]:
                quoted = (f"{at:04x}  {texts[at]}" for at in sentence["quotes"])
                yield element("pre", html.escape("\n".join(quoted)))
        if section["table"]:
            yield from _table(section["table"])
    yield "</section>"


def _cited(sentence: Record, said: Words) -> str:
    """Return where a sentence can be seen: links, and a button that marks all of it."""
    if not sentence["cites"]:
        return ""
    links = _ADDRESS.sub(
        lambda found: element("a", found[0], {"href": f"#{anchor(int(found[0], 16))}"}),
        html.escape(sentence["cited"]),
    )
    places = [anchor(at) for at in sentence["cites"]]
    label = html.escape(said("show", count=len(set(places))))
    shows = {"type": "button", "data-show": data(list(dict.fromkeys(places)))}
    return " " + element("span", f"{links} {element('button', label, shows)}", {"class": "cited"})


def _table(table: Record) -> Iterator[str]:
    yield '<div class="scroll" tabindex="0" role="group"><table><thead>'
    yield _cells(table["columns"], "th") + "</thead><tbody>"
    yield from (_cells(row, "td") for row in table["rows"])
    yield "</tbody></table></div>"


def _cells(texts: Iterable[str], tag: str) -> str:
    return element("tr", "".join(element(tag, html.escape(one)) for one in texts))
