"""Damaged files are refused in one line or read right, whatever the damage."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oneread.files import FileFormatError, MappedTensor, open_tensor

#: Files of about a hundred bytes must never cost more than this.
MAXIMUM_BYTES = 8 << 20

SETTINGS = settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def a_npy() -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.arange(6, dtype="f4").reshape(2, 3), (1, 0))
    return out.getvalue()


def a_safetensors() -> bytes:
    entries = {
        "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "v": {"dtype": "BF16", "shape": [2], "data_offsets": [24, 28]},
    }
    raw = json.dumps(entries).encode()
    return len(raw).to_bytes(8, "little") + raw + np.arange(6, dtype="f4").tobytes() + b"\0" * 4


TOKENS = [
    b"0", b"1", b"9", b"-", b"99999999999999999999", b"(", b")", b"[", b"]", b"{", b"}", b"'",
    b'"', b",", b"None", b"True", b"<f8", b"|O", b"<V2", b"\x00", b"\xff", b"\n", b"F64", b"U8",
    b"1e400", b"NaN", b"__metadata__", b"shape", b"data_offsets", b"\\u0000", b"\\ud800",
]  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """Return the file with one to four places overwritten, removed, repeated or filled."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        length = draw(st.integers(0, 12))
        kind = draw(st.sampled_from(["token", "bytes", "drop", "repeat", "end"]))
        if kind == "token":
            data[at : at + length] = draw(st.sampled_from(TOKENS))
        elif kind == "bytes":
            data[at : at + length] = draw(st.binary(max_size=12))
        elif kind == "drop":
            del data[at : at + length]
        elif kind == "repeat":
            data[at:at] = data[at : at + length]
        else:
            del data[at:]
    return bytes(data)


def open_and_look(path: Path, name: str | None) -> None:
    """Open a file as the command does; only a one-line `FileFormatError` may come out."""
    try:
        tensor = open_tensor(path, name)
        mapped = MappedTensor(tensor)
    except FileFormatError as error:
        message = str(error)
        assert message.isprintable()
        assert len(message) < 500
        return
    assert mapped.array.shape == tensor.shape
    assert tensor.offset + mapped.array.nbytes <= path.stat().st_size
    np.array(mapped.array)  # every byte of it is there


@pytest.mark.parametrize(
    ("whole", "name"), [(a_npy(), None), (a_safetensors(), "w"), (a_safetensors(), "v")]
)
def test_damaged_file_is_refused_in_one_line_or_read(
    tmp_path: Path, whole: bytes, name: str | None
) -> None:
    path = tmp_path / "file"

    @SETTINGS
    @given(damaged(whole))
    def check(content: bytes) -> None:
        path.write_bytes(content)
        tracemalloc.start()
        try:
            open_and_look(path, name)
            assert tracemalloc.get_traced_memory()[1] < MAXIMUM_BYTES
        finally:
            tracemalloc.stop()

    check()
