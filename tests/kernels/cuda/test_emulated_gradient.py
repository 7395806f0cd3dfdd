"""The kernels of backward passes, run on a CPU with all their threads, give the right gradients.

Each is launched with few threads, so that short rows have all that long ones have. In any order of
the threads the bits must be the same. tests/ops/test_cuda_gradient.py runs them on a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from arrays import array, back, gpu_arrays  # noqa: F401
from emulated import COMPILER, Launch, on_cpu  # noqa: F401

import oneread
from oneread.ops._gradient import logits_gradient, softmax_backward
from oneread.runtime import cuda_gradient, tuning
from oneread.testing.gradients import (
    Rows,
    assert_logits_gradient,
    assert_softmax_backward,
    backward_of,
    rows_of,
)

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler"),
    pytest.mark.usefixtures("on_cpu", "gpu_arrays"),
]

VOCAB = 331  # of rows that begin and end within 16 bytes
FAMILIES = ("normal", "spiky", "nan", "plus_inf", "masked_all", "masked_first_tile", "odd_vocab")

LOGITS = {
    "several rows a block": {"block_threads": 64, "row_threads": 16, "per_thread": 6},
    "blocks that share a row": {"block_threads": 32, "per_thread": 1},
}
SOFTMAX = {
    "several rows a block": {"block_threads": 64, "row_threads": 16, "per_thread": 6, "held": 6},
    "registers": {"block_threads": 64, "per_thread": 3, "held": 3},
    "shared memory": {"block_threads": 32, "per_thread": 4, "held": 1, "cluster": 2},
    "two passes": {"block_threads": 32, "per_thread": 1, "cluster": 2},
}
#: Few types for each way: every kernel takes the compiler a second.
CASES_OF_LOGITS = (
    ("several rows a block", "float32"), ("blocks that share a row", "bfloat16"),
    ("blocks that share a row", "float64"),
)  # fmt: skip
CASES_OF_SOFTMAX = (
    ("several rows a block", "float32", False), ("several rows a block", "bfloat16", True),
    ("registers", "float64", False), ("registers", "float16", True),
    ("shared memory", "bfloat16", False), ("shared memory", "float32", True),
    ("two passes", "float16", False), ("two passes", "float64", True),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    for kept in (cuda_gradient._of_logits, cuda_gradient._of_softmax):
        kept.cache_clear()
    Launch.order = 0
    yield
    Launch.order = 0
    for kept in (cuda_gradient._of_logits, cuda_gradient._of_softmax):
        kept.cache_clear()


def use(monkeypatch: pytest.MonkeyPatch, op: str, row: dict[str, Any]) -> None:
    """Let a row be the only one of the table of an op."""
    kernel = op if "held" in row or op == "logits_gradient" else f"two_pass_{op}"
    made = {"kernel": kernel, "min_blocks": 1, "at_once": 1, "inputs": 2, "measured": "", **row}
    monkeypatch.setattr(tuning, "table", lambda: {op: [made]})


def gradient(rows: Rows) -> Any:
    given = {
        name: array(value) if isinstance(value, np.ndarray) else value
        for name, value in rows.options.items()
    }
    return back(logits_gradient(array(rows.x), array(rows.lse), **given))


@pytest.mark.parametrize(("way", "dtype"), CASES_OF_LOGITS)
def test_gradient_of_logits_is_close_to_the_truth(
    way: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, "logits_gradient", LOGITS[way])
    for family in FAMILIES:
        for rows in rows_of(family, 4, VOCAB, dtype):
            assert_logits_gradient(gradient(rows), rows)


@pytest.mark.parametrize(("way", "dtype", "log"), CASES_OF_SOFTMAX)
def test_gradient_of_softmax_is_close_to_the_truth(
    way: str, dtype: str, log: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, "softmax_backward", SOFTMAX[way])
    for family in FAMILIES:
        y, grad = backward_of(family, 4, VOCAB, dtype, log)
        assert_softmax_backward(softmax_of(y, grad, log), y, grad, log)


def softmax_of(y: Any, grad: Any, log: bool) -> Any:
    return back(softmax_backward(array(y), array(grad), log=log))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("way", SOFTMAX)
def test_bits_do_not_depend_on_the_order_of_threads(
    way: str, order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, "softmax_backward", SOFTMAX[way])
    y, grad = backward_of("normal", 3, VOCAB, "float32", False)
    expected = softmax_of(y, grad, False)
    Launch.order = order
    assert softmax_of(y, grad, False).tobytes() == expected.tobytes()


@pytest.mark.parametrize("way", SOFTMAX)
def test_aligned_rows_may_be_written_in_place(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, "softmax_backward", SOFTMAX[way])
    y, grad = (one[:, :320].copy() for one in backward_of("normal", 5, VOCAB, "float32", False))
    expected = softmax_of(y, grad, False)
    for i in range(2):
        given = [array(y.copy()), array(grad.copy())]
        softmax_backward(*given, log=False, out=given[i])
        assert back(given[i]).tobytes() == expected.tobytes()


def test_logits_may_become_their_gradient_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, "logits_gradient", LOGITS["blocks that share a row"])
    rows = list(rows_of("normal", 5, VOCAB, "float32"))[1]
    wide = np.full((5, VOCAB + 9), 7, np.float32)  # nothing beside the rows may change
    wide[:, 4:-5] = rows.x
    given = {name: array(value) for name, value in rows.options.items()}
    x = array(wide)[:, 4:-5]
    logits_gradient(x, array(rows.lse), **given, out=x)
    assert_logits_gradient(wide[:, 4:-5].copy(), rows)
    assert (wide[:, :4] == 7).all()
    assert (wide[:, -5:] == 7).all()


def test_arrays_may_begin_at_any_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(x: Any, by: int) -> Any:
        held = np.zeros((len(x), x.shape[1] + 8), x.dtype)
        held[:, by : by + x.shape[1]] = x
        return array(held)[:, by : by + x.shape[1]]

    use(
        monkeypatch,
        "softmax_backward",
        SOFTMAX["several rows a block"] | {"per_thread": 24, "held": 24},
    )
    y, grad = backward_of("normal", 5, VOCAB, "float32", False)
    got = back(softmax_backward(moved(y, 1), moved(grad, 3), log=False))
    assert_softmax_backward(got, y, grad, False)
    use(monkeypatch, "logits_gradient", LOGITS["several rows a block"])
    rows = next(rows_of("normal", 5, VOCAB, "bfloat16"))
    scale = array(rows.options["scale"])
    got = back(logits_gradient(moved(rows.x, 3), array(rows.lse), scale=scale))
    assert_logits_gradient(got, rows)


def test_quotients_that_float32_rounds_by_much_cost_no_digits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use(monkeypatch, "logits_gradient", {"block_threads": 256, "per_thread": 1})
    for rows in rows_of("large_offset", 3, 4096, "float32", temperature=0.05):
        if "temperature" in rows.options:
            assert_logits_gradient(gradient(rows), rows)


def test_rows_without_coefficients_are_zeros_whatever_they_hold() -> None:
    x = np.full((3, VOCAB), np.nan, np.float32)
    zeros, lse = np.zeros(3, np.float32), np.array([np.nan, np.inf, -np.inf], np.float32)
    got = back(logits_gradient(array(x), array(lse), scale=array(zeros), slope=array(zeros)))
    assert (got == 0).all()


def test_numbers_elsewhere_than_on_the_gpu_are_refused() -> None:
    x = array(np.zeros((2, 3), np.float32))
    with pytest.raises(oneread.BackendUnavailableError, match="scale is not on cuda:0"):
        logits_gradient(x, x[:, 0], scale=np.zeros(2, np.float32))
