"""A run of `oneread paper` on one device: its pieces in order, those left of an earlier one.

Knows the pieces by their keys; each is kept as soon as it is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from oneread.bench import peers, runner
from oneread.bench.cases import Case, table
from oneread.bench.gpu import peers as gpu_peers
from oneread.bench.gpu import runner as gpu_runner
from oneread.bench.journal import Journal
from oneread.bench.paper import dram, facts, figures, memory, related

_TABLES: Final = {
    "cpu": "oneread.bench.paper.cpu_cases",
    "gpu": "oneread.bench.paper.gpu_cases",
}

#: What finds out a fact.
_Finder = Callable[[], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Request:
    """What shall be measured on which device; `seconds` is when no further piece is begun."""

    device: str
    quick: bool = False
    threads: int = 1
    peers: tuple[str, ...] = ()
    seconds: float | None = None
    start: float = field(default_factory=time.time)

    @property
    def cases(self) -> list[Case]:
        """The cases, those of the paper's figures first."""
        found = table(_TABLES[self.device]).values()
        return [case for case in found if case.quick or not self.quick]

    @property
    def facts(self) -> dict[str, _Finder]:
        """What finds out each fact, by its key."""
        found: dict[str, _Finder] = {}
        if self.device == "cpu":
            found = {**facts.facts(), "related": partial(related.measured, self.threads)}
        for way in memory.WAYS[self.device]:
            found[f"memory/{self.device}/{way}"] = partial(
                memory.measured, self.device, way, self.quick
            )
        found[f"dram/{self.device}"] = partial(dram.measured, self.device)
        return found

    def left_s(self) -> float | None:
        """Return the seconds that are left, None where there is no limit."""
        return None if self.seconds is None else self.start + self.seconds - time.time()

    def over(self) -> bool:
        """Return whether no further piece is to be begun."""
        left = self.left_s()
        return left is not None and left <= 0


def header(request: Request, command: str, checkout: Path | None) -> dict[str, Any]:
    """Return the facts of a run: what it is, machine, libraries, time, commit."""
    if request.device == "cpu":
        asked = runner.Request((), request.peers, request.threads, request.quick)
        found = runner.header(asked, command, checkout)
    else:
        found = gpu_runner.header(gpu_runner.Request((), quick=request.quick), command, checkout)
    return {"kind": "paper", "device": request.device, **found}


def size(request: Request) -> int:
    """Return how many pieces a run has."""
    return len(request.cases) + len(request.facts)


def run(request: Request, journal: Journal) -> Iterator[str]:
    """Do what a journal lacks and yield the key of each piece that it has then, the old ones first.

    Parameters
    ----------
    request : Request
        What shall be measured.
    journal : Journal
        Where it is kept. It is ended when nothing is left.

    Yields
    ------
    str
        A key: of a case its name.
    """
    keys = [case.name for case in request.cases] + list(request.facts)
    yield from (key for key in keys if key in journal)
    paper = [case for case in request.cases if case.kernels and case.name not in journal]
    beyond = [case for case in request.cases if not case.kernels and case.name not in journal]
    yield from _timed(request, paper, journal, ("torch",))
    yield from _found(request, journal)
    yield from _timed(request, beyond, journal, request.peers)
    if all(key in journal for key in keys):
        journal.end()


def _timed(
    request: Request, cases: list[Case], journal: Journal, names: tuple[str, ...]
) -> Iterator[str]:
    """Time cases and keep their records, but those that had no time."""
    if not cases or request.over():
        return
    for records in _races(request, tuple(cases), tuple(p for p in names if p in request.peers)):
        if records[0].reason != gpu_runner.NO_TIME:
            journal.add_case(records)
            yield records[0].case
        if request.over():
            return


def _races(request: Request, cases: tuple[Case, ...], names: tuple[str, ...]) -> Iterator[Any]:
    module = _TABLES[request.device]
    if request.device == "cpu":
        asked = runner.Request(cases, names, request.threads, request.quick, module)
        return runner.run(asked)
    return gpu_runner.run(
        gpu_runner.Request(
            cases, names, request.quick, request.left_s(), table=module,
            compile_first=cases[0].group not in (figures.SOFTMAX, figures.TOP_K),
        )
    )  # fmt: skip


def _found(request: Request, journal: Journal) -> Iterator[str]:
    """Find out facts and keep them."""
    for key, find in request.facts.items():
        if key not in journal and not request.over():
            journal.add_fact({"key": key, **find()})
            yield key


def peers_of(device: str, quick: bool) -> tuple[str, ...]:
    """Return the libraries to compare with, unless others are asked for."""
    if device == "cpu":
        return peers.PEERS
    return tuple(name for name in gpu_peers.PEERS if not quick or name != gpu_peers.SLOW)
