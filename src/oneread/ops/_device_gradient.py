"""The backward passes on arrays that lie on a GPU.

Knows nothing of pointers, launches or array libraries.
"""

from __future__ import annotations

import math
from typing import Any

from oneread.backends import find
from oneread.ops._gradient import check_alike, check_float, check_numbers
from oneread.runtime import cuda_gradient
from oneread.spec import BackendUnavailableError, ShapeError

__all__ = ["logits_gradient", "softmax_backward"]


def logits_gradient(
    x: Any, given: dict[str, Any], softcap: float | None, temperature: float, out: Any
) -> Any:
    """Return the gradient of a sum of statistics of each row to its logits."""
    gpu = find.gpu_backend(x)
    x = _checked(gpu, x, "x")
    shape, dtype = tuple(x.shape), gpu.dtype_of(x)
    check_float(dtype, "x")
    if len(shape) != 2:
        raise ShapeError(f"x has shape {shape}; (rows, vocab) is allowed")
    held: list[Any] = []  # keeps copies until the kernel is in the stream

    def taken(value: Any, role: str) -> tuple[tuple[int, ...], str, Any]:
        plain = gpu.plain_beside(value, x)  # as nearly always
        if plain is not None:
            return plain[0], plain[1], lambda: plain[2]
        value = _checked(gpu, value, role, x)
        return tuple(value.shape), gpu.dtype_of(value), lambda: _address(gpu, value, held)

    with gpu.on(x):
        numbers = check_numbers(shape, dtype, given, taken)
        dx = _result(gpu, [x], out)
        if math.prod(shape):
            addresses = {role: number or 0 for role, number in numbers.items()}
            cuda_gradient.logits_gradient(
                gpu.memory(_rows(gpu, x, shape)), gpu.memory(dx),
                cuda_gradient.Numbers(**addresses), softcap, temperature,
            )  # fmt: skip
    return _finished(gpu, dx, out)


def of_plain_rows(
    x: Any, lse: Any, scale: Any, slope: Any, target: Any, at_target: Any, *, over: bool = False
) -> Any:
    """Return the same of tensors (..., vocab) and contiguous numbers for each row."""
    gpu = find.gpu_backend(x)
    x = gpu.contiguous(x)
    with gpu.on(x):
        dx = gpu.detached(x) if over else gpu.empty_like(x, gpu.dtype_of(x))
        if x.numel():
            shape = (lse.numel(), x.shape[-1])
            of_x = gpu.memory(x)._replace(shape=shape, strides=(shape[1], 1))
            of_dx = of_x._replace(address=gpu.address(dx))
            given = (lse, scale, slope, None, target, at_target)
            numbers = [0 if one is None else gpu.address(one) for one in given]
            cuda_gradient.logits_gradient(of_x, of_dx, cuda_gradient.Numbers(*numbers), None, 1.0)
    if over:
        gpu.written(dx)
    return dx


def softmax_backward(y: Any, grad: Any, log: bool, out: Any) -> Any:
    """Return the gradient to the logits of softmax or log_softmax over the last axis."""
    gpu = find.gpu_backend(y)
    y = _checked(gpu, y, "y")
    grad = _checked(gpu, grad, "grad", y)
    shape, dtype = tuple(y.shape), gpu.dtype_of(y)
    check_float(dtype, "y")
    check_alike(shape, dtype, tuple(grad.shape), gpu.dtype_of(grad), "grad", "y")
    with gpu.on(y):
        dx = _result(gpu, [y, grad], out)
        if math.prod(shape):
            vocab = shape[-1] if shape else 1
            matrix = (math.prod(shape) // vocab, vocab)
            rows = [_rows(gpu, one, matrix) for one in (y, grad)]
            of_y, of_grad, of_dx = (gpu.memory(one) for one in (*rows, dx.reshape(matrix)))
            cuda_gradient.softmax_backward(of_y, of_grad, of_dx, log)
    return _finished(gpu, dx, out)


def _checked(gpu: Any, x: Any, role: str, beside: Any = None) -> Any:
    """Return an array of which no gradient is wanted, on the GPU of `beside`."""
    if beside is not None and not (gpu.is_on_gpu(x) and gpu.place(x) == gpu.place(beside)):
        raise BackendUnavailableError(f"{role} is not on {gpu.place(beside)}, where x is")
    x = gpu.detached(x)
    gpu.check(x, role)
    return x


def _rows(gpu: Any, x: Any, shape: tuple[int, int]) -> Any:
    """Return an array as rows whose columns lie side by side: a copy where they do not."""
    rows = x.reshape(shape)
    return rows if shape[1] == 1 or gpu.memory(rows).strides[1] == 1 else gpu.contiguous(rows)


def _address(gpu: Any, numbers: Any, held: list[Any]) -> int:
    held.append(gpu.contiguous(numbers))
    address: int = gpu.memory(held[-1]).address
    return address


def _result(gpu: Any, reads: list[Any], out: Any) -> Any:
    """Return memory of the result; it may be that of one input, from first to last element."""
    shape, dtype = tuple(reads[0].shape), gpu.dtype_of(reads[0])
    if out is None:
        return gpu.empty(reads[0], shape, dtype)
    dx = gpu.detached(out)
    for read in reads:
        gpu.check_out(dx, read, shape, dtype)
    if not gpu.is_contiguous(dx) and (len(shape) != 2 or gpu.memory(dx).strides[1] != 1):
        raise ShapeError("out has columns that do not lie side by side; give rows that do")
    return dx


def _finished(gpu: Any, dx: Any, out: Any) -> Any:
    if out is None:
        return dx
    gpu.written(out)
    return out
