"""The cases cover the goals and every op."""

from __future__ import annotations

import pytest

from oneread.bench.cases import BEST, CASES, ITEM_BYTES, READ, Bar, Case, select
from oneread.bench.peers import PEERS
from oneread.spec import FLOAT_DTYPES, OPS

#: The rows of the table of goals: shapes of softmax and of what follows it.
SOFTMAX = [
    (4000, 100), (4000, 1000), (4000, 4000), (4000, 25000), (1000, 100000), (10, 25000),
    (10, 100000), (32, 128256), (256, 128256), (32, 256000), (8192, 512),
]  # fmt: skip


def group(name: str) -> list[Case]:
    return [case for case in CASES.values() if case.group == name]


def bars(case: Case) -> set[tuple[str, float]]:
    return {(bar.against, round(bar.at_least, 3)) for goal in case.goals for bar in goal}


@pytest.mark.parametrize("shape", SOFTMAX, ids=str)
def test_softmax_is_compared_with_torch_and_onnxruntime(shape: tuple[int, int]) -> None:
    (case,) = (case for case in group("softmax") if case.shape == shape)
    onnxruntime = 1.4 if shape[1] >= 25000 else 0.95
    assert {("torch out=", 1.6), ("onnxruntime out=", onnxruntime)} <= bars(case)
    assert case.memory == "out"


@pytest.mark.parametrize(("op", "ratio"), [("log_softmax", 1.3), ("logsumexp", 1.8)])
def test_logarithms_have_the_shapes_of_softmax(op: str, ratio: float) -> None:
    assert [case.shape for case in group(op)] == SOFTMAX
    for case in group(op):
        in_memory = op == "logsumexp" and case.input_bytes >= 128_000_000
        assert ("torch out=", 7.0 if in_memory else ratio) in bars(case)
        assert ((READ, 0.55) in bars(case)) == in_memory


def test_fresh_outputs_have_64_mb_and_more_in_arrays_of_both_libraries() -> None:
    cases = group("softmax fresh")
    assert {case.arrays for case in cases} == {"numpy", "torch"}
    assert min(case.input_bytes for case in cases) == 64_000_000
    assert all(bars(case) == {("torch", 1.8)} and case.memory == "fresh" for case in cases)


@pytest.mark.parametrize("k", [5, 10, 50])
@pytest.mark.parametrize("vocab", [25000, 128256])
@pytest.mark.parametrize("batch", [1, 32, 256])
def test_top_k_of_each_size_in_both_orders(batch: int, vocab: int, k: int) -> None:
    random = CASES[f"softmax_topk/{batch}x{vocab}/k{k}"]
    assert {("torch", 7.0 if k == 50 else 8.0), (BEST, 1.0)} <= bars(random)
    either = (Bar("oneread logsumexp", 1 / 1.4), Bar(READ, 0.5))
    assert (either in random.goals) == (k <= 10)
    ordered = CASES[f"softmax_topk sorted/{batch}x{vocab}/k{k}"]
    assert bars(ordered) == {("oneread, random rows", round(1 / 1.1, 3))}


@pytest.mark.parametrize(
    ("name", "bar"),
    [
        ("one row/1x128256", ("torch out=", 3.0)),
        ("read/32x128256/k5", ("oneread logsumexp", 0.625)),
        ("read/256x128256/k5", ("oneread logsumexp", 0.625)),
        ("another axis/64x4000x256", ("torch out=", 2.0)),
        ("whole call/10x1000", ("torch out=", 1.0)),
        ("softmax/32x128256", ("ulp", 8)),
        ("softmax/1x2000000", ("ulp", 8)),
        *((f"element types/4000x1000/{t}", ("torch out=", 1.5)) for t in ITEM_BYTES
          if t != "float32"),
    ],
)  # fmt: skip
def test_goal_is_there(name: str, bar: tuple[str, float]) -> None:
    assert bar in bars(CASES[name])


def test_avx2_rows_choose_the_code_of_both_libraries() -> None:
    for name, ratio, torch in (
        ("AVX2 against AVX2", 1.2, {"ATEN_CPU_CAPABILITY": "avx2"}),
        ("AVX2 against AVX-512", 1.0, {}),
    ):
        assert [case.shape for case in group(name)] == SOFTMAX
        for case in group(name):
            assert dict(case.environment) == {"ONEREAD_ISA": "x86-64-v3", **torch}
            assert bars(case) == {("torch out=", ratio)}


def textbook(op: str) -> tuple[str, ...]:
    return tuple(kernel.algorithm for kernel in OPS[op].kernels if kernel.textbook)


def test_textbooks_run_beside_ours_and_safe_has_a_goal() -> None:
    shapes = [
        (4000, 100), (4000, 1000), (4000, 4000), (4000, 25000), (32, 128256), (256, 128256),
        (10, 25000), (1, 128256),
    ]  # fmt: skip
    softmax = group("softmax textbook")
    assert [case.shape for case in softmax] == shapes
    for case in softmax:
        assert case.goals == ((Bar("torch out=", 0.91, firm=True, kernel="safe"),),)
    top_k = group("softmax_topk textbook")
    assert {(case.shape, dict(case.options)["k"]) for case in top_k} == {
        ((256, 25000), 5), ((32, 128256), 5), ((32, 128256), 50), ((256, 128256), 5)
    }  # fmt: skip
    (ordered,) = group("softmax_topk textbook sorted")
    assert (ordered.order, ordered.shape) == ("sorted", (256, 25000))
    for case in (*softmax, *top_k, ordered):
        assert case.kernels == textbook(case.op)


@pytest.mark.parametrize(
    ("name", "isa"), [("AVX2", "x86-64-v3"), ("SSE4", "x86-64-v2"), ("scalar", "scalar")]
)
def test_textbooks_run_in_narrower_vectors(name: str, isa: str) -> None:
    cases = [*group(f"softmax textbook {name}"), *group(f"softmax_topk textbook {name}")]
    assert [case.shape for case in cases] == [(4000, 1000), (32, 128256), (256, 25000)]
    for case in cases:
        assert dict(case.environment) == {"ONEREAD_ISA": isa}
        assert (case.peers, case.kernels) == ((), textbook(case.op))


@pytest.mark.parametrize("op", OPS)
def test_every_op_has_cases_and_a_quick_one(op: str) -> None:
    assert any(case.quick for case in CASES.values() if case.op == op)


def test_every_float_type_has_a_quick_case() -> None:
    assert {case.dtype for case in CASES.values() if case.quick} == set(FLOAT_DTYPES)
    assert set(ITEM_BYTES) == set(FLOAT_DTYPES)


def test_goals_are_against_what_takes_part() -> None:
    for case in CASES.values():
        for bar in (bar for goal in case.goals for bar in goal):
            assert bar.kernel is None or bar.kernel in case.kernels
            against = bar.against
            library = against.split(" ")[0].rstrip(",")
            if library in PEERS:
                assert case.peers is None or library in case.peers
            elif library == "oneread":
                assert against in case.yardsticks


def test_selection_by_name_part_and_pattern() -> None:
    assert [case.name for case in select(("softmax/4000x100",))] == ["softmax/4000x100"]
    assert {case.group for case in select(("topk sorted",))} == {"softmax_topk sorted"}
    assert {case.group for case in select(("softmax/4000",))} == {"softmax", "log_softmax"}
    assert select(("textbook",)) == [case for case in CASES.values() if case.kernels]
    assert len(select(("logsumexp/*x128256",))) == 2
    assert select(("nothing like it",)) == []
    assert select() == list(CASES.values())


def test_quick_selection_is_a_part_that_names_can_widen() -> None:
    quick = select((), quick=True)
    assert 0 < len(quick) < len(CASES) / 4
    assert max(case.input_bytes for case in quick) < 64_000_000
    large = "softmax/4000x25000"
    assert [case.name for case in select((large,), quick=True)] == [large]
