"""Verdicts follow from records, by the rule that the report prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from oneread.report.paper.claims import (
    COUNTED,
    FAILS,
    HOLDS,
    NOT_HERE,
    PART,
    TIMED,
    Finding,
    Speedup,
    accesses,
    speed_verdict,
)
from oneread.report.paper.machines import Machine

MakeMachine = Callable[..., Machine]
MakeCase = Callable[..., Any]
BY_KEY: dict[str, Any] = {claim.key: claim for claim in (*TIMED, *COUNTED)}


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((1.3, 1.31), HOLDS),
        ((1.24, 2.0), HOLDS),
        ((1.23, 1.3), PART),
        ((1.15, 1.2), PART),
        ((0.9, 1.3), PART),
        ((1.14, 1.2), FAILS),
        ((0.5,), FAILS),
    ],
)
def test_verdict_on_a_speed_up_of_1_3(ratios: tuple[float, ...], verdict: str) -> None:
    assert speed_verdict(ratios, 1.3) == verdict


def test_all_that_the_paper_says_is_there() -> None:
    figures = {key: claim.figure for key, claim in BY_KEY.items()}
    assert figures == {
        "online-4000": "1.3x", "online-10": "1.15x", "cost-4000": "1.0x", "cost-10": "1.0x",
        "accuracy": "better", "k5": "5x", "fusion": "2.5x", "online": "2x",
        "fused-10": "1.5x to 2.5x", "k10": "3.5x", "k15": "2x", "k30": "1.4x",
        "accesses": "3, 4, 3", "accesses-topk": "5, 4, 2, 1", "bounds": "always",
        "range": "1.7e37", "operations": "2", "related": "yes",
    }  # fmt: skip
    timed = [claim for claim in TIMED if isinstance(claim, Speedup)]
    assert all(claim.figure.startswith(f"{claim.least:g}") for claim in timed)


def test_claim_looks_at_the_lengths_that_it_is_for(
    make_machine: MakeMachine, paper_case: MakeCase
) -> None:
    cases = {
        paper_case("softmax", 4000, 1000): {"safe": 10.0, "online": 20.0},
        paper_case("softmax", 4000, 4000): {"safe": 13.0, "online": 10.0},
        paper_case("softmax", 4000, 25000): {"safe": 14.0, "online": 10.0},
        paper_case("softmax", 10, 25000): {"safe": 5.0, "online": 10.0},
    }
    finding = BY_KEY["online-4000"].judge(make_machine(cases))
    assert finding.verdict == HOLDS
    assert finding.ratios == pytest.approx((1.3, 1.4))
    assert finding.measured == "1.35x (1.30x to 1.40x)"


def test_claim_about_one_length_looks_at_no_other(
    make_machine: MakeMachine, paper_case: MakeCase
) -> None:
    times = {"safe_unfused": 50.0, "safe_fused": 25.0, "online_fused": 10.0}
    cases = {paper_case("softmax_topk", 4000, 25000, 5): times}
    cases[paper_case("softmax_topk", 4000, 50000, 5)] = dict.fromkeys(times, 1.0)
    machine = make_machine(cases)
    assert BY_KEY["k5"].judge(machine).measured == "5.00x"
    assert BY_KEY["fusion"].judge(machine).verdict == PART
    assert BY_KEY["online"].judge(machine).ratios == (2.5,)
    assert BY_KEY["k10"].judge(machine).verdict == NOT_HERE


@pytest.mark.parametrize("claim", TIMED, ids=lambda claim: claim.key)
def test_without_records_nothing_is_said(claim: Any, make_machine: MakeMachine) -> None:
    assert claim.judge(make_machine()).verdict == NOT_HERE


@pytest.mark.parametrize("claim", COUNTED, ids=lambda claim: claim.key)
def test_without_facts_nothing_is_said(claim: Any, make_machine: MakeMachine) -> None:
    assert claim.judge([make_machine()]).verdict == NOT_HERE


@pytest.mark.parametrize(
    ("us", "said"),
    [
        # 4 accesses of 4 MB are 16 MB, 3 are 12 MB; plain traffic moves 1 MB in a microsecond
        ((16.0, 12.0), "memory takes the time of both"),
        ((8.0, 12.0), "caches serve a part of the accesses of the first, so"),
        ((8.0, 24.0), "caches serve a part of the accesses of the first, and the second"),
        ((8.0, 6.0), "caches serve a part of the accesses of both"),
        ((16.0, 24.0), "the second does not keep the memory busy, its arithmetic"),
        ((32.0, 24.0), "neither keeps the memory busy"),
        ((32.0, 12.0), "the first does not keep the memory busy"),
    ],
)
def test_reason_follows_from_the_rate_of_plain_traffic(
    us: tuple[float, float], said: str, make_machine: MakeMachine, paper_case: MakeCase
) -> None:
    cases = {paper_case("softmax", 10, 100_000): dict(zip(("safe", "online"), us, strict=True))}
    machine = make_machine(cases, rates={"copy": 1000.0})
    why = BY_KEY["online-10"].judge(machine).why
    assert said in why
    assert why.startswith("At V = 100000, safe makes 4 accesses an element, ")


def test_accesses_are_those_of_the_table() -> None:
    names = {"softmax": ("naive", "safe", "online"), "softmax_topk": ("safe_unfused",)}
    found = [accesses(op, name) for op, of in names.items() for name in of]
    assert found == [3, 4, 3, 5]


@pytest.mark.parametrize(
    ("ulp", "lost", "verdict"),
    [((5.0, 4.0), (16, 0), HOLDS), ((5.0, 9.0), (16, 0), PART), ((5.0, 4.0), (0, 0), FAILS)],
)
def test_accuracy_is_judged_by_errors_and_overflow(
    ulp: tuple[float, float],
    lost: tuple[int, int],
    verdict: str,
    make_machine: MakeMachine,
    paper_case: MakeCase,
) -> None:
    far = {"key": "accuracy", "offset": 100, "rows": 16}
    for name, rows in zip(("naive", "online"), lost, strict=True):
        far[name] = {"rows_lost": rows}
    machine = make_machine({paper_case("softmax", 10, 100): {"naive": 1.0, "online": 1.0}}, [far])
    for one, error in zip(machine.run.records, ulp, strict=True):
        object.__setattr__(one, "max_ulp", error)
    assert BY_KEY["accuracy"].judge(machine).verdict == verdict


def counted(key: str, facts: list[dict[str, Any]], make_machine: MakeMachine) -> Finding:
    finding: Finding = BY_KEY[key].judge([make_machine(), make_machine(facts=facts)])
    return finding


@pytest.mark.parametrize(("safe", "verdict"), [(4, HOLDS), (5, PART)])
def test_accesses_are_judged_by_what_was_counted(
    safe: int, verdict: str, make_machine: MakeMachine
) -> None:
    facts = [
        {"key": f"accesses/softmax/{name}", "algorithm": name, "loads": n - 1, "stores": 1}
        for name, n in (("naive", 3), ("safe", safe), ("online", 3))
    ]
    finding = counted("accesses", facts, make_machine)
    assert (finding.verdict, finding.measured) == (verdict, f"3, {safe}, 3")


@pytest.mark.parametrize(("outside", "verdict"), [(0, HOLDS), (1, FAILS)])
def test_one_step_outside_the_bounds_is_enough(
    outside: int, verdict: str, make_machine: MakeMachine
) -> None:
    facts = [{"key": "bounds", "steps": 100, "outside": outside}]
    assert counted("bounds", facts, make_machine).verdict == verdict


@pytest.mark.parametrize(
    ("finite", "plain", "verdict"),
    [(True, 90.0, PART), (True, 100.0, HOLDS), (False, 100.0, FAILS)],
)
def test_range_is_one_thing_and_a_sum_that_stands_still_another(
    finite: bool, plain: float, verdict: str, make_machine: MakeMachine
) -> None:
    facts: list[dict[str, Any]] = [
        {"key": "range", "terms": 2e37, "d": 2e37, "finite": finite},
        {"key": "stall", "terms": 100, "plain": plain, "ours": 100.0},
    ]
    assert counted("range", facts, make_machine).verdict == verdict


@pytest.mark.parametrize(
    ("more", "verdict"),
    [
        ({"multiply": 1, "exponential": 1}, HOLDS),
        ({"multiply": 1, "exponential": 1, "subtract": 1}, PART),
        ({"multiply": 3}, FAILS),
    ],
)
def test_operations_are_judged_with_and_without_the_subtraction(
    more: dict[str, int], verdict: str, make_machine: MakeMachine
) -> None:
    facts = [{"key": "operations", "safe": {"add": 1}, "online": {"add": 1, **more}}]
    assert counted("operations", facts, make_machine).verdict == verdict


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [((1.4, 1.1), HOLDS), ((1.4, 0.9), PART), ((1.0, 1.02), FAILS), ((0.9, 0.8), FAILS)],
)
def test_gains_of_related_methods_are_those_of_their_steps(
    ratios: tuple[float, float], verdict: str, make_machine: MakeMachine
) -> None:
    names = ("a head", "a preview")
    fact = {"key": "related", "ratios": dict(zip(names, ratios, strict=True)),
            "product": dict.fromkeys(names, 0.25)}  # fmt: skip
    finding = BY_KEY["related"].judge(make_machine(facts=[fact]))
    assert finding.verdict == verdict
    assert finding.measured == f"a head {ratios[0]:.2f}x, a preview {ratios[1]:.2f}x"
    assert finding.why.endswith("a head 25%, a preview 25%.")
