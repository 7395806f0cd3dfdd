"""What one run of a kernel, or of a sequence of kernels, takes at given sizes.

Reads the catalogue; knows no GPU.
"""

from __future__ import annotations

import ast
import operator
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import oneread
from oneread.spec import ShapeError

GALLERY: Final = Path(oneread.__file__).parent / "kernels" / "gallery"


@dataclass(frozen=True, slots=True)
class Sizes:
    """The problem: how many rows and columns, and how many of the largest are asked for."""

    rows: int
    vocab: int
    k: int = 4


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
    sizes: Sizes
    steps: tuple[Step, ...]
    shapes: dict[str, tuple[int, ...]]
    dtypes: dict[str, str]
    roles: dict[str, str]
    truths: dict[str, str]

    @property
    def span(self) -> int:
        """Columns that a block takes, where blocks share rows; else the whole row."""
        return self.steps[0].defines.get("SPAN", self.sizes.vocab)

    @property
    def least_bytes(self) -> int:
        """Bytes of its inputs and outputs, each counted once; all types have 4."""
        return sum(
            4 * _product(self.shapes[name])
            for name, role in self.roles.items()
            if role != "between"
        )


@cache
def catalogue() -> dict[str, Any]:
    """Return the catalogue as it stands in gallery.toml."""
    return tomllib.loads((GALLERY / "gallery.toml").read_text(encoding="utf-8"))


def all_keys() -> list[str]:
    """Return the keys of all kernels, then of all sequences."""
    return [*catalogue()["kernels"], *catalogue()["sequences"]]


def is_right(key: str) -> bool:
    """Return whether an entry is meant to be right at every shape."""
    return "mended" not in catalogue()["kernels"].get(key, {})


def source(kernel: str) -> str:
    """Return the text of a kernel."""
    return (GALLERY / f"{kernel}.cu").read_text(encoding="utf-8")


def defines(key: str, use: str) -> dict[str, int]:
    """Return the defines of an entry for ``trace`` or ``bench``."""
    found: dict[str, int] = {}
    for launch in _launches(key):
        found |= catalogue()["kernels"][launch["kernel"]]["defines"][use]
    return found


def plan(key: str, sizes: Sizes, macros: Mapping[str, int]) -> Plan:
    """Return what an entry takes at these sizes, with these defines.

    Raises
    ------
    ShapeError
        When a limit of the catalogue is passed.
    """
    kernels = catalogue()["kernels"]
    entry = kernels.get(key) or catalogue()["sequences"][key]
    names = {"rows": sizes.rows, "vocab": sizes.vocab, "k": sizes.k}
    steps = []
    for launch in _launches(key):
        kernel = kernels[launch["kernel"]]
        known = {m: macros[m] for m in kernel["defines"]["trace"] if m in macros}
        scope = names | known
        for name, limit in kernel.get("limits", {}).items():
            if names[name] > number(limit, scope):
                raise ShapeError(f"{key} takes {name} up to {limit}; got {names[name]}")
        bound: dict[str, str] = launch["buffers"]
        arguments = [names[a] if a in names else bound.get(a, a) for a in kernel["args"]]
        grid, block, shared = (
            number(kernel[field], scope) for field in ("grid", "block", "shared_bytes")
        )
        steps.append(Step(launch["kernel"], known, grid, block, shared, tuple(arguments)))
    scope = names | dict(macros)
    buffers = {buffer["name"]: buffer for buffer in entry["buffers"]}
    return Plan(
        key,
        sizes,
        tuple(steps),
        {n: tuple(number(side, scope) for side in b["shape"]) for n, b in buffers.items()},
        {n: b.get("type", "float32") for n, b in buffers.items()},
        {n: b["role"] for n, b in buffers.items()},
        dict(entry["truth"]),
    )


def _launches(key: str) -> list[dict[str, Any]]:
    sequence: dict[str, Any] | None = catalogue()["sequences"].get(key)
    return [{"kernel": key, "buffers": {}}] if sequence is None else sequence["launches"]


_OPERATORS: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: Final[dict[str, Callable[..., int]]] = {
    "min": min,
    "max": max,
    "ceil_div": lambda a, b: -(-a // b),
    "log2": lambda a: a.bit_length() - 1,
}


def number(text: str, names: Mapping[str, int]) -> int:
    """Return the value of an integer expression of the catalogue."""
    return _value(ast.parse(text, mode="eval").body, names)


def _value(node: ast.expr, names: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, names), _value(right, names))
        case ast.Call(func=ast.Name(id=name), args=args) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(arg, names) for arg in args))
    raise ShapeError(f"{ast.unparse(node)!r} is no integer expression of {', '.join(names)}")


def _product(shape: tuple[int, ...]) -> int:
    result = 1
    for side in shape:
        result *= side
    return result
