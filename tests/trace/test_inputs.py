"""Patterns of inputs: what they hold, and for which buffer."""

from __future__ import annotations

import math

import pytest

from oneread.trace import run
from oneread.trace.inputs import PATTERNS, make

#: Patterns that hold the same wherever they are, as their names say.
SAME = {"all-inf", "ramp", "down", "constant", "zeros"}


def test_tile_below_one_masks_nothing() -> None:
    assert make("inf-first-tile", 2, 16, -5) == make("normal", 2, 16)
    assert make("inf-first-tile", 2, 16, 4).count(-math.inf) == 8
