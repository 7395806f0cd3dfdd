"""Gradients to logits on a GPU: close to the truth, in every layout, and in graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneread
from oneread.ops._gradient import logits_gradient, softmax_backward
from oneread.testing import FAMILIES
from oneread.testing.gradients import (
    Rows,
    assert_logits_gradient,
    assert_softmax_backward,
    backward_of,
    rows_of,
)

torch = pytest.importorskip("torch", reason="tensors on a GPU are PyTorch's")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU"),
]

FLOATS = ("float32", "float64", "float16", "bfloat16")
#: One length for each launch of the table, most of them no multiple of anything.
LENGTHS = (1, 10, 33, 129, 250, 1000, 2047, 4096, 8192, 16385, 50257, 128256, 300_001, 1_000_003)


def on_gpu(array: Any) -> Any:
    if not isinstance(array, np.ndarray):
        return array
    if array.dtype.name == "bfloat16":
        return on_gpu(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array).cuda()


def given(rows: Rows) -> dict[str, Any]:
    return {name: on_gpu(value) for name, value in rows.options.items()}


def check_both(family: str, rows: int, vocab: int, dtype: str) -> None:
    for one in rows_of(family, rows, vocab, dtype):
        got = logits_gradient(on_gpu(one.x), on_gpu(one.lse), **given(one))
        assert_logits_gradient(got.cpu(), one)
    for log in (False, True):
        y, grad = backward_of(family, rows, vocab, dtype, log)
        got = softmax_backward(on_gpu(y), on_gpu(grad), log=log)
        assert_softmax_backward(got.cpu(), y, grad, log)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_close_to_the_truth(family: str, dtype: str) -> None:
    check_both(family, 6, 331, dtype)
    check_both(family, 3, 4096, dtype)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("temperature", [1e-3, 0.05, 0.5])
def test_quotients_that_float32_rounds_by_much_cost_no_digits(
    temperature: float, seed: int
) -> None:
    for one in rows_of("large_offset", 3, 4096, "float32", seed, temperature):
        got = logits_gradient(on_gpu(one.x), on_gpu(one.lse), **given(one))
        assert_logits_gradient(got.cpu(), one)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("vocab", LENGTHS)
def test_every_length_is_close_to_the_truth(vocab: int, dtype: str) -> None:
    check_both("normal", 2, vocab, dtype)
    if vocab < 5000:
        check_both("spiky", 100, vocab, dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rows_anywhere_in_memory_get_the_same_gradients(dtype: str) -> None:
    one = list(rows_of("normal", 5, 2000, dtype))[-1]
    wide = torch.zeros(5, 2048, dtype=on_gpu(one.x).dtype, device="cuda")[:, 3:2003]
    expected = logits_gradient(on_gpu(one.x), on_gpu(one.lse), **given(one))
    wide.copy_(on_gpu(one.x))
    got = logits_gradient(wide, on_gpu(one.lse), **given(one), out=wide)
    assert got is wide
    assert got.equal(expected)


def test_a_gradient_that_is_one_number_everywhere_is_taken() -> None:
    y = torch.softmax(torch.randn(7, 1000, device="cuda"), -1)
    grad = torch.ones((), device="cuda").expand(7, 1000)
    got = softmax_backward(y, grad, log=False)
    assert_softmax_backward(got.cpu(), y.cpu().numpy(), grad.cpu().numpy(), False)


def test_axes_before_the_last_are_rows() -> None:
    y = torch.softmax(torch.randn(3, 4, 500, device="cuda"), -1).transpose(0, 1)
    grad = torch.randn(4, 3, 500, device="cuda")
    got = softmax_backward(y, grad, log=False)
    assert_softmax_backward(got.cpu(), y.cpu().numpy(), grad.cpu().numpy(), False)


def test_both_run_in_a_graph_that_is_captured() -> None:
    x = torch.randn(64, 5000, device="cuda")
    lse, ones = torch.logsumexp(x, -1), torch.ones(64, device="cuda")
    dx, dy = torch.empty_like(x), torch.empty_like(x)

    def both() -> None:
        logits_gradient(x, lse, scale=ones, out=dx)
        softmax_backward(dx, x, log=False, out=dy)

    both()
    expected = dx.clone(), dy.clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        both()
    dx.zero_(), dy.zero_()
    graph.replay()
    assert dx.equal(expected[0])
    assert dy.equal(expected[1])


def test_both_go_to_the_current_stream() -> None:
    stream = torch.cuda.Stream()
    x = torch.randn(2000, 20_000, device="cuda")
    ones = torch.ones(2000, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        late = x * 2
        lse = torch.logsumexp(late, -1)
        got = logits_gradient(late, lse, scale=ones)
    stream.synchronize()
    assert (got - torch.softmax(x * 2, -1)).abs().max() < 1e-5
    assert oneread.last_kernel().name == "logits_gradient"


def test_bits_are_the_same_at_every_call() -> None:
    y = torch.softmax(torch.randn(100, 128_256, device="cuda"), -1)
    grad = torch.randn_like(y)
    expected = softmax_backward(y, grad, log=False)
    for _ in range(5):
        assert softmax_backward(y, grad, log=False).equal(expected)
