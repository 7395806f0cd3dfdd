"""What assert_close_to_truth lets pass, what it rejects and what it says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from oneread import reference
from oneread.spec import FLOAT_DTYPES, OPS, Read, ShapeError
from oneread.testing import FAMILIES, assert_close_to_truth, faithful, ulp
from oneread.testing.arrays import numpy_dtype
from oneread.testing.outputs import fields

LARGE_VOCAB = 262_144


def normal(dtype: str = "float32", rows: int = 3, vocab: int = 50) -> Any:
    return FAMILIES["normal"](rows, vocab, dtype)


def rejected(got: Any, x: Any, op: str, **options: Any) -> str:
    """Return what is said of a result that does not pass."""
    with pytest.raises(AssertionError) as caught:
        assert_close_to_truth(got, x, op, **options)
    return str(caught.value)


def moved(got: np.ndarray[Any, Any], ulps: float) -> np.ndarray[Any, Any]:
    """Return a result with its first element moved by some units in the last place."""
    got = got.copy()
    flat = got.reshape(-1)
    first = float(flat[0])
    flat[0] = first + ulps * float(ulp(first, got.dtype))
    return got


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_rounded_truth_passes_and_20_ulp_more_do_not(dtype: str) -> None:
    x = normal(dtype)
    got = faithful("softmax")(x)
    assert_close_to_truth(got, x, "softmax")
    assert_close_to_truth(moved(got, 4), x, "softmax")
    assert "ulp" in rejected(moved(got, 20 + 2 * 40), x, "softmax")


def test_bound_can_be_narrowed() -> None:
    x = np.float32([[20.0, 0.0]])
    got = faithful("log_softmax")(x)
    assert_close_to_truth(got, x, "log_softmax", max_ulp=2)
    assert_close_to_truth(moved(got, 6), x, "log_softmax")
    assert "allowed" in rejected(moved(got, 6), x, "log_softmax", max_ulp=2)


def test_input_that_is_hard_for_the_plain_formula_is_given_room() -> None:
    x = np.float32([[0.1, -80.3, -79.9, -60.1]])  # x - m rounds by up to 32 ulp of exp(x - m)
    plain = reference.plain("softmax", x)
    assert_close_to_truth(plain, x, "softmax")
    error = np.abs(plain - reference.softmax(x)) / ulp(reference.softmax(x), "float32")
    assert error.max() > OPS["softmax"].max_ulp


def test_plain_formula_that_fails_gives_no_room() -> None:
    x = np.float32([[1.0, 3.0]])
    with np.errstate(all="ignore"):
        assert np.isnan(reference.plain("softmax", x, temperature=1e-60)).any()
    assert "truth 0 " in rejected(np.float32([[0.5, 0.5]]), x, "softmax", temperature=1e-60)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y: y[:, :-1], "got shape (3, 49), expected (3, 50)"),
        (lambda y: y.astype(np.float64), "got type float64, expected float32"),
        (lambda y: np.where(y == y[1, 7], np.float32(np.nan), y), "row 1, column 7: got nan"),
        (lambda y: np.where(y == y[1, 7], np.float32(np.inf), y), "row 1, column 7: got inf"),
    ],
)
def test_message_says_what_is_wrong_and_where(change: Callable[..., Any], words: str) -> None:
    x = normal()
    assert words in rejected(change(faithful("softmax")(x)), x, "softmax")


def test_message_gives_row_column_numbers_and_input() -> None:
    x = normal()
    got = faithful("softmax")(x)
    got[2, 17] *= 2
    message = rejected(got, x, "softmax")
    assert "softmax: 1 of 150 elements" in message
    assert "row 2, column 17" in message
    assert f"x there {float(x[2, 17]):.9g}" in message
    assert "ulp, allowed 8" in message


@pytest.mark.parametrize(
    ("op", "options", "field", "index", "where"),
    [
        ("softmax", {"axis": 0}, "y", (1, 4), "row 4, column 1"),
        ("softmax", {"axis": None}, "y", (1, 4), "row (), column 54"),
        ("logsumexp", {"axis": 0}, "lse", (4,), "row 4"),
        ("logsumexp", {"axis": 0, "keepdims": True}, "lse", (0, 4), "row 4"),
        ("top_k", {"k": 2, "axis": 0}, "values", (1, 4), "row 4, place 1"),
        ("read", {"select": np.zeros((3, 2), int)}, "selected", (1, 1), "row 1, choice 1"),
    ],
)
def test_place_is_named_along_any_axis(
    op: str, options: dict[str, Any], field: str, index: tuple[int, ...], where: str
) -> None:
    x = normal()
    got = fields(op, faithful(op)(x, **options))[field]
    got[index] = 9
    assert f"worst at {where}:" in rejected(got, x, op, field=field, **options)


@pytest.mark.parametrize("x", [[[np.inf, 0.0]], [[np.nan, 0.0]], [[-np.inf, -np.inf]]])
def test_number_where_the_truth_is_nan_is_rejected(x: Any) -> None:
    x = np.float32(x)
    assert_close_to_truth(np.full_like(x, np.nan), x, "softmax")
    assert "truth nan" in rejected(np.float32([[1.0, 0.0]]), x, "softmax")


def test_infinity_must_have_its_sign() -> None:
    x = np.float32([[-np.inf, -np.inf]])
    assert_close_to_truth(np.float32([-np.inf]), x, "logsumexp")
    assert "truth -inf" in rejected(np.float32([np.inf]), x, "logsumexp")
    assert "truth -inf" in rejected(np.float32([-3e38]), x, "logsumexp")


def test_truth_that_overflows_the_type_must_be_infinite() -> None:
    x = np.float16([[65504.0, -65504.0]])
    assert_close_to_truth(np.float16([[0.0, -np.inf]]), x, "log_softmax")
    assert "truth -131008" in rejected(np.float16([[0.0, -65504.0]]), x, "log_softmax")


def test_log_probability_may_be_infinite_where_the_difference_overflows() -> None:
    x = np.float32([[3e38, 2.9e38, -3e38]])
    got = faithful("log_softmax")(x, temperature=10.0)
    assert np.isfinite(got).all()
    assert_close_to_truth(got, x, "log_softmax", temperature=10.0)
    got[0, 2] = -np.inf
    assert_close_to_truth(got, x, "log_softmax", temperature=10.0)
    got[0, 1] = -np.inf
    assert "column 1" in rejected(got, x, "log_softmax", temperature=10.0)


def test_result_below_the_normal_range_may_be_0() -> None:
    x = np.float32([[0.0, -95.0]])
    assert_close_to_truth(np.float32([[1.0, 0.0]]), x, "softmax")
    assert_close_to_truth(np.float32([[1.0, np.exp(-95.0)]]), x, "softmax")
    assert "column 1" in rejected(np.float32([[1.0, 1e-38]]), x, "softmax")
    assert "column 1" in rejected(np.float32([[1.0, 0.0]]), np.float32([[0.0, -85.0]]), "softmax")


def test_float16_result_below_its_own_normal_range_may_not_be_0() -> None:
    x = np.float16([[0.0, -11.0]])
    assert_close_to_truth(np.float16([[1.0, 1.67e-5]]), x, "softmax")
    assert "column 1" in rejected(np.float16([[1.0, 0.0]]), x, "softmax")


def test_lse_near_0_is_judged_at_the_size_of_its_terms() -> None:
    x = np.full((1, 1000), -np.log(1000), np.float32)
    truth = reference.logsumexp(x)
    assert abs(truth[0]) < 1e-6
    assert_close_to_truth(np.float32(truth + 2e-6), x, "logsumexp")
    assert "logsumexp" in rejected(np.float32(truth + 1e-5), x, "logsumexp")


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("op", ["softmax", "log_softmax", "logsumexp"])
def test_zeros_and_equal_logits_are_told_apart_at_a_large_vocabulary(op: str, dtype: str) -> None:
    x = normal(dtype, 1, LARGE_VOCAB)
    right = faithful(op)(x)
    assert_close_to_truth(right, x, op)
    rejected(np.zeros_like(right), x, op)
    rejected(faithful(op)(np.zeros_like(x)), x, op)


@pytest.mark.parametrize("op", ["softmax", "log_softmax", "logsumexp"])
def test_input_that_cannot_tell_fails_by_itself(op: str) -> None:
    x = np.float32([[0.0, 4e-7, 4e-7, 4e-7]])
    assert "this input cannot tell; the result for equal logits" in rejected(faithful(op)(x), x, op)


def test_input_whose_results_may_all_be_0_but_are_not_cannot_tell() -> None:
    x = np.float32([[4e-7]])
    assert "the result for zeros would pass too" in rejected(x[:, 0], x, "logsumexp")


@pytest.mark.parametrize("name", ["constant", "vocab_one", "masked_all_but_one", "empty"])
def test_equal_logits_and_zeros_pass_where_they_are_the_truth(name: str) -> None:
    x = FAMILIES[name](4, 64)
    for op in ("softmax", "log_softmax", "logsumexp"):
        assert_close_to_truth(faithful(op)(x), x, op)
    options = {"entropy": True, "sum_p2": True}
    assert_close_to_truth(faithful("read")(x, **options), x, "read", **options)


def test_one_field_of_several_can_be_judged() -> None:
    x = normal()
    entropy = reference.read(x, entropy=True).entropy.astype(np.float32)
    assert_close_to_truth(entropy, x, "read", field="entropy", entropy=True)
    message = rejected(entropy * 2, x, "read", field="entropy", entropy=True)
    assert message.startswith("read.entropy: 3 of 3")


def test_fields_that_were_not_asked_for_must_be_none() -> None:
    x = normal()
    r = faithful("read")(x, entropy=True)
    assert "read.entropy: got a result" in rejected(r, x, "read")
    assert "read.sum_p2: got nothing" in rejected(r, x, "read", entropy=True, sum_p2=True)


def test_result_of_several_fields_is_a_tuple_of_them() -> None:
    x = normal()
    plain_tuple = tuple(faithful("softmax_topk")(x, k=3)[:2])
    assert_close_to_truth(plain_tuple, x, "softmax_topk", k=3)
    assert "expected a tuple" in rejected(plain_tuple[0], x, "softmax_topk", k=3)
    assert "has no output 'y'" in rejected(plain_tuple[0], x, "softmax_topk", k=3, field="y")


def test_columns_and_logits_are_exact() -> None:
    x = np.float32([[1.0, 3.0, 3.0]])
    values, indices = faithful("top_k")(x, k=2)
    assert_close_to_truth((values, indices), x, "top_k", k=2)
    assert "must be exact" in rejected((values, indices[:, ::-1]), x, "top_k", k=2)
    assert "top_k.values" in rejected((np.nextafter(values, 4), indices), x, "top_k", k=2)
    assert "top_k.values" in rejected((-np.zeros_like(values), indices), 0 * x, "top_k", k=2)


def test_maximum_is_exact_unless_divided_or_narrowed() -> None:
    x = normal()
    r = faithful("read")(x)
    off = r._replace(max=np.nextafter(r.max, np.float32(np.inf)))
    assert "read.max" in rejected(off, x, "read")
    r = faithful("read")(x, temperature=0.7)
    off = r._replace(max=np.nextafter(r.max, np.float32(np.inf)))
    assert_close_to_truth(off, x, "read", temperature=0.7)
    wide = normal("float64")
    assert_close_to_truth(faithful("read")(wide, dtype="float32"), wide, "read", dtype="float32")


def test_options_that_do_not_change_the_truth_are_taken() -> None:
    x = normal()
    got = faithful("softmax")(x)
    assert_close_to_truth(got, x, "softmax", threads=1, kernel="lazy", out=got, dtype=None)
    result = faithful("top_k")(x, k=2, index_dtype=np.int32)
    assert result.indices.dtype == np.int32
    assert_close_to_truth(result, x, "top_k", k=2, index_dtype="int32")


def test_wider_output_is_judged_in_the_type_computed_in() -> None:
    x = normal()
    got = reference.plain("softmax", x).astype(np.float64)
    assert_close_to_truth(got, x, "softmax", dtype="float64")
    assert "got type float64" in rejected(got, x, "softmax")


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint64"])
def test_integers_are_judged_in_the_type_they_are_converted_to(dtype: str) -> None:
    x = np.array([[1, 0, 5, 3]]).astype(dtype)
    for op, options in (("softmax", {}), ("top_k", {"k": 2}), ("read", {"entropy": True})):
        assert_close_to_truth(faithful(op)(x, **options), x, op, **options)


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_torch_tensors_are_judged_like_arrays(dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="judges PyTorch's tensors")
    numbers = normal(dtype)
    x = torch.from_numpy(numbers.astype(np.float64)).to(getattr(torch, dtype))
    y = torch.from_numpy(reference.softmax(numbers)).to(x.dtype).requires_grad_()
    assert_close_to_truth(y, x, "softmax")
    assert "got type" in rejected(
        y.to(torch.float64 if dtype != "float64" else torch.float32), x, "softmax"
    )
    result = faithful("top_k")(numbers, k=3)
    values = torch.from_numpy(result.values.astype(np.float64)).to(x.dtype)
    assert_close_to_truth((values, torch.from_numpy(result.indices)), x, "top_k", k=3)
    where = x > 0
    y = torch.from_numpy(reference.softmax(numbers, where=where.numpy())).to(x.dtype)
    assert_close_to_truth(y, x, "softmax", where=where, dtype=x.dtype)


def test_read_may_come_as_its_own_tuple() -> None:
    x = normal()
    r = faithful("read")(x, top_k=2)
    assert isinstance(r, Read)
    assert r.values.dtype == numpy_dtype("float32")
    assert_close_to_truth(r, x, "read", top_k=2)


def test_unknown_op_is_an_error_that_names_the_ops() -> None:
    with pytest.raises(ShapeError, match="softmax, log_softmax"):
        assert_close_to_truth(np.zeros(1), np.zeros(1), "soft")


def test_importing_loads_no_test_framework_no_library_and_no_op() -> None:
    code = (
        "import sys, oneread.testing\n"
        "print(sorted({'torch', 'pytest', 'ml_dtypes', 'oneread.ops'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
