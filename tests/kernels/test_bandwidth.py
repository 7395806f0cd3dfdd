"""Rates of plain traffic, which shares of bandwidth are shares of."""

from __future__ import annotations

import pytest

from oneread.runtime.cpu import native

TRAFFIC = ("read", "copy", "streaming_copy")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("traffic", TRAFFIC)
@pytest.mark.parametrize("n_bytes", [0, 1, 1000, 1 << 20])
def test_rate_of_any_size_is_a_number(traffic: str, n_bytes: int, threads: int) -> None:
    assert 0.001 < native.bandwidth(traffic, n_bytes, threads) < 1e5


@pytest.mark.alone
def test_caches_are_faster_than_memory() -> None:
    assert native.bandwidth("read", 1 << 15, 1) > native.bandwidth("read", 1 << 28, 1)


def test_every_instruction_set_can_measure() -> None:
    before = native.isa()
    try:
        for isa in native.supported_isas():
            native.set_isa(isa)
            assert min(native.bandwidth(traffic, 1 << 16, 1) for traffic in TRAFFIC) > 0
    finally:
        native.set_isa(before)


def test_other_traffic_is_refused() -> None:
    with pytest.raises(ValueError, match="read, copy or streaming_copy"):
        native.bandwidth("write", 1000, 1)
