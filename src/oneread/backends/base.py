"""What a backend offers: a view of an array's memory, and an array around a result.

Knows no array library but NumPy, whose arrays stand for plain memory here: bfloat16 numbers are
an array of uint16 with the name of their own type beside it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from oneread.spec import DtypeError, ShapeError

#: How the memory of each named type is held in NumPy.
STORAGE: Final[dict[str, np.dtype[Any]]] = {
    name: np.dtype("uint16" if name == "bfloat16" else name)
    for name in (
        "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
        "float16", "bfloat16", "float32", "float64",
    )
}  # fmt: skip


class Memory(Protocol):
    """Memory of an array of any library, in any layout and byte order."""

    @property
    def array(self) -> NDArray[Any]:
        """It as a NumPy array, bfloat16 as uint16; nothing is copied."""

    @property
    def dtype(self) -> str:
        """Name of its element type."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""

    @property
    def operand(self) -> Any:
        """It as the native module takes it."""


class View(NamedTuple):
    """Memory that NumPy knows."""

    array: NDArray[Any]
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self.array.shape

    @property
    def operand(self) -> Any:
        """It as the native module takes it."""
        array = self.array
        if self.dtype != "bfloat16":
            return array
        address = array.__array_interface__["data"][0]
        return address, "bfloat16", array.shape, array.strides


class Backend(Protocol):
    """One array library."""

    NAME: str
    ORDER: Any
    """Memory order of a fresh output as long as the row: ``C``, or ``K`` for the input's own."""

    def owns(self, x: Any) -> bool:
        """Whether `x` is an array of this library, so that it can be an `out`."""

    def view(self, x: Any, role: str, write: bool = False) -> Memory:
        """Return the memory of `x` without copying it; `role` names it in errors."""

    def detached(self, x: Any) -> Any:
        """Return `x` as an array of which no gradient is wanted."""

    def wrap(self, array: NDArray[Any], dtype: str, like: Any) -> Any:
        """Return an array of this library around the memory of `array`."""

    def written(self, out: Any) -> None:
        """Tell the library that the memory of `out` has changed."""


def dtype_name(dtype: Any) -> str:
    """Return the name of an element type given as a name or a type of any known library."""
    if isinstance(dtype, str) and dtype in STORAGE:
        return dtype
    if type(dtype).__module__ == "torch":
        return str(dtype).removeprefix("torch.")
    try:
        return str(np.dtype(dtype).name)
    except TypeError:
        raise DtypeError(
            f"{dtype!r} is not an element type; give a name such as 'float32'"
        ) from None


def misfit(role: str, shape: tuple[int, ...], wanted: tuple[int, ...], of: str) -> ShapeError:
    """Return the error for an array that does not broadcast to the shape of `of`."""
    return ShapeError(
        f"{role} has shape {shape}, which does not broadcast to {wanted}, that of {of}"
    )


def check_places(shape: tuple[int, ...], strides: tuple[int, ...], role: str = "out") -> None:
    """Raise when several elements of an output lie in one place."""
    if any(step == 0 and n > 1 for n, step in zip(shape, strides, strict=True)):
        raise ShapeError(f"{role} has several elements in one place (strides {tuple(strides)})")
