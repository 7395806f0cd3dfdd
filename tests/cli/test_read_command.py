"""`oneread read`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from oneread.cli.main import app
from oneread.ops.read import read
from oneread.spec import Read

ROWS, VOCAB = 6, 40


def run(*args: object, **how: Any) -> Result:
    return CliRunner().invoke(app, ["read", *map(str, args)], **how)


def refused(*args: object) -> str:
    """Return the one line that a refused command prints, checked to end with status 2."""
    result = run(*args)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    line = result.stderr.removesuffix("\n")
    assert line.startswith("oneread: error: ")
    assert "\n" not in line
    return line


def objects(text: str) -> list[dict[str, Any]]:
    """Return the rows of JSON lines; only standard JSON is taken."""

    def no_constant(name: str) -> None:
        raise AssertionError(f"{name} is no standard JSON")

    return [json.loads(line, parse_constant=no_constant) for line in text.splitlines()]


@pytest.fixture
def x() -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).normal(0, 3, (ROWS, VOCAB)).astype(np.float32)


@pytest.fixture
def npy(tmp_path: Path, x: np.ndarray[Any, Any]) -> Path:
    np.save(tmp_path / "logits.npy", x)
    return tmp_path / "logits.npy"


@pytest.fixture
def columns(tmp_path: Path) -> Path:
    path = tmp_path / "columns.txt"
    path.write_text("".join(f"{row * 3}\n" for row in range(ROWS)))
    return path


def safetensors(path: Path, **tensors: np.ndarray[Any, Any]) -> Path:
    """Write float32 tensors."""
    header, data = {}, b""
    for name, array in tensors.items():
        end = len(data) + array.nbytes
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [len(data), end]}
        data += array.tobytes()
    raw = json.dumps(header).encode()
    path.write_bytes(len(raw).to_bytes(8, "little") + raw + data)
    return path


def test_json_has_the_fields_of_read(npy: Path, columns: Path, x: np.ndarray[Any, Any]) -> None:
    result = run(
        npy, "--json", "--top-k", 3, "--select", columns, "--rank", "--entropy", "--sum-p2",
        "--argmax", "--temperature", 0.7, "--threads", 1,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    want = read(
        x, top_k=3, select=np.arange(ROWS) * 3, rank=True, entropy=True, sum_p2=True, argmax=True,
        temperature=0.7,
    )  # fmt: skip
    rows = objects(result.stdout)
    assert [row.pop("row") for row in rows] == list(range(ROWS))
    for i, row in enumerate(rows):
        assert row == {name: value[i].tolist() for name, value in want._asdict().items()}


def test_top_5_is_read_when_nothing_is_said(npy: Path) -> None:
    first = objects(run(npy, "--json").stdout)[0]
    assert list(first) == ["row", "lse", "max", "values", "indices", "logprobs"]
    assert len(first["indices"]) == 5


def test_rows_shorter_than_5_give_all_columns(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(6.0).reshape(2, 3))
    assert objects(run(tmp_path / "x.npy", "--json").stdout)[0]["indices"] == [2, 1, 0]


def test_top_0_leaves_the_lists_out(npy: Path) -> None:
    assert list(objects(run(npy, "--json", "--top-k", 0).stdout)[0]) == ["row", "lse", "max"]


def test_rows_run_along_the_axis(npy: Path, x: np.ndarray[Any, Any]) -> None:
    rows = objects(run(npy, "--json", "--axis", 0, "--top-k", 1).stdout)
    want = read(np.ascontiguousarray(x.T), top_k=1)
    assert [row["indices"] for row in rows] == want.indices.tolist()


def test_row_of_several_axes_has_its_place(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 3, 4), np.float32))
    rows = objects(run(tmp_path / "x.npy", "--json", "--axis", 1).stdout)
    assert [row["index"] for row in rows[3:6]] == [[0, 3], [1, 0], [1, 1]]


def test_numbers_that_json_lacks_are_strings(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([[np.nan, 0], [-np.inf, -np.inf], [np.inf, 0]]))
    rows = objects(run(tmp_path / "x.npy", "--json", "--top-k", 0).stdout)
    assert [row["lse"] for row in rows] == ["NaN", "-Infinity", "Infinity"]


def test_table_has_a_line_for_each_row(npy: Path, columns: Path) -> None:
    result = run(npy, "--select", columns, "--rank", "--top-k", 2)
    assert result.exit_code == 0
    title, head, *rows = result.stdout.splitlines()
    assert title == f"{npy}: float32, 6 x 40, rows along axis -1"
    assert head.split() == [
        "row",
        "lse",
        "max",
        "selected",
        "rank",
        "top",
        "2:",
        "column",
        "logprob",
    ]
    assert [line.split()[0] for line in rows] == [str(row) for row in range(ROWS)]
    assert all(len(line.split()) == 5 + 4 for line in rows)


def test_table_names_the_place_of_rows_of_several_axes(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 3, 4), np.float32))
    lines = run(tmp_path / "x.npy").stdout.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["0,0", "0,1", "0,2", "1,0", "1,1", "1,2"]


def test_summary_names_the_kernel_on_standard_error(npy: Path) -> None:
    line = run(npy).stderr
    assert line.startswith("6 rows, 960 B in ")
    assert "lazy_read" in line


def test_no_colour_and_no_bar_where_there_is_no_terminal(npy: Path) -> None:
    assert "\x1b" not in run(npy).output


def test_several_files_are_told_apart(tmp_path: Path, npy: Path) -> None:
    other = tmp_path / "other.npy"
    np.save(other, np.zeros((1, 4)))
    rows = objects(run(npy, other, "--json").stdout)
    assert [row["file"] for row in rows] == [str(npy)] * ROWS + [str(other)]


def test_tensor_of_a_safetensors_file_is_read(tmp_path: Path, x: np.ndarray[Any, Any]) -> None:
    path = safetensors(tmp_path / "m.safetensors", head=x, other=np.zeros((1, 2), np.float32))
    rows = objects(run(path, "--tensor", "head", "--json", "--top-k", 1).stdout)
    assert [row["indices"] for row in rows] == read(x, top_k=1).indices.tolist()


def test_only_tensor_of_a_file_needs_no_name(tmp_path: Path, x: np.ndarray[Any, Any]) -> None:
    path = safetensors(tmp_path / "m.safetensors", head=x)
    rows = objects(run(path, "--json", "--top-k", 1).stdout)
    assert [row["indices"] for row in rows] == read(x, top_k=1).indices.tolist()


def test_name_that_is_not_there_gives_those_that_are(tmp_path: Path) -> None:
    arrays = {f"w{i}": np.zeros((1, 1), np.float32) for i in range(12)}
    line = refused(safetensors(tmp_path / "m.safetensors", **arrays), "--tensor", "bias")
    assert "no tensor 'bias'; the file has w0, w1, w2," in line
    assert line.rstrip().endswith("w9 and 2 more")


def test_one_row_by_one_thread_is_told_in_the_singular(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((1, 8), np.float32))
    said = run(tmp_path / "x.npy", "--top-k", 1).stderr
    assert said.startswith("1 row, 32 B in ")
    assert said.endswith(", 1 thread\n")


def test_bad_threads_variable_is_refused_in_one_line(npy: Path) -> None:
    for value in ("many", "9" * 5000):
        said = subprocess.run(
            [sys.executable, "-m", "oneread", "read", str(npy), "--json"], capture_output=True,
            text=True, check=False, env=os.environ | {"ONEREAD_THREADS": value},
        )  # fmt: skip
        assert said.returncode == (2 if value == "many" else 0)
        assert said.stderr.count("\n") == (value == "many")
    assert run(npy, "--threads", 10**12, "--json").exit_code == 0


def test_tensors_are_listed_when_none_is_named(tmp_path: Path) -> None:
    names = ["head", "other"]
    arrays = {name: np.zeros((2, 3), np.float32) for name in names}
    result = run(safetensors(tmp_path / "m.safetensors", **arrays))
    assert (result.exit_code, result.stdout) == (2, "")
    first, *rest = result.stderr.splitlines()
    assert first.startswith("oneread: error: ")
    assert "--tensor NAME" in first
    assert [line.split(None, 2) for line in rest] == [[n, "float32", "(2, 3)"] for n in names]


def test_list_of_tensors_is_bounded(tmp_path: Path) -> None:
    arrays = {f"w{i}": np.zeros((1, 1), np.float32) for i in range(150)}
    result = run(safetensors(tmp_path / "m.safetensors", **arrays))
    assert result.stderr.splitlines()[-1].strip() == "... and 50 more"


def test_raw_words_are_read_as_bfloat16(tmp_path: Path, x: np.ndarray[Any, Any]) -> None:
    words = (x.view(np.uint32) >> 16).astype(np.uint16)
    np.save(tmp_path / "x.npy", words)
    rows = objects(run(tmp_path / "x.npy", "--dtype", "bfloat16", "--json", "--top-k", 1).stdout)
    want = (words.astype(np.uint32) << 16).view(np.float32).max(1)
    assert [row["values"] for row in rows] == [[value] for value in want.tolist()]


def test_npz_has_the_fields_of_read(tmp_path: Path, npy: Path, x: np.ndarray[Any, Any]) -> None:
    out = tmp_path / "out.npz"
    result = run(npy, "--out", out, "--top-k", 3, "--entropy")
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"wrote {out}" in result.stderr
    want = read(x, top_k=3, entropy=True)._asdict()
    with np.load(out) as archive:
        assert sorted(archive) == sorted(name for name in want if want[name] is not None)
        for name in archive:
            assert archive[name].dtype == want[name].dtype
            np.testing.assert_array_equal(archive[name], want[name])


def test_jsonl_has_the_objects_of_json(tmp_path: Path, npy: Path) -> None:
    assert run(npy, "--out", tmp_path / "out.jsonl").exit_code == 0
    assert (tmp_path / "out.jsonl").read_text() == run(npy, "--json").stdout


def test_refused_file_leaves_no_output(tmp_path: Path, npy: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text("99\n" * ROWS)
    refused(npy, "--select", bad, "--out", tmp_path / "out.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.txt", "logits.npy"]


def test_field_names_are_those_of_read(npy: Path, columns: Path) -> None:
    result = run(npy, "--json", "--select", columns, "--rank", "--entropy", "--sum-p2", "--argmax")
    assert list(objects(result.stdout)[0]) == ["row", *Read._fields]


class TestRefusals:
    """What is refused in one line with status 2."""

    @pytest.mark.parametrize(
        ("args", "says"),
        [
            (["--top-k", "41"], "top_k is 41; a row has 40 columns"),
            (["--axis", "2"], "axis 2"),
            (["--rank"], "--rank needs --select"),
            (["--temperature", "0"], "temperature"),
            (["--temperature", "nan"], "temperature"),
            (["--tensor", "w"], "--tensor"),
            (["--dtype", "bfloat16"], "holds float32"),
            (["--dtype", "float8"], "--dtype takes bfloat16 alone"),
            (["--top-k", "-1"], "--top-k"),
            (["--top-k", "five"], "--top-k"),
            (["--threads", "0"], "--threads"),
            (["--no-such-option"], "--no-such-option"),
            (["--out", "out.csv"], ".npz or .jsonl"),
            (["--select", "/no/such/file"], "/no/such/file: No such file"),
        ],
    )
    def test_option(self, npy: Path, args: list[str], says: str) -> None:
        assert says in refused(npy, *args)

    def test_no_file(self) -> None:
        assert "FILE" in refused()

    def test_missing_file(self, tmp_path: Path) -> None:
        assert "No such file" in refused(tmp_path / "none.npy")

    def test_unreadable_kinds(self, tmp_path: Path) -> None:
        for name, content, says in [
            ("empty.npy", b"", "is empty"),
            ("text.npy", b"text", "not a .npy file"),
            ("cut.npy", b"\x93NUMPY\x01\x00", "truncated"),
            ("notes.md", b"# Notes", "unknown"),
            ("m.safetensors", b"\x10", "truncated"),
        ]:
            (tmp_path / name).write_bytes(content)
            assert says in refused(tmp_path / name)

    def test_object_array(self, tmp_path: Path) -> None:
        np.save(tmp_path / "o.npy", np.array([[{}]]), allow_pickle=True)
        assert "Python objects" in refused(tmp_path / "o.npy")

    def test_output_over_the_input(self, tmp_path: Path, npy: Path) -> None:
        (tmp_path / "link.npz").symlink_to(npy)
        before = npy.read_bytes()
        assert "is one of the files to read" in refused(npy, "--out", tmp_path / "link.npz")
        assert npy.read_bytes() == before

    def test_npz_of_several_files(self, tmp_path: Path, npy: Path) -> None:
        assert "one FILE" in refused(npy, npy, "--out", tmp_path / "out.npz")

    def test_output_in_a_missing_folder(self, tmp_path: Path, npy: Path) -> None:
        assert "no such folder" in refused(npy, "--out", tmp_path / "no" / "out.npz")

    def test_columns_of_other_rows(self, tmp_path: Path, npy: Path) -> None:
        (tmp_path / "c.txt").write_text("1\n2\n")
        assert "do not fit 6 rows" in refused(npy, "--select", tmp_path / "c.txt")

    def test_column_outside_the_row(self, tmp_path: Path, npy: Path) -> None:
        (tmp_path / "c.txt").write_text("0\n" * 5 + "40\n")
        line = refused(npy, "--select", tmp_path / "c.txt")
        assert "c.txt: column 40 of row 5 is outside [0, 40)" in line
