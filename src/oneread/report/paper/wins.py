"""Who is faster: every case against the best peer on its machine.

Knows records; draws nothing.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from oneread.report.paper.machines import OURS, Machine, best_peer, seconds

#: k up to which top-k is shown over rows and lengths, as softmax is.
_SMALL_K: Final = 5


class Cell(NamedTuple):
    """One case: its panel, line and column, and the best peer's time over ours."""

    panel: str
    line: tuple[int, ...]
    column: int
    ratio: float
    peer: str


def cells(machine: Machine) -> list[Cell]:
    """Return the cells of a machine; of cases alike the one with the best peer."""
    found: dict[tuple[Any, ...], Cell] = {}
    for case in machine.plain_cases():
        first, ours, peer = case[0], seconds(case, OURS), best_peer(case)
        if first.op not in ("softmax", "softmax_topk") or not ours or peer is None:
            continue
        assert peer.median_s is not None
        panel, line, column = _place(first.op, first.k, first.shape, first.memory)
        title = f"{panel} · {first.dtype}"
        cell = Cell(title, line, column, peer.median_s / ours, peer.contestant)
        key = (title, line, column)
        if key not in found or cell.ratio < found[key].ratio:
            found[key] = cell
    return list(found.values())


def _place(
    op: str, k: int | None, shape: tuple[int, ...], memory: str
) -> tuple[str, tuple[int, ...], int]:  # fmt: skip
    """Return panel, line and column of a case."""
    rows, vocab = shape
    if k is not None and k > _SMALL_K:
        return "softmax and top-k", (rows, vocab), k
    if k is not None:
        return f"softmax and top-{k}", (rows,), vocab
    return op if memory == "out" else f"{op}, fresh result", (rows,), vocab


def losses(machine: Machine) -> list[Cell]:
    """Return the cases of a machine in which a peer is faster, the furthest behind first."""
    return sorted((cell for cell in cells(machine) if cell.ratio < 1), key=lambda cell: cell.ratio)


def line_name(line: tuple[int, ...]) -> str:
    """Return what a line of a panel is called."""
    if len(line) > 1:
        return " x ".join(map(short, line))
    return f"{line[0]} row{'s' * (line[0] != 1)}"


def named(cell: Cell) -> tuple[str, str]:
    """Return the shape of a cell, and its k where lines are shapes."""
    if len(cell.line) > 1:
        return "x".join(map(str, cell.line)), str(cell.column)
    return f"{cell.line[0]}x{cell.column}", ""


def short(n: float) -> str:
    """Return a number in as few signs as three digits take."""
    if n >= 1e6:
        return f"{n / 1e6:.3g}M"
    return f"{n / 1000:.3g}k" if n >= 1e4 or n % 1000 == 0 < n else f"{n:,.0f}"
