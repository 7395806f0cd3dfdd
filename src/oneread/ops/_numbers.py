"""Whole numbers, sizes and numbers a row, as callers give them: checked, in one form.

Knows no op and no call.
"""

from __future__ import annotations

import math
import operator
import sys
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from oneread.backends import find
from oneread.backends.base import misfit
from oneread.spec import DtypeError, ShapeError

#: Integer types and their largest numbers.
INTEGERS: Final = {
    name: int(np.iinfo(name).max)
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
}


def integer(value: Any, role: str) -> int:
    """Return an integer of any library as an int; bool, floats and strings are refused."""
    if not isinstance(value, (bool, np.bool_)):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise DtypeError(f"{role} is {value!r}; an integer is allowed")


def shown(n: int) -> str:
    """Return an integer for a message, however long it is."""
    return str(n) if n.bit_length() < 200 else f"a number of {n.bit_length()} bits"


def check_sizes(shape: tuple[Any, ...], role: str) -> tuple[int, ...]:
    """Return a shape whose elements NumPy can count, as ints."""
    sizes = tuple([integer(n, role) for n in shape])
    # 16 bytes for each: the widest float. NumPy has at most 64 axes, one of them a row's.
    n_bytes = 16 * math.prod([max(n, 1) for n in sizes])
    if any(n < 0 for n in sizes) or n_bytes > sys.maxsize or len(sizes) > 63:
        which = ", ".join([shown(n) for n in sizes[:4]]) + ", ..." * (len(sizes) > 4)
        raise ShapeError(f"{role} is {which}; sizes from 0 that an array can have are allowed")
    return sizes


def integers(values: Any, role: str) -> NDArray[Any]:
    """Return an array of integers that int64 can hold."""
    view = find.view(values, role)
    array = view.array
    if view.dtype not in INTEGERS:
        raise DtypeError(f"{role} holds {view.dtype}; integers are allowed")
    if view.dtype == "uint64" and array.size and array.max() > INTEGERS["int64"]:
        raise IndexError(f"{role} holds {array.max()}, which is beyond any axis")
    return array


def per_row(rows: tuple[int, ...], array: NDArray[Any], role: str, dtype: str) -> NDArray[Any]:
    """Return one number a row as the native module takes them: contiguous, in C order."""
    spread = broadcast(array, rows, role, "x without the axis")
    return _packed(spread, dtype).reshape(-1)


def per_row_or_more(
    rows: tuple[int, ...], array: NDArray[Any], role: str, dtype: str
) -> tuple[NDArray[Any], tuple[int, ...]]:
    """Return numbers of shape rows or rows + (s,) as (rows, s), and () or (s,)."""
    tail = array.shape[len(rows) :]
    if array.ndim == 0:
        array = np.broadcast_to(array, rows)
    if array.shape[: len(rows)] != rows or len(tail) > 1:
        raise ShapeError(
            f"{role} has shape {array.shape}; {rows}, that of x without the axis, or one axis "
            "more at its end is allowed"
        )
    return _packed(array, dtype).reshape(math.prod(rows), *(tail or (1,))), tail


def _packed(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    packed = np.ascontiguousarray(array, dtype=dtype)
    return packed if packed.flags.aligned else packed.copy()


def broadcast(array: NDArray[Any], shape: tuple[int, ...], role: str, of: str) -> NDArray[Any]:
    if array.shape == shape:
        return array
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise misfit(role, array.shape, shape, of) from None
