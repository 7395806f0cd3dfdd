"""Derivatives of the ops that read rows: logsumexp, top_k, softmax_topk, read.

Knows torch only by its backend, and no kernel. With t the change of ``x / temperature``, p the
probabilities and l their logarithms, every field of a row changes by
``sum(p * (scale + slope * l + square * p) * t)`` and by the t of a few columns. So one gradient,
made of these coefficients, serves all fields that are asked for. The logits and lse are kept, and
fields as long as the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneread.backends import torch_
from oneread.ops._derive import Rows, beside, changes, refuse_options, wide, xp
from oneread.ops._derive_logits import Coefficients, Terms, logits_gradient, taken
from oneread.spec import BackendUnavailableError

#: Where the common arguments of an operator stand: axis, dtype, where, lengths, temperature.
_AXIS, _DTYPE, _WHERE, _TEMPERATURE, _KERNEL = 1, 2, 3, 5, 7


class ReadRule:
    """The derivatives of one op, by the fields of its result."""

    def __init__(
        self, op: str, own: tuple[str, ...], fields: Callable[[dict[str, Any]], tuple[str, ...]]
    ) -> None:
        self.op, self.own, self.fields = op, own, fields

    def _own(self, inputs: Any) -> dict[str, Any]:
        return dict(zip(self.own, inputs[-len(self.own) :], strict=True))

    def asked(self, inputs: Any) -> Any:
        """Return the arguments that give lse too, in its own type."""
        refuse_options(inputs[_TEMPERATURE])
        own = self._own(inputs)
        if self.op == "softmax_topk":
            if inputs[_KERNEL] not in (None, "lazy"):
                raise BackendUnavailableError(
                    f"kernel is {inputs[_KERNEL]!r}, which gives no lse, and x requires a "
                    "gradient: leave it None, or give x.detach()"
                )
            own["return_lse"] = True
        common = list(inputs[: len(inputs) - len(own)])
        common[_DTYPE] = None
        return (*common, *own.values())

    def given(self, inputs: Any, outputs: Any) -> Any:
        """Return the outputs that were asked for, in the type that was asked for."""
        asked = self.fields(self._own(inputs))
        dtype = None if inputs[_DTYPE] is None else torch_.DTYPES[inputs[_DTYPE]]
        made = []
        for name, x in zip(asked, outputs, strict=False):
            own_type = not x.is_floating_point() or (self.op == "read" and name == "values")
            made.append(x if dtype is None or own_type else x.to(dtype))
        return made

    def saved(self, inputs: Any, outputs: Any) -> Any:
        """Return the logits, the options and the outputs that derivatives look at.

        The others may be changed in place, as those of `gather` may.
        """
        own = self._own(inputs)
        free = {"max", "rank", "selected"}
        if own.get("kind") != "prob" and not own.get("renormalize"):
            free |= {"values", "logprobs"}
        named = zip(self._written(inputs), outputs, strict=True)
        kept = [None if name in free else x for name, x in named]
        return (inputs[0], *inputs[_WHERE : _TEMPERATURE + 1], own.get("select"), *kept)

    def pull(self, inputs: Any, saved: Any, wanted: Any, grads: Any) -> Any:
        """Return the gradient for the logits."""
        x, where, lengths, *_ = saved
        nothing = (None,) * (len(inputs) - 1)
        given = dict(zip(self._written(inputs), grads, strict=True))
        if all(g is None for g in given.values()):
            return (None, *nothing)
        row = _Fields(self, inputs, saved)
        rows = row.rows
        if not x.numel():
            return (xp.zeros_like(x), *nothing)
        flat, kept = row.x, rows.mask(x, where, lengths)
        if kept is not None and xp.is_grad_enabled():  # derivatives of it look at all columns
            flat = xp.where(kept, flat, -xp.inf)
        dx = logits_gradient(flat, row.lse, row.coefficients(given))
        dx = dx if kept is None else xp.where(kept, dx, 0)
        return (rows.restored(dx, tuple(x.shape)), *nothing)

    def push(self, inputs: Any, saved: Any, tangents: Any) -> Any:
        """Return the changes of the outputs."""
        return _Fields(self, inputs, saved).changed(tangents[0], self._written(inputs))

    def _written(self, inputs: Any) -> tuple[str, ...]:
        """Return the fields that the asked call returns."""
        own = self._own(inputs)
        return self.fields(own)


class _Fields:
    """What one call has kept, with its rows in order."""

    def __init__(self, rule: ReadRule, inputs: Any, saved: Any) -> None:
        x, self.where, self.lengths, temperature, self.select, *outputs = saved
        own = rule._own(inputs)
        self.kind = "logit" if rule.op == "top_k" else own.get("kind", "logprob")
        self.renormalize = own.get("renormalize", False)
        self.keepdims = own.get("keepdims", False)
        self.rows = rows = Rows.of(rule.op, x, inputs[_AXIS])
        self.held = dict(zip(rule._written(inputs), outputs, strict=True))
        self.x = rows.flat(x)
        kind = wide(x.dtype)
        self.temperature = rows.scale(temperature, x)
        self.given_temperature = temperature
        if "lse" in self.held:
            self.lse = self.held["lse"].reshape(rows.count)
        else:  # top_k, whose gradient has no softmax in it
            self.lse = self.x.new_zeros(rows.count, dtype=kind)
        self.logprobs = "logprobs" if rule.op == "read" else "values"

    def coefficients(self, grads: dict[str, Any]) -> Coefficients:
        """Return what the gradient for the logits is made of."""
        made = _Sum(self)
        for name, grad in grads.items():
            if grad is not None:
                getattr(self, f"_pull_{name}")(made, grad)
        return made.coefficients()

    def _pull_lse(self, made: _Sum, grad: Any) -> None:
        made.add(scale=grad.reshape(self.rows.count))

    def _pull_max(self, made: _Sum, grad: Any) -> None:
        made.point(self._largest(), grad.reshape(self.rows.count, 1))

    def _pull_entropy(self, made: _Sum, grad: Any) -> None:
        g = grad.reshape(self.rows.count)
        made.add(scale=-g * self.held["entropy"].reshape(g.shape), slope=-g)

    def _pull_sum_p2(self, made: _Sum, grad: Any) -> None:
        g = 2 * grad.reshape(self.rows.count)
        made.add(scale=-g * self.held["sum_p2"].reshape(g.shape), square=g)

    def _pull_selected(self, made: _Sum, grad: Any) -> None:
        columns = self._selected()
        g = grad.reshape(columns.shape)
        made.add(scale=-(g[:, 0] if g.shape[1] == 1 else g.sum(-1)))
        made.point(columns, g)

    def _pull_values(self, made: _Sum, grad: Any) -> None:
        if self.logprobs == "values" and self.kind != "logit":
            self._pull_logprobs(made, grad)
        else:
            g = self.rows.top(grad).to(self.lse.dtype)
            made.point(self._winners(), g, of_logits=True)

    def _pull_logprobs(self, made: _Sum, grad: Any) -> None:
        g = self.rows.top(grad)
        if self.renormalize:
            q = self._winning()
            total = ((g * q) if self.kind == "prob" else g).sum(-1, keepdim=True)
            g = q * (g - total) if self.kind == "prob" else g - q * total
        else:
            g = g * self._winning() if self.kind == "prob" else g
            made.add(scale=-g.sum(-1))
        made.point(self._winners(), g)

    def changed(self, tangent: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
        """Return how the fields change with the logits."""
        rows, kind = self.rows, self.lse.dtype
        t = changes(rows, tangent, self.where, self.lengths, self.given_temperature, kind)
        kept = rows.mask(self.x, self.where, self.lengths)
        x = self.x if kept is None else xp.where(kept, self.x, -xp.inf)
        terms = Terms.of(x, self.lse, Coefficients(xp.ones_like(self.lse),
                                                   temperature=self.temperature))  # fmt: skip
        pt = terms.p * t
        mean = pt.sum(-1, keepdim=True)
        raw = t if self.temperature is None else t * self.temperature
        one = self.held["lse"].shape if "lse" in self.held else ()
        made: dict[str, Callable[[], Any]] = {
            "lse": lambda: mean.reshape(one),
            "max": lambda: (t.gather(1, self._largest()) if t.shape[1] else mean).reshape(one),
            "entropy": lambda: -((terms.log_p + self.held["entropy"].reshape(-1, 1)) * pt)
            .sum(-1).reshape(one),
            "sum_p2": lambda: (2 * (terms.p - self.held["sum_p2"].reshape(-1, 1)) * pt)
            .sum(-1).reshape(one),
            "selected": lambda: (taken(t, self._selected()) - mean)
            .reshape((*rows.outer, *self.select.shape[len(rows.outer) :])),
            "values": lambda: rows.untop(
                self._scores(t, mean) if self.logprobs == "values" and self.kind != "logit"
                else raw.gather(1, self._winners()).to(self.x.dtype)
            ),
            "logprobs": lambda: rows.untop(self._scores(t, mean)),
        }  # fmt: skip
        return tuple([made[name]() if name in made else None for name in names])

    def _scores(self, t: Any, mean: Any) -> Any:
        change = t.gather(1, self._winners())
        if self.renormalize:
            mean = (self._winning() * change).sum(-1, keepdim=True)
        return self._winning() * (change - mean) if self.kind == "prob" else change - mean

    def _winning(self) -> Any:
        """Return the probabilities of the winners, (rows, k)."""
        y = self.rows.top(self.held[self.logprobs])
        return y if self.kind == "prob" else y.exp()

    def _winners(self) -> Any:
        return self.rows.top(self.held["indices"]).long()

    def _selected(self) -> Any:
        select, outer = beside(self.select, self.x).long(), self.rows.outer
        if select.ndim <= len(outer):
            return select.broadcast_to(outer).reshape(self.rows.count, 1)
        return select.reshape(self.rows.count, select.shape[-1])

    def _largest(self) -> Any:
        """Return the column of the largest logit of each row, (rows, 1)."""
        if "argmax" in self.held:
            return self.held["argmax"].reshape(self.rows.count, 1)
        kept = self.rows.mask(self.x, self.where, self.lengths)
        x = self.x if kept is None else xp.where(kept, self.x, -xp.inf)
        return x.argmax(-1, keepdim=True)


class _Sum:
    """Coefficients, added up over the fields."""

    def __init__(self, row: _Fields) -> None:
        self.row = row
        scale = row.temperature
        self.by = scale[:, 0] if scale is not None and scale.ndim else scale
        self.terms: dict[str, Any] = {}
        self.columns: list[Any] = []
        self.points: list[Any] = []

    def add(self, **terms: Any) -> None:
        """Add to scale, slope or square; t is divided by the temperature."""
        for name, term in terms.items():
            scaled = term if self.by is None else term / self.by
            self.terms[name] = self.terms[name] + scaled if name in self.terms else scaled

    def point(self, columns: Any, numbers: Any, of_logits: bool = False) -> None:
        """Add numbers at columns; `of_logits` where the temperature has no part in it."""
        if self.row.temperature is not None and not of_logits:
            numbers = numbers / self.row.temperature
        self.columns.append(columns)
        self.points.append(numbers)

    def coefficients(self) -> Coefficients:
        """Return what was added up."""
        columns = points = None
        if self.columns:
            many = len(self.columns) > 1
            columns = xp.cat(self.columns, 1) if many else self.columns[0]
            points = xp.cat(self.points, 1) if many else self.points[0]
        return Coefficients(
            **self.terms, columns=columns, points=points, temperature=self.row.temperature
        )
