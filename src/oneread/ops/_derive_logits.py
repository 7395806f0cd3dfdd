"""The gradient of the logits, for every op that reads rows, and its own derivatives.

Knows torch only by its backend, and the kernel by its name. With z the logits, capped where asked,
``l = z / temperature - lse`` and ``p = exp(l)``, element i of a row is

    (p * (scale + slope * l + square * p) + points at columns + uniform * class_weight) * cap

where cap is the derivative of the soft cap. Coefficients are one number a row; None is 0.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from oneread.backends import torch_autograd
from oneread.ops import _gradient
from oneread.ops._derive import merged, merged_scale, xp

SCHEMA: Final = (
    "logits_gradient(Tensor x, Tensor lse, Tensor? scale, Tensor? slope, Tensor? square, "
    "Tensor? columns, Tensor? points, Tensor? uniform, Tensor? class_weight, Tensor? temperature, "
    "float? softcap) -> Tensor"
)
_TENSORS: Final = 10
"""How many of the arguments are tensors; they come first."""


class Coefficients(NamedTuple):
    """What a gradient is made of beside the logits and lse: each (rows,), or None."""

    scale: Any = None
    slope: Any = None
    square: Any = None
    columns: Any = None
    """(rows, n) int64; equal ones add up, one outside the row hits nothing."""
    points: Any = None
    uniform: Any = None
    class_weight: Any = None
    """(length,); None is 1 everywhere."""
    temperature: Any = None
    """A number, or (rows, 1)."""
    softcap: float | None = None


def logits_gradient(x: Any, lse: Any, made_of: Coefficients) -> Any:
    """Return the gradient of logits (rows, length), itself differentiable."""
    return torch_autograd.call("logits_gradient", x, lse, *made_of)


class Terms(NamedTuple):
    """The parts of the formula, (rows, length) or (rows, 1), in the type of lse."""

    log_p: Any
    """0 where p is 0."""
    p: Any
    cap: Any
    """Derivative of the soft cap, or None."""
    bend: Any
    """Derivative of that by z, or None."""

    @classmethod
    def of(cls, x: Any, lse: Any, c: Coefficients) -> Terms:
        """Return them for these logits."""
        z = x.to(lse.dtype)
        cap = bend = None
        idle = _idle(lse, c)[:, None]
        if c.softcap is not None:
            tanh = (xp.where(idle & z.isnan(), 0, z) / c.softcap).tanh()
            z, cap, bend = tanh * c.softcap, 1 - tanh * tanh, -2 * tanh / c.softcap
        z = z if c.temperature is None else z / c.temperature
        log_p = z - lse[:, None]
        zero = idle | (log_p == -xp.inf)
        p = xp.where(zero, 0, xp.where(zero, 0, log_p).exp())
        return cls(xp.where(zero, 0, log_p), p, cap, bend)

    def bracket(self, scale: Any, slope: Any, square: Any) -> Any:
        """Return ``scale + slope * l + square * p``; 0 when all are None."""
        total: Any = 0
        for coefficient, factor in ((scale, None), (slope, self.log_p), (square, self.p)):
            if coefficient is not None:
                column = coefficient[:, None]
                total = total + (column if factor is None else column * factor)
        return total


def _idle(lse: Any, c: Coefficients) -> Any:
    """Return which rows have p = 0: of -inf, and of NaN or +inf that no coefficient asks for.

    In all others p is there also where the coefficients are 0, for it is their derivative.
    """
    given = [one for one in (c.scale, c.slope, c.square) if one is not None]
    if not given:  # of top_k, which has no lse
        return xp.ones_like(lse, dtype=xp.bool)
    asked = (xp.stack(given) != 0).any(0)
    return (lse == -xp.inf) | ~(lse.isfinite() | asked)


def spread(columns: Any, numbers: Any, like: Any) -> Any:
    """Return zeros like (rows, length) with numbers added at their columns."""
    inside = (columns >= 0) & (columns < like.shape[1])
    empty = xp.zeros_like(like)
    return empty.scatter_add(1, xp.where(inside, columns, 0), xp.where(inside, numbers, 0))


def taken(x: Any, columns: Any) -> Any:
    """Return the numbers at columns of (rows, length); 0 for a column outside."""
    inside = (columns >= 0) & (columns < x.shape[1])
    return xp.where(inside, x.gather(1, xp.where(inside, columns, 0)), 0)


class GradientRule:
    """Derivatives of the gradient itself: plain composites, which keep a probability matrix."""

    def asked(self, inputs: Any) -> Any:
        """Return the arguments as they are."""
        return inputs

    def given(self, inputs: Any, outputs: Any) -> Any:
        """Return the output as it is."""
        return outputs

    def saved(self, inputs: Any, outputs: Any) -> Any:
        """Return the tensors among the arguments."""
        return inputs[:_TENSORS]

    def pull(self, inputs: Any, saved: Any, wanted: Any, grads: Any) -> Any:
        """Return the gradients for x, lse and the coefficients."""
        x, lse, c = _unpacked(inputs, saved)
        if grads[0] is None:
            return (None,) * len(inputs)
        terms = Terms.of(x, lse, c)
        v = grads[0].to(lse.dtype)
        w = v if terms.cap is None else v * terms.cap
        slopes = w * _slope_of_core(terms, c)
        to_z = slopes if c.temperature is None else slopes / c.temperature
        if terms.cap is not None:
            to_z = (to_z + v * _core(terms, c, x) * terms.bend) * terms.cap
        weight = 1 if c.class_weight is None else c.class_weight
        p = terms.p
        made = {
            "scale": lambda: (w * p).sum(-1),
            "slope": lambda: (w * p * terms.log_p).sum(-1),
            "square": lambda: (w * p * p).sum(-1),
            "points": lambda: taken(w, c.columns),
            "uniform": lambda: (w * weight).sum(-1),
        }
        others = [
            made[name]() if name in made and wanted[place] else None
            for place, name in enumerate(c._fields, 2)
        ]
        return (to_z.to(inputs[0]), -slopes.sum(-1), *others)

    def push(self, inputs: Any, saved: Any, tangents: Any) -> Any:
        """Return the change of the gradient."""
        x, lse, c = _unpacked(inputs, saved)
        terms = Terms.of(x, lse, c)
        change = Coefficients(*tangents[2:])
        of_z = xp.zeros_like(x, dtype=lse.dtype) if tangents[0] is None else tangents[0]
        of_z = of_z.to(lse.dtype)
        of_z = of_z if terms.cap is None else of_z * terms.cap
        of_l = of_z if c.temperature is None else of_z / c.temperature
        of_l = of_l if tangents[1] is None else of_l - tangents[1][:, None]
        # Where p is 0 the change of l says nothing: it is NaN in rows that are ignored.
        core = xp.where(terms.p == 0, 0, _slope_of_core(terms, c) * of_l)
        core = core + terms.p * terms.bracket(change.scale, change.slope, change.square)
        if change.points is not None:
            core = core + spread(c.columns, change.points, core)
        if change.uniform is not None:
            weight = 1 if c.class_weight is None else c.class_weight
            core = core + change.uniform[:, None] * weight
        if terms.cap is not None:
            core = core * terms.cap + _core(terms, c, x) * terms.bend * of_z
        return (core.to(x.dtype),)


def _unpacked(inputs: Any, saved: Any) -> Any:
    return *saved[:2], Coefficients._make((*saved[2:], inputs[_TENSORS]))


def _core(terms: Terms, c: Coefficients, x: Any) -> Any:
    """Return the gradient before the factor of the soft cap."""
    core = terms.p * terms.bracket(c.scale, c.slope, c.square)
    if c.points is not None:
        core = core + spread(c.columns, c.points, core)
    if c.uniform is not None:
        core = core + c.uniform[:, None] * (1 if c.class_weight is None else c.class_weight)
    return core


def _slope_of_core(terms: Terms, c: Coefficients) -> Any:
    """Return the derivative by l of ``p (scale + slope l + square p)``."""
    square = None if c.square is None else 2 * c.square
    bracket = terms.bracket(c.scale, c.slope, square)
    return terms.p * (bracket if c.slope is None else bracket + c.slope[:, None])


def compute(x: Any, lse: Any, *given: Any, out: Any = None) -> Any:
    """Write the gradient of logits that are memory, to `out` where one is given."""
    c = Coefficients(*given)
    if not x.numel():
        return xp.empty_like(x)
    many = c.columns is not None and c.columns.shape[1] != 1
    at = _at_columns(x, lse, c) if many else None
    target = at_target = None
    if c.columns is not None and not many:
        target, at_target = c.columns[:, 0], c.points[:, 0]
    dx = _gradient.logits_gradient(
        x, lse, scale=c.scale, slope=c.slope, square=c.square, target=target, at_target=at_target,
        uniform=c.uniform, class_weight=c.class_weight, softcap=c.softcap, out=out,
        temperature=_for_kernel(c.temperature),
    )  # fmt: skip
    return dx if at is None else dx.scatter_(1, *at)


def _for_kernel(temperature: Any) -> Any:
    if temperature is None:
        return None
    return temperature.double()[:, 0] if temperature.ndim else temperature.item()


def _at_columns(x: Any, lse: Any, c: Coefficients) -> tuple[Any, Any]:
    """Return the columns that points fall on, and the whole gradient there.

    Computed wide and rounded once: a point and what the softmax takes from it nearly cancel where
    a probability is near 1.
    """
    inside = (c.columns >= 0) & (c.columns < x.shape[1])
    columns, points = xp.where(inside, c.columns, 0), xp.where(inside, c.points, 0)
    terms = Terms.of(x.gather(1, columns), lse, c)
    core = terms.p * terms.bracket(c.scale, c.slope, c.square) + _totals(columns, points)
    if c.uniform is not None:
        weight = 1 if c.class_weight is None else c.class_weight[columns]
        core = core + c.uniform[:, None] * weight
    core = core if terms.cap is None else core * terms.cap
    return columns, core.to(x.dtype)


def _totals(columns: Any, points: Any) -> Any:
    """Return for each point the sum of those at its column."""
    ordered, order = columns.sort(stable=True, dim=-1)
    first = xp.ones_like(ordered)
    first[:, 1:] = (ordered[:, 1:] != ordered[:, :-1]).to(first.dtype)
    group = first.cumsum(-1) - 1
    sums = xp.zeros_like(points).scatter_add_(1, group, points.gather(1, order))
    return xp.empty_like(points).scatter_(1, order, sums.gather(1, group))


def _shapes(x: Any, lse: Any, *given: Any) -> Any:
    return x.new_empty(x.shape)


def _batch(info: Any, in_dims: Any, *inputs: Any) -> Any:
    size = info.batch_size
    weight, scale = [Coefficients._fields.index(n) + 2 for n in ("class_weight", "temperature")]
    if in_dims[weight] is not None:
        raise NotImplementedError("vmap over the weights of classes: give one weight a class")
    tensors = [
        x if place in (weight, scale) else merged(x, in_dims[place], size)
        for place, x in enumerate(inputs[:_TENSORS])
    ]
    rows = tensors[0].shape[0] // size
    tensors[scale] = merged_scale(inputs[scale], in_dims[scale], size, rows)
    made = torch_autograd.call("logits_gradient", *tensors, *inputs[_TENSORS:])
    return made.reshape(size, made.shape[0] // size, made.shape[1]), 0


torch_autograd.define(SCHEMA, compute, _shapes, GradientRule(), _batch)
