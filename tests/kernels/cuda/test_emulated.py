"""The CUDA kernels of softmax, log_softmax and logsumexp are right, shown on a CPU as they are.

Each is launched with few threads, so that short rows have all that long ones have: steps, edges,
warps and blocks that share a row. In any order of the threads the bits must be the same.
tests/ops/test_cuda.py runs them on a GPU.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from emulated import COMPILER, Launch, on_cpu  # noqa: F401

from oneread.runtime import cuda, tuning
from oneread.runtime.tuning import ELEMENTS
from oneread.testing import FAMILIES, assert_close_to_truth, assert_conforms
from oneread.testing.arrays import numpy_dtype

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler"),
    pytest.mark.usefixtures("on_cpu"),
]

VOCAB = 331
#: Results are put between these; nothing beside them may change.
CANARY = 7.0
#: Families that have columns: no kernel is launched for none.
FILLED = tuple(name for name in FAMILIES if name != "empty")


class Way(NamedTuple):
    """A row of the table, and whether its rows lie side by side in memory."""

    row: dict[str, Any]
    beside: bool = False


def row(kernel: str, **given: Any) -> dict[str, Any]:
    return {"kernel": kernel, "min_blocks": 1, "measured": "", **given}


WAYS = {
    "several rows a block": Way(row("softmax_row", block_threads=64, row_threads=16, keep=0)),
    "powers kept": Way(row("softmax_row", block_threads=64, row_threads=8, keep=1)),
    "block": Way(row("softmax_row", block_threads=64, keep=0)),
    "cluster": Way(row("softmax_row", block_threads=32, cluster=4, keep=0)),
    "shared": Way(
        row("softmax_shared", block_threads=32, cluster=2, per_thread=4, held=1, at_once=1)
    ),
    "two passes": Way(row("two_pass_softmax", block_threads=32, cluster=2, per_thread=1)),
    "strip": Way(row("softmax_strip", access=4, side=4, block_threads=64), beside=True),
    "strip of single rows": Way(row("softmax_strip", side=2, block_threads=64), beside=True),
    "across": Way(row("softmax_across", side=8, shares=4, ahead=2), beside=True),
    "sums of several rows": Way(row("logsumexp", block_threads=32, row_threads=8, per_thread=2)),
    "sums of a block": Way(row("logsumexp", block_threads=64, per_thread=1)),
    "sums of a cluster": Way(row("logsumexp", block_threads=32, cluster=2, per_thread=1)),
}

#: Way, op, type, and whether with a temperature.
CASES = [
    ("several rows a block", "softmax", "float32", True),
    ("several rows a block", "log_softmax", "float64", False),
    ("powers kept", "softmax", "float16", True),
    ("powers kept", "softmax", "bfloat16", False),
    ("block", "softmax", "bfloat16", False),
    ("block", "log_softmax", "float32", True),
    ("cluster", "softmax", "float32", False),
    ("cluster", "log_softmax", "bfloat16", True),
    ("shared", "softmax", "float32", False),
    ("shared", "softmax", "bfloat16", True),
    ("shared", "log_softmax", "float16", False),
    ("two passes", "softmax", "float16", False),
    ("two passes", "softmax", "float64", True),
    ("two passes", "log_softmax", "float32", False),
    ("strip", "softmax", "bfloat16", True),
    ("strip", "log_softmax", "float16", False),
    ("strip of single rows", "softmax", "float32", False),
    ("strip of single rows", "softmax", "float64", False),
    ("strip of single rows", "log_softmax", "float32", True),
    ("across", "softmax", "bfloat16", False),
    ("across", "log_softmax", "float32", True),
    ("across", "logsumexp", "float16", False),
    ("sums of several rows", "logsumexp", "float32", True),
    ("sums of several rows", "logsumexp", "bfloat16", False),
    ("sums of a block", "logsumexp", "float64", False),
    ("sums of a cluster", "logsumexp", "float16", False),
]


def use(monkeypatch: pytest.MonkeyPatch, way: Way, size: int) -> None:
    """Let the table hold nothing but one way, with as much a thread as the rows need."""
    given = dict(way.row)
    if "block_threads" in given and "per_thread" not in given:
        lanes = given.get("row_threads", given["block_threads"]) * given.get("cluster", 1)
        if way.beside:
            given["per_thread"] = -(-VOCAB * given["side"] // lanes)
        else:
            # Rows begin up to a line after their vectors do; short ones up to a vector.
            line = 16 if "row_threads" in given else 128
            given["per_thread"] = -(-(VOCAB * size + line) // 16 // lanes) or 1
            if line == 16:
                given["vectors"] = given["per_thread"] * lanes
    table = {op: [given] for op in ("softmax", "logsumexp", "across")}
    monkeypatch.setattr(tuning, "table", lambda: table)


class Field:
    """Memory of rows with gaps between them, filled with one number."""

    def __init__(self, rows: int, vocab: int, dtype: str, beside: bool, filling: float) -> None:
        kind = numpy_dtype(dtype)
        self.memory = np.full((rows + 40) * (vocab + 40), filling, kind)
        start = 16 + -self.memory.ctypes.data % 128 // kind.itemsize
        # Aligned where the length lets rows be: gaps are of 16 bytes, or of 3 numbers.
        gap = 16 // kind.itemsize if vocab * kind.itemsize % 16 == 0 else 3
        self.steps = (1, rows + 32 - rows % 32) if beside else (vocab + gap, 1)
        self.rows = np.lib.stride_tricks.as_strided(
            self.memory[start:], (rows, vocab), [step * kind.itemsize for step in self.steps]
        )

    def described(self) -> cuda.Memory:
        place = self.rows.ctypes.data
        return cuda.Memory(place, self.rows.dtype.name, self.rows.shape, self.steps, 0, 0)


def launched(op: str, x: Any, temperature: Any, beside: bool, written: str = "") -> Any:
    """Return what the kernel gives for the rows of x, in any order of its threads.

    `written` is the type of the result, that of x if left out.
    """
    rows, vocab = x.shape
    source = Field(rows, vocab, x.dtype.name, beside, np.nan)
    source.rows[...] = x
    manner = cuda.Manner()
    if temperature is not None:
        held = np.ascontiguousarray(temperature, np.float64)
        manner = cuda.Manner(
            cuda.Temperature(address=held.ctypes.data)
            if np.ndim(temperature)
            else cuda.Temperature(float(temperature))
        )
    found = []
    for Launch.order in (0, 1, 2) if temperature is None else (2,):
        if op == "logsumexp":
            kind = "float64" if x.dtype.name == "float64" else "float32"
            memory = np.full(rows + 2, CANARY, kind)
            result = memory[1:-1]
            there = cuda.Memory(result.ctypes.data, kind, (rows,), (1,), 0, 0)
            cuda.logsumexp(source.described(), there, 1, manner)
        else:
            target = Field(rows, vocab, written or x.dtype.name, beside, CANARY)
            memory, result = target.memory, target.rows
            cuda.softmax(source.described(), target.described(), 1, op == "log_softmax", manner)
        found.append(result.copy())
        result[...] = CANARY
        assert (memory == CANARY).all(), "memory beside the result was written"
    assert len({one.tobytes() for one in found}) == 1, "another order of threads gives other bits"
    return found[0]


def implementation(op: str, beside: bool) -> Any:
    def run(x: Any, axis: int = -1, temperature: Any = None, keepdims: bool = False) -> Any:
        got = launched(op, np.moveaxis(x, axis, -1), temperature, beside)
        if op == "logsumexp":
            return np.expand_dims(got, axis) if keepdims else got
        return np.moveaxis(got, -1, axis)

    return run


@pytest.mark.parametrize(("way", "op", "dtype", "tempered"), CASES)
def test_every_family_is_close_to_the_truth(
    monkeypatch: pytest.MonkeyPatch, way: str, op: str, dtype: str, tempered: bool
) -> None:
    chosen = WAYS[way]
    use(monkeypatch, chosen, ELEMENTS[dtype][1])
    without = ("where", "lengths") if tempered else ("where", "lengths", "temperature")
    assert_conforms(
        implementation(op, chosen.beside), op, dtype=dtype, vocab=VOCAB, families=FILLED,
        without=without,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    "way", ["several rows a block", "block", "cluster", "shared", "two passes"]
)
def test_rows_of_whole_vectors_are_close_to_the_truth(
    monkeypatch: pytest.MonkeyPatch, way: str, dtype: str
) -> None:
    use(monkeypatch, WAYS[way], ELEMENTS[dtype][1])
    for family in ("normal", "spiky", "masked_first_tile"):
        x = FAMILIES[family](5, 328, dtype)
        assert_close_to_truth(launched("softmax", x, None, beside=False), x, "softmax")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
@pytest.mark.parametrize("temperature", [1e39, 1e300])
def test_temperature_beyond_float32_makes_columns_alike(dtype: str, temperature: float) -> None:
    x = FAMILIES["masked_first_tile"](5, VOCAB, dtype, 0)
    for op in ("softmax", "log_softmax", "logsumexp"):
        got = launched(op, x, temperature, beside=False)
        assert_close_to_truth(got, x, op, temperature=temperature)


#: Way, op, and the types that are read and written.
CONVERSIONS = [
    ("several rows a block", "softmax", "bfloat16", "float32"),
    ("powers kept", "softmax", "float16", "float32"),
    ("block", "log_softmax", "bfloat16", "float32"),
    ("block", "softmax", "float16", "bfloat16"),
    ("cluster", "softmax", "float32", "float16"),
    ("shared", "softmax", "bfloat16", "float32"),
    ("shared", "log_softmax", "float32", "bfloat16"),
    ("two passes", "softmax", "bfloat16", "float32"),
    ("across", "softmax", "bfloat16", "float32"),
    ("across", "log_softmax", "float32", "float16"),
]


@pytest.mark.parametrize(("way", "op", "dtype", "written"), CONVERSIONS)
def test_results_of_another_type_are_close_to_the_truth(
    monkeypatch: pytest.MonkeyPatch, way: str, op: str, dtype: str, written: str
) -> None:
    use(monkeypatch, WAYS[way], ELEMENTS[dtype][1])
    for family in ("normal", "spiky", "masked_first_tile", "masked_all", "nan", "plus_inf"):
        x = FAMILIES[family](5, VOCAB, dtype)
        got = launched(op, x, None, WAYS[way].beside, written)
        assert got.dtype.name == written
        assert_close_to_truth(got, x, op, dtype=written)


def test_results_of_16_bits_are_those_of_float32_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, WAYS["block"], 2)
    x = FAMILIES["normal"](5, VOCAB, "bfloat16")
    wide = launched("softmax", x, None, beside=False, written="float32")
    narrow = launched("softmax", x, None, beside=False, written="float16")
    assert np.array_equal(narrow, wide.astype(np.float16))


@pytest.mark.parametrize("vocab", [328, 2, 70_000])
def test_rows_of_whole_vectors_are_written_in_another_type(
    monkeypatch: pytest.MonkeyPatch, vocab: int
) -> None:
    use(monkeypatch, WAYS["two passes"], 2)
    x = FAMILIES["normal"](3, vocab, "bfloat16")
    got = launched("softmax", x, None, beside=False, written="float32")
    assert_close_to_truth(got, x, "softmax", dtype="float32")


def test_sum_of_70000_equal_terms_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, WAYS["two passes"], 2)
    x = FAMILIES["constant"](1, 70_003, "float16")
    assert_close_to_truth(launched("softmax", x, None, beside=False), x, "softmax")


@pytest.mark.parametrize("steps", [(331, -1), (700, 2), (-2, 12), (1, 6)])
def test_rows_of_any_step_are_close_to_the_truth(
    monkeypatch: pytest.MonkeyPatch, steps: tuple[int, int]
) -> None:
    use(monkeypatch, WAYS["across"], 4)
    x = FAMILIES["normal"](6, VOCAB, "float32")
    memory = np.full(8000, np.nan, np.float32)
    middle = 3500 if min(steps) < 0 else 0
    view = np.lib.stride_tricks.as_strided(memory[middle:], x.shape, [step * 4 for step in steps])
    view[...] = x
    y = np.full_like(x, CANARY)
    source = cuda.Memory(view.ctypes.data, "float32", x.shape, steps, 0, 0)
    target = cuda.Memory(y.ctypes.data, "float32", x.shape, (VOCAB, 1), 0, 0)
    cuda.softmax(source, target, 1, False, cuda.Manner())
    assert_close_to_truth(y, x, "softmax")
