"""The map of wins and losses: every case against the best peer on its machine.

Knows records, no clock. Losses have a colour of their own and bold numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from oneread.report.paper.machines import Machine
from oneread.report.paper.style import colour, figure, headline
from oneread.report.paper.wins import Cell, cells, line_name, short

#: Upper ends of the bands, their roles, the role of what is written on them, and what they mean.
BANDS: Final = (
    (0.8, "loss2", "on_strong", "below 0.8"), (0.95, "loss1", "on_weak", "to 0.95"),
    (1.05, "even", "on_weak", "to 1.05"), (1.5, "win1", "on_weak", "to 1.5"),
    (3.0, "win2", "on_weak", "to 3"), (8.0, "win3", "on_strong", "to 8"),
    (float("inf"), "win4", "on_strong", "more"),
)  # fmt: skip

_WIDTH: Final = 10.0
_LABELS, _CELL_HEIGHT, _TITLE, _GAP = 4.6, 0.8, 1.0, 1.6  # in widths of a cell


@dataclass
class Panel:
    """Cells that share lines and columns."""

    title: str
    cells: list[Cell] = field(default_factory=list)

    @property
    def lines(self) -> list[tuple[int, ...]]:
        """What the lines are for, in order."""
        return sorted({cell.line for cell in self.cells})

    @property
    def columns(self) -> list[int]:
        """What the columns are for, in order."""
        return sorted({cell.column for cell in self.cells})

    @property
    def height(self) -> float:
        """Its height with title, labels and a gap."""
        return _TITLE + len(self.lines) * _CELL_HEIGHT + _GAP


def win_map(machines: Sequence[Machine]) -> Figure | None:
    """Draw the best peer's time over ours for every case of every machine."""
    found = {machine: cells(machine) for machine in machines}
    every = [cell for of in found.values() for cell in of]
    if not every:
        return None
    blocks = [(machine.short, _panels(of)) for machine, of in found.items() if of]
    most = max(len(panel.columns) for _, panels in blocks for panel in panels)
    step = _LABELS + most + 0.8
    placed, height = _packed(blocks)
    unit = _WIDTH / (2 * step)
    made, ((axes,),) = figure(height * unit + 0.55, width=_WIDTH)
    lost = sum(cell.ratio < 1 for cell in every)
    headline(
        made,
        f"The best peer's time over ours: ahead in {len(every) - lost} of {len(every)} cases, "
        f"behind in {lost}",
    )
    axes.set_axis_off()
    axes.set_xlim(0, 2 * step)
    axes.set_ylim(height, 0)
    for column, top, one in placed:
        if isinstance(one, str):
            axes.text(0, top + 0.6, one, fontsize=9.5, fontweight="bold", va="center")
        else:
            _draw(axes, column * step + _LABELS, top, one)
    _legend(axes)
    return made


def _panels(of: Iterable[Cell]) -> list[Panel]:
    panels: dict[str, Panel] = {}
    for cell in of:
        panels.setdefault(cell.panel, Panel(cell.panel)).cells.append(cell)
    return list(panels.values())


def _packed(
    blocks: Sequence[tuple[str, Sequence[Panel]]],
) -> tuple[list[tuple[int, float, Panel | str]], float]:
    """Return where everything goes, in two columns: each panel into the shorter one."""
    placed: list[tuple[int, float, Panel | str]] = []
    top = 1.4  # below the legend
    for name, panels in blocks:
        placed.append((0, top, name))
        ends = [top + 1.5] * 2
        for panel in sorted(panels, key=lambda panel: -panel.height):
            column = 0 if ends[0] <= ends[1] else 1
            placed.append((column, ends[column], panel))
            ends[column] += panel.height
        top = max(ends)
    return placed, top


def _draw(axes: Any, left: float, top: float, panel: Panel) -> None:
    lines, columns = panel.lines, panel.columns
    muted = {"fontsize": 6, "va": "center", "color": colour("muted")}
    axes.text(left, top + _TITLE / 2 - 0.1, panel.title, fontsize=7.5, va="center")
    for number, line in enumerate(lines):
        middle = top + _TITLE + (number + 0.5) * _CELL_HEIGHT
        axes.text(left - 0.3, middle, line_name(line), ha="right", **muted)
    below = top + _TITLE + (len(lines) + 0.45) * _CELL_HEIGHT
    for number, column in enumerate(columns):
        axes.text(
            left + number + 0.5, below, short(column), ha="center", **{**muted, "fontsize": 5.2}
        )
    several = len(lines[0]) > 1
    axes.text(left - 0.3, below, "k" if several else "V", ha="right", **muted)
    for cell in panel.cells:
        y = top + _TITLE + lines.index(cell.line) * _CELL_HEIGHT
        _draw_cell(axes, left + columns.index(cell.column), y, cell.ratio)


def _draw_cell(axes: Any, x: float, y: float, ratio: float) -> None:
    band, ink = next((role, on) for end, role, on, _ in BANDS if ratio < end)
    axes.add_patch(
        Rectangle((x + 0.03, y + 0.03), 0.94, _CELL_HEIGHT - 0.06, facecolor=colour(band), lw=0)
    )
    text = f"{ratio:.2f}" if ratio < 9.95 else f"{ratio:.0f}"
    weight = "bold" if ratio < 1 else "normal"
    axes.text(
        x + 0.5, y + _CELL_HEIGHT / 2, text, ha="center", va="center", fontsize=5.8,
        color=colour(ink), fontweight=weight,
    )  # fmt: skip


def _legend(axes: Any) -> None:
    """Say what the colours mean, over the map."""
    x = 0.0
    for _, band, ink, text in BANDS:
        axes.add_patch(Rectangle((x, 0.1), 2.6, 0.75, facecolor=colour(band), lw=0))
        axes.text(
            x + 1.3, 0.5, text, ha="center", va="center", fontsize=6.2, color=colour(ink)
        )  # fmt: skip
        x += 2.65
    axes.text(
        x + 0.4, 0.5, "orange, bold: oneread loses", va="center", fontsize=6.5,
        color=colour("fails"),
    )  # fmt: skip
