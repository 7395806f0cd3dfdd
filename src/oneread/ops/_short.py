"""Plain calls of tensors that read rows, with their gradient as one step of autograd.

Knows torch only by its backend, and kernels by what calls them. Plain are contiguous floats along
the last axis, without options, where nothing watches but autograd.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from oneread.backends import torch_, torch_autograd
from oneread.ops import _device_calls, _gradient
from oneread.ops._derive import xp
from oneread.ops._face import FIELDS, LOGPROB, outside
from oneread.runtime import cpu
from oneread.spec import BackendUnavailableError

__all__ = ["check_overwriting", "read_rows"]

_LSE, _SELECTED, _ENTROPY = map(FIELDS.index, ("lse", "selected", "entropy"))
#: What a GPU's call is not asked for.
_NOTHING: Final = {"top_k": 0, "rank": False, "sum_p2": False, "argmax": False, "keepdims": False}


def read_rows(
    x: Any, select: Any = None, entropy: bool = False, over: bool = False
) -> tuple[Any, ...] | None:
    """Return lse, the log-probability of a column of each row, and its entropy, as far as asked.

    With `over` the gradient is written over the logits, which must be memory where it may be. None
    where that is no plain call. Columns are int64 of the shape of lse. One that is outside of its
    row raises IndexError on a CPU, and is NaN on a GPU.
    """
    if not torch_autograd.is_short(x):
        return None
    if select is not None and not (
        type(select) is torch_.TENSOR
        and select.dtype is xp.int64
        and select.shape == x.shape[:-1]
        and torch_.is_bare(select)
    ):
        return None
    made = (_on_gpu if x.is_cuda else _on_cpu)(x, select, entropy)
    if made is None or not x.requires_grad or not xp.is_grad_enabled():
        return made
    # What was selected may be changed in place; no derivative looks at it.
    return _step(x, made, (entropy, over), (x, made[0], made[-1] if entropy else None, select))


def _on_gpu(x: Any, select: Any, entropy: bool) -> tuple[Any, ...] | None:
    x = x.detach()
    if select is None and not entropy:
        lse = _device_calls.run("logsumexp", x, -1, None, None, _NOTHING)
        return None if lse is None else (lse,)
    own = {**_NOTHING, "select": select, "entropy": entropy}
    read = _device_calls.run("read", x, -1, None, None, own)
    if read is None:
        return None
    return tuple([y for y in (read.lse, read.selected, read.entropy) if y is not None])


def _on_cpu(x: Any, select: Any, entropy: bool) -> tuple[Any, ...] | None:
    operand = torch_.dense(x)
    if operand is None or not x.numel():
        return None
    shape = operand[2]
    kind = "float64" if operand[1] == "float64" else "float32"
    asked, columns = [_LSE], None
    if select is not None:
        if not (select.is_cpu and select.is_contiguous()):
            return None
        address, name, n, step = torch_.numbers(select)
        columns = (address, name, (*n, 1), (*step, *step))
        asked.append(_SELECTED)
    if entropy:
        asked.append(_ENTROPY)
    written: list[Any] = [None] * len(FIELDS)
    for place in asked:
        written[place] = np.empty(shape[:-1], kind)
    try:
        cpu.native.reduce(
            operand, (len(shape) - 1,), None, None, None, cpu.threads, 0,
            "read" if len(asked) > 1 else "logsumexp", LOGPROB, columns, None, tuple(written),
        )  # fmt: skip
    except IndexError:
        raise IndexError(outside(shape[-1], select.numpy())) from None
    return tuple([torch_.wrap(written[place], kind, x) for place in asked])


def _pull(saved: Any, grads: Any, own: tuple[bool, bool], watched: bool) -> Any:
    """Return the gradient for the logits: ``p (scale + slope log p)``, and points at columns."""
    x, lse, of_entropy, columns = saved
    entropy, over = own
    scale, slope, points = grads[0], None, None
    if len(grads) - entropy > 1 and grads[1] is not None:
        points = grads[1]
        scale = -points if scale is None else scale - points
    if entropy and grads[-1] is not None:
        slope = -grads[-1]
        more = slope * of_entropy
        scale = more if scale is None else scale + more
    if scale is None:
        return None
    if points is None:
        columns = None
    if over:
        check_overwriting()
    elif watched:
        return _of_operator(x, lse, scale, slope, columns, points)
    return _gradient.of_plain_rows(x, lse, scale, slope, columns, points, over)


def check_overwriting() -> None:
    """Raise where a gradient that is written over the logits may need them once more."""
    if xp.is_grad_enabled():
        raise BackendUnavailableError(
            "overwrite_logits is True, and a gradient of the gradient is expected, which needs the "
            "logits: leave it False"
        )


def _of_operator(x: Any, lse: Any, scale: Any, slope: Any, columns: Any, points: Any) -> Any:
    """Return the same from the operator, which others may look at."""
    n = lse.numel()
    flat = [one if one is None else one.reshape(n) for one in (lse, scale, slope)]
    beside = [one if one is None else one.reshape(n, 1) for one in (columns, points)]
    dx = torch_autograd.call(
        "logits_gradient", x.reshape(n, x.shape[-1]), *flat, None, *beside, None, None, None, None
    )
    return dx.reshape(x.shape)


_step = torch_autograd.short(_pull)
