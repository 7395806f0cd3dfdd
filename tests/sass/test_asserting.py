"""Assertions hold or fail as they should, and what fails shows the instructions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from oneread.runtime import nvrtc
from oneread.sass import SassAssertion, analyse, assert_sass
from oneread.sass.decode.instruction import Program, Resources
from oneread.sass.read import nvdisasm

Assemble = Callable[..., Program]

needs_tools = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)

LOOP = """
loop: LDG.E.128 R4, [R2.64]
FMNMX R8, R4, R5, !PT
FADD R9, R4, -R8
FMUL R9, R9, 1.4426950216293334961
MUFU.EX2 R9, R9
MUFU.RCP R10, R9
FMUL R10, R10, R9
STG.E [R2.64], R10
ISETP.NE.AND P0, PT, R2, RZ, PT
@P0 BRA `(loop)
EXIT
"""
LOCAL = "STL [R1], R2\nLDL R3, [R1]\nSTG.E [R20.64], R3\nEXIT"
SHARED = "STS [R1], R2\nBAR.SYNC 0x0\nLDS R3, [R1]\nSTG.E [R20.64], R3\nEXIT"


def asserted(program: Program) -> SassAssertion:
    return SassAssertion(analyse(program))


def test_what_holds_can_be_chained(assemble: Assemble) -> None:
    checked = asserted(assemble(LOOP))
    chained = checked.no_spills().no_shared().barriers(0).vector_load(16).exp("fast")
    assert chained.no_slow_division().max_op("FMNMX").mufu_per_element(0.5) is checked


@pytest.mark.parametrize(
    ("text", "claim", "said"),
    [
        (LOCAL, lambda one: one.no_spills(), "local memory is used"),
        (SHARED, lambda one: one.no_shared(), "shared memory is used"),
        (SHARED, lambda one: one.barriers(2), "1 barriers, not 2"),
        (LOOP, lambda one: one.vector_load(32), "the widest load brings 16 bytes, not 32"),
        (LOOP, lambda one: one.exp("libm"), "1 exponentials are fast, not libm"),
        (SHARED, lambda one: one.exp("fast"), "there is no exponential"),
        (LOOP, lambda one: one.max_op("FSETP+FSEL"), "1 maxima are FMNMX, not FSETP"),
        (SHARED, lambda one: one.max_op("FMNMX"), "there is no maximum"),
        (LOOP, lambda one: one.mufu_per_element(0.4), "0.5 MUFU an element, not 0.4"),
    ],
)
def test_what_does_not_hold_says_so(
    assemble: Assemble, text: str, claim: Callable[[SassAssertion], object], said: str
) -> None:
    with pytest.raises(AssertionError, match=said) as caught:
        claim(asserted(assemble(text)))
    assert str(caught.value).startswith("kernel for sm_86: ")


def test_failure_shows_the_instructions(assemble: Assemble) -> None:
    with pytest.raises(AssertionError) as caught:
        asserted(assemble(LOCAL)).no_spills()
    assert str(caught.value).splitlines()[1:] == [
        "  0x0000  STL [R1], R2",
        "  0x0010  LDL R3, [R1]",
    ]


def test_long_failure_says_how_many_more_there_are(assemble: Assemble) -> None:
    text = "STL [R1], R2\n" * 20 + "EXIT"
    with pytest.raises(AssertionError, match=r"\.\.\. and 8 more"):
        asserted(assemble(text)).no_spills()


def test_slow_division_is_shown_with_its_check(assemble: Assemble) -> None:
    text = "MUFU.RCP R1, R2\nFFMA R5, -R2, R1, 1\nFCHK P0, R3, R2\nSTG.E [R20.64], R5\nEXIT"
    with pytest.raises(AssertionError, match="FCHK P0, R3, R2"):
        asserted(assemble(text)).no_slow_division()


def test_registers_and_blocks_come_from_the_file(assemble: Assemble) -> None:
    program = assemble("EXIT")
    with pytest.raises(AssertionError, match="does not say how many registers"):
        asserted(program).registers(32)
    checked = asserted(replace(program, resources=Resources(40, 0, 0, 0)))
    checked.registers(40).blocks_per_sm(6, block=256)
    with pytest.raises(AssertionError, match="40 registers, more than 39"):
        checked.registers(39)
    with pytest.raises(AssertionError, match="6 blocks an SM, not 7; what limits is threads"):
        checked.blocks_per_sm(7, block=256)


@needs_tools
def test_kernel_of_the_gallery_is_asserted_without_a_gpu() -> None:
    checked = assert_sass("online_softmax_warp", "sm_90", fast_math=True)
    checked.no_spills().no_shared().barriers(0).vector_load(16).exp("fast").no_slow_division()
    checked.max_op("FMNMX").mufu_per_element(1.25).registers(64).blocks_per_sm(8, block=128)
    with pytest.raises(AssertionError, match="online_softmax_warp for sm_90"):
        checked.barriers(1)


@needs_tools
def test_options_and_macros_reach_the_compiler() -> None:
    assert repr(assert_sass("relu", "sm_86")) == "<SassAssertion of relu for sm_86>"
    assert_sass("online_softmax", defines={"TILE": 64}).barriers(1 + 6)
    plain = assert_sass("fma_f32", options=["-fmad=false"]).analysis
    assert "FFMA" not in {one.opcode for one in plain.warm}


def test_array_in_local_memory_is_no_spill_where_spills_are_marked(assemble: Assemble) -> None:
    marked = 'STL [R1+0x8], R4 (*"SpillRefill"*)\n'
    with pytest.raises(AssertionError, match="registers are spilled"):
        asserted(assemble(marked + LOCAL)).no_spills()
    asserted(replace(assemble(LOCAL), marks_spills=True)).no_spills()


def test_note_behind_an_instruction_is_no_part_of_its_operand(assemble: Assemble) -> None:
    one = assemble('STL [R1+0x8], R4 (*"SpillRefill"*)\nEXIT').instructions[0]
    assert {str(register) for register in one.reads} == {"R1", "R4"}


@needs_tools
def test_compiler_marks_its_spills(tmp_path: Path) -> None:
    path = tmp_path / "spill.cu"
    path.write_text(
        """__global__ void __launch_bounds__(1024, 2) spill(const float* x, float* y, int n) {
    float a[64];
    for (int i = 0; i < 64; i++) a[i] = x[threadIdx.x + i * n];
    __syncthreads();
    for (int i = 0; i < 64; i++) y[threadIdx.x + i * n] = a[(i * 7) & 63] * a[i];
}
"""
    )
    with pytest.raises(AssertionError, match="registers are spilled"):
        assert_sass(path).no_spills()
    assert_sass("top_k").no_spills()


@needs_tools
def test_failure_names_the_source_of_the_gallery_and_no_path() -> None:
    with pytest.raises(AssertionError, match=r"\(relu\.cu:\d+\)"):
        assert_sass("relu").vector_load(16)


def test_form_of_an_exponential_that_does_not_exist_is_refused(assemble: Assemble) -> None:
    with pytest.raises(ValueError, match="forms are fast, guarded"):
        asserted(assemble(LOOP)).exp("foo")
