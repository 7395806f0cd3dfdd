"""Damaged files never get a traceback: the command answers, or refuses in one line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from oneread.cli.main import app

SETTINGS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
PATCHES = st.lists(
    st.tuples(
        st.integers(0, 250),
        st.integers(0, 8),
        st.one_of(st.binary(max_size=8), st.sampled_from([b"9" * 9, b"-1", b"<f8", b"F64", b"0"])),
    ),
    min_size=1,
    max_size=4,
)


def a_npy() -> bytes:
    out = io.BytesIO()
    np.save(out, np.arange(6, dtype="f4").reshape(2, 3))
    return out.getvalue()


def a_safetensors() -> bytes:
    header = {"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
    raw = json.dumps(header).encode()
    return len(raw).to_bytes(8, "little") + raw + np.arange(6, dtype="f4").tobytes()


@pytest.mark.parametrize(("whole", "args"), [(a_npy(), []), (a_safetensors(), ["--tensor", "w"])])
def test_damaged_file_is_read_or_refused_in_one_line(
    tmp_path: Path, whole: bytes, args: list[str]
) -> None:
    path = tmp_path / "file"

    @SETTINGS
    @given(PATCHES)
    def check(patches: list[tuple[int, int, bytes]]) -> None:
        data = bytearray(whole)
        for at, length, new in patches:
            data[at % len(data) : at % len(data) + length] = new
        path.write_bytes(data)
        result = CliRunner().invoke(app, ["read", str(path), "--json", *args])
        assert result.exit_code in (0, 2), result.output
        if result.exit_code == 2:
            assert result.stderr.startswith("oneread: error: ")
            assert result.stderr.count("\n") == 1

    check()


def test_damaged_columns_are_refused_in_one_line(tmp_path: Path) -> None:
    logits, columns = tmp_path / "x.npy", tmp_path / "columns"
    logits.write_bytes(a_npy())

    @SETTINGS
    @given(st.one_of(st.binary(max_size=20), st.text("0123456789 ,-\n\t.e", max_size=12)))
    def check(content: bytes | str) -> None:
        columns.write_bytes(content if isinstance(content, bytes) else content.encode())
        result = CliRunner().invoke(app, ["read", str(logits), "--select", str(columns), "--json"])
        assert result.exit_code in (0, 2), result.output
        assert result.stderr.count("\n") == (result.exit_code == 2)

    check()
