"""Masks, lengths and strides on a GPU give what they give on a CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneread
from oneread.testing import FAMILIES, assert_close_to_truth, assert_conforms

torch = pytest.importorskip("torch", reason="tensors on a GPU are PyTorch's")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU"),
]

OPS = ("softmax", "log_softmax", "logsumexp")
each_op = pytest.mark.parametrize("op", OPS)
each_float = pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])


def on_gpu(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.name == "bfloat16":
        return on_gpu(value.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.array(value)).cuda()


def call(op: str, x: Any, **options: Any) -> Any:
    given = {name: on_gpu(value) for name, value in options.items()}
    return getattr(oneread, op)(on_gpu(x), **given).cpu()


@each_float
@each_op
def test_every_family_with_masks_and_lengths_is_close_to_the_truth(op: str, dtype: str) -> None:
    families = [name for name in FAMILIES if (op, name) != ("log_softmax", "denormals")]
    assert_conforms(lambda x, **options: call(op, x, **options), op, dtype=dtype, families=families)


@each_float
def test_powers_below_the_normal_range_are_all_that_log_softmax_loses(dtype: str) -> None:
    x = FAMILIES["denormals"](6, 331, dtype, 0)
    where = np.random.default_rng(0).random(x.shape) < 0.5
    where[:, 0] = True
    wide = np.where(where, x.astype(np.float64), -np.inf)
    gap = wide - wide.max(-1, keepdims=True)
    truth = gap - np.log1p(np.where(gap < 0, np.exp(gap), 0).sum(-1, keepdims=True))
    got = call("log_softmax", x, where=where).double().numpy()
    spacing = {"bfloat16": 2.0**-8, "float16": 2.0**-10}.get(dtype, 2.0**-20)
    lost = 2.0**-24 if dtype == "float16" else 331 * 2.0**-126
    near = np.abs(got[where] - truth[where]) <= np.maximum(-truth[where] * spacing, lost)
    assert near.all()


@pytest.mark.parametrize("vocab", [10, 129, 1000, 4001, 32_768, 50_257, 128_256, 600_001])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@each_op
def test_every_length_is_close_to_the_truth(op: str, dtype: str, vocab: int) -> None:
    rng = np.random.default_rng(vocab)
    for rows in (3, 90):
        if rows * vocab > 20_000_000:
            continue
        x = FAMILIES["normal"](rows, vocab, dtype, 0)
        where, lengths = rng.random((rows, vocab)) < 0.7, rng.integers(0, vocab + 1, rows)
        x[~where] = np.nan
        for given in (where, where[:1]):
            kept = np.where(np.isnan(x) & given, x.dtype.type(0), x)
            y = call(op, kept, where=given)
            assert_close_to_truth(y, kept, op, where=given)
        x[np.arange(vocab) >= lengths[:, None]] = np.nan
        x = np.where(where, x, np.nan).astype(x.dtype)
        assert_close_to_truth(
            call(op, x, where=where, lengths=lengths), x, op, where=where, lengths=lengths
        )


@pytest.mark.parametrize("shape", [(3, 4, 5, 48), (48,), (3, 1, 1, 48), (1, 1, 5, 48), (4, 5, 1)])
@pytest.mark.parametrize("axis", [0, 2, 3, (1, 3), None])
def test_masks_broadcast(shape: Any, axis: Any) -> None:
    rng = np.random.default_rng(0)
    x, where = rng.normal(0, 3, (3, 4, 5, 48)).astype(np.float32), rng.random(shape) < 0.6
    for op in ("softmax", "logsumexp"):
        got = call(op, x, where=where, axis=axis)
        assert_close_to_truth(got, x, op, where=where, axis=axis)


VIEWS: dict[str, Any] = {
    "two loops": lambda x: x[:, :3],
    "three loops": lambda x: x[:, :3, ::2],
    "three loops apart": lambda x: x[::2, ::2, ::2, :9],
    "permuted": lambda x: x.permute(2, 0, 3, 1),
    "permuted and apart": lambda x: x[:2, 1:, 2:].permute(1, 3, 0, 2),
    "broadcast": lambda x: x[:, :1].expand(x.shape),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
@pytest.mark.parametrize("axis", [0, 1, -1])
@each_op
def test_rows_lie_in_any_loops(op: str, view: Any, axis: int) -> None:
    x = view(torch.randn(4, 5, 6, 96, device="cuda"))
    held = x.cpu().numpy()
    where = torch.rand(x.shape, device="cuda") < 0.6
    assert_close_to_truth(getattr(oneread, op)(x, axis).cpu(), held, op, axis=axis)
    got = getattr(oneread, op)(x, axis, where=where).cpu()
    assert_close_to_truth(got, held, op, axis=axis, where=where.cpu().numpy())
    if op != "logsumexp":
        out = torch.full(x.shape, 7.0, device="cuda").transpose(0, 1).contiguous().transpose(0, 1)
        assert getattr(oneread, op)(x, axis, out=out) is out
        assert_close_to_truth(out.cpu(), held, op, axis=axis)


@pytest.mark.parametrize("axis", [0, 1])
@each_op
def test_lengths_on_the_gpu_that_no_row_has_give_nan(op: str, axis: int) -> None:
    lengths = torch.tensor([-1, 5, 4, 2], device="cuda")
    y = getattr(oneread, op)(torch.randn(4, 4, device="cuda"), axis, lengths=lengths)
    bad = y.isnan() if op == "logsumexp" else y.isnan().all(axis)
    assert bad.tolist() == [True, True, False, False]


def test_nothing_waits_for_masks_and_lengths_on_the_gpu() -> None:
    x, out = torch.randn(50, 4000, device="cuda"), torch.empty(50, 4000, device="cuda")
    where = torch.rand(50, 4000, device="cuda") < 0.5
    lengths = torch.full((50,), 17, device="cuda")
    oneread.softmax(x, where=where, lengths=lengths, out=out)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()) as _:
        torch.cuda._sleep(50_000_000)
        oneread.softmax(x, where=where, lengths=lengths, out=out)
        assert not torch.cuda.current_stream().query()
    torch.cuda.synchronize()


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_nothing_waits_for_lengths_and_temperatures_on_the_cpu() -> None:
    x = torch.randn(50, 4000, device="cuda")
    options: dict[str, Any] = {
        "lengths": np.arange(50) + 1, "temperature": np.linspace(0.5, 2, 50),
    }  # fmt: skip
    oneread.softmax(x, **options)
    try:
        torch.cuda.set_sync_debug_mode("error")
        y = oneread.softmax(x, **options)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert_close_to_truth(y.cpu(), x.cpu().numpy(), "softmax", **options)


def test_wrong_masks_and_lengths_are_refused() -> None:
    x = torch.randn(4, 8, device="cuda")
    with pytest.raises(oneread.DtypeError, match="where holds float32"):
        oneread.softmax(x, where=x)
    with pytest.raises(oneread.ShapeError, match="does not broadcast"):
        oneread.softmax(x, where=torch.ones(4, 7, dtype=torch.bool, device="cuda"))
    with pytest.raises(oneread.DtypeError, match="lengths holds float32"):
        oneread.softmax(x, lengths=x[:, 0])
    with pytest.raises(oneread.ShapeError, match="from 9 to 9"):
        oneread.softmax(x, lengths=[9])
