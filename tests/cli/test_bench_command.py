"""`oneread bench`: small runs in processes of their own, their files, and two compared."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from oneread.bench import runner
from oneread.bench.cases import CASES
from oneread.bench.store import Record, load
from oneread.cli.main import app

TINY = "whole call/10x1000"


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["bench", *words])


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    path = tmp_path_factory.mktemp("bench") / "run.jsonl"
    words = ("--quick", "--case", TINY, "--peers", "numpy,scipy", "--threads", "1")
    return path, run("cpu", *words, "--out", str(path))


def test_quick_run_of_one_case_shows_a_table(kept: tuple[Path, Result]) -> None:
    result = kept[1]
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "whole call" in lines
    (row,) = (line for line in lines if line.startswith("10x1000 "))
    assert "numpy out=" in result.stdout
    assert "not judged" in row


def test_file_holds_every_contestant_and_nothing_private(kept: tuple[Path, Result]) -> None:
    path = kept[0]
    found = load(path)
    assert found.complete
    assert {"oneread", "numpy out=", "scipy"} == {r.contestant for r in found.records}
    assert found.header["threads"] == 1
    assert found.header["quick"]
    text = path.read_text("utf-8")
    assert str(path.parent) not in text
    assert str(Path.cwd()) not in text
    assert platform.node() not in found.header.values()
    ours = found.records[0]
    assert (ours.status, ours.threads) == ("ok", 1)
    assert ours.kernel is not None
    assert ours.kernel["name"] == "lazy_softmax"


def test_comparison_of_a_run_with_itself(kept: tuple[Path, Result]) -> None:
    result = run("compare", str(kept[0]), str(kept[0]), "--peers")
    assert result.exit_code == 0, result.output
    assert "1.000" in result.stdout
    assert "numpy out=" in result.stdout
    assert "SLOWER" not in result.stdout
    (line,) = run("compare", str(kept[0]), str(kept[0]), "--json").stdout.splitlines()
    assert json.loads(line)["ratio"] == 1.0


def test_records_as_json_without_any_peer() -> None:
    result = run("cpu", "--quick", "--case", TINY, "--peers", "-", "--json")
    assert result.exit_code == 0, result.output
    (line,) = result.stdout.splitlines()
    assert Record.of_json(json.loads(line)).contestant == "oneread"


def test_another_instruction_set_runs_in_its_own_process() -> None:
    name = "AVX2 against AVX-512/4000x100"
    result = run("cpu", "--quick", "--case", name, "--peers", "-", "--json")
    assert result.exit_code == 0, result.output
    record = Record.of_json(json.loads(result.stdout))
    if record.status == "ok":
        assert record.kernel is not None
        assert record.kernel["isa"] == "x86-64-v3"
    else:
        assert record.reason == "this machine has no x86-64-v3"


def test_cases_and_goals_are_listed() -> None:
    result = run("cpu", "--list")
    assert [line.partition("  ")[0] for line in result.stdout.splitlines()] == list(CASES)
    assert "0.95x onnxruntime out=" in result.stdout


def test_cases_of_a_gpu_are_listed_with_goals_and_aims() -> None:
    result = run("gpu", "--list", "--case", "odd rows")
    first, second = result.stdout.splitlines()
    assert first.startswith("odd rows/4000x50257 ")
    assert first.endswith("88% of the copy rate (aim: 93% of the copy rate)")
    assert "bfloat16" in second


def test_run_on_a_gpu_shows_tables_and_keeps_records(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from oneread.bench.gpu import race
    from oneread.bench.gpu import runner as gpu_runner
    from oneread.bench.gpu.cases import CASES as GPU_CASES

    name = "read/4096x128256/bfloat16"
    record = race.absent(GPU_CASES[name], "no time was left", "sm_90")
    facts = {
        "gpu": "Some GPU", "target": "sm_90", "multiprocessors": 7, "driver": "1", "nvrtc": "13.0",
    }  # fmt: skip
    monkeypatch.setattr(gpu_runner, "check_available", lambda: "sm_90")
    monkeypatch.setattr(gpu_runner, "facts", lambda: facts)
    monkeypatch.setattr(gpu_runner, "run", lambda request: iter([[record]]))
    path = tmp_path / "gpu.jsonl"
    words = ("--case", name, "--peers", "torch", "--seconds", "60", "--out", str(path))
    result = run("gpu", *words)
    assert result.exit_code == 0, result.output
    assert "no time was left" in result.stdout
    found = load(path)
    assert [one.case for one in found.records] == [name]
    assert found.header["machine"]["gpu"] == "Some GPU"
    assert found.header["command"] == (
        f"oneread bench gpu --case {name!r} --peers torch --seconds 60"
    )


def test_machine_without_a_gpu_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from oneread.bench.gpu import runner as gpu_runner
    from oneread.spec import BackendUnavailableError

    def refuse() -> str:
        raise BackendUnavailableError("NVIDIA's driver cannot be loaded")

    monkeypatch.setattr(gpu_runner, "check_available", refuse)
    result = run("gpu", "--quick")
    assert result.exit_code == 2
    assert "NVIDIA's driver cannot be loaded" in result.output


@pytest.mark.parametrize(
    "words",
    [
        ("cpu", "--case", "no such case"),
        ("gpu", "--case", "no such case"),
        ("gpu", "--quick", "--peers", "numpy"),
        ("cpu", "--quick", "--peers", "fortran"),
        ("cpu", "--threads", "0"),
        ("compare", "pyproject.toml", "pyproject.toml"),
        ("compare", "no-such-file.jsonl", "no-such-file.jsonl"),
    ],
)
def test_wrong_use_is_refused(words: tuple[str, ...]) -> None:
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert "oneread: error:" in result.output


def test_our_wrong_result_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    from oneread.bench import race

    wrong = race.absent(CASES[TINY], "y is off")
    object.__setattr__(wrong, "status", "wrong")
    monkeypatch.setattr(runner, "run", lambda request: iter([[wrong]]))
    result = run("cpu", "--case", TINY)
    assert result.exit_code == 1
    assert TINY in result.output


def test_process_that_dies_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEREAD_THREADS", "nonsense")
    result = run("cpu", "--quick", "--case", TINY, "--peers", "-", "--threads", "1")
    assert result.exit_code == 1
    assert "ONEREAD_THREADS" in result.output


@pytest.mark.parametrize("quick", [False, True])
def test_budget_of_a_run_on_two_cores(quick: bool) -> None:
    cases = tuple(case for case in CASES.values() if case.quick or not quick)
    assert 10 < runner.Request(cases, quick=quick).expected_s() <= (90 if quick else 900)
