"""PyTorch tensors on a CPU: their memory by pointer, results as tensors, and the dispatcher.

Knows nothing of the maths of an op. Imported only when somebody has imported torch. Memory is
taken by its pointer: DLPack costs microseconds, and `Tensor.numpy` forbids later resizing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.autograd import forward_ad

from oneread.backends.base import STORAGE
from oneread.spec import FLOAT_DTYPES, BackendUnavailableError, DtypeError, ShapeError

NAME: Final = "torch"
TENSOR: Final = torch.Tensor
ORDER: Final = "C"

#: Names of torch's types that an op can take.
NAMES: Final[dict[torch.dtype, str]] = {
    getattr(torch, name): name for name in STORAGE if hasattr(torch, name)
}
_FLOATS: Final = {dtype: name for dtype, name in NAMES.items() if name in FLOAT_DTYPES}
DTYPES: Final = {name: dtype for dtype, name in NAMES.items()}

#: What may number something in a graph.
INTEGERS: Final = (int, torch.SymInt)

#: From here on NumPy asks for huge pages and torch does not: fresh memory costs half.
_HUGE_BYTES: Final = 4 << 20

_keys = torch._C._dispatch_keys
#: Dispatch keys of tensors that are nothing but memory on a CPU: no sparse, nested or quantized
#: layout, no lazy negation, no batching, no tracing. The second are those of inference mode.
_PLAIN_KEYS: Final = (
    _keys(torch.inference_mode(False)(torch.empty)(0)),
    _keys(torch.inference_mode(True)(torch.empty)(0)),
)
is_compiling = torch.compiler.is_compiling
in_dynamo = torch.compiler.is_dynamo_compiling
_frame_callback = torch._C._dynamo.eval_frame.get_eval_frame_callback
_dispatch_modes = torch._C._len_torch_dispatch_stack
_transform = torch._C._functorch.peek_interpreter_stack
_jit_trace = torch._C._get_tracing_state
#: Say whether something in torch wants to see what is done with any tensor: a dispatch mode, a
#: function transform, a trace.
WATCHERS: Final = [_dispatch_modes, _transform, _jit_trace]
_PLAIN_TYPES: Final = frozenset((torch.Tensor, torch.nn.Parameter))


def owns(x: Any) -> bool:
    """Whether `x` is a tensor."""
    return isinstance(x, torch.Tensor)


class TensorMemory:
    """Memory of a plain tensor on a CPU."""

    __slots__ = ("_array", "_tensor", "dtype", "shape")

    def __init__(self, x: torch.Tensor) -> None:
        self._tensor = x  # keeps the memory alive
        self._array: NDArray[Any] | None = None
        self.dtype = NAMES[x.dtype]
        self.shape: tuple[int, ...] = tuple(x.shape)

    @property
    def operand(self) -> Any:
        """It as the native module takes it."""
        return self._tensor.data_ptr(), self.dtype, self.shape, self._strides()

    @property
    def array(self) -> NDArray[Any]:
        """It as a NumPy array, bfloat16 as uint16; nothing is copied."""
        if self._array is None:
            holder = _Holder()
            holder.tensor = self._tensor
            holder.__array_interface__ = {
                "version": 3,
                "typestr": STORAGE[self.dtype].str,
                "shape": self.shape,
                "strides": self._strides(),
                "data": (self._tensor.data_ptr(), False),
            }
            self._array = np.asarray(holder)
        return self._array

    def _strides(self) -> tuple[int, ...]:
        size = self._tensor.itemsize
        return tuple([size * step for step in self._tensor.stride()])


def view(x: Any, role: str, write: bool = False) -> TensorMemory:
    """Return the memory of a tensor without copying it."""
    check(x, role)
    return TensorMemory(x)


def wrap(array: NDArray[Any], dtype: str, like: Any) -> torch.Tensor:
    """Return a tensor around the memory of a NumPy array.

    Results are allocated by NumPy, which asks for huge pages from 4 MiB on, where torch does not.
    """
    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if dtype == "bfloat16" else tensor


def _counter() -> Callable[[tuple[torch.Tensor]], None]:
    """Return what counts a write to tensors, without the look at its argument, which costs more."""
    direct: Callable[[tuple[torch.Tensor]], None] = torch._C._increment_version
    try:
        direct((torch.empty(0),))
    except TypeError:  # before PyTorch 2.7 it took one tensor
        return lambda tensors: torch.autograd.graph.increment_version(tensors[0])
    return direct


count_writes: Final = _counter()


def written(out: torch.Tensor) -> None:
    """Count the write, so that autograd notices when it still needed the old numbers."""
    if not out.is_inference():
        count_writes((out,))


def plain(x: Any) -> tuple[Any, ...] | None:
    """Return a contiguous float tensor as the native module takes it.

    None whenever anything is out of the ordinary, which a slower path then names or handles. One
    long test on purpose: this is the cost of every small call.
    """
    if (
        type(x) is not torch.Tensor
        or is_compiling()
        or _dispatch_modes()
        or _transform() is not None
        or _jit_trace() is not None
        or forward_ad._current_level >= 0
        or (name := _FLOATS.get(x.dtype)) is None
        or not _is_plain(x)
        or x.untyped_storage().nbytes() < x.nbytes
    ):
        return None
    shape, size = x.shape, x.itemsize
    if len(shape) == 2:
        return x.data_ptr(), name, shape, (size * shape[1], size)
    return x.data_ptr(), name, shape, tuple([size * step for step in x.stride()])


def plain_pair(x: Any, out: Any) -> tuple[Any, Any, torch.Tensor] | None:
    """Return the operands of such a tensor and of a result like it, and the result; or None."""
    operand = plain(x)
    if operand is None:
        return None
    n_bytes = x.nbytes
    if out is None:
        if n_bytes >= _HUGE_BYTES:
            return None
        out = torch.empty_like(x)
    elif out is not x and (
        type(out) is not torch.Tensor
        or out.dtype != x.dtype
        or out.shape != x.shape
        or not _is_plain(out)
        or -n_bytes < out.data_ptr() - operand[0] < n_bytes
        or out.untyped_storage().nbytes() < n_bytes
    ):
        return None
    return operand, (out.data_ptr(), *operand[1:]), out


def _is_plain(x: torch.Tensor) -> bool:
    """Whether a tensor is contiguous memory on a CPU, with no gradient to it."""
    return not (
        x.requires_grad
        or not x.is_cpu
        or x.layout is not torch.strided
        or x.is_neg()
        or x.is_nested
        or not x.ndim
        or not x.is_contiguous()
    )


class _Holder:
    """Offers memory to NumPy through its array interface."""

    __slots__ = ("__array_interface__", "tensor")

    tensor: torch.Tensor
    __array_interface__: dict[str, Any]


def check(x: torch.Tensor, role: str = "x") -> None:
    """Raise unless `x` is plain memory on a CPU whose gradient nobody expects."""
    check_gradient(x, role)
    keys = _keys(x)
    if keys not in _PLAIN_KEYS or x.dtype not in NAMES:
        _refuse(x, role)
    if x.numel() and _storage_bytes(x) > x.untyped_storage().nbytes():
        raise ShapeError(
            f"{role} has no storage for its elements (shape {tuple(x.shape)}): it was freed or "
            "cut short"
        )


def _storage_bytes(x: torch.Tensor) -> int:
    """Return how many bytes of its storage a tensor with elements reaches over."""
    steps = zip(x.shape, x.stride(), strict=True)
    return int(x.itemsize * (1 + x.storage_offset() + sum([(n - 1) * step for n, step in steps])))


def check_gradient(x: torch.Tensor, role: str) -> None:
    """Raise when a gradient is expected of what is done with `x`."""
    if x.requires_grad and torch.is_grad_enabled():
        raise BackendUnavailableError(
            f"{role} requires a gradient, which this version does not compute: call the op under "
            "torch.no_grad(), or give x.detach()"
        )
    if forward_ad._current_level >= 0 and forward_ad.unpack_dual(x).tangent is not None:
        raise BackendUnavailableError(
            f"{role} carries a forward-mode tangent, which this version does not compute"
        )


def _refuse(x: torch.Tensor, role: str) -> None:
    if x.device.type not in ("cpu", "meta"):
        raise BackendUnavailableError(
            f"{role} is on {x.device}; this version computes on a CPU: give x.cpu()"
        )
    if x.is_neg() or x.is_conj():
        what, instead = "a view that negates or conjugates lazily", "x.resolve_neg()"
    elif x.device.type == "meta":
        what, instead = "a meta tensor without numbers", "a tensor on a CPU"
    elif x.is_quantized:
        what, instead = "quantized", "x.dequantize()"
    elif x.is_nested:
        what, instead = "nested", "a padded tensor with lengths="
    elif x.layout != torch.strided:
        what, instead = f"of layout {x.layout}", "x.to_dense()"
    elif x.dtype not in NAMES:
        what, instead = f"of type {x.dtype}", f"one of {', '.join(DTYPES)}"
    else:
        what, instead = f"not plain memory ({_keys(x)})", "a plain tensor"
    raise DtypeError(f"{role} is {what}, which is not supported: give {instead}")


def compiler_watches() -> bool:
    """Whether torch.compile traces the caller, or would look at what the caller calls."""
    return is_compiling() or _frame_callback() is not None


def dispatched(x: Any) -> bool:
    """Whether a call with `x` must go through torch's dispatcher instead of to its memory.

    True while a graph is being captured, under a dispatch mode such as FakeTensorMode, inside a
    function transform, and for tensor subclasses.
    """
    return (
        is_compiling()
        or type(x) not in _PLAIN_TYPES
        or _dispatch_modes() > 0
        or _transform() is not None
        or _jit_trace() is not None
    )


_library = torch.library.Library("oneread", "DEF")


def define(schema: str, run: Callable[..., Any], shapes: Callable[..., Any]) -> None:
    """Register an operator in ``torch.ops.oneread``, so that graphs can hold the op.

    `run` computes with tensors on a CPU; `shapes` makes empty results for tensors without numbers.
    Registered by hand: the `custom_op` decorator costs tens of microseconds a call.
    """
    name = schema.partition("(")[0]
    _library.define(schema, tags=torch.Tag.pt2_compliant_tag)
    _library.impl(name, run, "CPU")
    torch.library.register_fake(f"oneread::{name}", shapes, lib=_library)


def operator(name: str) -> Any:
    """Return the registered operator."""
    return getattr(torch.ops.oneread, name)


def argument(value: Any, kind: str) -> Any:
    """Return an argument as the schema type `kind` takes it: arrays and numbers as tensors."""
    if kind != "Tensor?" or value is None or isinstance(value, torch.Tensor):
        return value
    return torch.as_tensor(value, dtype=torch.float64 if type(value) is float else None)


def empty(x: torch.Tensor, shape: tuple[int, ...], dtype: str) -> torch.Tensor:
    """Return a tensor on the device of `x`, without numbers where `x` has none."""
    return x.new_empty(shape, dtype=DTYPES[dtype])


def copy_into(out: Any, result: torch.Tensor, role: str) -> Any:
    """Copy a result of the dispatcher to the `out` that the caller gave."""
    if not isinstance(out, torch.Tensor):
        raise DtypeError(f"{role} is a {type(out).__qualname__}; a tensor is allowed")
    if out.dtype != result.dtype:
        raise DtypeError(f"{role} holds {out.dtype}; the result is {result.dtype}")
    if out.shape != result.shape:
        raise ShapeError(f"{role} has shape {out.shape}; the result has shape {result.shape}")
    return out.copy_(result)
