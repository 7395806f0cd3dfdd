"""What NVIDIA's tools print becomes records."""

from __future__ import annotations

import sys

import pytest

from oneread.bench.gallery import nvidia

NAMES = ("zoo_stray_tail", "zoo_stray_tail_fixed", "zoo_reused_scratch", "zoo_barrier_in_branch")

MEMCHECK = """\
========= COMPUTE-SANITIZER
{"record": "launched", "entry": "zoo_stray_tail_fixed", "use": "trace", "vocab": 256}
========= Invalid __global__ read of size 4 bytes
=========     at zoo_stray_tail+0x1b0 in zoo_stray_tail.cu:33
=========     by thread (26,0,0) in block (3,0,0)
=========     Access at 0x7f2a0a000fa0 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f2a0a000000 of size 4,000 bytes
=========
========= Invalid __global__ read of size 4 bytes
=========     at zoo_stray_tail+0x1b0 in zoo_stray_tail.cu:33
=========     by thread (27,0,0) in block (3,0,0)
=========     Access at 0x7f2a0a000fa4 is out of bounds
=========
{"record": "launched", "entry": "zoo_stray_tail", "use": "trace", "vocab": 250}
========= ERROR SUMMARY: 2 errors
"""

RACECHECK = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Read access at zoo_reused_scratch+0x2c0 in k.cu:34
=========     and Write access at zoo_reused_scratch+0x5a0 in k.cu:38 [508 hazards]
=========
========= Warning: Race reported between Read access at zoo_reused_scratch+0x2c0 in k.cu:34
=========     and Write access at zoo_reused_scratch+0x5a0 in k.cu:38 [8 hazards]
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""

NCU = """\
==PROF== Connected to process 41
==PROF== Profiling "relu" - 0: 0%....50%....100% - 2 passes
"ID","Process ID","Kernel Name","Grid Size","Block Size","dram__bytes_read.sum",\
"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
"","","","","","byte","",""
"0","41","relu(const float *, float *, int, int)","(32, 1, 1)","(32, 1, 1)","4,096","32","128"
"1","41","top_k","(4, 1, 1)","(32, 1, 1)","n/a","36","144"
==PROF== Disconnected
"""


def test_messages_are_counted_and_name_kernel_and_lines() -> None:
    (record,) = nvidia.messages("memcheck", MEMCHECK, NAMES)
    assert record["kernel"] == "zoo_stray_tail"
    assert record["message"] == "Invalid __global__ read of size 4 bytes"
    assert (record["lines"], record["count"], record["severity"]) == ([33], 2, "error")


def test_message_belongs_to_the_launch_that_is_printed_behind_it() -> None:
    (record,) = nvidia.messages("memcheck", MEMCHECK, NAMES)
    assert (record["use"], record["vocab"]) == ("trace", 250)


def test_message_of_a_launch_that_did_not_end_belongs_to_none() -> None:
    cut = MEMCHECK.partition('{"record": "launched", "entry": "zoo_stray_tail",')[0]
    (record,) = nvidia.messages("memcheck", cut, NAMES)
    assert "use" not in record


def test_severity_is_the_tools_own() -> None:
    records = nvidia.messages("racecheck", RACECHECK, NAMES)
    assert [(r["severity"], r["lines"]) for r in records] == [
        ("error", [34, 38]), ("warning", [34, 38]),
    ]  # fmt: skip


def test_silence_gives_no_record() -> None:
    text = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
    assert nvidia.messages("memcheck", text, NAMES) == []


def test_counts_of_each_launch() -> None:
    first, second = nvidia.counts(NCU)
    assert (first["kernel"], first["grid"]) == ("relu", "(32, 1, 1)")
    assert (first["global_load_requests"], first["global_load_sectors"]) == (32, 128)
    assert first["dram_read_bytes"] == 4096
    assert first["shared_load_wavefronts"] is None
    assert (second["kernel"], second["dram_read_bytes"]) == ("top_k", None)


def test_counts_are_of_the_launches_that_were_printed() -> None:
    printed = [
        f'{{"record": "launched", "entry": "{kernel}", "use": "bench", "vocab": {vocab}}}'
        for kernel, vocab in (("relu", 256), ("top_k", 250))
    ]
    found = nvidia.launched(nvidia.counts(NCU), "\n".join(printed))
    assert [(r["kernel"], r["use"], r["vocab"]) for r in found] == [
        ("relu", "bench", 256), ("top_k", "bench", 250),
    ]  # fmt: skip
    assert nvidia.launched(nvidia.counts(NCU), printed[0]) == []


def test_missing_tool_is_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "find", lambda _: None)
    records, text = nvidia.sanitized("memcheck", ["true"], NAMES, 1)
    assert records == [
        {
            "record": "tool",
            "tool": "memcheck",
            "ran": False,
            "said": "compute-sanitizer is not there",
        }
    ]
    assert text == ""
    assert nvidia.profiled(["true"], 1)[0][0]["ran"] is False


def test_program_that_never_ends_is_given_up() -> None:
    ran, text = nvidia.run([sys.executable, "-c", "import time; time.sleep(60)"], 0.5)
    assert not ran
    assert "given up after" in text
