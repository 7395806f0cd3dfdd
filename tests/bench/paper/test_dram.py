"""Bytes by hardware counters: from what ncu says, or the reason why there are none."""

from __future__ import annotations

from typing import Any

import pytest

from oneread.bench import hardware
from oneread.bench.gallery import nvidia
from oneread.bench.paper import dram
from oneread.spec import BackendUnavailableError

CALLS = (
    '{"op": "logsumexp", "dtype": "float32", "input_bytes": 1000}\n'
    '{"op": "softmax", "dtype": "float32", "input_bytes": 1000}\n'
)
HEAD = '"ID","Kernel Name","dram__bytes_read.sum","dram__bytes_write.sum"\n"","","byte","byte"\n'
SAID = (
    "==PROF== Connected\n" + CALLS + HEAD + '"0","copy(const int4 *)","9","9"\n'
    '"1","logsumexp","1,003","12"\n"2","copy","9","9"\n"3","softmax_row","990","5"\n'
    '"4","softmax_tail","10","995"\n'
)


def test_bytes_of_an_op_are_those_of_all_its_launches() -> None:
    first, second = dram.parsed(SAID)
    assert (first["op"], first["read_bytes"], first["write_bytes"]) == ("logsumexp", 1003, 12)
    assert (second["read_bytes"], second["write_bytes"]) == (1000, 1000)
    assert second["kernels"] == ["softmax_row", "softmax_tail"]


@pytest.mark.parametrize(
    "said",
    [
        "", CALLS, CALLS + HEAD, SAID.replace('"990"', '"n/a"'),
        SAID.replace('"2","copy"', '"2","other"'),
        SAID.partition('"3"')[0],
    ],
    ids=["nothing", "no counts", "no rows", "no number", "no marker", "no launch"],
)  # fmt: skip
def test_what_cannot_be_told_apart_is_no_number(said: str) -> None:
    with pytest.raises(ValueError, match="ncu"):
        dram.parsed(said)


def test_without_the_profiler_it_is_not_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "find", lambda tool: None)
    fact = dram.measured("gpu")
    assert (fact["status"], fact["ops"]) == ("not supported", [])
    assert fact["reason"] == "ncu, NVIDIA's profiler, is not there"


def test_profiler_without_permission_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n"
    monkeypatch.setattr(nvidia, "find", lambda tool: "/usr/bin/ncu")
    monkeypatch.setattr(nvidia, "run", lambda command, seconds: (False, said))
    assert "ERR_NVGPUCTRPERM" in dram.measured("gpu")["reason"]


def test_profiled_ops_are_kept_with_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "find", lambda tool: "/usr/bin/ncu")
    monkeypatch.setattr(nvidia, "run", lambda command, seconds: (True, SAID))
    fact = dram.measured("gpu")
    assert (fact["status"], len(fact["ops"])) == ("ok", 2)


def test_inputs_are_at_least_a_gibibyte() -> None:
    sizes = {"float32": 4, "bfloat16": 2}
    for dtype, (rows, vocab) in dram.SHAPES.items():
        assert rows * vocab * sizes[dtype] >= 1 << 30


def test_counter_of_a_cpu_that_cannot_be_read_is_not_supported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(call: Any) -> int:
        raise BackendUnavailableError("this machine has no such counter")

    monkeypatch.setattr(hardware, "cache_misses", refuse)
    fact = dram.measured("cpu")
    assert (fact["status"], fact["reason"]) == ("not supported", "this machine has no such counter")


def test_counter_of_a_cpu_gives_lines_of_64_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dram, "_CPU_SHAPE", (4, 1000))
    monkeypatch.setattr(hardware, "cache_misses", lambda call: call() is not None or 7)
    fact = dram.measured("cpu")
    assert [one["op"] for one in fact["ops"]] == list(dram.CALLS)
    assert fact["status"] == "ok"
