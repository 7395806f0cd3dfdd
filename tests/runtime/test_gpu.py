"""Without a GPU the error says what is missing; with one, a kernel runs and is timed."""

from __future__ import annotations

import ctypes
import sys

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
    few = min(device.seconds(lambda stream, _: device.copy(target, source, stream), 2, 5))
    many = min(device.seconds(lambda stream, _: device.copy(target, source, stream), 20, 5))
    assert 0.5 < many / few < 2
    with pytest.raises(ShapeError, match="0 repeats"):
        device.seconds(lambda stream, _: None, 0, 1)
    device.free(source, target)
