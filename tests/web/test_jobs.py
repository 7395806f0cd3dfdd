"""What comes of a request: the trace file itself, repairs, findings; and errors as answers."""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oneread.source.catalogue import read_catalogue
from oneread.trace import Case, open_kernel
from oneread.trace.opening import Opened
from oneread.trace.sources import Launched
from oneread.trace.tracefile import record
from oneread.web import asked, jobs

RACY = "online_softmax_tiled_racy"
TWICE = """__global__ void twice(const float* x, float* y, int vocab) {
    for (int i = threadIdx.x; i < vocab; i += blockDim.x) y[i] = x[i] + x[i];
}
"""


def answer(job: str, *kernels: Any, **fields: Any) -> jobs.Answer:
    named = [{"key": one} if isinstance(one, str) else one for one in kernels]
    return jobs.answer(job, json.dumps({"kernels": named, **fields}).encode())


def done(job: str, *kernels: Any, **fields: Any) -> Any:
    said = answer(job, *kernels, **fields)
    assert (said.status, said.kind) == (200, "json"), said.body
    return json.loads(said.body)


def error(job: str, *kernels: Any, **fields: Any) -> Any:
    said = answer(job, *kernels, **fields)
    assert (said.status, said.kind) == (422, "json")
    return json.loads(said.body)["error"]


def text_of(key: str) -> str:
    return read_catalogue().path(key).read_text("utf-8")


def ids(faults: list[Any]) -> set[str]:
    return {one["id"] for one in faults if one["severity"] != "note"}


# ---- trace


def test_answer_is_the_trace_file_byte_for_byte() -> None:
    case = Case(rows=2, vocab=64, limits=asked.LIMITS)
    said = answer("trace", "relu", rows=2, vocab=64)
    assert said.body == record(open_kernel("relu").launch, case)


def test_kernels_side_by_side_are_runs_in_order() -> None:
    runs = done("trace", "safe_softmax_tiled", RACY, "online_softmax_lane", vocab=64)["runs"]
    assert [run["name"] for run in runs] == ["safe_softmax_tiled", RACY, "online_softmax_lane"]
    assert all(run["recording"]["reduced"] is None for run in runs)


def test_sequence_is_a_run_for_each_launch() -> None:
    runs = done("trace", "online_parallel", rows=1, vocab=64)["runs"]
    assert [run["kernel"] for run in runs] == ["online_partials", "online_merge"]


def test_text_is_run_as_it_stands() -> None:
    (run,) = done("trace", {"name": "mine.cu", "text": TWICE}, rows=1, vocab=32)["runs"]
    assert (run["name"], run["kernel"]) == ("mine.cu", "twice")
    assert run["source"] == {"name": "mine.cu", "text": TWICE}


def test_edited_kernel_of_the_gallery_keeps_its_truth() -> None:
    text = text_of("safe_softmax_tiled").replace("expf(", "2.0f * expf(", 1)
    (run,) = done("trace", {"key": "safe_softmax_tiled", "text": text}, vocab=64)["runs"]
    assert run["name"] == "safe_softmax_tiled"
    assert run["source"]["text"] == text
    assert "wrong-result" in ids(run["faults"])


def test_kernel_with_other_parameters_is_no_longer_that_of_the_gallery() -> None:
    named = {"key": "safe_softmax_tiled", "name": "mine.cu"}
    text = TWICE.replace("float* x", "float* in").replace("x[i]", "in[i]")
    (run,) = done("trace", {**named, "text": text}, rows=1, vocab=32)["runs"]
    assert run["name"] == "mine.cu"
    assert run["launch"]["arguments"][0]["name"] == "in"


def test_numbers_are_the_input() -> None:
    (run,) = done("trace", "relu", numbers=[[1.5, -2], [3, "-Infinity"]], defines={"TILE": 32})[
        "runs"
    ]
    assert (run["launch"]["rows"], run["launch"]["vocab"]) == (2, 2)


def test_events_of_named_blocks_only() -> None:
    (run,) = done("trace", "relu", record=[1])["runs"]
    assert run["recording"]["blocks"] == [1]


def test_every_order_is_one_run_with_what_they_differ_in() -> None:
    (run,) = done("trace", RACY, defines={"TILE": 64}, rows=1, schedule="all")["runs"]
    assert "order-dependent" in ids(run["faults"])


def test_trace_is_never_larger_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "LIMITS", replace(asked.LIMITS, file_bytes=100_000))
    said = answer("trace", "online_softmax", "safe_softmax")
    assert said.status == 200
    assert len(said.body) <= 100_000
    runs = json.loads(said.body)["runs"]
    assert [run["recording"]["reduced"] for run in runs] == [{"setting": "file_bytes"}] * 2
    assert all(run["recording"]["blocks"][0] == 0 for run in runs)


def times_left(monkeypatch: pytest.MonkeyPatch, *kernels: Any, **fields: Any) -> list[float]:
    """Return how many seconds each launch of a trace may take, each of which takes a while."""
    left: list[float] = []
    launch = Opened.launch

    def noted(self: Opened, case: Case) -> list[Launched]:
        left.append(case.limits.seconds)
        time.sleep(0.05)
        return launch(self, case)

    monkeypatch.setattr(Opened, "launch", noted)
    runs = done("trace", *kernels, **fields)["runs"]
    assert {run["settings"]["seconds"] for run in runs} == {asked.LIMITS.seconds}
    return left


def test_kernels_side_by_side_share_one_limit_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    left = times_left(monkeypatch, "relu", "relu", "relu", rows=1)
    assert len(left) == 3
    assert all(later <= earlier - 0.04 for earlier, later in itertools.pairwise(left))


def test_runs_that_a_recording_takes_share_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "LIMITS", replace(asked.LIMITS, file_bytes=100_000))
    left = times_left(monkeypatch, "online_softmax", "safe_softmax")
    assert len(left) >= 6
    assert all(later <= earlier - 0.04 for earlier, later in itertools.pairwise(left))


# ---- errors


def test_source_error_is_at_its_line_and_kernel() -> None:
    text = TWICE.replace("x[i] + x[i]", "x[i] + xx[i]")
    said = error("trace", "relu", {"text": text}, rows=1, vocab=32)
    assert said["kind"] == "source"
    (one,) = said["diagnostics"]
    assert (one["line"], one["column"], one["end_column"]) == (2, 73, 75)
    assert (one["severity"], one["source"]) == ("error", 1)
    assert "'xx' is not declared" in one["message"]


def test_advice_stands_apart_from_the_message() -> None:
    said = error("trace", {"text": TWICE.replace("blockDim", "blockdim")})
    assert said["diagnostics"][0]["hint"] == "did you mean 'blockDim'?"
    assert "did you mean" not in said["diagnostics"][0]["message"]


def test_source_error_with_numbers_names_its_kernel_too() -> None:
    said = error("trace", "relu", {"text": "__global__ void k("}, numbers=[[1.0]])
    assert said["diagnostics"][0]["source"] == 1


@pytest.mark.parametrize(
    ("kernel", "fields", "kind", "why"),
    [
        ("nothing", {}, "usage", "'nothing' is no key of the gallery"),
        ("relu", {"input": "nothing"}, "usage", "none of the patterns"),
        ("relu", {"schedule": "backwards"}, "usage", "backwards"),
        ("relu", {"block": "1 / 0"}, "usage", "1 / 0"),
        ("relu", {"grid": [1, 2, 3, 4]}, "usage", "has 4 sizes"),
        ("relu", {"rows": 1000, "vocab": 1000}, "limit", "(elements)"),
        ("relu", {"block": 2048}, "limit", "(threads)"),
        ("relu", {"record": [0, 0, 9999], "rows": "x"}, "usage", "rows is no int"),
    ],
)
def test_what_cannot_run_is_said_in_words(
    kernel: str, fields: dict[str, Any], kind: str, why: str
) -> None:
    said = error("trace", kernel, **fields)
    assert said["kind"] == kind
    assert why in said["message"]


def test_endless_loop_meets_a_limit_with_its_line() -> None:
    text = (
        "__global__ void k(const float* x, float* y, int vocab) {\n    while (true) y[0] = x[0];\n}"
    )
    said = error("trace", {"text": text}, rows=1, vocab=32)
    assert said["kind"] == "limit"
    assert said["message"].startswith("line 2: stopped after")


def test_line_that_a_run_was_stopped_at_is_that_of_its_kernel() -> None:
    text = "__global__ void k(const float* x, float* y) {\n    while (true) y[0] = x[0];  \n}"
    said = error("trace", "relu", {"text": text}, rows=1, vocab=32)
    (one,) = said["diagnostics"]
    assert (one["line"], one["column"], one["end_column"], one["source"]) == (2, 5, 30, 1)
    assert said["message"] == f"line 2: {one['message']}"


def test_limit_that_no_line_meets_has_no_place() -> None:
    assert error("trace", "relu", rows=1000, vocab=1000)["diagnostics"] == []
    assert error("trace", "online_parallel", rows=1000, vocab=1000)["diagnostics"] == []


def test_want_of_memory_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(_: jobs.Job) -> jobs.Answer:
        raise MemoryError

    monkeypatch.setitem(jobs.JOBS, "trace", greedy)
    assert error("trace", "relu")["kind"] == "limit"


TWO_SIZES = "__global__ void k(const float* x, float* y, int N, int C) { y[0] = x[0]; }\n"
ROWS_OF_THREADS = "__global__ void k(float* y, int n) { y[threadIdx.y] = n; }\n"


def test_what_would_help_is_told_by_the_boxes_of_the_page() -> None:
    said = error("trace", {"text": TWO_SIZES})["message"]
    assert said.startswith("N and C could each be vocab; if the guess is right, pass x=rows*vocab")
    assert said.endswith(" N=rows C=vocab in “Arguments”")
    said = error("trace", {"text": ROWS_OF_THREADS})["message"]
    assert said.endswith("for example 32,4 in “Block”, (rows + 3) / 4 in “Grid”")


def test_boxes_have_the_names_that_the_page_gives_them() -> None:
    # The player's source is no part of the installed package.
    strings = Path(__file__).parents[2] / "src/oneread/web/player/src/strings.ts"
    words = strings.read_text("utf-8")
    for field, name in jobs.BOXES.items():
        assert f'{field}: "{name}"' in words


def test_doubt_about_one_of_several_names_it() -> None:
    two = {"text": TWO_SIZES, "name": "two.cu"}
    said = error("trace", "relu", two)["message"]
    assert said.startswith("two.cu: N and C could each be vocab")
    runs = done("trace", "relu", two, arguments={"N": "rows", "C": "vocab"})["runs"]
    assert [run["kernel"] for run in runs] == ["relu", "k"]


def test_macro_that_no_text_names_is_refused() -> None:
    said = error("trace", "online_softmax_tiled", "fma_f32", defines={"TILES": 64})["message"]
    assert said == "online_softmax_tiled and fma_f32 never use the macro TILES; there is TILE"


def test_command_for_a_text_says_what_to_save() -> None:
    text = text_of("zoo_stray_tail").replace("zoo_stray_tail", "softmax_stray_tail")
    found = done("probe", {"text": text, "name": "tail.cu"}, vocab=250)["findings"]
    assert found
    for one in found:
        command, _, comment = one["command"].partition("  # ")
        assert command.startswith("oneread trace tail.cu --rows ")
        assert comment == "save the source as tail.cu"


def test_command_for_a_changed_kernel_says_what_the_catalogue_does() -> None:
    text = text_of("zoo_stray_tail").replace("// ", "//  ")
    found = done("probe", {"key": "zoo_stray_tail", "text": text}, vocab=250)["findings"]
    command, _, comment = found[0]["command"].partition("  # ")
    assert command.startswith("oneread trace zoo_stray_tail.cu --rows ")
    assert "--block" in command
    assert "--truth y=softmax" in command
    assert comment == "save the source as zoo_stray_tail.cu"


def test_name_of_a_text_cannot_end_the_comment() -> None:
    (run,) = done("trace", {"text": TWICE, "name": "a\nb.cu"})["runs"]
    assert run["name"] == "a\nb.cu"
    assert jobs._in_one_line("a\nb.cu") == "a\N{REPLACEMENT CHARACTER}b.cu"


# ---- fix and probe


def test_fix_mends_the_race_of_the_tiled_kernel() -> None:
    said = done("fix", RACY, rows=1, defines={"TILE": 64})
    assert "race-warps" in ids(said["mended"])
    assert said["remaining"] == []
    assert "+        __syncthreads();" in said["diff"]
    (run,) = done("trace", {"key": RACY, "text": said["text"]}, rows=1, defines={"TILE": 64})[
        "runs"
    ]
    assert ids(run["faults"]) == set()


def test_repair_that_rules_the_launch_out_is_shown_with_its_reason() -> None:
    said = done("fix", "zoo_odd_tree")
    (one,) = said["exclusions"]
    assert said["diff"] == ""
    assert "static_assert" in one["diff"]
    assert "static_assert" in one["why"]


def test_fix_works_on_a_text() -> None:
    text = text_of("zoo_stray_tail").replace("zoo_stray_tail", "softmax_stray_tail")
    said = done("fix", {"text": text}, vocab=250)
    assert said["text"] != text
    assert said["remaining"] == []


def test_parts_of_a_probe_together_find_what_the_kernel_is_known_for() -> None:
    first = done("probe", RACY, part=0)
    rest = [done("probe", RACY, part=part) for part in range(1, first["parts"])]
    assert first["parts"] > 1
    found = {one["fault"]["id"] for said in [first, *rest] for one in said["findings"]}
    assert {"race-warps", "stray-row", "out-of-bounds", "wrong-result"} <= found
    one = first["findings"][0]
    assert one["command"].startswith(f"oneread trace {RACY}")
    assert set(one["launch"]) >= {"rows", "vocab", "defines", "input", "schedule"}


def test_launches_of_a_probe_that_met_a_limit_are_counted() -> None:
    text = TWICE.replace("    for", "    while (vocab == 250) { }\n    for")
    first = done("probe", {"text": text}, part=0)
    rest = [done("probe", {"text": text}, part=part) for part in range(1, first["parts"])]
    assert sum(said["stopped"] for said in [first, *rest]) > 0
    assert done("probe", "relu", part=0)["stopped"] == 0


def test_part_that_a_probe_lacks_is_refused() -> None:
    assert "part 99" in error("probe", "relu", part=99)["message"]


@pytest.mark.parametrize("job", ["fix", "probe"])
def test_one_kernel_at_a_time(job: str) -> None:
    assert "not 2" in error(job, "relu", "relu")["message"]
    assert "is a sequence" in error(job, "online_parallel")["message"]
