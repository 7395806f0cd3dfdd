"""An autopsy joins what was issued, what was compiled and what was measured, by line."""

from __future__ import annotations

import copy
from typing import Any

from oneread.report.autopsy import Took, autopsy

Record = dict[str, Any]


def test_line_has_what_it_asks_for_and_what_it_became(record: Record, run: Record) -> None:
    by_number = {line.number: line for line in autopsy(record, run).lines}
    sum_ = by_number[6]
    assert sum_.text.strip() == "d = add(d, expf(x[i]));"
    assert (sum_.reads, sum_.writes) == (1.0, 0.0)
    assert sum_.compiled == 3
    # 3 instructions in each of 16 trips, for 512 elements of 32 lanes each.
    assert sum_.each == 3.0
    assert sum_.roles == {"exp": 2.0, "load": 1.0}


def test_line_of_an_inlined_function_is_its_own(record: Record, run: Record) -> None:
    by_number = {line.number: line for line in autopsy(record, run).lines}
    assert by_number[2].compiled == 1
    assert by_number[2].roles == {"sum": 1.0}


def test_shared_requests_and_barriers_stand_at_their_line(record: Record, run: Record) -> None:
    by_number = {line.number: line for line in autopsy(record, run).lines}
    assert by_number[7].shared == 4 * 32 / 512
    assert by_number[7].barriers == 3 / 64
    assert by_number[7].writes == 64 / 512


def test_sums_are_those_of_all_instructions(record: Record, run: Record) -> None:
    found = autopsy(record, run)
    # 7 instructions in 16 trips, 3 that each of 2 warps runs once.
    assert found.each == (7 * 16 + 3 * 2) * 32 / 512
    assert found.mufu == 1.0
    assert sum(found.roles.values()) == found.each
    assert found.each > sum(line.each or 0 for line in found.lines)  # a header's line is no line


def test_loop_says_who_told_its_trips(record: Record, run: Record) -> None:
    (loop,) = autopsy(record, run).loops
    assert (loop.at, loop.lines, loop.trips, loop.told_by) == (0x10, (2, 5, 6), 16, 6)
    assert loop.mufu_each == 1.0


def test_loop_without_trips_is_left_out_and_named(record: Record, run: Record) -> None:
    silent = copy.deepcopy(run)
    silent["counts"] = {"lines": [], "barriers": 0, "barrier_lines": {}}
    found = autopsy(record, silent)
    assert found.unknown == (0x10,)
    assert next(line for line in found.lines if line.number == 6).each is None
    assert found.each == 3 * 2 * 32 / 512


def test_measured_build_is_told_from_another(record: Record, run: Record) -> None:
    took = Took("memory", 2, 8, 1.0, 0.5, "GPU", "sm_86", {})
    assert autopsy(record, run, [took]).is_measured_as_built(took)
    fast = {**record, "flags": ["--use_fast_math"]}
    assert not autopsy(fast, run, [took]).is_measured_as_built(took)
