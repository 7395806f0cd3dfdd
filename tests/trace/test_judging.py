"""What outputs are taken for, and how far they may be off."""

from __future__ import annotations

import pytest

from oneread.trace import Case, Run, UsageError, run, run_kernel
from oneread.trace.exploring import explore
from oneread.trace.judging import absolute, compare

LOOP = "const size_t row = (size_t)blockIdx.x * n;\nfor (int i = threadIdx.x; i < n; i += blockDim.x)"


def launched(head: str, value: str, **how: object) -> Run:
    text = f"__global__ void {head} {{\n{LOOP} y[row + i] = {value};\n}}\n"
    return run(text, rows=2, vocab=40, block=32, **how)  # type: ignore[arg-type]


def test_kernel_with_an_exponential_and_another_name_is_not_judged() -> None:
    sigmoid = "1.0f / (1.0f + expf(-x[row + i]))"
    outcome = launched("sigmoid(const float* x, float* y, int n)", sigmoid)
    assert (outcome.result, outcome.faults) == ([], [])


def test_backward_pass_of_softmax_is_not_judged_as_softmax() -> None:
    head = "softmax_backward(const float* p, const float* dp, float* y, int n)"
    assert launched(head, "p[row + i] * dp[row + i]").result == []


def test_kernel_that_is_named_softmax_is_judged() -> None:
    outcome = launched("my_softmax(const float* x, float* y, int n)", "x[row + i]")
    assert [one.op for one in outcome.result] == ["softmax"]
    assert outcome.having("wrong-result")


def test_truth_that_is_said_goes_before_the_name() -> None:
    head = "my_softmax(const float* x, float* y, int n)"
    assert launched(head, "fmaxf(x[row + i], 0.0f)", truth={"y": "relu"}).faults == []
    assert launched(head, "x[row + i]", truth={}).result == []


@pytest.mark.parametrize(
    ("truth", "said"),
    [
        ({"y": "sofmax"}, "no truth is called 'sofmax'; there are .*softmax"),
        ({"z": "softmax"}, "truth of 'z': there are x, y"),
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
