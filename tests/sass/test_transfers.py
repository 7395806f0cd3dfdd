"""Atomics and copies touch memory without a load or a store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oneread.sass import SassAssertion, analyse
from oneread.sass.decode.instruction import Program

Assemble = Callable[..., Program]


@pytest.mark.parametrize(
    ("text", "kind", "operation", "lane_bytes"),
    [
        ("ATOMS.POPC.INC.32 RZ, [R9+URZ]", "atomic", "INC", 4),
        ("ATOMS.CAST.SPIN R3, [R2], R4, R5", "atomic", "CAS", 4),
        ("ATOMG.E.CAS.64.STRONG.GPU PT, R2, [R4], R6, R8", "atomic", "CAS", 8),
        ("LDGSTS.E.BYPASS.128 [R2], desc[UR6][R14.64]", "copy", "", 16),
        ("UBLKCP.S.G [UR4], [UR6], UR8", "copy", "", 0),
        ("LDSM.16.M88.4 R4, [R2]", "matrix", "", 4),
    ],
)
def test_kind_and_operation(
    assemble: Assemble, text: str, kind: str, operation: str, lane_bytes: int
) -> None:
    (one,) = analyse(assemble(f"{text}\nEXIT", arch="sm_90")).transfers
    assert (one.kind, one.operation, one.lane_bytes) == (kind, operation, lane_bytes)


@pytest.mark.parametrize(
    "text", ["ATOMS.MAX.S32 RZ, [R4], R2", "LDGSTS.E.128 [R2], [R14.64]", "LDSM.16.M88 R4, [R2]"]
)
def test_shared_memory_that_no_load_touches_is_shared_memory(assemble: Assemble, text: str) -> None:
    analysis = analyse(assemble(f"{text}\nEXIT"))
    with pytest.raises(AssertionError, match="shared memory is used"):
        SassAssertion(analysis).no_shared()


def test_atomics_on_global_memory_are_stores_and_no_shared_memory(assemble: Assemble) -> None:
    analysis = analyse(assemble("RED.E.ADD.STRONG.GPU [R2], R5\nEXIT"))
    SassAssertion(analysis).no_shared()
    assert analysis.roles[0] == "store"
