"""What a loop carries is found by data flow, whatever registers it goes through."""

from __future__ import annotations

from collections.abc import Callable

from oneread.sass.analysis import analyse
from oneread.sass.decode.instruction import Program
from oneread.sass.facts.accumulators import Accumulator

Assemble = Callable[..., Program]


def accumulators(program: Program) -> list[Accumulator]:
    return list(analyse(program).accumulators)


END = """
IADD3 R0, R0, -0x1, RZ
ISETP.NE.AND P0, PT, R0, RZ, PT
@P0 BRA `(loop)
STG.E [R20.64], R5
EXIT
"""


def test_sum_in_one_register(assemble: Assemble) -> None:
    (one,) = accumulators(assemble("loop: FADD R5, R5, R4" + END))
    assert (one.kind, one.length, [str(r) for r in one.carriers]) == ("sum", 1, ["R5"])
    assert not one.rescales


def test_sum_that_goes_through_other_registers(assemble: Assemble) -> None:
    body = "loop: FADD R6, R5, R4\nFADD R7, R6, R3\nFADD R5, R7, R2"
    (one,) = accumulators(assemble(body + END))
    assert (one.kind, one.length) == ("sum", 3)


def test_registers_that_rotate_are_one_accumulator(assemble: Assemble) -> None:
    (one,) = accumulators(assemble("loop: FADD R6, R5, R4\nMOV R5, R7\nMOV R7, R6" + END))
    assert [str(register) for register in one.carriers] == ["R5", "R7"]


def test_rescaled_sum_has_the_carried_value_among_the_factors(assemble: Assemble) -> None:
    (one,) = accumulators(assemble("loop: FFMA R5, R6, R5, R7" + END))
    assert (one.kind, len(one.rescales)) == ("sum", 1)


def test_added_product_is_not_rescaled(assemble: Assemble) -> None:
    (one,) = accumulators(assemble("loop: FFMA R5, R6, R7, R5" + END))
    assert (one.kind, one.rescales) == ("sum", ())


def test_maximum_by_one_instruction(assemble: Assemble) -> None:
    (one,) = accumulators(assemble("loop: FMNMX R5, R5, R4, !PT" + END))
    assert one.kind == "max"
    (one,) = accumulators(assemble("loop: FMNMX R5, R5, R4, PT" + END))
    assert one.kind == "min"


def test_maximum_by_comparison_and_selection(assemble: Assemble) -> None:
    body = "loop: FSETP.GT.AND P1, PT, R5, R4, PT\nFSEL R5, R5, R4, P1"
    (one,) = accumulators(assemble(body + END))
    assert (one.kind, one.length) == ("max", 1)


def test_selection_the_other_way_is_a_minimum(assemble: Assemble) -> None:
    body = "loop: FSETP.GT.AND P1, PT, R5, R4, PT\nFSEL R5, R5, R4, !P1"
    (one,) = accumulators(assemble(body + END))
    assert one.kind == "min"


def test_counters_and_addresses_are_no_accumulators(assemble: Assemble) -> None:
    assert accumulators(assemble("loop: IADD3 R2, P1, R2, 0x4, RZ" + END)) == []


def test_value_that_is_read_under_its_own_guard_alone_is_not_carried(assemble: Assemble) -> None:
    body = "loop: @P2 LDG.E R5, [R2.64]\n@P2 FADD R5, R5, R4\n@P2 STG.E [R2.64], R5"
    assert accumulators(assemble(body + END)) == []


def test_word_of_shared_memory_can_be_carried(assemble: Assemble) -> None:
    body = "loop: LDS R5, [0x10]\nFMNMX R6, R5, R4, !PT\nSTS [0x10], R6"
    (one,) = accumulators(assemble(body + END))
    assert (one.kind, one.is_shared) == ("max", True)


def test_pair_in_shared_memory_is_two_accumulators(assemble: Assemble) -> None:
    body = "loop: LDS.64 R4, [0x10]\nFMNMX R6, R4, R3, !PT\nFFMA R7, R5, R2, R1\nSTS.64 [0x10], R6"
    assert [one.kind for one in accumulators(assemble(body + END))] == ["max", "sum"]


def test_word_that_moves_with_the_loop_is_not_carried(assemble: Assemble) -> None:
    body = "loop: LDS R5, [R0]\nFADD R6, R5, R4\nSTS [R0], R6"
    assert accumulators(assemble(body + END)) == []
