"""Files of columns to look up: `.npy` and text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from oneread.files import FileFormatError, read_columns


def of_text(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "columns.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    "text", ["3\n1\n2\n", "3\n1\n2", "\n3\n\n1\n2\n\n", " 3 \r\n1\r\n2\r\n", "3,\n1,\n2,\n"]
)
def test_text_of_one_column_a_line_is_one_a_row(tmp_path: Path, text: str) -> None:
    columns = read_columns(of_text(tmp_path, text)).for_rows((3,))
    assert columns.tail == ()
    np.testing.assert_array_equal(columns.slice(0, 3, 4), [3, 1, 2])


@pytest.mark.parametrize("text", ["1 2\n3 4\n5 6\n", "1, 2\n3,4\n5\t6\n"])
def test_text_of_several_columns_a_line_is_several_a_row(tmp_path: Path, text: str) -> None:
    columns = read_columns(of_text(tmp_path, text)).for_rows((3,))
    assert columns.tail == (2,)
    np.testing.assert_array_equal(columns.slice(1, 3, 10), [[3, 4], [5, 6]])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty"),
        ("\n\n", "holds no column"),
        ("1\ntwo\n", "columns.txt:2: 'two' is no column number"),
        ("1.0\n", "'1.0' is no column number"),
        ("1\n2 3\n", "columns.txt:2: 2 columns; the first line has 1"),
        ("9" * 40 + "\n", "is no column number"),
        ("--1\n", "is no column number"),
        ("\u0663\n", "is no column number"),
        (b"\xff\xfe\n", "neither a .npy file nor text"),
        ("\x1b[31m\n", "is no column number"),
    ],
)
def test_text_is_refused_in_one_line(tmp_path: Path, text: str | bytes, says: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        read_columns(of_text(tmp_path, text))
    assert says in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("dtype", ["int64", "uint8", ">i4", "uint64"])
def test_npy_of_integers_is_taken(tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "columns.npy"
    np.save(path, np.array([3, 1, 2], dtype))
    columns = read_columns(path).for_rows((3,)).slice(0, 3, 4)
    assert columns.dtype == np.int64
    np.testing.assert_array_equal(columns, [3, 1, 2])


@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_npy_of_other_types_is_refused(tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "columns.npy"
    np.save(path, np.zeros(3, dtype))
    with pytest.raises(FileFormatError, match=f"columns are integers; got {dtype}"):
        read_columns(path)


@pytest.mark.parametrize("shape", [(6,), (2, 3)])
def test_columns_may_be_shaped_as_the_rows_or_flat(tmp_path: Path, shape: tuple[int, ...]) -> None:
    path = tmp_path / "columns.npy"
    np.save(path, np.arange(6).reshape(shape))
    columns = read_columns(path).for_rows((2, 3))
    assert columns.tail == ()
    np.testing.assert_array_equal(columns.slice(2, 4, 6), [2, 3])


@pytest.mark.parametrize("shape", [(6, 4), (2, 3, 4)])
def test_several_columns_may_be_shaped_as_the_rows_or_flat(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    path = tmp_path / "columns.npy"
    np.save(path, np.arange(24).reshape(shape))
    columns = read_columns(path).for_rows((2, 3))
    assert columns.tail == (4,)
    np.testing.assert_array_equal(columns.slice(1, 2, 24), [[4, 5, 6, 7]])


def test_columns_of_another_number_of_rows_are_refused(tmp_path: Path) -> None:
    columns = read_columns(of_text(tmp_path, "1\n2\n"))
    with pytest.raises(FileFormatError, match=r"\(2,\) do not fit 3 rows of shape \(3,\)"):
        columns.for_rows((3,))


@pytest.mark.parametrize("bad", [-1, 4, 10**17])
def test_column_outside_the_row_is_named_with_its_row(tmp_path: Path, bad: int) -> None:
    columns = read_columns(of_text(tmp_path, f"0\n1\n{bad}\n")).for_rows((3,))
    columns.slice(0, 2, 4)
    with pytest.raises(FileFormatError, match=rf"column {bad} of row 2 is outside \[0, 4\)"):
        columns.slice(1, 3, 4)
