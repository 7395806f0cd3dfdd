"""Machines made up from a few numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from oneread.bench.cases import Case
from oneread.bench.paper.figures import SOFTMAX, TOP_K
from oneread.bench.store import Record, Run
from oneread.report.paper.machines import Machine

HEADER = {
    "date": "2026-01-02T03:04:05", "command": "oneread paper", "commit": "abc", "threads": 2,
    "machine": {
        "cpu": "Some CPU", "cores": 2, "caches": {"L2": 1 << 20}, "memory_bytes": 8_000_000_000,
        "huge_pages": None, "governor": None, "load_average": 0.1, "isa": "x86-64-v4",
    },
    "compiler": {"compiler": "gcc", "version": "12"}, "libraries": {"oneread": "1", "jax": None},
}  # fmt: skip

#: Times in microseconds by contestant, of one case.
Times = dict[str, float]
MakeMachine = Callable[..., Machine]


def _record(case: Case, contestant: str, us: float | None, **others: Any) -> Record:
    """Return the record of a contestant that took so long; None: it was absent."""
    textbook = contestant not in ("oneread", "torch", "torch out=", "onnxruntime")
    name = f"oneread, {contestant}" if textbook else contestant
    options = dict(case.options)
    plain: dict[str, Any] = {
        "case": case.name, "contestant": name, "group": case.group, "op": case.op,
        "shape": case.shape, "rows": case.rows, "vocab": case.vocab, "axis": -1,
        "dtype": case.dtype, "k": options.get("k"), "order": "random", "memory": case.memory,
        "arrays": "numpy", "environment": {}, "isa": "x86-64-v4",
        "library": name.partition(" ")[0].rstrip(","), "version": "1",
        "status": "ok" if us else "absent", "n": 5 if us else 0,
        "median_s": us and us / 1e6, "bytes": case.input_bytes, "device": case.device,
        "timed": case.timed,
    }  # fmt: skip
    return Record(**{**plain, **others})


def _paper_case(op: str, rows: int, vocab: int, k: int | None = None) -> Case:
    """Return a case of the paper's figures."""
    group = TOP_K if k else SOFTMAX
    return Case(group, op, (rows, vocab), options=(("k", k),) if k else ())


@pytest.fixture
def make_machine() -> MakeMachine:
    """Return what makes a machine of cases with times, and of facts."""

    def make(
        cases: dict[Case, Times] | None = None, facts: list[dict[str, Any]] | None = None,
        name: str = "Some CPU, 2 threads", device: str = "cpu", **others: Any,
    ) -> Machine:  # fmt: skip
        records = [
            _record(case, contestant, us, **others)
            for case, times in (cases or {}).items()
            for contestant, us in times.items()
        ]
        run = Run(HEADER, records, True, facts or [])
        return Machine(name, device, (HEADER,), run)

    return make


@pytest.fixture
def record() -> Callable[..., Record]:
    """Return what makes the record of a contestant in a case."""
    return _record


@pytest.fixture
def paper_case() -> Callable[..., Case]:
    """Return what makes a case of the paper's figures."""
    return _paper_case


@pytest.fixture
def header() -> dict[str, Any]:
    """Return the facts of a run on a CPU."""
    return HEADER


@pytest.fixture
def machine(make_machine: MakeMachine, paper_case: Callable[..., Case]) -> Machine:
    """Return a machine with a little of everything."""
    softmax = {"safe": 20.0, "naive": 15.0, "online": 16.0, "oneread": 10.0, "torch out=": 9.0}
    top_k = {"safe_unfused": 50.0, "online_unfused": 40.0, "safe_fused": 30.0,
             "online_fused": 20.0, "oneread": 10.0, "torch": 30.0}  # fmt: skip
    cases = {
        paper_case("softmax", rows, vocab): softmax
        for rows in (4000, 10) for vocab in (1000, 4000, 25000)
    }  # fmt: skip
    cases |= {paper_case("softmax_topk", 4000, 25000, k): top_k for k in (5, 10)}
    memory = {"vocab": 1000, "dtype": "float32", "limit_bytes": 10**8, "limit": "a limit"}
    facts = [
        {"key": "memory/cpu/torch", "way": "torch", "points": [[64, 10**6], [128, None]], **memory},
        {"key": "memory/cpu/oneread", "way": "oneread", "points": [[64, 3 * 10**5]], **memory},
        {"key": "dram/cpu", "status": "not supported", "reason": "no <counter>", "ops": []},
    ]
    return make_machine(cases, facts, rates={"copy": 50.0})
