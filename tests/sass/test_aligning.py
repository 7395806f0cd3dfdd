"""Loops of two kernels that do the same stand beside each other, whatever they are unrolled to."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oneread.runtime import nvrtc
from oneread.sass import SassAssertion, analyse
from oneread.sass.aligning import Pair, align
from oneread.sass.decode.instruction import Program
from oneread.sass.read import nvdisasm

needs_tools = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)

Assemble = Callable[..., Program]

MAXIMUM = """
loop: LDG.E R4, [R2.64]
FMNMX R8, R4, R8, !PT
IADD3 R2, R2, 0x4, RZ
ISETP.NE.AND P0, PT, R2, RZ, PT
@P0 BRA `(loop)
"""
TWICE = """
again: LDG.E R4, [R2.64]
LDG.E R5, [R2.64+0x4]
FSETP.GT.AND P1, PT, R4, R8, PT
FSEL R8, R4, R8, P1
FSETP.GT.AND P1, PT, R5, R8, PT
FSEL R8, R5, R8, P1
IADD3 R2, R2, 0x8, RZ
ISETP.NE.AND P0, PT, R2, RZ, PT
@P0 BRA `(again)
"""
STORES = """
store: STG.E [R10.64], R8
IADD3 R10, R10, 0x4, RZ
ISETP.NE.AND P0, PT, R10, RZ, PT
@P0 BRA `(store)
"""
END = "STG.E [R20.64], R8\nEXIT"


def shown(pair: Pair) -> list[tuple[str, ...]]:
    return [
        (row.role, *(f"{one.each:g} {one.first.mnemonic}" if one else "" for one in row.forms))
        for row in pair.rows
    ]


def test_same_end_by_other_instructions_is_one_row(assemble: Assemble) -> None:
    first, second = (analyse(assemble(text + END)) for text in (MAXIMUM, TWICE))
    (pair,) = align(first, second)
    assert [work.elements for work in pair.loops if work] == [1, 2]
    assert shown(pair) == [
        ("load", "1 LDG.E", "1 LDG.E"),
        ("max", "1 FMNMX", "1 FSETP.GT.AND"),
        ("max", "", "1 FSEL"),
        ("control", "1 BRA", "0.5 BRA"),
        ("other", "1 IADD3", "0.5 IADD3"),
        ("other", "1 ISETP.NE.AND", "0.5 ISETP.NE.AND"),
    ]


def test_loops_are_matched_by_what_they_do_and_not_by_their_order(assemble: Assemble) -> None:
    first, second = (analyse(assemble(text + END)) for text in (MAXIMUM + STORES, STORES + TWICE))
    pairs = align(first, second)
    roles = [{row.role for row in pair.rows if all(row.forms)} for pair in pairs]
    assert roles == [{"load", "max", "control", "other"}, {"store", "control", "other"}]


def test_loop_without_a_match_stands_alone(assemble: Assemble) -> None:
    first, second = (analyse(assemble(text + END)) for text in (MAXIMUM, MAXIMUM + STORES))
    _, alone = align(first, second)
    assert alone.loops[0] is None
    assert ("store", "", "1 STG.E") in shown(alone)
    mirrored = align(second, first)[1]
    assert mirrored.loops[1] is None
    assert ("store", "1 STG.E", "") in shown(mirrored)


@needs_tools
def test_kernel_is_beside_itself(of_gallery: Callable[..., SassAssertion]) -> None:
    analysis = of_gallery("online_softmax", "sm_90", True).analysis
    for pair in align(analysis, analysis):
        assert pair.loops[0] is pair.loops[1]
        assert all(row.forms[0] == row.forms[1] for row in pair.rows)


@needs_tools
def test_online_loop_takes_two_exponentials_where_the_other_takes_one(
    of_gallery: Callable[..., SassAssertion],
) -> None:
    names = ("safe_softmax_shared", "online_softmax_single_thread")
    sums, quotients, maximum = align(*(of_gallery(one, "sm_86", True).analysis for one in names))
    assert ("exp", "1 MUFU.EX2", "2 MUFU.EX2") in shown(sums)
    assert ("sum", "1 FADD.FTZ", "1 FFMA.FTZ") in shown(sums)
    assert ("store", "1 STG.E", "1 STG.E") in shown(quotients)
    assert maximum.loops[1] is None
