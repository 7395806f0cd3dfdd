"""Machine code as rows of a page: loops, roles, registers that are taken, control bits, lines.

Knows a record of a kernel as plain values; draws no conclusions.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from itertools import groupby
from pathlib import PurePath
from typing import Any

from oneread.report.document import data, element
from oneread.report.words import Words

Record = dict[str, Any]


def lines_of(record: Record, instruction: Record) -> list[int]:
    """Return the lines of the kernel's own file that an instruction is from, the innermost first.

    A function that was inlined has its own line and that of its call.
    """
    name = record["source"] and PurePath(record["source"]["name"]).name
    return [
        place["line"]
        for place in instruction.get("lines", ())
        if name in (None, PurePath(place["file"]).name)
    ]


def anchor(address: int) -> str:
    """Return the id of the row of an instruction."""
    return f"i{address:04x}"


def taken_registers(instruction: Record) -> int:
    """Return how many of a thread's registers are taken at an instruction."""
    return sum(name.startswith("R") for name in instruction["live"])


def rows(record: Record, words: Words) -> Iterator[str]:
    """Yield the instructions of a kernel as rows of a table, a group for each piece of a loop."""
    loops = {one["number"]: one for one in record["loops"]}
    home = {at: one["number"] for one in loops.values() for at in one["instructions"]}
    columns = ("address", "role", "live", "instruction", "bits", "line")
    heads = "".join(
        element("span", words(name), {"role": "columnheader", "class": name}) for name in columns
    )
    yield '<div role="rowgroup" class="heads">' + element("div", heads, {"role": "row"}) + "</div>"
    seen: set[int] = set()

    def place(one: Record) -> tuple[int | None, bool]:
        return home.get(one["at"]), one["role"] == "cold"

    for (number, is_cold), group in groupby(record["instructions"], key=place):
        loop = None if number is None else loops[number]
        depth = min(_depth(loops, number), 3)
        title = words("slow" if is_cold else "straight")
        if loop:
            title = _title(loop, words, again=loop["number"] in seen)
            seen.add(loop["number"])
        head = element("span", title, {"role": "gridcell"})
        yield f'<div role="rowgroup" class="piece deep{depth}{" slow" * is_cold}">'
        yield element("div", head, {"role": "row", "class": "title"})
        for one in group:
            yield _row(record, one, words)
        yield "</div>"


def _depth(loops: dict[int, Record], number: int | None) -> int:
    depth = 0
    while number is not None:
        number, depth = loops[number]["parent"], depth + 1
    return depth


def _title(loop: Record, words: Words, *, again: bool) -> str:
    """Return what is said above a piece of a loop: where it is, what it costs, what limits it."""
    at = f"{loop['head']:#06x}"
    if again:
        return words("goes_on", at=at)
    said = [words("loop", at=at)]
    count, elements = len(loop["instructions"]), loop["elements"]
    if elements:
        said.append(words("element" if elements == 1 else "elements", count=elements))
        said.append(words("each", count=f"{count / elements:.1f}"))
    else:
        said.append(words("trip", count=count))
    if elements and loop["limit"]:
        ceiling = f"{loop['ceilings'][loop['limit']]:.2f}"
        said.append(words("ceiling", count=ceiling, limit=loop["limit"]))
    return html.escape(" · ".join(said))


def _row(record: Record, one: Record, words: Words) -> str:
    own = lines_of(record, one)
    taken = taken_registers(one)
    cells = {
        "address": f"{one['at']:04x}",
        "role": html.escape(words.role(one["role"])),
        "live": f"<i></i>{taken}",
        "instruction": _marked(one["text"]),
        "bits": control_bits(one.get("control")),
        "line": _line(record, own),
    }
    shown = "".join(
        element("span", text, {"role": "gridcell", "class": name}) for name, text in cells.items()
    )
    return element(
        "div",
        shown,
        {
            "role": "row",
            "class": f"row role-{one['role']} taken{taken}",
            "id": anchor(one["at"]),
            "data-lines": data(own),
            "data-live": " ".join(one["live"]),
        },
    )


def _line(record: Record, own: list[int]) -> str:
    if not own:
        return ""
    if record["source"] is None:
        return str(own[0])
    return element("a", str(own[0]), {"href": f"#L{own[0]}", "tabindex": "-1"})


def _marked(text: str) -> str:
    """Return an instruction with its opcode marked, behind the guard if there is one."""
    guard, rest = ("", text)
    if text.startswith("@"):
        guard, _, rest = text.partition(" ")
        guard += " "
    opcode, space, operands = rest.partition(" ")
    return f"{html.escape(guard)}<b>{html.escape(opcode)}</b>{space}{html.escape(operands)}"


def control_bits(bits: Record | None) -> str:
    """Return control bits in one word, as ``B-1----:R-:W0:Y:S02``; empty without any.

    B names the barriers that are waited for, R and W those that are set when the operands were
    read and the result is there, Y says that another warp may go first, S counts cycles.
    """
    if bits is None:
        return ""
    waits = "".join(str(one) if one in bits["waits"] else "-" for one in range(6))
    read, write = (
        "-" if bits[name] is None else str(bits[name]) for name in ("read_barrier", "write_barrier")
    )
    return f"B{waits}:R{read}:W{write}:{'Y' if bits['yields'] else '-'}:S{bits['stall']:02}"
