"""Exponentials, divisions, choices and reductions are told by what they are made of."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oneread.sass.analysis import analyse
from oneread.sass.decode.instruction import Program

Assemble = Callable[..., Program]

LOG2_E = "1.4426950216293334961"
GUARDED = f"""
    FMUL R1, R2, {LOG2_E}
    FSETP.GEU.AND P0, PT, |R1|, 126, PT
    @!P0 FMUL R1, R1, 0.5
    MUFU.EX2 R4, R1
    @!P0 FMUL R4, R4, R4
"""
LIBM = f"""
    MOV R9, 0x3bbb989d
    FFMA.SAT R5, R2, R9, 0.5
    FFMA.RM R5, R5, 252.00003051757812, R8
    FADD R6, R5, -12583039
    FFMA R6, R2, {LOG2_E}, -R6
    FFMA R6, R2, 1.925963033500011079e-08, R6
    SHF.L.U32 R5, R5, 0x17, RZ
    MUFU.EX2 R4, R6
    FMUL R4, R5, R4
"""
DIVISION = """
    MUFU.RCP R1, R2
    FFMA R5, -R2, R1, 1
    FFMA R1, R1, R5, R1
    FCHK P0, R3, R2
    FFMA R4, R3, R1, RZ
"""
INTEGER = "I2F.U32.RP R2, R3\nMUFU.RCP R1, R2\nIADD3 R4, R1, 0xffffffe, RZ"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (f"FADD.FTZ R1, R2, -R3\nFMUL.FTZ R1, R1, {LOG2_E}\nMUFU.EX2 R4, R1", "fast"),
        (f"FFMA.FTZ R1, R2, {LOG2_E}, -R3\nMUFU.EX2 R4, R1", "fused"),
        (GUARDED, "guarded"),
        (LIBM, "libm"),
        ("FADD R1, R2, R3\nMUFU.EX2 R4, R1", "exp2"),
    ],
)
def test_exponential(assemble: Assemble, text: str, form: str) -> None:
    (one,) = analyse(assemble(f"{text}\nSTG.E [R20.64], R4\nEXIT")).exponentials
    assert one.form == form
    assert one.power in one.parts


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("MUFU.RCP R1, R2\nFMUL.FTZ R4, R3, R1", "fast"),
        (DIVISION, "division"),
        (
            "MUFU.RCP R1, R2\nFFMA R5, R2, R1, -1\nFADD R5, -R5, -RZ\nFFMA R4, R1, R5, R1",
            "reciprocal",
        ),
        (INTEGER, "integer"),
        # A float divided by an integer: the divisor is converted, the quotient is a float.
        ("I2FP.F32.S32 R2, R9\nMUFU.RCP R1, R2\nFMUL R4, R3, R1", "fast"),
        ("@P0 FMUL R2, R2, 0.25\nMUFU.RCP R1, R2\nFMUL R4, R3, R1", "guarded"),
    ],
)
def test_division(assemble: Assemble, text: str, form: str) -> None:
    (one,) = analyse(assemble(f"{text}\nSTG.E [R20.64], R4\nEXIT")).divisions
    assert one.form == form
    assert len(one.checks) == (form == "division")


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("FMNMX R4, R1, R2, !PT", ("max", "FMNMX")),
        ("FMNMX R4, R1, R2, PT", ("min", "FMNMX")),
        ("FMNMX3 R4, R1, R2, R3, !PT", ("max", "FMNMX3")),
        ("FSETP.GT.AND P0, PT, R1, R2, PT\nFSEL R4, R1, R2, P0", ("max", "FSETP+FSEL")),
        ("FSETP.GEU.AND P0, PT, R1, R2, PT\nFSEL R4, R2, R1, P0", ("min", "FSETP+FSEL")),
        ("FSETP.LT.AND P0, PT, R1, R2, PT\nFSEL R4, R1, R2, !P0", ("max", "FSETP+FSEL")),
    ],
)
def test_choice(assemble: Assemble, text: str, choice: tuple[str, str]) -> None:
    (one,) = analyse(assemble(f"{text}\nSTG.E [R20.64], R4\nEXIT")).choices
    assert (one.extreme, one.form) == choice


def test_selection_of_what_was_not_compared_is_no_choice(assemble: Assemble) -> None:
    text = "FSETP.GT.AND P0, PT, R1, R2, PT\nFSEL R4, R1, R3, P0\nSTG.E [R20.64], R4\nEXIT"
    assert analyse(assemble(text)).choices == ()


def test_selection_of_what_has_changed_since_is_no_choice(assemble: Assemble) -> None:
    text = (
        "FSETP.GT.AND P0, PT, R1, R2, PT\nFADD R1, R1, R1\nFSEL R4, R1, R2, P0\n"
        "STG.E [R20.64], R4\nEXIT"
    )
    assert analyse(assemble(text)).choices == ()


def test_butterfly_of_a_maximum(assemble: Assemble) -> None:
    steps = "".join(
        f"SHFL.BFLY PT, R1, R0, {distance:#x}, 0x1f\nFMNMX R0, R0, R1, !PT\n"
        for distance in (16, 8, 4, 2, 1)
    )
    (one,) = analyse(assemble(f"{steps}STG.E [R20.64], R0\nEXIT")).reductions
    assert (one.form, one.operations, one.distances) == ("shuffle", ("max",), (16, 8, 4, 2, 1))


def test_two_butterflies_are_two_reductions(assemble: Assemble) -> None:
    steps = "".join(
        f"SHFL.BFLY PT, R1, R0, {distance:#x}, 0x1f\n{combine}\n"
        for combine in ("FMNMX R0, R0, R1, !PT", "FADD R0, R0, R1")
        for distance in (2, 1)
    )
    found = analyse(assemble(f"{steps}STG.E [R20.64], R0\nEXIT")).reductions
    assert [one.operations for one in found] == [("max",), ("sum",)]


def test_steps_of_shuffles_may_grow(assemble: Assemble) -> None:
    steps = "".join(
        f"SHFL.DOWN P0, R1, R0, {distance:#x}, 0x1f\n@P0 FADD R0, R0, R1\n"
        for distance in (1, 2, 4, 8, 16)
    )
    (one,) = analyse(assemble(f"{steps}STG.E [R20.64], R0\nEXIT")).reductions
    assert (one.operations, one.distances) == (("sum",), (1, 2, 4, 8, 16))


def test_chains_of_shuffles_that_are_interleaved_are_told_apart(assemble: Assemble) -> None:
    steps = "".join(
        f"SHFL.BFLY PT, R{2 + lane}, R{lane}, {distance:#x}, 0x1f\n"
        f"FMNMX R{lane}, R{lane}, R{2 + lane}, !PT\n"
        for distance in (2, 1)
        for lane in (0, 1)
    )
    found = analyse(assemble(f"{steps}STG.E.64 [R20.64], R0\nEXIT")).reductions
    assert [one.distances for one in found] == [(2, 1), (2, 1)]


def test_shuffle_that_only_moves_is_no_reduction(assemble: Assemble) -> None:
    text = "SHFL.DOWN PT, R1, R0, 0x1, 0x1f\nSTG.E [R20.64], R1\nEXIT"
    assert analyse(assemble(text)).reductions == ()


def test_tree_that_was_unrolled(assemble: Assemble) -> None:
    steps = "".join(
        f"LDS R1, [R0]\nLDS R2, [R0+{distance:#x}]\nFADD R1, R1, R2\nSTS [R0], R1\nBAR.SYNC 0x0\n"
        for distance in (16, 8, 4)
    )
    (one,) = analyse(assemble(f"{steps}EXIT")).reductions
    assert (one.form, one.operations, one.distances) == ("tree", ("sum",), (16, 8, 4))


def test_tree_in_a_loop(assemble: Assemble) -> None:
    text = """
        loop: LDS R1, [R0]
        LDS R2, [R3]
        FMNMX R1, R1, R2, !PT
        STS [R0], R1
        BAR.SYNC 0x0
        SHF.R.U32.HI R3, RZ, 0x1, R3
        ISETP.NE.AND P0, PT, R3, RZ, PT
        @P0 BRA `(loop)
        EXIT
    """
    analysis = analyse(assemble(text))
    (one,) = analysis.reductions
    assert (one.form, one.operations, one.loop) == ("tree", ("max",), analysis.graph.loops[0])


def test_redux_is_a_reduction(assemble: Assemble) -> None:
    (one,) = analyse(assemble("REDUX.SUM UR4, R0\nSTG.E [R20.64], R1\nEXIT")).reductions
    assert (one.form, one.operations) == ("redux", ("sum",))


def test_guard_names_what_threads_are_told_apart_by(assemble: Assemble) -> None:
    text = """
        S2UR UR4, SR_CTAID.X
        S2R R0, SR_TID.X
        LOP3.LUT P0, RZ, R0, UR4, RZ, 0xfc, !PT
        @P0 EXIT
        LDG.E R1, [R2.64]
        EXIT
    """
    (one,) = analyse(assemble(text)).exits
    assert one.special == ("SR_CTAID.X", "SR_TID.X")
    assert [step.opcode for step in one.steps] == ["S2UR", "S2R", "LOP3"]


def test_guard_on_a_size_names_the_parameter(assemble: Assemble) -> None:
    text = "S2R R0, SR_TID.X\nISETP.GE.AND P0, PT, R0, c[0x0][0x170], PT\n@P0 EXIT\nEXIT"
    (one,) = analyse(assemble(text)).exits
    assert one.parameters == (0x10,)


def test_exit_behind_a_load_is_no_guard(assemble: Assemble) -> None:
    assert analyse(assemble("LDG.E R1, [R2.64]\n@P0 EXIT\nEXIT")).exits == ()


@pytest.mark.parametrize(("suffix", "initial"), [("", "-1"), (".U32", "4294967295")])
def test_maximum_of_integers_begins_with_an_integer(
    assemble: Assemble, suffix: str, initial: str
) -> None:
    text = f"""
        MOV R5, 0xffffffff
        loop: LDG.E R4, [R2.64]
        IMNMX{suffix} R5, R5, R4, !PT
        ISETP.NE.AND P1, PT, R2, R11, PT
        @P1 BRA `(loop)
        STG.E [R2.64], R5
        EXIT
    """
    (one,) = analyse(assemble(text)).accumulators
    assert one.initial is not None
    assert (one.kind, one.initial.text) == ("max", initial)


def test_guarded_exponential_is_all_of_its_instructions(assemble: Assemble) -> None:
    text = f"FADD R2, R6, -R7\n{GUARDED}"
    (one,) = analyse(assemble(f"{text}\nSTG.E [R20.64], R4\nEXIT")).exponentials
    assert [part.opcode for part in one.parts] == ["FADD", "FMUL", "FSETP", "FMUL", "MUFU", "FMUL"]


def test_two_trees_side_by_side_are_two_reductions(assemble: Assemble) -> None:
    steps = "".join(
        f"LDS R1, [R0+{word:#x}]\nLDS R2, [R0+{word + distance:#x}]\nFADD R1, R1, R2\n"
        f"STS [R0+{word:#x}], R1\n{'BAR.SYNC 0x0' if word else ''}\n"
        for distance in (16, 8, 4)
        for word in (0, 256)
    )
    found = analyse(assemble(f"{steps}EXIT")).reductions
    assert [one.distances for one in found] == [(16, 8, 4), (16, 8, 4)]
