"""Loads and stores have a width, an element and the pointer that they come from."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oneread.sass.analysis import analyse
from oneread.sass.decode.instruction import Program
from oneread.sass.facts.accesses import Access

Assemble = Callable[..., Program]


def accesses(program: Program) -> tuple[Access, ...]:
    return analyse(program).accesses


@pytest.mark.parametrize(
    ("text", "lane_bytes"),
    [
        ("LDG.E R4, [R2.64]", 4),
        ("LDG.E.U8 R4, [R2.64]", 1),
        ("LDG.E.U16.CONSTANT R4, [R2.64]", 2),
        ("LDG.E.64 R4, [R2.64]", 8),
        ("LDG.E.128 R4, [R2.64]", 16),
        ("LDG.E.ENL2.256 R8, R4, desc[UR4][R2.64]", 32),
    ],
)
def test_bytes_of_a_lane(assemble: Assemble, text: str, lane_bytes: int) -> None:
    (one,) = accesses(assemble(f"{text}\nEXIT"))
    assert (one.space, one.is_store, one.lane_bytes) == ("global", False, lane_bytes)
    assert one.is_read_only == ("CONSTANT" in text)


@pytest.mark.parametrize(
    ("use", "element_bytes"),
    [("FADD R8, R4, R5", 4), ("HFMA2 R8, R4, R5, R6", 2), ("DADD R8, R4, R6", 8)],
)
def test_element_is_what_the_values_are_used_as(
    assemble: Assemble, use: str, element_bytes: int
) -> None:
    (one,) = accesses(assemble(f"LDG.E.128 R4, [R2.64]\n{use}\nEXIT"))
    assert one.element_bytes == element_bytes


def test_constant_that_is_written_as_two_halves_is_no_half(assemble: Assemble) -> None:
    (one,) = accesses(assemble("HFMA2 R4, -RZ, RZ, 0, 0\nSTS [R2], R4\nEXIT"))
    assert (one.space, one.element_bytes) == ("shared", 4)


@pytest.mark.parametrize(
    ("text", "arch", "parameter"),
    [
        ("IMAD.WIDE R2, R0, R9, c[0x0][0x168]", "sm_86", 8),
        (
            "LEA R2, P0, R0, c[0x0][0x160], 0x2\nLEA.HI.X R3, R0, c[0x0][0x164], R1, 0x2, P0",
            "sm_86",
            0,
        ),
        ("ULDC.64 UR4, c[0x0][0x210]\nIADD3 R2, P0, R0, UR4, RZ", "sm_90", 0),
        ("LDCU.128 UR4, c[0x0][0x380]\nIADD3 R2, P0, PT, R0, UR6, RZ", "sm_100", 8),
        ("LDC.64 R6, c[0x0][0x388]\nIMAD.WIDE R2, R0, 0x4, R6", "sm_120", 8),
        (
            "LDCU.64 UR6, c[0x0][0x380]\nUIMAD.WIDE.U32 UR4, UR6, 0x1, UR8\nMOV R2, UR4",
            "sm_100",
            0,
        ),
        ("MOV R2, R0", "sm_86", None),
    ],
)
def test_pointer_is_the_parameter_that_the_address_starts_from(
    assemble: Assemble, text: str, arch: str, parameter: int | None
) -> None:
    (one,) = accesses(assemble(f"{text}\nLDG.E R4, [R2.64]\nEXIT", arch=arch))
    assert one.parameter == parameter


def test_what_never_runs_is_no_access(assemble: Assemble) -> None:
    assert accesses(assemble("@!PT LDS R4, [R2]\nEXIT")) == ()
