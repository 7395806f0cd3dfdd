"""How often the warps of a launch run each instruction: trips of loops, from what a trace counted.

A loop holds accesses or barriers of lines of which the trace says how often warps came there; that
number over how many of them the compiled loop has is its trips. Knows records as plain values.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oneread.report.machine_code import lines_of

Record = dict[str, Any]

#: Line, space and kind of what warps do: ``read`` and ``write`` of ``global`` and ``shared``
#: memory, and barriers.
Place = tuple[int, str, str]

#: What tells trips best comes first: a guard may keep warps from shared memory, and the compiler
#: may leave accesses of it out.
_TELLING = (("global", "read"), ("global", "write"), ("block", "barrier"), ("shared", "read"),
            ("shared", "write"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Trips:
    """How often all warps together go through a loop, and the place that says so.

    ``times`` is 0 for a rest of an unrolled loop, None where nothing tells it.
    """

    times: float | None
    place: Place | None = None


def issued_places(run: Record) -> Counter[Place]:
    """Return how often warps came to each place of a traced launch."""
    found: Counter[Place] = Counter()
    for one in run["counts"]["lines"]:
        kind = "read" if one["kind"] == "read" else "write"
        found[one["line"], one["space"], kind] += one["requests"]
    for line, times in run["counts"]["barrier_lines"].items():
        found[int(line), "block", "barrier"] += times * _warps_a_block(run)
    return found


def warps(run: Record) -> int:
    """Return the warps of a launch."""
    blocks: int = math.prod(run["launch"]["grid"])
    return blocks * _warps_a_block(run)


def trips(record: Record, run: Record) -> dict[int, Trips]:
    """Return the trips of each loop, by its number.

    Parameters
    ----------
    record : dict
        What is known of the kernel's machine code.
    run : dict
        A traced launch of the same source, with the same macros.

    Returns
    -------
    dict of int to Trips
        As for long rows: of an unrolled loop all elements are taken to go through its widest piece.
    """
    issued = issued_places(run)
    rests = _rests(record)
    places = _places(record)
    found = {}
    for loop in record["loops"]:
        if loop["number"] in rests:
            found[loop["number"]] = Trips(0)
            continue
        made = Counter(places[at] for at in loop["instructions"] if at in places)
        found[loop["number"]] = next(
            (
                Trips(issued[place] / count, place)
                for telling in _TELLING
                for place, count in sorted(made.items())
                if place[1:] == telling and issued[place]
            ),
            Trips(None),
        )
    return found


def executed(
    record: Record, run: Record, loops: Mapping[int, Trips]
) -> Iterator[tuple[Record, float | None]]:
    """Yield the instructions of a kernel, each with how often all warps together run it.

    Code outside of loops runs once a warp, slow paths never; a branch inside of either counts as
    taken. What stands outside of a loop and is of lines of its body is a rest of it, or was moved
    out of it, and counts as nothing. None is said of a loop whose trips are not known.
    """
    home = {at: one["number"] for one in record["loops"] for at in one["instructions"]}
    body = {
        tuple(lines)
        for one in record["instructions"]
        if one["at"] in home and (lines := lines_of(record, one))
    }
    for one in record["instructions"]:
        if one["role"] == "cold":
            yield one, 0.0
        elif one["at"] in home:
            yield one, loops[home[one["at"]]].times
        else:
            yield one, 0.0 if tuple(lines_of(record, one)) in body else float(warps(run))


def _warps_a_block(run: Record) -> int:
    threads: int = math.prod(run["launch"]["block"])
    return -(-threads // 32)


def _rests(record: Record) -> set[int]:
    """Return the loops that take what the widest piece of an unrolled loop leaves."""
    widest, others = set(), set()
    for ladder in record["facts"]["ladders"]:
        loops = [rung for rung in ladder["rungs"] if rung["loop"] is not None]
        first, *rest = sorted(loops, key=lambda rung: -rung["elements"])
        widest.add(first["loop"])
        others |= {rung["loop"] for rung in rest}
    return others - widest


def _places(record: Record) -> dict[int, Place]:
    """Return the place of each access and barrier, by address."""
    lines = {one["at"]: lines_of(record, one) for one in record["instructions"]}
    found: dict[int, Place] = {}
    for one in record["facts"]["accesses"]:
        if lines[one["instruction"]]:
            kind = "write" if one["is_store"] else "read"
            found[one["instruction"]] = lines[one["instruction"]][0], one["space"], kind
    for one in record["instructions"]:
        if "BAR" in one["text"].split(".")[0].split() and lines[one["at"]]:
            found[one["at"]] = lines[one["at"]][0], "block", "barrier"
    return found
