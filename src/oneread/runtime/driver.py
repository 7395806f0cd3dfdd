"""NVIDIA's driver by its C interface: kernels loaded and launched on memory that others own.

Knows no kernel and no array library. Memory and streams are addresses, and the contexts are the
primary ones, which PyTorch and CuPy use as well. The library is loaded when a GPU is asked for.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from oneread.spec import BackendUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Device", "Function", "addresses", "check_launch", "device", "load", "on"]

_NAME: Final = "libcuda.so.1"

# Numbers of the driver's enumerations.
_NAME_BYTES: Final = 128
_MULTIPROCESSORS, _MAJOR, _MINOR, _SHARED_BYTES = 16, 75, 76, 97
_REGISTERS, _LOCAL_BYTES = 4, 3
_DYNAMIC_SHARED, _LARGE_CLUSTERS = 8, 14
_CALLED: Final = (
    "cuLaunchKernel", "cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",
)  # fmt: skip
#: Errors of what may not be done while a stream is captured.
_CAPTURING: Final = range(900, 909)
_PORTABLE_CLUSTER: Final = 8


@dataclass(frozen=True, slots=True)
class Device:
    """What a GPU is.

    `shared_bytes` is the most that one block can have.
    """

    index: int
    name: str
    target: str
    multiprocessors: int
    shared_bytes: int
    context: int


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel loaded on a GPU; `handle` is the driver's."""

    handle: int
    name: str
    device: Device
    registers: int
    local_bytes: int


@cache
def device(index: int) -> Device:
    """Return a GPU by its number, counted from 0 as PyTorch and CuPy do.

    Raises
    ------
    BackendUnavailableError
        When the driver or the GPU is not there.
    """
    number = ctypes.c_int()
    _do("cuDeviceGet", ctypes.byref(number), index)
    name = ctypes.create_string_buffer(_NAME_BYTES)
    _do("cuDeviceGetName", name, len(name), number)
    context = ctypes.c_void_p()
    _do("cuDevicePrimaryCtxRetain", ctypes.byref(context), number)

    def fact(which: int) -> int:
        value = ctypes.c_int()
        _do("cuDeviceGetAttribute", ctypes.byref(value), which, number)
        return value.value

    return Device(
        index,
        name.value.decode(),
        f"sm_{fact(_MAJOR)}{fact(_MINOR)}",
        fact(_MULTIPROCESSORS),
        fact(_SHARED_BYTES),
        context.value or 0,
    )


def load(
    where: Device, code: bytes, name: str, *, dynamic_bytes: int = 0, cluster: int = 1
) -> Function:
    """Load machine code on a GPU and return its kernel of that name.

    `dynamic_bytes` is the shared memory that each launch of it will ask for, `cluster` the number
    of blocks of a cluster of it.
    """
    with on(where):
        module, handle = ctypes.c_void_p(), ctypes.c_void_p()
        _do("cuModuleLoadData", ctypes.byref(module), code)
        _do("cuModuleGetFunction", ctypes.byref(handle), module, name.encode())
        if dynamic_bytes:  # the limit that holds else counts static memory, too
            _do("cuFuncSetAttribute", handle, _DYNAMIC_SHARED, dynamic_bytes)
        if cluster > _PORTABLE_CLUSTER:
            _do("cuFuncSetAttribute", handle, _LARGE_CLUSTERS, 1)

        def fact(which: int) -> int:
            value = ctypes.c_int()
            _do("cuFuncGetAttribute", ctypes.byref(value), which, handle)
            return value.value

        return Function(handle.value or 0, name, where, fact(_REGISTERS), fact(_LOCAL_BYTES))


@cache
def addresses() -> tuple[int, ...]:
    """Return where the functions of the driver are that `native.CudaLaunch` calls."""
    functions = [getattr(_library(), name) for name in _CALLED]
    return tuple([ctypes.cast(one, ctypes.c_void_p).value or 0 for one in functions])


def check_launch(status: int, function: Function, what: str) -> None:
    """Raise when a launch failed; `what` says what was launched over what."""
    if status:
        raise BackendUnavailableError(
            f"{function.name} could not be launched on cuda:{function.device.index} "
            f"({function.device.name}) for {what}: {_explain(status)}"
        )


@contextmanager
def on(where: Device) -> Iterator[None]:
    """Make a GPU the current one of this thread for a while."""
    _do("cuCtxPushCurrent_v2", ctypes.c_void_p(where.context))
    try:
        yield
    finally:
        _do("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))


@cache
def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(_NAME)
    except OSError as error:
        raise BackendUnavailableError(
            f"NVIDIA's driver cannot be loaded ({error}); a GPU needs it installed"
        ) from error
    status = library.cuInit(0)
    if status:
        raise BackendUnavailableError(f"NVIDIA's driver finds no GPU (error {status} of cuInit)")
    return library


def _do(name: str, *arguments: Any) -> None:
    status = getattr(_library(), name)(*arguments)
    if status in _CAPTURING:
        raise BackendUnavailableError(
            "a kernel cannot be loaded while a CUDA graph is captured: make the call once before, "
            f"or oneread.warm(op, shape, dtype, device='cuda') ({_explain(status)})"
        )
    if status:
        raise BackendUnavailableError(f"the GPU failed: {name} gave {_explain(status)}")


def _explain(status: int) -> str:
    text = ctypes.c_char_p()
    _library().cuGetErrorString(status, ctypes.byref(text))
    return (text.value or b"an unknown error").decode()
