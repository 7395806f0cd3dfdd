"""The algorithms of the textbooks: near the truth, and at special values as good as they can be.

Which accesses they make is seen in tests/kernels/test_counts.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import oneread
from oneread import DtypeError, ShapeError
from oneread.runtime import cpu
from oneread.spec import FLOAT_DTYPES, OPS
from oneread.testing import FAMILIES, assert_close_to_truth

Array = NDArray[Any]

SOFTMAX = [k.algorithm for k in OPS["softmax"].kernels if k.textbook]
TOP_K = [k.algorithm for k in OPS["softmax_topk"].kernels if k.textbook]
FUSED = [name for name in TOP_K if name.endswith("_fused")]
VOCABS = (1, 2, 15, 16, 17, 63, 64, 65, 1000, 4099)

each_softmax = pytest.mark.parametrize("kernel", SOFTMAX)
each_top_k = pytest.mark.parametrize("kernel", TOP_K)
each_fused = pytest.mark.parametrize("kernel", FUSED)
each_dtype = pytest.mark.parametrize("dtype", FLOAT_DTYPES)
each_isa = pytest.mark.parametrize("isa", cpu.native.supported_isas(), indirect=True)


def typed(x: Array, dtype: str) -> Array:
    if dtype != "bfloat16":
        return x.astype(dtype)
    import ml_dtypes

    return x.astype(ml_dtypes.bfloat16)


def beyond(kernel: str, x: Array) -> bool:
    """Whether logits are beyond what a kernel can do by its nature."""
    rows = x.astype(np.float64)
    if kernel == "naive" and np.isposinf(rows).any():
        return True
    most = {"naive": 80, "two_pass": 2.9e6}.get(kernel, np.inf)
    return bool((np.abs(rows[np.isfinite(rows)]) > most).any())


@each_isa
@each_dtype
@each_softmax
def test_softmax_is_close_to_the_truth_for_every_family(kernel: str, dtype: str, isa: str) -> None:
    for name, family in FAMILIES.items():
        for vocab in (17, 335):
            x = family(5, vocab, dtype)
            if not x.size or beyond(kernel, x):
                continue
            got = oneread.softmax(x, kernel=kernel)
            record = oneread.last_kernel()
            assert record is not None
            assert (record.name, record.isa) == (f"{kernel}_softmax", isa), name
            assert_close_to_truth(got, x, "softmax")


@each_isa
@each_dtype
@each_fused
def test_fused_top_k_is_close_to_the_truth_for_every_family(
    kernel: str, dtype: str, isa: str
) -> None:
    for family in FAMILIES.values():
        for vocab in (17, 335):
            x = family(5, vocab, dtype)
            if x.size:
                k = min(9, x.shape[1])
                got = oneread.softmax_topk(x, k, kernel=kernel)
                assert_close_to_truth(got, x, "softmax_topk", k=k)


@each_isa
@pytest.mark.parametrize("vocab", VOCABS)
def test_every_length_is_right(vocab: int, isa: str) -> None:
    x = FAMILIES["normal"](3, vocab)
    for kernel in SOFTMAX:
        assert_close_to_truth(oneread.softmax(x, kernel=kernel), x, "softmax")
    for kernel in TOP_K:
        k = min(7, vocab)
        got = oneread.softmax_topk(x, k, kernel=kernel)
        assert_close_to_truth(got, x, "softmax_topk", k=k)


@each_isa
def test_long_rows_are_within_the_bound(isa: str) -> None:
    vocab = 100_003 if isa != "scalar" else 20_003
    for name in ("normal", "constant", "sorted_up"):
        x = FAMILIES[name](1, vocab)
        for kernel in SOFTMAX:
            if not beyond(kernel, x):
                assert_close_to_truth(oneread.softmax(x, kernel=kernel), x, "softmax")
        for kernel in FUSED:
            got = oneread.softmax_topk(x, 5, kernel=kernel)
            assert_close_to_truth(got, x, "softmax_topk", k=5)


@each_dtype
@each_top_k
def test_unfused_and_fused_rank_by_value_and_then_by_column(kernel: str, dtype: str) -> None:
    x = typed(np.round(FAMILIES["normal"](4, 501) * 2) / 2, dtype)
    wide = x.astype(np.float64)
    # Equal logits have equal probabilities; different ones differ by half a nat here.
    want = np.argsort(-wide, axis=1, kind="stable")[:, :30]
    assert np.array_equal(oneread.softmax_topk(x, 30, kernel=kernel).indices, want)


@each_fused
def test_special_rows_are_ranked_as_ours_are(kernel: str) -> None:
    inf, nan = np.inf, np.nan
    x = np.float32([
        [0.0, -0.0, 2.0, nan, 2.0, 0.0], [-inf, 1.0, -inf, -inf, 0.5, -inf],
        [-inf] * 6, [nan] * 6, [1.0, inf, 0.0, inf, nan, 2.0], [nan, 1.0, nan, 5.0, -inf, nan],
    ])  # fmt: skip
    for rows in (x, np.tile(x, (1, 40)), np.hstack([np.full((6, 100), -inf, np.float32), x])):
        for k in (1, 3, 6):
            got = oneread.softmax_topk(rows, k, kernel=kernel)
            want = oneread.softmax_topk(rows, k)
            assert np.array_equal(got.indices, want.indices)
            assert np.array_equal(np.isnan(got.values), np.isnan(want.values))


@each_softmax
def test_minus_inf_is_an_exact_zero_and_hopeless_rows_are_nan(kernel: str) -> None:
    inf, nan = np.inf, np.nan
    y = oneread.softmax(np.float32([[0, -inf, 0, -inf], [-inf] * 4]), kernel=kernel)
    assert y[0].tolist() == [0.5, 0, 0.5, 0]
    assert np.isnan(y[1]).all()
    for row in ([0, nan, 1, 2], [nan] * 4):
        assert np.isnan(oneread.softmax(np.float32(row), kernel=kernel)).all()
    y = oneread.softmax(np.float32([0, inf, 1, 2]), kernel=kernel)
    # Without a maximum to subtract, e^0 / inf is 0.
    assert y.tolist()[0] == 0 if kernel == "naive" else np.isnan(y).all()
    assert np.isnan(y[1])


def test_naive_overflows_as_the_paper_says() -> None:
    for x in ([1000.0, 0.0], [88.0, 89.0], [-1000.0, -1000.0], [1000.0, 1000.0]):
        row = np.float32(x)
        with np.errstate(all="ignore"):
            e = np.exp(row)
            plain = e / e.sum()
        assert np.array_equal(oneread.softmax(row, kernel="naive"), plain, equal_nan=True)
        assert not np.isnan(oneread.softmax(row, kernel="safe")).any()
    largest = np.float32([88.7, 88.7, 88.0])
    assert_close_to_truth(oneread.softmax(largest, kernel="naive"), largest, "softmax")


@pytest.mark.parametrize(("dtype", "most"), [("float32", 2.9e6), ("float64", 7.4e8)])
def test_two_pass_takes_logits_up_to_a_bound_and_is_nan_beyond(dtype: str, most: float) -> None:
    for top in (most, -most):
        x = np.array([top, top - 1, -10 * most], dtype)
        got = oneread.softmax(x, kernel="two_pass")
        assert_close_to_truth(got, x, "softmax")
    for row in ([10 * most, 0], [-10 * most, -10 * most]):
        assert np.isnan(oneread.softmax(np.array(row, dtype), kernel="two_pass")).all()


@each_softmax
def test_output_may_be_given_and_may_be_the_input(kernel: str) -> None:
    x = FAMILIES["normal"](40, 2000)
    want = oneread.softmax(x, kernel=kernel, threads=1)
    y = np.empty_like(x)
    assert oneread.softmax(x, kernel=kernel, out=y, threads=2) is y
    assert np.array_equal(y, want)
    assert oneread.last_kernel().threads == 2  # type: ignore[union-attr]
    assert np.array_equal(oneread.softmax(x, kernel=kernel, out=x), want)


@each_top_k
def test_top_k_gives_the_types_that_are_asked_for(kernel: str) -> None:
    x = FAMILIES["normal"](4, 100)
    got = oneread.softmax_topk(x, 3, kernel=kernel, index_dtype="int32", dtype="float16")
    assert (got.indices.dtype, got.values.dtype) == (np.int32, np.float16)
    assert oneread.softmax_topk(x, 0, kernel=kernel).values.shape == (4, 0)
    out = oneread.softmax_topk(x.T.copy().T, 1, axis=0, kernel=kernel)
    assert out.indices.tolist() == [np.argmax(x, axis=0).tolist()]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"where": True}, ShapeError, r"where is given.*textbooks"),
        ({"lengths": 3}, ShapeError, "lengths is given"),
        ({"temperature": 0.5}, ShapeError, "temperature is given"),
        ({"dtype": "float64"}, ShapeError, "one float type"),
        ({"axis": 0}, ShapeError, "side by side along the axis"),
        ({"out": np.empty((64, 4), np.float32).T}, ShapeError, "in place"),
    ],
)
@each_softmax
def test_what_textbooks_lack_is_refused(
    kernel: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    x = np.zeros((4, 64), np.float32)
    with pytest.raises(error, match=message):
        oneread.softmax(x, kernel=kernel, **options)
    if "out" not in options:
        with pytest.raises(error, match=message):
            oneread.explain(x, "softmax", kernel=kernel, **options)


@each_softmax
def test_integers_and_foreign_floats_are_refused(kernel: str) -> None:
    with pytest.raises(DtypeError, match=r"x holds int64; kernel='.*float32"):
        oneread.softmax(np.arange(5), kernel=kernel)
    with pytest.raises(ShapeError, match="byte order"):
        oneread.softmax(np.zeros(5, ">f4"), kernel=kernel)


@each_top_k
def test_top_k_of_textbooks_gives_probabilities_alone(kernel: str) -> None:
    x = np.zeros((2, 5000), np.float32)
    for options in ({"kind": "logprob"}, {"renormalize": True}, {"return_lse": True}):
        with pytest.raises(ShapeError, match="probabilities over the whole row"):
            oneread.softmax_topk(x, 3, kernel=kernel, **options)
    with pytest.raises(ShapeError, match="k up to 2048 is allowed, not 2049"):
        oneread.softmax_topk(x, 2049, kernel=kernel)
    with pytest.raises(ShapeError, match="side by side"):
        oneread.softmax_topk(x[:, ::2], 3, kernel=kernel)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (2, 0, 3)])
@each_softmax
def test_empty_inputs_are_empty(kernel: str, shape: tuple[int, ...]) -> None:
    assert oneread.softmax(np.empty(shape, np.float32), kernel=kernel).shape == shape


@each_softmax
def test_number_without_axes_is_a_row_of_one(kernel: str) -> None:
    assert oneread.softmax(np.float32(3), kernel=kernel) == 1.0
