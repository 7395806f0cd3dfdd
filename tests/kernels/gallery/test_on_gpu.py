"""Every entry of the gallery is right on a GPU, for every family of input."""

from __future__ import annotations

import pytest

from oneread.bench.gallery import entries, measure
from oneread.bench.gallery.runner import Runner
from oneread.runtime import gpu

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not gpu.available(), reason="no GPU that kernels can be launched on"),
]

RIGHT = [key for key in entries.all_keys() if entries.is_right(key)]


@pytest.fixture(scope="module")
def runner() -> Runner:
    """Return a GPU on which products and sums are rounded one by one, as in the truth."""
    return Runner(gpu.Gpu(), "-fmad=false")


@pytest.mark.parametrize("use", ["trace", "bench"])
@pytest.mark.parametrize("key", RIGHT)
def test_entry_is_right(runner: Runner, key: str, use: str) -> None:
    records = list(measure.check(runner, key, use))
    assert records
    assert [record for record in records if record["status"] != "ok"] == []


@pytest.mark.parametrize("tile", measure.SOAK_TILES)
def test_corrected_kernel_has_no_race_in_many_rows(runner: Runner, tile: int) -> None:
    x, y = measure.soak_input(20_000)
    record = measure.soak(runner, "online_softmax_tiled", tile, x, y, launches=3)
    assert record["wrong_rows"] == [0, 0, 0]
    assert record["differing_launches"] == 0
