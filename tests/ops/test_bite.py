"""The checks that the ops pass reject every wrong implementation of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import oneread
from oneread.spec import FLOAT_DTYPES, OPS
from oneread.testing import (
    MUTANTS,
    applies,
    assert_close_to_truth,
    assert_conforms,
    assert_kills_all,
    faithful,
    stdlib_bigram,
)

#: A float16 log-probability near 1 is too coarse to show a float32 sum that holds the maximum.
NOT_WRONG = {("log_softmax", "float16"): ["max_in_sum"]}

#: Mutants that need no special input: the logits of a language show them.
PLAIN = {
    op: ["zeros", "uniform", "temperature_ignored", "no_rescale"]
    for op in ("softmax", "log_softmax", "logsumexp", "softmax_topk", "read")
} | {"top_k": ["zeros", "uniform"]}

each_op = pytest.mark.parametrize("op", OPS)


def ordered(op: str, **options: Any) -> dict[str, Any]:
    return {"k": 5, **options} if op in ("top_k", "softmax_topk") else options


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@each_op
def test_check_that_the_op_passes_kills_every_mutant(op: str, dtype: str) -> None:
    check = partial(assert_conforms, op=op, dtype=dtype, rows=4, vocab=67)
    check(getattr(oneread, op))
    assert_kills_all(op, check, without=NOT_WRONG.get((op, dtype), ()))


@each_op
def test_real_logits_kill_what_needs_no_special_input(op: str) -> None:
    x = stdlib_bigram(4, 5000).logits
    x = np.sort(x, axis=1)  # a maximum that moves
    options = ordered(op, temperature=0.7)

    def check(implementation: Any) -> None:
        assert_close_to_truth(implementation(x, **options), x, op, **options)

    check(getattr(oneread, op))
    others = set(applies(op)) - set(PLAIN[op])
    assert_kills_all(op, check, without=others)


@pytest.mark.parametrize("mutant", ["wrong_tie_order", "nan_last", "signs_of_zero_ordered"])
@pytest.mark.parametrize("op", ["top_k", "softmax_topk", "read"])
def test_exact_order_kills_a_wrong_one(op: str, mutant: str) -> None:
    x = np.float32([[0.0, -0.0, 2.0, np.nan, 2.0, 0.0]])
    options = {"top_k": 6} if op == "read" else {"k": 6}

    def indices(implementation: Any) -> Any:
        return implementation(x, **options).indices.tolist()

    assert indices(getattr(oneread, op)) == indices(faithful(op)) == [[3, 2, 4, 0, 1, 5]]
    assert indices(MUTANTS[op][mutant]) != [[3, 2, 4, 0, 1, 5]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", ["softmax", "log_softmax", "logsumexp"])
def test_70_000_equal_terms_kill_a_sum_in_the_storage_type(op: str, dtype: str) -> None:
    x = np.zeros((1, 70_000), faithful("softmax")(np.zeros(1, "f4"), dtype=dtype).dtype)

    def check(implementation: Any) -> None:
        assert_close_to_truth(implementation(x), x, op)

    check(getattr(oneread, op))
    others = set(applies(op)) - {"storage_type_sum"}
    assert_kills_all(op, check, without=others)
