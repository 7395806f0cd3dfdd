"""CuPy arrays: in, out, on CuPy's stream, with the bits that PyTorch's tensors get."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneread
from oneread.testing import FAMILIES, assert_close_to_truth, assert_conforms

cupy = pytest.importorskip("cupy", reason="tests of CuPy's arrays")


def sees_a_gpu() -> bool:
    try:
        return bool(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not sees_a_gpu(), reason="CuPy sees no GPU"),
]

OPS = ("softmax", "log_softmax", "logsumexp")
each_op = pytest.mark.parametrize("op", OPS)


def call(op: str, x: Any, **options: Any) -> Any:
    given = {
        name: cupy.asarray(value) if isinstance(value, np.ndarray) else value
        for name, value in options.items()
    }
    y = getattr(oneread, op)(cupy.asarray(x), **given)
    assert type(y) is cupy.ndarray
    return cupy.asnumpy(y)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@each_op
def test_every_family_is_close_to_the_truth(op: str, dtype: str) -> None:
    families = ("normal", "spiky", "nan", "plus_inf", "masked_first_tile")
    assert_conforms(
        lambda x, **options: call(op, x, **options), op, dtype=dtype,
        families=[name for name in families if name in FAMILIES],
    )  # fmt: skip


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 2), None])
@each_op
def test_any_axis_and_strides(op: str, axis: Any) -> None:
    x = np.random.default_rng(0).normal(0, 3, (4, 6, 50)).astype(np.float32)
    for view in (x, x[:, ::-2], x.transpose(2, 0, 1), x[..., 1:9]):
        got = call(op, view, axis=axis)
        assert_close_to_truth(got, view, op, axis=axis)


@each_op
def test_results_are_those_of_tensors(op: str) -> None:
    torch = pytest.importorskip("torch", reason="compares with PyTorch's tensors")
    x = cupy.random.standard_normal((30, 3001)).astype("float32")
    y = getattr(oneread, op)(x)
    want = getattr(oneread, op)(torch.as_tensor(x, device="cuda"))
    assert bool((y == cupy.asarray(want)).all())


def test_integers_are_converted_first() -> None:
    x = cupy.arange(12).reshape(3, 4)
    assert oneread.softmax(x).dtype == np.float64
    assert oneread.softmax(x.astype("int8")).dtype == np.float32


def test_out_is_filled_and_returned() -> None:
    x = np.random.default_rng(0).normal(0, 3, (4, 600)).astype(np.float32)
    out = cupy.empty((4, 600), "float32")
    assert oneread.softmax(cupy.asarray(x), out=out) is out
    assert_close_to_truth(cupy.asnumpy(out), x, "softmax")
    lse = cupy.empty(4, "float32")
    assert oneread.logsumexp(cupy.asarray(x), out=lse) is lse
    assert_close_to_truth(cupy.asnumpy(lse), x, "logsumexp")


def test_wrong_outputs_are_refused() -> None:
    x = cupy.zeros((4, 8), "float32")
    flat = cupy.zeros(40, "float32")
    with pytest.raises(oneread.ShapeError, match="shape"):
        oneread.softmax(x, out=cupy.zeros((4, 9), "float32"))
    with pytest.raises(oneread.DtypeError, match="float64"):
        oneread.softmax(x, out=cupy.zeros((4, 8), "float64"))
    with pytest.raises(oneread.DtypeError, match="CuPy"):
        oneread.softmax(x, out=np.zeros((4, 8), "float32"))
    with pytest.raises(oneread.ShapeError, match="shares memory"):
        oneread.softmax(flat[:32].reshape(4, 8), out=flat[4:36].reshape(4, 8))


def test_work_goes_to_the_current_stream() -> None:
    x = cupy.random.standard_normal((3000, 4000)).astype("float32")
    want = oneread.softmax(x)
    out = cupy.zeros_like(x)
    cupy.cuda.runtime.deviceSynchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        for _ in range(200):
            oneread.softmax(x, out=out)
        assert not stream.done
    stream.synchronize()
    assert bool((out == want).all())


def test_op_that_a_gpu_lacks_is_refused_by_name() -> None:
    with pytest.raises(oneread.BackendUnavailableError, match="PyTorch"):
        oneread.top_k(cupy.zeros((2, 3), "float32"), 1)
