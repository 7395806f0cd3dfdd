"""The steps of related methods: every result is looked at, and times make ratios."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import oneread
from oneread.bench.paper import related
from oneread.bench.timing import Times
from oneread.spec import OneReadError

SMALL = {"with top-k": related.Step(3, 8, 40, 4), "all": related.Step(2, 8, 30, None)}


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(related, "STEPS", SMALL)


def test_ratio_is_of_the_steps_and_the_share_of_the_safe_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def timed(jobs: Mapping[str, Any], effort: Any) -> dict[str, Times]:
        assert list(jobs) == ["product", "safe", "online"]
        return {name: Times.of([s]) for name, s in zip(jobs, (1.0, 3.0, 1.0), strict=True)}

    monkeypatch.setattr(related, "contest", timed)
    assert related.measured(1) == {
        "ratios": {"with top-k": 2.0, "all": 2.0}, "product": {"with top-k": 0.25, "all": 0.25},
    }  # fmt: skip


def test_steps_run_the_textbook_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = []
    for op in ("softmax", "softmax_topk"):
        real = getattr(oneread, op)

        def watched(*a: Any, kernel: str, real: Any = real, **options: Any) -> Any:
            kernels.append((real.__name__, kernel))
            return real(*a, kernel=kernel, **options)

        monkeypatch.setattr(oneread, op, watched)
    monkeypatch.setattr(related, "contest", lambda jobs, _: dict.fromkeys(jobs, Times.of([1.0])))
    related.measured(1)
    assert kernels == [
        ("softmax_topk", "safe_unfused"), ("softmax_topk", "online_fused"),
        ("softmax", "safe"), ("softmax", "online"),
    ]  # fmt: skip


@pytest.mark.parametrize("op", ["softmax", "softmax_topk"])
def test_wrong_results_are_not_timed(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = getattr(oneread, op)

    def wrong(x: Any, *a: Any, **options: Any) -> Any:
        return real(np.roll(x, 1, -1), *a, **options)

    monkeypatch.setattr(oneread, op, wrong)
    with pytest.raises(OneReadError, match="safe"):
        related.measured(1)
