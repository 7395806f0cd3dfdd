"""CUDA C becomes machine code without a GPU, and what stands in the way is said clearly."""

from __future__ import annotations

import subprocess
import sys

import pytest

from oneread.runtime import nvrtc
from oneread.spec import BackendUnavailableError, KernelCompileError

needs_nvrtc = pytest.mark.skipif(
    not nvrtc.available(), reason="NVRTC is not installed: pip install nvidia-cuda-nvrtc"
)

SOURCE = """
#include <float.h>
#include <math.h>
#ifndef N
#define N 1
#endif
extern "C" __global__ void fill(float* y) { y[N] = fminf(INFINITY, FLT_MAX); }
"""


@needs_nvrtc
def test_every_target_is_known() -> None:
    assert set(nvrtc.TARGETS) <= set(nvrtc.supported_targets())
    assert nvrtc.version() >= (13, 0)


@needs_nvrtc
@pytest.mark.parametrize("target", nvrtc.TARGETS)
def test_cubin_is_an_elf_file_with_the_kernel(target: str) -> None:
    cubin = nvrtc.compile_cubin(SOURCE, target)
    assert cubin.code.startswith(b"\x7fELF")
    assert b".text.fill" in cubin.code
    assert cubin.target == target


@needs_nvrtc
def test_defines_and_options_reach_the_compiler() -> None:
    plain = nvrtc.compile_cubin(SOURCE, "sm_90").code
    assert nvrtc.compile_cubin(SOURCE, "sm_90", defines={"N": 2}).code != plain
    product = 'extern "C" __global__ void f(float* y) { y[0] = y[1] * y[2] + y[3]; }'
    contracted = nvrtc.compile_cubin(product, "sm_90").code
    assert nvrtc.compile_cubin(product, "sm_90", options=["-fmad=false"]).code != contracted


@needs_nvrtc
def test_refused_source_carries_the_log() -> None:
    with pytest.raises(KernelCompileError, match=r"^mine\.cu for sm_90: mine\.cu\(2\): error") as e:
        nvrtc.compile_cubin("\n__global__ void f() { x }", "sm_90", name="mine.cu")
    assert 'identifier "x" is undefined' in e.value.log


@needs_nvrtc
def test_unknown_target_is_refused_with_those_known() -> None:
    with pytest.raises(BackendUnavailableError, match=r"'sm_50'; NVRTC .* compiles for .*sm_90"):
        nvrtc.compile_cubin(SOURCE, "sm_50")


def test_without_nvrtc_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(["libnvrtc-not-there.so"]))
    nvrtc._library.cache_clear()
    try:
        assert not nvrtc.available()
        with pytest.raises(BackendUnavailableError, match="pip install nvidia-cuda-nvrtc"):
            nvrtc.compile_cubin(SOURCE, "sm_90")
    finally:
        nvrtc._library.cache_clear()


@pytest.mark.parametrize("module", ["nvrtc", "gpu"])
def test_importing_loads_nothing_of_cuda(module: str) -> None:
    code = (
        f"import sys, oneread.runtime.{module}\n"
        "print('cuda' in sys.modules, 'nvrtc' in open('/proc/self/maps').read())"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/"
    )
    assert said.stdout.split() == ["False", "False"]
