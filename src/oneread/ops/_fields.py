"""The fields of a state: what its parts say, in the arrays of the library they came from.

Knows nothing of how a state came about.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from oneread.backends import find
from oneread.backends.base import View
from oneread.backends.bfloat import cast, widened
from oneread.backends.find import outside_graphs
from oneread.ops import _merge
from oneread.ops._parts import MASKED, UNSEEN, Asked, Parts
from oneread.ops.topk import kind_code
from oneread.spec import (
    COMPUTE_DTYPE,
    FLOAT_DTYPES,
    STATISTIC_DTYPE,
    BackendUnavailableError,
    ShapeError,
    SoftmaxTopK,
    TopK,
)

P = ParamSpec("P")
R = TypeVar("R")

#: Options of a state that are on or off.
FLAGS = ("argmax", "rank", "entropy", "sum_p2")
_HERE: Final = nullcontext()


def where_it_lies(
    function: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], R]:
    """Let a method of a state run on the state's GPU, and outside of graphs."""

    @outside_graphs
    @functools.wraps(function)
    def call(state: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with state._on():
            return function(state, *args, **kwargs)

    return call


class StateFields:
    """The fields that `State` has in common with `Read`, and m, d, top_k and logprob."""

    __slots__ = ("_asked", "_columns", "_dtype", "_library", "_parts", "_stop")

    _asked: Asked
    _parts: Parts
    _dtype: str | None
    _library: str
    _columns: int
    _stop: int

    def _on(self) -> AbstractContextManager[Any]:
        """Make the GPU where the state lies the current one for a while."""
        return _HERE

    @property
    def _maths(self) -> Any:
        """The arithmetic of the parts, in the arrays that they are."""
        return _merge

    @property
    @where_it_lies
    def m(self) -> Any:
        """Maximum of ``x / temperature`` of each row so far; -inf before the first column."""
        return self._per_row(self._maths.scaled_max(self._parts.sums, self._asked.temperature))

    @property
    @where_it_lies
    def d(self) -> Any:
        """Sum of ``exp(x / temperature - m)``; 0 for a row of -inf only; ``lse = m + log d``."""
        return self._per_row(self._maths.normalizer(self._parts.sums))

    @property
    @where_it_lies
    def lse(self) -> Any:
        """Natural logarithm of the sum of exponentials of ``x / temperature``."""
        return self._per_row(self._maths.logsumexp(self._parts.sums, self._asked.temperature))

    @property
    @where_it_lies
    def max(self) -> Any:
        """The same as `m`, under the name that `Read` has for it."""
        return self.m

    @property
    @where_it_lies
    def entropy(self) -> Any:
        """Entropy of each row, or None when it was not asked for."""
        return self._per_row(self._maths.entropy(self._parts.sums)) if self._asked.entropy else None

    @property
    @where_it_lies
    def sum_p2(self) -> Any:
        """Sum of squared probabilities of each row, or None when it was not asked for."""
        return self._per_row(self._maths.sum_p2(self._parts.sums)) if self._asked.sum_p2 else None

    @property
    @where_it_lies
    def argmax(self) -> Any:
        """Global column of the largest logit of each row, or None when it was not asked for."""
        if not self._asked.argmax:
            return None
        if not self._columns:
            raise ShapeError("argmax of no columns: this state has seen none")
        return self._per_row(self._parts.best.indices[:, 0], "int64")

    @property
    @where_it_lies
    def values(self) -> Any:
        """The k largest logits of each row, or None when they were not asked for."""
        return self.top_k(kind="logit").values if self._asked.top_k else None

    @property
    @where_it_lies
    def indices(self) -> Any:
        """Their global columns, or None when they were not asked for."""
        return self._per_top(self._first_k()[1], "int64") if self._asked.top_k else None

    @property
    @where_it_lies
    def logprobs(self) -> Any:
        """Their log-probabilities, or None when they were not asked for."""
        return self.top_k(kind="logprob").values if self._asked.top_k else None

    @property
    @where_it_lies
    def selected(self) -> Any:
        """Log-probabilities of the selected columns, or None when none were selected."""
        if self._asked.select is None:
            return None
        self._check_seen()
        parts, scale = self._parts, self._asked.temperature
        return self._per_selected(self._maths.logprob(parts.sums, scale, parts.logits))

    @property
    @where_it_lies
    def rank(self) -> Any:
        """Places of the selected columns, from 0, or None when they were not asked for."""
        if not self._asked.rank:
            return None
        self._check_seen()
        masked = self._parts.seen == MASKED
        if masked.any():
            assert self._asked.select is not None
            raise ShapeError(
                f"the selected column {self._asked.select[masked][0]} is masked; its rank among "
                "the masked columns is known to read() alone"
            )
        return self._per_selected(self._parts.ranks, "int64")

    @where_it_lies
    def top_k(self, kind: str = "logit", renormalize: bool = False) -> TopK | SoftmaxTopK:
        """Return the k likeliest columns of each row so far.

        Parameters
        ----------
        kind : {'logit', 'prob', 'logprob'}, default 'logit'
            What the values are, as in `softmax_topk`.
        renormalize : bool, default False
            Take probabilities over the k winners alone.

        Returns
        -------
        TopK or SoftmaxTopK
            A `TopK` of the input's own numbers for logits, else a `SoftmaxTopK` with lse.

        Raises
        ------
        ShapeError
            If fewer than k columns were seen, or `kind` is none of the three.
        """
        code = kind_code(kind, renormalize)
        values, columns = self._first_k()
        indices = self._per_top(columns, "int64")
        if not code:
            return TopK(self._per_top(values, self._value_dtype), indices)
        logits = self._numbers(values)
        scores = self._maths.logprob(self._parts.sums, self._asked.temperature, logits)
        if renormalize and scores.shape[1]:
            scores = self._maths.over_winners(scores)
        if kind == "prob":
            scores = self._maths.exp(scores)
        return SoftmaxTopK(self._per_top(scores), indices, self.lse)

    @where_it_lies
    def logprob(self, logits: Any) -> Any:
        """Return the log-probabilities that these logits have in their rows.

        Parameters
        ----------
        logits : array of float
            One number a row, or with one axis more where the state's axis is: for example a chunk.

        Returns
        -------
        array
            Of the same shape, in the type of the state's statistics.

        Raises
        ------
        ShapeError
            If the shape is neither.

        Notes
        -----
        ``(x - m) / temperature - log1p(r)``, as `log_softmax`; NaN for rows of -inf only, with
        +inf or with NaN.
        """
        asked = self._asked
        numbers = widened(find.view(logits, "logits"))
        place = asked.axis if asked.axis is not None else 0
        more = numbers.ndim == len(asked.rows) + 1
        moved = np.moveaxis(numbers, place, -1) if more else numbers[..., None]
        if moved.shape[:-1] != asked.rows:
            raise ShapeError(
                f"logits has shape {numbers.shape}; {asked.rows}, or one axis more at "
                f"{place}, is allowed"
            )
        flat = moved.reshape(asked.count, moved.shape[-1])
        result = self._maths.logprob(self._parts.sums, asked.temperature, flat)
        result = cast(result, self._statistic).reshape(moved.shape)
        result = np.moveaxis(result, -1, place) if more else result[..., 0]
        return self._wrapped(result, self._statistic)

    @property
    def _value_dtype(self) -> str:
        dtype = self._dtype or "float32"
        return dtype if dtype in FLOAT_DTYPES else COMPUTE_DTYPE[dtype]

    @property
    def _statistic(self) -> str:
        return STATISTIC_DTYPE[COMPUTE_DTYPE[self._dtype or "float32"]]

    def _first_k(self) -> tuple[NDArray[Any], NDArray[Any]]:
        k, best = self._asked.top_k, self._parts.best
        if best.indices.shape[1] < k:
            raise ShapeError(
                f"top_k is {k}, but this state has seen {self._columns} columns of each row"
            )
        return best.values[:, :k], best.indices[:, :k]

    def _numbers(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return logits in a type that is computed in."""
        return widened(View(values, self._value_dtype))

    def _check_seen(self) -> None:
        unseen = self._parts.seen == UNSEEN
        if unseen.any():
            assert self._asked.select is not None
            raise ShapeError(
                f"the selected column {self._asked.select[unseen][0]} lies in none of the "
                f"{self._columns} columns that this state has seen"
            )

    def _per_row(self, array: NDArray[Any], dtype: str | None = None) -> Any:
        return self._shaped(array, self._asked.rows, dtype)

    def _per_selected(self, array: NDArray[Any], dtype: str | None = None) -> Any:
        return self._shaped(array, self._asked.rows + self._asked.tail, dtype)

    def _per_top(self, array: NDArray[Any], dtype: str | None = None) -> Any:
        rows, axis = self._asked.rows, self._asked.axis
        array = array.reshape(*rows, array.shape[1])
        return self._shaped(np.moveaxis(array, -1, axis or 0), None, dtype)

    def _shaped(self, array: NDArray[Any], shape: tuple[int, ...] | None, dtype: str | None) -> Any:
        if dtype is None:
            dtype = self._statistic
            array = cast(array, dtype)
        return self._wrapped(array if shape is None else array.reshape(shape), dtype)

    def _wrapped(self, array: NDArray[Any], dtype: str) -> Any:
        backend = find.by_name(self._library)
        if backend is None:
            raise BackendUnavailableError(
                f"this state was made from {self._library} arrays: import {self._library} first"
            )
        # A copy: what the caller does to a field must not reach the state.
        return backend.wrap(array.copy(), dtype, None)
