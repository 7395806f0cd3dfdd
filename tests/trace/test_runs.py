"""Counts, passes, schedules, recordings, watches and limits of whole runs."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oneread.trace import Case, LimitError, Limits, Source, UsageError, apply, run, truth
from oneread.trace.gallery import run_kernel
from oneread.trace.machine.cache import SECTOR, interleave, traffic
from oneread.trace.schedules import Schedule

HEAD = "__global__ void k(const float* x, float* y, int vocab) {"


def traced(body: str, **case: Any) -> Any:
    settings = {"rows": 1, "vocab": 64, "block": 32, "truth": {}, **case}
    return run(f"{HEAD}\n{body}\n}}\n", **settings)


# ---- counts


def test_passes_are_the_loads_that_cover_the_rows() -> None:
    three = [one for one in run_kernel("safe_softmax_tiled").counts.passes if one.buffer == "x"]
    two = [one for one in run_kernel("online_softmax_tiled").counts.passes if one.buffer == "x"]
    assert [one.elements for one in three] == [1024, 1024, 1024]
    assert [one.elements for one in two] == [1024, 1024]


def test_repeated_load_of_a_lane_is_reuse_until_a_store_or_the_next_round() -> None:
    twice = traced("y[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x];").counts.buffers["x"]
    assert twice.reused == 32
    assert twice.issued_bytes - twice.after_reuse_bytes == 128
    stored = "y[threadIdx.x] = x[threadIdx.x]; y[threadIdx.x + 32] = x[threadIdx.x];"
    assert traced(stored).counts.buffers["x"].reused == 0
    rounds = "float v = 0; for (int i = 0; i < 3; i++) v += x[threadIdx.x]; y[threadIdx.x] = v;"
    assert traced(rounds).counts.buffers["x"].reused == 0


def test_three_numbers_of_bytes_differ_as_their_names_say() -> None:
    counts = run_kernel("safe_softmax_tiled", Case(rows=2, vocab=1024)).counts
    assert counts.issued_bytes == 4 * 4 * 2048
    assert counts.after_reuse_bytes == counts.issued_bytes
    assert counts.dram(cache_kb=1).read_bytes == 3 * 4 * 2048
    assert counts.dram(cache_kb=64).read_bytes == 4 * 2048
    assert counts.dram(cache_kb=64).written_bytes == 4 * 2048


class ReferenceCache:
    """A cache written another way: time stamps instead of an order."""

    def __init__(self, room: int) -> None:
        self.room, self.now, self.read, self.written = room, 0, 0, 0
        self.used: dict[int, int] = {}
        self.dirty: set[int] = set()

    def touch(self, sector: int, stores: bool) -> None:
        self.now += 1
        if sector not in self.used:
            self.read += not stores
            if len(self.used) == self.room:
                oldest = min(self.used, key=lambda one: self.used[one])
                del self.used[oldest]
                self.written += oldest in self.dirty
                self.dirty.discard(oldest)
        self.used[sector] = self.now
        if stores:
            self.dirty.add(sector)


@pytest.mark.parametrize("room", [1, 3, 8, 40])
@pytest.mark.parametrize("pattern", ["sweep", "repeat", "random", "strided"])
def test_cache_model_is_a_reference_lru(room: int, pattern: str) -> None:
    draw = random.Random(f"{room} {pattern}")
    addresses = {
        "sweep": list(range(60)) * 3,
        "repeat": [i % 7 for i in range(200)],
        "random": [draw.randrange(50) for _ in range(400)],
        "strided": [i * 8 % 61 for i in range(300)],
    }[pattern]
    requests = [((address,), draw.random() < 0.3, address % 3) for address in addresses]
    model = ReferenceCache(room)
    for (address,), stores, _ in requests:
        model.touch(address, stores)
    got = traffic(requests, room * SECTOR)
    assert got.read_bytes == model.read * SECTOR
    assert got.written_bytes == (model.written + len(model.dirty)) * SECTOR


def test_without_a_cache_every_request_is_traffic() -> None:
    got = traffic([((1, 2), False, "a"), ((1,), True, "b"), ((1,), False, "b")], 0)
    assert (got.read_bytes, got.written_bytes) == (3 * SECTOR, SECTOR)
    assert got.of == {"a": 2 * SECTOR, "b": 2 * SECTOR}


def test_changed_sector_is_put_down_to_who_stored_last() -> None:
    got = traffic([((1,), False, "a"), ((1,), True, "b"), ((2,), False, "c")], SECTOR)
    assert got.of == {"a": SECTOR, "b": SECTOR, "c": SECTOR}


def test_bytes_of_passes_and_lines_add_up_to_those_of_the_run() -> None:
    counts = run_kernel("safe_softmax_tiled", Case(rows=2, vocab=1024)).counts
    large, small = counts.dram(cache_kb=64), counts.dram(cache_kb=1)
    assert counts.of_passes(large) == [8192, 0, 0]
    assert counts.of_passes(small) == [8192, 8192, 8192]
    for dram in (large, small):
        assert sum(counts.of_lines(dram)) == dram.read_bytes + dram.written_bytes
    outer = [one for one in counts.lines if one.space == "global"]
    assert sum(one.issued_bytes for one in outer) == counts.issued_bytes
    assert sum(one.after_reuse_bytes for one in outer) == counts.after_reuse_bytes


def test_repeated_load_is_left_out_of_its_line_after_reuse() -> None:
    outcome = traced("y[threadIdx.x] = x[threadIdx.x] *\n  x[threadIdx.x];", vocab=32)
    passes = [(one.issued_bytes, one.after_reuse_bytes) for one in outcome.counts.passes]
    assert passes == [(128, 128), (128, 0)]


def test_resident_blocks_take_turns() -> None:
    blocks = [[((name * 10 + i,), False, name) for i in range(2)] for name in range(3)]
    order = [sectors[0] for sectors, _, _ in interleave(blocks, 2)]
    assert order == [0, 10, 1, 11, 20, 21]


# ---- results


def test_wrong_result_names_the_line_that_stored_it() -> None:
    body = "y[threadIdx.x] = 0;\ny[threadIdx.x] = 1;"
    outcome = traced(body, vocab=32, truth={"y": "softmax"})
    (fault,) = outcome.having("wrong-result")
    assert fault.line == 3


def test_nan_is_traced_to_the_difference_that_made_it() -> None:
    body = "float m = x[threadIdx.x];\ny[threadIdx.x] = expf(m - m);"
    data = {"x": [-math.inf] * 31 + [0.0]}
    (fault,) = traced(body, vocab=32, truth={"y": "softmax"}, data=data).having("nan-made")
    assert fault.line == 3
    assert fault.repair is not None
    assert fault.repair.parameters["new"] == "(m == -INFINITY ? 0.0f : expf(m - m))"


# ---- repairs


@pytest.mark.parametrize(
    ("name", "identifier", "case"),
    [
        ("online_softmax_tiled_racy", "race-warps", Case(defines={"TILE": "64"})),
        ("online_softmax_tiled_racy", "stray-row", Case(vocab=250)),
        ("online_softmax_tiled_racy", "nan-made", Case(input="inf-first-tile")),
        ("online_softmax_tiled_racy", "latent-overflow", Case()),
        ("zoo_reused_scratch", "race-warps", Case()),
        ("zoo_row_offset", "latent-overflow", Case()),
        ("zoo_missing_syncwarp", "race-warp", Case()),
    ],
)
def test_repair_removes_the_fault(name: str, identifier: str, case: Case) -> None:
    from oneread.source.catalogue import read_catalogue
    from oneread.trace.gallery import case_of

    catalogue = read_catalogue()
    case = case_of(catalogue.kernels[name], case)
    text = catalogue.path(name).read_text()
    before = Source(text, defines=case.defines).launch(case)
    repairs = [fault.repair for fault in before.having(identifier) if fault.repair is not None]
    assert repairs
    after = Source(apply(text, repairs), defines=case.defines).launch(case)
    assert after.having(identifier) == []


# ---- orders


def test_schedule_of_a_race_decides_its_result() -> None:
    outcome = Source(Path(str(run_path("zoo_reused_scratch"))), defines={"TILE": "64"}).explore(
        Case(defines={"TILE": "64"}, block=64)
    )
    assert outcome.depends
    assert outcome.fault is not None
    assert outcome.fault.parameters["first_schedule"] != outcome.fault.parameters["second_schedule"]


def run_path(name: str) -> Path:
    from oneread.source.catalogue import gallery_folder

    return gallery_folder() / f"{name}.cu"


@pytest.mark.parametrize("name", ["in-order", "reverse", "random:3", "switch:3"])
def test_same_schedule_gives_the_same_run(name: str) -> None:
    runs = [run_kernel("zoo_reused_scratch", Case(schedule=name, record=True)) for _ in range(2)]
    assert runs[0].outputs == runs[1].outputs
    assert runs[0].recording == runs[1].recording
    assert list(map(str, runs[0].faults)) == list(map(str, runs[1].faults))


def test_unknown_schedule_names_those_there_are() -> None:
    with pytest.raises(UsageError, match="in-order, reverse"):
        Schedule.parse("sideways")


def test_switching_lets_a_warp_overtake_between_statements() -> None:
    body = "__shared__ int n; if (threadIdx.x == 0) n = 0;\n__syncthreads();\n"
    body += "for (int i = 0; i < 4; i++)\n  if (threadIdx.x % 32 == 0) y[n++ % 64] = threadIdx.x;"
    in_turn = traced(body, block=64, vocab=64).outputs["y"]
    switched = traced(body, block=64, vocab=64, schedule="switch:1").outputs["y"]
    assert in_turn[:8] == [0.0] * 4 + [32.0] * 4
    assert sorted(switched[:8]) == sorted(in_turn[:8])
    assert switched != in_turn


# ---- recordings and watches


def test_recording_has_a_step_a_statement_and_its_events() -> None:
    outcome = traced("float v = x[threadIdx.x];\ny[threadIdx.x] = v;", vocab=32, record=True)
    recording = outcome.recording
    assert list(recording.line) == [2, 3]
    assert list(recording.end)[-1] == recording.events
    names = [recording.names[name] for name in recording.name]
    assert names[-3:] == ["x", "v", "y"]
    at = recording.value[-1]
    assert list(recording.pools.floats[at : at + 32]) == outcome.outputs["y"]


def test_recording_keeps_the_blocks_that_are_asked_for() -> None:
    outcome = run_kernel("online_softmax", Case(record=[2]))
    assert set(outcome.recording.block) == {2}
    whole = run_kernel("online_softmax", Case(record=True))
    assert outcome.counts.lines == whole.counts.lines


def test_recording_changes_neither_counts_nor_faults() -> None:
    plain = run_kernel("online_softmax_tiled_racy")
    recorded = run_kernel("online_softmax_tiled_racy", Case(record=True))
    assert plain.recording is None
    assert plain.counts.lines == recorded.counts.lines
    assert plain.faults == recorded.faults


# ---- limits


@pytest.mark.parametrize(
    ("body", "case", "message"),
    [
        ("for (;;);", {}, "steps"),
        ("while (true) __syncthreads();", {}, "steps"),
        ("__shared__ float a[100000]; a[0] = 1;", {}, "shared_bytes"),
        ("__shared__ float a[8192], b[4097]; a[0] = b[0] = 1;", {}, "static_shared_bytes"),
        ("float a[1000]; a[0] = 1; y[0] = a[0];", {}, "local_bytes"),
        ("y[0] = 1;", {"grid": 1 << 40}, "blocks"),
        ("y[0] = 1;", {"block": 2048}, "threads"),
        ("y[0] = 1;", {"vocab": 1 << 30}, "elements"),
        ("extern __shared__ float s[]; s[0] = 1;", {"shared_bytes": 1 << 40}, "shared_bytes"),
        ("for (int i = 0; i < 9; i++) y[i] = 1;", {"record": True, "limits": Limits(recorded=3)},
         "recorded"),
        ("for (int i = 0; i < 1 << 30; i++) y[0] = i;",
         {"limits": Limits(seconds=0.01)}, "seconds"),
    ],
)  # fmt: skip
def test_limit_ends_in_an_error_that_names_it(body: str, case: Any, message: str) -> None:
    with pytest.raises(LimitError, match=message):
        traced(body, **case)


def test_stack_without_room_is_an_error_that_names_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def deeper(*arguments: Any) -> Any:
        return deeper(*arguments)

    monkeypatch.setattr("oneread.trace.running.Kernel", deeper)
    with pytest.raises(LimitError, match=r"\(nesting\)"):
        traced("y[0] = 1;")


def test_endless_loop_names_its_line() -> None:
    with pytest.raises(LimitError) as stopped:
        traced("float v = 0;\nwhile (true)\n  v += 1;")
    assert stopped.value.line in {3, 4}


@pytest.mark.parametrize(
    ("key", "most"), [("safe_softmax_tiled", 0.15), ("online_softmax_tiled", 0.3)]
)
def test_full_trace_of_4_rows_of_256_is_quick(
    key: str, most: float, slowness: Callable[[], float]
) -> None:
    times = []
    for _ in range(5):
        start = time.process_time()
        run_kernel(key, Case(defines={"TILE": "32"}, record=True))
        times.append(time.process_time() - start)
    assert sorted(times)[2] < most * slowness()


def test_16_rows_of_1024_take_less_than_3_seconds(slowness: Callable[[], float]) -> None:
    start = time.process_time()
    run_kernel("online_softmax_tiled_racy", Case(rows=16, vocab=1024, record=True))
    assert time.process_time() - start < 3 * slowness()


def test_expression_of_the_user_follows_its_variables() -> None:
    outcome = run_kernel("online_softmax_tiled", Case(rows=1, watch=["m_row + logf(d_row)"]))
    (watch,) = [one for one in outcome.watch if one.label == "user"]
    assert watch.value[-1] == pytest.approx(truth.logsumexp(outcome.inputs["x"]), rel=1e-6)


def test_expression_reads_registers_and_members_of_structs() -> None:
    body = "float2 p; p.x = 3; p.y = p.x * 2;\nfloat s = p.y + 1;\ny[threadIdx.x] = s;"
    outcome = traced(body, watch=["p.x * p.y - s", "-s"])
    values = {one.name: one.value for one in outcome.watch}
    assert values["p.x * p.y - s"] == [3 * 6 - 7]
    assert values["-s"] == [-7]


@pytest.mark.parametrize(
    "text", ["nothing + 1", "m_row.__class__()", "m_row[0]", "1 if 2 else 3", "("]
)
def test_expression_that_cannot_be_watched_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="watch"):
        run_kernel("online_softmax_tiled", Case(rows=1, watch=[text]))


def test_block_beyond_the_launch_bounds_is_refused() -> None:
    text = "__global__ void __launch_bounds__(32) k(const float* x, float* y) { y[0] = x[0]; }"
    run(text, rows=1, vocab=64, block=32, truth={})
    with pytest.raises(UsageError, match="up to 32 threads"):
        run(text, rows=1, vocab=64, block=33, truth={})
