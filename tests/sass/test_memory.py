"""Bytes an element are those that lanes ask global memory for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oneread.sass import Code, analyse
from oneread.sass.decode.instruction import Program
from oneread.sass.facts.memory import CARDS, traffic
from oneread.sass.story.telling import tell

Assemble = Callable[..., Program]


@pytest.mark.parametrize(
    ("text", "elements", "moved"),
    [
        ("LDG.E.128 R4, [R2.64]\nSTG.E [R2.64], R4", 4, (4, 1)),
        ("LDGSTS.E.128 [R2], [R14.64]", 4, (4, 0)),
        ("RED.E.ADD.STRONG.GPU [R2], R5", 1, (0, 4)),
        ("LDS R4, [R2]\nATOMS.ADD RZ, [R2], R4", 1, (0, 0)),
    ],
)
def test_bytes_of_an_element(
    assemble: Assemble, text: str, elements: int, moved: tuple[float, float]
) -> None:
    analysis = analyse(assemble(f"{text}\nEXIT"))
    found = traffic(analysis.warm, analysis.accesses, analysis.transfers, elements)
    assert found is not None
    assert (found.read, found.written) == moved


def test_bulk_copy_does_not_say_how_much_it_moves(assemble: Assemble) -> None:
    analysis = analyse(assemble("UBLKCP.S.G [UR4], [UR6], UR8\nEXIT", arch="sm_90"))
    assert traffic(analysis.warm, analysis.accesses, analysis.transfers, 1) is None


@pytest.mark.parametrize(("more", "told"), [(0, "memory-limits"), (120, "memory-allows")])
def test_memory_limits_what_computes_little(assemble: Assemble, more: int, told: str) -> None:
    adds = "FADD R5, R5, R4\n" * more
    text = f"""
        loop: LDG.E R4, [R2.64]
        IADD3 R2, P2, R2, 0x4, RZ
        {adds}
        ISETP.NE.AND P1, PT, R2, R11, PT
        @P1 BRA `(loop)
        STG.E [R2.64], R5
        EXIT
    """
    program = assemble(text)
    (costs,) = [one for one in tell(Code("text", (program,)), analyse(program)) if one.table]
    assert told in {one.id for one in costs.statements}


def test_rate_of_a_card_is_that_of_one_multiprocessor() -> None:
    assert CARDS[90].rate == pytest.approx(4800e9 / 132 / 1980e6)
