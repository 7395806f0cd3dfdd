"""The page about online softmax on a CPU says what the records say, whatever that is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from oneread.bench import textbook
from oneread.bench.cases import CASES
from oneread.bench.store import Record

MakeRecord = Callable[..., Record]
WARM, LARGE = "softmax textbook/4000x1000", "softmax textbook/4000x25000"
SCALAR = "softmax textbook scalar/4000x1000"
TOP_K = "softmax_topk textbook/256x25000/k5"


@pytest.fixture
def make_case(make_record: MakeRecord) -> Callable[..., list[Record]]:
    """Return what makes the records of a case from milliseconds by algorithm; 0: not timed."""

    def make(name: str, ours: float = 1.0, **ms: float) -> list[Record]:
        op = CASES[name].op
        others: dict[str, Any] = {
            "cache": "larger than caches" if name == LARGE else "warm",
            "isa": dict(CASES[name].environment).get("ONEREAD_ISA", "x86-64-v4"),
            "k": dict(CASES[name].options).get("k"),
        }
        kernel = {"name": f"lazy_{op}"}
        records = [make_record(name, "oneread", ours * 1e-3, kernel=kernel, **others)]
        for algorithm, time in ms.items():
            own = algorithm != "torch"
            records.append(
                make_record(
                    name, f"oneread, {algorithm}" if own else "torch out=", time * 1e-3,
                    kernel={"name": f"{algorithm}_{op}"} if own else None, **others,
                )
            )  # fmt: skip
        return records

    return make


Make = Callable[..., list[Record]]


def lines(*cases: list[Record]) -> dict[str, list[str]]:
    return {name: text.splitlines() for name, text in textbook.blocks(cases).items()}


@pytest.mark.parametrize(
    ("online_ms", "verb", "ratio"),
    [(1.0, "saves time", "2.00x"), (2.05, "changes little", "0.98x"), (4.0, "costs time", "0.50x")],
)
def test_answer_follows_the_times(make_case: Make, online_ms: float, verb: str, ratio: str) -> None:
    (answer,) = lines(make_case(WARM, ours=0, safe=2.0, online=online_ms))["textbook_answer"]
    assert f"in the caches it {verb}, {ratio}. " in answer
    assert answer.startswith("- **`online` instead of `safe`:**")
    assert answer.endswith("By the accesses alone: 1.33x.")


def test_caches_memory_and_single_elements_are_told_apart(make_case: Make) -> None:
    (answer,) = lines(
        make_case(WARM, ours=0, safe=1.0, online=1.0),
        make_case(LARGE, ours=0, safe=6.0, online=5.0),
        make_case(SCALAR, ours=0, safe=3.0, online=4.0),
    )["textbook_answer"]
    assert "in the caches it changes little, 1.00x;" in answer
    assert "beyond them it saves time, 1.20x;" in answer
    assert "one element at a time it costs time, 0.75x." in answer


def test_median_comes_with_the_range(make_case: Make) -> None:
    shapes = ("4000x100", "4000x1000", "4000x4000")
    cases = [
        make_case(f"softmax textbook/{shape}", ours=0, safe=1.0, online=time)
        for shape, time in zip(shapes, (0.5, 1.0, 2.0), strict=True)
    ]
    found = lines(*cases)
    assert "changes little, 1.00x (0.50x to 2.00x)" in found["textbook_answer"][0]
    (line,) = (one for one in found["textbook_softmax"] if one.startswith("- `online`"))
    assert line.endswith("faster in 1 of 3 cases, slower in 1.")


def test_table_has_counted_accesses_beside_the_times(make_case: Make) -> None:
    table = lines(make_case(WARM, ours=0.5, safe=1.0, online=1.25, torch=2.0))["textbook_softmax"]
    assert table[0] == "| case | `safe`, us | `online` | `ours` | `torch out=` |"
    assert table[2] == "| accesses an element | 4 | 3 | 4 |  |"
    assert table[3] == "| by the accesses alone |  | 1.33x | 1.00x |  |"
    assert table[4] == "| 4000x1000 | 1000 | 0.80x | 2.00x | 0.50x |"


def test_goal_of_safe_is_told_with_the_cases_that_miss_it(make_case: Make) -> None:
    met = make_case(WARM, safe=1.0, torch=1.0)
    missed = make_case(LARGE, safe=2.0, torch=1.0)
    assert lines(met)["textbook_softmax"][-1].endswith(": met in 1 of 1 cases.")
    last = lines(met, missed)["textbook_softmax"][-1]
    assert last.endswith(": met in 1 of 2 cases; 0.50x in 4000x25000.")


def test_top_k_is_compared_with_softmax_and_a_top_k_of_it(make_case: Make) -> None:
    case = make_case(TOP_K, ours=0, safe_unfused=3.0, safe_fused=2.0, online_fused=1.0)
    found = lines(case)
    assert found["textbook_topk"][0].startswith("| case | `safe_unfused`, us | `safe_fused` |")
    assert "| 256x25000/k5 | 3000 | 1.50x | 3.00x |" in found["textbook_topk"]
    assert [line.partition(":")[0] for line in found["textbook_answer"]] == [
        "- **`safe_fused` instead of `safe_unfused`",
        "- **`online_fused` instead of `safe_unfused`",
        "- **`online_fused` instead of `safe_fused`",
    ]


def test_narrower_vectors_stand_below_the_widest_of_the_same_input(make_case: Make) -> None:
    table = lines(
        make_case(WARM, safe=1.0, torch=1.0),
        make_case(LARGE, safe=1.0),
        make_case(SCALAR, safe=9.0),
    )["textbook_narrower"]
    assert table[0] == "| case | `safe`, us | `ours` |"
    assert [line.split(" | ")[0] for line in table[4:]] == [
        "| 4000x1000, x86-64-v4", "| 4000x1000, scalar"
    ]  # fmt: skip


def test_runs_without_textbooks_say_nothing(make_record: MakeRecord) -> None:
    found = textbook.blocks([[make_record()]])
    assert set(found.values()) == {textbook.NOTHING}


def test_kernel_that_was_not_timed_has_no_ratio(make_case: Make, make_record: MakeRecord) -> None:
    case = make_case(WARM, safe=1.0)
    case.append(make_record(WARM, "oneread, online", None, status="wrong", reason="y is off"))
    found = lines(case)
    assert found["textbook_softmax"][0] == "| case | `safe`, us | `ours` |"
    assert "online" not in "".join(found["textbook_answer"])
