"""What outputs are taken for, and how far they may be off."""

from __future__ import annotations

import pytest

from oneread.trace import Case, Run, UsageError, run, run_kernel
from oneread.trace.exploring import explore
from oneread.trace.judging import absolute, compare

SOFTMAX = """
    float m = -INFINITY, d = 0;
    for (int i = 0; i < n; ++i) m = fmaxf(m, x[i]);
    for (int i = 0; i < n; ++i) d += expf(x[i] - m);
    y[threadIdx.x] = expf(x[threadIdx.x] - m) / d"""
SILU = "y[threadIdx.x] = x[threadIdx.x] / (1 + expf(-x[threadIdx.x]))"
LOOP = (
    "const size_t row = (size_t)blockIdx.x * n;\nfor (int i = threadIdx.x; i < n; i += blockDim.x)"
)


def launched(head: str, value: str, **how: object) -> Run:
    text = f"__global__ void {head} {{\n{LOOP} y[row + i] = {value};\n}}\n"
    return run(text, rows=2, vocab=40, block=32, **how)  # type: ignore[arg-type]


def stored(name: str, body: str) -> Run:
    text = f"__global__ void {name}(const float* x, float* y, int n) {{ {body}; }}"
    return run(text, rows=1, vocab=32, block=32)


def test_other_kernel_with_exponentials_gets_a_note() -> None:
    outcome = stored("silu", SILU)
    assert [(one.id, one.severity) for one in outcome.faults] == [("unlike-softmax", "note")]
    assert "say so as the truth of y" in str(outcome.faults[0])
    assert outcome.result == []


def test_kernel_that_is_called_a_softmax_has_to_be_one() -> None:
    outcome = stored("softmax_v2", SILU)
    assert [(one.id, one.severity) for one in outcome.faults] == [("wrong-result", "error")]
    assert outcome.result[0].wrong == 32


@pytest.mark.parametrize("name", ["softmax", "kernel2"])
def test_softmax_is_known_by_what_it_gives(name: str) -> None:
    outcome = stored(name, SOFTMAX)
    assert not outcome.faults
    assert [(one.op, one.wrong) for one in outcome.result] == [("softmax", 0)]


def test_backward_pass_of_softmax_is_not_judged_as_softmax() -> None:
    head = "softmax_backward(const float* p, const float* dp, float* y, int n)"
    assert launched(head, "p[row + i] * dp[row + i]").result == []


def test_truth_that_is_said_goes_before_the_name() -> None:
    head = "my_softmax(const float* x, float* y, int n)"
    assert launched(head, "fmaxf(x[row + i], 0.0f)", truth={"y": "relu"}).faults == []
    assert launched(head, "x[row + i]", truth={}).result == []


@pytest.mark.parametrize(
    ("truth", "said"),
    [
        ({"y": "sofmax"}, "truth 'sofmax' is none of .*softmax"),
        ({"z": "softmax"}, "no parameter is named 'z'"),
        ({"y": "multiply_add"}, "multiply_add needs 3 inputs; there are 1"),
    ],
)
def test_truth_that_cannot_be_is_the_callers_error(truth: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        launched("k(const float* x, float* y, int n)", "x[row + i]", truth=truth)


def test_columns_are_right_or_wrong_without_a_tolerance() -> None:
    judged = compare("indices", "top_columns", [16382, 5], [16383.0, 5.0])
    assert (judged.wrong, judged.first_wrong) == (1, 0)


def test_small_probabilities_count_in_a_long_row() -> None:
    vocab = 16_384
    want = [1e-9] * vocab
    lost = [0.0, *want[1:]]
    assert compare("y", "softmax", lost, want, absolute("softmax", vocab)).wrong == 1
    assert compare("y", "log_softmax", lost, want, absolute("log_softmax", vocab)).wrong == 0


def test_orders_are_compared_as_closely_as_with_the_truth() -> None:
    def outcome(case: Case) -> Run:
        found = run_kernel("safe_softmax", Case(rows=1, vocab=64))
        found.outputs["y"][0] = 1e-8 if case.schedule == "reverse" else 2e-8
        return found

    assert explore(outcome, Case(rows=1, vocab=64)).depends
    assert not explore(outcome, Case(rows=1, vocab=1)).depends


def test_nan_that_is_not_the_first_wrong_element_is_found_out() -> None:
    value = "i == 0 ? 7.0f : i == 3 ? (x[row + i] - x[row + i]) / 0.0f : x[row + i]"
    outcome = launched("k(const float* x, float* y, int n)", value, truth={"y": "softmax"})
    assert [one.wrong_nans for one in outcome.result] == [2]
    assert outcome.having("nan-made")
