"""The tools for a GPU: what they choose, judge and write, without one."""

from __future__ import annotations

import importlib
import json
import tomllib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import oneread
from oneread.bench.gallery import nvidia
from oneread.runtime import tuning

torch = pytest.importorskip("torch", reason="the arrays are PyTorch's")

ROOT = Path(__file__).resolve().parents[3]
RECORDS = ROOT / "benchmarks/results/tuning-2026-11-30-nvidia-h200.jsonl"


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


@pytest.fixture
def rows() -> ModuleType:
    return importlib.import_module("tuning_rows")


@pytest.fixture
def tune() -> ModuleType:
    return importlib.import_module("tune_cuda")


@pytest.fixture
def soak() -> ModuleType:
    return importlib.import_module("soak_cuda")


def test_row_made_of_records_is_the_fastest_of_its_shape(
    rows: ModuleType, tune: ModuleType
) -> None:
    records = tune.records([RECORDS])
    made = rows.rows_of(records)
    assert len(made) > 50
    for op, row in made:
        said = tune.MEASURED.match(row["measured"])
        times = [
            one["median_us"]
            for one in records
            if (one["op"], one["rows"], one["vocab"]) == (op, int(said[1]), int(said[2]))
            and tuning.ELEMENTS[one["dtype"]][1] == row["bytes"]
        ]
        assert f": {min(times):.2f} us" in row["measured"]


def test_rows_are_written_as_a_table_that_is_read(rows: ModuleType, tune: ModuleType) -> None:
    made = rows.rows_of(tune.records([RECORDS]))
    table = tomllib.loads(rows.as_toml(made))
    assert [(op, row) for op in table for row in table[op]] == sorted(
        made, key=lambda pair: list(table).index(pair[0])
    )
    known = {name for op in rows.OPS for row in tuning.table()[op] for name in row}
    assert {name for _, row in made for name in row} <= known


def test_shapes_of_the_table_are_those_it_was_measured_with(
    rows: ModuleType, tune: ModuleType
) -> None:
    shapes = tune.shapes_of_table()
    assert rows.Shape("softmax", "float32", 4000, 8192) in shapes
    assert rows.Shape("logsumexp", "bfloat16", 16, 131072) in shapes
    assert len(set(shapes)) == len(shapes) > 50


@pytest.mark.parametrize("target", ["sm_90", "sm_86"])
@pytest.mark.parametrize(
    "text",
    ["softmax/float32/4000x8192", "softmax/bfloat16/16x131072", "softmax/float32/32768x128",
     "logsumexp/float32/4096x1024", "softmax/float64/4000x512", "softmax/float32/4000x524288"],
)  # fmt: skip
def test_candidates_can_be_launched_and_hold_the_row(
    rows: ModuleType, tune: ModuleType, text: str, target: str
) -> None:
    shape = rows.Shape.parse(text)
    found = list(rows.candidates(shape))
    assert 5 < len(found) < 600
    chosen = [tune.chosen(shape, row, target) for row in found]
    assert any(chosen)
    for row, choice in zip(found, chosen, strict=True):
        if choice is None:
            assert target != "sm_90"
            continue
        assert choice.kernel == row["kernel"]
        if row["kernel"] not in rows.STREAMS:
            threads = row.get("row_threads", row["block_threads"])
            assert threads * row["per_thread"] * row.get("cluster", 1) >= shape.vectors
        if shape.size != 2:
            assert row.get("keep", 0) == 0


def test_winners_of_the_table_are_among_the_candidates(rows: ModuleType, tune: ModuleType) -> None:
    missing = []
    for op in rows.OPS:
        for row in tuning.table()[op]:
            said = tune.MEASURED.match(row["measured"])
            if said is None or row["bytes"] not in tune.DTYPES:
                continue
            shape = rows.Shape(op, tune.DTYPES[row["bytes"]], int(said[1]), int(said[2]))
            names = ("kernel", "block_threads", "row_threads", "per_thread", "cluster",
                     "min_blocks", "keep", "held", "at_once")  # fmt: skip
            launch = {name: row[name] for name in names if name in row}
            tried = [{**one, "cluster": one.get("cluster", 1)} for one in rows.candidates(shape)]
            if {"cluster": 1, **launch} not in tried:
                missing.append((str(shape), launch))
    assert len(missing) <= 3, missing


def test_nothing_that_ops_keep_outlives_a_table(
    tune: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    softmax = importlib.import_module("oneread.ops.softmax")
    monkeypatch.setattr(softmax, "_cuda_calls", cache(lambda: asked.append(len(asked))))
    softmax._cuda_calls()
    for _ in range(2):
        with tune.table_of("softmax", {"kernel": "softmax_row"}):
            softmax._cuda_calls()
            softmax._cuda_calls()
    softmax._cuda_calls()
    assert asked == [0, 1, 2, 3]


def test_shape_that_says_nothing_is_refused(rows: ModuleType) -> None:
    for text in (
        "softmax",
        "softmax/float32",
        "top_k/float32/1x2",
        "softmax/float31/1x2",
        "softmax/float32/1",
    ):
        with pytest.raises(ValueError, match=r".+"):
            rows.Shape.parse(text)


def small_jobs(soak: ModuleType) -> list[Any]:
    return [
        soak.Job(op, dtype, 65, 300, 10 if "top" in op else 0)
        for op in soak.OPS_SOAKED
        for dtype in ("float32", "bfloat16", "float64", "float16")
    ] + [
        soak.Job("softmax", "float32", 40 * 64, 30, strided=True),
        soak.Job("read", "bfloat16", 2 * 64, 30, strided=True),
        soak.Job("softmax", "bfloat16", 2 * 64, 30, strided=True, masked=True),
        soak.Job("log_softmax", "float16", 65, 300, masked=True),
        soak.Job("logsumexp", "float32", 65, 300, masked=True),
    ]


def test_soak_finds_nothing_in_ops_that_are_right(soak: ModuleType) -> None:
    generator = torch.Generator("cpu").manual_seed(1)
    for job in small_jobs(soak):
        tally = soak.Tally()
        for _ in range(5):  # one of each kind of logits
            soak.soak(job, generator, tally)
        assert (tally.rows, tally.wrong_rows, tally.first_wrong) == (5 * job.rows, 0, ""), job
        assert tally.kernel


def test_soak_calls_each_op_once_before_it_begins(
    soak: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[Any] = []
    monkeypatch.setattr(soak, "call", lambda job, x, options: called.append((job, x.dtype)))
    soak.warm(small_jobs(soak), "cpu")
    once = [(job, getattr(torch, job.dtype)) for job in small_jobs(soak)]
    twice = [one for one in once if one[0].op == "logits_gradient"]  # with all terms and with some
    assert sorted(called, key=str) == sorted(once + twice, key=str)


def test_soak_gives_room_for_the_rounding_of_a_difference_alone(
    soak: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.tensor([[16.0 + 2.0**-19, -(2.0**-20)]] * 65)  # the difference takes a digit more
    monkeypatch.setattr(soak, "logits", lambda job, generator, turn: x)
    truth = soak.probabilities(x.double())[1]
    assert soak.far(soak.probabilities(x)[1], truth, 8).any()
    for factor, wrong_rows in ((1.0, 0), (1 + 40 * 2.0**-23, 65)):
        monkeypatch.setattr(
            oneread, "log_softmax", lambda x, f=factor: soak.probabilities(x)[1] * f
        )
        tally = soak.Tally()
        soak.soak(soak.Job("log_softmax", "float32", 65, 2), torch.Generator("cpu"), tally)
        assert tally.wrong_rows == wrong_rows


def test_soak_gives_room_for_powers_below_the_normal_range(soak: ModuleType) -> None:
    below = 88.0  # nats: a power of 0.52 of the least normal number, 40 of which are 21
    x = torch.tensor([[0.0] + [-below] * 40])
    truth = soak.probabilities(x.double())[1]
    without = torch.zeros_like(truth).float()
    without[:, 1:] = x[:, 1:]
    assert soak.far(without, truth, 8).any()
    assert not soak._log_softmax(soak.Job("log_softmax", "float32", 1, 41), x, without).any()
    without[:, 0] = -1e-30
    assert soak._log_softmax(soak.Job("log_softmax", "float32", 1, 41), x, without).any()


@pytest.mark.parametrize("vocab", [1, 127, 129, 40_000])
def test_soak_sums_all_columns(soak: ModuleType, vocab: int) -> None:
    assert soak.summed(torch.ones(3, vocab, dtype=torch.float64)).tolist() == [vocab] * 3


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("op", ["softmax", "log_softmax", "logsumexp"])
def test_soak_finds_one_wrong_number(
    soak: ModuleType, op: str, masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = getattr(oneread, op)

    def wrong(x: Any, **options: Any) -> Any:
        y = right(x, **options)
        y[7] = y[7] * 1.0001
        return y

    monkeypatch.setattr(oneread, op, wrong)
    tally = soak.Tally()
    job = soak.Job(op, "float32", 65, 300, masked=masked)
    soak.soak(job, torch.Generator("cpu").manual_seed(1), tally)
    assert (tally.wrong_rows, tally.first_wrong) == (1, "row 7 of turn 1")


@pytest.mark.parametrize("op", ["logits_gradient", "softmax_backward", "log_softmax_backward"])
def test_soak_finds_one_wrong_gradient_in_every_turn(
    soak: ModuleType, op: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backward = importlib.import_module("soak_backward")
    name = op.removeprefix("log_")
    right, factors = getattr(backward, name), [1.0]

    def perhaps_wrong(x: Any, *given: Any, **options: Any) -> Any:
        y = right(x, *given, **options)
        y[7] = y[7] * factors[-1]
        return y

    monkeypatch.setattr(backward, name, perhaps_wrong)
    generator = torch.Generator("cpu").manual_seed(1)
    for dtype, one_more in (("float32", 1 + 1e-4), ("float64", 1 + 1e-12)):
        for turn in range(2 * len(backward.TERMS)):  # some with all terms, some with each
            for factor, wrong_rows in ((1.0, 0), (one_more, 1)):
                factors.append(factor)
                tally = soak.Tally(turns=turn)
                soak.soak(soak.Job(op, dtype, 65, 300 + turn // 2), generator, tally)
                assert tally.wrong_rows == wrong_rows, (turn, factor)


def test_soak_finds_two_columns_in_the_wrong_order(
    soak: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = oneread.top_k
    monkeypatch.setattr(
        oneread, "top_k", lambda x, k: (right(x, k).values, right(x, k).indices.flip(-1))
    )
    tally = soak.Tally()
    soak.soak(soak.Job("top_k", "float32", 65, 300, 2), torch.Generator("cpu"), tally)
    assert tally.wrong_rows == 65


def test_soak_takes_turns_and_tells_what_is_not_there(
    soak: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuses(*given: Any, **options: Any) -> Any:
        raise oneread.BackendUnavailableError("not on this device")

    monkeypatch.setattr(oneread, "read", refuses)
    jobs = [soak.Job("softmax", "float32", 65, 40), soak.Job("read", "float32", 65, 40)]
    tallies = soak.run(jobs, 0.2, "cpu")
    assert tallies[jobs[0]].turns > 1
    assert tallies[jobs[1]].refused == "not on this device"
    assert soak.show(tallies) == 0
    said = capsys.readouterr().out
    assert "read (not yet on a GPU: not on this device), float32" in said
    assert "lazy_softmax, float32" in said


def test_soak_goes_on_after_an_op_that_fails_and_tells_it(
    soak: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(oneread, "read", lambda *given, **options: 1 / 0)
    jobs = [soak.Job("read", "float32", 65, 40), soak.Job("softmax", "float32", 65, 40)]
    soak.warm(jobs, "cpu")
    tallies = soak.run(jobs, 0.2, "cpu")
    assert tallies[jobs[1]].turns > 0
    assert soak.show(tallies) == 1
    assert "65 of 65, ZeroDivisionError" in capsys.readouterr().out


def test_soak_and_sanitizer_reach_every_kernel_of_the_table(
    rows: ModuleType, soak: ModuleType
) -> None:
    sanitize = importlib.import_module("sanitize_cuda")
    everything = list(soak.jobs(soak.OPS_SOAKED))
    few = sanitize.small(everything, "sm_90")
    assert len(few) < len(everything) / 3
    assert {sanitize.way(job, "sm_90") for job in few} >= {
        sanitize.way(job, "sm_90") for job in everything if job.dtype in sanitize.DTYPES
    }
    for jobs in (everything, few):
        reached = {
            tuning.choose(job.op, tuning.Rows(job.dtype, job.rows, job.vocab), "sm_90").kernel
            for job in jobs
            if job.op in ("softmax", "log_softmax", "logsumexp") and not job.strided
        }
        assert reached == {row["kernel"] for op in rows.OPS for row in tuning.table()[op]}
        assert any(job.strided for job in jobs)
        found = {
            (choice.kernel, choice.cluster > 1)
            for job in jobs
            if job.k or job.op in ("read", "state")
            for choice in [
                tuning.choose(
                    "topk" if job.k else "read",
                    tuning.Rows(job.dtype, job.rows, job.vocab, k=job.k),
                    "sm_90",
                )
            ]
        }
        assert found == {
            (row["kernel"], row.get("cluster", 1) > 1)
            for op in ("topk", "read")
            for row in tuning.table()[op]
        }


def test_sanitizer_has_no_more_elements_than_a_launch_needs(soak: ModuleType) -> None:
    sanitize = importlib.import_module("sanitize_cuda")
    for job in sanitize.small(list(soak.jobs(soak.OPS_SOAKED)), "sm_90"):
        fewer = job._replace(rows=sanitize.FEW)
        assert (
            job.strided
            or job == fewer
            or job.rows * job.vocab <= sanitize.ELEMENTS
            or sanitize.way(fewer, "sm_90") != sanitize.way(job, "sm_90")
        ), job


def test_soak_and_sanitizer_reach_every_kernel_of_backward_passes(soak: ModuleType) -> None:
    sanitize = importlib.import_module("sanitize_cuda")
    for op, table in importlib.import_module("soak_backward").TABLES.items():
        everything = list(soak.jobs([op]))
        for jobs in (everything, sanitize.small(everything, "sm_90")):
            sizes = [tuning.Rows(job.dtype, job.rows, job.vocab) for job in jobs]
            assert {tuning.choose(table, size, "sm_90").kernel for size in sizes} == {
                row["kernel"] for row in tuning.table()[table]
            }


def test_sanitizer_that_does_not_run_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sanitize = importlib.import_module("sanitize_cuda")
    monkeypatch.setattr(nvidia, "find", lambda tool: None)
    (record,) = sanitize.watched(tmp_path, ["true"], 10.0)
    assert (record["ran"], record["said"]) == (False, "compute-sanitizer is not there")
    sanitize.show(record)
    assert "memcheck does not run: compute-sanitizer is not there" in capsys.readouterr().out


def test_sanitizer_tells_messages_and_launches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sanitize = importlib.import_module("sanitize_cuda")
    message = {"record": "sanitizer", "severity": "error", "kernel": "softmax_row"}

    def sanitized(checker: str, program: Any, names: Any, limit: float) -> Any:
        log = json.dumps({"record": "launched", "entry": "softmax"})
        return [{"record": "tool", "tool": checker, "ran": True, "said": ""}, message], log

    monkeypatch.setattr(nvidia, "sanitized", sanitized)
    found = list(sanitize.watched(tmp_path, ["true"], 10.0))
    assert [one.get("tool") for one in found] == ["memcheck", None, "racecheck", None]
    assert found[0]["launched"] == 1
    assert (tmp_path / "racecheck.log").exists()
