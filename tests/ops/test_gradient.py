"""Gradients to logits on a CPU: close to the truth, in every layout, whatever the threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneread
from oneread.ops._gradient import logits_gradient, softmax_backward
from oneread.runtime import cpu
from oneread.spec import DtypeError, ShapeError
from oneread.testing import FAMILIES
from oneread.testing.gradients import (
    assert_logits_gradient,
    assert_softmax_backward,
    backward_of,
    rows_of,
)

FLOATS = ("float32", "float64", "float16", "bfloat16")
LONG = (2, 40_003)  # columns that are done by two threads


def shapes_of(family: str) -> list[tuple[int, int]]:
    return [(6, 331), (3, 7), *([LONG] if family in ("normal", "masked_first_tile") else [])]


each_float = pytest.mark.parametrize("dtype", FLOATS)
each_family = pytest.mark.parametrize("family", FAMILIES)
either = pytest.mark.parametrize("log", [False, True])


def some_rows(rows: int = 6, vocab: int = 331, dtype: str = "float32") -> Any:
    """Return rows with all terms."""
    return list(rows_of("normal", rows, vocab, dtype))[-1]


def bits(x: Any) -> bytes:
    return np.ascontiguousarray(x).tobytes()


@each_float
@each_family
def test_gradient_of_logits_is_close_to_the_truth(family: str, dtype: str) -> None:
    for rows, vocab in shapes_of(family):
        for one in rows_of(family, rows, vocab, dtype):
            assert_logits_gradient(logits_gradient(one.x, one.lse, **one.options), one)


@pytest.mark.parametrize("temperature", [1e-3, 0.05, 0.5])
def test_quotients_that_float32_rounds_by_much_cost_no_digits(temperature: float) -> None:
    for seed in range(5):
        for one in rows_of("large_offset", 3, 4096, "float32", seed, temperature):
            assert_logits_gradient(logits_gradient(one.x, one.lse, **one.options), one)


@either
@each_float
@each_family
def test_gradient_of_softmax_is_close_to_the_truth(family: str, dtype: str, log: bool) -> None:
    for rows, vocab in shapes_of(family):
        y, grad = backward_of(family, rows, vocab, dtype, log)
        assert_softmax_backward(softmax_backward(y, grad, log=log), y, grad, log)


@pytest.mark.parametrize("isa", cpu.native.compiled_isas(), indirect=True)
@each_float
def test_every_instruction_set_is_close_to_the_truth(dtype: str, isa: str) -> None:
    for family in ("normal", "masked_all", "nan", "gap"):
        for one in rows_of(family, 6, 331, dtype):
            assert_logits_gradient(logits_gradient(one.x, one.lse, **one.options), one)
        for log in (False, True):
            y, grad = backward_of(family, 6, 331, dtype, log)
            assert_softmax_backward(softmax_backward(y, grad, log=log), y, grad, log)
    assert oneread.last_kernel().isa == isa


@each_float
def test_rows_without_coefficients_are_zeros_whatever_they_hold(dtype: str) -> None:
    x = np.full((3, 9), np.nan).astype(some_rows(1, 1, dtype).x.dtype)
    x[1] = -np.inf
    kind = "float64" if dtype == "float64" else "float32"
    zeros = np.zeros(3, kind)
    lse = np.array([np.nan, -np.inf, np.inf], kind)
    got = logits_gradient(x, lse, scale=zeros, slope=-zeros, uniform=zeros)
    assert (got == 0).all()


def test_columns_of_probability_0_add_exactly_nothing() -> None:
    x = np.array([[0.0, -np.inf, -800.0]], np.float32)
    one = np.ones(1, np.float32)
    got = logits_gradient(x, one * 0, scale=one, slope=one * 1e30)
    assert got.tolist() == [[1.0, 0.0, 0.0]]


def test_a_row_of_minus_inf_has_no_probabilities_to_share() -> None:
    x = np.full((1, 5), -np.inf, np.float32)
    lse = oneread.logsumexp(x)
    assert logits_gradient(x, lse, scale=np.ones(1, np.float32)).tolist() == [[0.0] * 5]


def test_beyond_a_softcap_the_gradient_is_0() -> None:
    x = np.array([[-np.inf, np.inf, 3.0]], np.float32)
    one = np.ones(1, np.float32)
    got = logits_gradient(x, one * 30, scale=one, uniform=one, softcap=30.0)
    assert got[0, :2].tolist() == [0.0, 0.0]
    assert got[0, 2] > 0.9


@pytest.mark.parametrize("column", [-1, -100, 331, 2**40])
def test_a_target_outside_of_the_row_is_none(column: int) -> None:
    x, lse, options = some_rows()
    options = options | {"target": np.full(len(x), column)}
    without = options | {"target": None, "at_target": None}
    got = logits_gradient(x, lse, **options)
    assert bits(got) == bits(logits_gradient(x, lse, **without))


@pytest.mark.parametrize("vocab", [331, 100_003])
@each_float
def test_bits_depend_neither_on_threads_nor_on_memory(dtype: str, vocab: int) -> None:
    x, lse, options = some_rows(3, vocab, dtype)
    y, grad = backward_of("normal", 3, vocab, dtype, False)

    def both(x: Any, y: Any, grad: Any) -> list[bytes]:
        found = [logits_gradient(x, lse, **options)]
        found += [softmax_backward(y, grad, log=log) for log in (False, True)]
        return [bits(one) for one in found]

    before = cpu.get_threads()
    try:
        oneread.set_threads(1)
        alone = both(x, y, grad)
        oneread.set_threads(4)
        assert both(x, y, grad) == alone
    finally:
        oneread.set_threads(before)
    apart = [np.zeros((3, vocab + 5), x.dtype)[:, 3:-2] for _ in range(3)]
    for to, given in zip(apart, (x, y, grad), strict=True):
        to[...] = given
    assert both(*apart) == alone
    assert both(*(np.asfortranarray(one) for one in (x, y, grad))) == alone


@each_float
def test_a_result_may_take_the_place_of_an_input(dtype: str) -> None:
    x, lse, options = some_rows(dtype=dtype)
    expected = bits(logits_gradient(x, lse, **options))
    taken = x.copy()
    assert logits_gradient(taken, lse, **options, out=taken) is taken
    assert bits(taken) == expected
    for log in (False, True):
        y, grad = backward_of("normal", 6, 331, dtype, log)
        expected = bits(softmax_backward(y, grad, log=log))
        for i in range(2):
            given = [y.copy(), grad.copy()]
            softmax_backward(*given, log=log, out=given[i])
            assert bits(given[i]) == expected


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_stores_past_the_caches_change_no_bit(dtype: str) -> None:
    x, lse, options = some_rows(4, 5003, dtype)
    y, grad = backward_of("normal", 4, 5003, dtype, True)
    expected = bits(logits_gradient(x, lse, **options)), bits(softmax_backward(y, grad, log=True))
    cpu.native.set_stores("streaming")
    try:
        out = np.zeros_like(x)
        logits_gradient(x, lse, **options, out=out)
        stores = oneread.last_kernel().stores
        other = np.zeros_like(y)
        softmax_backward(y, grad, log=True, out=other)
    finally:
        cpu.native.set_stores("any")
    assert (bits(out), bits(other)) == expected
    assert stores == oneread.last_kernel().stores == "streaming"


def test_each_logit_is_read_once_and_each_gradient_written_once() -> None:
    x, lse, options = some_rows(4, 40_000)
    options = options | {"scale": np.ones(4, np.float32)}
    _, x_loads, x_stores, y_loads, y_stores, *_ = cpu.native.count(
        lambda: logits_gradient(x, lse, **options)
    )
    once = x.size + sum(options["target"] >= 0)  # a target's term is added apart
    assert (x_loads, x_stores, y_loads, y_stores) == (once, 0, 0, once)


def test_axes_before_the_last_are_rows() -> None:
    y, grad = backward_of("normal", 12, 50, "float32", False)
    expected = softmax_backward(y, grad, log=False)
    got = softmax_backward(y.reshape(3, 4, 50), grad.reshape(3, 4, 50), log=False)
    assert bits(got) == bits(expected)
    assert got.shape == (3, 4, 50)
    moved = np.ascontiguousarray(y.reshape(3, 4, 50).transpose(1, 0, 2)).transpose(1, 0, 2)
    assert bits(softmax_backward(moved, grad.reshape(3, 4, 50), log=False)) == bits(expected)


def test_a_gradient_that_is_one_number_everywhere_is_taken() -> None:
    y, _ = backward_of("normal", 3, 50, "float32", True)
    grad = np.broadcast_to(np.float32(2), y.shape)
    assert_softmax_backward(softmax_backward(y, grad, log=True), y, grad, True)


def test_no_columns_no_rows_and_no_axes_give_as_many_gradients() -> None:
    for shape in ((3, 0), (0, 3)):
        x = np.zeros(shape, np.float32)
        numbers = np.zeros(shape[0], np.float32)
        assert logits_gradient(x, numbers, scale=numbers).shape == shape
        assert softmax_backward(x, x, log=True).shape == shape
    one = np.float32(1)
    assert softmax_backward(np.array(one), np.array(one), log=False).tolist() == 0.0


def test_the_kernel_that_ran_is_named() -> None:
    x, lse, options = some_rows()
    logits_gradient(x, lse, **options)
    assert oneread.last_kernel().name == "logits_gradient"
    for log, name in ((False, "softmax_backward"), (True, "log_softmax_backward")):
        softmax_backward(x, x, log=log)
        assert oneread.last_kernel().name == name


def test_what_does_not_fit_is_refused_by_name() -> None:
    x, lse, _ = some_rows()
    with pytest.raises(ShapeError, match=r"scale has shape \(5,\)"):
        logits_gradient(x, lse, scale=lse[1:])
    with pytest.raises(DtypeError, match="lse holds float64; float32"):
        logits_gradient(x, lse.astype(np.float64), scale=lse)
    with pytest.raises(DtypeError, match="target holds float32; int64"):
        logits_gradient(x, lse, scale=lse, target=lse, at_target=lse)
    with pytest.raises(ShapeError, match=r"class_weight has shape \(6,\)"):
        logits_gradient(x, lse, scale=lse, class_weight=lse)
    with pytest.raises(ShapeError, match="softcap is -1"):
        logits_gradient(x, lse, scale=lse, softcap=-1.0)
    with pytest.raises(ShapeError, match="out shares memory with x"):
        logits_gradient(x[1:], lse[1:], scale=lse[1:], out=x[:-1])
    with pytest.raises(DtypeError, match="grad holds float64; y holds float32"):
        softmax_backward(x, x.astype(np.float64), log=True)
    with pytest.raises(DtypeError, match="x holds int64"):
        logits_gradient(x.astype(np.int64), lse, scale=lse)
    with pytest.raises(ShapeError, match="side by side"):
        softmax_backward(x, x, log=True, out=np.zeros((6, 662), np.float32)[:, ::2])


# PyTorch's tensors and its own gradients


def of_torch(array: Any) -> Any:
    torch = pytest.importorskip("torch", reason="the tensors are PyTorch's")
    if not isinstance(array, np.ndarray):
        return array
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


@each_float
def test_tensors_get_the_bits_that_arrays_get(dtype: str) -> None:
    x, lse, options = some_rows(dtype=dtype)
    given = {name: of_torch(value) for name, value in options.items()}
    wanted = of_torch(logits_gradient(x, lse, **options))
    tensor = of_torch(x).requires_grad_()  # which is no matter here
    assert logits_gradient(tensor, of_torch(lse), **given).equal(wanted)
    y, grad = backward_of("normal", 6, 331, dtype, True)
    wanted = of_torch(softmax_backward(y, grad, log=True))
    assert softmax_backward(of_torch(y), of_torch(grad), log=True).equal(wanted)


def test_a_write_to_a_tensor_is_counted() -> None:
    x, lse, options = some_rows()
    tensor = of_torch(x.copy())
    given = {name: of_torch(value) for name, value in options.items()}
    before = tensor._version
    logits_gradient(tensor, of_torch(lse), **given, out=tensor)
    assert tensor._version == before + 1


def test_the_terms_are_the_gradients_that_autograd_gives() -> None:
    torch = pytest.importorskip("torch", reason="the gradients are PyTorch's")
    x, _, _ = some_rows(dtype="float64")
    tensor = of_torch(x).requires_grad_()
    cap, rows = 5.0, torch.arange(len(x))
    target = torch.tensor([3, 0, 330, 7, 7, 100])
    z = cap * torch.tanh(tensor / cap)
    lp, lse = torch.log_softmax(z, -1), torch.logsumexp(z, -1)
    entropy = -(lp.exp() * lp).sum(-1)
    statistics = (lse**2, -lp[rows, target], entropy, -lp.mean(-1))
    for turn, statistic in enumerate(statistics):
        (wanted,) = torch.autograd.grad(statistic.sum(), tensor, retain_graph=True)
        one = torch.ones(len(x), dtype=torch.float64)
        terms = (
            {"scale": 2 * lse}, {"scale": one, "target": target, "at_target": -one},
            {"scale": -entropy, "slope": -one}, {"scale": one, "uniform": -one / x.shape[1]},
        )[turn]  # fmt: skip
        got = logits_gradient(tensor, lse.detach(), **terms_of(terms), softcap=cap)
        distance = (got - wanted).abs().max() / wanted.abs().max()
        assert distance < 2.0**-44


def terms_of(terms: dict[str, Any]) -> dict[str, Any]:
    return {name: value.detach() for name, value in terms.items()}
