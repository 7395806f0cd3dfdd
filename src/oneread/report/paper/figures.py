"""All figures of the report, by their names and in its order.

Knows no record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from matplotlib.figure import Figure

from oneread.report.paper import beyond, plots, win_map
from oneread.report.paper.machines import Machine

#: What draws a figure; None where no machine has what it shows.
Draw = Callable[[Sequence[Machine]], Figure | None]

FIGURES: Final[dict[str, Draw]] = {
    "claims": plots.claims,
    "map": win_map.win_map,
    "memory": beyond.memory,
    "softmax": plots.softmax,
    "softmax_topk": plots.softmax_topk,
    "table_of_k": plots.table_of_k,
    "roofline": beyond.roofline,
    "large_k": beyond.large_k,
}
