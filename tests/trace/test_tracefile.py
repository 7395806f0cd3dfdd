"""The trace file: its schema, its bytes, what can be made of it again, its limits."""

from __future__ import annotations

import base64
import copy
import itertools
import json
import math
import struct
import time
from array import array
from collections.abc import Callable
from typing import Any

import pytest

from oneread.source.catalogue import read_catalogue
from oneread.trace import Case, LimitError, Limits, Source, UsageError
from oneread.trace.gallery import launch_kernel, launch_sequence
from oneread.trace.sources import Launched
from oneread.trace.tracefile import SCHEMA, SCHEMA_FILE, describe, dumps, record

Errors = Callable[[Any], list[str]]
CATALOGUE = read_catalogue()
SMALL = Case(rows=2, vocab=64, record=True)


def written(launches: list[Launched]) -> Any:
    return json.loads(dumps(describe(launches)))


def of_text(body: str, head: str = "const float* x, float* y, int vocab", **case: Any) -> Launched:
    settings: dict[str, Any] = {"rows": 1, "vocab": 32, "block": 32, "truth": {}, **case}
    source = Source(f"__global__ void k({head}) {{\n{body}\n}}\n")
    full = Case(record=True, **settings)
    return Launched("k", source, full, source.launch(full))


# ---- the schema


@pytest.mark.parametrize("key", CATALOGUE.kernels)
def test_file_of_a_gallery_kernel_is_of_the_schema(key: str, schema_errors: Errors) -> None:
    assert schema_errors(written([launch_kernel(key, SMALL)])) == []


HOST = """
void host(const float* x, float* y, int rows) { k<<<rows, 64>>>(x, y, 32); }
"""


def test_launch_says_what_was_read_in_the_source_and_what_was_guessed(
    schema_errors: Errors,
) -> None:
    kernel = "__global__ void k(const float* x, float* y, int n) { y[threadIdx.x % n] = x[0]; }"
    source, case = Source(kernel + HOST), Case(rows=2, vocab=32)
    trace = written([Launched("k", source, case, source.launch(case))])
    assert schema_errors(trace) == []
    basis = trace["runs"][0]["launch"]["basis"]
    assert (basis["line"], basis["launches"]) == (2, 1)
    found = {one["name"]: (one["value"], one["origin"]) for one in basis["items"]}
    assert found["block"] == ("64", "read")
    assert found["x"] == ("rows*vocab", "guessed")


def test_launch_of_a_gallery_kernel_is_said_by_the_catalogue() -> None:
    trace = written([launch_kernel("online_softmax", SMALL)])
    assert trace["runs"][0]["launch"]["basis"] == {"line": None, "launches": 0, "items": []}


@pytest.mark.parametrize("key", CATALOGUE.sequences)
def test_file_of_a_sequence_has_a_run_a_launch(key: str, schema_errors: Errors) -> None:
    trace = written(launch_sequence(key, SMALL))
    assert schema_errors(trace) == []
    kernels = [launch.kernel for launch in CATALOGUE.sequences[key].launches]
    assert [run["kernel"] for run in trace["runs"]] == kernels


@pytest.mark.parametrize("pattern", ["inf-first-tile", "nan", "plus-inf"])
def test_numbers_that_json_lacks_are_words(pattern: str, schema_errors: Errors) -> None:
    case = Case(rows=2, vocab=64, input=pattern, record=True, watch=["m_row + 1"])
    trace = written([launch_kernel("online_softmax_tiled_racy", case)])
    assert schema_errors(trace) == []
    assert any(set(map(str, one["value"])) & {"NaN", "Infinity", "-Infinity"}
               for one in trace["runs"][0]["watches"])  # fmt: skip


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda run: run["counts"].pop("steps"), "steps is missing"),
        (lambda run: run["counts"].update(passes=3), "no array"),
        (lambda run: run["faults"][0].update(severity="bad"), "none of"),
        (lambda run: run.update(more=1), "more is not known"),
        (lambda run: run["launch"]["grid"].append(1), "more than 3"),
        (lambda run: run["recording"]["steps"]["mask"].append(-1), "below 0"),
    ],
)
def test_schema_refuses_what_is_wrong(spoil: Any, word: str, schema_errors: Errors) -> None:
    trace = written([launch_kernel("online_softmax_tiled_racy", SMALL)])
    spoiled = copy.deepcopy(trace)
    spoil(spoiled["runs"][0])
    (error,) = schema_errors(spoiled)
    assert word in error


def test_schema_names_the_version() -> None:
    schema = json.loads(SCHEMA_FILE.read_text("utf-8"))
    assert schema["title"] == schema["properties"]["schema"]["const"] == SCHEMA


@pytest.mark.parametrize("schedule", ["in-order", "random:3"])
def test_same_launch_gives_the_same_bytes(schedule: str) -> None:
    case = Case(rows=2, vocab=64, schedule=schedule, record=True)
    first, second = (dumps(describe([launch_kernel("zoo_reused_scratch", case)])) for _ in range(2))
    assert first == second


# ---- what can be made of it again


class Player:
    """Goes through the events of a run, forwards and back."""

    def __init__(self, run: Any) -> None:
        self.run = run
        self.floats = array("f", base64.b64decode(run["pools"]["floats"]))
        self.integers = array("q", base64.b64decode(run["pools"]["integers"]))
        self.cells: dict[str, list[Any]] = {}
        self.floating: dict[str, list[bool]] = {}
        for buffer in run["buffers"]:
            kinds = [code in "fd" for code in buffer["types"]]
            self.floating[buffer["name"]] = kinds
            count = buffer["elements"] * len(kinds)
            self.cells[buffer["name"]] = [0.0 if one else 0 for one in kinds] * buffer["elements"]
            if buffer["before"]:
                held = buffer["before"]
                self.cells[buffer["name"]] = self.values(
                    buffer["name"], range(count), held["at"], held["pool"]
                )

    def values(self, name: str, cells: Any, at: int, pool: int) -> list[Any]:
        if pool == 1:
            return list(self.floats[at : at + len(cells)])
        found: list[Any] = list(self.integers[at : at + len(cells)])
        kinds = self.floating[name]
        if pool == 2:
            for place, cell in enumerate(cells):
                if kinds[cell % len(kinds)]:
                    found[place] = struct.unpack("<d", struct.pack("<q", found[place]))[0]
        return found

    def play(self, back: bool) -> None:
        recording = self.run["recording"]
        columns = recording["events"]
        order = range(len(columns["at"]))
        for event in reversed(order) if back else order:
            one = {name: column[event] for name, column in columns.items()}
            thing = recording["names"][one["name"]]
            place = one["old"] if back else one["value"]
            kind = recording["operations"][one["operation"]]
            if thing["space"] not in {"global", "shared"} or kind == "load" or place < 0:
                continue
            cells: Any = [one["at"] + (one["stride"] or 0) * i for i in range(one["count"])]
            if one["stride"] is None:
                cells = self.integers[one["at"] : one["at"] + one["count"]]
            pairs = list(zip(cells, self.values(thing["name"], cells, place, one["pool"]),
                             strict=True))  # fmt: skip
            for cell, value in reversed(pairs) if back else pairs:
                self.cells[thing["name"]][cell] = value


def same(one: list[Any], other: list[Any]) -> bool:
    return all(a == b or (a != a and b != b) for a, b in zip(one, other, strict=True))


def assert_replays(launched: Launched) -> None:
    run = written([launched])["runs"][0]
    player = Player(run)
    start = copy.deepcopy(player.cells)
    player.play(back=False)
    for name, values in launched.run.outputs.items():
        assert same(player.cells[name], values), name
    for buffer in run["buffers"]:
        if buffer["after"]:
            held = buffer["after"]
            cells = range(held["count"])
            told = player.values(buffer["name"], cells, held["at"], held["pool"])
            assert same(told, player.cells[buffer["name"]])
    player.play(back=True)
    assert all(same(start[name], player.cells[name]) for name in start)


@pytest.mark.parametrize("key", [key for key in CATALOGUE.kernels if key != "online_merge"])
def test_events_lead_to_the_outputs_and_old_values_back(key: str) -> None:
    assert_replays(launch_kernel(key, SMALL))


PAIRS = """struct pair { float m; int i; };
__shared__ pair s[32];
s[threadIdx.x].m = x[threadIdx.x];
s[threadIdx.x].i = threadIdx.x;
y[threadIdx.x] = s[threadIdx.x].m + s[31 - threadIdx.x].i;"""


@pytest.mark.parametrize(
    ("body", "head"),
    [
        ("atomicAdd(&y[threadIdx.x % 3], x[threadIdx.x]);", "const float* x, float* y, int vocab"),
        ("y[0] = x[threadIdx.x];", "const float* x, float* y, int vocab"),
        ("y[threadIdx.x] = x[threadIdx.x] / 3.0;", "const float* x, double* y, int vocab"),
        ("y[threadIdx.x] = NAN;", "const float* x, float* y, int vocab"),
        ("((float4*)y)[threadIdx.x % 8] = ((const float4*)x)[threadIdx.x % 8];",
         "const float* x, float* y, int vocab"),
        (PAIRS,
         "const float* x, float* y, int vocab"),
    ],
)  # fmt: skip
def test_atomics_vectors_doubles_and_structs_lose_nothing(body: str, head: str) -> None:
    assert_replays(of_text(body, head))


def test_step_numbers_are_those_of_faults_and_passes() -> None:
    whole = written([launch_kernel("online_softmax_tiled_racy", SMALL)])["runs"][0]
    part = written([launch_kernel("online_softmax_tiled_racy",
                                  Case(rows=2, vocab=64, record=[1]))])["runs"][0]  # fmt: skip
    steps = dict(zip(whole["recording"]["steps"]["step"], whole["recording"]["steps"]["line"],
                     strict=True))  # fmt: skip
    assert [steps[one["first_step"]] for one in whole["counts"]["passes"]] == [
        one["line"] for one in whole["counts"]["passes"]
    ]
    assert set(part["recording"]["steps"]["step"]) < set(steps)
    assert part["recording"]["blocks"] == [1]
    assert part["counts"] == whole["counts"]


def test_access_that_a_condition_leaves_lanes_out_of_names_the_others() -> None:
    launched = of_text("y[threadIdx.x] = threadIdx.x % 2 ? x[threadIdx.x] : 0.0f;\n"
                       "if (threadIdx.x < 5) y[threadIdx.x] = x[threadIdx.x];")  # fmt: skip
    recording = written([launched])["runs"][0]["recording"]
    ((event, lanes),) = zip(*recording["partial"].values(), strict=True)
    assert lanes == 0xAAAAAAAA
    assert recording["operations"][recording["events"]["operation"][event]] == "load"
    assert recording["events"]["count"][event] == 16


# ---- limits


def recorded(limits: Limits, blocks: Any = True) -> Any:
    case = Case(rows=8, vocab=64, limits=limits, record=blocks)
    return json.loads(record(lambda one: [launch_kernel("online_softmax", one)], case))


def test_events_of_all_blocks_are_kept_where_they_fit() -> None:
    (run,) = recorded(Limits())["runs"]
    assert run["recording"]["blocks"] == list(range(8))
    assert run["recording"]["reduced"] is None


@pytest.mark.parametrize(
    ("limits", "setting"),
    [(Limits(file_bytes=60_000), "file_bytes"), (Limits(recorded=300), "recorded")],
)
def test_beyond_a_limit_the_first_blocks_are_kept_and_the_file_says_so(
    limits: Limits, setting: str, schema_errors: Errors
) -> None:
    trace = recorded(limits)
    assert schema_errors(trace) == []
    (run,) = trace["runs"]
    blocks = run["recording"]["blocks"]
    assert blocks == list(range(len(blocks)))
    assert 1 <= len(blocks) < 8
    assert run["recording"]["reduced"] == {"setting": setting}
    assert run["counts"] == recorded(Limits())["runs"][0]["counts"]


def test_blocks_that_were_named_are_refused_rather_than_left_out() -> None:
    with pytest.raises(LimitError, match=r"the limit is 20,000 \(file_bytes\)"):
        recorded(Limits(file_bytes=20_000), blocks=[0, 1, 2])


def test_block_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no block 8: 8 run"):
        recorded(Limits(), blocks=[0, 8])


def test_all_runs_of_a_recording_share_one_limit_of_time() -> None:
    left: list[float] = []

    def launch(case: Case) -> list[Launched]:
        left.append(case.limits.seconds)
        time.sleep(0.05)
        return [launch_kernel("online_softmax", case)]

    limits = Limits(recorded=300, seconds=30)
    trace = json.loads(record(launch, Case(rows=8, vocab=64, limits=limits)))
    assert len(left) >= 3
    assert all(later <= earlier - 0.05 for earlier, later in itertools.pairwise(left))
    assert trace["runs"][0]["settings"]["seconds"] == 30


def test_not_even_one_block_is_an_error() -> None:
    with pytest.raises(LimitError, match="file_bytes"):
        recorded(Limits(file_bytes=1_000))


def test_other_limits_end_the_run() -> None:
    with pytest.raises(LimitError, match="steps"):
        recorded(Limits(steps=10))


def test_pool_keeps_every_bit() -> None:
    from oneread.trace.pools import FLOATS, INTEGERS, PATTERNS, Pools, choose

    pools = Pools()
    assert choose([1.5, -0.0]) == FLOATS
    assert choose([1, 2]) == INTEGERS
    assert choose([0.1]) == choose([math.nan]) == choose([1e300]) == choose([1.0, 2]) == PATTERNS
    assert pools.put([0.0], FLOATS) != pools.put([-0.0], FLOATS)
    assert pools.put([1.5, 2.5], FLOATS) == pools.put([1.5, 2.5], FLOATS)
    assert pools.integers[pools.put([2**64 - 1], INTEGERS)] == -1
