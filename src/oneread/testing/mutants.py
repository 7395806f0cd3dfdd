"""Wrong implementations of the ops, as data: what a test of an op must be able to reject.

Knows the ops by the table and the reference only. Each mutant is the reference with one mistake
that a kernel can make: a wrong term of the formula, an input misread or an output misplaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np

from oneread import reference
from oneread.reference.rows import Array, Block
from oneread.spec import OPS, SoftmaxTopK
from oneread.testing.arrays import as_numpy
from oneread.testing.outputs import (
    Implementation,
    by_name,
    check_op,
    faithful,
    rounded,
    truth_options,
)

_Options: TypeAlias = dict[str, Any]

#: Columns handled in one step by the mutants that get a tile wrong.
_TILE: Final = 16

_WHOLE: Final = ("softmax", "log_softmax", "logsumexp")
_ORDERED: Final = ("top_k", "softmax_topk", "read")
_SUMMED: Final = (*_WHOLE, "softmax_topk", "read")
_ALL: Final = (*_WHOLE, *_ORDERED)


def applies(op: str) -> tuple[str, ...]:
    """Return the names of the mutants of an op.

    Parameters
    ----------
    op : str
        Name of the op.

    Returns
    -------
    tuple of str
        Keys of ``MUTANTS[op]``.

    Raises
    ------
    ShapeError
        When there is no such op.

    Examples
    --------
    >>> "max_in_sum" in applies("log_softmax"), "max_in_sum" in applies("top_k")
    (True, False)
    """
    return tuple(MUTANTS[check_op(op).name])


def assert_kills_all(
    op: str, check: Callable[[Implementation], object], *, without: Iterable[str] = ()
) -> None:
    """Fail unless a check accepts the truth and rejects every mutant of an op.

    Parameters
    ----------
    op : str
        Name of the op.
    check : callable
        Takes an implementation of the op and raises AssertionError when it finds it wrong.
    without : iterable of str
        Mutants that need not be rejected: a float16 log_softmax, for example, is too coarse to show
        ``max_in_sum``.

    Raises
    ------
    AssertionError
        When the check lets a mutant pass, or rejects the truth rounded to the op's types.
    ShapeError
        When there is no such op.

    Notes
    -----
    Other errors of the check pass through. Implementations take the op's arguments and return
    NumPy arrays.

    Examples
    --------
    >>> from oneread.testing import assert_conforms
    >>> assert_kills_all("softmax", lambda softmax: assert_conforms(softmax, "softmax"))
    """
    names = [name for name in applies(op) if name not in frozenset(without)]
    check(faithful(op))
    survivors = [name for name in names if _passes(check, MUTANTS[op][name])]
    if survivors:
        raise AssertionError(
            f"the check lets {len(survivors)} of {len(names)} wrong implementations of {op} pass:"
            f" {', '.join(survivors)}"
        )


def _passes(check: Callable[[Implementation], object], implementation: Implementation) -> bool:
    try:
        check(implementation)
    except AssertionError:
        return False
    return True


# Wrong terms. Each replaces one term of the reference's formulas; what follows from it follows.


def _right(b: Block, term: str) -> Any:
    return getattr(Block, term).func(b)


def _r_without_rescale(b: Block) -> Array:
    running = np.maximum.accumulate(b.x, axis=1)
    shifted = b.x - running
    if b.temperature is not None:
        shifted = shifted / b.temperature
    terms = np.where(np.isneginf(b.x), 0.0, np.exp(shifted))
    return np.asarray(terms.sum(axis=1, keepdims=True) - 1)


def _r_summed_in_float16(b: Block) -> Array:
    running = np.cumsum(b.e.astype(np.float16), axis=1, dtype=np.float16)
    return np.asarray(running[:, -1:].astype(np.float64) - 1 if running.size else _right(b, "r"))


def _r_nan_after_masked_tile(b: Block) -> Array:
    # exp(-inf - -inf) when the first tile moves the maximum from -inf to -inf
    masked = np.isneginf(b.x[:, :_TILE]).all(axis=1, keepdims=True)
    return np.asarray(np.where(masked, np.nan, _right(b, "r")))


def _r_counts_padding(b: Block) -> Array:
    padding = np.count_nonzero(~b.kept, axis=1, keepdims=True)
    return np.asarray(_right(b, "r") + padding)


def _log_d_with_max_in_sum(b: Block) -> Array:
    d = b.e.astype(np.float32).sum(axis=1, keepdims=True)
    return np.where(np.isnan(b.r), np.nan, np.log(d, dtype=np.float32).astype(np.float64))


def _z_scaled_before_shift(b: Block) -> tuple[Array, Array]:
    if b.temperature is None:
        z, rest = _right(b, "z_and_rest")
        return z, rest
    scale = (1 / b.temperature).astype(np.float32)
    z = b.x.astype(np.float32) * scale - b.m.astype(np.float32) * scale
    return z.astype(np.float64), np.zeros((1, 1))


def _lse_base_2(b: Block) -> Array:
    return np.asarray(_right(b, "lse") / np.log(2.0))


def _entropy_unguarded(b: Block) -> Array:
    s1 = (b.z * b.others).sum(axis=1, keepdims=True)
    return np.asarray(b.log_d - s1 / b.d)


def _group(b: Block) -> Array:
    return np.where(b.kept, np.where(np.isnan(b.x), 0, 1), 2)


def _ordered(*keys: Array) -> Array:
    """Return columns by the first key, then the next; equal ones by column."""
    return np.lexsort(keys[::-1], axis=-1).astype(np.int64)


def _order_last_first(b: Block) -> Array:
    later_first = np.broadcast_to(-np.arange(b.x.shape[1]), b.x.shape)
    return _ordered(_group(b), -b.x, later_first)


def _order_nan_last(b: Block) -> Array:
    return _ordered(np.where(np.isnan(b.x), 3, _group(b)), -b.x)


def _order_signs_of_zero(b: Block) -> Array:
    return _ordered(_group(b), -b.x, np.signbit(b.x))


def _order_masked_among_others(b: Block) -> Array:
    return _ordered(np.where(np.isnan(b.x), 0, 1), -b.x)


def _order_by_probability(b: Block) -> Array:
    return _ordered(_group(b), -b.probabilities.astype(np.float32))


def _place_shared_by_ties(b: Block) -> Array:
    best_first = np.take_along_axis(b.x, b.order, 1)
    steps = np.arange(b.x.shape[1]) * (best_first != np.roll(best_first, 1, axis=1))
    place = np.empty_like(b.order)
    np.put_along_axis(place, b.order, np.maximum.accumulate(steps, axis=1), 1)
    return place


_TERMS: Final[dict[str, tuple[str, Callable[[Block], Any], tuple[str, ...]]]] = {
    "no_rescale": ("r", _r_without_rescale, _SUMMED),
    "storage_type_sum": ("r", _r_summed_in_float16, _SUMMED),
    "first_tile_nan": ("r", _r_nan_after_masked_tile, _SUMMED),
    "padding_counted": ("r", _r_counts_padding, _SUMMED),
    "max_in_sum": ("log_d", _log_d_with_max_in_sum, ("log_softmax", "softmax_topk", "read")),
    "shift_after_scale": ("z_and_rest", _z_scaled_before_shift, _SUMMED),
    "lse_base_2": ("lse", _lse_base_2, ("logsumexp", "softmax_topk", "read")),
    "entropy_unguarded": ("entropy", _entropy_unguarded, ("read",)),
    "wrong_tie_order": ("order", _order_last_first, _ORDERED),
    "nan_last": ("order", _order_nan_last, _ORDERED),
    "signs_of_zero_ordered": ("order", _order_signs_of_zero, _ORDERED),
    "masked_not_last": ("order", _order_masked_among_others, _ORDERED),
    "ranked_by_probability": ("order", _order_by_probability, _ORDERED),
    "rank_shared_by_ties": ("place", _place_shared_by_ties, ("read",)),
}


# Inputs misread. Each gives the op other logits or options than it was given.


def _all_equal(x: Array, options: _Options) -> tuple[Array, _Options]:
    return np.zeros_like(x), {**options, "temperature": None}


def _without_tail(x: Array, options: _Options) -> tuple[Array, _Options]:
    axis = options.get("axis", -1)
    by_column = np.moveaxis(x.copy(), axis if isinstance(axis, int) else -1, 0) if x.ndim else x
    tail = by_column.shape[0] % _TILE if x.ndim else 0
    if tail:
        by_column[-tail:] = -np.inf if by_column.dtype.kind not in "biu" else 0
    return np.moveaxis(by_column, 0, axis if isinstance(axis, int) else -1), options


def _replacing(
    special: Callable[[Array], Array], value: float
) -> Callable[[Array, _Options], tuple[Array, _Options]]:
    def misread(x: Array, options: _Options) -> tuple[Array, _Options]:
        x = x.copy()
        if x.dtype.kind not in "biu":
            x[special(x)] = value
        return x, options

    return misread


def _rows_of_minus_inf(x: Array) -> Array:
    return np.broadcast_to(np.isneginf(x.astype(np.float64)).all(axis=-1, keepdims=True), x.shape)


def _without(*names: str) -> Callable[[Array, _Options], tuple[Array, _Options]]:
    return lambda x, options: (x, {n: o for n, o in options.items() if n not in names})


_INPUTS: Final[dict[str, tuple[Callable[[Array, _Options], Any], tuple[str, ...]]]] = {
    "uniform": (_all_equal, _ALL),
    "lost_tail": (_without_tail, _ALL),
    "nan_ignored": (_replacing(np.isnan, -np.inf), _ALL),
    "inf_as_large_number": (_replacing(lambda x: x == np.inf, 6e4), _ALL),
    "row_of_minus_inf_as_zeros": (_replacing(_rows_of_minus_inf, 0.0), _ALL),
    "mask_ignored": (_without("where", "lengths"), _ALL),
    "temperature_ignored": (_without("temperature"), _SUMMED),
}


# Outputs misplaced. Each changes what a right implementation gave.


def _zeros(result: Any, _: _Options) -> Any:
    if not isinstance(result, tuple):
        return np.zeros_like(result)
    make: Callable[..., Any] = type(result)
    return make(*(None if a is None else np.zeros_like(a) for a in result))


def _among_winners(result: Any, options: _Options) -> Any:
    """Give log-probabilities over the k winners where those over the whole row are meant."""
    if result.logprobs is None:
        return result
    axis = options.get("axis", -1)
    axis = -1 if axis is None else axis
    return result._replace(logprobs=reference.log_softmax(result.logprobs, axis))


def _scaled(result: Any, options: _Options) -> Any:
    """Give logits over temperature where the input's own numbers are meant."""
    temperature = options.get("temperature")
    logits = options.get("kind") == "logit" or not isinstance(result, SoftmaxTopK)
    if temperature is None or result.values is None or not logits:
        return result
    axis = options.get("axis", -1)
    scale = np.asarray(temperature)
    if scale.ndim:
        scale = np.expand_dims(scale, -1 if axis is None else axis)
    return result._replace(values=result.values / scale)


_OUTPUTS: Final[dict[str, tuple[Callable[[Any, _Options], Any], tuple[str, ...]]]] = {
    "zeros": (_zeros, _ALL),
    "winners_only": (_among_winners, ("read",)),
    "logits_scaled": (_scaled, _ORDERED),
}


def _with_term(op: str, term: str, wrong: Callable[[Block], Any]) -> Implementation:
    property_ = cached_property(wrong)
    block = type("WrongBlock", (Block,), {term: property_})
    property_.__set_name__(block, term)

    def mutant(x: Any, *arguments: Any, **options: Any) -> Any:
        options |= by_name(op, arguments)
        chosen = truth_options(options)
        result = getattr(reference, op)(as_numpy(x)[0], **chosen, arithmetic=block)
        return rounded(op, result, x, options)

    return mutant


def _with_input(op: str, misread: Callable[[Array, _Options], Any]) -> Implementation:
    def mutant(x: Any, *arguments: Any, **options: Any) -> Any:
        options |= by_name(op, arguments)
        other, chosen = misread(as_numpy(x)[0], truth_options(options))
        with np.errstate(all="ignore"):
            result = getattr(reference, op)(other, **chosen)
        return rounded(op, result, x, options)

    return mutant


def _with_output(op: str, misplace: Callable[[Any, _Options], Any]) -> Implementation:
    def mutant(x: Any, *arguments: Any, **options: Any) -> Any:
        options |= by_name(op, arguments)
        chosen = truth_options(options)
        with np.errstate(all="ignore"):
            result = misplace(getattr(reference, op)(as_numpy(x)[0], **chosen), chosen)
        return rounded(op, result, x, options)

    return mutant


def _winners_only(x: Any, *arguments: Any, **options: Any) -> Any:
    return faithful("softmax_topk")(x, *arguments, **{**options, "renormalize": True})


#: Wrong implementations of each op by name; each takes the op's arguments.
MUTANTS: Final[dict[str, dict[str, Implementation]]] = {
    op: {
        **{n: _with_output(op, f) for n, (f, ops) in _OUTPUTS.items() if op in ops},
        **{n: _with_input(op, f) for n, (f, ops) in _INPUTS.items() if op in ops},
        **{n: _with_term(op, term, f) for n, (term, f, ops) in _TERMS.items() if op in ops},
    }
    for op in OPS
}
MUTANTS["softmax_topk"]["winners_only"] = _winners_only
