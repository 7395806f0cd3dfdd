"""Records of results hold each array once, and come back as they were."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from oneread.bench.gallery.measure import _packed, shared
from oneread.source.measured import SCHEMA, results

HEADER = {"record": "header", "schema": SCHEMA}
X = np.array([[1.5, -2.0]], np.float32)
INDICES = np.array([[1, 0]], np.int32)
ONE = {
    "record": "outputs", "entry": "one", "rows": 1, "vocab": 2, "k": 2,
    "inputs": {"x": _packed(X)}, "outputs": {"y": _packed(2 * X), "indices": _packed(INDICES)},
}  # fmt: skip
OTHER = ONE | {"entry": "other", "outputs": {"y": _packed(2 * X)}}


def test_array_of_the_same_bits_is_written_once() -> None:
    written = list(shared([HEADER, ONE, OTHER]))
    assert [r["record"] for r in written].count("array") == 3
    assert written[-1]["outputs"]["y"] == written[-2]["outputs"]["y"]
    assert ONE["inputs"] == {"x": _packed(X)}  # the record given is not changed


def test_zeros_of_another_type_are_another_array() -> None:
    zeros = {"x": _packed(np.zeros(2, np.float32)), "i": _packed(np.zeros(2, np.int32))}
    written = list(shared([ONE | {"inputs": zeros, "outputs": {}}]))
    assert [r["type"] for r in written[:2]] == ["float32", "int32"]


def test_results_are_read_as_they_were(tmp_path: Path) -> None:
    lines = "\n".join(map(json.dumps, shared([HEADER, ONE, OTHER])))
    (tmp_path / "outputs-2026-12-01-h200.jsonl").write_text(lines, encoding="utf-8")
    one, other = results(tmp_path)
    assert one.inputs == other.inputs == {"x": [1.5, -2.0]}
    assert one.outputs == {"y": [3.0, -4.0], "indices": [1, 0]}
    assert (other.entry, other.rows, other.vocab, other.k) == ("other", 1, 2, 2)
