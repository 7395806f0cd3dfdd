"""What the buffers of a plan should hold, and how far from it they are.

Knows no kernel. Probabilities are judged against two truths: the exact one, and the one in which
x - m is rounded to float32 as every kernel does, which at a gap of 60 nats is worth 32 ulp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oneread import reference
from oneread.bench.gallery.entries import Plan
from oneread.testing import FAMILIES, max_ulp_error

Arrays = Mapping[str, NDArray[Any]]
Numbers = NDArray[np.float64]

#: Below it a result may lose digits, and below 1.2e-38 become 0: it is only asked to be small.
LEAST: Final = 1e-30


class Verdict(NamedTuple):
    """How far a buffer is from its truths, in ulp; infinite where NaN or infinities differ."""

    max_ulp: float
    exact_ulp: float


def inputs(plan: Plan, family: str, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Return what to put into the input buffers: logits of a family, and what follows from them."""
    sizes = plan.problem.rows, plan.problem.vocab
    draws = {n: FAMILIES[family](*sizes, "float32", seed + i) for i, n in enumerate(plan.logits)}
    return completed(plan, draws)


def completed(plan: Plan, given: Arrays) -> dict[str, NDArray[Any]]:
    """Return logits together with the inputs that follow from them."""
    made = dict(given)
    for name in plan.named("input"):
        if name in plan.truths:
            with np.errstate(all="ignore"):
                made[name] = _TRUTHS[plan.truths[name]](made, plan).astype(np.float32)
    return made


def judge(plan: Plan, name: str, got: NDArray[Any], given: Arrays) -> Verdict:
    """Return how far a buffer is from its truth.

    Parameters
    ----------
    plan : Plan
        What ran.
    name : str
        An output.
    got : array
        What it holds.
    given : mapping of str to array
        The other buffers that are known, the inputs at least.
    """
    kind = plan.truths[name]
    with np.errstate(all="ignore"):
        if kind in _EXACT:
            right = _same_bits(got, _EXACT[kind](given, plan))
            return Verdict(0.0, 0.0) if right else Verdict(np.inf, np.inf)
        plain = _TRUTHS[kind](given, plan)
        exact = _probabilities(given) if kind == "softmax" else plain
        return Verdict(_distance(got, plain), _distance(got, exact))


def _distance(got: NDArray[Any], truth: Numbers) -> float:
    small = np.abs(truth) < LEAST
    if not bool((np.abs(got[small]) < 2 * LEAST).all()):
        return float(np.inf)
    return max_ulp_error(got[~small].astype(np.float32), truth[~small])


def _same_bits(got: NDArray[Any], truth: NDArray[Any]) -> bool:
    nan = (got != got) & (truth != truth)
    return bool((nan | (got.view(np.int32) == truth.view(np.int32))).all())


def _gaps(x: NDArray[Any]) -> Numbers:
    """Return x - m as float32 has it; NaN counts as no maximum."""
    m = np.fmax.reduce(x, axis=-1, keepdims=True, initial=-np.inf)
    return (x - m).astype(np.float64)


def _softmax(given: Arrays, _: Plan) -> Numbers:
    powers = np.exp(_gaps(given["x"]))
    y: Numbers = powers / powers.sum(axis=-1, keepdims=True)
    return y


def _naive_softmax(given: Arrays, _: Plan) -> Numbers:
    powers = np.exp(given["x"].astype(np.float64)).astype(np.float32).astype(np.float64)
    d = powers.sum(axis=-1, keepdims=True).astype(np.float32)
    y: Numbers = powers / d.astype(np.float64)
    return y


def _top_probabilities(given: Arrays, plan: Plan) -> Numbers:
    y = _softmax(given, plan)
    return np.take_along_axis(y, reference.top_k(given["x"], plan.problem.k).indices, axis=-1)


def _probabilities(given: Arrays) -> Numbers:
    return np.asarray(reference.softmax(given["x"]), np.float64)


def _spans(given: Arrays, plan: Plan) -> list[NDArray[Any]]:
    return np.split(given["x"], range(plan.span, plan.problem.vocab, plan.span), axis=-1)


def _span_maximum(given: Arrays, plan: Plan) -> Numbers:
    spans = _spans(given, plan)
    return np.stack([np.fmax.reduce(s, axis=-1, initial=-np.inf) for s in spans], axis=-1)


def _span_normalizer(given: Arrays, plan: Plan) -> Numbers:
    sums = []
    for span in _spans(given, plan):
        # a span of -inf alone has no columns that count: d = 0
        masked = (span == -np.inf).all(axis=-1)
        sums.append(np.where(masked, 0.0, np.exp(_gaps(span)).sum(axis=-1)))
    return np.stack(sums, axis=-1)


def _ranked(given: Arrays) -> NDArray[Any]:
    """Return what top-k was taken of: y where it was stored before, else x."""
    return given.get("y", given["x"])


_TRUTHS: Final[dict[str, Callable[[Arrays, Plan], Numbers]]] = {
    "softmax": _softmax,
    "naive_softmax": _naive_softmax,
    "top_probabilities": _top_probabilities,
    "span_maximum": _span_maximum,
    "span_normalizer": _span_normalizer,
}
_EXACT: Final[dict[str, Callable[[Arrays, Plan], NDArray[Any]]]] = {
    "top_columns": lambda given, plan: np.asarray(
        reference.top_k(_ranked(given), plan.problem.k).indices, np.int32
    ),
    "top_values": lambda given, plan: np.take_along_axis(
        given["x"], reference.top_k(given["x"], plan.problem.k).indices, axis=-1
    ),
    "relu": lambda given, _: np.where(given["x"] > 0, given["x"], np.float32(0)),
    "multiply_add": lambda given, _: given["a"] * given["b"] + given["c"],
}
