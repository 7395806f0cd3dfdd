"""cross_entropy: the loss of a classifier, with the options of PyTorch's and two of our own.

Knows no kernel. What is computed of each row is in `_loss` and `_soft_loss`.
"""

from __future__ import annotations

import math
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn.functional import nll_loss

from oneread.backends import torch_, torch_autograd
from oneread.ops import _short
from oneread.ops._derive_logits import compute
from oneread.spec import FLOAT_DTYPES, BackendUnavailableError, DtypeError, ShapeError
from oneread.torch import _soft_loss  # registers the operator used here
from oneread.torch._loss import Options, coefficients, weight_of

assert _soft_loss

_REDUCTIONS: Final = ("mean", "sum", "none")


def cross_entropy(
    logits: Tensor,
    target: Tensor,
    *,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    softcap: float | None = None,
    overwrite_logits: bool = False,
) -> Tensor:
    """Return the cross entropy between logits and a target, as torch's function of that name does.

    Parameters
    ----------
    logits : Tensor, shape (classes,), (rows, classes) or (rows, classes, ...)
        On a CPU or an NVIDIA GPU, float16, bfloat16, float32 or float64.
    target : Tensor
        The number of a class for each row, any integer type: the shape of `logits` without the
        classes. Or a number for each class: floats of the shape of `logits`.
    weight : Tensor of float, shape (classes,), optional
        What the classes count.
    ignore_index : int, default -100
        Rows with exactly this target have no part in the loss, and a gradient of exactly 0,
        whatever their logits are.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        As torch has it: the mean is over the weights of the targets that are not ignored. It is
        NaN when all are.
    label_smoothing : float, default 0.0
        How much of the target is spread over all classes, 0 to 1.
    z_loss : float, default 0.0
        Adds ``z_loss * logsumexp(logits) ** 2`` to each row that is not ignored.
    softcap : float, optional
        Take ``softcap * tanh(logits / softcap)`` for the logits.
    overwrite_logits : bool, default False
        Let the backward pass write the gradient over the logits, which takes no memory. They are
        gone then: autograd raises where it still needs them.

    Returns
    -------
    Tensor
        One number, or one a row for ``reduction='none'``; float32, or float64 for that.

    Raises
    ------
    ShapeError
        If a shape or the value of an option does not fit; if `logits` cannot be overwritten, for
        they are a leaf, not contiguous, or watched by a transformation.
    DtypeError
        If `logits` is of another type; if the target holds booleans, or floats that are not of the
        shape of `logits`.
    IndexError
        If a target is outside the classes, on a CPU. On a GPU the loss of its row is NaN.
    BackendUnavailableError
        If `target` or `weight` lies on another device than `logits`; if a gradient for `weight`
        is expected.

    Notes
    -----
    One read of the logits, and a second one with `label_smoothing`, `softcap` or a target for each
    class. The gradient is one read and one write; it keeps the logits and one number a row for
    that. Logits whose classes do not lie side by side, as those of (rows, classes, ...) do not, are
    copied first. Differentiable as often as one likes, with forward-mode gradients and under
    `torch.func`.

    Examples
    --------
    >>> import torch, oneread.torch
    >>> logits = torch.zeros(2, 4, requires_grad=True)
    >>> loss = oneread.torch.cross_entropy(logits, torch.tensor([1, -100]))
    >>> loss.backward()
    >>> logits.grad.tolist()
    [[0.25, -0.75, 0.25, 0.25], [0.0, 0.0, 0.0, 0.0]]
    """
    if weight is softcap is None and label_smoothing == z_loss == 0:
        quick = _plain(logits, target, ignore_index, reduction, overwrite_logits)
        if quick is not None:
            return quick
    soft = target.is_floating_point()
    _check(logits, target, weight, soft)
    options = _options(reduction, label_smoothing, z_loss, softcap, ignore_index)
    dim = min(1, logits.ndim - 1)
    x, outer = _as_rows(logits, dim)
    if soft:
        if overwrite_logits:
            raise ShapeError("overwrite_logits with a target for each class: give class numbers")
        held, _ = _as_rows(target, dim)
        loss = torch_autograd.call("soft_cross_entropy", x, held, weight, *options)[0]
    else:
        held = (target if target.ndim == 1 else target.reshape(x.shape[0])).long()
        if overwrite_logits:
            _check_overwritten(logits, x)
            loss = _Overwriting.apply(x, held, weight, options)
        else:
            loss = torch_autograd.call("cross_entropy", x, held, weight, *options)[0]
    if reduction == "none":
        return loss.reshape(outer)
    if reduction == "sum":
        return loss.sum()
    return loss.sum() / _count(x, held, weight, ignore_index, soft)


def _plain(
    logits: Tensor, target: Tensor, ignore_index: int, reduction: str, over: bool
) -> Tensor | None:
    """Return the loss without options in a plain call; None leaves it to the operator.

    Of the columns that are read the loss is what `nll_loss` makes of them, each the only class of
    its row, with 1 for the class of rows that are ignored.
    """
    if (
        logits.ndim != 2
        or type(target) is not Tensor
        or target.dtype != torch.int64
        or type(ignore_index) is not int
        or reduction not in _REDUCTIONS
    ):
        return None
    if over:
        if target.shape != logits.shape[:1]:
            return None
        _check_overwritten(logits, logits)
    try:
        made = _short.read_rows(logits, target, over=over)
    except IndexError:  # of a row that is ignored, as a rule
        made = _without_outside(logits, target, ignore_index, over)
    if made is None:
        return None
    ignored = torch.eq(target, ignore_index, out=torch.empty_like(target))
    return nll_loss(made[1].unsqueeze(1), ignored, ignore_index=1, reduction=reduction)


def _without_outside(logits: Tensor, target: Tensor, ignore_index: int, over: bool) -> Any:
    """Read the rows with some column of those that are ignored; None where others lie outside."""
    try:
        return _short.read_rows(logits, target.masked_fill(target == ignore_index, 0), over=over)
    except IndexError:
        return None


def _count(x: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, soft: bool) -> Any:
    """Return what the sum is divided by for the mean."""
    if soft:
        return x.shape[0]
    if weight is None:
        return (target != ignore_index).sum()
    return weight_of(weight, target, target == ignore_index, x).sum()


def _as_rows(x: Tensor, dim: int) -> tuple[Tensor, tuple[int, ...]]:
    """Return (rows, classes), and the shape of a number a row."""
    if x.ndim == 2:
        return x, x.shape[:1]
    x = x.movedim(dim, -1)
    outer = x.shape[:-1]
    return x.reshape(math.prod(outer), x.shape[-1]), outer


def _check(logits: Tensor, target: Tensor, weight: Tensor | None, soft: bool) -> None:
    shape = tuple(logits.shape)
    if torch_.NAMES.get(logits.dtype) not in FLOAT_DTYPES:
        raise DtypeError(f"logits holds {logits.dtype}; {', '.join(FLOAT_DTYPES)} is allowed")
    if not shape:
        raise ShapeError("logits is one number without dimensions; classes are needed")
    if target.dtype == torch.bool or target.is_complex():
        raise DtypeError(f"target holds {target.dtype}; integers, or floats, are allowed")
    if soft and target.shape != logits.shape:
        raise DtypeError(
            f"target holds {target.dtype} with shape {tuple(target.shape)}; numbers for each class "
            f"have the shape of logits, {shape}, and numbers of classes are integers"
        )
    rows = shape[:1] + shape[2:] if len(shape) > 1 else ()
    if not soft and tuple(target.shape) != rows:
        raise ShapeError(
            f"target has shape {tuple(target.shape)}; {rows}, that of logits without the classes, "
            "is allowed"
        )
    classes = shape[min(1, len(shape) - 1)]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise ShapeError(f"weight has shape {tuple(weight.shape)}; ({classes},) is allowed")
    for role, given in (("target", target), ("weight", weight)):
        if given is not None and given.device != logits.device:
            raise BackendUnavailableError(
                f"{role} is on device {given.device}; that of logits, {logits.device}, is allowed"
            )


def _options(
    reduction: str, label_smoothing: float, z_loss: float, softcap: float | None, ignore_index: int
) -> Options:
    if reduction not in _REDUCTIONS:
        raise ShapeError(f"reduction is {reduction!r}; 'mean', 'sum' or 'none' is allowed")
    if not 0 <= label_smoothing <= 1:
        raise ShapeError(f"label_smoothing is {label_smoothing}; 0 to 1 is allowed")
    if not abs(z_loss) < math.inf:  # as torch.compile can trace it
        raise ShapeError(f"z_loss is {z_loss}; a finite number is allowed")
    if softcap is not None and not 0 < softcap < math.inf:
        raise ShapeError(f"softcap is {softcap}; a finite number above 0, or None, is allowed")
    return Options(label_smoothing, z_loss, softcap, ignore_index)


def _check_overwritten(logits: Tensor, x: Tensor) -> None:
    """Raise unless the memory of the logits can become that of their gradient."""
    base = x if x._base is None else x._base
    if torch_.dispatched(logits) or torch_.has_tangent((logits,)):
        why = "a transformation watches them"
    elif x.untyped_storage().data_ptr() != logits.untyped_storage().data_ptr():
        why = "the classes do not lie side by side"
    elif not x.is_contiguous():
        why = "they are not contiguous"
    elif logits.requires_grad and (base.is_leaf or logits.retains_grad):
        why = "they are a leaf, or keep their gradient, which would share their memory"
    else:
        return
    raise ShapeError(f"overwrite_logits is True, but logits cannot be overwritten: {why}")


class _Overwriting(torch.autograd.Function):  # type: ignore[misc]
    """The loss of each row, whose backward pass writes the gradient over the logits."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, target: Tensor, weight: Any, options: Options) -> Tensor:
        loss, lse = torch_autograd.run("cross_entropy", x, target, weight, *options)
        ctx.save_for_backward(x, target, weight, lse)
        ctx.options = options
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        _short.check_overwriting()
        x, target, weight, lse = ctx.saved_tensors
        x = x.detach()
        made_of = coefficients(x, target, weight, lse, ctx.options, (grads[0], None))
        return compute(x, lse, *made_of, out=x), None, None, None
