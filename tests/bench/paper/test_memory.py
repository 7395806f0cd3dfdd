"""Peak memory: measured in processes of their own, up to where a limit is met."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from oneread.bench.paper import memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    """Return what was measured of ours under the small limit."""
    return memory.measured("cpu", "oneread", quick=True)


def test_ours_needs_the_logits_and_little_more(ours: dict[str, Any]) -> None:
    assert ours["limit_bytes"] == 1 << 29
    for tokens, peak in ours["points"][:-1]:
        logits = tokens * memory.VOCAB * 4
        assert 0.9 * logits < peak < 1.05 * logits + 20_000_000


def test_last_point_is_where_memory_ran_out(ours: dict[str, Any]) -> None:
    *fits, (tokens, peak) = ours["points"]
    assert peak is None
    assert tokens == 2 * fits[-1][0]
    assert tokens * memory.VOCAB * 4 > ours["limit_bytes"]


def test_usual_way_runs_out_earlier(ours: dict[str, Any]) -> None:
    usual = memory.measured("cpu", "numpy", quick=True)
    assert usual["points"][-1][0] < ours["points"][-1][0]


def test_way_that_is_not_there_has_the_reason() -> None:
    pytest.importorskip("torch", reason="asks PyTorch for a GPU that is not there")
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    fact = memory.measured("gpu", "torch", quick=True)
    assert fact["points"] == []
    assert fact["reason"]
