"""Which kernels there are, which one would run and why, and making them ready ahead.

Knows no op's maths. What would run is asked of the native module, which decides it.
"""

from __future__ import annotations

import inspect
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from oneread.backends import numpy_
from oneread.backends.base import STORAGE, View, dtype_name
from oneread.ops import logsumexp, read, softmax, topk
from oneread.ops._arguments import Call, Options, Source, source_of
from oneread.ops._face import Op, Plan
from oneread.ops._numbers import check_sizes
from oneread.ops._output import row_output
from oneread.runtime import cpu, reuse
from oneread.spec import (
    COMPUTE_DTYPE,
    FLOAT_DTYPES,
    INPUT_DTYPES,
    OPS,
    BackendUnavailableError,
    DtypeError,
    Explanation,
    KernelRecord,
    ShapeError,
)

_FACES: Final[dict[str, tuple[Any, Op]]] = {
    "softmax": (softmax.softmax, softmax.SOFTMAX),
    "log_softmax": (softmax.log_softmax, softmax.LOG_SOFTMAX),
    "logsumexp": (logsumexp.logsumexp, logsumexp.LOGSUMEXP),
    "top_k": (topk.top_k, topk.TOP_K),
    "softmax_topk": (topk.softmax_topk, topk.SOFTMAX_TOPK),
    "read": (read.read, read.READ),
}
_ADDRESS: Final = 1 << 12  # of an output that is planned and never made
_COPY_BYTES: Final = (1 << 20, 1 << 26)  # sizes between which a copy is measured: L2 to DRAM


_SELECTIONS: Final = {
    "block_max": "block_max, maxima of blocks bound the k-th value; a row with a NaN goes to radix",
    "radix": "radix, for maxima of blocks cannot bound a k-th value so far down the row",
    "sort": "sort, for the row is short and k is not small beside it",
}


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """One kernel of this build."""

    name: str
    """``<algorithm>_<op>``, as `last_kernel` has it."""
    op: str
    algorithm: str
    """Value of ``kernel=`` that forces it."""
    reads: int
    """Loads an element of x that find it in no innermost cache."""
    loads: int
    """Loads an element, of x, y and scratch."""
    stores: int
    """Stores an element, of y and scratch."""
    isas: tuple[str, ...]
    """Instruction sets that it is compiled for and that this machine can run, best first."""
    device: str
    source: str
    """Where the algorithm comes from."""
    textbook: bool
    """Whether it is an algorithm of the textbooks, there to be compared with."""


def kernels() -> tuple[KernelInfo, ...]:
    """Return the kernels of this build that this machine can run.

    Returns
    -------
    tuple of KernelInfo
        One for each op and algorithm, the one that runs by default first.

    Examples
    --------
    >>> import oneread
    >>> [kernel.algorithm for kernel in oneread.kernels() if kernel.op == "top_k"]
    ['block_max', 'radix', 'sort']
    """
    isas = cpu.native.supported_isas()
    return tuple(
        KernelInfo(
            k.name, k.op, k.algorithm, k.reads, k.loads, k.stores, isas, "cpu", k.source, k.textbook
        )
        for spec in OPS.values()
        for k in spec.kernels
    )


def explain(x: Any, op: Any = "softmax", **options: Any) -> Explanation:
    """Say which kernel an op would run on `x`, why, and how long it should take.

    Parameters
    ----------
    x : array
        The input, as the op takes it. Its elements are not read.
    op : str or function, default 'softmax'
        The op, or its name.
    **options
        Arguments of the op, checked as it checks them.

    Returns
    -------
    Explanation
        The kernel, instruction set, layout, threads and stores; the bytes to move; the
        least time, which is that of moving them at the rate of a copy, measured once and kept;
        and the reasons.

    Raises
    ------
    ShapeError
        If there is no such op, and whatever else the op itself raises.
    TypeError
        If an argument is missing or unknown.

    Notes
    -----
    Bytes are those of x times the reads of `kernels()`, 2 where softmax gathers or converts its
    rows, and those of the outputs. A second read of a row that fits in a cache costs less than its
    bytes say.

    Examples
    --------
    >>> import numpy as np, oneread
    >>> plan = oneread.explain(np.zeros((2, 1000), np.float32), "logsumexp")
    >>> plan.kernel, plan.read_bytes, plan.written_bytes
    ('lazy_logsumexp', 8000, 8)
    """
    name = _named(op)
    return _explained(name, source_of(x), _bound(name, x, options))


def warm(op: Any, shape: tuple[int, ...], dtype: Any, device: str = "cpu", **options: Any) -> None:
    """Do ahead what the first call of an op would have to do.

    Parameters
    ----------
    op : str or function
        The op, or its name.
    shape : tuple of int
        Shape of the inputs to come.
    dtype : str or dtype
        Their element type.
    device : str, default 'cpu'
        Where they will be: ``cpu``, ``cuda`` or ``cuda:0`` and so on.
    **options
        Arguments of the op, checked as it checks them.

    Raises
    ------
    BackendUnavailableError
        If there is no such device, or the op does not run there.
    ShapeError, DtypeError, TypeError
        As the op itself raises for such an input.

    Notes
    -----
    On a CPU nothing is compiled: the native module is loaded and the threads are started. On a GPU
    the kernel for contiguous inputs is compiled, unless it is kept on disk, and loaded, so that
    the first call can be one inside a CUDA graph.

    Examples
    --------
    >>> import oneread
    >>> oneread.warm("read", (4, 128256), "float32", top_k=5)
    """
    name = dtype_name(dtype)
    if name not in INPUT_DTYPES:
        raise DtypeError(f"dtype is {name}; {', '.join(INPUT_DTYPES)} is allowed")
    sizes = check_sizes(tuple(shape) if hasattr(shape, "__iter__") else (shape,), "shape")
    if device != "cpu":
        _warm_gpu(_named(op), sizes, name, device, options)
        return
    view = View(np.broadcast_to(np.zeros((), STORAGE[name]), sizes), name)
    source = Source(numpy_, view.array, sizes, name, view)
    op = _named(op)
    arguments = _bound(op, view.array, options)
    call, plan = _planned(op, source, arguments)
    _native_plan(call, plan, arguments.get("out"))
    softmax.softmax(np.zeros((cpu.threads, 1 << 16), np.float32))  # enough work for all threads


def _warm_gpu(
    op: str, shape: tuple[int, ...], dtype: str, device: str, options: dict[str, Any]
) -> None:
    found = re.fullmatch(r"cuda(?::(\d+))?", str(device))
    if found is None:
        raise BackendUnavailableError(f"device is {device!r}; 'cpu', 'cuda' or 'cuda:0' is allowed")
    from oneread.ops import _device
    from oneread.runtime import driver

    index = driver.device(int(found[1] or 0)).index
    _device.warm(op, shape, dtype, index, _bound(op, None, options))


def _named(op: Any) -> str:
    """Return the name of an op given by its name or as its function."""
    name = getattr(op, "__name__", op)
    if not isinstance(name, str) or name not in _FACES:
        raise ShapeError(f"op is {op!r}; {', '.join(_FACES)} is allowed")
    return name


def _bound(op: str, x: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call of the op, defaults included."""
    bound = inspect.signature(_FACES[op][0]).bind(x, **options)
    bound.apply_defaults()
    return dict(bound.arguments)


def _planned(op: str, source: Source, arguments: dict[str, Any]) -> tuple[Call, Plan]:
    rest = dict(arguments)
    options = Options(**{name: rest.pop(name) for name in Options._fields})
    own = {name: rest[name] for name in rest if name not in ("x", "axis", "dtype", "out")}
    call = Call(op, source, rest["axis"], options)
    return call, _FACES[op][1].plan(call, rest["dtype"], **own)


def _native_plan(call: Call, plan: Plan, out: Any) -> KernelRecord:
    y, fresh = None, out is None
    if "y" in plan.slots:
        dtype = plan.slots["y"].dtype
        if out is None:
            y = (_ADDRESS, dtype, call.memory.shape, _fresh_strides(call, dtype))
            fresh = reuse.is_fresh(STORAGE[dtype].itemsize * math.prod(call.shape))
        else:
            y = row_output(call, dtype, out)[0].operand
    try:
        record = cpu.native.plan(
            call.operand, y, call.axes, call.op, call.where, call.lengths, call.temperature,
            plan.top_k, call.threads, call.kernel, fresh, call.textbook,
        )  # fmt: skip
    except ValueError as error:
        raise ShapeError(str(error)) from None
    return KernelRecord(*record)


def _fresh_strides(call: Call, dtype: str) -> tuple[int, ...]:
    """Return the strides in bytes that a fresh output would have."""
    x = call.memory
    axes = list(range(x.ndim))
    if call.backend.ORDER == "K":
        axes.sort(key=lambda i: -abs(x.strides[i]))
    strides, step = [0] * x.ndim, STORAGE[dtype].itemsize
    for i in reversed(axes):
        strides[i] = step
        step *= max(x.shape[i], 1)
    return tuple(strides)


def _explained(op: str, source: Source, arguments: dict[str, Any]) -> Explanation:
    call, plan = _planned(op, source, arguments)
    out = arguments["out"]
    record = _native_plan(call, plan, out)
    if _in_double(plan) and COMPUTE_DTYPE[call.dtype] == "float32":
        # A plan is made without the outputs that are no row.
        record = replace(record, layout="staged")
    spec = next(k for k in OPS[op].kernels if k.name == record.name)
    count = math.prod(call.shape)
    # Exponentials of staged rows are kept nowhere, but computed again.
    again = record.layout == "staged" and "y" in plan.slots
    reads = max(spec.reads, 2 if again else 1)
    read = reads * count * STORAGE[call.dtype].itemsize
    if call.where is not None:
        read += reads * count
    written = sum(
        math.prod(slot.shape) * STORAGE[slot.dtype].itemsize for slot in plan.slots.values()
    )
    rate = _copy_gbs(min(max(read + written, _COPY_BYTES[0]), _COPY_BYTES[1]), record.threads)
    return Explanation(
        op, record.name, record.isa, call.dtype, call.shape, record.layout, record.threads,
        record.spans, record.stores, record.selection, read, written,
        (read + written) / rate / 1e6, rate, tuple(_reasons(call, plan, record, arguments)),
    )  # fmt: skip


def _copy_gbs(n_bytes: int, threads: int) -> float:
    """Return the rate of a copy about that large, in 1e9 bytes moved a second."""
    return _measured_gbs(1 << (n_bytes - 1).bit_length(), threads)


@lru_cache(maxsize=64)
def _measured_gbs(n_bytes: int, threads: int) -> float:
    rate: float = cpu.native.bandwidth("copy", n_bytes, threads)
    return rate


def _reasons(
    call: Call, plan: Plan, record: KernelRecord, arguments: dict[str, Any]
) -> Iterator[str]:
    compute = "float64" if _in_double(plan) else COMPUTE_DTYPE[call.dtype]
    if arguments["kernel"] is None:
        yield f"kernel: {record.name} is the choice for this type, shape and k"
    else:
        yield f"kernel: {record.name} was asked for"
    yield (
        f"type: {call.dtype} is computed as it is"
        if call.dtype == compute
        else f"type: {call.dtype} is converted to {compute} when it is loaded"
    )
    if record.layout == "rows":
        yield "layout: rows, for their columns lie side by side and are read in place"
    else:
        why = "; ".join(_stagings(call, plan, arguments["out"])) or "rows are not one block"
        yield f"layout: staged, gathered or converted block by block: {why}"
    if record.selection != "none":
        yield f"selection: {_SELECTIONS[record.selection]}"
    if call.where is not None or call.lengths is not None:
        yield "masks: columns left out are read as -inf, those beyond a length not at all"
    yield from _work_reasons(call, record, arguments["out"] is not None)


def _in_double(plan: Plan) -> bool:
    """Whether an output asks for float64, whatever the input is."""
    return any(slot.kernel_dtype == "float64" for slot in plan.slots.values())


def _stagings(call: Call, plan: Plan, out: Any) -> Iterator[str]:
    """Yield what keeps the kernel from reading, or writing, the rows in place."""
    x = call.memory
    if call.where is not None:
        yield "where= is given"
    if call.dtype not in FLOAT_DTYPES:
        yield f"{call.dtype} holds integers"
    elif _in_double(plan) and call.dtype != "float64":
        yield f"float64 output of {call.dtype} input"
    elif "y" in plan.slots and plan.slots["y"].dtype != call.dtype:
        yield f"{plan.slots['y'].dtype} output of {call.dtype} input"
    yield from _odd_memory("x", x, call.axes)
    if "y" not in plan.slots:
        return
    if out is not None:
        y = row_output(call, plan.slots["y"].dtype, out)[0].array
        yield from _odd_memory("out", y, call.axes)


def _odd_memory(role: str, array: NDArray[Any], axes: tuple[int, ...]) -> Iterator[str]:
    if not array.dtype.isnative:
        yield f"{role} is of foreign byte order"
    if not array.flags.aligned:
        yield f"the elements of {role} are misaligned"
    long = [i for i in axes if array.shape[i] > 1]
    step = array.strides[long[-1]] if long else array.itemsize
    if step != array.itemsize:
        yield f"the columns of {role} are {step} bytes apart"
    elif len(long) > 1 and not _one_block(array, long):
        yield f"the axes of a row of {role} do not lie side by side"


def _one_block(array: NDArray[Any], axes: list[int]) -> bool:
    pairs = itertools.pairwise(axes)
    return all(array.strides[i] == array.strides[j] * array.shape[j] for i, j in pairs)


def _work_reasons(call: Call, record: KernelRecord, given: bool) -> Iterator[str]:
    size = f"{call.count:,} x {call.length:,} elements"
    if record.threads < call.threads:
        yield f"threads: {size} are too little work for more than 1 thread"
    elif record.threads == 1:
        yield "threads: 1 thread may be used"
    else:
        yield f"threads: {size} are shared by all {record.threads} threads that may be used"
    if record.spans > 1:
        yield f"spans: a row this long is cut into {record.spans}, whatever the threads"
    if record.stores == "streaming":
        whose = "given" if given else "memory of an earlier result"
        yield f"stores: past the caches, for the output is {whose} and larger than they are"
    elif record.stores == "regular" and not given:
        yield "stores: regular, for the output is fresh memory that comes through the caches"
    elif record.stores == "regular":
        yield "stores: regular, for the output fits in the caches or its rows are short"
