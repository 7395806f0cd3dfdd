"""Every kernel compiles for every target, and the machine code is what the speed rests on."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneread.runtime import cuda, nvrtc, tuning
from oneread.sass import assert_sass

pytestmark = pytest.mark.skipif(
    not nvrtc.available(), reason="NVRTC is not installed: pip install nvidia-cuda-nvrtc"
)

OPS = ("softmax", "log_softmax", "logsumexp")


def code_of(choice: tuning.Choice, target: str) -> nvrtc.Cubin:
    source = cuda.source(choice.kernel)
    return nvrtc.compile_cubin(
        source.text, target, name=source.name, defines=dict(choice.defines), headers=source.headers
    )


@pytest.mark.parametrize("target", nvrtc.TARGETS)
def test_every_kernel_compiles_without_a_word(target: str) -> None:
    wanted = [
        (op, dtype, temperature, aligned)
        for op in OPS
        for dtype in tuning.ELEMENTS
        for temperature, aligned in ((0, True), (2, False))
    ]
    lengths = (100, 9000, 3_000_000)
    for turn, (op, dtype, temperature, aligned) in enumerate(wanted):
        what = tuning.Rows(dtype, 500, lengths[turn % len(lengths)], 16, aligned)
        choice = tuning.choose(op, what, target, temperature=temperature)
        assert code_of(choice, target).log == "", choice


@pytest.mark.parametrize("op", ["softmax", "logsumexp"])
def test_every_row_of_the_table_reads_16_bytes_and_spills_nothing(op: str, tmp_path: Path) -> None:
    found = tuning.choices(op, "sm_90")
    choices = [one for dtype in ("float32", "bfloat16", "float64") for one in found[dtype]]
    assert len(choices) > 15
    for i, choice in enumerate(choices):
        path = tmp_path / f"{i}.cubin"
        path.write_bytes(code_of(choice, "sm_90").code)
        checked = assert_sass(path).no_spills()
        if choice.kernel != "softmax_shared":  # which copies past the registers
            checked.vector_load(16)


@pytest.mark.parametrize("vector_bytes", [2, 4, 8])
@pytest.mark.parametrize("op", OPS)
def test_narrow_accesses_compile_too(op: str, vector_bytes: int) -> None:
    for dtype, (_, size) in tuning.ELEMENTS.items():
        if size <= vector_bytes:
            what = tuning.Rows(dtype, 100, 5001, vector_bytes, aligned=False)
            assert code_of(tuning.choose(op, what, "sm_80"), "sm_80").log == ""


@pytest.mark.parametrize("op", OPS)
def test_rows_side_by_side_compile(op: str) -> None:
    for choices in tuning.choices_across(op, "sm_75").values():
        for choice in choices:
            assert code_of(choice, "sm_75").log == "", choice


def test_strips_read_neighbours_at_once_and_spill_nothing(tmp_path: Path) -> None:
    found = tuning.choices_across("softmax", "sm_90")
    strips = [
        choice
        for dtype in ("float32", "bfloat16", "float64")
        for choice in found[dtype]
        if choice.kernel == "softmax_strip"
    ]
    assert strips
    for i, choice in enumerate(strips):
        path = tmp_path / f"{i}.cubin"
        path.write_bytes(code_of(choice, "sm_90").code)
        assert_sass(path).no_spills().vector_load(dict(choice.defines)["VECTOR_BYTES"])
