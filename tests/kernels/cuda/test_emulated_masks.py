"""Top-k, `read` and `State` with masks and lengths: the kernels as they are, run on a CPU.

Arrays are those that stand for CuPy's. Columns left out come after all others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import array, back, gpu_arrays  # noqa: F401
from emulated import COMPILER, Launch, on_cpu  # noqa: F401

import oneread
from oneread.runtime import cuda_read, cuda_topk, tuning
from oneread.testing import assert_close_to_truth
from oneread.testing.arrays import numpy_dtype

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler"),
    pytest.mark.usefixtures("on_cpu", "gpu_arrays"),
]

INF = np.inf
#: Launches of each kernel: a warp a row, a block, a cluster, and those of large k.
LAUNCHES: dict[str, dict[str, Any]] = {
    "warp": {"kernel": "topk_row", "block_threads": 64, "row_threads": 32, "per_thread": 4},
    "block": {"kernel": "topk", "block_threads": 64, "per_thread": 2},
    "cluster": {"kernel": "topk", "block_threads": 64, "per_thread": 1, "cluster": 2},
    "many": {"kernel": "big_topk", "block_threads": 64, "per_thread": 2, "capacity": 512},
    "many, cluster": {
        "kernel": "big_topk", "block_threads": 64, "per_thread": 1, "capacity": 512, "cluster": 2,
    },
}  # fmt: skip
#: Winners of a row that some of its lengths and masks leave too few numbers for.
WANTED = {"warp": 9, "block": 30, "cluster": 64, "many": 70, "many, cluster": 300}
VOCAB = 421


@pytest.fixture(autouse=True)
def nothing_is_prepared() -> Any:
    """Forget kernels of other tests' launch shapes."""
    for prepared in (cuda_topk.prepared, cuda_read.prepared):
        prepared.cache_clear()
    yield
    for prepared in (cuda_topk.prepared, cuda_read.prepared):
        prepared.cache_clear()


def force(name: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Let top-k be launched so; return how many winners it shall find."""
    row = {"min_blocks": 1, "measured": "", **LAUNCHES[name]}
    table = tuning.table() | {"topk": [row]}
    monkeypatch.setattr(tuning, "table", lambda: table)
    return WANTED[name]


def on_gpu(value: Any) -> Any:
    return array(value) if isinstance(value, np.ndarray) else value


def call(op: str, x: Any, *own: Any, **options: Any) -> Any:
    """Do an op with all arrays on the GPU."""
    given = {name: on_gpu(value) for name, value in options.items()}
    made = getattr(oneread, op)(array(x), *own, **given)
    return type(made)(*[None if field is None else back(field) for field in made])


def same_bits(a: Any, b: Any) -> bool:
    return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())


def rows() -> Any:
    """Return rows of numbers, ties, -inf, NaN and +inf."""
    rng = np.random.default_rng(0)
    x = rng.normal(0, 3, (8, VOCAB)).astype(np.float32)
    x[1] = rng.integers(0, 3, VOCAB)
    x[2] = np.where(rng.random(VOCAB) < 0.95, -INF, x[2])
    x[3] = -INF
    x[4, ::9] = np.nan
    x[5, ::7] = INF
    x[6] = np.sort(x[6])
    return x


def masks(x: Any) -> dict[str, dict[str, Any]]:
    """Return masks and lengths that leave much, little and nothing."""
    rng = np.random.default_rng(1)
    half, few = rng.random(x.shape) < 0.5, rng.random(x.shape) < 0.02
    few[7] = False
    lengths = np.array([VOCAB, 200, 300, 5, 77, 0, 1, VOCAB - 1])
    return {
        "half": {"where": half}, "few": {"where": few}, "lengths": {"lengths": lengths},
        "both": {"where": half, "lengths": lengths}, "one for all": {"where": half[:1]},
    }  # fmt: skip


def held(mask: str) -> tuple[Any, dict[str, Any]]:
    """Return rows and what leaves columns out of them, some of which are NaN."""
    x = rows()
    options = masks(x)[mask]
    if "where" in options:
        x = np.where(options["where"] | (np.arange(VOCAB) % 2 == 0), x, np.nan).astype(x.dtype)
    return x, options


#: What each kernel is tried with: all its switches, and those that change how it reads.
TRIED = [(launch, "both") for launch in LAUNCHES]
TRIED += [("warp", "few"), ("block", "one for all"), ("many", "half"), ("many", "lengths")]


@pytest.mark.parametrize(("launch", "mask"), TRIED)
def test_winners_are_those_of_the_cpu(
    launch: str, mask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    k = force(launch, monkeypatch)
    x, options = held(mask)
    want, got = oneread.top_k(x, k, **options), call("top_k", x, k, **options)
    assert (got.indices == want.indices).all()
    assert same_bits(got.values, want.values)
    both = call("softmax_topk", x, k, return_lse=True, **options)
    assert (both.indices == want.indices).all()
    assert_close_to_truth(both, x, "softmax_topk", k=k, return_lse=True, **options)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("launch", ["warp", "cluster", "many, cluster"])
def test_threads_may_run_in_any_order(
    launch: str, order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    k = force(launch, monkeypatch)
    monkeypatch.setattr(Launch, "order", order)
    x, options = held("both")
    assert (call("top_k", x, k, **options).indices == oneread.top_k(x, k, **options).indices).all()


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_other_types_leave_columns_out_alike(dtype: str) -> None:
    x, options = held("both")
    x = x.astype(numpy_dtype(dtype))
    for k in (20, 100):
        got, want = call("top_k", x, k, **options), oneread.top_k(x, k, **options)
        assert (got.indices == want.indices).all()
        assert same_bits(got.values, want.values)


def test_rows_of_all_columns_out_are_those_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    force("warp", monkeypatch)
    x, nothing, no_length = rows()[:2], np.zeros((2, VOCAB), bool), np.zeros(2, int)
    for options in (
        {"where": nothing, "lengths": no_length + VOCAB},
        {"where": ~nothing, "lengths": no_length},
    ):
        got = call("softmax_topk", x, 5, return_lse=True, **options)
        want = oneread.softmax_topk(x, 5, return_lse=True, **options)
        assert (got.indices == want.indices).all()
        assert np.isnan(got.values).all()
        assert np.isneginf(got.lse).all()


@pytest.mark.parametrize("launch", ["warp", "cluster", "many"])
def test_lengths_that_no_row_has_give_nan_and_the_first_columns(
    launch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    k = force(launch, monkeypatch)
    x, lengths = rows()[:3], np.array([-1, VOCAB + 1, 100])
    options = {"lengths": lengths, "where": np.ones((3, VOCAB), bool)}
    got = call("softmax_topk", x, k, return_lse=True, **options)
    assert np.isnan(got.values).all(-1).tolist() == [True, True, False]
    assert np.isnan(got.lse).tolist() == [True, True, False]
    assert (got.indices[:2] == np.arange(k)).all()
    assert np.isnan(call("top_k", x, k, **options).values[:2]).all()


def test_masks_of_top_k_broadcast_over_loops() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(0, 3, (3, 4, 60)).astype(np.float32)
    for shape in ((3, 4, 60), (3, 1, 60), (4, 1)):
        where = rng.random(shape) < 0.5
        for axis in (0, -1):
            got = call("top_k", x, 3, axis=axis, where=where)
            want = oneread.top_k(x, 3, axis=axis, where=where)
            assert (got.indices == want.indices).all()
            assert same_bits(got.values, want.values)


def test_sorted_rows_leave_columns_out_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_topk, "finds", lambda k, columns: False)
    x, options = held("both")
    want = oneread.top_k(x, 300, **options)
    got = call("top_k", x, 300, **options)
    assert (got.indices == want.indices).all()
    assert same_bits(got.values, want.values)
    for kind in ("logprob", "prob"):
        asked = {"kind": kind, "renormalize": kind == "prob", "return_lse": True, **options}
        got = call("softmax_topk", x, 300, **asked)
        assert_close_to_truth(got, x, "softmax_topk", k=300, **asked)


def everything(x: Any, axis: int = -1) -> dict[str, Any]:
    """Return what may be asked of `read`, of some columns of each row."""
    shape = np.moveaxis(x, axis, -1).shape
    columns = np.random.default_rng(3).integers(0, shape[-1], (*shape[:-1], 3))
    flags = dict.fromkeys(("rank", "entropy", "sum_p2", "argmax"), True)
    return {"select": columns, "axis": axis, **flags}


@pytest.mark.parametrize("mask", ["few", "lengths", "both", "one for all"])
@pytest.mark.parametrize("axis", [0, 1])
def test_read_is_close_to_the_truth(axis: int, mask: str) -> None:
    x, options = held(mask)
    if axis == 0:
        x = np.ascontiguousarray(x.T)
        if "where" in options:
            options["where"] = options["where"].T
    options |= everything(x, axis)
    got, want = call("read", x, **options), oneread.read(x, **options)
    assert (got.rank == want.rank).all()
    assert (got.argmax == want.argmax).all()
    assert_close_to_truth(got, x, "read", **options)


def test_read_of_lengths_that_no_row_has_is_nan() -> None:
    x = rows()[:3]
    got = call("read", x, lengths=np.array([-1, 5, VOCAB + 1]), **everything(x))
    for field in (got.lse, got.max, got.entropy, got.sum_p2, got.selected[:, 0]):
        assert np.isnan(field[[0, 2]]).all()


@pytest.mark.parametrize("launch", ["warp", "many"])
@pytest.mark.parametrize("more", [{}, {"entropy": True}], ids=["alone", "beside entropy"])
def test_read_finds_winners(
    launch: str, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    k = force(launch, monkeypatch)
    x, options = held("both")
    for given in ({}, options):
        asked = {"top_k": k, "argmax": True, **more, **given}
        got, want = call("read", x, **asked), oneread.read(x, **asked)
        assert (got.indices == want.indices).all()
        assert (got.argmax == want.argmax).all()
        assert same_bits(got.values, want.values)
        assert_close_to_truth(got, x, "read", **asked)


def test_temperature_counts_for_the_maximum_beside_winners(monkeypatch: pytest.MonkeyPatch) -> None:
    force("warp", monkeypatch)
    x = rows()
    got = call("read", x, top_k=5, temperature=0.7)
    assert_close_to_truth(got, x, "read", top_k=5, temperature=0.7)


def test_winners_alone_are_one_read(monkeypatch: pytest.MonkeyPatch) -> None:
    force("warp", monkeypatch)
    monkeypatch.setattr(cuda_read, "read", None)
    x = rows()
    got = call("read", x, top_k=5, argmax=True)
    assert_close_to_truth(got, x, "read", top_k=5, argmax=True)


def test_winners_of_read_lie_where_the_axis_was(monkeypatch: pytest.MonkeyPatch) -> None:
    force("warp", monkeypatch)
    x = np.random.default_rng(4).normal(0, 3, (3, 51, 4)).astype(np.float32)
    for axis in (0, 1, None):
        got = call("read", x, axis=axis, top_k=2, keepdims=True)
        want = oneread.read(x, axis=axis, top_k=2, keepdims=True)
        for name in ("values", "indices", "logprobs", "lse", "max"):
            assert getattr(got, name).shape == getattr(want, name).shape
        assert (got.indices == want.indices).all()
