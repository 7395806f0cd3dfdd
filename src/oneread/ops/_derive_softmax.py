"""Derivatives of softmax and log_softmax, and of their derivatives.

Knows torch only by its backend, and the kernel by the name of its operator.
"""

from __future__ import annotations

from typing import Any

from oneread.backends import torch_, torch_autograd
from oneread.ops import _gradient, softmax
from oneread.ops._derive import Rows, changes, merged, merged_scale, refuse_options, wide, xp


class SoftmaxRule:
    """softmax and log_softmax: their own output is all that is kept."""

    def __init__(self, op: str) -> None:
        self.op = op
        self.log = op == "log_softmax"

    def asked(self, inputs: Any) -> Any:
        """Return the arguments as they are, checked."""
        refuse_options(inputs[5])
        return inputs

    def given(self, inputs: Any, outputs: Any) -> Any:
        """Return the output as it is."""
        return outputs

    def saved(self, inputs: Any, outputs: Any) -> Any:
        """Return the output and the options."""
        return (outputs[0], *inputs[3:6])

    def pull(self, inputs: Any, saved: Any, wanted: Any, grads: Any) -> Any:
        """Return ``(g - sum(y g)) y / temperature``, or ``(g - exp(y) sum(g)) / temperature``."""
        y, where, lengths, temperature = saved
        nothing = (None,) * (len(inputs) - 1)
        if grads[0] is None:
            return (None, *nothing)
        rows = Rows.of(self.op, y, inputs[1])
        flat, grad = rows.flat(y), rows.flat(grads[0])
        kept = rows.mask(y, where, lengths) if self.log else None
        if kept is not None:
            grad = xp.where(kept, grad, 0)
        scale = rows.scale(temperature, y)
        scale = None if scale is None else 1 / scale
        name = torch_.NAMES[inputs[0]]
        dx = torch_autograd.call("softmax_backward", flat, grad, scale, self.log, name)
        if kept is not None:
            dx = xp.where(kept, dx, 0)
        return (rows.restored(dx, tuple(y.shape)), *nothing)

    def push(self, inputs: Any, saved: Any, tangents: Any) -> Any:
        """Return the change of the output."""
        y, where, lengths, temperature = saved
        rows = Rows.of(self.op, y, inputs[1])
        flat = rows.flat(y).to(wide(y.dtype))
        t = changes(rows, tangents[0], where, lengths, temperature, flat.dtype)
        if self.log:
            made = t - (flat.exp() * t).sum(-1, keepdim=True)
            kept = rows.mask(y, where, lengths)
            made = made if kept is None else xp.where(kept, made, 0)
        else:
            made = flat * (t - (flat * t).sum(-1, keepdim=True))
        return (rows.restored(made.to(y.dtype), tuple(y.shape)),)


class BackwardRule:
    """The gradient of softmax or log_softmax, itself differentiated."""

    def asked(self, inputs: Any) -> Any:
        """Return the arguments as they are."""
        return inputs

    def given(self, inputs: Any, outputs: Any) -> Any:
        """Return the output as it is."""
        return outputs

    def saved(self, inputs: Any, outputs: Any) -> Any:
        """Return the tensors among the arguments."""
        return inputs[:3]

    def pull(self, inputs: Any, saved: Any, wanted: Any, grads: Any) -> Any:
        """Return the gradients for y and for the gradient."""
        (v,) = grads
        if v is None:
            return (None,) * 5
        y, g, v = self._wide(saved, v)
        if inputs[3]:  # dx = g - exp(y) sum(g)
            y = y.exp()
            to_y = -y * g.sum(-1, keepdim=True) * v
            to_grad = v - (y * v).sum(-1, keepdim=True)
        else:  # dx = y (g - sum(y g))
            inner = (y * v).sum(-1, keepdim=True)
            to_y = v * (g - (y * g).sum(-1, keepdim=True)) - g * inner
            to_grad = y * (v - inner)
        return to_y.to(inputs[0]), to_grad.to(inputs[1]), None, None, None

    def push(self, inputs: Any, saved: Any, tangents: Any) -> Any:
        """Return the change of the gradient."""
        y, g, _ = self._wide(saved, saved[1])
        of_y, of_g = [xp.zeros_like(y) if t is None else t.to(y.dtype) for t in tangents[:2]]
        if inputs[3]:
            y = y.exp()
            made = of_g - y * (g.sum(-1, keepdim=True) * of_y + of_g.sum(-1, keepdim=True))
        else:
            change = (of_y * g + y * of_g).sum(-1, keepdim=True)
            made = of_y * (g - (y * g).sum(-1, keepdim=True)) + y * (of_g - change)
        made = made if saved[2] is None else made * saved[2]
        return (made.to(getattr(xp, inputs[4])),)

    @staticmethod
    def _wide(saved: Any, v: Any) -> Any:
        """Return y, the gradient and `v`, times the scale, in the type of sums."""
        y, grad, scale = saved
        kind = wide(y.dtype)
        v = v.to(kind) if scale is None else v.to(kind) * scale
        return y.to(kind), grad.to(kind), v


def short(x: Any, log: bool) -> Any | None:
    """Return softmax or log_softmax of floats along the last axis, with a gradient.

    None leaves the call to others: something in torch watches.
    """
    if not torch_autograd.is_short(x):
        return None
    bare = x.detach()
    y = softmax.plain_torch_call(bare, None, log)
    if y is None:
        y = softmax.log_softmax(bare) if log else softmax.softmax(bare)
    return _step(x, (y,), log, (y,))[0] if xp.is_grad_enabled() else y


def _pull(saved: Any, grads: Any, log: bool, watched: bool) -> Any:
    (y,), (grad,) = saved, grads
    if grad is None:
        return None
    if watched:
        shape = (y.shape[:-1].numel(), y.shape[-1])
        flat = y.reshape(shape), grad.reshape(shape)
        name = torch_.NAMES[y.dtype]
        dx = torch_autograd.call("softmax_backward", *flat, None, log, name)
        return dx.reshape(y.shape)
    return _gradient.softmax_backward(y, grad, log=log)


_step = torch_autograd.short(_pull)


def _run(y: Any, grad: Any, scale: Any, log: bool, dtype: str) -> Any:
    dx = _gradient.softmax_backward(y, grad.to(y.dtype), log=log)
    if scale is not None:
        dx *= scale
    return dx.to(torch_.DTYPES[dtype])


def _shapes(y: Any, grad: Any, scale: Any, log: bool, dtype: str) -> Any:
    return torch_.empty(y, tuple(y.shape), dtype)


def _batch(info: Any, in_dims: Any, y: Any, grad: Any, scale: Any, log: bool, dtype: str) -> Any:
    size = info.batch_size
    y, grad = merged(y, in_dims[0], size), merged(grad, in_dims[1], size)
    scale = merged_scale(scale, in_dims[2], size, y.shape[0] // size)
    made = torch_autograd.call("softmax_backward", y, grad, scale, log, dtype)
    return made.reshape(size, made.shape[0] // size, made.shape[1]), 0


torch_autograd.define(
    "softmax_backward(Tensor y, Tensor grad, Tensor? scale, bool log, str dtype) -> Tensor",
    _run, _shapes, BackwardRule(), _batch,
)  # fmt: skip
