"""CUDA C becomes machine code without a GPU, and what stands in the way is said clearly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from oneread.runtime import nvrtc
from oneread.spec import BackendUnavailableError, KernelCompileError

needs_nvrtc = pytest.mark.skipif(
    not nvrtc.available(), reason="NVRTC is not installed: pip install oneread[sass]"
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
        with pytest.raises(BackendUnavailableError, match=r"pip install oneread\[sass\]"):
            nvrtc.compile_cubin(SOURCE, "sm_90")
    finally:
        nvrtc._library.cache_clear()


@pytest.mark.parametrize("folder", ["", "lib64", "targets/x86_64-linux/lib", "nvidia/cu13/lib"])
def test_another_nvrtc_is_found_where_toolkits_and_packages_have_it(
    folder: str, tmp_path: Path
) -> None:
    place = tmp_path / folder
    place.mkdir(parents=True, exist_ok=True)
    for name in ("libnvrtc.alt.so.12", "libnvrtc-builtins.so.12.4", "libnvrtc.so.12"):
        (place / name).touch()
    assert nvrtc.find_library(str(tmp_path)) == str(place / "libnvrtc.so.12")
    assert nvrtc.find_library(str(place / "libnvrtc.so.12")) == str(place / "libnvrtc.so.12")


def test_folder_without_nvrtc_is_refused(tmp_path: Path) -> None:
    (tmp_path / "libnvrtc-builtins.so.12.4").touch()
    with pytest.raises(BackendUnavailableError, match=r"no NVRTC in it, no libnvrtc\.so"):
        nvrtc.find_library(str(tmp_path))


def test_library_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "libnvrtc.so.12"
    file.write_text("no library")
    with pytest.raises(BackendUnavailableError, match="NVRTC cannot be loaded"):
        nvrtc.compile_cubin(SOURCE, "sm_90", library=nvrtc.find_library(str(file)))


@needs_nvrtc
def test_nvrtc_that_is_named_compiles_the_same() -> None:
    loaded = nvrtc._library()._name
    if not Path(loaded).is_file():
        pytest.skip("the system found NVRTC by its name, its path is not known")
    assert nvrtc.version(loaded) == nvrtc.version()
    named = nvrtc.compile_cubin(SOURCE, "sm_90", library=loaded)
    assert named == nvrtc.compile_cubin(SOURCE, "sm_90")


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
