"""A kernel from three sides, line by line: what the source issues, what was compiled, what it took.

Joins the record of a traced launch, that of the machine code, and times of launches on a GPU. Knows
them as plain values; runs, compiles and measures nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from oneread.report.executed import executed, issued_places, trips
from oneread.report.machine_code import lines_of

Record = dict[str, Any]

#: Counts of warps are for so many elements: what a lane does for one.
_LANES: Final = 32


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the source.

    ``reads`` and ``writes`` are elements of global memory that the launch asks for, for each
    element of the problem; ``shared`` requests of warps to shared memory for 32 elements,
    ``barriers`` those of a block for a row. ``compiled`` is the instructions that the line became,
    slow paths left out, ``each`` how many of them warps run for 32 elements, None where a loop's
    trips are not known; ``roles`` is `each` by what they are there for.
    """

    number: int
    text: str
    reads: float
    writes: float
    shared: float
    barriers: float
    compiled: int
    each: float | None
    roles: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of the machine code over elements, or one with trips of its own.

    ``trips`` is of all warps, ``told_by`` the line whose accesses or barriers say so. ``alone`` is
    an estimate of the cycles an element of a warp that has the SM to itself.
    """

    at: int
    lines: tuple[int, ...]
    elements: int | None
    trips: float | None
    told_by: int | None
    each: float | None
    mufu_each: float | None
    ceiling: float | None
    limit: str | None
    alone: float | None


@dataclass(frozen=True, slots=True)
class Took:
    """A launch that was measured: its shape, its median, its share of a copy's bandwidth.

    ``target`` and ``defines`` are what it was compiled for and with, with default maths.
    """

    shape: str
    rows: int
    vocab: int
    microseconds: float
    share_of_copy: float
    device: str
    target: str
    defines: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Autopsy:
    """A kernel from three sides.

    Counts are of one launch of ``rows`` x ``vocab`` elements. ``each`` and ``roles`` sum up the
    lines; what stands on no line of the source is in them, too. They are at most what warps run: a
    branch inside of a loop counts as taken. ``mufu`` is the part of `each` in that pipe, ``alone``
    the cycles an element of a warp alone, all loops together. ``unknown`` are the heads of loops
    whose trips are not known, which are left out.
    """

    name: str
    arch: str
    flags: tuple[str, ...]
    defines: Mapping[str, int]
    rows: int
    vocab: int
    reads: float
    writes: float
    barriers: float
    each: float
    mufu: float
    alone: float
    roles: Mapping[str, float]
    unknown: tuple[int, ...]
    lines: tuple[Line, ...]
    loops: tuple[Loop, ...]
    took: tuple[Took, ...]

    def is_measured_as_built(self, took: Took) -> bool:
        """Say whether what was measured is the build that is shown."""
        return (took.target, took.defines) == (self.arch, self.defines) and not self.flags


def autopsy(record: Record, run: Record, took: Iterable[Took] = ()) -> Autopsy:
    """Join what is known of a kernel.

    Parameters
    ----------
    record : dict
        Its machine code, of schema 1.
    run : dict
        A launch of the same source with the same macros, as a trace file has it.
    took : iterable of Took
        Launches that were measured.

    Returns
    -------
    Autopsy
        By line, by loop, and in sum.
    """
    return _Joined(record, run).result(tuple(took))


class _Joined:
    """One join of a record and a run."""

    def __init__(self, record: Record, run: Record) -> None:
        self.record = record
        self.run = run
        launch = run["launch"]
        self.rows, self.vocab = launch["rows"], launch["vocab"]
        self.elements: int = max(1, self.rows * self.vocab)
        self.trips = trips(record, run)
        runs = executed(record, run, self.trips)
        #: Slow paths are left out.
        self.times = [(one, times) for one, times in runs if one["role"] != "cold"]

    def result(self, took: tuple[Took, ...]) -> Autopsy:
        record = self.record
        roles = self.by_role(self.times)
        loops = tuple(self.loops())
        return Autopsy(
            name=record["kernel"],
            arch=record["arch"],
            flags=tuple(record["flags"]),
            defines=dict(record["defines"]),
            rows=self.rows,
            vocab=self.vocab,
            reads=sum(self.asked("read").values()),
            writes=sum(self.asked("write").values()),
            barriers=self.run["counts"]["barriers"] / max(1, self.rows),
            each=sum(roles.values()),
            mufu=self.for_a_lane(times for one, times in self.times if one["pipe"] == "mufu"),
            alone=sum(loop.alone for loop in loops if loop.trips and loop.alone),
            roles=roles,
            unknown=tuple(loop.at for loop in loops if loop.trips is None),
            lines=tuple(self.lines()),
            loops=loops,
            took=took,
        )

    def asked(self, kind: str) -> dict[int, float]:
        """Return elements of global memory by line, for each element of the problem.

        An atomic reads what it writes.
        """
        found: Counter[int] = Counter()
        for one in self.run["counts"]["lines"]:
            if one["space"] == "global" and one["kind"] in (kind, "atomic"):
                found[one["line"]] += one["elements"]
        return {line: count / self.elements for line, count in found.items()}

    def for_a_lane(self, times: Iterable[float | None]) -> float:
        """Return what warps run for 32 elements, of how often they run it in all."""
        return sum(one or 0.0 for one in times) * (_LANES / self.elements)

    def by_role(self, times: Iterable[tuple[Record, float | None]]) -> dict[str, float]:
        """Return what warps run for 32 elements by what it is there for, the most first."""
        found: dict[str, list[float | None]] = defaultdict(list)
        for one, count in times:
            found[one["role"]].append(count)
        each = {role: self.for_a_lane(counts) for role, counts in found.items()}
        return dict(sorted(each.items(), key=lambda one: -one[1]))

    def lines(self) -> Iterator[Line]:
        """Yield the lines that ask for something or became something."""
        reads, writes = self.asked("read"), self.asked("write")
        shared: Counter[int] = Counter()
        for (line, space, _), count in issued_places(self.run).items():
            shared[line] += count if space == "shared" else 0
        barriers = {int(line): n for line, n in self.run["counts"]["barrier_lines"].items()}
        made: dict[int, list[tuple[Record, float | None]]] = defaultdict(list)
        for one, times in self.times:
            for line in lines_of(self.record, one)[:1]:
                made[line].append((one, times))
        texts = self.run["source"]["text"].splitlines()
        for number in sorted({*reads, *writes, *+shared, *barriers, *made}):
            code = made[number]
            roles = self.by_role(code)
            yield Line(
                number=number,
                text=texts[number - 1],
                reads=reads.get(number, 0.0),
                writes=writes.get(number, 0.0),
                shared=shared[number] * _LANES / self.elements,
                barriers=barriers.get(number, 0) / max(1, self.rows),
                compiled=len(code),
                each=None if any(times is None for _, times in code) else sum(roles.values()),
                roles=roles,
            )

    def loops(self) -> Iterator[Loop]:
        """Yield the loops, without what only takes the rest of an unrolled one."""
        by_address = {one["at"]: (one, times) for one, times in self.times}
        for loop in self.record["loops"]:
            passed = self.trips[loop["number"]]
            if passed.times == 0:
                continue
            code = [by_address[at] for at in loop["instructions"]]
            lines = {line for one, _ in code for line in lines_of(self.record, one)[:1]}
            elements, limit = loop["elements"], loop["limit"]
            alone = loop["alone_cycles"]
            yield Loop(
                at=loop["head"],
                lines=tuple(sorted(lines)),
                elements=elements,
                trips=passed.times,
                told_by=passed.place[0] if passed.place else None,
                each=None if passed.times is None else self.for_a_lane(n for _, n in code),
                mufu_each=loop["pipes"].get("mufu", 0) / elements if elements else None,
                ceiling=loop["ceilings"][limit] if elements and limit else None,
                limit=limit if elements else None,
                alone=alone / elements if alone is not None and elements else None,
            )
