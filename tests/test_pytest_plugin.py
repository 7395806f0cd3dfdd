"""The assertions for other people's tests: what holds passes, what does not is shown."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from oneread.pytest_plugin import AssertSass, assert_kernel
from oneread.runtime import nvrtc
from oneread.sass.read import nvdisasm
from oneread.trace import UsageError

needs_tools = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)


def test_what_holds_can_be_said_in_one_chain() -> None:
    checked = assert_kernel("safe_softmax_tiled", rows=2, vocab=100, defines={"TILE": 64})
    checked.reads_per_element(x=3).writes_per_element(y=1).barriers(2 * 16)
    checked.no_races().no_faults("note").is_right()


def test_number_of_reads_that_differs_is_told_with_its_lines() -> None:
    with pytest.raises(AssertionError, match=r"x is read 2 times, not 1 \(elements line 41: 1024"):
        assert_kernel("online_softmax").reads_per_element(x=1)


def test_elements_that_differ_are_told_as_a_range() -> None:
    with pytest.raises(AssertionError, match="x is read 2 to 3 times, not 2"):
        assert_kernel("online_softmax_tiled_racy", vocab=250).reads_per_element(x=2)


def test_race_is_told_with_both_lines_and_its_repair() -> None:
    with pytest.raises(AssertionError) as error:
        assert_kernel("online_softmax_tiled_racy", defines={"TILE": 64}).no_races()
    text = str(error.value)
    assert "thread 0 writes it in line 48, thread 32 reads it in line 46" in text
    assert "online_softmax_tiled_racy.cu:46: const float m_new" in text
    assert "online_softmax_tiled_racy.cu:48: scratch[lane] = expf" in text
    assert "__syncthreads();" in text


def test_hazard_within_a_warp_is_a_race_and_no_error() -> None:
    checked = assert_kernel("zoo_missing_syncwarp").no_faults()
    with pytest.raises(AssertionError, match="hazard within a warp"):
        checked.no_races()
    with pytest.raises(AssertionError, match="hazard within a warp"):
        checked.no_faults("warning")


def test_wrong_result_and_unknown_one_fail() -> None:
    with pytest.raises(AssertionError, match="wrong result"):
        assert_kernel("zoo_odd_tree").is_right()
    with pytest.raises(AssertionError, match="not known"):
        assert_kernel("relu", truth={}).is_right()


def test_unknown_buffer_and_kernel_name_those_there_are() -> None:
    with pytest.raises(AssertionError, match="no buffer q; there are x, y"):
        assert_kernel("relu").reads_per_element(q=1)
    with pytest.raises(UsageError, match="did you mean safe_softmax"):
        assert_kernel("safe_softmaxx")


def test_file_and_order_of_warps(tmp_path: Path) -> None:
    file = tmp_path / "twice.cu"
    file.write_text(
        "__global__ void twice(const float* x, float* y, int vocab) {\n"
        "    int i = blockIdx.x * vocab + threadIdx.x;\n    y[i] = x[i] + x[i];\n}\n"
    )
    checked = assert_kernel(file, vocab=32, block=32, truth={}, schedule="all")
    checked.reads_per_element(x=2).writes_per_element(y=1).no_faults()


def test_sequence_is_asserted_as_a_whole() -> None:
    assert_kernel("online_parallel").reads_per_element(x=2).writes_per_element(y=1).is_right()


def test_buffer_of_a_sequence_has_the_sequences_name() -> None:
    checked = assert_kernel("safe_unfused")
    checked.reads_per_element(x=3, y=1).writes_per_element(y=1, values=1)
    with pytest.raises(AssertionError, match="there are x, y, values, indices"):
        checked.reads_per_element(z=1)


def test_folders_are_where_includes_are_looked_for(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/twice.cuh").write_text("__device__ float twice(float v) { return v + v; }")
    file = tmp_path / "k.cu"
    file.write_text(
        '#include "twice.cuh"\n__global__ void k(const float* x, float* y) '
        "{ y[threadIdx.x] = twice(x[threadIdx.x]); }\n"
    )
    checked = assert_kernel(file, folders=[tmp_path / "parts"], rows=1, vocab=32, block=32)
    checked.reads_per_element(x=1).no_faults()


def test_importing_loads_the_standard_library_only() -> None:
    code = (
        "import sys, oneread.pytest_plugin\nprint({'numpy', 'torch', 'pytest'} & set(sys.modules))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "set()\n"


@needs_tools
def test_fixture_compiles_each_build_once(assert_sass: AssertSass) -> None:
    checked = assert_sass("relu", "sm_86")
    assert assert_sass("relu", "sm_86") is checked
    assert assert_sass("relu", "sm_90") is not checked
    assert assert_sass("relu", "sm_86", fast_math=True) is not checked
    assert assert_sass("relu", "sm_86", defines={"TILE": 64}) is not checked


@needs_tools
def test_fixture_sees_a_file_that_is_written_anew(assert_sass: AssertSass, tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    text = "__global__ void k(float* y) { __shared__ float s[32]; %s y[0] = s[31]; }"
    file.write_text(text % "s[threadIdx.x] = 1;")
    assert_sass(file, "sm_86").barriers(0)
    file.write_text(text % "s[threadIdx.x] = 1; __syncthreads();")
    assert_sass(file, "sm_86").barriers(1)


def test_macro_that_the_text_never_names_is_refused() -> None:
    with pytest.raises(
        UsageError, match="online_softmax never uses the macro TILES; there is TILE"
    ):
        assert_kernel("online_softmax", defines={"TILES": 64})
