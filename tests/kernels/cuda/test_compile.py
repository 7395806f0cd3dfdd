"""Every kernel compiles for every target, and the machine code is what the speed rests on."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneread.runtime import cuda, cuda_topk, nvrtc, tuning
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


@pytest.mark.parametrize("op", [0, 1, 2])
def test_rows_side_by_side_compile(op: int) -> None:
    source = cuda.source("softmax_across")
    for number, size in tuning.ELEMENTS.values():
        defines = cuda.across_defines(number, size, 0) | {"OP": op}
        cubin = nvrtc.compile_cubin(
            source.text, "sm_75", name=source.name, defines=defines, headers=source.headers
        )
        assert cubin.log == ""


@pytest.mark.parametrize("target", nvrtc.TARGETS)
def test_top_k_compiles_without_a_word(target: str) -> None:
    switches = [(dtype, turn) for turn, dtype in enumerate(tuning.ELEMENTS)] + [("float32", 5)]
    for dtype, turn in switches:
        what = tuning.Rows(dtype, 10 if turn % 2 else 500, 70_001, 16, turn % 2 == 0, 64)
        choice = tuning.choose("topk", what, target, temperature=turn % 3)
        more = {"SUMS": int(turn > 0), "LONG": int(turn > 2)}
        choice = choice._replace(defines=(*choice.defines, *more.items()))
        assert code_of(choice, target).log == "", choice


def test_every_row_of_the_table_of_top_k_reads_16_bytes_and_spills_nothing(tmp_path: Path) -> None:
    found = [
        (source, defines)
        for source, defines in cuda_topk.ahead("sm_90")
        if defines["SUMS"] and defines["ALIGNED"] and defines["ELEMENT"] != 1
    ]
    assert len(found) > 20
    for i, (source, defines) in enumerate(found):
        code = nvrtc.compile_cubin(
            source.text, "sm_90", name=source.name, defines=defines, headers=source.headers
        ).code
        path = tmp_path / f"{i}.cubin"
        path.write_bytes(code)
        checked = assert_sass(path).no_spills().vector_load(16)
        checked.blocks_per_sm(defines["MIN_BLOCKS"], defines["BLOCK_THREADS"])
