"""The backward passes on arrays of any library: gradients to logits.

Knows no kernel and nothing of autograd; `oneread.torch` calls it. A kernel reads each logit once
and writes its gradient once.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from oneread.backends import find
from oneread.backends.base import STORAGE, Backend, Memory, View, check_places
from oneread.ops._output import refuse_overlap
from oneread.runtime import cpu, reuse
from oneread.spec import COMPUTE_DTYPE, FLOAT_DTYPES, DtypeError, ShapeError

__all__ = ["logits_gradient", "softmax_backward"]

#: Numbers that a column has; all others a row has.
_PER_COLUMN: Final = "class_weight"
#: Types that do not follow from that of the logits.
_KINDS: Final = {"target": "int64", "temperature": "float64"}


def logits_gradient(
    x: Any,
    lse: Any,
    *,
    scale: Any,
    slope: Any = None,
    square: Any = None,
    target: Any = None,
    at_target: Any = None,
    uniform: Any = None,
    class_weight: Any = None,
    softcap: float | None = None,
    temperature: Any = None,
    out: Any = None,
) -> Any:
    """Return the gradient of a sum of statistics of each row to its logits.

    Parameters
    ----------
    x : array, shape (rows, vocab), float16|bfloat16|float32|float64
        Logits: NumPy, or PyTorch on a CPU or an NVIDIA GPU. Rows may lie any distance apart; where
        the columns of one do not lie side by side, `x` is copied first.
    lse : array, shape (rows,), float32|float64
        Logsumexp of each row, after the softcap and over the temperature. As all numbers of rows
        and columns float32, or float64 where `x` is; of the library and on the device of `x`.
    scale, slope, square, at_target, uniform : array, shape (rows,), optional
        Coefficients of the formula below; None is 0.
    target : array, shape (rows,), int64, optional
        A column of each row; one outside of the row is none.
    class_weight : array, shape (vocab,), optional
        What `uniform` is multiplied by in each column; None is 1.
    softcap : float, optional
        s of z = s tanh(x / s), above 0; None leaves z = x.
    temperature : float or array, shape (rows,), float64, optional
        What z is divided by, above 0; None is 1. The coefficients know of it already.
    out : array, optional
        Where to write: shape and type of `x`, which it may be itself.

    Returns
    -------
    array
        Shape, type and library of `x`; `out` itself when it is given.

    Raises
    ------
    ShapeError
        If a shape does not fit, `softcap` or `temperature` is not above 0, or `out` shares other
        memory with `x`.
    DtypeError
        If a type is not the one that is computed in.

    Notes
    -----
    With l = z / temperature - lse and p = exp(l): ``dx = (p (scale + slope l + square p) +
    at_target [column = target] + uniform w) dz/dx``. Rows whose coefficients are all 0 become 0
    whatever they hold. p = 0 adds exactly 0. A row with lse = -inf has p = 0, one with lse = inf or
    NaN is NaN; so is one whose temperature lies on a GPU and is not above 0.
    1 load and 1 store an element.
    """
    given = {
        "lse": lse, "scale": scale, "slope": slope, "square": square, "target": target,
        "at_target": at_target, "uniform": uniform, "class_weight": class_weight,
        "temperature": None if isinstance(temperature, (int, float)) else temperature,
    }  # fmt: skip
    if softcap is not None and not 0 < softcap < math.inf:
        raise ShapeError(f"softcap is {softcap}; a finite number above 0 is allowed")
    heat = float(temperature) if isinstance(temperature, (int, float)) else 1.0
    if not 0 < heat < math.inf:
        raise ShapeError(f"temperature is {temperature}; a finite number above 0 is allowed")
    if find.on_gpu(x):
        from oneread.ops import _device_gradient

        return _device_gradient.logits_gradient(x, given, softcap, heat, out)
    return _of_logits(x, given, softcap or 0.0, heat, out)


def of_plain_rows(
    x: Any, lse: Any, scale: Any, slope: Any, target: Any, at_target: Any, over: bool = False
) -> Any:
    """Return `logits_gradient` of contiguous tensors (..., vocab) and numbers for each row.

    Their types are those that are computed in. It is written `over` the logits where that is asked
    for; else nothing watches them. On a CPU the call has as little Python as possible.
    """
    numbers = (lse, scale, slope, target, at_target)
    given = [one if one is None else one.contiguous() for one in numbers]
    if x.is_cuda:
        from oneread.ops import _device_gradient

        return _device_gradient.of_plain_rows(x, *given, over=over)
    torch_: Any = find.torch_backend()
    pair = None if over else torch_.dense_pair(x)
    if pair is None:  # large, as a rule: then Python costs nothing
        flat = [one if one is None else one.reshape(-1) for one in given]
        names = ("scale", "slope", "target", "at_target")
        options = dict(zip(names, flat[1:], strict=True))
        rows = x.detach().reshape(-1, x.shape[-1])
        out = rows if over else None
        return logits_gradient(rows, flat[0], **options, out=out).reshape(x.shape)
    of_x, of_dx, dx = pair
    lse, scale, slope, target, at_target = [
        one if one is None else torch_.numbers(one) for one in given
    ]
    cpu.native.logits_gradient(
        of_x, of_dx, lse, scale, slope, None, target, at_target, None, None, 0.0, 1.0, cpu.threads,
        True,
    )  # fmt: skip
    return dx


def softmax_backward(y: Any, grad: Any, *, log: bool, out: Any = None) -> Any:
    """Return the gradient to the logits of softmax or log_softmax over the last axis.

    Parameters
    ----------
    y : array, float16|bfloat16|float32|float64
        What the forward pass returned: NumPy, or PyTorch on a CPU or an NVIDIA GPU. Where the
        columns of a row do not lie side by side, it is copied first.
    grad : array, shape, type and library of `y`
        Gradient to it.
    log : bool
        Whether it was log_softmax.
    out : array, optional
        Where to write: shape and type of `y`. It may be `y` or `grad` itself.

    Returns
    -------
    array
        Shape, type and library of `y`; `out` itself when it is given.

    Raises
    ------
    ShapeError
        If a shape does not fit, or `out` shares other memory with an input.
    DtypeError
        If `grad` or `out` is of another type than `y`.

    Notes
    -----
    ``dx = y (grad - sum of grad y)``, or with `log` ``grad - exp(y) sum of grad``. Sums are made
    in a fixed order, of 16-bit types in float32 or wider.
    """
    if find.on_gpu(y):
        from oneread.ops import _device_gradient

        return _device_gradient.softmax_backward(y, grad, log, out)
    backend = find.find(y)
    if out is None and type(y) is type(grad) is find.tensor_found:
        quick = _softmax_backward(backend, y, grad, log)
        if quick is not None:
            return quick
    memory, given = _memory(y, "y"), _memory(grad, "grad")
    check_alike(memory.shape, memory.dtype, given.shape, given.dtype, "grad", "y")
    dx, fresh = _result(backend, memory, [("y", memory), ("grad", given)], out)
    shape = memory.shape or (1,)
    of_y, of_grad, of_dx = (_rows(one, shape) for one in (memory, given, dx))  # kept until then
    if dx.array.size:  # else strides say nothing
        cpu.native.softmax_backward(
            of_y.operand, of_grad.operand, of_dx.operand, log, cpu.threads, fresh
        )
    return _finished(backend, y, dx, out)


def _softmax_backward(torch_: Any, y: Any, grad: Any, log: bool) -> Any | None:
    """Run the common case of tensors; None leaves it to the general one."""
    pair, given = torch_.dense_pair(y), torch_.dense(grad)
    if pair is None or given is None or given[1:3] != pair[0][1:3] or not y.numel():
        return None
    of_y, of_dx, dx = pair
    cpu.native.softmax_backward(of_y, given, of_dx, log, cpu.threads, True)
    return dx


def _of_logits(x: Any, given: dict[str, Any], softcap: float, heat: float, out: Any) -> Any:
    """Do it on a CPU; a softcap of 0 is none, and `heat` the temperature of rows without one."""
    backend = find.find(x)
    memory = _memory(x, "x")
    if len(memory.shape) != 2:
        raise ShapeError(f"x has shape {memory.shape}; (rows, vocab) is allowed")
    numbers = check_numbers(memory.shape, memory.dtype, given, _of_cpu)
    y, fresh = _result(backend, memory, [("x", memory)], out)
    rows = _rows(memory)  # what is copied stays until the kernel is done
    each = numbers.pop("temperature")
    if each is not None and not ((each > 0) & (each < math.inf)).all():
        raise ShapeError("temperature holds numbers that are not finite or not above 0")
    cpu.native.logits_gradient(
        rows.operand, y.operand, numbers["lse"], numbers["scale"], numbers["slope"],
        numbers["square"], numbers["target"], numbers["at_target"], numbers["uniform"],
        numbers["class_weight"], softcap, heat if each is None else each, cpu.threads, fresh,
    )  # fmt: skip
    return _finished(backend, x, y, out)


def check_numbers(
    shape: tuple[int, ...], dtype: str, given: dict[str, Any], taken: Any
) -> dict[str, Any]:
    """Return numbers of rows and columns as a kernel reads them, by `taken`; None stays.

    `taken(value, role)` gives shape, type and what makes it contiguous memory.
    """
    found: dict[str, Any] = dict.fromkeys(given)
    for role, value in given.items():
        if value is None:
            continue
        held, name, memory = taken(value, role)
        wanted = shape[1:] if role == _PER_COLUMN else shape[:1]
        if held != wanted:
            raise ShapeError(f"{role} has shape {held}; {wanted} is allowed with x of {shape}")
        kind = _KINDS.get(role, COMPUTE_DTYPE[dtype])
        if name != kind:
            raise DtypeError(f"{role} holds {name}; {kind} is allowed with x of {dtype}")
        found[role] = memory()
    return found


def check_alike(
    shape: tuple[int, ...], dtype: str, other_shape: tuple[int, ...], other: str, role: str, of: str
) -> None:
    """Raise unless an array has the shape and the type of another one."""
    if other_shape != shape:
        raise ShapeError(f"{role} has shape {other_shape}; {of} has shape {shape}")
    if other != dtype:
        raise DtypeError(f"{role} holds {other}; {of} holds {dtype}")


def check_float(dtype: str, role: str) -> None:
    """Raise unless numbers are of a type that gradients are computed in."""
    if dtype not in FLOAT_DTYPES:
        raise DtypeError(f"{role} holds {dtype}; {', '.join(FLOAT_DTYPES)} is allowed")


def _memory(x: Any, role: str, write: bool = False) -> Memory:
    """Return the memory of a long array."""
    backend = find.find(x)
    memory = backend.view(backend.detached(x), role, write)
    check_float(memory.dtype, role)
    if not memory.array.dtype.isnative:
        raise DtypeError(f"{role} holds {memory.dtype} of foreign byte order; convert it")
    return memory


def _of_cpu(value: Any, role: str) -> tuple[tuple[int, ...], str, Any]:
    backend = find.find(value)
    memory = backend.view(backend.detached(value), role)
    return memory.shape, memory.dtype, lambda: np.ascontiguousarray(memory.array)


def _rows(memory: Memory, shape: tuple[int, ...] | None = None) -> Memory:
    """Return memory whose rows lie side by side, a copy where they do not."""
    array = memory.array if shape is None else memory.array.reshape(shape)
    if array.shape[-1] > 1 and array.strides[-1] != array.itemsize:
        array = np.ascontiguousarray(array)
    return View(array, memory.dtype)


def _result(
    backend: Backend, memory: Memory, reads: list[tuple[str, Memory]], out: Any
) -> tuple[Memory, bool]:
    """Return memory of the result, and whether its pages are yet to come."""
    if out is None:
        made, fresh = reuse.large(np.empty(memory.shape, STORAGE[memory.dtype]))
        return View(made, memory.dtype), fresh
    if not backend.owns(out):
        raise DtypeError(f"out is a {type(out).__qualname__}; an array as x is one is allowed")
    given = _memory(out, "out", write=True)
    check_alike(memory.shape, memory.dtype, given.shape, given.dtype, "out", reads[0][0])
    array = given.array
    check_places(array.shape, array.strides)
    if array.ndim and array.shape[-1] > 1 and array.strides[-1] != array.itemsize:
        raise ShapeError("out has columns that do not lie side by side; give rows that do")
    for role, read in reads:
        if not _is_same(array, read.array):
            refuse_overlap("out", array, role, read.array)
    return given, False


def _is_same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return bool(a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
                and a.strides == b.strides)  # fmt: skip


def _finished(backend: Backend, like: Any, result: Memory, out: Any) -> Any:
    if out is None:
        return backend.wrap(result.array, result.dtype, like)
    backend.written(out)
    return out
