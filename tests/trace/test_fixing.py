"""Known repairs: made one by one, checked by running, shown as a diff."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oneread.source.catalogue import read_catalogue
from oneread.trace import Case, Fix, LimitError, Limits, Subject, fix, probe

KERNELS = read_catalogue().kernels


def mended(key: str) -> Fix:
    subject = Subject.of_gallery(key)
    return fix(subject, probe(subject).cases)


def added(made: Fix) -> list[str]:
    lines = made.diff.splitlines()
    return [line[1:].strip() for line in lines if line.startswith("+") and line[1:2] != "+"]


@pytest.fixture(scope="module")
def online() -> Fix:
    return mended("online_softmax_tiled_racy")


def test_every_known_fault_of_the_two_kernel_page_is_mended(online: Fix) -> None:
    assert added(online) == [
        "const float* x_row = x + (size_t)row * vocab;",
        "float* y_row = y + (size_t)row * vocab;",
        "tile[lane] = (t + lane < vocab ? x_row[t + lane] : -INFINITY);",
        "__syncthreads();",
        "scratch[lane] = (tile[lane] == -INFINITY ? 0.0f : expf(tile[lane] - m_new));",
        'static_assert((TILE & (TILE - 1)) == 0, "halving needs a power of two");',
        "d_row = d_row * (m_old == -INFINITY ? 0.0f : expf(m_old - m_new)) + scratch[0];",
    ]
    assert online.remaining == []
    assert len(online.mended) == 7


@pytest.mark.parametrize("pattern", ["normal", "inf-first-tile", "all-inf"])
@pytest.mark.parametrize("vocab", [256, 250])
@pytest.mark.parametrize("tile", ["32", "64", "128"])
def test_mended_kernel_is_clean(online: Fix, tile: str, vocab: int, pattern: str) -> None:
    for schedule in ("in-order", "reverse", "switch:4"):
        case = Case(vocab=vocab, input=pattern, schedule=schedule, defines={"TILE": tile})
        run = online.subject.launch(case)
        assert run.result
        assert [str(fault) for fault in run.faults if fault.severity != "note"] == []


#: What is put in, for each fault of the zoo that has a known repair.
REPAIRS = {
    "zoo_reused_scratch": "__syncthreads();",
    "zoo_masked_first_tile": "(v == -INFINITY ? 0.0f : expf(v - m_new))",
    "zoo_stray_tail": "t + lane < vocab ? x_row[t + lane] : -INFINITY",
    "zoo_row_offset": "(size_t)row * vocab",
    "zoo_missing_syncwarp": "__syncwarp();",
}


@pytest.mark.parametrize("key", REPAIRS)
def test_fault_of_the_zoo_is_mended(key: str) -> None:
    made = mended(key)
    assert any(REPAIRS[key] in line for line in added(made))
    assert made.remaining == []
    assert [one.refused for one in made.after] == [one.refused for one in made.before]


@pytest.mark.parametrize("key", ["zoo_odd_tree", "zoo_barrier_in_branch", "zoo_lowest_sentinel"])
def test_fault_without_a_known_repair_remains_and_is_told(key: str) -> None:
    made = mended(key)
    assert made.diff == ""
    assert made.remaining
    assert made.mended == ()


def test_assertion_that_rules_out_the_launch_is_told_and_not_made() -> None:
    made = mended("zoo_odd_tree")
    (exclusion,) = made.exclusions
    assert exclusion.fault.id == "wrong-result"
    assert "halving needs a power of two" in exclusion.why
    assert "+    static_assert((TILE & (TILE - 1)) == 0" in exclusion.diff


def test_repair_that_breaks_the_source_rules_nothing_out() -> None:
    assert mended("zoo_barrier_in_branch").exclusions == ()


def test_clean_kernel_is_left_as_it_is() -> None:
    made = mended("online_softmax_lane")
    assert made.subject.text == Subject.of_gallery("online_softmax_lane").text
    assert made.diff == ""


HEAD = "__global__ void k(const float* x, float* y, int n) {\n    __shared__ float a[64];\n"
CASE = Case(rows=1, vocab=64, block=64, truth={})


def test_repair_that_makes_a_launch_worse_is_not_made() -> None:
    # The barrier would stand in a branch that not all threads take.
    body = "a[threadIdx.x] = x[threadIdx.x];\n        y[threadIdx.x] = a[39 - threadIdx.x];"
    text = (
        f"{HEAD}    y[threadIdx.x] = 0;\n    if (threadIdx.x < 40) {{\n        {body}\n    }}\n}}\n"
    )
    made = fix(Subject(text), [CASE])
    assert "race-warps" in {fault.id for fault in made.before[0].faults}
    assert made.diff == ""
    assert "race-warps" in {fault.id for fault in made.remaining}


def test_barrier_for_one_warp_is_of_the_kind_that_the_kernel_has() -> None:
    # With 32 threads the hazard is within a warp; in the same kernel with more it would not be.
    subject = Subject.of_gallery("zoo_reused_scratch")
    made = fix(subject, [Case(defines={"TILE": "32"})])
    assert added(made) == ["__syncthreads();"]


def test_assertion_never_rules_out_the_launch_that_was_asked_for() -> None:
    made = fix(Subject.of_gallery("zoo_odd_tree"), [Case(), Case(defines={"TILE": "32"})])
    assert made.diff == ""
    subject = Subject.of_gallery("zoo_odd_tree")
    other = fix(subject, [Case(defines={"TILE": "32"}), Case()])
    assert len(added(other)) == 1
    assert "static_assert" in added(other)[0]


def test_diff_names_the_kernel_and_can_be_applied_by_eye() -> None:
    made = mended("zoo_stray_tail")
    assert made.diff.startswith("--- zoo_stray_tail\n+++ zoo_stray_tail (mended)\n@@ ")
    assert [line for line in made.diff.splitlines() if line.startswith("-        ")] == [
        "-        const float v = x_row[t + lane];"
    ]


ROW_SUM = """__global__ void row_sum(const float* x, float* sums, int n) {
    const float* row = x + (size_t)blockIdx.x * n;
    float sum = 0.0f;
    for (int t = 0; t < n; t += 32) sum += row[t + threadIdx.x];
    atomicAdd(&sums[blockIdx.x], sum);
}
"""
ROW_SUMS = Case(rows=2, vocab=50, block=32, arguments={"sums": "rows:inout:zeros"})


@pytest.mark.parametrize(
    ("folded", "start", "value"),
    [
        ("sum += {}", "0.0f", "0.0f"),
        ("sum *= {}", "1.0f", "1.0f"),
        ("sum = fmaxf(sum, {})", "-INFINITY", "-INFINITY"),
        ("sum = fminf(sum, {})", "INFINITY", "INFINITY"),
    ],
)
def test_element_beyond_a_row_is_the_identity_of_what_it_is_folded_into(
    folded: str, start: str, value: str
) -> None:
    text = ROW_SUM.replace("sum = 0.0f", f"sum = {start}")
    text = text.replace("sum += row[t + threadIdx.x]", folded.format("row[t + threadIdx.x]"))
    made = fix(Subject(text), [ROW_SUMS])
    guard = f"(t + threadIdx.x < n ? row[t + threadIdx.x] : {value})"
    assert folded.format(guard) in "".join(added(made))
    assert made.remaining == []


LANES = """__global__ void softmax(const float* x, float* y, int vocab) {
    float m = -INFINITY, d = 0.0f;
    for (int i = threadIdx.x; i < vocab; i += 32) {
        float m_new = fmaxf(m, x[i]);
        d = d * expf(m - m_new) + expf(x[i] - m_new);
        m = m_new;
    }
    float all = m;
    for (int o = 16; o > 0; o /= 2) all = fmaxf(all, __shfl_xor_sync(~0u, all, o));
    d *= m == -INFINITY ? 0.0f : expf(m - all);
    for (int o = 16; o > 0; o /= 2) d += __shfl_xor_sync(~0u, d, o);
    for (int i = threadIdx.x; i < vocab; i += 32) y[i] = expf(x[i] - all) / d;
}
"""


def test_guards_of_one_line_are_both_made_and_keep_nan() -> None:
    base = Case(rows=1, vocab=31, block=32)
    cases = [replace(base, input=pattern) for pattern in ("normal", "inf-first-tile", "nan")]
    made = fix(Subject(LANES), cases)
    assert added(made)[0].count("== -INFINITY") == 2
    assert made.remaining == []


def test_bound_is_not_offered_where_no_number_leaves_a_sum_as_it_is() -> None:
    text = ROW_SUM.replace("sum += row[t + threadIdx.x]", "sum += expm1f(row[t + threadIdx.x] - n)")
    made = fix(Subject(text), [ROW_SUMS])
    assert {fault.id for fault in made.remaining} >= {"stray-row"}
    assert made.diff == ""


def test_bound_is_not_offered_for_an_index_over_all_rows() -> None:
    text = Subject.of_gallery("zoo_stray_tail").text
    text = text.replace("x_row[t + lane]", "x[blockIdx.x * vocab + t + lane]")
    assert text.count("x[blockIdx.x * vocab") == 1
    case = Case(vocab=250, block=32, truth={"y": "softmax"})
    (stray,) = Subject(text).launch(case).having("stray-row")
    assert stray.repair is None


def test_lines_are_those_of_the_lexer() -> None:
    subject = Subject.of_gallery("zoo_reused_scratch")
    odd = subject.text.replace("__global__", "/* \f \v \x85 \u2028 */ __global__", 1)
    made = fix(subject.with_text(odd), [Case()])
    assert added(made) == ["__syncthreads();"]
    assert made.remaining == []


def test_kernel_that_never_ends_is_not_mended() -> None:
    text = "__global__ void k(const float* x, float* y) { while (true) y[0] += x[0]; }"
    with pytest.raises(LimitError, match="steps"):
        fix(Subject(text), [Case(limits=Limits(steps=500), block=32)])
