"""`oneread paper` and `oneread report`: small runs, verdicts, files, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from oneread.bench.paper import cpu_cases, run
from oneread.bench.store import load
from oneread.cli.main import app

#: Small enough, and with every textbook kernel of softmax.
NAMES = ("paper softmax/10x1000", "paper softmax/10x4000")


def call(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run have two cases and two facts."""
    cases = [cpu_cases.CASES[name] for name in NAMES]
    monkeypatch.setattr(run.Request, "cases", property(lambda self: cases))
    all_facts = run.facts.facts()
    few = {key: all_facts[key] for key in ("bounds", "operations")}
    monkeypatch.setattr(run.Request, "facts", property(lambda self: few))


def measure(out: Path, *words: str) -> Result:
    given = ("--quick", "--device", "cpu", "--peers", "-", "--threads", "1", "--records-only")
    return call("paper", *given, "--out", str(out), *words)


@pytest.mark.usefixtures("small")
def test_run_measures_keeps_records_and_judges(tmp_path: Path) -> None:
    result = measure(tmp_path)
    assert result.exit_code == 0, result.output
    found = load(tmp_path / "cpu-quick.jsonl")
    assert found.complete
    assert {record.contestant for record in found.records} == {
        "oneread", "oneread, naive", "oneread, safe", "oneread, online", "oneread, two_pass",
    }  # fmt: skip
    assert {record.status for record in found.records} == {"ok"}
    assert found.header["kind"] == "paper"
    assert str(tmp_path) not in (tmp_path / "cpu-quick.jsonl").read_text("utf-8")
    lines = result.stdout.splitlines()
    assert any(line.startswith("holds             1 <= d_j <= j") for line in lines)
    (first,) = (line for line in lines if "10 rows, from V = 1000: 1.15x" in line)
    assert not first.startswith("not measured")


@pytest.mark.usefixtures("small")
def test_run_that_is_complete_is_not_measured_again_unless_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert measure(tmp_path).exit_code == 0
    before = (tmp_path / "cpu-quick.jsonl").read_bytes()

    def refuse(*given: Any) -> Any:
        raise AssertionError("it was measured again")

    with monkeypatch.context() as patched:
        patched.setattr(run.runner, "run", refuse)
        assert measure(tmp_path).exit_code == 0
    assert (tmp_path / "cpu-quick.jsonl").read_bytes() == before
    assert measure(tmp_path, "--again").exit_code == 0
    assert (tmp_path / "cpu-quick.jsonl").read_bytes() != before


@pytest.mark.usefixtures("small")
def test_file_of_another_machine_is_refused(tmp_path: Path) -> None:
    assert measure(tmp_path).exit_code == 0
    path = tmp_path / "cpu-quick.jsonl"
    path.write_text(path.read_text("utf-8").replace('"cores": ', '"cores": 99'), "utf-8")
    result = measure(tmp_path)
    assert result.exit_code == 2
    assert "machine.cores" in result.output


@pytest.mark.usefixtures("small")
def test_seconds_end_a_run_that_is_taken_up_again(tmp_path: Path) -> None:
    result = measure(tmp_path, "--seconds", "1")
    found = load(tmp_path / "cpu-quick.jsonl")
    if not found.complete:  # a slow machine; what is done is kept
        assert "the same command does the rest" in result.output
    assert measure(tmp_path).exit_code == 0
    assert load(tmp_path / "cpu-quick.jsonl").complete


@pytest.mark.usefixtures("small")
def test_interruption_says_what_is_kept_and_a_second_file_takes_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(request: Any, journal: Any) -> Any:
        journal.add_fact({"key": "bounds", "outside": 0, "steps": 1})
        yield "bounds"
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(run, "run", interrupted)
        result = measure(tmp_path / "first")
    assert "cpu: 1 of 4 pieces; the same command does the rest" in result.output
    first = tmp_path / "first" / "cpu-quick.jsonl"
    result = measure(tmp_path / "second", "--beside", str(first))
    assert result.exit_code == 0, result.output
    found = load(tmp_path / "second" / "cpu-quick.jsonl")
    assert found.complete
    assert [fact["key"] for fact in found.facts] == ["operations"]
    assert "1 <= d_j <= j" in result.stdout  # of the first file


@pytest.mark.usefixtures("small")
def test_report_is_made_from_records_alone(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the figures are Matplotlib's")
    assert measure(tmp_path / "run").exit_code == 0
    out = tmp_path / "report"
    result = call("report", str(tmp_path / "run" / "cpu-quick.jsonl"), "--out", str(out))
    assert result.exit_code == 0, result.output
    assert f"Report: {out / 'report.html'}" in result.stdout
    text = (out / "report.html").read_text("utf-8")
    assert "oneread report cpu-quick.jsonl" in text
    assert str(tmp_path) not in text
    assert (out / "figures" / "softmax.svg").exists()


def test_without_matplotlib_nothing_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oneread.report.paper import build

    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: None)
    result = call("paper", "--quick", "--out", str(tmp_path / "run"))
    assert result.exit_code == 2
    assert "oneread[bench]" in result.output
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("paper", "--records-only", "--device", "tpu"),
        ("paper", "--records-only", "--device", "cpu", "--peers", "fortran"),
        ("report", "pyproject.toml"),
        ("report", "no-such-file.jsonl"),
    ],
)
def test_wrong_use_is_refused(words: tuple[str, ...]) -> None:
    result = call(*words)
    assert result.exit_code == 2, result.output
    assert "oneread: error:" in result.output
