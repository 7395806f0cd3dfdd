"""Trips of loops: told by what the tracer counted, and checked by what did not tell them."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

from oneread.report.executed import executed, issued_places, trips, warps
from oneread.runtime import nvrtc
from oneread.sass import Build, analyse, open_code
from oneread.sass.read import nvdisasm
from oneread.sass.record import describe as describe_code
from oneread.source.catalogue import read_catalogue
from oneread.trace import Case, describe, open_kernel

Record = dict[str, Any]
CATALOGUE = read_catalogue()
#: Kernels with exponentials in branches that not all warps take: the code has more of them.
GUARDED = {
    "online_softmax", "online_softmax_lane", "online_softmax_tiled", "online_softmax_tiled_racy",
    "online_softmax_warp", "online_partials", "online_merge",
}  # fmt: skip
#: What runs for minutes here, and one with stores in branches as well.
LEFT_OUT = {"top_k", "safe_softmax_topk", "online_softmax_topk", "online_partials"}


def times(record: Record, run: Record) -> dict[int, float | None]:
    return {one["at"]: n for one, n in executed(record, run, trips(record, run))}


def test_loop_goes_round_as_often_as_its_load_was_issued(record: Record, run: Record) -> None:
    (told,) = trips(record, run).values()
    assert told.times == 16
    assert told.place == (6, "global", "read")


def test_code_outside_of_loops_runs_once_a_warp(record: Record, run: Record) -> None:
    assert warps(run) == 2
    found = times(record, run)
    assert found[0x00] == found[0x90] == 2
    assert found[0x40] == 16


def test_barriers_are_passed_by_every_warp_of_a_block(run: Record) -> None:
    assert issued_places(run)[7, "block", "barrier"] == 6


def test_nothing_is_said_of_a_loop_that_nothing_tells_of(record: Record, run: Record) -> None:
    silent = copy.deepcopy(run)
    silent["counts"] = {"lines": [], "barriers": 0, "barrier_lines": {}}
    assert times(record, silent)[0x40] is None
    assert times(record, silent)[0x00] == 2


def test_rest_of_an_unrolled_loop_is_not_counted(record: Record, run: Record) -> None:
    unrolled = copy.deepcopy(record)
    one = unrolled["instructions"][-1]
    one["lines"] = [{"file": "k.cu", "line": 6}]
    assert times(unrolled, run)[one["at"]] == 0


@pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)
@pytest.mark.parametrize("key", sorted(CATALOGUE.kernels.keys() - LEFT_OUT))
def test_exponentials_barriers_and_stores_run_as_often_as_the_tracer_counted(
    key: str,
) -> None:
    code = open_code(key, Build("sm_90"))
    record = describe_code(code, analyse(code.kernel()))
    defines = {name: str(n) for name, n in CATALOGUE.kernels[key].bench_defines.items()}
    case = Case(rows=1, vocab=8192, defines=defines)
    (run,) = describe(open_kernel(key).launch(case))["runs"]
    counts = run["counts"]
    found = [(one, n) for one, n in executed(record, run, trips(record, run))]
    assert all(n is not None for _, n in found)

    def run_of(words: tuple[str, ...]) -> float:
        return sum(n or 0 for one, n in found if any(word in one["text"] for word in words))

    exponentials = run_of(("MUFU.EX2",))
    assert exponentials >= counts["exps"]
    assert exponentials == counts["exps"] or key in GUARDED
    blocks_warps = -(-math.prod(run["launch"]["block"]) // 32)
    assert run_of(("BAR.SYNC",)) == counts["barriers"] * blocks_warps
    stored = sum(
        one["requests"]
        for one in counts["lines"]
        if one["space"] == "global" and one["kind"] == "write"
    )
    guarded = key == "online_softmax_warp"  # ends of a row that is not aligned
    assert run_of(("STG",)) == stored or (guarded and run_of(("STG",)) > stored)
