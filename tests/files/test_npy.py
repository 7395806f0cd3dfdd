"""What a `.npy` header may say, and what is refused."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oneread.files import FileFormatError, MappedTensor, open_tensor, read_npy_header
from oneread.spec import INPUT_DTYPES

PLAIN_DTYPES = [name for name in INPUT_DTYPES if name != "bfloat16"]


def npy(array: np.ndarray[Any, Any], version: tuple[int, int] = (1, 0)) -> bytes:
    """Return the bytes of a `.npy` file."""
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version)
    return out.getvalue()


def with_header(header: str | bytes, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    """Return a version 1.0 file with any header."""
    raw = header.encode("latin1") if isinstance(header, str) else header
    return b"\x93NUMPY" + version + len(raw).to_bytes(2, "little") + raw + data


def header(descr: str = "'<f4'", order: str = "False", shape: str = "(2, 3)") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logits.npy"


def refusal(path: Path, content: bytes) -> str:
    """Return the message with which a file is refused, checked to be one line."""
    path.write_bytes(content)
    with pytest.raises(FileFormatError) as caught:
        open_tensor(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", PLAIN_DTYPES)
def test_array_is_mapped_as_it_was_saved(
    path: Path, dtype: str, order: Any, version: tuple[int, int]
) -> None:
    saved = np.arange(60).reshape(3, 4, 5).astype(dtype, order=order)
    path.write_bytes(npy(saved, version))
    tensor = open_tensor(path)
    assert (tensor.dtype, tensor.shape) == (dtype, (3, 4, 5))
    mapped = MappedTensor(tensor).array
    assert mapped.strides == saved.strides
    np.testing.assert_array_equal(mapped, saved)


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">i2", ">u8", ">f2"])
def test_big_endian_array_keeps_its_numbers(path: Path, dtype: str) -> None:
    saved = np.arange(7).astype(dtype)
    path.write_bytes(npy(saved))
    np.testing.assert_array_equal(MappedTensor(open_tensor(path)).array, saved)


def test_mapped_array_is_read_only(path: Path) -> None:
    path.write_bytes(npy(np.zeros(5)))
    array = MappedTensor(open_tensor(path)).array
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


@pytest.mark.parametrize("descr", ["<u2", "<i2", ">u2", "<V2", "|V2"])
def test_16_bit_words_are_read_as_bfloat16_when_asked(path: Path, descr: str) -> None:
    path.write_bytes(with_header(header(f"'{descr}'"), bytes(12)))
    tensor = open_tensor(path, as_dtype="bfloat16")
    assert (tensor.dtype, tensor.shape, tensor.n_bytes) == ("bfloat16", (2, 3), 12)


def test_raw_words_name_the_option_that_reads_them(path: Path) -> None:
    assert "--dtype bfloat16" in refusal(path, with_header(header("'<V2'"), bytes(12)))


def test_bfloat16_is_refused_for_what_has_a_type(path: Path) -> None:
    path.write_bytes(npy(np.zeros(3, "f2")))
    with pytest.raises(FileFormatError, match="holds float16"):
        open_tensor(path, as_dtype="bfloat16")


def test_other_types_are_refused_as_dtype(path: Path) -> None:
    path.write_bytes(npy(np.zeros(3, "u2")))
    with pytest.raises(FileFormatError, match="takes bfloat16 alone"):
        open_tensor(path, as_dtype="float16")


def test_name_is_refused_for_a_file_of_one_array(path: Path) -> None:
    path.write_bytes(npy(np.zeros(3)))
    with pytest.raises(FileFormatError, match="--tensor"):
        open_tensor(path, "logits")


def test_file_truncated_anywhere_is_refused(path: Path) -> None:
    whole = npy(np.zeros((2, 3), "f4"))
    for length in range(len(whole)):
        refusal(path, whole[:length])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b"hello, world", "not a .npy file"),
        (b"\x93NUMPY\x04\x00" + bytes(40), "version 4.0 is unknown"),
        (npy(np.zeros((0, 5))), "has no elements"),
        (npy(np.zeros((5, 0))), "has no elements"),
        (npy(np.array(1.0)), "single number"),
        (npy(np.zeros(3, complex)), "complex numbers"),
        (npy(np.array(["a"])), "strings"),
        (npy(np.array([b"a"])), "byte strings"),
        (npy(np.array(["2026-01-01"], "M8[D]")), "dates"),
        (npy(np.zeros(3, np.longdouble)), "floats of a refused width"),
        (npy(np.zeros(3, [("a", "f4")])), "structured"),
        (npy(np.zeros(3, "V3")), "raw bytes"),
        (npy(np.zeros(3)) + b"more", "4 bytes follow"),
        (with_header(header("'|O'")), "Python objects"),
        (with_header(header(shape="(10**9, 10**9)")), "no Python literal"),
        (with_header(header(shape="(1000000000, 1000000000000)")), "more than 10^18 bytes"),
        (with_header(header(shape="(-1, 4)")), "-1, which is no size"),
        (with_header(header(shape="(True, 4)")), "True, which is no size"),
        (with_header(header(shape="(2.0, 3)")), "2.0, which is no size"),
        (with_header(header(shape="6")), "no list"),
        (with_header(header(shape=f"({'1,' * 65})")), "at most 64"),
        (with_header(header(shape=f"({'9' * 4000},)")), "truncated or absurd"),
        (with_header(header(shape=f"({'9' * 5000},)")), "no Python literal"),
        (with_header(header(shape=f"({('9' * 150 + ',') * 60})")), "more than 10^18 bytes"),
        (with_header(header(order="1")), "fortran_order"),
        (with_header(header(descr="'<f4\x1b[31m'")), "is unknown"),
        (with_header(header(descr="('<f4', (2,))")), "structured"),
        (with_header("{}"), "does not name"),
        (with_header("[1, 2]"), "does not name"),
        (with_header("{'descr': '<f4', 'shape': (1,)}"), "does not name"),
        (with_header("{" * 5000), "no Python literal"),
        (with_header("-" * 9000 + "1"), "no Python literal"),
        (with_header("__import__('os').getcwd()"), "no Python literal"),
        (b"\x93NUMPY\x03\x00\x02\x00\x00\x00\xff\xfe", "no Python literal"),
        (with_header(" " * 20_000), "at most 10,000"),
    ],
)
def test_file_is_refused_in_one_line(path: Path, content: bytes, says: str) -> None:
    assert says in refusal(path, content)


def test_message_holds_no_control_characters(path: Path) -> None:
    assert "\x1b" not in refusal(path, with_header(header(descr="'<f4\x1b[31m'")))


def test_claimed_header_beyond_the_bound_is_not_read(path: Path) -> None:
    start = b"\x93NUMPY\x02\x00" + (2**32 - 1).to_bytes(4, "little")
    assert "4,294,967,295 bytes" in refusal(path, start + bytes(100))


def test_folder_and_pipe_are_refused(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe.npy")
    for path in (tmp_path, tmp_path / "pipe.npy"):
        with pytest.raises(FileFormatError, match="not a regular file"):
            read_npy_header(path)


def test_file_that_shrank_is_refused(path: Path) -> None:
    path.write_bytes(npy(np.zeros(1000)))
    tensor = open_tensor(path)
    path.write_bytes(npy(np.zeros(10)))
    with pytest.raises(FileFormatError, match="shrank"):
        MappedTensor(tensor)
