"""The report on disk: a page, and each figure as vectors and as a picture.

Knows no claim. Matplotlib is imported when something is drawn.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path

from oneread.report.paper.machines import Machine
from oneread.spec import BackendUnavailableError

PAGE = "report.html"


def check_available() -> None:
    """Raise when figures cannot be drawn here."""
    if importlib.util.find_spec("matplotlib") is None:
        raise BackendUnavailableError(
            "Matplotlib, which draws the figures, is not installed: pip install oneread[bench]"
        )


def build(machines: Sequence[Machine], folder: Path, command: str) -> Iterator[str]:
    """Write the report into a folder and yield the name of each part when it is there.

    Raises
    ------
    BackendUnavailableError
        When Matplotlib is not installed.
    """
    check_available()
    from oneread.report.paper.figures import FIGURES
    from oneread.report.paper.page import page
    from oneread.report.paper.style import look, save, svg

    drawn = {}
    for name, draw in FIGURES.items():
        with look():
            figure = draw(machines)
        if figure is not None:
            drawn[name] = svg(figure)
            save(figure, drawn[name], folder / "figures", name)
        yield name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PAGE).write_text(page(machines, drawn, command), "utf-8")
    yield PAGE


def parts() -> int:
    """Return how many parts a report has."""
    from oneread.report.paper.figures import FIGURES

    return len(FIGURES) + 1
