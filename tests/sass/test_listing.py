"""Text of both disassemblers is read, and damaged text is refused with its line."""

from __future__ import annotations

import pytest

from oneread.sass.decode.decoding import control_bits, decode
from oneread.sass.errors import MachineCodeError
from oneread.sass.read.listing import read_listing

NVDISASM = """\
\t.headerflags\t@"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS EF_CUDA_SM86"
\t.elftype\t@"ET_EXEC"


//--------------------- .text.double_it            --------------------------
\t.section\t.text.double_it,"ax",@progbits
\t.sectionflags\t@"SHF_BARRIERS=1"
\t.sectioninfo\t@"SHI_REGISTERS=8"
\t.align\t128
        .global         double_it
        .type           double_it,@function
        .size           double_it,(.L_x_1 - double_it)
        .other          double_it,@"STO_CUDA_ENTRY STV_DEFAULT"
double_it:
.text.double_it:
\t//## File "k.cu", line 3 inlined at "k.cu", line 9
\t//## File "k.cu", line 9
        /*0000*/                   FADD.FTZ R0, R1, R1 ;   /* 0x0000000101007221 */
                                                           /* 0x000fe20000010000 */
.L_x_0:
        /*0010*/                   BRA `(.L_x_0);          /* 0xfffffff000007947 */
                                                           /* 0x000fc0000383ffff */
.L_x_1:
"""

CUOBJDUMP = """
Fatbin elf code:
================
arch = sm_90
code version = [1,7]
host = linux
compile_size = 64bit

\tcode for sm_90
\t\tFunction : first
\t.headerflags\t@"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS EF_CUDA_SM90"
        /*0000*/                   MOV R0, 0xff7fffff ;    /* 0xff7fffff00007802 */
                                                           /* 0x000fe20000000f00 */
        /*0010*/                   EXIT ;                  /* 0x000000000000794d */
                                                           /* 0x000fea0003800000 */
\t\t..........


\t\tFunction : second
\t.headerflags\t@"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS EF_CUDA_SM90"
        /*0000*/                   BRA 0x0;                /* 0xfffffff000007947 */
                                                           /* 0x000fc0000383ffff */
\t\t..........
"""


def test_nvdisasm_says_kernel_target_lines_and_resources() -> None:
    (listing,) = read_listing(NVDISASM)
    assert (listing.name, listing.arch) == ("double_it", "sm_86")
    assert listing.resources.registers == 8
    assert listing.resources.barriers == 1
    assert listing.labels[".L_x_0"] == 0x10
    line = listing.instructions[0].line
    assert line is not None
    assert (line.line, line.outermost.line) == (3, 9)


def test_labels_become_addresses() -> None:
    program = decode(read_listing(NVDISASM)[0])
    assert program.instructions[1].targets == (0x10,)


def test_cuobjdump_has_several_kernels() -> None:
    listings = read_listing(CUOBJDUMP)
    assert [(one.name, one.arch, len(one.instructions)) for one in listings] == [
        ("first", "sm_90", 2),
        ("second", "sm_90", 1),
    ]
    assert decode(listings[1]).instructions[0].targets == (0,)


def test_control_bits_are_taken_from_the_encoding() -> None:
    control = decode(read_listing(NVDISASM)[0]).instructions[0].control
    assert control is not None
    assert (control.stall, control.yields) == (1, False)
    assert (control.write_barrier, control.read_barrier, control.waits) == (None, None, ())
    assert control_bits(0x004FE20000010000 << 64).waits == (2,)


def test_text_without_encodings_has_no_control_bits() -> None:
    text = "\tcode for sm_80\n\t\tFunction : f\n        /*0000*/       EXIT ;\n"
    assert decode(read_listing(text)[0]).instructions[0].control is None


def test_target_can_be_given() -> None:
    text = "Function:f\n        /*0000*/       EXIT ;\n"
    with pytest.raises(MachineCodeError, match=r"x\.sass: the text does not say its target"):
        read_listing(text, "x.sass")
    assert read_listing(text, "x.sass", "sm_89")[0].arch == "sm_89"


def test_strange_line_is_refused_with_its_number() -> None:
    with pytest.raises(MachineCodeError, match=r"x\.sass:18: no line of a listing: 'FADD.FTZ R0"):
        read_listing(NVDISASM.replace("/*0000*/", ""), "x.sass")


def test_text_that_is_no_listing_is_refused() -> None:
    with pytest.raises(MachineCodeError, match="neither a cubin nor the text"):
        read_listing("Dear reader,\nthis is a letter.\n")


def test_jump_to_a_lost_label_is_refused() -> None:
    with pytest.raises(MachineCodeError, match="label that is not there; is the text cut off"):
        decode(read_listing(NVDISASM.replace(".L_x_0:\n", ""))[0])


def test_old_target_is_refused() -> None:
    text = "\tcode for sm_61\n\t\tFunction : f\n        /*0000*/       EXIT ;\n"
    with pytest.raises(MachineCodeError, match="f is for sm_61; machine code is read from sm_75"):
        decode(read_listing(text)[0])
