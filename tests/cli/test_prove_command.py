"""`oneread prove`: what is printed of each kernel."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from oneread.bench import prove
from oneread.cli.main import app
from oneread.spec import OPS

MEASURED = {
    "arrays_bytes": 256_000_000, "peak_bytes": 258_000_000, "memory": "",
    "miss_bytes": None, "hardware": "no counter",
}  # fmt: skip


def proofs(op: str | None, **measured: Any) -> Iterator[prove.Proof]:
    for spec in OPS.values():
        for kernel in spec.kernels:
            if op in (None, spec.name):
                yield prove.Proof(
                    kernel.op, kernel.name, kernel.source, {}, prove.count(kernel),
                    **(MEASURED | measured),
                )  # fmt: skip


def printed(monkeypatch: pytest.MonkeyPatch, *arguments: str, **measured: Any) -> str:
    monkeypatch.setattr(prove, "prove", lambda op=None: proofs(op, **measured))
    result = CliRunner().invoke(app, ["prove", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_accesses_are_told_by_array_and_one_read_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(monkeypatch, "softmax")
    assert "lazy_softmax\n  counted   x 1 load; y 1 load, 2 stores\n" in text
    assert "4 accesses in all; x is read once\n  memory    peak 1.01 of its arrays, 256.0" in text
    assert "safe_softmax\n  counted   x 3 loads; y 1 store\n" in text
    assert "4 accesses in all; x is read 3 times\n" in text
    assert max(map(len, text.splitlines())) <= 80


def test_what_cannot_be_measured_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(monkeypatch, "logsumexp", peak_bytes=None, memory="no such file")
    assert "  memory    not supported here: no such file\n" in text
    assert "  hardware  not supported here: no counter\n" in text
    assert "1 access in all" in text
    text = printed(monkeypatch, "logsumexp", miss_bytes=130_000_000, hardware="")
    assert "  hardware  130.0 MB missed the last cache\n" in text


def test_json_is_a_record_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = printed(monkeypatch, "--json").splitlines()
    assert [json.loads(line)["op"] for line in lines] == [
        kernel.op for spec in OPS.values() for kernel in spec.kernels
    ]
    assert json.loads(lines[0])["accesses"]["y_stores"] == 2


def test_unknown_op_leaves_with_one_line() -> None:
    result = CliRunner().invoke(app, ["prove", "median"])
    assert result.exit_code != 0
