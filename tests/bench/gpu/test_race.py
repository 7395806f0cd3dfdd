"""A race on a GPU that is made up: all but the launches is what runs on a real one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

import oneread
from oneread.bench.cases import Case
from oneread.bench.contestants import Contestant, Forms
from oneread.bench.gpu.race import absent, race
from oneread.bench.gpu.sets import MOST_SETS, ROTATED_BYTES, Sets, number_of
from oneread.bench.gpu.timing import Effort, Job
from oneread.bench.store import Record

torch = pytest.importorskip("torch", reason="the arrays are PyTorch's")

EFFORT = Effort(rounds=3, graph_s=1e-5, calls=2)
SMALL = Case("test", "softmax", (6, 500), device="gpu", timed="graph", arrays="torch")


@pytest.fixture(autouse=True)
def few_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oneread.bench.gpu.sets.ROTATED_BYTES", 40_000)


def traffic(sets: Sets, copied: bool) -> dict[str, Job]:
    if copied:
        return {"slow copy": lambda i: [0] * 9, "copy": lambda i: sets.y[i].copy_(sets.x[i])}
    return {"read": lambda i: sets.x[i].sum()}


def run(case: Case, gpu: Any, *peers: Any) -> list[Record]:
    return race(case, peers, gpu, EFFORT, traffic)


@dataclasses.dataclass
class MadeUp:
    """A peer that gives what it is told to."""

    call: Callable[[Sets, int], Any]
    NAME: str = "madeup"

    def version(self) -> str:
        return "1.0"

    def forms(self, case: Case, sets: Sets) -> Forms:
        return {"madeup": lambda: Contestant(lambda i=0: self.call(sets, i), ("y",), None)}


OPTIONS: dict[str, tuple[tuple[str, Any], ...]] = {
    "top_k": (("k", 3),),
    "softmax_topk": (("k", 3),),
    "read": (("select", "random"), ("entropy", True), ("rank", True)),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("memory", ["out", "fresh"])
@pytest.mark.parametrize("op", ["softmax", "logsumexp", "softmax_topk", "read"])
def test_every_op_is_checked_and_timed(gpu: Any, op: str, memory: str, dtype: str) -> None:
    case = dataclasses.replace(
        SMALL, op=op, memory=memory, dtype=dtype, options=OPTIONS.get(op, ())
    )
    (record,) = run(case, gpu)
    assert (record.status, record.reason) == ("ok", None)
    assert record.n == EFFORT.rounds
    assert record.median_s is not None
    assert record.checked_rows == 6
    assert record.max_ulp is not None
    assert record.max_ulp <= 16
    assert record.kernel is not None
    assert op in record.kernel["name"]
    assert (record.device, record.isa, record.timed) == ("gpu", "sm_90", "graph")
    assert record.sets == -(-40_000 // case.input_bytes)


def test_share_is_that_of_the_best_traffic_of_the_same_bytes(gpu: Any) -> None:
    (record,) = run(SMALL, gpu)
    assert set(record.rates) == {"slow copy", "copy"}
    assert record.bytes == 2 * 6 * 500 * 4
    assert record.median_s is not None
    assert record.share == pytest.approx(
        record.bytes / record.median_s / 1e9 / max(record.rates.values())
    )


def test_rows_along_another_axis_are_checked(gpu: Any) -> None:
    (record,) = run(dataclasses.replace(SMALL, shape=(3, 200, 5), axis=1), gpu)
    assert (record.status, record.rows, record.checked_rows) == ("ok", 15, 15)


def test_op_without_a_kernel_is_not_yet_there_and_its_peers_run(
    gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def softmax(x: Any, **options: Any) -> Any:
        raise oneread.BackendUnavailableError("x is on cuda:0, where this version computes less")

    monkeypatch.setattr(oneread, "softmax", softmax)
    ours, peer = run(SMALL, gpu, MadeUp(lambda sets, i: torch.softmax(sets.x[i], -1)))
    assert (ours.status, ours.median_s) == ("not yet", None)
    assert ours.reason is not None
    assert ours.reason.startswith("x is on cuda:0")
    assert peer.status == "ok"


def test_our_own_mistake_is_wrong_and_not_timed(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        oneread, "softmax", lambda x, out=None: torch.softmax(x * 1.001, -1, out=out)
    )
    (record,) = run(SMALL, gpu)
    assert (record.status, record.median_s) == ("wrong", None)


def test_our_own_error_is_raised(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def softmax(x: Any, out: Any = None) -> Any:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(oneread, "softmax", softmax)
    with pytest.raises(ZeroDivisionError):
        run(SMALL, gpu)


def test_wrong_peer_is_caught(gpu: Any) -> None:
    _, peer = run(SMALL, gpu, MadeUp(lambda sets, i: torch.full_like(sets.x[i], 1 / 500)))
    assert (peer.status, peer.median_s) == ("wrong", None)


def test_peer_that_writes_nothing_has_no_result_of_another(gpu: Any) -> None:
    ours, peer = run(SMALL, gpu, MadeUp(lambda sets, i: sets.y[i]))
    assert (ours.status, peer.status) == ("ok", "wrong")


def test_peer_that_a_graph_refuses_is_absent_with_the_reason(gpu: Any) -> None:
    calls = 0

    def call(sets: Sets, i: int) -> Any:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise RuntimeError("operation not permitted when stream is capturing\nmore")
        return torch.softmax(sets.x[i], -1)

    _, peer = run(SMALL, gpu, MadeUp(call))
    assert peer.status == "absent"
    assert peer.reason == ("in a CUDA graph: operation not permitted when stream is capturing")


def test_peer_in_the_inputs_type_is_right_where_ours_is_wider(gpu: Any) -> None:
    case = dataclasses.replace(SMALL, op="logsumexp", dtype="bfloat16")
    peer = MadeUp(lambda sets, i: torch.logsumexp(sets.x[i], -1))
    peer.forms = lambda case, sets: {  # type: ignore[method-assign]
        "madeup": lambda: Contestant(lambda i=0: peer.call(sets, i), ("lse",), None)
    }
    _, record = run(case, gpu, peer)
    assert record.status == "ok"
    off = MadeUp(lambda sets, i: 0 * torch.logsumexp(sets.x[i], -1))
    peer.call = off.call
    assert run(case, gpu, peer)[1].status == "wrong"


def test_plain_call_has_one_set_and_no_traffic(gpu: Any) -> None:
    (record,) = run(dataclasses.replace(SMALL, timed="call"), gpu)
    assert (record.sets, record.rates, record.share) == (1, {}, None)
    assert gpu.graphs == []


def test_sets_fill_more_than_a_cache_or_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oneread.bench.gpu.sets.ROTATED_BYTES", ROTATED_BYTES)
    large = Case("test", "softmax", (4000, 262144))
    assert number_of(dataclasses.replace(large, timed="graph")) == 1
    some = Case("test", "softmax", (4000, 4000), timed="graph")
    assert number_of(some) == 7
    assert number_of(dataclasses.replace(some, shape=(1, 1000))) == MOST_SETS


def test_sets_differ_and_are_the_same_again() -> None:
    case = dataclasses.replace(SMALL, shape=(2, 50))
    first, second = (Sets.of(case, "cpu", keep=True) for _ in range(2))
    assert len(first.x) == len(first.y) > 1
    assert not torch.equal(first.x[0], first.x[1])
    assert torch.equal(first.x[1], second.x[1])
    assert Sets.of(case, "cpu", keep=False, count=1).y == ()


def test_absent_case_says_why() -> None:
    record = absent(SMALL, "its process ended", "sm_90")
    assert (record.status, record.reason, record.device) == ("absent", "its process ended", "gpu")
