"""What a kernel computed, compared with the truth in double.

Knows no machine: arguments, inputs and outputs only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oneread.trace import truth
from oneread.trace.errors import UsageError
from oneread.trace.machine.floats import round32

#: How far a float32 kernel may be off: relative, and absolute. Sums of 65,536 terms in any order
#: and exponentials of differences up to 70 stay a factor of ten below.
RELATIVE, ABSOLUTE = 2e-4, 1e-7

#: Truths whose elements share 1 between them: what is absolutely small counts, too.
_SHARES = frozenset(["softmax", "naive_softmax", "top_probabilities"])


#: Names of what outputs should be, by the output.
Truths = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Judgement:
    """An output against what it should be."""

    buffer: str
    op: str
    """What it was taken for."""
    max_abs: float
    """Largest difference of finite elements."""
    wrong: int
    """Elements beyond the tolerance, or of another class of number."""
    count: int
    nans: int
    first_wrong: int | None
    got: float | None = None
    want: float | None = None
    wrong_nans: int = 0
    """Of `wrong`, those that are NaN and should not be."""

    @property
    def comparable(self) -> bool:
        """Whether all that is wrong is finite and should be, so that `max_abs` says how far."""
        return self.nans == 0 and self.want == self.want


def absolute(op: str | None, vocab: int) -> float:
    """Return the absolute difference that an output of this meaning may have."""
    return ABSOLUTE / max(1, vocab) if op in _SHARES else ABSOLUTE


def close(got: float, want: float, absolute: float = ABSOLUTE) -> bool:
    """Say whether a result is what it should be: integers exactly, NaN is NaN, inf is inf."""
    if isinstance(got, int):
        return got == want
    if want != want or got != got:
        return want != want and got != got
    if math.isinf(want) or math.isinf(got):
        return got == want
    return abs(got - want) <= RELATIVE * abs(want) + absolute


def compare(
    buffer: str, op: str, got: Sequence[float], want: Sequence[float], absolute: float = ABSOLUTE
) -> Judgement:
    """Return the judgement of one output."""
    pairs = list(zip(got, want, strict=True))
    wrong = [i for i, (g, w) in enumerate(pairs) if not close(g, w, absolute)]
    differences = [abs(g - w) for g, w in pairs if math.isfinite(g) and math.isfinite(w)]
    first = wrong[0] if wrong else None
    return Judgement(
        buffer,
        op,
        max(differences, default=0.0),
        len(wrong),
        len(got),
        sum(1 for g in got if g != g),
        first,
        None if first is None else got[first],
        None if first is None else want[first],
        sum(1 for i in wrong if got[i] != got[i]),
    )


@dataclass(frozen=True, slots=True)
class Output:
    """A buffer that a kernel has written."""

    name: str
    values: Sequence[float]
    shape: str
    """The expression of its size: ``rows*vocab``, ``rows*k``, ``rows`` or another."""
    floating: bool


@dataclass(frozen=True, slots=True)
class Problem:
    """What the kernel was given: the rows of each input, k, and columns of a span."""

    inputs: Sequence[Sequence[truth.Row]]
    k: int
    span: int

    def truth(self, name: str) -> list[float]:
        """Return what this name stands for, row after row."""
        if name == "multiply_add":
            if len(self.inputs) < 3:
                raise UsageError(f"multiply_add needs 3 inputs; there are {len(self.inputs)}")
            a, b, c = ([value for row in rows for value in row] for rows in self.inputs[:3])
            # Rounded twice, as without fma: a sum that cancels has nothing else to agree with.
            return [round32(round32(x * y) + z) for x, y, z in zip(a, b, c, strict=True)]
        if name in truth.BY_K:
            by_k = truth.BY_K[name]
            return [value for row in self.inputs[0] for value in by_k(row, self.k)]
        if name in truth.BY_SPAN:
            by_span = truth.BY_SPAN[name]
            return [value for row in self.inputs[0] for value in by_span(row, self.span)]
        by_row = truth.BY_ROW[name]
        return [value for row in self.inputs[0] for value in by_row(row)]


#: Usual names of outputs of one number a row.
_ROW_OUTPUTS = {
    "lse": "logsumexp",
    "logsumexp": "logsumexp",
    "m": "maximum",
    "maximum": "maximum",
    "row_max": "maximum",
    "d": "normalizer",
    "normalizer": "normalizer",
    "row_sum": "normalizer",
}


def guess(kernel: str, exponentials: int, inputs: int, outputs: Sequence[Output]) -> Truths:
    """Return what each output seems to be, by names and shapes; others are left out.

    A softmax has one input of logits; its backward pass has two.
    """
    name = kernel.lower()
    whole = "softmax" if inputs == 1 and ("softmax" in name or exponentials) else ""
    if whole and re.search(r"log_?softmax", name):
        whole = "log_softmax"
    found: dict[str, str] = {}
    for output in outputs:
        if output.shape == "rows" and output.name.lower() in _ROW_OUTPUTS and inputs == 1:
            found[output.name] = _ROW_OUTPUTS[output.name.lower()]
        elif output.shape == "rows*vocab" and output.floating and whole:
            found[output.name] = whole
        elif output.shape == "rows*k":
            ranked = "top_probabilities" if whole else "top_values"
            found[output.name] = ranked if output.floating else "top_columns"
    return found


def is_guessed(kernel: str, truth_: str) -> bool:
    """Say whether a kernel that `guess` takes for a softmax is not called one."""
    return "softmax" not in kernel.lower() and truth_ in {"softmax", "top_probabilities"}


def judge(outputs: Sequence[Output], problem: Problem, truths: Truths) -> list[Judgement]:
    """Compare outputs with what they should be.

    Parameters
    ----------
    outputs : sequence
        What the kernel has written.
    problem : Problem
        What it was given.
    truths : mapping
        A name of `truth.NAMES` for each output that is known.
    """
    found = []
    for output in outputs:
        name = truths.get(output.name)
        if name is not None:
            want = problem.truth(name)
            if len(want) == len(output.values):
                columns = len(problem.inputs[0][0]) if problem.inputs[0] else 0
                found.append(
                    compare(output.name, name, output.values, want, absolute(name, columns))
                )
    return found
