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


@pytest.mark.parametrize("k", [1, 10, 300, 2500])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_winners_are_those_of_the_cpu(dtype: str, k: int) -> None:
    rng = np.random.default_rng(k)
    for x in (rng.normal(0, 3, (5, 3001)), rng.integers(0, 3, (5, 3001)).astype(float)):
        x[0, ::7], x[1, ::5] = np.nan, -np.inf
        held, where = x.astype(dtype), rng.random((5, 3001)) < 0.5
        for options in ({}, {"where": where}, {"lengths": np.array([0, 5, 9, 2000, 3001])}):
            given = {name: cupy.asarray(value) for name, value in options.items()}
            got = oneread.top_k(cupy.asarray(held), k, **given)
            want = oneread.top_k(held, k, **options)
            assert type(got.values) is cupy.ndarray
            assert (cupy.asnumpy(got.indices) == want.indices).all()
            assert cupy.asnumpy(got.values).tobytes() == want.values.tobytes()


def test_probabilities_of_winners_are_close_to_the_truth() -> None:
    x = np.random.default_rng(0).normal(0, 3, (6, 40, 7)).astype(np.float32)
    for k in (4, 30):
        got = oneread.softmax_topk(cupy.asarray(x), k, axis=1, return_lse=True)
        held = oneread.SoftmaxTopK(*[cupy.asnumpy(field) for field in got])
        assert_close_to_truth(held, x, "softmax_topk", k=k, axis=1, return_lse=True)


@pytest.mark.parametrize("k", [5, 300])
def test_first_columns_of_a_state_in_parts_are_those_of_a_cpu(k: int) -> None:
    x = FAMILIES["ties"](4, 3000, "float32")
    want = oneread.State.of(x, top_k=k)
    left = oneread.State.of(cupy.asarray(x[:, :100]), top_k=k)
    got = oneread.State.of(cupy.asarray(x[:, 100:]), offset=100, top_k=k) | left
    assert type(got.values) is cupy.ndarray
    for one in (got, oneread.State.unpack(got.pack())):
        for name in ("values", "indices"):
            assert cupy.asnumpy(getattr(one, name)).tobytes() == getattr(want, name).tobytes()


def test_fields_of_a_state_on_a_second_gpu_are_made_there() -> None:
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("there is one GPU")
    x = FAMILIES["normal"](4, 300, "float32")
    options: dict[str, Any] = {"entropy": True, "argmax": True, "top_k": 5}
    with cupy.cuda.Device(1):
        a = oneread.State.of(cupy.asarray(x[:, :100]), **options)
        b = oneread.State.of(cupy.asarray(x[:, 100:]), offset=100, **options)
    state, want = a | b, oneread.State.of(x, **options)
    assert cupy.cuda.Device().id == 0
    assert {one.device.id for one in (*state.top_k("prob"), state.entropy, state.m)} == {1}
    assert (cupy.asnumpy(state.indices) == want.indices).all()
    assert_close_to_truth(cupy.asnumpy(state.lse), x, "logsumexp")
    assert (oneread.State.unpack(state.pack()).argmax == want.argmax).all()


def test_a_temperature_for_all_rows_on_the_gpu_is_taken() -> None:
    x = FAMILIES["normal"](4, 300, "float32")
    got = call("softmax", x, temperature=np.array(0.7))
    assert_close_to_truth(got, x, "softmax", temperature=0.7)
