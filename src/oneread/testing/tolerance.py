"""How close to the float64 truth is close enough.

Knows the ops by the table and the reference only, and imports no array library but NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from oneread import reference
from oneread.reference.rows import Rows
from oneread.spec import COMPUTE_DTYPE
from oneread.testing.arrays import as_numpy
from oneread.testing.outputs import (
    Fields,
    check_op,
    fields,
    is_input_number,
    output_dtype,
    truth_options,
)
from oneread.testing.ulps import FORMATS, rounded_class, ulp

#: How a field's shape comes from the input's: which index is the row and which the column.
_LAYOUT: Final = {
    "y": "columns",
    "values": "places",
    "indices": "places",
    "logprobs": "places",
    "selected": "choices",
    "rank": "choices",
}


def assert_close_to_truth(
    got: Any,
    x: Any,
    op: str,
    *,
    field: str | None = None,
    max_ulp: int | None = None,
    **options: Any,
) -> None:
    """Fail unless an op's result is as close to the float64 truth as the op promises.

    Parameters
    ----------
    got : array or tuple of array
        What the op gave for `x` and the options: NumPy, or torch tensors on any device.
    x : array
        The op's input.
    op : str
        Name of the op in `oneread.spec.OPS`.
    field : str, optional
        The one output that `got` is; without it `got` is all that the op returned.
    max_ulp : int, optional
        Units in the last place to allow instead of the op's own bound.
    **options
        The arguments that the op was called with.

    Raises
    ------
    AssertionError
        When a shape or type is not the documented one, an element is too far off, NaN or an
        infinity stands where the truth has none or the other way round; and when the input cannot
        tell: zeros, or the result for equal logits (1 / V), would pass too and are not the truth.
    ShapeError
        When there is no such op.
    TypeError
        When an option is not the op's.

    Notes
    -----
    An element passes when |got - truth| <= 2 |plain - truth| + max_ulp ulp. `plain` is the safe
    formula in the type that the op computes in, so an input that is hard for everyone is given
    room, and only there. The ulp is that of the output's type at the truth, or of the type
    computed in where that one is coarser. A result below the normal range may be 0; for float16
    outputs that range is float32's, since they are computed there. Where x - m overflows, a result
    may be infinite as the plain formula's is.

    lse = m + log d can cancel: with m near -log d it comes out near 0, though both terms are
    rounded at their own size. Its ulp is therefore taken at max(|truth|, |m|, 1). No other
    output cancels: log-probabilities and the entropy are sums of terms of one sign.

    Logits, columns and ranks are exact, and so is the maximum without a temperature in a type that
    holds it.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.float32([[1.0, 2.0, 4.0]])
    >>> e = np.exp(x - 4)
    >>> assert_close_to_truth(e / e.sum(), x, "softmax")
    >>> assert_close_to_truth(e / 2, x, "softmax")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: softmax: 3 of 3 elements are too far from the float64 truth
    ...
    """
    case = Case.of(x, op, options)
    spec = check_op(op)
    for name, value in ({field: got} if field else fields(op, got)).items():
        judge = Judge.of(case, name, spec.bound(name) if max_ulp is None else max_ulp)
        if judge is None and value is None:
            continue
        if judge is None or value is None:
            raise AssertionError(
                f"{op}.{name}: got {'nothing' if value is None else 'a result'}, but the options"
                f" {'ask for it' if value is None else 'do not ask for it'}"
            )
        judge.check(value)


@dataclass(frozen=True, slots=True)
class Case:
    """An input with its options, what is true for it and what the plain formula gives."""

    op: str
    x: NDArray[Any]
    x_dtype: str
    options: Mapping[str, Any]
    rows: Rows
    truth: Fields
    plain: Fields

    @classmethod
    def of(cls, x: Any, op: str, options: Mapping[str, Any]) -> Case:
        """Compute the truth of an input."""
        check_op(op)
        array, x_dtype = as_numpy(x)
        chosen = truth_options(options)
        truth = fields(op, getattr(reference, op)(array, **chosen))
        plain = fields(op, reference.plain(op, array, **chosen))
        rows = Rows.of(array, options.get("axis", -1))
        return cls(op, array, x_dtype, dict(options), rows, truth, plain)

    def size_of_terms(self) -> NDArray[np.float64]:
        """Return the size at which lse is rounded, max(|m|, 1), in its shape."""
        names = ("axis", "keepdims", "where", "lengths", "temperature")
        chosen = {n: o for n, o in truth_options(self.options).items() if n in names}
        return np.maximum(np.abs(reference.maximum(self.x, **chosen)), 1.0)

    def equal_logits(self, field: str) -> float:
        """Return what a field is for a row of equal logits."""
        vocab = self.rows.vocab
        kind = self.options.get("kind", "prob")
        if self.op == "softmax_topk" and field == "values" and self.options.get("renormalize"):
            vocab = self.options["k"]
        if field == "max":
            return 0.0
        if field in ("lse", "entropy"):
            return float(np.log(vocab))
        if field in ("logprobs", "selected") or self.op == "log_softmax" or kind == "logprob":
            return -float(np.log(vocab))
        return 1 / vocab


@dataclass(frozen=True, slots=True)
class Judge:
    """One output's truth and how far from it each element may be."""

    case: Case
    field: str
    dtype: str
    exact: bool
    truth: NDArray[Any]
    expected: NDArray[Any]
    """The truth, infinite where it overflows the type."""
    plain: NDArray[Any]
    unit: NDArray[np.float64]
    allowed: NDArray[np.float64]

    @classmethod
    def of(cls, case: Case, field: str, max_ulp: int) -> Judge | None:
        """Return the judge of a field, or None when the options do not ask for the field."""
        if field not in case.truth:
            raise AssertionError(
                f"{case.op} has no output {field!r}; it has {', '.join(case.truth)}"
            )
        truth, plain = case.truth[field], case.plain[field]
        if truth is None or plain is None:
            return None
        dtype = output_dtype(case.op, field, case.x_dtype, case.options)
        own = is_input_number(case.op, field, case.options)
        if own or field in ("indices", "argmax", "rank"):
            nothing = np.zeros(truth.shape)
            return cls(case, field, dtype, True, truth, truth, truth, nothing, nothing)
        computed = COMPUTE_DTYPE[case.x_dtype]
        coarser = min(computed, dtype, key=lambda name: FORMATS[name].digits)
        unscaled = case.options.get("temperature") is None
        exact = field == "max" and unscaled and coarser == computed
        size = np.abs(truth)
        if field == "lse":
            size = np.maximum(size, case.size_of_terms())
        with np.errstate(all="ignore"):
            unit = ulp(size, coarser)
            hardness = np.abs(plain - truth)
        hardness = np.where(np.isfinite(hardness), hardness, 0.0)
        allowed = 2 * hardness + max_ulp * unit
        expected = rounded_class(truth, dtype)
        return cls(case, field, dtype, exact, truth, expected, plain, unit, allowed)

    def check(self, got: Any) -> None:
        """Fail unless `got` passes and the input can tell it from zeros and from 1 / V."""
        array, dtype = as_numpy(got)
        if array.shape != self.truth.shape:
            raise AssertionError(
                f"{self.name}: got shape {array.shape}, expected {self.truth.shape}"
            )
        if dtype != self.dtype:
            raise AssertionError(f"{self.name}: got type {dtype}, expected {self.dtype}")
        if self.exact:
            passes = _identical(array, self.truth)
            if self.field == "values":
                passes &= np.signbit(array) == np.signbit(self.truth)
        else:
            passes = self.passes(array.astype(np.float64))
        if not passes.all():
            raise AssertionError(self._report(array, ~passes))
        if not self.exact and array.size and self.case.rows.vocab:
            self._check_bite()

    @property
    def name(self) -> str:
        several = len(self.case.truth) > 1
        return f"{self.case.op}.{self.field}" if several else self.case.op

    def passes(self, got: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Say of each element whether it is close enough."""
        with np.errstate(invalid="ignore"):
            near = np.abs(got - self.truth) <= self.allowed
        near |= self._flushed(got) | (np.isinf(self.plain) & (got == self.plain))
        return np.where(np.isfinite(self.expected), near, _identical(got, self.expected))

    def _flushed(self, got: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Say of each element whether it is the 0 that a result below the normal range may be."""
        # float16 outputs are rounded from float32, which costs nothing below their normal range
        tiny = FORMATS["float32" if self.dtype == "float16" else self.dtype].tiny
        return np.asarray((got == 0) & (np.abs(self.truth) < tiny))

    def _check_bite(self) -> None:
        """Fail when a result that looks at no logit would pass, and is not the truth."""
        equal = self.case.equal_logits(self.field)
        for what, value in (("zeros", 0.0), (f"equal logits ({equal:.3g})", equal)):
            mutant = np.full(self.truth.shape, value)
            if not self.passes(mutant).all():
                continue
            is_truth = (np.abs(mutant - self.truth) <= self.unit) | self._flushed(mutant)
            if not is_truth.all():
                raise AssertionError(
                    f"{self.name}: this input cannot tell; the result for {what} would pass too."
                    " Use logits that are further apart"
                )

    def _report(self, got: NDArray[Any], off: NDArray[np.bool_]) -> str:
        value, truth = got.astype(np.float64), self.truth.astype(np.float64)
        with np.errstate(all="ignore"):
            error = np.abs(value - truth) / self.unit
            excess = np.abs(value - truth) / self.allowed
        excess = np.where(np.isfinite(excess), excess, np.inf)
        at = np.unravel_index(np.where(off, excess, -1.0).argmax(), off.shape)
        index = tuple(int(i) for i in at)
        verdict = "not" if self.exact else "too far from"
        numbers = f"got {value[index]:.9g}, truth {truth[index]:.9g} ({self.dtype})"
        lines = [
            f"{self.name}: {int(off.sum())} of {off.size} elements are {verdict} the float64 truth",
            f"worst at {self._where(index)}: {numbers}",
        ]
        if self.exact:
            lines.append("this output must be exact")
        elif np.isfinite(error[index]):
            allowed = self.allowed[index] / self.unit[index]
            lines.append(f"off by {error[index]:.4g} ulp, allowed {allowed:.4g} ulp")
        if _LAYOUT.get(self.field) == "columns":
            lines.append(f"x there {float(self.case.x[index]):.9g}")
        return "\n".join(lines)

    def _where(self, index: tuple[int, ...]) -> str:
        """Return an element's place in words: its row, and what it is in that row."""
        layout = _LAYOUT.get(self.field, "rows")
        axes, shape = self.case.rows.axes, self.case.rows.shape
        row, rest = index, ""
        if layout == "columns":
            column = [index[i] for i in axes]
            row = tuple(n for i, n in enumerate(index) if i not in axes)
            flat = int(np.ravel_multi_index(column, [shape[i] for i in axes])) if axes else 0
            rest = f", column {flat}"
        elif layout == "places":
            axis = axes[0] if len(axes) == 1 else 0
            row, rest = index[:axis] + index[axis + 1 :], f", place {index[axis]}"
        elif layout == "choices" and len(index) > len(self.case.rows.rows_shape):
            row, rest = index[:-1], f", choice {index[-1]}"
        elif len(index) == len(shape) > len(self.case.rows.rows_shape):  # keepdims
            row = tuple(n for i, n in enumerate(index) if i not in axes)
        return f"row {row[0] if len(row) == 1 else row}{rest}"


def _identical(got: NDArray[Any], truth: NDArray[Any]) -> NDArray[np.bool_]:
    """Say of each element whether it is the same number, NaN for NaN."""
    return np.asarray((got == truth) | ((got != got) & (truth != truth)))
