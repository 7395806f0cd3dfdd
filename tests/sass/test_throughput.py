"""Ceilings follow from counts and rates; unknown opcodes are counted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oneread.sass.analysis import analyse
from oneread.sass.decode.instruction import Program
from oneread.sass.facts.throughput import ISSUE, RATES, cost

Assemble = Callable[..., Program]


def test_slowest_pipe_limits(assemble: Assemble) -> None:
    program = assemble("MUFU.EX2 R0, R1\nFADD R0, R0, R1\nFADD R0, R0, R1\nFADD R0, R0, R1")
    found = cost(program.instructions, 1, 86)
    assert found.pipes == {"mufu": 1, "fma": 3}
    assert found.ceilings == {"mufu": 16.0, "fma": 128 / 3, "issue": ISSUE / 4}
    assert found.limit == "mufu"


def test_elements_share_the_cost(assemble: Assemble) -> None:
    program = assemble("MUFU.EX2 R0, R1\nMUFU.EX2 R0, R1")
    assert cost(program.instructions, 4, 86).ceilings["mufu"] == 32.0


def test_packed_arithmetic_takes_two_turns(assemble: Assemble) -> None:
    program = assemble("FFMA2 R0, R2, R4, R6", arch="sm_100")
    assert cost(program.instructions, 2, 100).ceilings["fma"] == RATES[100]["fma"]


def test_unknown_opcode_is_counted(assemble: Assemble) -> None:
    analysis = analyse(assemble("FROBNICATE R0, R1\nFROBNICATE R0, R1\nEXIT"))
    assert analysis.unknown == {"FROBNICATE": 2}
    assert cost(analysis.instructions, 1, 86).unknown == 2


@pytest.mark.parametrize(("target", "family"), [(75, 75), (89, 86), (121, 120), (110, 103)])
def test_target_between_has_the_rates_of_the_one_before(target: int, family: int) -> None:
    from oneread.sass.facts.throughput import rates

    assert rates(target) is RATES[family]


def test_exponentials_are_twice_as_fast_on_sm_103(assemble: Assemble) -> None:
    program = assemble("MUFU.EX2 R0, R1")
    assert cost(program.instructions, 1, 103).ceilings["mufu"] == 32.0
    assert cost(program.instructions, 1, 100).ceilings["mufu"] == 16.0


def test_loop_of_a_slow_path_is_no_work(assemble: Assemble) -> None:
    text = "@!PT BRA `(slow)\nEXIT\nslow: FADD R0, R0, R1\n@P0 BRA `(slow)\nEXIT"
    analysis = analyse(assemble(text))
    assert len(analysis.graph.loops) == 1
    assert analysis.works == ()
