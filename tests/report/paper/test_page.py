"""The report: one file that fetches nothing, with verdicts, figures, losses, machines, commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from oneread.report.paper import build, tables
from oneread.report.paper.machines import Machine
from oneread.report.paper.page import CAPTIONS, page

MakeMachine = Callable[..., Machine]


def test_page_fetches_nothing_and_runs_nothing(machine: Machine) -> None:
    text = page([machine], {"map": "<svg>"}, "oneread report a.jsonl")
    assert re.findall(r"(?:src|href)=\"(?!data:)", text) == []
    assert "<script" not in text
    assert "img-src data:" in text
    assert "no &lt;counter&gt;" in text


def test_page_has_every_claim_with_its_verdict(machine: Machine) -> None:
    text = page([machine], {}, "oneread report a.jsonl")
    for line in (*tables.timed([machine]), *tables.counted([machine])):
        assert line.said.replace("<", "&lt;") in text
    assert text.count('class="verdict ') == len(tables.timed([machine])) + len(
        tables.counted([machine])
    )


def test_losses_are_listed_with_the_peer(machine: Machine) -> None:
    _, *lines = tables.losses_table([machine])
    assert [line[-1] for line in lines] == ["torch out="] * 6
    assert "0.90x" in page([machine], {}, "")


def test_machine_without_the_papers_kernels_has_no_verdicts(
    machine: Machine, make_machine: MakeMachine
) -> None:
    other = make_machine(name="Other CPU")
    assert list(tables.timed([other, machine])[0].found) == ["Some CPU (2 threads)"]
    assert "Other CPU" in page([other, machine], {}, "")


def test_answers_say_how_many_times_as_fast(machine: Machine) -> None:
    first = tables.answers([machine])[0]
    assert first == (
        "Some CPU (2 threads): online softmax instead of safe is 1.25x as fast for 4000 rows, "
        "1.25x as fast for 10 rows."
    )


def test_memory_that_ran_out_is_told(machine: Machine) -> None:
    assert tables.memory_table(machine) == [
        ["tokens", "torch", "oneread"], ["64", "0.00 GB", "0.00 GB"], ["128", "out of memory", "-"],
    ]  # fmt: skip


def test_bytes_that_cannot_be_counted_are_not_supported(machine: Machine) -> None:
    assert tables.dram_remark(machine) == "Not supported: no <counter>."
    assert len(tables.dram_table(machine)) == 1


def test_bytes_are_multiples_of_the_input(make_machine: MakeMachine) -> None:
    op = {"op": "softmax", "dtype": "float32", "input_bytes": 1 << 30,
          "read_bytes": 1.01 * (1 << 30), "write_bytes": 1 << 30}  # fmt: skip
    machine = make_machine(facts=[{"key": "dram/gpu", "status": "ok", "how": "ncu", "ops": [op]}])
    assert tables.dram_table(machine)[1] == ["softmax", "float32", "1.00 GiB", "1.010", "1.000"]


@pytest.mark.parametrize(
    ("moved", "said"),
    [
        ((1.01, 0.98), "All within 3% of the input of what must move."),
        ((1.01, 0.0), "Further than 3% of the input from what must move: softmax of float32."),
        ((2.0, 1.0), "Further than 3% of the input from what must move: softmax of float32."),
        ((1.0, None), "All within 3% of the input of what must move."),
    ],
)
def test_counted_bytes_are_held_to_one_read_and_one_write(
    moved: tuple[float, float | None], said: str, make_machine: MakeMachine
) -> None:
    read, written = moved
    op = {"op": "softmax", "dtype": "float32", "input_bytes": 1000, "read_bytes": read * 1000,
          "write_bytes": None if written is None else written * 1000}  # fmt: skip
    machine = make_machine(facts=[{"key": "dram/gpu", "status": "ok", "how": "ncu", "ops": [op]}])
    assert tables.dram_remark(machine) == f"Counted: ncu. {said}"


def test_report_is_built_with_its_figures(machine: Machine, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the figures are Matplotlib's")
    parts = list(build.build([machine], tmp_path, "oneread report a.jsonl"))
    assert len(parts) == build.parts()
    assert set(parts) == {*CAPTIONS, build.PAGE}
    text = (tmp_path / build.PAGE).read_text("utf-8")
    drawn = {file.stem for file in (tmp_path / "figures").glob("*.svg")}
    assert drawn == set(CAPTIONS) - {"large_k"}  # of which nothing was timed
    assert {file.stem for file in (tmp_path / "figures").glob("*.png")} == drawn
    assert set(re.findall(r'id="figure-(\w+)"', text)) == drawn


def test_without_matplotlib_the_extra_is_named(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Exception, match=r"pip install oneread\[bench\]"):
        next(build.build([machine], tmp_path, ""))
