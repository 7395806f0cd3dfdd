"""The kernel of `read`, run on a CPU with all its threads, gives what the op promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulated import COMPILER, Launch, on_cpu  # noqa: F401

from oneread.runtime import cuda, cuda_read, tuning
from oneread.spec import Read
from oneread.testing import FAMILIES, assert_close_to_truth

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler"),
    pytest.mark.usefixtures("on_cpu"),
]

VOCAB = 331  # of rows that begin and end within 16 bytes
EACH: dict[str, dict[str, Any]] = {
    "none": {}, "entropy": {"entropy": True}, "sum_p2": {"sum_p2": True},
    "argmax": {"argmax": True}, "select": {"select": 1}, "rank": {"select": 1, "rank": True},
    "all": {"entropy": True, "sum_p2": True, "argmax": True, "select": 3, "rank": True},
}  # fmt: skip


def read(
    x: Any, *, select: Any = None, rank: bool = False, entropy: bool = False,
    sum_p2: bool = False, argmax: bool = False, temperature: Any = None,
) -> Read:  # fmt: skip
    """Do what oneread.ops._device_read does with tensors on a GPU, with NumPy's arrays."""
    name, rows = x.dtype.name, x.shape[:-1]
    statistic = "float64" if name == "float64" else "float32"
    made = {field: np.full(rows, 7, statistic) for field in ("lse", "max")}
    if argmax:
        made["argmax"] = np.full(rows, 7)
    chosen = None if select is None else np.ascontiguousarray(select, np.int64)
    selects = 0 if chosen is None else chosen.shape[-1]
    if chosen is not None:
        made["selected"] = np.full(chosen.shape, 7, statistic)
        if rank:
            made["rank"] = np.full(chosen.shape, 7)
    for field, asked in (("entropy", entropy), ("sum_p2", sum_p2)):
        if asked:
            made[field] = np.full(rows, 7, statistic)
    at = {field: array.ctypes.data for field, array in made.items()}
    if chosen is not None:
        at["select"] = chosen.ctypes.data
    given = None
    if temperature is not None:
        held = np.array(temperature, np.float64)
        address = held.ctypes.data if held.ndim else 0
        given = cuda.Temperature(1.0 if held.ndim else float(held), address)
    steps = tuple(step // x.itemsize for step in x.strides)
    cuda_read.read(
        cuda.Memory(x.ctypes.data, name, x.shape, steps, 0, 0), x.ndim - 1,
        cuda_read.Asked(entropy, sum_p2, argmax, selects if rank else 0),
        cuda_read.Fields(at.pop("lse"), **at), selects, cuda.Manner(given),
    )  # fmt: skip
    return Read(**made)


def options_of(name: str, x: Any, seed: int = 0) -> dict[str, Any]:
    options = dict(EACH[name])
    if "select" in options and not x.shape[-1]:
        del options["select"]
        options |= {"rank": False, "argmax": False}
    elif "select" in options:
        shape = (*x.shape[:-1], options["select"])
        options["select"] = np.random.default_rng(seed).integers(0, x.shape[-1], shape)
    return options


def launched_as(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Let the table answer with another launch shape."""

    def choose(*arguments: Any, **options: Any) -> tuning.Choice:
        choice = tuning.choose(*arguments, **options)
        defines = dict(choice.defines) | changes
        block, cluster = defines["BLOCK_THREADS"], defines["CLUSTER"]
        return choice._replace(
            block=block, rows_a_block=block // defines["ROW_THREADS"], cluster=cluster,
            defines=tuple(defines.items()),
        )  # fmt: skip

    monkeypatch.setattr(cuda_read, "choose", choose)
    cuda_read.prepared.cache_clear()


@pytest.fixture(autouse=True)
def nothing_is_prepared() -> Any:
    """Forget kernels of other tests' launch shapes."""
    cuda_read.prepared.cache_clear()
    yield
    cuda_read.prepared.cache_clear()


@pytest.fixture(params=[0, 1, 2])
def order(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the threads ascending, descending, and in an order that changes."""
    monkeypatch.setattr(Launch, "order", request.param)
    return int(request.param)


def assert_reads(x: Any, options: dict[str, Any], **where: Any) -> None:
    assert_close_to_truth(read(x, **options, **where), x, "read", **options, **where)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", tuning.ELEMENTS)
def test_every_family_is_close_to_the_truth(family: str, dtype: str, order: int) -> None:
    x = FAMILIES[family](5, VOCAB, dtype, order)
    assert_reads(x, options_of("all", x, order))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_held_in_pairs_are_close_to_the_truth(
    family: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched_as(monkeypatch, HAS_PAIRED_MAX=1)
    x = FAMILIES[family](5, VOCAB, dtype, 0)
    assert_reads(x, options_of("all", x))


@pytest.mark.parametrize("asked", EACH)
@pytest.mark.parametrize("family", ["normal", "ties", "nan", "masked_all", "gap"])
def test_each_field_alone_is_close_to_the_truth(family: str, asked: str, order: int) -> None:
    x = FAMILIES[family](5, VOCAB, "float32", 0)
    assert_reads(x, options_of(asked, x))


@pytest.mark.parametrize("temperature", [0.7, 1e-30, "rows"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_a_temperature_is_that_of_the_reference(dtype: str, temperature: Any) -> None:
    if temperature == "rows":
        temperature = np.random.default_rng(0).uniform(0.5, 2, 5)
    for family in ("normal", "large_offset", "masked_first_tile", "gap", "huge", "plus_inf"):
        x = FAMILIES[family](5, VOCAB, dtype, 0)
        assert_reads(x, options_of("all", x), temperature=temperature)


@pytest.mark.parametrize(
    "shape",
    [
        {"ROW_THREADS": 4, "BLOCK_THREADS": 32, "VECTORS": 1},
        {"ROW_THREADS": 32, "BLOCK_THREADS": 64, "VECTORS": 2},
        {"ROW_THREADS": 96, "BLOCK_THREADS": 96, "VECTORS": 2},
        {"ROW_THREADS": 64, "BLOCK_THREADS": 64, "VECTORS": 1, "CLUSTER": 4},
    ],
    ids=["lanes", "warp", "block", "cluster"],
)
def test_threads_that_share_a_row_bring_it_together(
    shape: dict[str, int], order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched_as(monkeypatch, **shape)
    for family in ("normal", "ties", "nan", "masked_all_but_one", "masked_all", "plus_inf", "gap"):
        x = FAMILIES[family](7, 1003, "float32", order)
        assert_reads(x, options_of("all", x, order))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rows_at_any_address_are_those_alone(dtype: str) -> None:
    x = FAMILIES["normal"](3, 100, dtype, 0)
    memory = np.full(3 * 103 + 16, np.nan, x.dtype)
    for offset in range(8):
        view = np.lib.stride_tricks.as_strided(
            memory[offset:], x.shape, (103 * x.itemsize, x.itemsize)
        )
        view[:] = x
        options = options_of("all", x, offset)
        assert_close_to_truth(read(view, **options), x, "read", **options)


def test_rows_in_two_loops_over_memory() -> None:
    whole = FAMILIES["normal"](24, VOCAB, "float32", 0).reshape(4, 6, VOCAB)
    assert_reads(whole[:, ::2], options_of("all", whole[:, ::2]))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rank_is_the_place_of_every_column_in_the_order(dtype: str) -> None:
    inf, nan = np.inf, np.nan
    x = np.array(
        [
            [1.0, 3.0, 3.0, -2.0, 3.0, 0.0, 0.5, -0.0, 2.0],
            [nan, 1.0, -inf, nan, inf, -inf, nan, inf, 0.0],
            [-0.0, 0.0, -0.0, 0.0, -1.0, 1.0, 0.0, -0.0, 0.0],
            [-inf] * 9,
            [-inf, 1.0, -inf, -inf, nan, -inf, -inf, 2.0, -inf],
        ],
        np.float32,
    ).astype(FAMILIES["normal"](1, 1, dtype).dtype)
    apart = np.full((5, 11), nan, x.dtype)[:, :9]  # rows begin at each place of a vector
    apart[:] = x
    for rows in (x, apart):
        assert_reads(rows, {"select": np.tile(np.arange(9), (5, 1)), "rank": True})


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_columns_outside_of_the_row_are_nan_and_not_read(dtype: str) -> None:
    x = FAMILIES["normal"](2, 40, dtype, 0)
    got = read(x, select=np.array([[-1, 40], [2**62, -(2**62)]]), rank=True)
    assert np.isnan(got.selected).all()
    assert (got.rank == -1).all()


def test_bad_temperature_gives_a_row_of_nan() -> None:
    x = FAMILIES["normal"](3, VOCAB, "float32", 0)
    options = {"select": np.zeros((3, 1)), "entropy": True, "sum_p2": True}
    got = read(x, **options, temperature=[1.0, 0.0, 2.0])
    for field in (got.lse, got.max, got.entropy, got.sum_p2, got.selected[:, 0]):
        assert np.isnan(field).tolist() == [False, True, False]
