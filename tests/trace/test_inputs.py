"""Patterns of inputs: what they hold, and for which buffer."""

from __future__ import annotations

import math

import pytest

from oneread.trace import run
from oneread.trace.inputs import PATTERNS, integers, make

#: Patterns without random numbers; `lowest` rounds them away.
SAME = {"all-inf", "ramp", "down", "constant", "zeros", "lowest"}


def test_tile_below_one_masks_nothing() -> None:
    assert make("inf-first-tile", 2, 16, -5) == make("normal", 2, 16)
    assert make("inf-first-tile", 2, 16, 4).count(-math.inf) == 8


@pytest.mark.parametrize("pattern", sorted(set(PATTERNS) - SAME))
def test_each_input_has_random_numbers_of_its_own(pattern: str) -> None:
    first, second = make(pattern, 2, 64), make(pattern, 2, 64, number=1)
    assert first != second
    assert not {*first[40:60]} & {*second} - {math.inf, -math.inf, 1000.0}


@pytest.mark.parametrize("pattern", sorted(SAME))
def test_pattern_without_random_numbers_is_the_same_for_each_input(pattern: str) -> None:
    assert make(pattern, 2, 64) == make(pattern, 2, 64, number=1)


def test_first_input_keeps_the_numbers_that_it_always_had() -> None:
    assert make("normal", 1, 4)[:2] == [-1.799807071685791, -2.342261552810669]


def test_inputs_that_are_swapped_give_another_result() -> None:
    text = (
        "__global__ void k(const float* a, const float* b, float* y, int n) {"
        " y[threadIdx.x] = a[threadIdx.x] - b[threadIdx.x]; }"
    )
    outcome = run(text, rows=1, vocab=32, block=32, truth={})
    assert 0 not in outcome.outputs["y"]
    assert len(set(outcome.outputs["y"])) == 32


@pytest.mark.parametrize(
    ("pattern", "want"),
    [
        ("normal", [0, 1, 2, 0, 1, 2]),
        ("down", [2, 1, 0, 2, 1, 0]),
        ("constant", [1] * 6),
        ("zeros", [0] * 6),
    ],
)
def test_integers_are_numbers_of_columns(pattern: str, want: list[int]) -> None:
    assert integers(pattern, 6, 3) == want
