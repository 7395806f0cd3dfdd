"""Results are judged before they are timed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneread
from oneread.bench import ours
from oneread.bench.cases import Case
from oneread.bench.check import Checker
from oneread.bench.contestants import AbsentError, Contestant, Data, Forms
from oneread.bench.race import race
from oneread.bench.store import Record
from oneread.bench.timing import Effort
from oneread.spec import OPS

EFFORT = Effort(rounds=1, batch_s=0.0, budget_s=0.0)
SMALL = Case("test", "softmax", (3, 40))


@dataclasses.dataclass
class MadeUp:
    """A peer that gives what it is told to."""

    make: Callable[[], Contestant]
    NAME: str = "madeup"

    def version(self) -> str:
        return "1.0"

    def forms(self, case: Case, data: Data, threads: int) -> Forms:
        return {"madeup out=": self.make}


class Missing(MadeUp):
    def version(self) -> str:
        raise ModuleNotFoundError("no module named madeup")


class Half(MadeUp):
    def version(self) -> str:
        raise RuntimeError("no CTK flavor installed\nmore")


class Without(MadeUp):
    def forms(self, case: Case, data: Data, threads: int) -> Forms:
        return {}


class Broken(MadeUp):
    def forms(self, case: Case, data: Data, threads: int) -> Forms:
        raise RuntimeError("its library\nis broken")


def gives(result: Any) -> Callable[[], Contestant]:
    return lambda: Contestant(lambda: result, ("y",), 1)


def refuses() -> Contestant:
    raise AbsentError("cannot")


def crashes() -> Contestant:
    def run() -> Any:
        raise ValueError("only works on Sundays")

    return Contestant(run, ("y",), 1)


def peer_record(peer: MadeUp) -> Record:
    records = race(SMALL, [peer], 1, EFFORT)
    assert records[0].contestant == "oneread"
    return records[1]


def test_wrong_peer_is_caught_and_not_timed() -> None:
    record = peer_record(MadeUp(gives(np.full((3, 40), 1 / 40, np.float32))))
    assert record.status == "wrong"
    assert record.reason is not None
    assert "float64 truth" in record.reason
    assert record.median_s is None


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_peer_without_numbers_is_wrong(value: float) -> None:
    record = peer_record(MadeUp(gives(np.full((3, 40), value, np.float32))))
    assert record.status == "wrong"
    assert record.max_ulp == np.inf


def test_right_peer_is_timed_with_its_error() -> None:
    y = oneread.softmax(Data.of(SMALL, True).x)
    record = peer_record(MadeUp(gives(y)))
    assert record.status == "ok"
    assert record.median_s is not None
    assert record.n >= 3
    assert record.max_ulp is not None
    assert 0 < record.max_ulp < 8
    assert record.checked_rows == 3


def test_peer_of_another_shape_is_wrong() -> None:
    record = peer_record(MadeUp(gives(np.zeros((3, 39), np.float32))))
    assert (record.status, record.median_s) == ("wrong", None)


@pytest.mark.parametrize(
    ("peer", "reason"),
    [
        (Missing(refuses), "not installed"),
        (Half(refuses), "no CTK flavor installed"),
        (Without(refuses), "has no softmax"),
        (Broken(refuses), "its library"),
        (MadeUp(refuses), "cannot"),
        (MadeUp(crashes), "only works on Sundays"),
    ],
)
def test_absent_peer_is_told_with_its_reason(peer: MadeUp, reason: str) -> None:
    record = peer_record(peer)
    assert (record.status, record.reason) == ("absent", reason)


def test_our_own_mistake_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = oneread.softmax

    def wrong(x: Any, **arguments: Any) -> Any:
        y = right(x, **arguments)
        y[..., -1] *= np.float32(1.001)
        return y

    monkeypatch.setattr(oneread, "softmax", wrong)
    (record,) = race(SMALL, [], 1, EFFORT)
    assert (record.status, record.median_s) == ("wrong", None)


def arguments_of(op: str) -> tuple[tuple[str, Any], ...]:
    if op == "read":
        asked = (("rank", True), ("entropy", True), ("sum_p2", True), ("argmax", True))
        return (("top_k", 3), ("select", "random"), *asked)
    return (("k", 3),) if "top" in op else ()


@pytest.mark.parametrize("memory", ["out", "fresh"])
@pytest.mark.parametrize("op", OPS)
def test_every_op_is_checked_in_all_its_outputs(op: str, memory: str) -> None:
    case = Case("test", op, (4, 300), options=arguments_of(op), memory=memory)
    data = Data.of(case, OPS[op].row_output)
    contestant = ours.forms(case, data, 1)["oneread"]()
    outputs = contestant.outputs()
    checker = Checker(case, data)
    for judge in (checker.ours, checker.peer):
        assert judge(outputs).fault is None
        for name, output in outputs.items():
            spoiled = np.array(output, copy=True)
            spoiled[-1] = spoiled[-1] * 1.01 + 3
            assert judge({name: spoiled}).fault is not None, name


def test_rows_lie_along_any_axis() -> None:
    case = Case("test", "softmax", (3, 40, 5), axis=1)
    (record,) = race(case, [], 1, EFFORT)
    assert (record.status, record.rows, record.vocab, record.checked_rows) == ("ok", 15, 40, 15)


def test_peer_may_swap_columns_of_nearly_equal_logits_only() -> None:
    case = Case("test", "top_k", (1, 40), options=(("k", 2),), memory="fresh")
    data = Data.of(case, False)
    first, second = oneread.top_k(data.x, 2).indices[0]
    swapped = np.array([[second, first]])
    assert Checker(case, data).peer({"indices": swapped}).fault is not None
    data.x[0, second] = np.nextafter(data.x[0, first], np.float32(-100))
    assert Checker(case, data).peer({"indices": swapped}).fault is None


def test_yardsticks_run_beside_ours() -> None:
    case = Case(
        "test", "softmax_topk", (2, 50), options=(("k", 2),), order="sorted", memory="fresh",
        yardsticks=("oneread logsumexp", "oneread, random rows"),
    )  # fmt: skip
    records = race(case, [], 1, EFFORT)
    assert [record.contestant for record in records] == ["oneread", *case.yardsticks]
    assert all(record.median_s for record in records)
    kernels = [record.kernel["name"] for record in records if record.kernel]
    assert kernels == ["lazy_softmax_topk", "lazy_logsumexp", "lazy_softmax_topk"]


def test_kernels_run_beside_ours_and_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    case = dataclasses.replace(SMALL, kernels=("safe", "online"))
    records = race(case, [], 1, EFFORT)
    assert [record.contestant for record in records] == [
        "oneread", "oneread, safe", "oneread, online"
    ]  # fmt: skip
    kernels = [record.kernel["name"] for record in records if record.kernel]
    assert kernels == ["lazy_softmax", "safe_softmax", "online_softmax"]
    assert all(record.median_s and record.checked_rows == 3 for record in records)
    right = oneread.softmax

    def wrong(x: Any, kernel: str | None = None, **arguments: Any) -> Any:
        y = right(x, kernel=kernel, **arguments)
        if kernel == "online":
            y[..., -1] *= np.float32(1.001)
        return y

    monkeypatch.setattr(oneread, "softmax", wrong)
    assert [record.status for record in race(case, [], 1, EFFORT)] == ["ok", "ok", "wrong"]


def test_record_says_bytes_rates_and_cache() -> None:
    (record,) = race(SMALL, [], 1, EFFORT)
    assert record.bytes == 2 * 3 * 40 * 4
    assert set(record.rates) == {"copy", "streaming_copy"}
    assert record.share is not None
    assert record.share > 0
    assert record.cache == "warm"


def test_case_that_needs_too_much_memory_is_absent() -> None:
    (record,) = race(Case("test", "softmax", (1 << 20, 1 << 20)), [], 1, EFFORT)
    assert record.status == "absent"
    assert record.reason is not None
    assert record.reason.startswith("needs ")
