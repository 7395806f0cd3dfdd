"""The first columns of rows in parts, kept by states of tensors on a GPU, are those of a CPU."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from typing import Any

import numpy as np
import pytest
from emulated import COMPILER, on_cpu  # noqa: F401
from tensors import (
    cpu_state,
    find,
    inputs,
    masked_inputs,
    state_of,
    state_of_parts,
    state_under,
    tensors_stay_on_a_cpu,  # noqa: F401
    torch,
)

import oneread
from oneread.ops._device_state import DeviceState
from oneread.runtime import cuda_topk
from oneread.spec import ShapeError
from oneread.testing import FAMILIES, assert_close_to_truth

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler"),
    pytest.mark.usefixtures("tensors_stay_on_a_cpu"),
]


def assert_same_bits(one: Any, other: Any) -> None:
    """Zeros keep their sign and NaNs their bits."""
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[one.element_size()]
    assert one.dtype == other.dtype
    assert torch.equal(one.view(bits), other.view(bits))


def state_on_cpu(x: Any, offset: int = 0, **options: Any) -> Any:
    """Return what the fixture does not take for a state on a GPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(find, "gpu_backend", lambda x: None)
        return oneread.State.of(x, offset=offset, **options)


def assert_first_columns(state: DeviceState, want: Any) -> None:
    """Of the state and of what travels of it."""
    for one in (state, cpu_state(state)):
        assert torch.equal(one.indices, want.indices)
        assert_same_bits(one.values, want.values)


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "empty"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_first_columns_of_a_row_in_parts_are_those_of_the_row(family: str, dtype: str) -> None:
    x = inputs(family, 5, 91, dtype)
    vocab = x.shape[-1]
    k = min(7, vocab)
    want = state_on_cpu(x, top_k=k)
    for cuts in ([], [3, 40, 40, 41]):  # parts of fewer columns than are kept
        edges = sorted([0, *[min(cut, vocab) for cut in cuts], vocab])
        got = state_of_parts(x, edges, top_k=k, argmax=True)
        assert_first_columns(got, want)
        assert torch.equal(got.argmax, want.indices[:, 0])


def tied_inputs() -> Any:
    x = inputs("ties", 5, 91)
    x[1, ::3], x[2], x[3, :50] = math.nan, -0.0, -math.inf
    x[2, ::2] = 0.0
    return x


def test_first_columns_are_the_same_in_any_order_of_the_parts() -> None:
    x = tied_inputs()
    cuts = itertools.pairwise([0, 20, 21, 60, 91])
    parts = [state_of(x[:, a:b], offset=a, top_k=7) for a, b in cuts]
    want = state_on_cpu(x, top_k=7)
    for order in itertools.permutations(parts):
        assert_first_columns(functools.reduce(operator.or_, order), want)


def test_more_first_columns_than_were_seen_are_refused_until_they_are() -> None:
    x = tied_inputs()
    state = state_of(x[:, :30], top_k=40)
    for ask in (lambda: state.values, lambda: state.indices, state.top_k):
        with pytest.raises(ShapeError, match="top_k is 40, but this state has seen 30 columns"):
            ask()
    assert_first_columns(state.update(x[:, 30:]), state_on_cpu(x, top_k=40))
    with pytest.raises(ShapeError, match="seen none"):
        _ = state_of(x[:, :0], top_k=4, argmax=True).argmax
    assert state_of(x[:0], top_k=4).values.shape == (0, 4)


def test_first_columns_beyond_what_the_kernels_find_are_sorted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cuda_topk, "finds", lambda k, columns: False)
    x = tied_inputs()
    assert_first_columns(state_of_parts(x, [0, 40, 91], top_k=60), state_on_cpu(x, top_k=60))


@pytest.mark.parametrize("axis", [0, 1, None])
def test_first_columns_stand_where_the_axis_is(axis: int | None) -> None:
    x = inputs("normal", 12, 41).view(3, 4, 41)
    got, want = state_of(x, axis=axis, top_k=2), state_on_cpu(x, axis=axis, top_k=2)
    assert got.values.shape == want.values.shape
    assert_first_columns(got, want)


def test_integers_keep_the_numbers_they_become() -> None:
    x = torch.from_numpy(np.random.default_rng(0).integers(-9, 9, (3, 100)))
    assert_first_columns(state_of_parts(x, [0, 50, 100], top_k=5), state_on_cpu(x, top_k=5))


@pytest.mark.parametrize("cuts", [[], [30, 31, 60]])
def test_first_columns_under_masks_are_those_of_the_row(cuts: list[int]) -> None:
    """Of a row that keeps fewer than k, those that masks leave out come last, -inf before them."""
    x, where, lengths = masked_inputs()
    want = state_on_cpu(x, top_k=40, where=where, lengths=lengths)
    assert_first_columns(state_under(x, where, lengths, cuts, top_k=40), want)


@pytest.mark.parametrize("temperature", [None, 0.5])
def test_winners_have_the_probabilities_that_the_whole_row_gives_them(
    temperature: float | None,
) -> None:
    x = inputs("spiky", 6, 91)
    state = state_of_parts(x, [0, 40, 91], top_k=5, temperature=temperature)
    for renormalize in (False, True):
        options = {"k": 5, "renormalize": renormalize, "temperature": temperature}
        got = state.top_k(kind="prob", renormalize=renormalize)
        assert_close_to_truth(got.values, x, "softmax_topk", field="values", **options)
        assert torch.equal(got.indices, state.indices)
        logs = state.top_k(kind="logprob", renormalize=renormalize)
        options["kind"] = "logprob"
        assert_close_to_truth(logs.values, x, "softmax_topk", field="values", **options)
    read = {"top_k": 5, "temperature": temperature}
    assert_close_to_truth(state.logprobs, x, "read", field="logprobs", **read)
    with pytest.raises(ShapeError, match="renormalize is True"):
        state.top_k(renormalize=True)
