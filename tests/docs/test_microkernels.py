"""What is predicted of loops: about what the study of the SASS note says, and what a GPU took."""

from __future__ import annotations

import ctypes
import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import micro
import numpy as np
import pytest
import run_microkernels as run
from numpy.typing import NDArray

from oneread.runtime import nvrtc
from oneread.runtime.gpu import Launch, Memory
from oneread.sass import assert_sass
from oneread.sass.read import nvdisasm
from oneread.source.catalogue import gallery_folder

pytestmark = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)

#: Elements a clock of an SM: kernel and maths.
STUDY = {
    ("row_max", "fast"): 32,
    ("row_max", "default"): 32,
    ("row_sum", "fast"): 16,
    ("row_online", "fast"): 8,
    ("row_online", "default"): 5.3,
}
#: Loops whose prediction is further off than it may be, and why: (kind, kernel, maths, loop).
EXCEPTIONS: dict[tuple[str, str, str, int], str] = {}
RECORDS = sorted(micro.FOLDER.glob("micro-*.jsonl"))


class FakeGpu:
    """A GPU that gives the right results and clocks of a fixed speed, and runs nothing."""

    def __init__(self) -> None:
        properties = SimpleNamespace(multiprocessor_count=3)
        self.device = SimpleNamespace(name="Fake GPU", properties=properties)
        self.target = "sm_90"
        self.memory: dict[int, NDArray[Any]] = {}

    def build(self, source: str, name: str, defines: dict[str, int], *options: str) -> str:
        nvrtc.compile_cubin(source, self.target, defines=defines, options=options)
        return name

    def put(self, array: NDArray[Any]) -> Memory:
        address = len(self.memory) + 1
        self.memory[address] = array.copy()
        return Memory(address, array.shape, array.dtype.str, array.nbytes)

    def get(self, memory: Memory) -> NDArray[Any]:
        return self.memory[memory.address]

    def free(self, *memories: Memory) -> None:
        assert all(one.address in self.memory for one in memories)

    def launch(self, launches: Sequence[Launch]) -> None:
        for one in launches:
            given = [
                self.memory[value] if isinstance(value, int) else value for value in one.arguments
            ]
            if one.kernel in run.KERNELS:
                self.sweep(one.kernel, *given)
            else:
                self.row(one.kernel, *given)

    def sweep(self, kernel: str, x: Any, y: Any, clocks: Any, columns: Any, sweeps: Any) -> None:
        y[:] = np.tile(run.right(kernel, x[: columns.value], sweeps.value), y.size // 32)
        # Blocks go over the SMs in turn; an SM does 10 elements a clock.
        blocks = np.arange(len(clocks)) // (run.THREADS // 32)
        clocks[:, 0] = 1000 * blocks
        clocks[:, 1] = 50_000 + sweeps.value * columns.value * run.WARPS_PER_SM // 10
        clocks[:, 2] = blocks % 3

    def row(self, kernel: str, x: Any, y: Any, vocab: ctypes.c_int, *rest: Any) -> None:
        powers = np.exp(x[: vocab.value].astype(np.float64) - x[: vocab.value].max())
        y[:] = powers / powers.sum()
        lanes, ticks = run.ALONE[kernel], rest[-1]
        ticks[:] = 1000 + 7 * vocab.value // lanes * (1 + np.arange(len(ticks)))


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[micro.Record]:
    """Return what a run on the fake GPU writes."""
    gpu: Any = FakeGpu()
    file = tmp_path_factory.mktemp("micro") / "micro.jsonl"
    header = {"record": "header", "device": "Fake GPU", "driver": "1", "nvrtc": "1", "date": "2026"}
    lines = [json.dumps(one) for one in (header, *run.full(gpu), *run.alone(gpu))]
    file.write_text("\n".join(lines), "utf-8")
    return micro.load(file)


def test_full_sm_is_timed_by_what_more_sweeps_take(records: list[micro.Record]) -> None:
    found = [one["elements_a_clock"] for one in records if one["record"] == "full"]
    assert found == [pytest.approx(10, rel=1e-4)] * 6


def test_warp_alone_is_timed_by_what_more_columns_take(records: list[micro.Record]) -> None:
    found = [
        (one["kernel"], one["loop"], one["clocks_an_element"])
        for one in records
        if one["record"] == "alone" and one["maths"] == "fast"
    ]
    single, shared = run.ALONE
    assert found == [
        (single, 1, 7),
        (single, 2, 14),
        (shared, 1, 7),
        (shared, 2, 14),
        (shared, 3, 21),
    ]


def test_every_timed_loop_has_a_prediction(records: list[micro.Record]) -> None:
    rows = list(micro.rows(records))
    assert len(rows) == 6 + 10
    for one in rows:
        if one.kind == "full" and (one.kernel, one.maths) in STUDY:
            assert one.predicted == pytest.approx(STUDY[one.kernel, one.maths], rel=0.1)


def test_tables_name_every_loop(records: list[micro.Record], tmp_path: Path) -> None:
    file = tmp_path / "micro.jsonl"
    file.write_text("\n".join(map(json.dumps, records)), "utf-8")
    shown = micro.tables(file)
    assert len(re.findall(r"^\| `", shown, re.MULTILINE)) == 16


@pytest.mark.parametrize("name", run.ALONE)
@pytest.mark.parametrize("maths", run.MATHS)
def test_clocks_leave_the_loops_as_they_were(name: str, maths: str, tmp_path: Path) -> None:
    source = (gallery_folder() / f"{name}.cu").read_text("utf-8")
    timed = run.with_clocks(source)
    file = tmp_path / "timed.cu"
    file.write_text(timed.text, "utf-8")
    defines = {"TILE": 32} if "TILE" in source else {}
    options = {"fast_math": maths == "fast", "defines": defines}
    plain, clocked = (
        [work.elements for work in assert_sass(one, "sm_90", **options).analysis.works]
        for one in (name, file)
    )
    assert plain == clocked


def test_microkernels_fill_an_sm() -> None:
    for name in run.KERNELS:
        for fast_math in (True, False):
            checked = assert_sass(run.SOURCE, "sm_90", fast_math=fast_math, name=name)
            checked.no_spills().no_shared().blocks_per_sm(run.BLOCKS_PER_SM, run.THREADS)


def test_wrong_result_is_not_timed() -> None:
    with pytest.raises(SystemExit, match="row_max: wrong by"):
        run.check("row_max", np.ones(64), np.full(32, 2.0))


def test_warps_that_are_spread_unevenly_are_refused() -> None:
    clocks = np.zeros((2 * run.WARPS_PER_SM, 3), np.int64)
    clocks[: run.WARPS_PER_SM + 1, 2] = 1
    with pytest.raises(SystemExit, match="spread unevenly"):
        run.clocks_of_sms(clocks, 2)


@pytest.mark.parametrize("file", RECORDS, ids=lambda file: file.stem)
def test_predictions_are_as_near_as_they_should_be(file: Path) -> None:
    off = {}
    for one in micro.rows(micro.load(file)):
        if abs(one.ratio - 1) > micro.ALLOWED[one.kind]:
            off[one.kind, one.kernel, one.maths, one.loop] = one.ratio
    assert off.keys() == EXCEPTIONS.keys(), off
