"""The report: one HTML file with verdicts, figures, tables, machines and commands.

Knows what tables and figures say, not how they were made. Nothing is fetched, no script runs.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from oneread.report.document import document, element
from oneread.report.paper import tables
from oneread.report.paper.claims import FAILS, HOLDS, NOT_HERE, PART, RULE, Finding
from oneread.report.paper.machines import Machine

_TITLE: Final = "What the paper said, what was measured"
_CLASSES: Final = {HOLDS: "holds", PART: "part", FAILS: "fails", NOT_HERE: "none"}
_SIGNS: Final = {HOLDS: "●", PART: "◐", FAILS: "○", NOT_HERE: "-"}

#: What stands under each figure.
CAPTIONS: Final = {
    "claims": "Each claim about time: the paper's number as a bar, what was measured as marks.",
    "map": "Above 1 the best peer takes longer than oneread; below 1 it is faster. Blue: we are "
    "ahead. Orange, and in bold: we are behind. Grey: within 5 %.",
    "memory": "The way that people write it keeps several arrays of the size of the logits; one "
    "read keeps none. A cross is a run that ended for want of memory.",
    "softmax": "The same data in the same run for all; the dotted line is what the paper says. "
    "The broad line is plain traffic of the same bytes, which nothing that reads x once and "
    "writes y once can pass, unless caches hold the data.",
    "softmax_topk": "Above the line, faster than safe softmax followed by top-k.",
    "table_of_k": "Each lane keeps its own k best, so the work grows with k.",
    "roofline": "Bytes of x and y, each counted once. Above the roof the data were in caches.",
    "large_k": "Time of a call, ours beside the fastest peer that is right.",
}


def page(machines: Sequence[Machine], drawn: Mapping[str, str], command: str) -> str:
    """Return the report.

    Parameters
    ----------
    machines : sequence of Machine
        What was measured.
    drawn : mapping of str to str
        SVG of each figure, by name.
    command : str
        What rebuilds the report.

    Returns
    -------
    str
        An HTML document without any reference to the outside.
    """
    style = Path(__file__).with_name("page.css").read_text("utf-8")
    body = [
        "<main>",
        *_head(machines),
        *_figures(drawn, ("claims",)),
        *_claims(machines),
        *_figures(drawn, [name for name in CAPTIONS if name != "claims"]),
        *_losses(machines),
        *_numbers(machines),
        *_memory(machines),
        *_made(machines, command),
        "</main>",
    ]
    return document(_TITLE, "en", style, "", body, images=True)


def _head(machines: Sequence[Machine]) -> Iterator[str]:
    yield element("h1", _TITLE)
    said = (
        "The claims of Milakov and Gimelshein, Online normalizer calculation for softmax "
        "(2018, on a Tesla V100), beside what was measured on "
        f"{', '.join(machine.name for machine in machines)}."
    )
    yield element("p", html.escape(said), {"class": "lead"})
    answers = "".join(element("li", html.escape(one)) for one in tables.answers(machines))
    yield element("ul", answers, {"class": "answers"})
    cards = []
    for where, counts in tables.verdicts(machines).items():
        shown = [verdict for verdict in _CLASSES if counts[verdict]]
        parts = "".join(
            element("span", _counted(text, _SIGNS[verdict]), {"class": _CLASSES[verdict]})
            for verdict, text in zip(shown, tables.counted_verdicts(counts), strict=True)
        )
        cards.append(element("div", element("h3", html.escape(where)) + parts, {"class": "score"}))
    yield element("div", "".join(cards), {"class": "scores"})


def _counted(text: str, sign: str) -> str:
    number, _, verdict = text.partition(" ")
    return f"<b>{number}</b>{sign} {html.escape(verdict)}"


def _figures(drawn: Mapping[str, str], names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if name in drawn:
            data = base64.b64encode(drawn[name].encode()).decode()
            source = {"src": f"data:image/svg+xml;base64,{data}", "alt": CAPTIONS[name]}
            image = f"<img{_attributes(source)}>"
            caption = element("figcaption", html.escape(CAPTIONS[name]))
            yield element("figure", image + caption, {"id": f"figure-{name}"})


def _attributes(given: Mapping[str, str]) -> str:
    return "".join(f' {name}="{html.escape(value)}"' for name, value in given.items())


def _claims(machines: Sequence[Machine]) -> Iterator[str]:
    yield element("h2", "The claims", {"id": "claims"})
    yield element("p", html.escape(RULE), {"class": "lead"})
    yield from _claim_table(tables.timed(machines), [one.short for one in tables.judged(machines)])
    yield element("h3", "Claims that need no clock")
    yield from _claim_table(tables.counted(machines), [tables.EVERYWHERE])


def _claim_table(lines: Sequence[tables.Line], places: Sequence[str]) -> Iterator[str]:
    head = "".join(element("th", html.escape(one)) for one in ("claim", "the paper", *places))
    rows = [element("tr", head)]
    for line in lines:
        cells = [element("td", html.escape(line.said)), element("td", html.escape(line.figure))]
        cells += [element("td", _finding(line.found[place])) for place in places]
        rows.append(element("tr", "".join(cells)))
    table = element("table", "".join(rows), {"class": "claims"})
    yield element("div", table, {"class": "scroll", "tabindex": "0", "role": "group"})


def _finding(finding: Finding) -> str:
    verdict = element(
        "span",
        f"{_SIGNS[finding.verdict]} {html.escape(finding.verdict)}",
        {"class": f"verdict {_CLASSES[finding.verdict]}"},
    )
    measured = "" if finding.measured == "-" else f"<br>{html.escape(finding.measured)}"
    return verdict + measured + element("span", html.escape(finding.why), {"class": "why"})


def _losses(machines: Sequence[Machine]) -> Iterator[str]:
    yield element("h2", "Where we lose", {"id": "losses"})
    table = tables.losses_table(machines)
    if len(table) > 1:
        yield _numbers_table(table)
    else:
        yield element("p", "In no case that was timed.", {"class": "lead"})


def _numbers(machines: Sequence[Machine]) -> Iterator[str]:
    yield element("h2", "The paper's figures as numbers", {"id": "numbers"})
    yield element(
        "p",
        "The first column of numbers is the time of the base in microseconds, the others say how "
        "many times as fast the rest is.",
        {"class": "lead"},
    )
    for machine in machines:
        for op, k, base in (("softmax", None, "safe"), ("softmax_topk", 5, "safe_unfused")):
            for rows in (4000, 10):
                table = tables.figure_table(machine, op, rows, k, base)
                what = f"{machine.short}, {op.replace('_', ' and ')}, {rows} rows"
                yield from _folded(what, table)
        yield from _folded(f"{machine.short}, the table of K", tables.k_table(machine))


def _memory(machines: Sequence[Machine]) -> Iterator[str]:
    yield element("h2", "Memory", {"id": "memory"})
    for machine in machines:
        yield from _folded(f"{machine.short}, peak memory", tables.memory_table(machine))
    yield element("h3", "Bytes that the memory moved, by hardware counters")
    for machine in machines:
        remark = f"{machine.short}. {tables.dram_remark(machine)}"
        yield element("p", html.escape(remark), {"class": "lead"})
        if len(table := tables.dram_table(machine)) > 1:
            yield _numbers_table(table)


def _folded(title: str, table: tables.Table) -> Iterator[str]:
    if len(table) > 1:
        yield element("details", element("summary", html.escape(title)) + _numbers_table(table))


def _numbers_table(table: tables.Table) -> str:
    head, *lines = table
    rows = [element("tr", "".join(element("th", html.escape(cell)) for cell in head))]
    rows += [
        element("tr", "".join(element("td", html.escape(cell)) for cell in line)) for line in lines
    ]
    made = element("table", "".join(rows), {"class": "numbers"})
    return element("div", made, {"class": "scroll", "tabindex": "0", "role": "group"})


def _made(machines: Sequence[Machine], command: str) -> Iterator[str]:
    yield element("h2", "Machines and commands", {"id": "machines"})
    for machine in machines:
        yield element("h3", html.escape(machine.name))
        facts = "".join(element("li", _marked(one)) for one in tables.machine_facts(machine))
        yield element("ul", facts, {"class": "facts"})
    yield element("p", "To measure this machine, and to make this page anew:")
    yield element("pre", html.escape(f"oneread paper\n{command}"))


def _marked(text: str) -> str:
    """Return a line with what stands between backticks as code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))
