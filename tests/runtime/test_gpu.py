"""Without a GPU the error says what is missing; with one, a kernel runs and is timed."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oneread.runtime import gpu
from oneread.spec import BackendUnavailableError, ShapeError

needs_gpu = pytest.mark.skipif(not gpu.available(), reason="no GPU that kernels can be launched on")

SOURCE = """
extern "C" __global__ void scale(const float* x, float* y, int n, int factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * factor;
}
"""


def test_without_cuda_core_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda", None)
    assert not gpu.available()
    with pytest.raises(BackendUnavailableError, match=r"pip install oneread\[cuda13\]"):
        gpu.Gpu()


class LateDriver:
    """A driver whose copies out of pageable memory are under way when the call returns."""

    def __init__(self) -> None:
        self.under_way: list[str] = []
        self.stream = SimpleNamespace(handle=7, sync=self._sync)

    def _sync(self) -> None:
        self.under_way = [where for where in self.under_way if where != "stream 7"]

    def cuMemAlloc(self, size: int) -> tuple[int, int]:  # noqa: N802
        return 0, size

    def cuMemcpyHtoD(self, *_: int) -> tuple[int]:  # noqa: N802
        self.under_way.append("NULL stream")
        return (0,)

    def cuMemcpyHtoDAsync(self, *arguments: int) -> tuple[int]:  # noqa: N802
        self.under_way.append(f"stream {arguments[-1]}")
        return (0,)


def test_memory_holds_the_array_when_the_call_returns() -> None:
    driver = LateDriver()
    device: Any = object.__new__(gpu.Gpu)
    device._driver, device.stream = driver, driver.stream
    memory = device.put(np.ones(8, np.float32))
    device.fill(memory, np.zeros(8, np.float32))
    assert driver.under_way == []


@pytest.mark.gpu
@needs_gpu
def test_kernel_never_runs_before_its_input_has_arrived() -> None:
    device = gpu.Gpu()
    x = np.arange(1000, dtype=np.float32)
    source, target = device.put(x), device.put(x)
    arguments = (source.address, target.address, ctypes.c_int(1000), ctypes.c_int(3))
    launch = gpu.Launch(device.build(SOURCE, "scale", {}), 8, 128, arguments)
    for turn in range(2000):
        device.fill(target, np.full_like(x, -1))
        device.fill(source, x + turn)
        device.launch([launch])
        assert (device.get(target) == 3 * (x + turn)).all(), turn
    device.free(source, target)


@pytest.mark.gpu
@needs_gpu
def test_kernel_runs_on_memory_given_by_address() -> None:
    device = gpu.Gpu()
    x = np.arange(1000, dtype=np.float32)
    source, target = device.put(x), device.put(np.zeros_like(x))
    arguments = (source.address, target.address, ctypes.c_int(1000), ctypes.c_int(3))
    launch = gpu.Launch(device.build(SOURCE, "scale", {}), 8, 128, arguments)
    device.launch([launch])
    assert (device.get(target) == 3 * x).all()
    device.free(source, target)


@pytest.mark.gpu
@needs_gpu
def test_time_is_that_of_one_repetition() -> None:
    device = gpu.Gpu()
    big = np.zeros(1 << 26, np.float32)
    source, target = device.put(big), device.put(big)
    # The least of many: other processes may have the GPU meanwhile, for milliseconds at a time.
    few = min(device.seconds(lambda stream, _: device.copy(target, source, stream), 2, 20))
    many = min(device.seconds(lambda stream, _: device.copy(target, source, stream), 8, 20))
    assert 0.5 < many / few < 2
    with pytest.raises(ShapeError, match="0 repeats"):
        device.seconds(lambda stream, _: None, 0, 1)
    device.free(source, target)
