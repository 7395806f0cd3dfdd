"""A file's rows, read in bounded blocks: whole rows where they fit, else columns merged by `State`.

Knows no file format and prints nothing.

Notes
-----
Each piece is a memory-mapped view of about `BLOCK_BYTES`; its pages are given back after use, so
that the resident size does not grow with the file. Rows come in C order of the other axes. Where
the row is not the fastest axis in memory, as many neighbouring rows are read together as one
contiguous stretch holds, up to a tile of about 8192 rows by 1024 columns (float32). Arrays in
Fortran order with three or more axes are read in smaller stretches, and slower.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oneread.files.select import Columns, RowColumns
from oneread.files.tensor import ITEM_BYTES, MappedTensor, StoredTensor, shape_text
from oneread.ops.read import read
from oneread.ops.state import State
from oneread.spec import AxisError, Read, ShapeError

#: Bytes of the file that one piece holds: far past the caches, far below any memory.
BLOCK_BYTES: Final = 32 << 20


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What to read of each row: the arguments of `oneread.read` that a file's reader passes on."""

    top_k: int = 0
    rank: bool = False
    entropy: bool = False
    sum_p2: bool = False
    argmax: bool = False
    temperature: float | None = None
    threads: int | None = None


class RowBlock(NamedTuple):
    """Consecutive rows and what was read of them."""

    first_row: int
    lead: tuple[int, ...]
    """Shape of all rows: the array's without the axis that was read."""
    read: Read
    """Arrays of shape (rows of this block,), with one more axis where a field has k or s."""

    @property
    def n_rows(self) -> int:
        """Rows in this block."""
        return len(self.read.lse)

    def fields(self) -> dict[str, NDArray[Any]]:
        """Return the fields that were asked for, by name."""
        return {name: value for name, value in self.read._asdict().items() if value is not None}


@dataclass(frozen=True, slots=True)
class Tiling:
    """How the rows are cut: so many rows at a time, so many columns of them at a time."""

    rows: int
    columns: int


def plan_tiles(view: NDArray[Any], block_bytes: int) -> Tiling:
    """Choose the tile for a view whose last axis is the row.

    Parameters
    ----------
    view : ndarray, shape (..., vocab)
        The array with the read axis moved to the end.
    block_bytes : int
        Bytes that a tile should not exceed.

    Returns
    -------
    Tiling
        With ``columns == vocab`` when rows are read whole.
    """
    vocab, row_stride = view.shape[-1], view.strides[-1]
    items = max(1, block_bytes // view.itemsize)
    # Rows whose elements lie between two neighbours of one row: they share a stretch of memory.
    woven = math.prod(
        n for n, stride in zip(view.shape[:-1], view.strides[:-1], strict=True)
        if stride < row_stride
    )  # fmt: skip
    if items // vocab >= woven:
        return Tiling(items // vocab, vocab)
    rows = min(woven, max(1, math.isqrt(8 * items)))
    return Tiling(rows, min(vocab, max(1, items // rows)))


def boxes(lead: tuple[int, ...], limit: int) -> Iterator[tuple[int | slice, ...]]:
    """Cut the rows into boxes of at most `limit`, consecutive in C order.

    Parameters
    ----------
    lead : tuple of int
        Shape of the rows; empty for a single row.
    limit : int
        Most rows in a box, at least 1.

    Yields
    ------
    tuple
        Index of each box.
    """
    inner, axis = 1, len(lead)
    while axis > 0 and inner * lead[axis - 1] <= limit:
        axis -= 1
        inner *= lead[axis]
    if axis == 0:
        yield ()
        return
    step = max(1, limit // inner)
    for outer in itertools.product(*(range(n) for n in lead[: axis - 1])):
        for start in range(0, lead[axis - 1], step):
            yield (*outer, slice(start, start + step))


def read_rows(
    tensor: StoredTensor,
    options: ReadOptions,
    columns: Columns | None = None,
    *,
    axis: int = -1,
    block_bytes: int = BLOCK_BYTES,
    progress: Callable[[int], None] | None = None,
) -> Iterator[RowBlock]:
    """Read every row of a stored array once, block by block.

    Parameters
    ----------
    tensor : StoredTensor
        Array in a file, of at least one element.
    options : ReadOptions
        What to read.
    columns : Columns, optional
        Columns to look up in each row.
    axis : int, default -1
        Axis along which a row runs.
    block_bytes : int, default 32 MiB
        About how much of the file is looked at together.
    progress : callable, optional
        Called with the bytes of each piece when it is done.

    Yields
    ------
    RowBlock
        Consecutive rows in C order of the other axes.

    Raises
    ------
    AxisError
        When the array has no such axis.
    ShapeError
        When `top_k` is more than a row holds.
    FileFormatError
        When the columns do not fit the rows.
    """
    n_axes = len(tensor.shape)
    if not -n_axes <= axis < n_axes:
        raise AxisError(
            f"axis {axis} is outside [{-n_axes}, {n_axes}) of shape {shape_text(tensor.shape)}"
        )
    vocab = tensor.shape[axis]
    if not 0 <= options.top_k <= vocab:
        raise ShapeError(f"top_k is {options.top_k}; a row has {vocab} columns")
    at = axis % n_axes
    lead = tensor.shape[:at] + tensor.shape[at + 1 :]
    asked = None if columns is None else columns.for_rows(lead)
    stream = _Stream(MappedTensor(tensor), at, options, asked, block_bytes, progress)
    for first_row, result in stream.tiles():
        yield RowBlock(first_row, lead, result)


class _Stream:
    """One pass over a mapped array."""

    def __init__(
        self,
        mapped: MappedTensor,
        axis: int,
        options: ReadOptions,
        columns: RowColumns | None,
        block_bytes: int,
        progress: Callable[[int], None] | None,
    ) -> None:
        view = np.moveaxis(mapped.array, axis, -1)
        # One axis of rows where memory allows it, so that a block is any number of them.
        self.view = view.reshape(-1, view.shape[-1]) if view.flags.c_contiguous else view
        self.mapped = mapped
        self.options = options
        self.columns = columns
        self.tiling = plan_tiles(self.view, block_bytes)
        self.block_items = max(1, block_bytes // view.itemsize)
        self.progress = progress

    def tiles(self) -> Iterator[tuple[int, Read]]:
        """Yield the first row and the results of each tile, flat over its rows."""
        vocab = self.view.shape[-1]
        first_row = 0
        for box in boxes(self.view.shape[:-1], self.tiling.rows):
            tile = self.view[box]
            n_rows = math.prod(tile.shape[:-1])
            select = None
            if self.columns is not None:
                select = self.columns.slice(first_row, first_row + n_rows, vocab)
                select = select.reshape(tile.shape[:-1] + self.columns.tail)
            if self.tiling.columns == vocab:
                result = self._whole(tile, select)
            else:
                result = self._in_columns(tile, select, max(1, self.block_items // n_rows))
            yield first_row, _flat(result, tile.ndim - 1, n_rows)
            first_row += n_rows

    def _done(self, piece: NDArray[Any]) -> None:
        self.mapped.release(piece)
        if self.progress is not None:
            self.progress(piece.size * ITEM_BYTES[self.mapped.tensor.dtype])

    def _operand(self, piece: NDArray[Any]) -> Any:
        return as_numbers(piece) if self.mapped.tensor.dtype == "bfloat16" else piece

    def _whole(self, tile: NDArray[Any], select: NDArray[np.int64] | None) -> Read:
        """Read whole rows."""
        want = self.options
        result = read(
            self._operand(tile),
            axis=-1,
            top_k=want.top_k,
            select=select,
            rank=want.rank,
            entropy=want.entropy,
            sum_p2=want.sum_p2,
            argmax=want.argmax,
            temperature=want.temperature,
            threads=want.threads,
        )
        self._done(tile)
        return result

    def _in_columns(self, tile: NDArray[Any], select: NDArray[np.int64] | None, width: int) -> Read:
        """Read a tile in column blocks, each continuing the state of those before."""
        want, state = self.options, None
        logit = None
        if want.rank and select is not None:
            logit = self._gathered(tile, select)
        for start in range(0, tile.shape[-1], width):
            piece = tile[..., start : start + width]
            chunk = self._operand(piece)
            if state is None:
                state = State.of(
                    chunk,
                    top_k=want.top_k,
                    select=select,
                    selected_logit=logit,
                    rank=want.rank,
                    entropy=want.entropy,
                    sum_p2=want.sum_p2,
                    argmax=want.argmax,
                    temperature=want.temperature,
                    threads=want.threads,
                )
            else:
                state.update(chunk, threads=want.threads)
            self._done(piece)
        return Read(*(getattr(state, name) for name in Read._fields))

    def _gathered(self, tile: NDArray[Any], select: NDArray[np.int64]) -> Any:
        """Look the selected logits up: a rank is counted against them while columns go by."""
        columns = select.reshape(*tile.shape[:-1], -1)
        logits = self._operand(np.take_along_axis(tile, columns, -1))
        return logits.reshape(select.shape)


def as_numbers(words: NDArray[Any]) -> Any:
    """Return bfloat16 words as an array that the ops take.

    Parameters
    ----------
    words : ndarray of uint16, any shape and byte order
        Stored bfloat16 numbers.

    Returns
    -------
    array
        A view of type `ml_dtypes.bfloat16` where ml_dtypes is installed, else a float32 copy; a
        float32 whose upper half is the word is the same number, so both are exact.
    """
    native = words.astype(np.uint16, copy=False)
    if importlib.util.find_spec("ml_dtypes") is not None:
        import ml_dtypes

        return native.view(ml_dtypes.bfloat16)
    return (native.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _flat(result: Read, row_axes: int, n_rows: int) -> Read:
    """Return the fields with one axis of rows; bfloat16 logits as float32, which is exact."""

    def flat(field: Any) -> Any:
        if field is None:
            return None
        array = np.asarray(field)
        if array.dtype.name == "bfloat16":
            array = array.astype(np.float32)
        return array.reshape(n_rows, *array.shape[row_axes:])

    return Read(*map(flat, result))
