"""Rows come out the same however the file is cut, and memory stays bounded."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oneread.files import (
    BLOCK_BYTES,
    Columns,
    FileFormatError,
    MappedTensor,
    ReadOptions,
    open_tensor,
    read_rows,
)
from oneread.files.stream import as_numbers, boxes, plan_tiles
from oneread.ops.read import read
from oneread.spec import AxisError, Read, ShapeError

EVERYTHING = ReadOptions(3, rank=True, entropy=True, sum_p2=True, argmax=True)
EXACT = ("max", "argmax", "values", "indices", "rank")
SUMS = ("lse", "logprobs", "selected", "entropy", "sum_p2")
#: Units in the last place by which sums may differ between one read and a merge of states.
MERGE_ULP = 4


def logits(shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray[Any, Any]:
    """Return logits with ties and, in float types, rows with -inf, +inf and NaN."""
    rng = np.random.default_rng(7)
    x = (rng.normal(0, 1, shape) * 4).round() / 4
    if dtype.startswith("float"):
        flat = x.reshape(-1)
        flat[::11] = -np.inf
        flat[5] = np.inf
        flat[-3] = np.nan
    return x.astype(dtype)


def save(path: Path, x: np.ndarray[Any, Any], order: str = "C") -> Path:
    np.save(path, np.asarray(x, order=order))  # type: ignore[call-overload]
    return path


def streamed(
    path: Path, options: ReadOptions, columns: np.ndarray[Any, Any] | None = None, **how: Any
) -> Read:
    """Return the fields of all rows, put together again."""
    asked = None if columns is None else Columns(path, columns)
    blocks = list(read_rows(open_tensor(path), options, asked, **how))
    starts = [block.first_row for block in blocks]
    assert starts == [0, *itertools.accumulate(block.n_rows for block in blocks)][:-1]
    fields = [block.read for block in blocks]
    return Read(*(None if f[0] is None else np.concatenate(f) for f in zip(*fields, strict=True)))


def assert_same(got: Read, want: Read) -> None:
    """Require what is exact to be equal and sums to be within the bound of a merge."""
    for name in EXACT + SUMS:
        a, b = getattr(got, name), getattr(want, name)
        assert (a is None) == (b is None), name
        if a is None:
            continue
        assert a.dtype == b.dtype, name
        if name in EXACT:
            np.testing.assert_array_equal(a, b, err_msg=name)
            continue
        finite = np.isfinite(b)
        np.testing.assert_array_equal(a[~finite], b[~finite], err_msg=name)
        room = MERGE_ULP * np.spacing(np.abs(b[finite]))
        assert (np.abs(a[finite] - b[finite]) <= room).all(), name


def whole(x: np.ndarray[Any, Any], axis: int, columns: np.ndarray[Any, Any] | None) -> Read:
    """Return what `oneread.read` gives for the array in memory, flat over the rows."""
    rows = np.moveaxis(x, axis, -1)
    result = read(
        rows.reshape(-1, x.shape[axis]).copy(), top_k=3, rank=columns is not None,
        entropy=True, sum_p2=True, argmax=True,
        select=None if columns is None else columns.reshape(-1),
    )  # fmt: skip
    return Read(*(None if f is None else np.asarray(f) for f in result))


CUTS = [BLOCK_BYTES, 4096, 300, 64, 1]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((7, 90), -1), ((7, 90), 0), ((90, 7), 0), ((3, 40, 5), 1), ((3, 40, 5), 2), ((40, 3, 5), 0),
     ((64,), 0), ((1, 33), -1), ((2, 3, 4, 9), -2)],
)  # fmt: skip
def test_rows_are_the_same_however_they_are_cut(
    tmp_path: Path, shape: tuple[int, ...], axis: int, order: str
) -> None:
    x = logits(shape)
    path = save(tmp_path / "x.npy", x, order)
    lead = np.moveaxis(x, axis, -1).shape[:-1]
    columns = np.random.default_rng(1).integers(0, shape[axis], lead or (1,))
    want = whole(x, axis, columns)
    for block_bytes in CUTS:
        got = streamed(path, EVERYTHING, columns, axis=axis, block_bytes=block_bytes)
        assert_same(got, want)


@pytest.mark.parametrize("dtype", ["float64", "float16", ">f4", "int8", "int64", "uint16", "bool"])
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_of_every_type_are_the_same_however_they_are_cut(
    tmp_path: Path, dtype: str, axis: int
) -> None:
    x = logits((20, 30), dtype)
    path = save(tmp_path / "x.npy", x)
    options = ReadOptions(3, entropy=True, sum_p2=True, argmax=True)
    want = whole(x, axis, None)
    for block_bytes in CUTS:
        got = streamed(path, options, axis=axis, block_bytes=block_bytes)
        assert_same(got, want)


@pytest.mark.parametrize("with_library", [True, False])
@pytest.mark.parametrize("big_endian", [True, False])
@pytest.mark.parametrize("axis", [0, 1])
def test_bfloat16_gives_the_same_numbers_with_and_without_its_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, axis: int, big_endian: bool, with_library: bool
) -> None:
    if with_library:
        pytest.importorskip("ml_dtypes", reason="bfloat16 arrays of NumPy")
    else:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    x = logits((20, 30))
    words = (x.view(np.uint32) >> 16).astype(">u2" if big_endian else "<u2")
    x = (words.astype(np.uint32) << 16).view(np.float32)
    path = save(tmp_path / "x.npy", words)
    want = whole(x, axis, None)
    for block_bytes in CUTS:
        options = ReadOptions(3, entropy=True, sum_p2=True, argmax=True)
        blocks = read_rows(
            open_tensor(path, as_dtype="bfloat16"), options, axis=axis, block_bytes=block_bytes
        )
        fields = [block.read for block in blocks]
        got = Read(
            *(None if f[0] is None else np.concatenate(f) for f in zip(*fields, strict=True))
        )
        assert_same(got, want)


def test_words_become_the_numbers_that_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    words = np.array([0x3F80, 0xC000, 0x7F80, 0x0001], np.uint16)
    numbers = as_numbers(words)
    assert numbers.dtype == np.float32
    np.testing.assert_array_equal(numbers, [1, -2, np.inf, 2.0**-133])


def test_several_columns_a_row_are_looked_up(tmp_path: Path) -> None:
    x = logits((6, 50))
    path = save(tmp_path / "x.npy", x)
    columns = np.random.default_rng(2).integers(0, 50, (6, 4))
    want = read(x, select=columns, rank=True)
    for block_bytes in CUTS:
        got = streamed(path, ReadOptions(rank=True), columns, block_bytes=block_bytes)
        assert_same(got, Read(*(None if f is None else np.asarray(f) for f in want)))


@pytest.mark.parametrize("axis", [0, 1])
def test_temperature_is_applied_however_the_file_is_cut(tmp_path: Path, axis: int) -> None:
    x = logits((20, 30))
    path = save(tmp_path / "x.npy", x)
    want = read(np.ascontiguousarray(np.moveaxis(x, axis, -1)), top_k=3, temperature=0.3)
    for block_bytes in CUTS:
        options = ReadOptions(3, temperature=0.3)
        got = streamed(path, options, axis=axis, block_bytes=block_bytes)
        assert_same(got, Read(*(None if f is None else np.asarray(f) for f in want)))


def test_more_top_k_than_columns_is_an_error(tmp_path: Path) -> None:
    path = save(tmp_path / "x.npy", logits((4, 5)))
    with pytest.raises(ShapeError, match=r"top_k is 6.*5"):
        streamed(path, ReadOptions(6), block_bytes=1)


def test_axis_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    path = save(tmp_path / "x.npy", logits((4, 5)))
    with pytest.raises(AxisError, match=r"axis 2 .*\[-2, 2\)"):
        streamed(path, EVERYTHING, axis=2)


def test_columns_that_do_not_fit_the_rows_are_an_error(tmp_path: Path) -> None:
    path = save(tmp_path / "x.npy", logits((4, 5)))
    with pytest.raises(FileFormatError, match="do not fit 4 rows"):
        streamed(path, EVERYTHING, np.zeros(5, int))


def test_progress_adds_up_to_the_file(tmp_path: Path) -> None:
    path = save(tmp_path / "x.npy", logits((20, 30)))
    for axis, block_bytes in itertools.product([0, 1], CUTS):
        done: list[int] = []
        streamed(path, ReadOptions(), axis=axis, block_bytes=block_bytes, progress=done.append)
        assert sum(done) == 20 * 30 * 4


@pytest.mark.parametrize("lead", [(), (5,), (3, 4), (2, 3, 4), (1, 5, 1)])
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 12, 100])
def test_boxes_cover_the_rows_in_order(lead: tuple[int, ...], limit: int) -> None:
    numbers = np.arange(int(np.prod(lead))).reshape(lead)
    parts = [np.ravel(numbers[box]) for box in boxes(lead, limit)]
    np.testing.assert_array_equal(np.concatenate(parts), numbers.ravel())
    assert max(part.size for part in parts) <= limit


def test_tiles_take_rows_whole_where_they_fit() -> None:
    tiling = plan_tiles(np.empty((1000, 50), np.float32), 4096)
    assert (tiling.rows, tiling.columns) == (20, 50)


def test_tiles_cut_a_row_that_does_not_fit() -> None:
    tiling = plan_tiles(np.empty((4, 5000), np.float32), 4096)
    assert (tiling.rows, tiling.columns) == (1, 1024)


def test_tiles_take_neighbouring_rows_together_along_another_axis() -> None:
    tiling = plan_tiles(np.empty((5000, 16), np.float32).T, 4096)
    assert (tiling.rows, tiling.columns) == (16, 64)


def test_views_of_a_file_can_be_looked_at_after_their_pages_went(tmp_path: Path) -> None:
    x = logits((64, 1000))
    mapped = MappedTensor(open_tensor(save(tmp_path / "x.npy", x)))
    for view in (mapped.array, mapped.array[3:7, 10:], mapped.array.T[5:6]):
        mapped.release(view)
    np.testing.assert_array_equal(mapped.array, x)


def sparse(path: Path, shape: tuple[int, ...], order: str) -> None:
    """Make a file of zeros that takes no room on the disk."""
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": order == "F", "shape": shape}
        )
        file.truncate(file.tell() + 4 * int(np.prod(shape)))


MEASURED = """
import resource, sys
from pathlib import Path
from oneread.files import ReadOptions, open_tensor, read_rows
path, axis = Path(sys.argv[1]), int(sys.argv[2])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows = 0
for block in read_rows(open_tensor(path), ReadOptions(entropy=True), axis=axis):
    rows += block.n_rows
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize(
    ("shape", "axis", "order"),
    [((3000, 50_000), 1, "C"), ((50_000, 3000), 0, "C"), ((3000, 50_000), 1, "F"),
     ((150_000_000,), 0, "C")],
)  # fmt: skip
def test_memory_stays_below_the_size_of_the_file(
    tmp_path: Path, shape: tuple[int, ...], axis: int, order: str
) -> None:
    path = tmp_path / "x.npy"
    sparse(path, shape, order)
    said = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path), str(axis)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows, grown_kb = map(int, said.stdout.split())
    assert rows == np.prod(shape) // shape[axis]
    assert path.stat().st_size >= 600_000_000
    assert grown_kb < 200_000
