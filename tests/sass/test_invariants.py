"""A loop repeats what is made of nothing that changes there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oneread.sass.analysis import analyse
from oneread.sass.decode.instruction import Program

Assemble = Callable[..., Program]


@pytest.mark.parametrize(
    ("before", "inside", "is_repeated"),
    [
        ("LDG.E R5, [R2.64]", "", True),
        ("LDG.E R8, [R2.64]", "FADD R5, R8, 1", True),
        ("MOV R5, 0x1", "FADD R5, R5, 1", False),
        ("", "LDG.E R4, [R2.64]\nFADD R5, R4, 1", False),
        ("", "LDS R5, [R4]", False),
    ],
)
def test_reciprocal_in_a_loop(
    assemble: Assemble, before: str, inside: str, is_repeated: bool
) -> None:
    text = f"""{before}
        loop: IADD3 R2, P2, R2, 0x4, RZ
        {inside}
        MUFU.RCP R7, R5
        STG.E [R2.64], R7
        ISETP.NE.AND P1, PT, R2, R11, PT
        @P1 BRA `(loop)
        EXIT
    """
    analysis = analyse(assemble(text))
    (one,) = analysis.divisions
    assert analysis.is_repeated(one.reciprocal) == is_repeated


def test_what_stands_in_no_loop_is_not_repeated(assemble: Assemble) -> None:
    analysis = analyse(assemble("MUFU.RCP R7, R5\nSTG.E [R2.64], R7\nEXIT"))
    assert not analysis.is_repeated(analysis.divisions[0].reciprocal)
