"""Axes that figures share: lengths of rows, ratios, names at the ends of lines.

Knows no record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from oneread.report.paper.style import Label, name_lines
from oneread.report.paper.wins import short


def vocab_axis(axes: Any, vocabs: Sequence[int]) -> None:
    """Let an axis have lengths of rows, each where it stands."""
    axes.set_xscale("log")
    shown = apart(vocabs)
    axes.set_xticks(shown, [short(v) for v in shown])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("V, columns of a row")
    axes.grid(axis="y")


#: Labels of an axis of lengths, at most.
_MOST_TICKS: Final = 7
#: Ratios that an axis may have marks at.
TICKS: Final = (0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120)


def times_axis(axes: Any, top: float) -> None:
    """Let an axis have ratios up to a largest one."""
    axes.set_yscale("log")
    low = min(0.7, axes.get_ylim()[0])
    axes.set_ylim(max(low, 0.05), top * 1.35)
    ticks = [tick for tick in TICKS if axes.get_ylim()[0] <= tick <= axes.get_ylim()[1]]
    axes.set_yticks(ticks, [f"{tick:g}x" for tick in ticks])
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_minor_locator(NullLocator())


def finish(made: Figure, labels: Sequence[tuple[Any, list[Label]]]) -> None:
    """Write the names at the lines: their places are known once the figure is laid out."""
    for axes, found in labels:
        widest = max((len(label.text) for label in found), default=0)
        axes.annotate(  # room that the layout keeps for the names
            "n" * widest, (1.015, 0.5), xycoords="axes fraction", fontsize=8, alpha=0
        )
    made.draw_without_rendering()
    for axes, found in labels:
        name_lines(axes, found)
    made.draw_without_rendering()


def apart(values: Sequence[int]) -> list[int]:
    """Return those of rising values that can be written side by side on a logarithmic axis."""
    least = (max(values) / min(values)) ** (1 / _MOST_TICKS)
    kept: list[int] = []
    for value in reversed(values):
        if not kept or kept[-1] >= least * value:
            kept.append(value)
    return kept[::-1]
