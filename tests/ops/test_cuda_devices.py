"""Tensors on a second GPU, while the first is the current one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneread
from oneread.ops._gradient import logits_gradient, softmax_backward
from oneread.runtime import cuda
from oneread.testing import FAMILIES, assert_close_to_truth
from oneread.testing.gradients import (
    assert_logits_gradient,
    assert_softmax_backward,
    backward_of,
    rows_of,
)

torch = pytest.importorskip("torch", reason="tensors on a GPU are PyTorch's")

import oneread.torch as losses  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU"),
    pytest.mark.skipif(
        not torch.cuda.is_available() or torch.cuda.device_count() < 2, reason="there is one GPU"
    ),
]

SHAPE = (10, 1000)
FIRST, SECOND = "cuda:0", "cuda:1"
COLUMNS = np.random.default_rng(0).integers(0, SHAPE[1], SHAPE[0])


def normal(seed: int = 0) -> Any:
    return FAMILIES["normal"](*SHAPE, "float32", seed)


def on(device: str, seed: int = 0) -> Any:
    return torch.from_numpy(normal(seed)).to(device)


@pytest.fixture(autouse=True)
def first_gpu_stays_current() -> Any:
    torch.cuda.set_device(0)
    yield
    assert torch.cuda.current_device() == 0
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)


def read(x: Any, select: Any) -> Any:
    return oneread.read(x, select=select, rank=True, entropy=True, argmax=True)


OPS: dict[str, Callable[[Any], Any]] = {
    "softmax": oneread.softmax, "log_softmax": oneread.log_softmax,
    "logsumexp": oneread.logsumexp,
}  # fmt: skip


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("options", [{}, {"temperature": 0.7}], ids=["plain", "tempered"])
def test_one_result_is_right_and_on_its_gpu(op: str, options: dict[str, Any]) -> None:
    x = on(SECOND)
    y = getattr(oneread, op)(x, **options)
    for result in (y, getattr(oneread, op)(x, out=torch.empty_like(y), **options)):
        assert str(result.device) == SECOND
        assert_close_to_truth(result.cpu(), normal(), op, **options)
    record = oneread.last_kernel()
    assert record is not None
    assert record.device == SECOND


@pytest.mark.parametrize("select", [SECOND, FIRST, "cpu"])
def test_read_is_right_wherever_its_columns_lie(select: str) -> None:
    x, columns = on(SECOND), torch.from_numpy(COLUMNS).to(select)
    r = read(x, columns)
    made = type(r)(*[None if field is None else field.cpu() for field in r])
    assert {str(field.device) for field in r if field is not None} == {SECOND}
    options = {"select": COLUMNS, "rank": True, "entropy": True, "argmax": True}
    assert_close_to_truth(made, normal(), "read", **options)


@pytest.mark.parametrize("k", [5, 500])
def test_top_k_is_right_and_on_its_gpu(k: int) -> None:
    r = oneread.softmax_topk(on(SECOND), k)
    assert str(r.indices.device) == SECOND
    want = oneread.softmax_topk(normal(), k)
    assert np.array_equal(r.indices.cpu().numpy(), want.indices)


def test_state_stays_on_its_gpu_and_merges_there_alone() -> None:
    x = on(SECOND)
    a, b = oneread.State.of(x[:, :400]), oneread.State.of(x[:, 400:], offset=400)
    both = a | b
    assert str(both.lse.device) == SECOND
    assert_close_to_truth(both.lse.cpu(), normal(), "logsumexp")
    with pytest.raises(oneread.BackendUnavailableError, match=r"cuda:1.*cuda:0"):
        a | oneread.State.of(on(FIRST))


@pytest.mark.parametrize("k", [5, 600])
def test_first_columns_of_a_state_stay_on_its_gpu(k: int) -> None:
    x = on(SECOND)
    both = oneread.State.of(x[:, 400:], offset=400, top_k=k) | oneread.State.of(x[:, :400], top_k=k)
    want = oneread.State.of(torch.from_numpy(normal()), top_k=k)
    assert {str(one.device) for one in both.top_k("prob")} == {SECOND}
    assert torch.equal(both.indices.cpu(), want.indices)
    assert torch.equal(both.values.cpu(), want.values)
    assert torch.equal(oneread.State.unpack(both.pack()).values, want.values)


def test_rows_that_are_sorted_are_right_and_on_their_gpu() -> None:
    x = np.random.default_rng(0).normal(0, 3, (3, 5000)).astype(np.float32)
    r = oneread.softmax_topk(torch.from_numpy(x).to(SECOND), 4000)
    assert str(r.values.device) == SECOND
    assert np.array_equal(r.indices.cpu().numpy(), oneread.softmax_topk(x, 4000).indices)
    assert_close_to_truth(r.values.cpu(), x, "softmax_topk", field="values", k=4000)


def test_gradients_are_right_and_on_their_gpu() -> None:
    def moved(value: Any, device: str) -> Any:
        return torch.from_numpy(value).to(device) if isinstance(value, np.ndarray) else value

    for rows in rows_of("normal", *SHAPE, "float32"):
        given = {name: moved(value, SECOND) for name, value in rows.options.items()}
        got = logits_gradient(moved(rows.x, SECOND), moved(rows.lse, SECOND), **given)
        assert str(got.device) == SECOND
        assert_logits_gradient(got.cpu(), rows)
    with pytest.raises(oneread.BackendUnavailableError, match="lse is not on cuda:1"):
        logits_gradient(moved(rows.x, SECOND), moved(rows.lse, FIRST), **given)
    for log in (False, True):
        y, grad = backward_of("normal", *SHAPE, "float32", log)
        got = softmax_backward(moved(y, SECOND), moved(grad, SECOND), log=log)
        assert str(got.device) == SECOND
        assert_softmax_backward(got.cpu(), y, grad, log)


def test_loss_of_the_second_gpu_has_its_gradient_there() -> None:
    x = on(SECOND).requires_grad_()
    target = torch.from_numpy(COLUMNS).to(SECOND)
    losses.cross_entropy(x, target).backward()
    want = on(FIRST).requires_grad_()
    losses.cross_entropy(want, target.to(FIRST)).backward()
    assert str(x.grad.device) == SECOND
    assert torch.equal(x.grad.cpu(), want.grad.cpu())


def test_masks_and_lengths_of_the_first_gpu_are_brought_along() -> None:
    where = normal(1) > 0
    lengths = COLUMNS + 1
    y = oneread.softmax(on(SECOND), where=torch.from_numpy(where).to(FIRST))
    assert_close_to_truth(y.cpu(), normal(), "softmax", where=where)
    y = oneread.softmax(on(SECOND), lengths=torch.from_numpy(lengths).to(FIRST))
    assert_close_to_truth(y.cpu(), normal(), "softmax", lengths=lengths)


def test_output_on_another_gpu_is_refused() -> None:
    with pytest.raises(oneread.BackendUnavailableError, match=SECOND):
        oneread.softmax(on(FIRST), out=torch.empty(SHAPE, device=SECOND))
    with pytest.raises(oneread.BackendUnavailableError, match=SECOND):
        oneread.logsumexp(on(FIRST), out=torch.empty(SHAPE[0], device=SECOND))


def test_launch_is_on_the_current_stream_of_its_gpu() -> None:
    x = on(SECOND)
    out = torch.zeros_like(x)
    oneread.softmax(x, out=torch.empty_like(x))  # compiled and loaded
    torch.cuda.synchronize(1)
    side = torch.cuda.Stream(SECOND)
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
        with torch.cuda.device(0):
            oneread.softmax(x, out=out)
        assert not side.query()
    with torch.cuda.stream(torch.cuda.default_stream(1)):
        before = out.cpu()
    side.synchronize()
    assert not before.any()
    assert_close_to_truth(out.cpu(), normal(), "softmax")


def test_launches_are_kept_for_each_gpu() -> None:
    for seed in range(3):
        for device in (FIRST, SECOND):
            for op in OPS:
                y = getattr(oneread, op)(on(device, seed))
                record = oneread.last_kernel()
                assert record is not None
                assert (record.device, str(y.device)) == (device, device)
                assert_close_to_truth(y.cpu(), normal(seed), op)
    strides = (SHAPE[1], 1)
    launches = [
        cuda.prepared(
            "softmax", "float32", SHAPE, strides, strides, 1, 0, cuda.Places(), device, False
        )
        for device in (0, 1)
    ]
    assert launches[0]._function.device.index == 0
    assert launches[1]._function.device.index == 1


def test_threads_compute_on_both_at_once() -> None:
    found: dict[str, Any] = {}

    def work(device: str, seed: int) -> None:
        x = on(device, seed)
        for _ in range(50):
            y = oneread.softmax(x)
        found[device] = y.cpu()

    threads = [threading.Thread(target=work, args=(FIRST, 0)),
               threading.Thread(target=work, args=(SECOND, 1))]  # fmt: skip
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert_close_to_truth(found[FIRST], normal(0), "softmax")
    assert_close_to_truth(found[SECOND], normal(1), "softmax")


def test_graph_of_the_second_gpu_replays_on_new_numbers() -> None:
    x = on(SECOND)
    out = torch.empty_like(x)
    lse = torch.empty(SHAPE[0], device=SECOND)
    oneread.warm("logsumexp", SHAPE, "float32", device=SECOND)
    oneread.softmax(x, out=out)
    graph = torch.cuda.CUDAGraph()
    # PyTorch's own stream for captures stays on the GPU of the first capture of the process.
    side = torch.cuda.Stream(SECOND)
    with torch.cuda.device(1):
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=side), torch.cuda.device(0):
            oneread.softmax(x, out=out)
            oneread.logsumexp(x, out=lse)
    x.copy_(on(SECOND, 1))
    with torch.cuda.device(1):
        graph.replay()
    torch.cuda.synchronize(1)
    assert_close_to_truth(out.cpu(), normal(1), "softmax")
    assert_close_to_truth(lse.cpu(), normal(1), "logsumexp")
