"""Result files take their final name only when they are whole, and hold what was read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oneread.files import FileFormatError, RowBlock, replacing, row_objects, write_jsonl, write_npz
from oneread.spec import Read


def block(first_row: int, lead: tuple[int, ...], n_rows: int) -> RowBlock:
    """Return rows whose numbers say which row they are of."""
    rows = np.arange(first_row, first_row + n_rows)
    lse = (rows + 0.5).astype(np.float32)
    values = np.stack([lse, lse - 1], 1)
    return RowBlock(
        first_row,
        lead,
        Read(lse, lse, values=values, indices=np.stack([rows, rows], 1), logprobs=values - 9),
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_file_appears_with_its_name_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with replacing(path) as file:
        file.write(b"all of it")
        assert not path.exists()
        assert len(names(tmp_path)) == 1
    assert path.read_bytes() == b"all of it"
    assert names(tmp_path) == ["out.jsonl"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_failure_leaves_what_stood_there(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(b"before")

    def fail_half_way() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail_half_way()
    assert path.read_bytes() == b"before"
    assert names(tmp_path) == ["out.jsonl"]


def test_new_file_has_ordinary_permissions(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "out"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640


def test_existing_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.touch()
    path.chmod(0o604)
    with replacing(path):
        pass
    assert path.stat().st_mode & 0o777 == 0o604


def test_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"before")
    (tmp_path / "link").symlink_to("real")
    with replacing(tmp_path / "link") as file:
        file.write(b"after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"after"


def test_folder_is_not_replaced(tmp_path: Path) -> None:
    with (
        pytest.raises(FileFormatError, match="not a regular file"),
        replacing(tmp_path),
    ):
        pass


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "no" / "out"):
        pass
    assert caught.value.filename == str(tmp_path / "no")


def test_row_object_has_the_names_of_the_fields_in_their_order() -> None:
    (first, _) = row_objects(block(3, (5,), 2))
    assert list(first) == ["row", "lse", "max", "values", "indices", "logprobs"]
    assert first["row"] == 3
    assert first["values"] == [3.5, 2.5]


def test_row_object_of_several_axes_has_its_place() -> None:
    rows = list(row_objects(block(4, (2, 3), 2)))
    assert [row["index"] for row in rows] == [[1, 1], [1, 2]]
    assert "index" not in next(row_objects(block(0, (6,), 1)))


def test_numbers_that_json_lacks_are_strings() -> None:
    values = np.array([[np.nan, np.inf], [-np.inf, 1]], np.float32)
    rows = row_objects(RowBlock(0, (2,), Read(values[:, 0], values[:, 1], logprobs=values)))
    assert list(rows) == [
        {"row": 0, "lse": "NaN", "max": "Infinity", "logprobs": ["NaN", "Infinity"]},
        {"row": 1, "lse": "-Infinity", "max": 1.0, "logprobs": ["-Infinity", 1.0]},
    ]


def test_jsonl_keeps_every_number_exactly(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(0, 1, 100).astype(np.float32)
    path = tmp_path / "out.jsonl"
    assert write_jsonl(path, row_objects(RowBlock(0, (100,), Read(x, x)))) == 100
    read_back = [json.loads(line)["lse"] for line in path.read_text().splitlines()]
    np.testing.assert_array_equal(np.array(read_back, np.float32), x)


@pytest.mark.parametrize("lead", [(5,), (5, 1), (1, 5)])
def test_npz_holds_the_fields_in_the_shape_of_the_rows(
    tmp_path: Path, lead: tuple[int, ...]
) -> None:
    path = tmp_path / "out.npz"
    assert write_npz(path, iter([block(0, lead, 2), block(2, lead, 3)])) == 5
    with np.load(path) as archive:
        assert sorted(archive) == ["indices", "logprobs", "lse", "max", "values"]
        assert archive["lse"].shape == lead
        assert archive["values"].shape == (*lead, 2)
        assert (archive["lse"].dtype, archive["indices"].dtype) == (np.float32, np.int64)
        np.testing.assert_array_equal(archive["lse"].ravel(), np.arange(5) + 0.5)
        np.testing.assert_array_equal(archive["indices"].reshape(-1, 2)[:, 0], np.arange(5))
    assert names(tmp_path) == ["out.npz"]


def test_npz_of_the_same_rows_has_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        write_npz(tmp_path / name, iter([block(0, (2,), 2)]))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("write", [write_npz, write_jsonl])
def test_failing_source_leaves_no_file(tmp_path: Path, write: Any) -> None:
    def failing() -> Any:
        yield block(0, (4,), 2) if write is write_npz else {"row": 0}
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write(tmp_path / "out", failing())
    assert names(tmp_path) == []
