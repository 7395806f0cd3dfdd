"""Kernels that are no softmax, NVIDIA's own templates among them, are read without an exception.

`tools/sass_corpus.py` does it for all targets and both kinds of maths.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from oneread.runtime import nvrtc
from oneread.sass import Build, Code, analyse, open_code, record
from oneread.sass.read import nvdisasm
from oneread.sass.read.headers import include_folders
from oneread.sass.story.telling import tell
from oneread.sass.summary import summarise

CORPUS = Path(__file__).with_name("corpus")
#: A target for each file, so that most are seen.
TARGETS = {
    "blocks.cu": "sm_75",
    "cub_block.cu": "sm_86",
    "cub_warp.cu": "sm_100",
    "cuda_std.cu": "sm_90",
    "loops.cu": "sm_120",
}


def is_there(header: str) -> bool:
    return any(Path(folder, header).is_file() for folder in include_folders())


pytestmark = [
    pytest.mark.skipif(
        not (nvrtc.available() and nvdisasm.available()),
        reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
    ),
    pytest.mark.skipif(
        not all(map(is_there, ("cub/cub.cuh", "crt/mma.h", "cuda_fp16.h"))),
        reason="headers are missing: pip install nvidia-cuda-cccl nvidia-cuda-crt "
        "nvidia-cuda-runtime",
    ),
]


@cache
def code(name: str) -> Code:
    return open_code(CORPUS / name, Build(TARGETS[name]))


def test_every_file_has_a_target() -> None:
    assert {one.name for one in CORPUS.iterdir()} == set(TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_every_kernel_is_told_and_every_opcode_known(name: str) -> None:
    for program in code(name).programs:
        analysis = analyse(program)
        assert analysis.unknown == {}, program.name
        assert all(section.statements for section in tell(code(name), analysis)), program.name
        summary = summarise(analysis)
        assert summary.instructions <= len(program.instructions)
        assert record.describe(code(name), analysis)["instructions"], program.name


def test_there_are_more_than_two_hundred() -> None:
    kernels = [one.name for name in TARGETS for one in code(name).programs]
    assert len(kernels) > 200
    assert all(code(name).skipped == () for name in TARGETS)


@pytest.mark.parametrize(
    ("name", "kernel", "kind"),
    [
        ("loops.cu", "_Z3dotIfEvPKT_S2_PS0_i", "sum"),
        ("loops.cu", "_Z3dotIdEvPKT_S2_PS0_i", "sum"),
        ("loops.cu", "_Z3dotI6__halfEvPKT_S3_PS1_i", "sum"),
        ("blocks.cu", "layer_norm", "sum"),
        ("blocks.cu", "transpose", None),
        ("blocks.cu", "nothing", None),
    ],
)
def test_sums_of_other_kernels_are_found(name: str, kernel: str, kind: str | None) -> None:
    found = {one.kind for one in analyse(code(name).kernel(kernel)).accumulators}
    assert found == ({kind} if kind else set())


def test_layer_norm_is_reduced_by_shuffles_and_takes_a_root() -> None:
    analysis = analyse(code("blocks.cu").kernel("layer_norm"))
    assert {one.form for one in analysis.reductions} == {"shuffle"}
    assert any(one.opcode == "MUFU" and one.has("RSQ") for one in analysis.warm)
    assert analysis.exponentials == ()
