"""The operators behind cross_entropy: the loss of each row, and its derivatives.

Knows no kernel: rows are read by `oneread::read`, gradients written by `oneread::logits_gradient`.
Logits are (rows, classes) here. The gradient keeps the logits and lse, no probabilities.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from oneread.backends import torch_, torch_autograd
from oneread.ops import _graph  # registers the operators used here
from oneread.ops._derive import merged, pieces, wide
from oneread.ops._derive_logits import Coefficients, logits_gradient

assert _graph


class Options(NamedTuple):
    """What a loss is made with, as its operators take it after logits, target and weight."""

    label_smoothing: float
    z_loss: float
    softcap: float | None
    ignore_index: int


def capped(x: Tensor, softcap: float | None) -> Tensor:
    """Return the logits under the soft cap."""
    return x if softcap is None else softcap * (x / softcap).tanh()


def lse_and_selected(x: Tensor, select: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Read rows that are memory."""
    made = torch_autograd.run(
        "read", x, [-1], None, None, None, None, None, None, None,
        0, select, False, False, False, False, False,
    )  # fmt: skip
    return made[0], made[2] if select is not None else None


# Classes given by their numbers


def _run(x: Tensor, target: Tensor, weight: Tensor | None, *given: Any) -> list[Tensor]:
    options = Options(*given)
    ignored = target == options.ignore_index
    column = target
    if not x.is_cuda:  # there the kernel looks at no column that is outside
        column = target.masked_fill(ignored, 0)
        _check_range(column, x.shape[1])
    if options.softcap is None and not options.label_smoothing:
        lse, logprob = lse_and_selected(x, column)
        smooth = None
    else:
        lse, logprob, smooth = _by_pieces(x, column, weight, options)
    assert logprob is not None
    loss = -logprob if weight is None else -logprob * weight_of(weight, target, ignored, x)
    if smooth is not None:
        loss = (1 - options.label_smoothing) * loss + options.label_smoothing * smooth
    if options.z_loss:
        loss = loss + options.z_loss * lse * lse
    return [loss.masked_fill_(ignored, 0), lse]  # as a number it costs a GPU no copy


def _by_pieces(
    x: Tensor, column: Tensor, weight: Tensor | None, options: Options
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return lse, the log-probability of the target, and the loss of all classes alike or None."""
    lse, logprob = per_row(x, 2)
    smooth = torch.empty_like(lse) if options.label_smoothing else None
    for rows in pieces(x):
        z = capped(x[rows].to(lse.dtype), options.softcap)
        lse[rows], selected = lse_and_selected(z, column[rows])
        assert selected is not None
        logprob[rows] = selected
        if smooth is not None:
            terms = lse[rows, None] - z
            # Not a matrix product: autocast would make it one of 16 bits.
            terms = terms if weight is None else terms * weight.to(lse.dtype)
            smooth[rows] = terms.sum(-1) / x.shape[1]
    return lse, logprob, smooth


def _check_range(column: Tensor, classes: int) -> None:
    outside = (column < 0) | (column >= classes)
    if outside.any():
        raise IndexError(
            f"target names class {column[outside][0].item()}; 0 to {classes - 1} or ignore_index "
            "is allowed"
        )


def weight_of(weight: Tensor, target: Tensor, ignored: Tensor, x: Tensor) -> Tensor:
    """Return the weight of the class of each row, 0 in rows that are ignored."""
    outside = ignored | (target < 0) | (target >= x.shape[1])
    return weight.to(wide(x.dtype))[target.masked_fill(outside, 0)].masked_fill(outside, 0)


def per_row(x: Tensor, count: int) -> list[Tensor]:
    """Return tensors for one number a row each, in the type of lse."""
    return [x.new_empty(x.shape[0], dtype=wide(x.dtype)) for _ in range(count)]


def _shapes(x: Tensor, *given: Any) -> list[Tensor]:
    return per_row(x, 2)


class LossRule:
    """Derivatives of the loss of each row and of lse by the logits."""

    def asked(self, inputs: Any) -> Any:
        """Return the arguments as they are, checked."""
        if inputs[2] is not None:
            torch_.check_gradient(inputs[2], "weight")
        return inputs

    def given(self, inputs: Any, outputs: Any) -> Any:
        """Return the outputs as they are."""
        return outputs

    def saved(self, inputs: Any, outputs: Any) -> Any:
        """Return logits, target, weight and lse."""
        return (*inputs[:3], outputs[1])

    def pull(self, inputs: Any, saved: Any, wanted: Any, grads: Any) -> Any:
        """Return the gradient for the logits."""
        if grads[0] is None and grads[1] is None:
            return (None,) * len(inputs)
        x, target, weight, lse = saved
        dx = logits_gradient(x, lse, coefficients(x, target, weight, lse, inputs[3:], grads))
        return (dx, *[None] * (len(inputs) - 1))

    def push(self, inputs: Any, saved: Any, tangents: Any) -> Any:
        """Return the changes of loss and lse: what a gradient of 1 makes of that of the logits."""
        x, target, weight, lse = saved
        one = torch.ones_like(lse)
        change = tangents[0].to(lse.dtype)
        pushed = []
        for grads in ((one, None), (None, one)):
            made_of = coefficients(x, target, weight, lse, inputs[3:], grads)
            pushed.append((logits_gradient(x, lse, made_of) * change).sum(-1))
        return tuple(pushed)


def coefficients(
    x: Tensor, target: Tensor, weight: Tensor | None, lse: Tensor, given: Any,
    grads: tuple[Tensor | None, Tensor | None],
) -> Coefficients:  # fmt: skip
    """Return what the gradient for the logits is made of; all is 0 in rows that are ignored."""
    options = Options(*given)
    grad, grad_of_lse = grads
    if grad is None:
        return Coefficients(scale=grad_of_lse, softcap=options.softcap)
    ignored = target == options.ignore_index
    g = grad.masked_fill(ignored, 0)
    picked = g * (1 - options.label_smoothing) if options.label_smoothing else g
    if weight is not None:
        picked = picked * weight_of(weight, target, ignored, x)
    scale, uniform, held = picked, None, None
    if options.label_smoothing:
        uniform = g * (-options.label_smoothing / x.shape[1])
        held = None if weight is None else weight.to(lse.dtype)
        scale = scale - uniform * (x.shape[1] if held is None else held.sum())
    if options.z_loss:
        scale = scale + 2 * options.z_loss * g * lse.masked_fill(ignored, 0)
    if grad_of_lse is not None:
        scale = scale + grad_of_lse
    return Coefficients(
        scale, columns=target[:, None], points=-picked[:, None], uniform=uniform,
        class_weight=held, softcap=options.softcap,
    )  # fmt: skip


#: Arguments and results of the operator of a loss.
_ARGUMENTS: Final = (
    "(Tensor x, Tensor target, Tensor? weight, float label_smoothing, float z_loss, "
    "float? softcap, int ignore_index) -> Tensor[]"
)


def define(name: str, run: Any, rule: LossRule) -> None:
    """Register the operator of a loss: losses and lse, a number a row each."""

    def batch(info: Any, in_dims: Any, x: Any, target: Any, weight: Any, *given: Any) -> Any:
        if in_dims[2] is not None:
            raise NotImplementedError("vmap over the weights of classes: give one weight a class")
        size = info.batch_size
        x, target = merged(x, in_dims[0], size), merged(target, in_dims[1], size)
        made = torch_autograd.call(name, x, target, weight, *given)
        return [y.reshape(size, y.shape[0] // size) for y in made], [0, 0]

    torch_autograd.define(name + _ARGUMENTS, run, _shapes, rule, batch)


define("cross_entropy", _run, LossRule())
