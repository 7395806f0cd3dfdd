"""Kernels in many styles, all of them right: none of them gives an error or a warning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oneread.trace import Source, run
from oneread.trace.case import Case

FOLDER = Path(__file__).parent / "correct"

#: How each is launched, where the defaults do not do.
LAUNCHES: dict[str, dict[str, Any]] = {
    "coarsened": {},
    "shuffles": {},
    "vectors": {},
    "templates": {"kernel": "softmax_template<64>", "block": 64},
    "pairs": {},
    "warp_a_row": {"grid": "ceil_div(rows, 4)"},
    "half_warps": {"grid": "ceil_div(rows, 2)"},
    "grid_stride": {"grid": 2},
    "double_buffer": {},
    "atomics": {},
    "extern_shared": {"shared_bytes": "4 * (vocab + THREADS)"},
    "in_place": {"arguments": {"x": "rows*vocab:inout:normal"}},
    "thread_a_row": {"grid": 1},
    "last_block": {
        "rows": 1,
        "grid": "ceil_div(vocab, SPAN)",
        "arguments": {
            "m_part": "ceil_div(vocab, SPAN):out",
            "d_part": "ceil_div(vocab, SPAN):out",
            "done": "1:inout:zeros",
            "lse": "rows:out",
        },
    },
    "split_row": {
        "grid": "rows * ceil_div(vocab, SPAN)",
        "arguments": {"word": "rows:inout:zeros", "done": "rows:inout:zeros", "lse": "rows:out"},
    },
    "register_tiles": {},
    "pair_shuffles": {},
    "persistent": {"grid": 3, "arguments": {"next": "1:inout:zeros"}},
    "grid_of_warps": {"grid": "ceil_div(rows, ROWS)", "block": ("COLUMNS", "ROWS")},
    "votes": {"arguments": {"column": "rows:out"}},
}


def launched(name: str, **more: Any) -> Any:
    settings = {**LAUNCHES[name], **more}
    if "arguments" in more:
        settings["arguments"] = {**LAUNCHES[name].get("arguments", {}), **more["arguments"]}
    return run(FOLDER / f"{name}.cu", **settings)


def problems(outcome: Any) -> list[str]:
    return [f"{f.id}: {f}" for f in outcome.faults if f.severity != "note"]


def test_every_kernel_of_the_folder_is_launched() -> None:
    assert {path.stem for path in FOLDER.glob("*.cu")} == set(LAUNCHES)


@pytest.mark.parametrize("name", LAUNCHES)
def test_correct_kernel_is_clean_and_right(name: str) -> None:
    outcome = launched(name)
    assert problems(outcome) == []
    assert outcome.result, "the result was not compared"
    assert all(not judgement.wrong for judgement in outcome.result)


@pytest.mark.parametrize("schedule", ["reverse", "random:7", "switch:3"])
@pytest.mark.parametrize("name", LAUNCHES)
def test_order_of_warps_does_not_matter(name: str, schedule: str) -> None:
    assert problems(launched(name, schedule=schedule)) == []


@pytest.mark.parametrize("pattern", ["inf-first-tile", "large", "ramp"])
@pytest.mark.parametrize("name", LAUNCHES)
def test_other_inputs_are_right_too(name: str, pattern: str) -> None:
    more = {"arguments": {"x": f"rows*vocab:inout:{pattern}"}} if name == "in_place" else {}
    assert problems(launched(name, input=pattern, **more)) == []


@pytest.mark.parametrize("name", [n for n in LAUNCHES if n not in {"vectors", "coarsened"}])
@pytest.mark.parametrize("vocab", [1, 31, 250])
def test_any_length_is_right(name: str, vocab: int) -> None:
    assert problems(launched(name, vocab=vocab)) == []


def test_explorer_finds_no_difference_in_a_correct_kernel() -> None:
    source = Source(FOLDER / "pairs.cu")
    assert not source.explore(Case()).depends
