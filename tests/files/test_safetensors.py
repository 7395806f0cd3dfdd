"""What a `.safetensors` header may say, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oneread.files import (
    FileFormatError,
    MappedTensor,
    TensorNotNamedError,
    open_tensor,
    read_safetensors_header,
)

DTYPES = {
    "F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1",
    "U64": "u8", "U32": "u4", "U16": "u2", "U8": "u1", "BOOL": "?",
}  # fmt: skip


def raw_file(header: str | bytes, data: bytes = b"") -> bytes:
    raw = header.encode() if isinstance(header, str) else header
    return len(raw).to_bytes(8, "little") + raw + data


def entry(dtype: Any = "F32", shape: Any = (2, 3), offsets: Any = (0, 24)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def one(data_bytes: int = 24, **fields: Any) -> bytes:
    """Return a file of one tensor named ``w``."""
    return raw_file(json.dumps({"w": entry(**fields)}), bytes(data_bytes))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def refusal(path: Path, content: bytes) -> str:
    """Return the message with which a file is refused, checked to be one line."""
    path.write_bytes(content)
    with pytest.raises(FileFormatError) as caught:
        open_tensor(path, "w")
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensor_is_mapped_as_it_was_saved(path: Path, dtype: str) -> None:
    first = np.arange(6).reshape(2, 3).astype(DTYPES[dtype])
    second = np.arange(5, dtype="u1")
    cut = first.nbytes
    header = {
        "__metadata__": {"format": "pt"},
        "w": entry(dtype, [2, 3], [0, cut]),
        "v": entry("U8", [5], [cut, cut + 5]),
    }
    path.write_bytes(raw_file(json.dumps(header) + "   ", first.tobytes() + second.tobytes()))
    np.testing.assert_array_equal(MappedTensor(open_tensor(path, "w")).array, first)
    np.testing.assert_array_equal(MappedTensor(open_tensor(path, "v")).array, second)


def test_bfloat16_is_mapped_as_words(path: Path) -> None:
    words = np.array([0x3F80, 0x4000, 0xC000], "<u2")
    path.write_bytes(raw_file(json.dumps({"w": entry("BF16", [3], [0, 6])}), words.tobytes()))
    tensor = open_tensor(path, "w")
    assert tensor.dtype == "bfloat16"
    np.testing.assert_array_equal(MappedTensor(tensor).array, words)


def test_tensors_are_listed_in_the_order_of_their_data(path: Path) -> None:
    header = {"b": entry("U8", [3], [2, 5]), "a": entry("U8", [2], [0, 2])}
    path.write_bytes(raw_file(json.dumps(header), bytes(5)))
    assert [tensor.name for tensor in read_safetensors_header(path)] == ["a", "b"]


def test_file_without_a_name_carries_what_it_holds(path: Path) -> None:
    header = {"b": entry("U8", [3], [2, 5]), "a": entry("U8", [2], [0, 2])}
    path.write_bytes(raw_file(json.dumps(header), bytes(5)))
    with pytest.raises(TensorNotNamedError, match="--tensor NAME") as caught:
        open_tensor(path)
    assert [tensor.name for tensor in caught.value.tensors] == ["a", "b"]


def test_only_tensor_is_opened_without_its_name(path: Path) -> None:
    path.write_bytes(one())
    assert open_tensor(path).name == "w"


def test_unknown_name_is_told_what_is_near(path: Path) -> None:
    path.write_bytes(raw_file(json.dumps({"lm_head.weight": entry()}), bytes(24)))
    with pytest.raises(FileFormatError, match=r"near it: lm_head\.weight"):
        open_tensor(path, "lm_head.weights")


def test_suffix_is_not_needed(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(one())
    assert open_tensor(path, "w").shape == (2, 3)


def test_zip_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(FileFormatError, match="zip archive"):
        open_tensor(path)


def test_unknown_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("just some text")
    with pytest.raises(FileFormatError, match="unknown; oneread reads"):
        open_tensor(path)


def test_type_that_no_op_takes_is_listed_and_refused(path: Path) -> None:
    path.write_bytes(one(6, dtype="F8_E4M3", offsets=(0, 6)))
    assert read_safetensors_header(path)[0].dtype == "F8_E4M3"
    with pytest.raises(FileFormatError, match="F8_E4M3 is not supported"):
        open_tensor(path, "w")


def test_type_of_the_future_is_listed_and_refused(path: Path) -> None:
    assert "X3 is not supported" in refusal(path, one(dtype="X3"))


def test_file_truncated_anywhere_is_refused(path: Path) -> None:
    whole = one()
    for length in range(len(whole)):
        refusal(path, whole[:length])


TWO = {"a": entry("U8", [2], [0, 2]), "w": entry("U8", [2], [2, 4])}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b"\x00" * 7, "at least 8 bytes"),
        ((2**64 - 1).to_bytes(8, "little") + b"{}", "not a .safetensors file"),
        ((100).to_bytes(8, "little") + b"{}", "truncated"),
        (raw_file(""), "no JSON object"),
        (raw_file("[1]"), "no JSON object"),
        (raw_file(" {}"), "no JSON object"),
        (raw_file("{"), "no valid JSON"),
        (raw_file(b'{"\xff": 1}'), "no valid JSON"),
        (raw_file('{"a":' * 100_000), "no valid JSON"),
        (raw_file('{"w": ' + "9" * 5000 + "}"), "no valid JSON"),
        (raw_file('{"w": NaN}'), "NaN, which is no JSON"),
        (raw_file('{"w": 1, "w": 2}'), "names 'w' twice"),
        (raw_file('{"w": {"dtype": "F32", "dtype": "F16"}}'), "names 'dtype' twice"),
        (raw_file('{"__metadata__": {"a": 1}}'), "__metadata__ is no map"),
        (raw_file('{"__metadata__": "pt"}'), "__metadata__ is no map"),
        (raw_file('{"w": 1}'), "does not state"),
        (raw_file('{"w": {"dtype": "F32", "shape": [1]}}'), "does not state"),
        (raw_file("{}"), "no tensor 'w'"),
        (one(dtype=4), "dtype that is no text"),
        (one(shape=6), "no list"),
        (one(shape=[-2, -3]), "-2, which is no size"),
        (one(shape=[True, 6]), "True, which is no size"),
        (one(shape=[2.0, 3.0]), "2.0, which is no size"),
        (one(shape=[1] * 65), "at most 64"),
        (one(shape=[2, 4]), "does not fill"),
        (one(shape=[2**62, 2**62]), "does not fill"),
        (one(offsets=[0]), "no range"),
        (one(offsets=[24, 0]), "no range"),
        (one(offsets=[-4, 20]), "no range"),
        (one(offsets=[0.0, 24.0]), "no range"),
        (one(offsets=[0, 2**70]), "beyond the file"),
        (one(20), "beyond the file"),
        (one(28), "4 bytes of data belong to no tensor"),
        (one(28, offsets=[4, 28]), "leaves a hole"),
        (raw_file(json.dumps(TWO | {"b": entry("U8", [3], [1, 4])}), bytes(4)), "overlaps"),
        (raw_file(json.dumps({"w": entry(shape=[], offsets=[0, 4])}), bytes(4)), "single number"),
        (raw_file(json.dumps({"w": entry(shape=[0, 7], offsets=[0, 0])})), "has no elements"),
    ],
)
def test_file_is_refused_in_one_line(path: Path, content: bytes, says: str) -> None:
    assert says in refusal(path, content)


def test_message_holds_no_control_characters(path: Path) -> None:
    content = raw_file(json.dumps({"\x1b[31m": 1}))
    assert "\x1b" not in refusal(path, content)


def test_many_names_with_one_twice_are_refused_quickly(path: Path) -> None:
    names = ", ".join(f'"{i}": 1' for i in range(200_000))
    assert "names '199999' twice" in refusal(path, raw_file(f'{{{names}, "199999": 2}}'))
