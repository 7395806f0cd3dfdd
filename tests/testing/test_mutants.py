"""The tolerance and the families together reject every wrong implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oneread import reference
from oneread.spec import FLOAT_DTYPES, OPS, ShapeError
from oneread.testing import (
    FAMILIES,
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

NAMED = {
    "softmax": "no_rescale lost_tail storage_type_sum first_tile_nan shift_after_scale",
    "log_softmax": "no_rescale max_in_sum storage_type_sum",
    "logsumexp": "no_rescale lse_base_2",
    "top_k": "wrong_tie_order nan_last lost_tail",
    "softmax_topk": "winners_only wrong_tie_order nan_last max_in_sum lse_base_2",
    "read": "winners_only rank_shared_by_ties entropy_unguarded nan_last lse_base_2 max_in_sum",
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("op", OPS)
def test_families_and_tolerance_kill_every_mutant(op: str, dtype: str) -> None:
    def check(implementation: Any) -> None:
        assert_conforms(implementation, op, dtype=dtype, rows=4, vocab=67)

    assert_kills_all(op, check)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("op", ["softmax", "log_softmax", "logsumexp", "top_k"])
def test_mutants_are_wrong_in_other_types_too(op: str, dtype: str) -> None:
    def check(implementation: Any) -> None:
        assert_conforms(implementation, op, dtype=dtype, rows=4, vocab=67)

    assert_kills_all(op, check, without=NOT_WRONG.get((op, dtype), ()))


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("op", OPS)
def test_rounded_truth_conforms(op: str, dtype: str) -> None:
    assert_conforms(faithful(op), op, dtype=dtype)


@pytest.mark.parametrize("op", OPS)
def test_every_op_has_the_mutants_that_are_its_own(op: str) -> None:
    assert {"zeros", "uniform", *NAMED[op].split()} <= set(applies(op))
    assert applies(op) == tuple(MUTANTS[op])


@pytest.mark.parametrize("op", OPS)
def test_real_logits_alone_kill_what_needs_no_special_input(op: str) -> None:
    x = stdlib_bigram(2).logits
    options = {"k": 5} if op in ("top_k", "softmax_topk") else {}
    for name in ("zeros", "uniform", "lost_tail"):
        got = MUTANTS[op][name](x, **options)
        if name != "lost_tail" or op in ("softmax", "log_softmax"):
            with pytest.raises(AssertionError):
                assert_close_to_truth(got, x, op, **options)
    assert_close_to_truth(faithful(op)(x, **options), x, op, **options)


def test_check_that_lets_mutants_pass_is_told_which() -> None:
    def lazy(softmax: Any) -> None:
        x = FAMILIES["sorted_down"](2, 64)
        assert_close_to_truth(softmax(x), x, "softmax")

    with pytest.raises(AssertionError, match=r"no_rescale.*first_tile_nan"):
        assert_kills_all("softmax", lazy)


def test_check_that_rejects_the_truth_is_no_check() -> None:
    def strict(softmax: Any) -> None:
        raise AssertionError("nothing is good enough")

    with pytest.raises(AssertionError, match="good enough"):
        assert_kills_all("softmax", strict)


def test_other_errors_of_a_check_pass_through() -> None:
    def broken(softmax: Any) -> None:
        assert_close_to_truth(softmax(np.zeros((2, 3))), np.zeros((2, 3)), "soft")

    with pytest.raises(ShapeError, match="soft"):
        assert_kills_all("softmax", broken)


def test_unknown_op_has_no_mutants() -> None:
    with pytest.raises(ShapeError, match="softmax"):
        applies("soft")


@pytest.mark.parametrize("op", OPS)
def test_arguments_may_be_given_by_position(op: str) -> None:
    x = np.float32([[1.0, 2.0], [4.0, 3.0]])
    arguments = (1, 0) if op in ("top_k", "softmax_topk") else (0,)
    truth = getattr(reference, op)(x, *arguments)
    for implementation in (faithful(op), *MUTANTS[op].values()):
        result = implementation(x, *arguments)
        first, expected = (r[0] if isinstance(r, tuple) else r for r in (result, truth))
        assert first.shape == expected.shape


def test_conformance_names_the_family_and_the_options() -> None:
    with pytest.raises(AssertionError, match=r"^normal, float32, no options: softmax: "):
        assert_conforms(MUTANTS["softmax"]["no_rescale"], "softmax")
    with pytest.raises(AssertionError, match=r"^nan, float32, k=1: top_k.values: "):
        assert_conforms(MUTANTS["top_k"]["nan_last"], "top_k", families=["normal", "nan"])


def test_conformance_leaves_out_options_that_an_implementation_lacks() -> None:
    def without_masks(x: Any, **options: Any) -> Any:
        assert not {"where", "lengths"} & set(options)
        return faithful("softmax")(x, **options)

    assert_conforms(without_masks, "softmax", without=["where", "lengths"])
