"""Runs put together by machine, and looked up by what was timed.

Knows records, and no claim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from oneread.bench.cases import BARE_SUFFIX, own_kernel
from oneread.bench.paper.figures import SOFTMAX, TOP_K
from oneread.bench.store import OK, Record, Run, load, merge
from oneread.spec import OPS

#: What our op is called among contestants.
OURS: Final = "oneread"

#: What the kernels of the paper's algorithms are called among contestants.
_TEXTBOOKS: Final = frozenset(
    own_kernel(kernel.algorithm) for op in OPS.values() for kernel in op.kernels if kernel.textbook
)

#: The records of one case.
Case = Sequence[Record]


@dataclass(frozen=True, slots=True, eq=False)
class Machine:
    """A machine with all that was measured on it."""

    name: str
    device: str
    headers: tuple[dict[str, Any], ...]
    run: Run
    full: bool = False
    """Whether its short name is its name, as another one is called alike."""

    @property
    def short(self) -> str:
        """Its name without the rest; a CPU's with its instruction set, as names tell little."""
        name, *rest = self.name.split(", ")
        if self.full:
            return self.name
        return f"{name} ({rest[-1]})" if rest else name

    @property
    def has_paper(self) -> bool:
        """Whether the paper's algorithms were timed on it."""
        return any(map(_has_textbooks, self.plain_cases()))

    def cases(self) -> list[Case]:
        """Return the records of each case."""
        return list(self.run.by_case().values())

    def of_paper(self, op: str, rows: int, k: int | None = None) -> dict[int, Case]:
        """Return the cases in which the paper's algorithms took part, by the length of their rows.

        Of two alike, that of a figure of the paper.
        """
        found: dict[int, Case] = {}
        for case in self.plain_cases():
            first = case[0]
            wanted = (first.op, first.rows, first.k, first.dtype) == (op, rows, k, "float32")
            own = first.group in (SOFTMAX, TOP_K)
            if wanted and _has_textbooks(case) and (own or first.vocab not in found):
                found[first.vocab] = case
        return dict(sorted(found.items()))

    def plain_cases(self) -> Iterator[Case]:
        """Yield the cases of random rows side by side, with all that the machine has."""
        for case in self.cases():
            first = case[0]
            plain = first.order == "random" and first.axis == -1 and len(first.shape) == 2
            usual = first.device == "cpu" or first.timed == "graph"
            if plain and usual and not first.environment:
                yield case

    def fact(self, key: str) -> dict[str, Any] | None:
        """Return a fact by its key."""
        return next((fact for fact in self.run.facts if fact["key"] == key), None)

    def facts(self, prefix: str) -> list[dict[str, Any]]:
        """Return the facts whose keys begin so."""
        return [fact for fact in self.run.facts if fact["key"].startswith(prefix)]


def read(paths: Iterable[Path]) -> list[Machine]:
    """Return the machines that files of runs are of, GPUs first, each with all of its runs.

    Raises
    ------
    ResultFileError
        When a file does not hold a run.
    """
    runs: dict[tuple[str, str], list[Run]] = {}
    for path in paths:
        run = load(path)
        runs.setdefault(_identity(run.header), []).append(run)
    found = [
        Machine(
            name, device, tuple(run.header for run in of),
            replace(merge(of, OURS), complete=_complete(of)),
        )
        for (device, name), of in runs.items()
    ]  # fmt: skip
    names = Counter(machine.short for machine in found)
    found = [replace(machine, full=names[machine.short] > 1) for machine in found]
    return sorted(found, key=lambda machine: (machine.device != "gpu", machine.name))


def _complete(runs: Sequence[Run]) -> bool:
    """Say whether nothing is left: a run that did the rest of another ends that one, too."""
    whole = (run.header.get("kind") == "paper" and not run.header["quick"] for run in runs)
    ended = any(run.complete for run, of_all in zip(runs, whole, strict=True) if of_all)
    return ended or all(run.complete for run in runs)


def _identity(header: dict[str, Any]) -> tuple[str, str]:
    machine = header["machine"]
    if "gpu" in machine:
        return "gpu", machine["gpu"]
    return "cpu", f"{machine['cpu']}, {header['threads']} threads, {machine['isa']}"


def _has_textbooks(case: Case) -> bool:
    return any(one.contestant in _TEXTBOOKS and one.median_s for one in case)


def record(case: Case, contestant: str) -> Record | None:
    """Return the record of a contestant that was timed; `contestant` may be an algorithm's name."""
    names = (contestant, own_kernel(contestant))
    found = (one for one in case if one.contestant in names and one.status == OK and one.median_s)
    return next(found, None)


def seconds(case: Case, contestant: str) -> float | None:
    """Return the time of a contestant, None when it was not timed."""
    found = record(case, contestant)
    return found.median_s if found else None


def ratio(case: Case, slow: str, fast: str) -> float | None:
    """Return how many times as fast one contestant is as another."""
    first, second = seconds(case, slow), seconds(case, fast)
    return first / second if first and second else None


def best_peer(case: Case) -> Record | None:
    """Return the fastest of other libraries that does the whole job and is right."""
    peers = [
        one for one in case
        if one.status == OK and one.median_s and one.library != OURS
        and not one.contestant.endswith(BARE_SUFFIX)
    ]  # fmt: skip
    return min(peers, key=lambda one: one.median_s or 0.0, default=None)


def plain_rate(case: Case) -> float | None:
    """Return the best rate of plain traffic of the case's bytes, in 1e9 bytes a second."""
    rates = [rate for one in case for rate in one.rates.values()]
    return max(rates, default=None)


def item_bytes(dtype: str) -> int:
    """Return the size of an element."""
    return {"float64": 8, "float32": 4}.get(dtype, 2)


__all__ = [
    "OURS", "Case", "Machine", "best_peer", "item_bytes", "plain_rate", "ratio", "read", "record",
    "seconds",
]  # fmt: skip
