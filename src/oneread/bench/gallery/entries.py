"""What one run of a kernel, or of a sequence of kernels, takes at given sizes.

Knows the catalogue, and no GPU.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from oneread.source.arithmetic import integer
from oneread.source.catalogue import (
    Catalogue,
    KernelEntry,
    SequenceEntry,
    SequenceLaunch,
    read_catalogue,
)
from oneread.spec import ShapeError


@dataclass(frozen=True, slots=True)
class Problem:
    """How many rows and columns there are, and how many of the largest are asked for."""

    rows: int
    vocab: int
    k: int = 4

    def names(self) -> dict[str, int]:
        """Return the sizes by their names in the catalogue."""
        return {"rows": self.rows, "vocab": self.vocab, "k": self.k}


@dataclass(frozen=True, slots=True)
class Step:
    """One launch: `arguments` are names of buffers, and numbers."""

    kernel: str
    defines: dict[str, int]
    grid: int
    block: int
    shared_bytes: int
    arguments: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """All launches of an entry, and the buffers that they share.

    `shapes` and `dtypes` are by buffer; `roles` says ``input``, ``output`` or ``between``;
    `truths` says what a buffer should hold.
    """

    key: str
    problem: Problem
    steps: tuple[Step, ...]
    shapes: dict[str, tuple[int, ...]]
    dtypes: dict[str, str]
    roles: dict[str, str]
    truths: dict[str, str]

    @property
    def span(self) -> int:
        """Columns that a block takes, where blocks share rows; else the whole row."""
        return self.steps[0].defines.get("SPAN", self.problem.vocab)

    @property
    def least_bytes(self) -> int:
        """Bytes of its inputs and outputs, each counted once; all types have 4."""
        roles = self.roles.items()
        return sum(4 * math.prod(self.shapes[name]) for name, role in roles if role != "between")

    def named(self, *roles: str) -> list[str]:
        """Return the buffers with one of these roles."""
        return [name for name, role in self.roles.items() if role in roles]

    @property
    def logits(self) -> list[str]:
        """The inputs that follow from no other."""
        return [name for name in self.named("input") if name not in self.truths]


@cache
def catalogue() -> Catalogue:
    """Return the package's catalogue, read once."""
    return read_catalogue()


def all_keys() -> list[str]:
    """Return the keys of all kernels, then of all sequences."""
    return [*catalogue().kernels, *catalogue().sequences]


def is_right(key: str) -> bool:
    """Return whether an entry is meant to be right at every shape."""
    kernel = catalogue().kernels.get(key)
    return kernel is None or not kernel.mended


def source(kernel: str) -> str:
    """Return the text of a kernel."""
    return catalogue().path(kernel).read_text(encoding="utf-8")


def defines(key: str, use: str) -> dict[str, int]:
    """Return the defines of an entry for ``trace`` or ``bench``."""
    found: dict[str, int] = {}
    for launch in _launches(key):
        kernel = catalogue().kernels[launch.kernel]
        found |= kernel.trace_defines if use == "trace" else kernel.bench_defines
    return found


def plan(key: str, problem: Problem, macros: Mapping[str, int]) -> Plan:
    """Return what an entry takes for a problem, with these defines.

    Raises
    ------
    ShapeError
        When a limit of the catalogue is passed.
    """
    entry = _entry(key)
    scope = problem.names() | dict(macros)
    return Plan(
        key,
        problem,
        tuple(_step(launch, problem, macros) for launch in _launches(key)),
        {b.name: tuple(integer(side, scope) for side in b.shape) for b in entry.buffers},
        {b.name: b.type for b in entry.buffers},
        {b.name: b.role for b in entry.buffers},
        dict(entry.truth),
    )


def _step(launch: SequenceLaunch, problem: Problem, macros: Mapping[str, int]) -> Step:
    kernel = catalogue().kernels[launch.kernel]
    names = problem.names()
    known = {macro: macros[macro] for macro in kernel.trace_defines if macro in macros}
    for name, limit in kernel.limits.items():
        if names[name] > integer(limit, names | known):
            raise ShapeError(f"{kernel.key} takes {name} up to {limit}; got {names[name]}")
    sizes = kernel.sizes(names | known)
    arguments = [names[a] if a in names else launch.buffers[a] for a in kernel.args]
    return Step(kernel.key, known, sizes.grid, sizes.block, sizes.shared_bytes, tuple(arguments))


def _entry(key: str) -> KernelEntry | SequenceEntry:
    return catalogue().kernels.get(key) or catalogue().sequences[key]


def _launches(key: str) -> tuple[SequenceLaunch, ...]:
    entry = _entry(key)
    if isinstance(entry, SequenceEntry):
        return entry.launches
    return (SequenceLaunch(key, {buffer.name: buffer.name for buffer in entry.buffers}),)
