"""Figures: colours by role, names that do not touch, the same file for the same records."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("matplotlib", reason="the figures are Matplotlib's")

from oneread.report.paper import axes, style

BLACK = {"#000000", "#ffffff"}


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("page", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("role", ["ink", "muted", "safe", "online", "ours", "peer", "fails"])
def test_what_is_written_can_be_read(role: str, page: int) -> None:
    assert contrast(style.COLOURS[role][page], style.COLOURS["paper"][page]) >= 4.5


@pytest.mark.parametrize("page", [0, 1], ids=["light", "dark"])
def test_numbers_on_the_map_can_be_read(page: int) -> None:
    from oneread.report.paper.win_map import BANDS

    for _, band, ink, _ in BANDS:
        assert contrast(style.COLOURS[band][page], style.COLOURS[ink][page]) >= 4.5, band


def test_each_role_has_a_colour_of_its_own_to_be_replaced_by() -> None:
    lights = [light for light, _ in style.COLOURS.values()]
    assert len(set(lights)) == len(lights)


def drawn() -> str:
    with style.look():
        figure, ((panel,),) = style.figure(2.0)
        style.headline(figure, "A headline")
        style.panel_title(panel, "A title")
        panel.plot([1, 10, 100], [1, 2, 3], color=style.colour("ours"), marker="s")
        panel.annotate("said", (10, 2))
        axes.vocab_axis(panel, [1, 10, 100])
        axes.finish(figure, [(panel, [style.Label("ours", 3.0, "ours")])])
    return style.svg(figure)


def test_all_colours_of_a_figure_follow_the_page() -> None:
    text = drawn()
    body = text.partition("</style>")[2]
    assert "var(--ours)" in body
    assert "prefers-color-scheme:dark" in text
    assert set(re.findall(r"#[0-9a-f]{6}", body)) == set()


def test_the_same_figure_is_the_same_file() -> None:
    assert drawn() == drawn()


@pytest.mark.parametrize(
    ("wanted", "placed"),
    [
        ([0.1, 0.5, 0.9], [0.1, 0.5, 0.9]),
        ([0.5, 0.5], [0.45, 0.55]),
        ([0.5, 0.52, 0.54], [0.42, 0.52, 0.62]),
        ([0.5, 0.55, 0.9], [0.475, 0.575, 0.9]),
    ],
)
def test_names_are_moved_apart_no_further_than_they_must(
    wanted: list[float], placed: list[float]
) -> None:
    assert style.spread(wanted, 0.1) == pytest.approx(placed)


def test_lengths_that_would_touch_have_no_label_but_the_longest() -> None:
    lengths = [10, 100, 1000, 128256, 131072]
    assert axes.apart(lengths) == [10, 100, 1000, 131072]
