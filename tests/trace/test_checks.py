"""Each check with the smallest kernel that has the fault and one that has not."""

from __future__ import annotations

from typing import Any

import pytest

from oneread.trace import Run, run

HEAD = "__global__ void k(const float* x, float* y, int vocab) {"
TREE = """
    for (int s = 16; s > 0; s /= 2) {
        if (lane < s) a[lane] += a[lane + s];
        %s
    }
"""


def traced(body: str, head: str = HEAD, rows: int = 1, vocab: int = 64, **case: Any) -> Run:
    case.setdefault("block", 32)
    case.setdefault("truth", {})
    outcome = run(f"{head}\n{body}\n}}\n", rows=rows, vocab=vocab, **case)
    assert all(map(str, outcome.faults)), "every fault has its words"
    return outcome


def found(run_: Run, *severities: str) -> set[str]:
    wanted = severities or ("error", "warning")
    return {fault.id for fault in run_.faults if fault.severity in wanted}


#: id, kernel with the fault, kernel without, settings of both.
PAIRS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "race between warps": (
        "race-warps",
        (
            "__shared__ float a[64]; a[threadIdx.x] = x[threadIdx.x];"
            "y[threadIdx.x] = a[63 - threadIdx.x];"
        ),
        (
            "__shared__ float a[64]; a[threadIdx.x] = x[threadIdx.x]; __syncthreads();"
            "y[threadIdx.x] = a[63 - threadIdx.x];"
        ),
        {"block": 64},
    ),
    "race within a warp": (
        "race-warp",
        (
            "__shared__ float a[32]; a[threadIdx.x] = x[threadIdx.x];"
            "y[threadIdx.x] = a[31 - threadIdx.x]; y[threadIdx.x + 32] = 0;"
        ),
        (
            "__shared__ float a[32]; a[threadIdx.x] = x[threadIdx.x]; __syncwarp();"
            "y[threadIdx.x] = a[31 - threadIdx.x]; y[threadIdx.x + 32] = 0;"
        ),
        {},
    ),
    "race of lanes": (
        "race-lanes",
        (
            "__shared__ float a; a = x[threadIdx.x]; __syncthreads();"
            "y[threadIdx.x] = a; y[threadIdx.x + 32] = a;"
        ),
        (
            "__shared__ float a; if (threadIdx.x == 0) a = x[0]; __syncthreads();"
            "y[threadIdx.x] = a; y[threadIdx.x + 32] = a;"
        ),
        {},
    ),
    "race between blocks": (
        "race-blocks",
        "y[threadIdx.x] = x[threadIdx.x + blockIdx.x];",
        "y[threadIdx.x + 32 * blockIdx.x] = x[threadIdx.x];",
        {"grid": 2},
    ),
    "barrier in a branch": (
        "barrier-divergence",
        (
            "if (threadIdx.x < 16) { y[threadIdx.x] = 0; __syncthreads(); }"
            "y[threadIdx.x] = 1; y[threadIdx.x + 32] = 1;"
        ),
        (
            "if (threadIdx.x < 16) { y[threadIdx.x] = 0; } __syncthreads();"
            "y[threadIdx.x] = 1; y[threadIdx.x + 32] = 1;"
        ),
        {},
    ),
    "warps at different barriers": (
        "barrier-lines",
        (
            "if (threadIdx.x < 32) {\n__syncthreads();\n} else {\n__syncthreads();\n}"
            "y[threadIdx.x] = 1;"
        ),
        "__syncthreads(); y[threadIdx.x] = 1;",
        {"block": 64},
    ),
    "lanes absent from a shuffle": (
        "shuffle-absent",
        (
            "float v = 1; if (threadIdx.x < 16) v = __shfl_xor_sync(0xffffffff, v, 1);"
            "y[threadIdx.x] = v; y[threadIdx.x + 32] = v;"
        ),
        (
            "float v = 1; if (threadIdx.x < 16) v = __shfl_xor_sync(0xffff, v, 1);"
            "y[threadIdx.x] = v; y[threadIdx.x + 32] = v;"
        ),
        {},
    ),
    "lanes not named by a shuffle": (
        "shuffle-mask",
        "float v = __shfl_xor_sync(0xffff, 1.0f, 1); y[threadIdx.x] = v; y[threadIdx.x + 32] = v;",
        "float v = __shfl_xor_sync(~0, 1.0f, 1); y[threadIdx.x] = v; y[threadIdx.x + 32] = v;",
        {},
    ),
    "value of an inactive lane": (
        "shuffle-inactive",
        (
            "float v = 1; if (threadIdx.x < 16) v = __shfl_sync(0xffff, v, 20);"
            "y[threadIdx.x] = v; y[threadIdx.x + 32] = v;"
        ),
        (
            "float v = 1; if (threadIdx.x < 16) v = __shfl_sync(0xffff, v, 2);"
            "y[threadIdx.x] = v; y[threadIdx.x + 32] = v;"
        ),
        {},
    ),
    "lanes absent from __syncwarp": (
        "syncwarp-absent",
        "if (threadIdx.x < 16) __syncwarp(); y[threadIdx.x] = 1; y[threadIdx.x + 32] = 1;",
        "if (threadIdx.x < 16) __syncwarp(0xffff); y[threadIdx.x] = 1; y[threadIdx.x + 32] = 1;",
        {},
    ),
    "load out of bounds": (
        "out-of-bounds",
        "y[threadIdx.x] = x[threadIdx.x + 33]; y[threadIdx.x + 32] = 0;",
        "y[threadIdx.x] = x[threadIdx.x + 32]; y[threadIdx.x + 32] = 0;",
        {},
    ),
    "store before the beginning": (
        "out-of-bounds",
        "y[(int)threadIdx.x - 1] = 0; y[threadIdx.x + 31] = 0; y[63] = 0;",
        "y[threadIdx.x] = 0; y[threadIdx.x + 32] = 0;",
        {},
    ),
    "shared array out of bounds": (
        "out-of-bounds",
        (
            "__shared__ float a[31]; a[threadIdx.x] = 1; y[threadIdx.x] = a[threadIdx.x];"
            "y[threadIdx.x + 32] = 0;"
        ),
        (
            "__shared__ float a[32]; a[threadIdx.x] = 1; y[threadIdx.x] = a[threadIdx.x];"
            "y[threadIdx.x + 32] = 0;"
        ),
        {},
    ),
    "local array out of bounds": (
        "out-of-bounds",
        (
            "float a[2]; for (int i = 0; i < 3; i++) a[i] = i; y[threadIdx.x] = a[1];"
            "y[threadIdx.x + 32] = 0;"
        ),
        (
            "float a[3]; for (int i = 0; i < 3; i++) a[i] = i; y[threadIdx.x] = a[1];"
            "y[threadIdx.x + 32] = 0;"
        ),
        {},
    ),
    "null pointer": (
        "no-buffer",
        "const float* p = nullptr; y[threadIdx.x] = *p; y[threadIdx.x + 32] = 0;",
        "const float* p = x; y[threadIdx.x] = *p; y[threadIdx.x + 32] = 0;",
        {},
    ),
    "misaligned vector": (
        "misaligned",
        (
            "float2 v = *reinterpret_cast<const float2*>(x + 1 + 2 * (threadIdx.x / 2));"
            "y[threadIdx.x] = v.x; y[threadIdx.x + 32] = v.y;"
        ),
        (
            "float2 v = *reinterpret_cast<const float2*>(x + 2 * (threadIdx.x / 2));"
            "y[threadIdx.x] = v.x; y[threadIdx.x + 32] = v.y;"
        ),
        {},
    ),
    "unset shared memory": (
        "uninitialised",
        (
            "__shared__ float a[32]; if (threadIdx.x) a[threadIdx.x] = 1;"
            "y[threadIdx.x] = a[threadIdx.x]; y[threadIdx.x + 32] = 0;"
        ),
        (
            "__shared__ float a[32]; a[threadIdx.x] = 1;"
            "y[threadIdx.x] = a[threadIdx.x]; y[threadIdx.x + 32] = 0;"
        ),
        {},
    ),
    "unset local array": (
        "uninitialised",
        "float a[2]; a[0] = 1; y[threadIdx.x] = a[1]; y[threadIdx.x + 32] = 0;",
        "float a[2] = {1}; y[threadIdx.x] = a[1]; y[threadIdx.x + 32] = 0;",
        {},
    ),
    "unset variable": (
        "uninitialised-variable",
        "float v; if (threadIdx.x < 16) v = 1; y[threadIdx.x] = v; y[threadIdx.x + 32] = 0;",
        (
            "float v; if (threadIdx.x < 16) v = 1; else v = 2; y[threadIdx.x] = v;"
            "y[threadIdx.x + 32] = 0;"
        ),
        {},
    ),
    "unset output": (
        "uninitialised",
        "y[threadIdx.x] += 1; y[threadIdx.x + 32] = 0;",
        "y[threadIdx.x] = 1; y[threadIdx.x] += 1; y[threadIdx.x + 32] = 0;",
        {"arguments": {"y": "rows*vocab:out"}},
    ),
    "signed overflow": (
        "overflow",
        "int i = 2147483647 - threadIdx.x; i += 1; y[threadIdx.x] = i; y[threadIdx.x + 32] = 0;",
        "unsigned i = 4294967295u; i += 1; y[threadIdx.x] = i; y[threadIdx.x + 32] = 0;",
        {},
    ),
    "division by zero": (
        "division-by-zero",
        "y[threadIdx.x] = 7 / (int)threadIdx.x; y[threadIdx.x + 32] = 0;",
        "y[threadIdx.x] = threadIdx.x ? 7 / (int)threadIdx.x : 0; y[threadIdx.x + 32] = 0;",
        {},
    ),
    "shift width": (
        "shift-width",
        "y[threadIdx.x] = 1 << (threadIdx.x + 1); y[threadIdx.x + 32] = 0;",
        "y[threadIdx.x] = 1u << threadIdx.x; y[threadIdx.x + 32] = 0;",
        {},
    ),
    "shift of a bit out of its type": (
        "shift-overflow",
        "y[threadIdx.x] = (1 << threadIdx.x) << 1; y[threadIdx.x + 32] = 0;",
        "y[threadIdx.x] = 1 << threadIdx.x; y[threadIdx.x + 32] = 0;",
        {},
    ),
    "shift of a negative number": (
        "shift-overflow",
        "y[threadIdx.x] = (int)(threadIdx.x - 1) << 4; y[threadIdx.x + 32] = 0;",
        "y[threadIdx.x] = (threadIdx.x - 1) << 4; y[threadIdx.x + 32] = 0;",
        {},
    ),
    "remainder whose quotient does not fit": (
        "overflow",
        "int a = INT_MIN + threadIdx.x; y[threadIdx.x] = a % -1; y[threadIdx.x + 32] = 0;",
        "int a = INT_MAX - threadIdx.x; y[threadIdx.x] = a % -1; y[threadIdx.x + 32] = 0;",
        {},
    ),
    "unwritten output": (
        "unwritten",
        "y[threadIdx.x] = x[threadIdx.x];",
        "y[threadIdx.x] = x[threadIdx.x]; y[threadIdx.x + 32] = 0;",
        {"arguments": {"y": "rows*vocab:out"}},
    ),
    "missing barrier in a tree": (
        "race-warp",
        "__shared__ float a[32]; int lane = threadIdx.x; a[lane] = x[lane]; __syncwarp();"
        + TREE % ""
        + "y[lane] = a[lane]; y[lane + 32] = 0;",
        "__shared__ float a[32]; int lane = threadIdx.x; a[lane] = x[lane]; __syncwarp();"
        + TREE % "__syncwarp();"
        + "y[lane] = a[lane]; y[lane + 32] = 0;",
        {},
    ),
}


@pytest.mark.parametrize("what", PAIRS)
def test_fault_is_found(what: str) -> None:
    identifier, bad, _, case = PAIRS[what]
    assert identifier in found(traced(bad, **case))


@pytest.mark.parametrize("what", PAIRS)
def test_kernel_without_it_is_clean(what: str) -> None:
    _, _, good, case = PAIRS[what]
    assert found(traced(good, **case)) == set()


def test_access_in_another_row_is_found_though_it_is_in_bounds() -> None:
    body = "const float* r = x + (size_t)blockIdx.x * vocab; float v = r[threadIdx.x %s];"
    body += "y[blockIdx.x * (size_t)vocab + threadIdx.x] = v;"
    bad = traced(body % "+ 1", rows=2, vocab=32)
    assert [fault.parameters["row"] for fault in bad.having("stray-row")] == [1]
    assert "out-of-bounds" in found(bad)
    assert found(traced(body % "", rows=2, vocab=32)) == set()


def test_stray_read_is_an_error_where_the_result_is_wrong() -> None:
    body = "const float* r = x + (size_t)blockIdx.x * vocab; float v = r[threadIdx.x %s];"
    body += "y[blockIdx.x * (size_t)vocab + threadIdx.x] = v > 0 ? v : 0;"
    clean = traced(body % "", rows=2, vocab=32, truth={"y": "relu"})
    assert found(clean) == set()
    wrong = traced(body % "+ 1", rows=2, vocab=32, truth={"y": "relu"})
    assert {"stray-row", "wrong-result"} <= found(wrong, "error")


def test_equal_values_stored_twice_are_a_note() -> None:
    body = "__shared__ float a; a = 1; __syncthreads(); y[threadIdx.x] = a;"
    outcome = traced(body, vocab=64, block=64)
    assert found(outcome) == set()
    assert "race-same-value" in found(outcome, "note")


def test_equal_values_of_two_statements_are_a_warning_of_luck() -> None:
    body = "__shared__ int a; if (threadIdx.x < 32)\na = 1;\nelse\na = 1;\n__syncthreads();"
    (fault,) = traced(body + "y[threadIdx.x] = a;", block=64).having("race-warps")
    assert fault.severity == "warning"
    assert (fault.with_line, fault.line) == (3, 5)


def test_atomics_do_not_race_with_each_other_but_with_a_plain_read() -> None:
    body = "__shared__ int a; if (threadIdx.x == 0) a = 0; __syncthreads(); atomicAdd(&a, 1); %s"
    body += "y[threadIdx.x] = a;"
    assert found(traced(body % "__syncthreads();", block=64)) == set()
    assert "race-warps" in found(traced(body % "", block=64))


def test_narrow_product_in_a_pointer_is_a_note_with_its_limit() -> None:
    body = "y[blockIdx.x * vocab + threadIdx.x] = 0;"
    (note,) = traced(body, rows=2, vocab=32).having("latent-overflow")
    assert note.severity == "note"
    assert note.parameters["limit"] == 1 << 32
    assert note.repair is not None
    assert note.repair.parameters == {"text": "(size_t)"}
    wide = "y[(size_t)blockIdx.x * vocab + threadIdx.x] = 0;"
    assert not traced(wide, rows=2, vocab=32).having("latent-overflow")


def test_barrier_that_orders_nothing_is_a_note() -> None:
    body = "__shared__ float a[32]; a[threadIdx.x] = x[threadIdx.x];\n__syncthreads();\n"
    (note,) = traced(body + "y[threadIdx.x] = a[threadIdx.x];", vocab=32).having("barrier-idle")
    assert note.line == 3
    assert not traced(body + "y[threadIdx.x] = a[31 - threadIdx.x];", vocab=32).having(
        "barrier-idle"
    )


@pytest.mark.parametrize(
    ("stride", "wavefronts"), [(1, 1), (2, 2), (4, 4), (8, 8), (32, 32), (33, 1), (3, 1)]
)
def test_bank_conflicts_follow_the_stride(stride: int, wavefronts: int) -> None:
    body = f"__shared__ float a[32 * 33]; a[threadIdx.x * {stride}] = 1; y[threadIdx.x] = 0;"
    outcome = traced(body, vocab=32)
    assert outcome.counts.wavefronts == wavefronts
    assert bool(outcome.having("bank-conflict")) == (wavefronts > 1)


@pytest.mark.parametrize(("words", "wavefronts"), [(2, 2), (4, 4)])
def test_vectors_of_shared_memory_take_a_wavefront_a_part_of_the_warp(
    words: int, wavefronts: int
) -> None:
    body = f"__shared__ float{words} a[32]; float{words} v = {{1, 2}}; a[threadIdx.x] = v;"
    outcome = traced(body + "y[threadIdx.x] = 0;", vocab=32)
    assert outcome.counts.wavefronts == wavefronts
    assert not outcome.having("bank-conflict")


@pytest.mark.parametrize("value", ["1.0f", "x[0] - x[0]"])
def test_same_number_or_nan_stored_twice_is_no_race(value: str) -> None:
    run_ = traced(f"y[threadIdx.x % 32] = {value};", vocab=32, block=64, input="all-inf")
    assert found(run_) == set()
    assert found(run_, "note") == {"race-same-value"}


def test_one_row_a_thread_is_scattered() -> None:
    head = "__global__ void k(const float* x, float* y, int rows, int vocab) {"
    body = "if (threadIdx.x < rows) for (int i = 0; i < vocab; i++)"
    body += "y[threadIdx.x * (size_t)vocab + i] = x[threadIdx.x * (size_t)vocab + i];"
    outcome = traced(body, head, rows=32, vocab=16, grid=1)
    assert "uncoalesced" in found(outcome, "note")
    assert outcome.counts.sectors / outcome.counts.global_requests == 32


def test_a_fault_met_often_is_reported_once_with_its_count() -> None:
    body = "for (int i = 0; i < 10; i++) y[threadIdx.x] = x[threadIdx.x + vocab];"
    (fault,) = traced(body, vocab=32).having("out-of-bounds")
    assert fault.count == 10
    assert fault.line == 2
    assert "x[32]" in str(fault)
    assert "0-31" in str(fault)


def test_inactive_lanes_neither_divide_nor_address() -> None:
    body = "int i = threadIdx.x; if (i > 0 && i < 32) y[i] = x[64 / i % 32]; else y[0] = 0;"
    assert found(traced(body, vocab=32)) == set()


@pytest.mark.parametrize(
    ("index", "number"),
    [("threadIdx.x - 1", "4294967295"), ("(int)threadIdx.x - 1", "-1"), ("5000", "5000")],
)
def test_index_that_is_far_out_is_told_of_the_buffer_that_it_is_of(index: str, number: str) -> None:
    (fault,) = traced(f"y[threadIdx.x] = x[{index}];", vocab=32).having("out-of-bounds")
    assert f"x[{number}]" in str(fault)


def test_no_barrier_is_offered_for_threads_that_meet_in_one_statement() -> None:
    (race,) = traced("y[0] += x[threadIdx.x];", vocab=64, block=64).having("race-warps")
    assert race.repair is None


def test_barrier_is_offered_between_the_rounds_of_one_statement() -> None:
    body = "__shared__ float a[128]; int t = threadIdx.x; a[t] = x[t]; __syncthreads();\n"
    body += "for (int s = 64; s > 0; s /= 2) if (t < s) a[t] += a[t + s];\n"
    outcome = traced(f"{body}if (t == 0) y[0] = a[0];", vocab=128, block=128)
    races = [one for one in outcome.having("race-warps") if one.line == one.with_line == 3]
    assert races
    assert all(one.repair is not None for one in races)


def test_fault_names_the_warp_and_the_block_of_its_lanes() -> None:
    body = "__shared__ float s[64]; s[threadIdx.x + 1] = x[threadIdx.x]; y[threadIdx.x] = 0;"
    (fault,) = traced(body, block=64).having("out-of-bounds")
    assert str(fault).endswith("(block 0, warp 1, lanes: 31)")
