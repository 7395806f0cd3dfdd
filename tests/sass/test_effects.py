"""Registers read and written follow from the notation."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oneread.sass.decode.instruction import Program

Assemble = Callable[..., Program]


@pytest.mark.parametrize(
    ("text", "writes", "reads"),
    [
        ("FADD.FTZ R1, R2, -R3", "R1", "R2 R3"),
        ("@!P2 FADD R1, R1, R3", "R1", "P2 R1 R3"),
        ("FSETP.GT.FTZ.AND P2, PT, R11, R18, PT", "P2", "R11 R18"),
        ("FSEL R19, R11, R18, P2", "R19", "P2 R11 R18"),
        ("LOP3.LUT P0, RZ, R0, UR4, RZ, 0xfc, !PT", "P0", "R0 UR4"),
        ("LDG.E.CONSTANT R18, [R2.64+0x4]", "R18", "R2 R3"),
        ("LDG.E.SYS R18, [R2+0x4]", "R18", "R2 R3"),
        ("LDG.E.128 R8, desc[UR4][R2.64]", "R8 R9 R10 R11", "R2 R3 UR4 UR5"),
        (
            "LDG.E.ENL2.256.CONSTANT R8, R4, desc[UR4][R2.64]",
            "R4 R5 R6 R7 R8 R9 R10 R11",
            "R2 R3 UR4 UR5",
        ),
        ("STG.E.64 desc[UR4][R2.64], R6", "", "R2 R3 R6 R7 UR4 UR5"),
        ("STS [R5+0x10], R6", "", "R5 R6"),
        ("LDS.64 R6, [UR4]", "R6 R7", "UR4"),
        ("IMAD.WIDE R2, R4, R5, c[0x0][0x160]", "R2 R3", "R4 R5"),
        ("IMAD.WIDE.U32 R2, R4, R5, R6", "R2 R3", "R4 R5 R6 R7"),
        ("IADD3 R2, P0, R4, R5, RZ", "P0 R2", "R4 R5"),
        ("IADD3.X R3, R4, R5, RZ, P0, !PT", "R3", "P0 R4 R5"),
        ("LEA.HI.X R3, R4, c[0x0][0x164], R5, 0x2, P0", "R3", "P0 R4 R5"),
        ("SHFL.BFLY PT, R5, R4, 0x10, 0x1f", "R5", "R4"),
        ("VOTE.ANY R7, PT, P1", "R7", "P1"),
        ("DADD R2, R4, R6", "R2 R3", "R4 R5 R6 R7"),
        ("F2F.F64.F32 R2, R4", "R2 R3", "R4"),
        ("F2F.F32.F64 R2, R4", "R2", "R4 R5"),
        ("CS2R R2, SRZ", "R2 R3", ""),
        ("CS2R.32 R2, SR_CLOCKLO", "R2", ""),
        ("BSSY B0, `(end)", "B0", ""),
        ("BSYNC B0", "", "B0"),
        ("P2R R0, PR, RZ, 0x3", "R0", "P0 P1"),
        ("R2P PR, R0, 0x5", "P0 P2", "R0"),
        ("RET.REL.NODEC R20 `(end)", "", "R20 R21"),
        ("MUFU.EX2 R16, R16", "R16", "R16"),
        ("UIADD3.64 UR4, UPT, UPT, UR4, UR6, URZ", "UR4 UR5", "UR4 UR5 UR6 UR7"),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", "", ""),
    ],
)
def test_registers(assemble: Assemble, text: str, writes: str, reads: str) -> None:
    one = assemble(f"{text}\nend: EXIT").instructions[0]
    assert " ".join(sorted(map(str, one.writes), key=_natural)) == writes
    assert " ".join(sorted(map(str, one.reads), key=_natural)) == reads


def _natural(register: str) -> tuple[str, int]:
    bank = register.rstrip("0123456789")
    return bank, int(register[len(bank) :])


def test_opcode_that_is_not_known_writes_its_first_operand(assemble: Assemble) -> None:
    one = assemble("FROBNICATE R1, R2, R3\nEXIT").instructions[0]
    assert set(map(str, one.writes)) == {"R1"}
    assert set(map(str, one.reads)) == {"R2", "R3"}
