"""How backward passes are judged: calls to make, and how far from the truth a result may be.

Knows the reference only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from oneread import reference
from oneread.reference import gradients
from oneread.spec import COMPUTE_DTYPE
from oneread.testing.arrays import as_numpy
from oneread.testing.inputs import FAMILIES
from oneread.testing.ulps import FORMATS, ulp

_Array: TypeAlias = NDArray[Any]

#: Units in the last place of the sum of the terms' sizes, beyond twice the plain formula's error.
MAX_ULP: Final = 8
#: Nats below 0 from which on powers are below the normal range, and may be 0.
_NATS: Final = {"float32": 88, "float64": 709}
_SOFTCAP: Final = 30.0
_TAKEN_AS_THEY_ARE: Final = ("target", "softcap", "temperature")


class Rows(NamedTuple):
    """Logits and what is given with them."""

    x: _Array
    lse: _Array
    options: dict[str, Any]


def rows_of(
    family: str, rows: int, vocab: int, dtype: str, seed: int = 0, temperature: float = 0.75
) -> Iterator[Rows]:
    """Yield a family's logits with each term alone and with all of them.

    One row of each call has coefficients of 0 alone, and one a target outside of it. A temperature
    is the one given, or one a row of about 1.
    """
    x = FAMILIES[family](rows, vocab, dtype, seed)
    n, columns = x.shape
    kind = COMPUTE_DTYPE[dtype]
    rng = np.random.default_rng(seed)

    def one_a_row() -> _Array:
        numbers = np.asarray(rng.uniform(0.5, 2, n) * rng.choice([-1, 1], n), kind)
        numbers[n // 2 : n // 2 + 1] = 0
        return numbers

    target = rng.integers(0, max(columns, 1), n)
    target[:1] = -100
    picked = {"target": target, "at_target": one_a_row()}
    weights = np.asarray(rng.uniform(0, 2, columns), kind)
    lse = _lse(x)
    yield Rows(x, lse, {"scale": one_a_row()})
    yield Rows(x, lse, {"scale": one_a_row(), **picked})
    yield Rows(x, lse, {"scale": one_a_row(), "slope": one_a_row(), **picked})
    yield Rows(x, lse, {"scale": None, "uniform": one_a_row(), "class_weight": weights, **picked})
    if family != "huge":  # lse over a temperature is then off by more nats than there are
        heat = rng.uniform(0.5, 2, n)
        alone = {"scale": one_a_row(), "temperature": temperature}
        yield Rows(x, _lse(x, None, temperature), alone)
        tempered = {"scale": one_a_row(), "square": one_a_row(), "temperature": heat, **picked}
        yield Rows(x, _lse(x, None, heat), tempered)
    capped = _lse(x, _SOFTCAP)
    every = {"scale": one_a_row(), "slope": one_a_row(), "uniform": one_a_row(), **picked}
    yield Rows(x, capped, {**every, "softcap": _SOFTCAP})


def assert_logits_gradient(got: Any, rows: Rows) -> None:
    """Fail unless a gradient to logits is close to the truth."""
    x, lse, options = rows
    truth = gradients.logits_gradient(x, lse, **options, dtype=np.longdouble)
    plain = gradients.logits_gradient(x, lse, **options, dtype=COMPUTE_DTYPE[x.dtype.name])
    sizes = {
        name: value if name in _TAKEN_AS_THEY_ARE or value is None else np.abs(value)
        for name, value in options.items()
    }
    if sizes.get("slope") is not None:
        sizes["slope"] = -sizes["slope"]  # l is below 0
    size = np.abs(gradients.logits_gradient(x, lse, **sizes))
    if options.get("softcap"):  # z is rounded, and a power is as exact as its argument
        size = size * (1 + np.minimum(_finite(x), options["softcap"]))
    if options.get("temperature") is not None and x.dtype == np.float64:
        size = size * (1 + _finite(x) * 2.0**-9)  # the truth's own quotient is rounded
    kind = COMPUTE_DTYPE[x.dtype.name]
    flushed = 4 * _NATS[kind] * FORMATS[kind].tiny  # coefficients are up to 2
    _check(got, x.dtype.name, truth, plain, size, flushed)


def assert_softmax_backward(got: Any, y: _Array, grad: _Array, log: bool) -> None:
    """Fail unless a gradient of softmax or log_softmax is close to the truth."""
    dtype = y.dtype.name
    truth = gradients.softmax_backward(y, grad, log=log, dtype=np.longdouble)
    plain = gradients.softmax_backward(y, grad, log=log, dtype=COMPUTE_DTYPE[dtype])
    wide, given = np.abs(y.astype(np.float64)), np.abs(grad.astype(np.float64))
    with np.errstate(all="ignore"):
        if log:
            size = given + np.exp(-wide) * given.sum(axis=-1, keepdims=True)
        else:
            size = wide * (given + (given * wide).sum(axis=-1, keepdims=True))
    total = np.sum(np.where(np.isfinite(given), given, 0), axis=-1, keepdims=True)
    tiny = FORMATS[COMPUTE_DTYPE[dtype]].tiny
    _check(got, dtype, truth, plain, size, tiny * (1 + total))


def backward_of(family: str, rows: int, vocab: int, dtype: str, log: bool) -> tuple[_Array, _Array]:
    """Return what softmax or log_softmax makes of a family's logits, and a gradient to it."""
    x = FAMILIES[family](rows, vocab, dtype)
    forward: Callable[..., Any] = reference.log_softmax if log else reference.softmax
    rng = np.random.default_rng(1)
    with np.errstate(over="ignore"):
        return forward(x).astype(x.dtype), rng.normal(0, 1, x.shape).astype(x.dtype)


def _finite(x: _Array) -> _Array:
    """Return sizes, 0 where there is none."""
    return np.abs(np.nan_to_num(x.astype(np.float64), nan=0, posinf=0, neginf=0))


def _lse(x: _Array, softcap: float | None = None, temperature: Any = None) -> _Array:
    """Return logsumexp in the type that is computed in, infinite where that ends."""
    kind = COMPUTE_DTYPE[x.dtype.name]
    if softcap is not None:
        x = np.tanh(x.astype(np.float64) / softcap) * softcap
    with np.errstate(over="ignore"):
        return np.asarray(reference.logsumexp(x, temperature=temperature)).astype(kind)


def _check(got: Any, dtype: str, truth: _Array, plain: _Array, size: _Array, flushed: Any) -> None:
    numbers, name = as_numpy(got)
    assert (numbers.shape, name) == (truth.shape, dtype)
    numbers = numbers.astype(np.float64)
    coarser = min(dtype, COMPUTE_DTYPE[dtype], key=lambda one: FORMATS[one].digits)
    with np.errstate(all="ignore"):
        hardness = np.abs(plain - truth)
        hardness = np.where(np.isfinite(hardness), hardness, 0)
        allowed = 2 * hardness + MAX_ULP * ulp(size, coarser) + flushed
        near = np.abs(numbers - truth) <= allowed
    same = np.isnan(numbers) & np.isnan(truth) | (numbers == truth)
    good = same | (np.isfinite(truth) & near)
    if not good.all():
        at = np.unravel_index(np.argmin(good), good.shape)
        raise AssertionError(
            f"{int((~good).sum())} of {good.size} elements are too far from the truth; first at "
            f"{tuple(map(int, at))}: got {numbers[at]:.9g}, truth {truth[at]:.9g} ({dtype})"
        )
