"""The map: every case once, against the best peer, losses first."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oneread.bench.cases import Case
from oneread.report.paper.machines import Machine
from oneread.report.paper.wins import cells, line_name, losses, named, short

MakeMachine = Callable[..., Machine]


def test_peer_is_the_fastest_that_is_right(make_machine: MakeMachine) -> None:
    case = Case("softmax", "softmax", (4, 1000))
    machine = make_machine({case: {"oneread": 10.0, "torch": 30.0, "onnxruntime": 20.0}})
    (cell,) = cells(machine)
    assert (cell.ratio, cell.peer, cell.line, cell.column) == (2.0, "onnxruntime", (4,), 1000)
    object.__setattr__(machine.run.records[2], "status", "wrong")
    assert cells(machine)[0].peer == "torch"


def test_of_cases_alike_the_one_with_the_best_peer_is_kept(make_machine: MakeMachine) -> None:
    cases = {
        Case(group, "softmax", (4, 1000)): {"oneread": 10.0, "torch": us}
        for group, us in (("a", 30.0), ("b", 9.0), ("c", 50.0))
    }
    assert [cell.ratio for cell in cells(make_machine(cases))] == [pytest.approx(0.9)]


def test_fresh_results_types_and_k_have_panels_of_their_own(make_machine: MakeMachine) -> None:
    times = {"oneread": 10.0, "torch": 20.0}
    cases = [
        Case("a", "softmax", (4, 1000)),
        Case("b", "softmax", (4, 1000), memory="fresh"),
        Case("c", "softmax", (4, 1000), dtype="bfloat16"),
        Case("d", "softmax_topk", (4, 1000), options=(("k", 5),)),
        Case("e", "softmax_topk", (4, 1000), options=(("k", 50),)),
    ]
    found = cells(make_machine(dict.fromkeys(cases, times)))
    assert [(cell.panel, named(cell)) for cell in found] == [
        ("softmax · float32", ("4x1000", "")),
        ("softmax, fresh result · float32", ("4x1000", "")),
        ("softmax · bfloat16", ("4x1000", "")),
        ("softmax and top-5 · float32", ("4x1000", "")),
        ("softmax and top-k · float32", ("4x1000", "50")),
    ]


def test_losses_are_there_the_furthest_behind_first(make_machine: MakeMachine) -> None:
    cases = {
        Case("a", "softmax", (rows, 1000)): {"oneread": 10.0, "torch": us}
        for rows, us in ((1, 9.0), (2, 30.0), (3, 4.0))
    }
    found = losses(make_machine(cases))
    assert [cell.line for cell in found] == [(3,), (1,)]


@pytest.mark.parametrize(
    ("n", "text"),
    [(5, "5"), (1000, "1k"), (4096, "4,096"), (25000, "25k"), (128256, "128k"), (2_000_000, "2M")],
)
def test_numbers_are_short(n: int, text: str) -> None:
    assert short(n) == text


def test_lines_are_rows_or_shapes() -> None:
    assert [line_name(line) for line in ((1,), (10,), (64, 128256))] == [
        "1 row", "10 rows", "64 x 128k",
    ]  # fmt: skip
