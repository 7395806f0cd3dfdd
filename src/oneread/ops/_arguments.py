"""The one path from what a caller gave to what a kernel takes: axes, masks, options.

Knows no op's maths. A `Call` holds one call's arguments, checked; every op starts with one.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oneread.backends import find
from oneread.backends.base import Backend, Memory, View, dtype_name
from oneread.backends.bfloat import widened
from oneread.ops._numbers import (
    INTEGERS,
    broadcast,
    integer,
    integers,
    per_row,
    per_row_or_more,
)
from oneread.runtime import cpu
from oneread.spec import (
    COMPUTE_DTYPE,
    FLOAT_DTYPES,
    OPS,
    STATISTIC_DTYPE,
    AxisError,
    DtypeError,
    ShapeError,
)


class Source(NamedTuple):
    """An input: the library it belongs to, its shape and type, and its memory if it has any."""

    backend: Backend
    x: Any
    shape: tuple[int, ...]
    dtype: str
    view: Memory | None


class Options(NamedTuple):
    """The arguments that all ops have beside x, axis, dtype and out."""

    where: Any = None
    lengths: Any = None
    temperature: Any = None
    workspace: Any = None
    threads: Any = None
    kernel: Any = None
    deterministic: Any = None


#: What most calls are made with.
DEFAULTS: Final = Options()


def options_of(
    where: Any,
    lengths: Any,
    temperature: Any,
    workspace: Any,
    threads: Any,
    kernel: Any,
    deterministic: Any,
) -> Options:
    """Return these options; `DEFAULTS` itself when none is given."""
    if (
        where is None and lengths is None and temperature is None and workspace is None
        and threads is None and kernel is None and deterministic is None
    ):  # fmt: skip
        return DEFAULTS
    return Options(where, lengths, temperature, workspace, threads, kernel, deterministic)


def source_of(x: Any) -> Source:
    """Describe `x`, or raise when no op can take it."""
    backend = find.find(x)
    view = backend.view(x, "x")
    return Source(backend, x, view.shape, view.dtype, view)


class Call:
    """One call of an op: its arguments, checked and in the form that the native module takes."""

    __slots__ = (
        "axes", "backend", "dtype", "flat", "kernel", "length", "lengths", "op", "reads", "rows",
        "shape", "source", "temperature", "textbook", "threads", "view", "where",
    )  # fmt: skip

    def __init__(self, op: str, source: Source, axis: Any, options: Options = DEFAULTS) -> None:
        self._take(source)
        self.op = op
        self.flat = axis is None
        self.axes = normalized_axes(axis, self.shape, OPS[op].tuple_axes, op)
        #: Shape of what is left without the axes.
        self.rows = tuple([n for i, n in enumerate(self.shape) if i not in self.axes])
        #: Columns of a row; a number without axes is a row of one.
        self.length = math.prod([self.shape[i] for i in self.axes]) if self.shape else 1
        self.where: NDArray[Any] | None = None
        self.lengths: NDArray[Any] | None = None
        self.temperature: float | NDArray[Any] | None = None
        self.kernel = 0
        #: Algorithm of the textbooks to run in place of ours, or none.
        self.textbook = ""
        if options is not DEFAULTS:
            self._set(options)

    def _take(self, source: Source) -> None:
        self.source = source
        self.backend = source.backend
        self.shape = source.shape
        self.dtype = source.dtype
        self.view = source.view
        if not self.shape and self.view is not None:
            self.view = View(self.view.array.reshape(1), self.dtype)
        #: Memory that the kernel reads, with its role, so that `out` can be kept off it.
        self.reads: list[tuple[str, NDArray[Any]]] = []
        self.threads = cpu.threads

    def _set(self, options: Options) -> None:
        where, lengths, temperature, workspace, threads, kernel, deterministic = options
        self.where = None if where is None else self._where(where)
        self.lengths = None if lengths is None else self._lengths(lengths)
        self.temperature = None if temperature is None else self._temperature(temperature)
        if threads is not None:
            self.threads = cpu.check_threads(threads)
        if kernel is not None:
            self._set_kernel(kernel)
        check_workspace(workspace)
        check_deterministic(deterministic)

    def again(self, source: Source) -> Call:
        """Return the same call, without options, of another input of this shape and type."""
        call = Call.__new__(Call)
        call._take(source)
        call.op, call.flat, call.axes, call.kernel = self.op, self.flat, self.axes, 0
        call.rows, call.length, call.textbook = self.rows, self.length, ""
        call.where = call.lengths = call.temperature = None
        return call

    def _set_kernel(self, kernel: Any) -> None:
        specs = {spec.algorithm: spec for spec in OPS[self.op].kernels}
        if not isinstance(kernel, str) or kernel not in specs:
            wrong = ShapeError if isinstance(kernel, str) else DtypeError
            names = ", ".join(map(repr, specs))
            raise wrong(f"kernel is {kernel!r}; {self.op} has {names}, or None")
        if specs[kernel].textbook:
            self.textbook = kernel
            self._check_textbook()
        elif self.op == "top_k":
            self.kernel = list(specs).index(kernel) + 1

    def _check_textbook(self) -> None:
        """Raise for what the textbook algorithms lack."""
        for name in ("where", "lengths", "temperature"):
            if getattr(self, name) is not None:
                raise ShapeError(
                    f"{name} is given with kernel={self.textbook!r}, an algorithm of the textbooks,"
                    f" which has none: leave it None, or kernel"
                )
        if self.dtype not in FLOAT_DTYPES:
            raise DtypeError(
                f"x holds {self.dtype}; kernel={self.textbook!r} takes {', '.join(FLOAT_DTYPES)}"
            )

    @property
    def memory(self) -> NDArray[Any]:
        """The input's memory."""
        assert self.view is not None
        return self.view.array

    @property
    def operand(self) -> Any:
        """The input's memory, as the native module takes it."""
        assert self.view is not None
        return self.view.operand

    @property
    def statistic(self) -> str:
        """Type of the statistics of this input."""
        return STATISTIC_DTYPE[COMPUTE_DTYPE[self.dtype]]

    @property
    def float_dtype(self) -> str:
        """Type of the input's numbers once integers are converted."""
        return self.dtype if self.dtype in FLOAT_DTYPES else COMPUTE_DTYPE[self.dtype]

    def value_dtype(self, statistic: str) -> str:
        """Type in which the kernel writes logits beside statistics of the named type.

        Integers are converted once, to what all of the row is computed in.
        """
        if statistic == "float64" and self.dtype not in FLOAT_DTYPES:
            return statistic
        return self.float_dtype

    @property
    def count(self) -> int:
        """How many rows there are."""
        return math.prod(self.rows)

    def rows_shape(self, keepdims: bool = False) -> tuple[int, ...]:
        """Shape of a result with one number a row."""
        if not keepdims or not self.shape:
            return self.rows
        return tuple([1 if i in self.axes else n for i, n in enumerate(self.shape)])

    def top_shape(self, k: int) -> tuple[int, ...]:
        """Shape of a result with `k` numbers a row, in the place of the axis."""
        place = self.top_axis
        return (*self.rows[:place], k, *self.rows[place:])

    @property
    def top_axis(self) -> int:
        """Where in a result the `k` numbers of a row stand."""
        return 0 if self.flat else self.axes[0]

    def _where(self, where: Any) -> NDArray[Any]:
        view = find.view(where, "where")
        if view.dtype != "bool":
            raise DtypeError(f"where holds {view.dtype}; bool is allowed: give mask.astype(bool)")
        self.reads.append(("where", view.array))
        return broadcast(view.array, self.shape or (1,), "where", "x")

    def _per_row(self, array: NDArray[Any], role: str, dtype: str) -> NDArray[Any]:
        self.reads.append((role, array))
        return per_row(self.rows, array, role, dtype)

    def _lengths(self, lengths: Any) -> NDArray[Any]:
        array = check_lengths(lengths, self.length)
        check_axis_of_lengths(self.axes, self.flat)
        return self._per_row(array, "lengths", "int64")

    def _temperature(self, temperature: Any) -> float | NDArray[Any]:
        checked = check_temperature(temperature)
        if isinstance(checked, float):
            return checked
        return self._per_row(checked, "temperature", "float64")


def normalized_axes(axis: Any, shape: tuple[int, ...], many: bool, op: str) -> tuple[int, ...]:
    """Return the axes as ascending numbers from 0; a shape without axes counts as one of one."""
    ndim = len(shape) or 1
    if axis is None:
        return tuple(range(ndim))
    if many and isinstance(axis, (tuple, list)):
        axes = sorted([_one_axis(a, ndim, shape) for a in axis])
        if not axes:
            raise ShapeError(f"axis is empty; {op} reduces at least one axis")
        if len(set(axes)) < len(axes):
            raise ShapeError(f"axis is {tuple(axis)}, which names an axis of {len(shape)} twice")
        return tuple(axes)
    if isinstance(axis, (tuple, list)):
        raise DtypeError(f"axis is {axis!r}; {op} takes one axis, or None for all in C order")
    return (_one_axis(axis, ndim, shape),)


def _one_axis(axis: Any, ndim: int, shape: tuple[int, ...]) -> int:
    if type(axis) is not int:
        axis = integer(axis, "axis")
    if not -ndim <= axis < ndim:
        raise AxisError(
            f"axis {axis} is outside an array with {len(shape)} axes, shape {shape}; "
            f"{-ndim} to {ndim - 1} is allowed"
        )
    return int(axis) % ndim


def check_lengths(lengths: Any, length: int) -> NDArray[Any]:
    """Return lengths of rows as an array of integers from 0 to the length of the axis."""
    array = integers(lengths, "lengths")
    if array.size and not (array.min() >= 0 and array.max() <= length):
        raise ShapeError(
            f"lengths holds numbers from {array.min()} to {array.max()}; 0 to {length}, "
            "the length of the axis, is allowed"
        )
    return array


def check_axis_of_lengths(axes: tuple[int, ...], flat: bool) -> None:
    """Raise when the rows that have lengths are along several axes that were named."""
    if not flat and len(axes) > 1:
        raise ShapeError(f"lengths with axis={axes}: one axis or None is allowed")


def check_temperature(temperature: Any) -> float | NDArray[Any]:
    """Return a temperature as a float, or as an array of float64 when it has axes."""
    if type(temperature) is float and 0.0 < temperature < math.inf:
        return temperature
    view = find.view(temperature, "temperature")
    if view.dtype == "bool":
        raise DtypeError("temperature is bool; a number is allowed")
    array = widened(view).astype(np.float64)
    good = np.isfinite(array) & (array > 0)
    if not good.all():
        raise ShapeError(
            f"temperature is {array[~good].flat[0]:g}; a finite number above 0 is allowed. "
            "Temperature 0 is argmax: use read(x, argmax=True)"
        )
    return array if array.ndim else float(array)


def check_workspace(workspace: Any) -> None:
    """Raise when scratch memory is given that nothing would use."""
    if workspace is not None:
        raise ShapeError("workspace is given, but a call on a CPU takes none: leave it None")


def check_deterministic(deterministic: Any) -> None:
    """Raise for an unknown promise; on a CPU all of the known ones hold."""
    if deterministic is None:
        return
    if not isinstance(deterministic, str):
        raise DtypeError(f"deterministic is {deterministic!r}; None, 'run' or 'batch' is allowed")
    if deterministic not in ("run", "batch"):
        raise ShapeError(f"deterministic is {deterministic!r}; None, 'run' or 'batch' is allowed")


def check_k(k: Any, length: int, role: str = "k") -> int:
    """Return `k` as an int between 0 and the length of the axis."""
    n: int = k if find.is_whole(k) else integer(k, role)
    if not 0 <= n <= length:
        raise ShapeError(f"{role} is {n}; 0 to {length}, the length of the axis, is allowed")
    return n


def check_axes(call: Call) -> None:
    """Raise when a number without axes is given to an op that needs one."""
    if not call.shape:
        raise ShapeError(f"x is one number without axes; {call.op} needs at least one axis")


def float_dtype(dtype: Any, default: str) -> str:
    """Return the name of the float type that `dtype` asks for."""
    if dtype is None:
        return default
    name = dtype_name(dtype)
    if name not in FLOAT_DTYPES:
        raise DtypeError(f"dtype is {name}; {', '.join(FLOAT_DTYPES)} is allowed")
    return name


def index_name(dtype: Any, length: int) -> str:
    """Return the name of the integer type for columns, which must hold the last one."""
    name = "int64" if dtype is None else dtype_name(dtype)
    if name not in INTEGERS:
        raise DtypeError(f"index_dtype is {name}; {', '.join(INTEGERS)} is allowed")
    if length - 1 > INTEGERS[name]:
        raise ShapeError(
            f"index_dtype is {name}, which ends at {INTEGERS[name]}; the last column of this "
            f"axis is {length - 1}"
        )
    return name


def columns(call: Call, select: Any) -> tuple[NDArray[Any], tuple[int, ...]]:
    """Return `select` as int64 (rows, s), in C order, and the axes it has beyond the rows."""
    if call.view is None:  # shapes only, while a graph is captured
        return np.empty((0, 1), np.int64), tuple(select.shape[len(call.rows) :])
    array = integers(select, "select")
    call.reads.append(("select", array))
    return per_row_or_more(call.rows, array, "select", "int64")
