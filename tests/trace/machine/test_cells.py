"""Buffers that are used in other parts than they were declared in, and what a request costs."""

from __future__ import annotations

from typing import Any

import pytest

from oneread.trace import Run, run

HEAD = "__global__ void k(const float* x, float* y, int vocab) {\n"


def traced(body: str, before: str = "", **case: Any) -> Run:
    settings = {"rows": 1, "vocab": 32, "block": 32, "truth": {}, **case}
    text = body if "__global__" in body else f"{HEAD}{body}\n}}\n"
    return run(before + text, **settings)


def found(run_: Run) -> set[str]:
    return {fault.id for fault in run_.faults if fault.severity != "note"}


# ---- cells


@pytest.mark.parametrize(
    "declared",
    [
        "__shared__ unsigned long long raw[32]",
        "__shared__ double raw[32]",
        "extern __shared__ double raw[]",
        "extern __shared__ char raw[]; if (threadIdx.x == 0) ((double*)raw)[40] = 0",
    ],
)
def test_warps_that_share_wide_elements_by_halves_do_not_race(declared: str) -> None:
    body = f"{declared}; float* s = (float*)raw; int l = threadIdx.x % 32, w = threadIdx.x / 32;\n"
    body += "s[2 * l + w] = x[threadIdx.x]; y[threadIdx.x] = s[2 * l + w];"
    shared = 328 if "extern" in declared else None
    outcome = traced(body, vocab=64, block=64, shared_bytes=shared, input="ramp")
    assert found(outcome) == set()
    assert outcome.outputs["y"] == outcome.inputs["x"]


def test_race_on_half_an_element_is_found_behind_the_other_half() -> None:
    body = "__shared__ double raw[1]; float* s = (float*)raw; int t = threadIdx.x;\n"
    body += "if (t == 0) s[0] = 1;\nif (t == 32) s[1] = 2;\nif (t == 64) y[0] = s[0];"
    (race,) = traced(body, block=96).having("race-warps")
    assert (race.with_line, race.line) == (3, 5)


def test_bytes_of_an_integer_are_no_race_of_lanes() -> None:
    body = "__shared__ int raw[8]; unsigned char* b = (unsigned char*)raw;\n"
    body += "b[threadIdx.x] = threadIdx.x; y[threadIdx.x] = b[threadIdx.x];"
    outcome = traced(body)
    assert found(outcome) == set()
    assert outcome.outputs["y"] == list(range(32))


def test_half_of_a_double_that_was_never_stored_is_uninitialised() -> None:
    body = "__shared__ double raw[32]; float* s = (float*)raw;\n"
    body += "s[2 * threadIdx.x] = 1; y[threadIdx.x] = s[2 * threadIdx.x + %d];"
    assert found(traced(body % 1)) == {"uninitialised"}
    assert found(traced(body % 0)) == set()


def test_byte_that_was_first_a_bool_keeps_what_is_stored_as_a_number() -> None:
    body = "extern __shared__ char raw[]; int t = threadIdx.x; ((bool*)raw)[t] = t & 1;\n"
    body += "y[t] = ((bool*)raw)[t]; raw[t] = 7; y[t] += raw[t];"
    outcome = traced(body, shared_bytes=32)
    assert outcome.outputs["y"][:2] == [7, 8]


PADDED = "struct P { char c; double d; };\n"


def test_padding_of_a_stored_struct_can_be_read_as_integers() -> None:
    body = "__shared__ P s[32]; P p = {1, 2.0}; s[threadIdx.x] = p;\n"
    body += "y[threadIdx.x] = ((int*)&s[threadIdx.x])[1] + s[threadIdx.x].d;"
    assert found(traced(body, PADDED)) == set()


def test_padding_in_global_and_local_memory_can_be_read() -> None:
    text = "__global__ void k(P* p, int* y, int vocab) { P l[2] = {{3, 4.0}, {5, 6.0}};\n"
    text += "p[threadIdx.x] = l[1]; y[threadIdx.x] = ((int*)(p + threadIdx.x))[1] + ((int*)l)[1]"
    text += " + ((char*)l)[16]; p[threadIdx.x].d += 1; }"
    outcome = traced(PADDED + text, arguments={"p": "vocab:out", "y": "vocab:out"})
    assert found(outcome) == set()
    assert outcome.outputs["p"][:4] == [5, 7.0, 5, 7.0]
    assert outcome.outputs["y"][0] == 5


def test_lanes_of_a_race_in_a_struct_read_as_integers_are_those_that_met() -> None:
    before = "struct A { char a; char b; int c; };\n"
    body = "__shared__ A s[16]; int* p = (int*)s; int t = threadIdx.x;\np[t] = t;\n"
    body += "p[(t + 16) % 32] = 1;\ny[t] = 0;"
    (race,) = traced(body, before).having("race-warp")
    assert (race.parameters["first_lane"], race.parameters["lane"]) == (16, 0)


def test_outputs_of_a_buffer_used_by_parts_are_those_of_its_type() -> None:
    body = "float v = x[threadIdx.x]; y[threadIdx.x] = v;\n"
    body += "char* b = (char*)y; b[4 * threadIdx.x + 3] = b[4 * threadIdx.x + 3] ^ 0x80;"
    outcome = traced(body)
    assert outcome.outputs["y"] == [-value for value in outcome.inputs["x"]]


def test_wrong_result_of_a_buffer_used_by_parts_names_its_line() -> None:
    body = "y[threadIdx.x] = 0;\n((char*)y)[0] = 0;\ny[threadIdx.x] = 1;"
    (fault,) = traced(body, truth={"y": "softmax"}).having("wrong-result")
    assert (fault.line, fault.index) == (4, 0)


# ---- requests


MEMBERS = "struct %s MD { float m; float d; };\n"


@pytest.mark.parametrize(("align", "requests"), [("", 4), ("__align__(8)", 2)])
def test_struct_in_global_memory_moves_in_pieces_of_its_alignment(
    align: str, requests: int
) -> None:
    text = "__global__ void k(const MD* x, MD* y, int n) { y[threadIdx.x] = x[threadIdx.x]; }"
    buffers = {"x": "vocab:normal", "y": "vocab:out"}
    counts = traced(MEMBERS % align + text, arguments=buffers).counts
    assert (counts.global_requests, counts.sectors) == (requests, 8 * requests)


@pytest.mark.parametrize(
    ("members", "requests", "wavefronts"), [("m, d", 1, 2), ("m, d, e", 3, 3), ("m, d, e, f", 1, 4)]
)
def test_struct_in_shared_memory_moves_in_pieces_of_its_size(
    members: str, requests: int, wavefronts: int
) -> None:
    body = "__shared__ S s[32]; S v = {x[threadIdx.x], 1}; s[threadIdx.x] = v; y[threadIdx.x] = 1;"
    counts = traced(body, f"struct S {{ float {members}; }};\n").counts
    assert (counts.shared_requests, counts.wavefronts) == (requests, wavefronts)


def test_struct_of_many_sectors_counts_each_of_them() -> None:
    before = "struct Big { float v[24]; };\n"
    text = "__global__ void k(const Big* x, Big* y, int vocab)"
    text += " { y[threadIdx.x] = x[threadIdx.x]; }"
    outcome = traced(before + text, arguments={"x": "vocab:normal", "y": "vocab:out"})
    assert outcome.counts.dram().read_bytes == outcome.counts.dram().written_bytes == 32 * 96
    assert outcome.counts.sectors == 2 * 24 * 32


@pytest.mark.parametrize(("kind", "reused"), [("const float*", 32), ("const volatile float*", 0)])
def test_volatile_loads_are_not_kept_in_registers(kind: str, reused: int) -> None:
    text = f"__global__ void k({kind} x, float* y, int vocab)"
    text += " { y[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x]; }"
    assert traced(text).counts.buffers["x"].reused == reused


def test_atomic_on_cold_memory_reads_it_from_dram() -> None:
    text = "__global__ void k(float* y, int n) { atomicAdd(&y[threadIdx.x], 1.0f); }"
    moved = traced(text, arguments={"y": "vocab:inout:zeros"}).counts.dram()
    assert (moved.read_bytes, moved.written_bytes) == (128, 128)
