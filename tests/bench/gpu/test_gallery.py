"""The gallery's kernels as contestants: what they are given, and how they are judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from oneread.bench.cases import Case, own_kernel
from oneread.bench.gpu import gallery
from oneread.bench.gpu.cases import CASES
from oneread.bench.gpu.sets import Sets
from oneread.bench.gpu.timing import Effort, Job
from oneread.bench.paper import gpu_cases
from oneread.bench.store import Record

torch = pytest.importorskip("torch", reason="the arrays are PyTorch's")

SOFTMAX = Case("test", "softmax", (6, 500), device="gpu", timed="graph", arrays="torch",
               kernels=("safe", "online"), peers=())  # fmt: skip
TOP_K = dataclasses.replace(
    SOFTMAX, op="softmax_topk", options=(("k", 3),), memory="fresh",
    kernels=("safe_unfused", "online_fused"),
)  # fmt: skip
EFFORT = Effort(rounds=3, graph_s=1e-5, calls=2)


class Launches:
    """Stands for what loads kernels: does on the CPU what each should, by the buffers it gets."""

    def __init__(self) -> None:
        self.memory: dict[int, Any] = {}
        self.defines: dict[str, dict[str, int]] = {}
        self.spoiled = 1.0

    def loaded(
        self, name: str, text: str, kernel: str, defines: dict[str, int], device: Any
    ) -> Callable[..., None]:
        assert f"\n{kernel}(" in text
        assert name == f"{kernel}.cu"
        self.defines[kernel] = defines

        def launch(blocks: int, threads: int, shared: int, stream: int, given: Any) -> None:
            assert (blocks, threads, shared) == (6, 256, 0)
            pointers = [one.value for one in given if one.value in self.memory]
            x, *results = (self.memory[one] for one in pointers)
            if len(results) == 1:
                results[0].copy_(torch.softmax(x, -1) * self.spoiled)
                assert [one.value for one in given[2:]] == [500]
                return
            order = x if kernel == "top_k" else torch.softmax(x, -1)
            best = torch.topk(order, given[-1].value)
            results[0].copy_(best[0] * self.spoiled)
            results[1].copy_(best[1])
            assert [one.value for one in given[3:]] == [500, 3]

        return launch


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> Launches:
    made = Launches()
    original = gallery._buffers

    def buffers(plan: Any, case: Case, sets: Sets, i: int) -> dict[str, Any]:
        held = original(plan, case, sets, i)
        made.memory |= {one.data_ptr(): one for one in held.values()}
        return held

    class Stream:
        cuda_stream = 7

    monkeypatch.setattr("oneread.bench.gpu.sets.ROTATED_BYTES", 40_000)
    monkeypatch.setattr(gallery.launching, "loaded", made.loaded)
    monkeypatch.setattr(gallery, "_buffers", buffers)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Stream())
    return made


def race(case: Case, gpu: Any) -> dict[str, Record]:
    from oneread.bench.gpu.race import race as run

    def traffic(sets: Sets, copied: bool) -> dict[str, Job]:
        return {"read": lambda i: sets.x[i].sum()}

    return {record.contestant: record for record in run(case, (), gpu, EFFORT, traffic)}


@pytest.mark.parametrize("case", [SOFTMAX, TOP_K], ids=lambda case: case.op)
def test_kernels_of_the_gallery_are_checked_and_timed_beside_ours(
    case: Case, gpu: Any, launches: Launches
) -> None:
    found = race(case, gpu)
    assert list(found) == ["oneread", *(own_kernel(name) for name in case.kernels)]
    assert {(record.status, record.n) for record in found.values()} == {("ok", EFFORT.rounds)}
    assert all(record.checked_rows == 6 for record in found.values())


def test_lanes_keep_as_many_as_are_asked_for(gpu: Any, launches: Launches) -> None:
    race(TOP_K, gpu)
    assert launches.defines["top_k"]["K_MAX"] == 3
    assert launches.defines["online_softmax_topk"]["K_MAX"] == 3
    assert launches.defines["safe_softmax"] == {"TILE": 256}


def test_wrong_kernel_of_the_gallery_is_not_timed(gpu: Any, launches: Launches) -> None:
    launches.spoiled = 1 + 1e-5
    found = race(SOFTMAX, gpu)
    assert found["oneread"].status == "ok"
    wrong = found[own_kernel("safe")]
    assert (wrong.status, wrong.median_s) == ("wrong", None)


def test_types_that_the_gallery_has_not_are_absent_with_the_reason(
    gpu: Any, launches: Launches
) -> None:
    found = race(dataclasses.replace(SOFTMAX, dtype="bfloat16"), gpu)
    record = found[own_kernel("online")]
    assert (record.status, record.reason) == (
        "absent", "the kernels of the gallery take rows of float32",
    )  # fmt: skip


@pytest.mark.parametrize("table", [CASES, gpu_cases.CASES], ids=["bench", "paper"])
def test_every_named_kernel_can_be_planned(table: dict[str, Case]) -> None:
    named = [case for case in table.values() if case.kernels]
    assert named
    for case in named:
        for kernel in case.kernels:
            plan = gallery.planned(gallery.GALLERY[case.op][kernel], case)
            assert plan.steps[0].grid == case.rows
