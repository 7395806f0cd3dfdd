"""The operator behind cross_entropy with a probability for each class, and its derivatives.

Knows no kernel. The gradient keeps the logits, the target and lse, no probabilities.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from oneread.backends import torch_autograd
from oneread.ops._derive import pieces
from oneread.ops._derive_logits import Coefficients, logits_gradient
from oneread.torch._loss import LossRule, Options, capped, define, lse_and_selected, per_row


def _weights(target: Tensor, weight: Tensor | None, options: Options, dtype: Any) -> Tensor:
    """Return what each class counts in its row."""
    q = target.to(dtype)
    if options.label_smoothing:
        q = q * (1 - options.label_smoothing) + options.label_smoothing / target.shape[1]
    return q if weight is None else q * weight.to(dtype)


def _run(x: Tensor, target: Tensor, weight: Tensor | None, *given: Any) -> list[Tensor]:
    options = Options(*given)
    loss, lse = per_row(x, 2)
    for rows in pieces(x):
        z = capped(x[rows].to(lse.dtype), options.softcap)
        lse[rows] = lse_and_selected(z, None)[0]
        q = _weights(target[rows], weight, options, lse.dtype)
        # A class that does not count has no part in it, also where its logit is -inf.
        loss[rows] = torch.where(q == 0, 0, q * (lse[rows, None] - z)).sum(-1)
    if options.z_loss:
        loss += options.z_loss * lse * lse
    return [loss, lse]


def _gradient(
    x: Tensor, target: Tensor, weight: Tensor | None, lse: Tensor, options: Options,
    grad: Tensor | None, grad_of_lse: Tensor | None,
) -> Tensor:  # fmt: skip
    """Return the gradient for the logits, in the type of lse: p and the target nearly cancel."""
    x = x.to(lse.dtype)
    if grad is None:
        return logits_gradient(x, lse, Coefficients(grad_of_lse, softcap=options.softcap))
    q = _weights(target, weight, options, lse.dtype)
    scale = grad * q.sum(-1)
    if options.z_loss:
        scale = scale + 2 * options.z_loss * grad * lse
    if grad_of_lse is not None:
        scale = scale + grad_of_lse
    of_target = grad[:, None] * q
    if options.softcap is not None:
        of_target = of_target * (1 - (x / options.softcap).tanh() ** 2)
    return logits_gradient(x, lse, Coefficients(scale, softcap=options.softcap)) - of_target


def _of_target(x: Tensor, weight: Tensor | None, lse: Tensor, options: Options) -> Tensor:
    """Return the derivative of the loss by the target."""
    z = capped(x.to(lse.dtype), options.softcap)
    made = (lse[:, None] - z) * (1 - options.label_smoothing)
    return made if weight is None else made * weight.to(lse.dtype)


class SoftLossRule(LossRule):
    """Derivatives of the loss of each row and of lse by the logits and the target."""

    def pull(self, inputs: Any, saved: Any, wanted: Any, grads: Any) -> Any:
        """Return the gradients for the logits and the target."""
        if grads[0] is None and grads[1] is None:
            return (None,) * len(inputs)
        x, target, weight, lse = saved
        options = Options(*inputs[3:])
        dx = of_target = None
        if wanted[0]:
            dx = self._whole_or_by_pieces(x, target, weight, lse, options, grads)
        if wanted[1] and grads[0] is not None:
            of_target = grads[0][:, None] * _of_target(x, weight, lse, options)
            of_target = of_target.to(target.dtype)
        return (dx, of_target, *[None] * (len(inputs) - 2))

    @staticmethod
    def _whole_or_by_pieces(
        x: Tensor, target: Tensor, weight: Tensor | None, lse: Tensor, options: Options, grads: Any
    ) -> Tensor:
        """Return the gradient; where nothing watches, without a wide copy of the whole."""
        inputs = (x, *grads)
        if torch_autograd.is_watched(inputs) or torch_autograd.differentiated(inputs):
            return _gradient(x, target, weight, lse, options, *grads).to(x.dtype)
        dx = torch.empty_like(x)
        for rows in pieces(x):
            some = [None if g is None else g[rows] for g in grads]
            dx[rows] = _gradient(x[rows], target[rows], weight, lse[rows], options, *some)
        return dx

    def push(self, inputs: Any, saved: Any, tangents: Any) -> Any:
        """Return the changes of loss and lse."""
        x, target, weight, lse = saved
        options = Options(*inputs[3:])
        one = torch.ones_like(lse)
        of_loss, of_lse = torch.zeros_like(lse), torch.zeros_like(lse)
        if tangents[0] is not None:
            change = tangents[0].to(lse.dtype)
            dx = _gradient(x, target, weight, lse, options, one, None)
            of_loss = (dx * change).sum(-1)
            dx = _gradient(x, target, weight, lse, options, None, one)
            of_lse = (dx * change).sum(-1)
        if tangents[1] is not None:
            slopes = _of_target(x, weight, lse, options)
            of_loss = of_loss + (slopes * tangents[1].to(lse.dtype)).sum(-1)
        return of_loss, of_lse


define("soft_cross_entropy", _run, SoftLossRule())
