"""Plain traffic: its kernels compile for every target, and its jobs are what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneread.bench.gpu import traffic
from oneread.runtime import nvrtc
from oneread.sass import assert_sass


@pytest.mark.skipif(
    not nvrtc.available(), reason="NVRTC is not installed: pip install nvidia-cuda-nvrtc"
)
@pytest.mark.parametrize("target", nvrtc.TARGETS)
def test_kernels_read_16_bytes_and_spill_nothing(target: str, tmp_path: Path) -> None:
    for threads, vectors in traffic.LAUNCHES:
        built = nvrtc.compile_cubin(
            traffic.SOURCE.read_text("utf-8"), target,
            defines={"THREADS": threads, "VECTORS": vectors},
        )  # fmt: skip
        assert built.log == ""
        if target != "sm_90":
            continue
        path = tmp_path / "traffic.cubin"
        path.write_bytes(built.code)
        for kernel in ("copy", "read"):
            assert_sass(path, name=kernel).no_spills().vector_load(16)
