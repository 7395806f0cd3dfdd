"""What the pages say of `oneread.torch` is what the committed records give."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch_docs
from torch_docs import FIGURES, Run

Record = dict[str, Any]


@pytest.mark.parametrize("made", torch_docs.PAGES, ids=lambda page: page.name)
def test_page_has_what_the_newest_runs_give(made: Path) -> None:
    text = made.read_text("utf-8")
    assert torch_docs.filled(text) == text


def test_every_block_is_on_a_page_and_every_figure_is_drawn_and_shown() -> None:
    texts = [page.read_text("utf-8") for page in torch_docs.PAGES]
    blocks = [name for text in texts for _, name, _, _ in torch_docs.BLOCK.findall(text)]
    assert sorted(blocks) == sorted([*torch_docs.texts([]), torch_docs.UNRECORDED])
    for name in FIGURES:
        assert f"](images/torch-{name}.svg)" in "".join(texts)
        drawn = (torch_docs.IMAGES / f"torch-{name}.svg").read_text("utf-8")
        assert "prefers-color-scheme:dark" in drawn


def test_step_where_torch_is_faster_stays_in_the_committed_run() -> None:
    pages = "".join(page.read_text("utf-8") for page in torch_docs.PAGES)
    losses = [
        step
        for run in torch_docs.runs()
        for step in run.steps.values()
        if step["oneread"]["times"]["median_s"] > step["torch"]["times"]["median_s"]
    ]
    assert losses
    for step in losses:
        one = step["oneread"]
        assert f"| {one['step']}, {one['rows']:,} x {one['vocab']:,} {one['dtype']}" in pages


# Runs made up: of a GPU, with a way that is absent and one that runs out of memory.


def step_of(way: str, ms: float | None, **others: Any) -> Record:
    return {
        "record": "step", "group": "loss", "step": "cross_entropy", "way": way, "library": way,
        "dtype": "bfloat16", "rows": 8, "vocab": 1000, "status": "ok", "reason": None,
        "times": ms and {"median_s": ms / 1e3}, "extra_bytes": 20 << 20, "input_bytes": 16000,
        "share": 0.5, **others,
    }  # fmt: skip


def memory_of(way: str, *peaks: int | None) -> list[Record]:
    return [
        {"record": "memory", "step": "cross_entropy", "way": way, "dtype": "bfloat16",
         "vocab": 1000, "tokens": 64 << i, "peak_bytes": peak, "limit_bytes": 1 << 20}
        for i, peak in enumerate(peaks)
    ]  # fmt: skip


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Run]:
    def make(device: str = "cuda") -> Run:
        header = {
            "record": "header", "device": device, "date": "2026-12-01T00:00:00", "command": "made",
            "machine": {"gpu": "Some GPU", "cpu": "Some CPU"}, "libraries": {"torch": "2.11"},
        }  # fmt: skip
        records = [
            step_of("oneread", 1.0), step_of("torch", 2.5), step_of("wide", 4.0),
            step_of("quack", None, status="absent", reason="No module named 'quack'"),
            step_of("liger", None, status="out of memory", reason="no more", extra_bytes=None),
            step_of("oneread", 9.0, group="sampler", step="top", share=None),
            step_of("torch", 3.0, group="sampler", step="top", share=None),
            *memory_of("torch", 1 << 19, None), *memory_of("oneread", 1 << 18, 1 << 19),
        ]  # fmt: skip
        file = tmp_path / f"torch-{device}.jsonl"
        file.write_text("\n".join(map(json.dumps, [header, *records])), "utf-8")
        return Run.of(file)

    return make


def test_rows_have_ratios_to_torch_and_what_has_no_time_says_why(
    make_run: Callable[..., Run],
) -> None:
    text = torch_docs.texts([make_run()])["trainer"]
    assert "| `wide` | 4 | 20 | 50% | 0.62x |" in text
    assert "| `oneread` | 1 | 20 | 50% | 2.50x |" in text
    assert "| `liger` | out of memory |" in text
    assert "- `quack`, absent: No module named 'quack'" in text
    assert "| `quack` |" not in text


def test_steps_of_the_sampler_are_on_its_page_alone(make_run: Callable[..., Run]) -> None:
    made = torch_docs.texts([make_run()])
    assert "0.33x" in made["sampler"]
    assert "cross_entropy" not in made["sampler"]
    assert "0.33x" not in made["trainer"]


def test_figures_without_a_record_go_when_a_gpu_has_one(make_run: Callable[..., Run]) -> None:
    page = "<!-- torch:unrecorded -->\nby hand\n<!-- torch:end -->\n"
    assert torch_docs.filled(page, [make_run("cpu")]) == page
    assert "by hand" not in torch_docs.filled(page, [make_run("cuda"), make_run("cpu")])


def test_memory_is_drawn_to_where_it_ran_out(
    make_run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="figures are drawn with it")
    run = make_run()
    facts = run.memory("trainer")["cross_entropy"]
    assert facts["torch"]["points"] == [[64, 1 << 19], [128, None]]
    assert run.memory("sampler") == {}
    monkeypatch.setattr(torch_docs, "IMAGES", tmp_path)
    torch_docs.draw([run])
    assert (tmp_path / "torch-trainer.svg").exists()
    assert not (tmp_path / "torch-sampler.svg").exists()
