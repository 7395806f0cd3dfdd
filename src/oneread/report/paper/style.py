"""How figures look: colours by role for light and dark pages, labels at the lines, files.

Knows no record. Colours are told apart by people who see none: each line also has a mark of its own
and its name beside it. An SVG follows the page that it is on; a PNG is light, for print.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

#: Light and dark, by role.
COLOURS: Final = {
    "paper": ("#fdfdfc", "#17181b"),
    "ink": ("#1d1d20", "#ececea"),
    "muted": ("#66666d", "#a3a3ab"),
    "grid": ("#e4e4e8", "#34353b"),
    "roof": ("#b3b3bb", "#5d5e66"),
    "naive": ("#7d7d84", "#96969f"),
    "safe": ("#0a6ab0", "#5eb2f2"),
    "online": ("#c24b06", "#ff9454"),
    "ours": ("#00795f", "#35cda8"),
    "peer": ("#8f3a86", "#dd93d4"),
    "loss2": ("#b8420a", "#e8772e"),
    "loss1": ("#f0b489", "#7a4320"),
    "even": ("#e6e6ea", "#3a3b42"),
    "win1": ("#b5d8f0", "#1f4d70"),
    "win2": ("#5aa6dc", "#25689a"),
    "win3": ("#1766a3", "#62b3ee"),
    "win4": ("#0b3d66", "#b3dcfa"),
    "on_strong": ("#fefefe", "#101114"),
    "on_weak": ("#1e1e21", "#ebebe9"),
    "holds": ("#0a6ab1", "#5eb2f3"),
    "part": ("#8a6a00", "#e0b93a"),
    "fails": ("#b8430b", "#e8782e"),
}


class Look(NamedTuple):
    """How a machine is drawn: the role of its colour, its mark, and that mark in text."""

    role: str
    mark: str
    sign: str


class Line(NamedTuple):
    """How a contestant is drawn: its name among records, its label, role of colour, dash, mark."""

    contestant: str
    label: str
    role: str
    dash: str
    mark: str


MACHINES: Final = (Look("online", "o", "●"), Look("safe", "s", "■"), Look("ours", "^", "▲"))

WIDTH: Final = 8.0
_DOTS: Final = 160


def colour(role: str) -> str:
    """Return the colour of a role on a light page, which an SVG replaces by the role."""
    return COLOURS[role][0]


_SETTINGS: Final = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.labelsize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.axisbelow": True,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "svg.hashsalt": "oneread",
    "svg.fonttype": "path",
    "figure.constrained_layout.use": True,
    "text.color": colour("ink"),
    "axes.labelcolor": colour("muted"),
    "axes.edgecolor": colour("roof"),
    "xtick.color": colour("muted"),
    "ytick.color": colour("muted"),
    "figure.facecolor": colour("paper"),
    "axes.facecolor": colour("paper"),
    "grid.color": colour("grid"),
    "grid.linewidth": 0.7,
}


def look() -> AbstractContextManager[None]:
    """Return the context in which figures are drawn, so that nothing has another colour."""
    return mpl.rc_context(_SETTINGS)


def figure(height: float, width: float = WIDTH, **panels: Any) -> tuple[Figure, Any]:
    """Return a figure with panels; `panels` are those of subplots."""
    made = Figure(figsize=(width, height))
    return made, made.subplots(squeeze=False, **panels)


def headline(made: Figure, text: str) -> None:
    """Put a headline over a figure: what it shows, in a sentence."""
    made.suptitle(text, x=0.008, ha="left", fontsize=11, fontweight="bold", color=colour("ink"))


def panel_title(axes: Any, text: str) -> None:
    """Put a title over a panel."""
    axes.set_title(text, loc="left", fontsize=9, color=colour("ink"), pad=8)


class Label(NamedTuple):
    """A name for the end of a line: where the line ends, and the role of its colour."""

    text: str
    y: float
    role: str


def name_lines(axes: Any, labels: Iterable[Label], size: float = 8) -> None:
    """Write names beside the right ends of lines, moved apart where they would touch."""
    found = sorted(labels, key=lambda label: label.y)
    if not found:
        return
    place = axes.transData + axes.transAxes.inverted()
    x = axes.get_xlim()[1]
    wanted = [min(max(float(place.transform((x, label.y))[1]), 0.0), 1.0) for label in found]
    height = axes.get_window_extent().height / axes.figure.dpi
    for label, y in zip(found, spread(wanted, size * 1.25 / 72 / height), strict=True):
        axes.annotate(
            label.text, (1.015, y), xycoords="axes fraction", va="center", fontsize=size,
            color=colour(label.role), fontweight="bold" if label.role == "ours" else "normal",
            annotation_clip=False,
        )  # fmt: skip


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Return places in rising order, each as near to the wanted one as a gap between them lets."""
    clusters: list[list[float]] = []
    for y in wanted:
        clusters.append([y])
        while len(clusters) > 1 and _first(clusters[-1], gap) < _last(clusters[-2], gap) + gap:
            clusters[-2:] = [clusters[-2] + clusters[-1]]
    return [_first(cluster, gap) + i * gap for cluster in clusters for i in range(len(cluster))]


def _first(cluster: Sequence[float], gap: float) -> float:
    return sum(cluster) / len(cluster) - gap * (len(cluster) - 1) / 2


def _last(cluster: Sequence[float], gap: float) -> float:
    return sum(cluster) / len(cluster) + gap * (len(cluster) - 1) / 2


_ADAPTED: Final = re.compile("|".join(re.escape(light) for light, _ in COLOURS.values()))


def svg(made: Figure) -> str:
    """Return a figure as SVG that is light or dark as its page is."""
    file = io.StringIO()
    with look():
        made.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    roles = {light: role for role, (light, _) in COLOURS.items()}
    text = _ADAPTED.sub(lambda found: f"var(--{roles[found[0]]})", file.getvalue())
    start = text.index("<svg")
    head, rest = text[start:].split(">", 1)
    return f"{head}><style>{_scheme()}</style>{rest}"


def _scheme() -> str:
    light, dark = (
        "".join(f"--{role}:{pair[i]};" for role, pair in COLOURS.items()) for i in (0, 1)
    )
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"


def save(made: Figure, vectors: str, folder: Path, name: str) -> None:
    """Write a figure as vectors, which `svg` gave, and as a picture."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.svg").write_text(vectors, "utf-8")
    with look():
        made.savefig(folder / f"{name}.png", dpi=_DOTS, metadata={"Software": None})
