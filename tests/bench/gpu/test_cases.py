"""The cases on a GPU cover the table of goals."""

from __future__ import annotations

import pytest

from oneread.bench import cases as cpu
from oneread.bench.cases import BARE, BEST, COPY, READ, US, Case, select
from oneread.bench.gpu.cases import CASES, TOGETHER
from oneread.bench.gpu.peers import PEERS

LENGTHS = [4000, 8192, 16384, 32768, 65536, 128256, 131072, 262144]
TYPES = ("float32", "bfloat16")


def group(name: str) -> list[Case]:
    return [case for case in CASES.values() if case.group == name]


def bars(case: Case, aims: bool = False) -> set[tuple[str, float]]:
    chosen = case.aims if aims else case.goals
    return {(bar.against, bar.at_least) for goal in chosen for bar in goal}


@pytest.mark.parametrize("dtype", TYPES)
def test_softmax_has_each_length_beside_a_copy_and_the_best_peer(dtype: str) -> None:
    cases = [case for case in group("softmax") if case.dtype == dtype]
    assert [case.shape for case in cases] == [(4000, vocab) for vocab in LENGTHS]
    for case in cases:
        least = 0.89 if (dtype, case.vocab) == ("bfloat16", 262144) else 0.93
        assert bars(case) == {(COPY, least), (BEST, 0.95)}
        assert bars(case, aims=True) == {(BEST, 1.0)}
    assert TOGETHER == {"softmax": 1.0}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("rows", [1, 10, 64])
@pytest.mark.parametrize("vocab", [32768, 128256, 262144])
def test_few_rows_of_each_length(dtype: str, rows: int, vocab: int) -> None:
    (case,) = (c for c in group("few rows") if (c.dtype, c.shape) == (dtype, (rows, vocab)))
    expected = {(BEST, 1.0 if dtype == "float32" else 0.95)}
    if (dtype, rows, vocab) == ("float32", 1, 128256):
        expected.add((US, 4.3))
    assert bars(case) == expected
    assert case.timed == "graph"


@pytest.mark.parametrize(
    ("name", "goal", "aim"),
    [
        ("short rows/4000x1000", (BEST, 0.97), (BEST, 1.0)),
        ("short rows/32768x128/bfloat16", (BEST, 0.97), (BEST, 1.0)),
        ("odd rows/4000x50257", (COPY, 0.88), (COPY, 0.93)),
        ("another axis/4096x1024x64", (COPY, 0.75), (COPY, 0.90)),
        ("logsumexp/4096x128256/bfloat16", (READ, 0.95), (READ, 0.97)),
        ("read/4096x128256/bfloat16", (READ, 0.88), (READ, 0.93)),
        ("softmax_topk/4000x128256/k5", (READ, 0.95), (READ, 0.97)),
        ("softmax_topk/4000x25000/k10", (READ, 0.75), (READ, 0.85)),
        ("softmax_topk/4000x128256/k10/bfloat16", (READ, 0.76), (READ, 0.88)),
        ("softmax_topk/4000x25000/k5/bfloat16", (READ, 0.48), (READ, 0.65)),
        ("softmax_topk/4000x128256/k64", (READ, 0.90), (READ, 0.93)),
        ("softmax_topk/4000x25000/k64", (READ, 0.62), (READ, 0.75)),
        ("softmax_topk/4000x128256/k64/bfloat16", (READ, 0.70), (READ, 0.82)),
        ("softmax_topk/4000x25000/k64/bfloat16", (READ, 0.40), (READ, 0.55)),
        ("softmax_topk, large k/4000x128256/k256", (READ, 0.49), (READ, 0.60)),
        ("softmax_topk, large k/256x128256/k1024", (BEST, 1.0), (BARE, 1.0)),
        ("softmax_topk, few rows/10x128256/k10", (US, 11.5), (US, 9.0)),
    ],
)
def test_goal_and_aim_are_there(name: str, goal: tuple[str, float], aim: tuple[str, float]) -> None:
    assert goal in bars(CASES[name])
    assert aim in bars(CASES[name], aims=True)


def test_plain_calls_are_timed_as_calls() -> None:
    calls = [case for case in CASES.values() if case.timed == "call"]
    assert [(case.memory, bars(case)) for case in calls] == [
        ("fresh", {("torch", 1.0)}),
        ("out", {(US, 7.0)}),
    ]
    assert {case.shape for case in calls} == {(10, 1000)}


def test_all_are_of_a_gpu_and_of_16_bytes_in_whole() -> None:
    for case in CASES.values():
        assert case.device == "gpu"
        assert case.input_bytes % 16 == 0  # which is how traffic is copied
        assert set(case.peers or ()) <= set(PEERS)
        assert "torch" in (case.peers or ())


def test_quick_part_is_small_and_has_every_group() -> None:
    quick = select((), True, CASES)
    assert {case.group for case in quick} == {case.group for case in CASES.values()}
    assert len(quick) < len(CASES) / 3
    assert select(("read/4096*",), False, CASES) == group("read")


def test_names_on_a_cpu_stay_as_they_are() -> None:
    assert "softmax fresh/4000x4000/torch" in cpu.CASES
    assert "short rows/4000x1000/bfloat16" in CASES
