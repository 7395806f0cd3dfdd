"""Checking a result before it is timed: against the float64 truth, on a sample of rows.

Knows the ops by the table and the reference only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from oneread.bench.cases import Case
from oneread.bench.contestants import Data
from oneread.spec import OPS
from oneread.testing import tolerance
from oneread.testing.arrays import as_numpy
from oneread.testing.ulps import FORMATS

#: Elements of the sample, about.
_ELEMENTS: Final = 1 << 20

#: Units in the last place by which a peer may be off beyond the op's own rule before it is called
#: wrong: 12 of float32's 24 digits; in 16 bits what x - m in the type itself costs, 0.06 at 20 and
#: more, which is half of a bfloat16 result.
PEER_ULP: Final = {"float16": 64, "bfloat16": 64, "float32": 4096, "float64": 4096}


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: largest error of each output in ulp, and what is wrong, if anything."""

    ulp: dict[str, float]
    fault: str | None

    @property
    def max_ulp(self) -> float | None:
        """The largest of them; None when all outputs are exact ones."""
        return max(self.ulp.values(), default=None)


class Judges:
    """The truth for some rows of a case, and the judges of what an op or a peer gives for them.

    Parameters
    ----------
    case : Case
        The case.
    x : array
        Its rows that are checked.
    select : array of int
        Their columns to select.
    pick : callable
        Returns those rows of a whole output.
    """

    def __init__(
        self, case: Case, x: Any, select: NDArray[np.int64], pick: Callable[[Any], Any]
    ) -> None:
        self._case, self._pick = case, pick
        options = dict(case.options)
        if "select" in options:
            options["select"] = select
        self._truth = tolerance.Case.of(x, case.op, options)

    def ours(self, outputs: Mapping[str, Any]) -> Finding:
        """Judge our own outputs by what the op promises."""
        fault, ulp = None, {}
        for name, output in outputs.items():
            judge = tolerance.Judge.of(self._truth, name, OPS[self._case.op].bound(name))
            assert judge is not None
            got = self._pick(output)
            try:
                judge.check(got)
            except AssertionError as error:
                fault = fault or str(error).partition("\n")[0]
            if not judge.exact:
                ulp[name] = _ulp(judge, as_numpy(got)[0])
        return Finding(ulp, fault)

    def peer(self, outputs: Mapping[str, Any], max_ulp: int | None = None) -> Finding:
        """Judge a peer's outputs generously: columns of nearly equal logits may be swapped.

        With a bound in ulp, numbers have to be within it.
        """
        fault, ulp = None, {}
        for name, output in outputs.items():
            judge = tolerance.Judge.of(self._truth, name, max_ulp or PEER_ULP[self._case.dtype])
            assert judge is not None
            if max_ulp is None:
                judge = _in_own_type(judge, self._case.dtype)
            got, _ = as_numpy(self._pick(output))
            if got.shape != judge.truth.shape:
                fault = fault or f"{name}: shape {got.shape}, expected {judge.truth.shape}"
                continue
            if not self._near(judge, name, got):
                fault = fault or f"{name} is far from the float64 truth"
            if not judge.exact:
                ulp[name] = _ulp(judge, got)
        return Finding(ulp, fault)

    def _near(self, judge: tolerance.Judge, name: str, got: NDArray[Any]) -> bool:
        if name == "indices":
            if not ((got >= 0) & (got < self._case.vocab)).all():
                return False
            there = [np.take_along_axis(self._truth.x, at, -1) for at in (got, judge.truth)]
            slack = PEER_ULP[self._case.dtype] * 2.0 ** -FORMATS[self._case.dtype].digits
            return bool((abs(there[0] - there[1].astype(np.float64)) <= slack).all())
        if name == "rank":  # log-probabilities round closer together than logits
            return bool((abs(got - judge.truth) <= 1 + self._case.vocab / 1000).all())
        if judge.exact:
            return bool((got == judge.truth).all())
        return bool(judge.passes(got.astype(np.float64)).all())


class Checker(Judges):
    """The truth for some rows of a case whose arrays are NumPy's.

    Parameters
    ----------
    case : Case
        The case.
    data : Data
        Its arrays.
    """

    def __init__(self, case: Case, data: Data) -> None:
        self.rows = sample_of(case, _ELEMENTS)
        super().__init__(case, _rows(case, data.x, self.rows), data.select[self.rows], self._sample)

    def _sample(self, output: Any) -> NDArray[Any]:
        return _rows(self._case, as_numpy(output)[0], self.rows)


def sample_of(case: Case, elements: int) -> NDArray[np.int64]:
    """Return rows that are spread evenly over a case, with about so many elements."""
    count = min(case.rows, max(1, elements // case.vocab))
    return np.unique(np.linspace(0, case.rows - 1, count).astype(np.int64))


def _rows(case: Case, array: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return some rows of an array, along the last axis where there is one."""
    if array.shape == case.shape:
        array = np.moveaxis(array, case.axis, -1).reshape(-1, case.vocab)
    elif array.ndim != 1 and array.size == case.rows:
        array = array.reshape(-1)
    return array[rows]


def _in_own_type(judge: tolerance.Judge, dtype: str) -> tolerance.Judge:
    """Return a judge that lets a result be in the input's type where ours is in a wider one."""
    if judge.exact:
        return judge
    coarser = FORMATS[judge.dtype].digits - FORMATS[dtype].digits
    if coarser <= 0:
        return judge
    allowed = judge.allowed + 2.0**coarser * PEER_ULP[dtype] * judge.unit
    return dataclasses.replace(judge, allowed=allowed)


def _ulp(judge: tolerance.Judge, got: NDArray[Any]) -> float:
    """Return the largest error in units in the last place; infinite for a wrong infinity or NaN."""
    value, truth = got.astype(np.float64), judge.expected
    tiny = FORMATS["float32" if judge.dtype == "float16" else judge.dtype].tiny
    flushed = (value == 0) & (abs(truth) < tiny)  # which the ops promise for such results
    same = (value == truth) | (np.isnan(value) & np.isnan(truth)) | flushed
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, abs(value - truth) / judge.unit)
    return float(np.where(np.isfinite(error), error, np.inf).max(initial=0.0))
