"""The probe: a pairwise cover of launches, what they find, and the smallest launch for each."""

from __future__ import annotations

import dataclasses
import itertools
import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneread.source.catalogue import read_catalogue
from oneread.source.errors import SourceError
from oneread.trace import Case, LimitError, Limits, Probe, Subject, UsageError, plan, probe
from oneread.trace.covering import pairwise
from oneread.trace.faults import Fault
from oneread.trace.messages import FAULTS
from oneread.trace.planning import INPUTS, SCHEDULES, TILES
from oneread.trace.probing import Finding, Outcome, launched

KERNELS = read_catalogue().kernels

#: The tail is guarded, but the second reduction has no barrier before it, and nothing holds the
#: block to TILE threads.
RACY = """
__global__ void softmax(const float* x, float* y, int n) {
    __shared__ float scratch[TILE];
    const int lane = threadIdx.x;
    x += (size_t)blockIdx.x * n;
    y += (size_t)blockIdx.x * n;
    float m = -INFINITY;
    for (int i = lane; i < n; i += TILE) m = fmaxf(m, x[i]);
    scratch[lane] = m;
    __syncthreads();
    for (int s = TILE / 2; s > 0; s /= 2) {
        if (lane < s) scratch[lane] = fmaxf(scratch[lane], scratch[lane + s]);
        __syncthreads();
    }
    m = scratch[0];
    float d = 0.0f;
    for (int i = lane; i < n; i += TILE) d += expf(x[i] - m);
    scratch[lane] = d;
    __syncthreads();
    for (int s = TILE / 2; s > 0; s /= 2) {
        if (lane < s) scratch[lane] += scratch[lane + s];
        __syncthreads();
    }
    for (int i = lane; i < n; i += TILE) y[i] = expf(x[i] - m) / scratch[0];
}
"""


#: Shared memory that warps meet in without a barrier, for any number of threads.
LAYER_NORM = """
__global__ void layer_norm(const float* x, float* y, int n) {
    __shared__ float part[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = (blockDim.x + 31) / 32;
    x += (size_t)blockIdx.x * n;
    y += (size_t)blockIdx.x * n;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, s);
    if (lane == 0) part[warp] = sum;
    float mean = 0.0f;
    for (int w = 0; w < warps; ++w) mean += part[w];
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] - mean / n;
}
"""

#: Lanes that read a column lie as many elements apart as there are columns.
COLUMN_SUM = """
__global__ void column_sum(const float* x, float* sums, int rows, int n) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; row < rows && i < n; ++i) sum += x[row * n + i];
    if (row < rows) sums[row] = sum;
}
"""

#: The second largest is looked for among columns that were never compared.
TOP_K = """
__global__ void top_k(const float* x, float* values, int* indices, int n, int k) {
    __shared__ float best[32];
    x += (size_t)blockIdx.x * n;
    for (int i = threadIdx.x; i < n && i < 32; i += 32) best[i] = x[i];
    __syncwarp();
    if (threadIdx.x == 0)
        for (int i = 0; i < k; ++i) {
            values[blockIdx.x * k + i] = best[i] + best[i + 1];
            indices[blockIdx.x * k + i] = i;
        }
}
"""


def commands(found: Probe, identifier: str) -> list[str]:
    return [one.command for one in found.findings if one.fault.id == identifier]


# ---- the cover


@given(st.lists(st.integers(1, 6), max_size=6))
@settings(max_examples=60, deadline=None)
def test_cover_has_every_two_values_together(sizes: list[int]) -> None:
    factors = {f"f{place}": range(size) for place, size in enumerate(sizes)}
    choices = pairwise(factors)
    assert all(list(choice) == list(factors) for choice in choices)
    for one, other in itertools.combinations(factors, 2):
        wanted = set(itertools.product(factors[one], factors[other]))
        assert {(choice[one], choice[other]) for choice in choices} == wanted
    for name, values in factors.items():
        assert {choice[name] for choice in choices} == set(values)


def test_cover_starts_at_the_base_and_is_small() -> None:
    factors = {"tile": TILES, "input": INPUTS, "schedule": SCHEDULES, "threads": (0, 1, 2)}
    choices = pairwise(factors)
    assert choices[0] == {name: values[0] for name, values in factors.items()}
    assert len(choices) <= 28
    assert choices == pairwise(factors)


# ---- the plan


def test_plan_starts_at_the_launch_that_was_asked_for() -> None:
    case = Case(vocab=100, input="ramp", schedule="reverse", defines={"TILE": "16"})
    first = plan(Subject.of_gallery("online_softmax"), case).launches[0]
    assert (first.vocab, first.input, first.schedule) == (100, "ramp", "reverse")
    assert first.defines == {"TILE": "16"}


def test_tile_that_the_source_defines_nowhere_is_given() -> None:
    made = plan(Subject(RACY))
    assert made.launches[0].defines == {"TILE": "32"}
    assert {case.defines["TILE"] for case in made.launches} == {"32", "64", "128", "48"}


def test_one_less_than_the_tile_is_that_of_the_same_launch() -> None:
    cases = plan(Subject(RACY)).launches
    lengths = {(case.defines["TILE"], case.vocab) for case in cases}
    assert {("32", 31), ("64", 63), ("128", 127), ("48", 47)} <= lengths


@pytest.mark.parametrize(
    ("key", "absent"),
    [
        ("zoo_stray_tail", {"tile", "threads", "k"}),
        ("online_softmax", {"threads", "k"}),
        ("top_k", {"threads"}),
    ],
)
def test_what_a_kernel_lacks_is_left_out(key: str, absent: set[str]) -> None:
    known = {"tile", "vocab", "input", "threads", "k", "schedule"}
    assert set(plan(Subject.of_gallery(key)).factors) == known - absent


def test_row_is_cut_into_more_parts_than_a_block_has_threads() -> None:
    cases = plan(Subject.of_gallery("online_merge")).launches
    spans = {case.defines.get("SPAN") for case in cases}
    assert spans == {None, "4"}


def test_what_the_caller_settles_is_left_alone() -> None:
    settled = plan(Subject(RACY), Case(block=32, data={"x": [0.0] * 768}, rows=3))
    assert set(settled.factors) == {"schedule"}
    follows = plan(Subject(RACY), Case(block="TILE"))
    assert set(follows.factors) == {"tile", "vocab", "input", "schedule"}


def test_pattern_of_a_buffer_that_is_replaced_follows_the_input() -> None:
    said = {"x": "rows*vocab:inout:normal", "y": "rows*vocab:ramp"}
    cases = plan(Subject(RACY), Case(arguments=said)).launches
    assert all(case.arguments["x"] == f"rows*vocab:inout:{case.input}" for case in cases)
    assert {case.arguments["y"] for case in cases} == {"rows*vocab:ramp"}
    assert {case.input for case in cases} == set(INPUTS)


def test_text_that_cannot_be_read_is_the_callers_error() -> None:
    with pytest.raises(SourceError, match="expff"):
        probe(Subject(RACY.replace("expf(", "expff(")))


def test_launch_that_is_impossible_is_the_callers_error() -> None:
    with pytest.raises(UsageError, match="no parameter"):
        probe(Subject(RACY), Case(arguments={"z": "1"}))


# ---- findings


@pytest.mark.parametrize("key", [key for key, entry in KERNELS.items() if not entry.mended])
def test_correct_kernel_of_the_gallery_is_clean(key: str) -> None:
    found = probe(Subject.of_gallery(key))
    assert [one.command for one in found.findings if one.fault.severity != "note"] == []
    assert not found.stopped
    # A static_assert refuses 48; that is no fault.
    asserts = "power of two" in Subject.of_gallery(key).text
    assert {one.case.defines.get("TILE") for one in found.refused} == ({"48"} if asserts else set())


@pytest.mark.parametrize("key", [key for key, entry in KERNELS.items() if entry.mended])
def test_kernel_with_a_fault_shows_what_the_catalogue_lists(key: str) -> None:
    entry = KERNELS[key]
    found = {one.fault.id for one in probe(Subject.of_gallery(key)).findings}
    # A block of another size than the catalogue says, and numbers near -FLT_MAX, are not probed.
    assert found >= {fault.id for fault in entry.faults if not fault.block}


@pytest.fixture(scope="module")
def racy() -> Probe:
    return probe(Subject(RACY))


def test_race_is_shrunk_to_two_warps_one_row_and_one_column(racy: Probe) -> None:
    (race,) = [one for one in racy.findings if one.fault.id == "race-warps" and not one.case.block]
    assert race.command == "oneread trace FILE --rows 1 --vocab 1 --define TILE=64"


def test_fault_that_any_row_shows_is_told_with_one_column() -> None:
    found = probe(Subject(LAYER_NORM))
    assert commands(found, "race-warps") == ["oneread trace FILE --rows 1 --vocab 1 --block 64"]


def test_launch_is_not_shrunk_to_one_that_shows_another_kind_of_fault() -> None:
    found = probe(Subject.of_gallery("online_softmax_tiled_racy"))
    # With one column more or less, lanes beyond the row read out of bounds.
    assert commands(found, "race-warps") == [
        "oneread trace online_softmax_tiled_racy --rows 1 --vocab 64 --define TILE=64"
    ]


def test_note_is_shrunk_as_an_error_is() -> None:
    (narrow, *_) = commands(probe(Subject.of_gallery("zoo_row_offset")), "latent-overflow")
    assert narrow == "oneread trace zoo_row_offset --rows 1 --vocab 1"
    (scattered,) = commands(probe(Subject(COLUMN_SUM)), "uncoalesced")
    words = shlex.split(scattered)
    assert {"--rows", "--vocab", "--block"} <= set(words)


def smaller(subject: Subject, finding: Finding) -> Iterator[Case]:
    """Yield launches that have one size less: by one, or down to 1."""
    case, names = finding.case, ["rows", "vocab"]
    arguments = {one.name for one in subject.launch(case).arguments}
    names += ["k"] if "k" in arguments else []
    # What fewer threads get wrong is another matter.
    names += ["block"] if case.block is not None and finding.fault.id != "wrong-result" else []
    for name in names:
        size = getattr(case, name)
        for less in {1, size - 1} - {0, size}:
            k = min(case.k, less) if name == "vocab" else case.k
            yield dataclasses.replace(case, **{"k": k, name: less})


SHRUNK = {
    "softmax": RACY,
    "layer-norm": LAYER_NORM,
    "column-sum": COLUMN_SUM,
    "top-k": TOP_K,
    **{key: None for key, entry in KERNELS.items() if entry.mended},
}


@pytest.mark.parametrize("key", SHRUNK)
def test_no_launch_that_is_smaller_in_one_size_shows_the_fault_alone(key: str) -> None:
    text = SHRUNK[key]
    subject = Subject.of_gallery(key) if text is None else Subject(text)
    found = probe(subject)
    assert found.findings
    for one in found.findings:
        told = marks(launched(subject, one.case))
        assert mark(one.fault) in told
        for less in smaller(subject, one):
            shown = marks(launched(subject, less))
            assert mark(one.fault) not in shown or kinds(shown) - kinds(told), less


def mark(fault: Fault) -> tuple[object, ...]:
    return fault.id, fault.line, fault.with_line, fault.parameters.get("got") == "nan"


def marks(outcome: Outcome) -> set[tuple[object, ...]]:
    return set(map(mark, outcome.faults))


def kinds(shown: set[tuple[object, ...]]) -> set[str]:
    return {str(name) for name, *_ in shown if FAULTS[str(name)].severity != "note"}


def test_number_that_is_no_power_of_two_is_a_cause_of_its_own(racy: Probe) -> None:
    wrong = [one.case.defines["TILE"] for one in racy.findings if one.fault.id == "wrong-result"]
    assert "48" in wrong
    assert "64" in wrong


def test_block_of_another_size_is_told_once_a_kind(racy: Probe) -> None:
    other = [(one.fault.id, one.case.block) for one in racy.findings if one.case.block]
    assert ("uninitialised", 1) in other
    assert ("out-of-bounds", 33) in other
    assert len(other) == len(set(other))


def test_every_smallest_launch_shows_its_fault_again(racy: Probe) -> None:
    for one in racy.findings:
        run = Subject(RACY).launch(one.case)
        assert one.fault.id in {fault.id for fault in run.faults}


def test_command_line_says_all_that_differs_from_the_usual() -> None:
    subject = Subject(RACY, "softmax")
    case = Case(rows=1, block=(8, 4), input="nan", arguments={"x": "rows*vocab:nan"}, k=3)
    words = shlex.split(subject.command(case))
    assert words == [
        *("oneread", "trace", "FILE", "--kernel", "softmax", "--rows", "1", "--k", "3"),
        *("--block", "8,4", "--input", "nan", "--arg", "x=rows*vocab:nan"),
    ]


def test_command_line_names_the_file_watches_and_limits_that_were_raised() -> None:
    limits = Limits(steps=300_000, seconds=5)
    case = Case(2, 2, data={"x": [1, 2, 3, 4]}, file="x.npy", watch=["m - d"], limits=limits)
    words = shlex.split(Subject(RACY).command(case))
    assert words[3:] == ["--input", "x.npy", "--watch", "m - d", "--limit", "steps=300000"]


def test_text_is_read_once_however_long_it_may_run() -> None:
    subject, case = Subject(RACY), Case(defines={"TILE": 64})
    shorter = replace(case, limits=replace(case.limits, seconds=1.5))
    fewer = replace(case, limits=replace(case.limits, tokens=5_000))
    assert subject.source(case) is subject.source(shorter)
    assert subject.source(case) is not subject.source(fewer)


def test_launch_that_meets_a_limit_is_told_apart() -> None:
    endless = RACY.replace("float d = 0.0f;", "float d = 0.0f; while (n == 250) d += 1;")
    found = probe(Subject(endless), Case(limits=Limits(steps=20_000)))
    assert {one.case.vocab for one in found.stopped} == {250}
    assert all("steps" in one.stopped for one in found.stopped)


def test_launch_to_start_from_that_never_ends_is_the_callers_error() -> None:
    endless = RACY.replace("float d = 0.0f;", "float d = 0.0f; while (n == 256) d += 1;")
    with pytest.raises(LimitError, match="steps"):
        probe(Subject(endless), Case(limits=Limits(steps=20_000)))


def test_barrier_is_idle_only_if_no_launch_needs_it() -> None:
    head = "__global__ void k(const float* x, float* y, int n) { __shared__ float a[64];\n"
    one = "a[threadIdx.x] = x[threadIdx.x];\n__syncthreads();\n"
    two = "y[threadIdx.x] = a[n > 200 ? threadIdx.x : 0];\n}\n"
    case: dict[str, Any] = {"rows": 1, "block": 32, "truth": {}}
    needed = probe(Subject(head + one + two), Case(vocab=256, **case))
    assert commands(needed, "barrier-idle") == []
    idle = probe(Subject(head + one + two.replace("n > 200 ? threadIdx.x : 0", "threadIdx.x")))
    assert commands(idle, "barrier-idle")


def test_probe_of_a_kernel_with_many_faults_takes_less_than_10_seconds(
    slowness: Callable[[], float],
) -> None:
    start = time.process_time()
    found = probe(Subject.of_gallery("online_softmax_tiled_racy"))
    assert time.process_time() - start < 10 * slowness()
    assert len(found.plan.launches) < 30
    assert found.worst() == "error"
