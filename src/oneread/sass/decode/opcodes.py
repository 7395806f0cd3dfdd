"""The opcodes that are known, with the pipe that each goes to.

One table. The pipe is where an instruction takes its slot: by that, and not by what it is for, the
compiler chooses between forms of one operation, such as a copy by `IMAD.MOV` or by `MOV`.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

#: ``fma`` multiplies and adds, ``alu`` compares and does integers, ``half`` two halves at a time,
#: ``mufu`` is exponentials and reciprocals, ``lsu`` loads, stores and shuffles, ``uniform`` a
#: warp's own registers, ``control`` branches, barriers and what else takes a slot and no pipe.
Pipe: TypeAlias = Literal[
    "fma", "alu", "half", "fp64", "mufu", "tensor", "lsu", "async", "uniform", "control"
]

_NAMES: Final[dict[Pipe, str]] = {
    "fma": """
        FADD FADD2 FADD32I FFMA FFMA2 FFMA32I FMUL FMUL2 FMUL32I IDP IDP4A IMAD IMAD32I IMUL
        IMUL32I""",
    "alu": """
        BMSK F2FP F2IP FMNMX FMNMX3 FSEL FSET FSETP FSWZADD I2FP I2IP IABS IADD IADD3 IADD32I
        IMNMX ISCADD ISCADD32I ISETP LEA LOP LOP3 LOP32I MOV MOV32I P2R PLOP3 PRMT PSETP R2P SEL
        SGXT SHF SHL SHR VABSDIFF VABSDIFF4 VHMNMX VIADD VIADD2 VIADDMNMX VIADDMNMX3 VIMNMX VIMNMX3
        VOTE""",
    "half": """
        HADD2 HADD2_32I HFMA2 HFMA2_32I HMNMX2 HMUL2 HMUL2_32I HSET2 HSETP2""",
    "fp64": "DADD DFMA DMNMX DMUL DSETP",
    "mufu": "BREV F2F F2I FCHK FLO FRND I2F MUFU POPC",
    "tensor": """
        BGMMA BMMA DMMA HGMMA HMMA IGMMA IMMA OMMA QGMMA QMMA UTCBAR UTCCP UTCHMMA UTCIMMA
        UTCMXQMMA UTCOMMA UTCQMMA UTCSHIFT WARPGROUP""",
    "lsu": """
        ARRIVES ATOM ATOMG ATOMS CCTL CCTLL CCTLT LD LDG LDGMC LDL LDS LDSM LDT LDTM MATCH MOVM QSPC
        RED REDAS REDG SHFL ST STAS STG STL STS STSM STT STTM SUATOM SULD SURED SUST SYNCS TEX TLD
        TLD4 TMML TXD TXQ""",
    "async": """
        LDGSTS UBLKCP UBLKPF UBLKRED UTMACCTL UTMACMDFLUSH UTMALDG UTMAPF UTMAREDG UTMASTG""",
    "uniform": """
        CREDUX CS2UR LDCU R2UR REDUX S2UR UBMSK UBREV UCLEA UF2F UF2FP UF2I UF2IP UFADD UFFMA UFLO
        UFMNMX UFMUL UFRND UFSEL UFSET UFSETP UI2F UI2FP UI2I UI2IP UIABS UIADD3 UIMAD UIMNMX
        UISETP ULDC ULEA ULOP ULOP3 ULOP32I UMOV UP2UR UPLOP3 UPOPC UPRMT UPSETP UR2UP USEL USGXT
        USHF USHL USHR UVIADD UVIMNMX UVIMNMX3 UVIRTCOUNT VOTEU""",
    "control": """
        ACQBULK ACQSHMINIT B2R BAR BMOV BPT BRA BREAK BRX BRXU BSSY BSYNC CALL CGAERRBAR CS2R
        CSMTEST DEPBAR ELECT ENDCOLLECTIVE ERRBAR EXIT FENCE GETLMEMBASE JMP JMX JMXU KILL
        LDC LDGDEPBAR LEPC MEMBAR NANOSLEEP NOP PMTRIG PREEXIT R2B RET RPCMOV RTT S2R SETCTAID
        SETLMEMBASE SETMAXREG UCGABAR_ARV UCGABAR_WAIT UGETNEXTWORKID UMEMSETS UREDGR USETMAXREG
        USTGR UTCATOMSWS WARPSYNC YIELD""",
}

PIPES: Final[dict[str, Pipe]] = {
    name: pipe for pipe, names in _NAMES.items() for name in names.split()
}


def pipe(opcode: str) -> Pipe | None:
    """Return the pipe of an opcode, None of one that is not known."""
    return PIPES.get(opcode)
