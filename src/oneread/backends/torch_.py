"""PyTorch tensors on a CPU: their memory by pointer, results as tensors, and the dispatcher.

Knows nothing of the maths of an op. Imported only when somebody has imported torch. Memory is
taken by its pointer: DLPack costs microseconds, and `Tensor.numpy` forbids later resizing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.autograd import forward_ad

from oneread.backends.base import STORAGE
from oneread.spec import FLOAT_DTYPES, BackendUnavailableError, DtypeError, ShapeError

NAME: Final = "torch"
TENSOR: Final = torch.Tensor
#: Functions on tensors.
NAMESPACE: Final = torch
ORDER: Final = "C"

#: Names of torch's types that an op can take.
NAMES: Final[dict[torch.dtype, str]] = {
    getattr(torch, name): name for name in STORAGE if hasattr(torch, name)
}
_FLOATS: Final = {dtype: name for dtype, name in NAMES.items() if name in FLOAT_DTYPES}
DTYPES: Final = {name: dtype for dtype, name in NAMES.items()}

#: What may number something in a graph.
INTEGERS: Final = (int, torch.SymInt)
#: Types of numbers of Python, and those of tensors that hold them.
_NUMBERS: Final = {float: torch.float64, int: torch.int64}

#: From here on NumPy asks for huge pages and torch does not: fresh memory costs half.
_HUGE_BYTES: Final = 4 << 20

_keys = torch._C._dispatch_keys
#: Dispatch keys of tensors that are nothing but memory on a CPU: no sparse, nested or quantized
#: layout, no lazy negation, no batching, no tracing. The second are those of inference mode. The
#: module may be loaded within a transform or a mode, which would add its own.
with torch._C._DisableFuncTorch(), torch._C._DisableTorchDispatch():
    _PLAIN_KEYS: Final = tuple(
        [_keys(torch.inference_mode(mode)(torch.empty)(0, device="cpu")) for mode in (False, True)]
    )
is_compiling = torch.compiler.is_compiling
in_dynamo = torch.compiler.is_dynamo_compiling
_frame_callback = torch._C._dynamo.eval_frame.get_eval_frame_callback
_dispatch_modes = torch._C._len_torch_dispatch_stack
_transform = torch._C._functorch.peek_interpreter_stack
_is_batch = torch._C._functorch.is_legacy_batchedtensor
_jit_trace = torch._C._get_tracing_state
#: Say whether something in torch wants to see what is done with any tensor: a dispatch mode, a
#: function transform, a trace.
WATCHERS: Final = [_dispatch_modes, _transform, _jit_trace]
#: Says whether a dispatch key is out of sight, and the key below which no tangents are.
_is_excluded = torch._C._dispatch_tls_is_dispatch_key_excluded
_TANGENTS: Final = torch._C.DispatchKey.ADInplaceOrView
#: Types of tensors that hide nothing.
PLAIN_TYPES: Final = frozenset((torch.Tensor, torch.nn.Parameter))


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


def detached(x: Any) -> Any:
    """Return a view of which no gradient is wanted."""
    return x.detach() if isinstance(x, torch.Tensor) else x


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
        direct((torch.empty(0, device="cpu"),))
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
        or x.requires_grad
    ):
        return None
    return dense(x)


def dense(x: torch.Tensor) -> tuple[Any, ...] | None:
    """Return the same of a tensor that nothing watches, whose gradient somebody else takes."""
    if (
        (name := _FLOATS.get(x.dtype)) is None
        or not _is_dense(x)
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
        or out.requires_grad
        or not _is_dense(out)
        or -n_bytes < out.data_ptr() - operand[0] < n_bytes
        or out.untyped_storage().nbytes() < n_bytes
    ):
        return None
    return operand, (out.data_ptr(), *operand[1:]), out


def _is_dense(x: torch.Tensor) -> bool:
    """Whether a tensor is contiguous memory on a CPU."""
    return not (
        not x.is_cpu
        or x.layout is not torch.strided
        or x.is_neg()
        or x._is_zerotensor()
        or x.is_nested
        or not x.ndim
        or not x.is_contiguous()
    )


def dense_pair(x: torch.Tensor) -> tuple[Any, Any, torch.Tensor] | None:
    """Return the operands of such a tensor and of a fresh result like it, and the result.

    None also where the result is better allocated by NumPy.
    """
    operand = dense(x)
    if operand is None or x.nbytes >= _HUGE_BYTES:
        return None
    y = torch.empty_like(x)
    return operand, (y.data_ptr(), *operand[1:]), y


def numbers(x: torch.Tensor) -> tuple[Any, ...]:
    """Return contiguous numbers in memory of a CPU as the native module takes them."""
    return x.data_ptr(), NAMES[x.dtype], (x.numel(),), (x.itemsize,)


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
            "torch.no_grad(), or detach it"
        )
    if has_tangent((x,)):
        raise BackendUnavailableError(
            f"{role} carries a forward-mode tangent, which this version does not compute"
        )


def has_tangent(inputs: Iterable[Any]) -> bool:
    """Whether forward-mode gradients flow through one of these."""
    if forward_ad._current_level < 0 or _is_excluded(_TANGENTS):
        return False
    tensors = [x for x in inputs if isinstance(x, torch.Tensor) and x.is_floating_point()]
    return any(forward_ad.unpack_dual(x).tangent is not None for x in tensors)


def _refuse(x: torch.Tensor, role: str) -> None:
    if x.device.type not in ("cpu", "meta"):
        raise BackendUnavailableError(
            f"{role} is on {x.device}; this version computes on a CPU: give x.cpu()"
        )
    if x.is_neg() or x.is_conj():
        what, instead = "a view that negates or conjugates lazily", "x.resolve_neg()"
    elif x._is_zerotensor():
        what, instead = "zeros without memory, as a derivative may be", "torch.zeros_like(x)"
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
        or type(x) not in PLAIN_TYPES
        or _dispatch_modes() > 0
        or _transform() is not None
        or _jit_trace() is not None
    )


def transformed() -> bool:
    """Whether a transform of torch.func is at work."""
    return _transform() is not None


def is_bare(x: torch.Tensor) -> bool:
    """Whether a tensor is of no subclass, and of no batch that `autograd.grad` makes."""
    return type(x) in PLAIN_TYPES and not _is_batch(x)


def differentiated(x: Any) -> bool:
    """Whether derivatives with respect to this tensor are wanted."""
    return (x.requires_grad and torch.is_grad_enabled()) or has_tangent((x,))


library: Final = torch.library.Library("oneread", "DEF")


def define(schema: str, run: Callable[..., Any], shapes: Callable[..., Any]) -> None:
    """Register an operator in ``torch.ops.oneread``, so that graphs can hold the op.

    `run` computes with tensors that are memory; `shapes` makes empty results for tensors without
    numbers. Registered by hand: the `custom_op` decorator costs tens of microseconds a call.
    """
    name = schema.partition("(")[0]
    library.define(schema, tags=torch.Tag.pt2_compliant_tag)
    for device in ("CPU", "CUDA"):
        library.impl(name, run, device)
    torch.library.register_fake(f"oneread::{name}", shapes, lib=library)


def name_in_exports(result: type) -> None:
    """Let a program of torch.export that returns this named tuple be saved."""
    register = getattr(torch.utils._pytree, "_register_namedtuple", None)
    if register is not None:  # PyTorch has no public one, and older ones none at all
        register(result, serialized_type_name=f"oneread.{result.__name__}")


def operator(name: str) -> Any:
    """Return the registered operator."""
    return getattr(torch.ops.oneread, name)


def argument(value: Any, kind: str) -> Any:
    """Return an argument as the schema type `kind` takes it: arrays and numbers as tensors.

    On a CPU and as wide as Python's own numbers are, whatever torch's defaults are.
    """
    if kind != "Tensor?" or value is None or isinstance(value, torch.Tensor):
        return value
    if type(value) in _NUMBERS:  # a product takes what stands for a number in a graph
        return torch.ones((), dtype=_NUMBERS[type(value)], device="cpu") * value
    held = np.array(value) if isinstance(value, (list, tuple)) else value
    return torch.as_tensor(held, device="cpu")


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
