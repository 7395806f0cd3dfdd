"""`read` and `State` of tensors on a GPU, with the kernel on a CPU and its memory there, too."""

from __future__ import annotations

import functools
import itertools
import operator
import pickle
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from emulated import COMPILER, on_cpu  # noqa: F401

from oneread.ops._arguments import DEFAULTS, Options
from oneread.runtime import cuda, cuda_read
from oneread.spec import BackendUnavailableError, DtypeError, Read, ShapeError
from oneread.testing import FAMILIES, assert_close_to_truth

torch = pytest.importorskip("torch", reason="what lies on a GPU are PyTorch's tensors")

from oneread.backends import find  # noqa: E402
from oneread.backends import torch_cuda as gpu  # noqa: E402
from oneread.backends.torch_ import NAMES  # noqa: E402
from oneread.ops import _device_read  # noqa: E402
from oneread.ops._device_state import DeviceState  # noqa: E402

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")

EVERYTHING: dict[str, Any] = {"entropy": True, "sum_p2": True, "argmax": True, "rank": True}
NOTHING: dict[str, Any] = {
    "top_k": 0, "select": None, "rank": False, "entropy": False, "sum_p2": False, "argmax": False,
}  # fmt: skip
OF_A_STATE: dict[str, Any] = NOTHING | {"selected_logit": None, "temperature": None}
OF_A_CHUNK: dict[str, Any] = {"where": None, "lengths": None, "threads": None}


def memory(x: Any) -> cuda.Memory:
    return cuda.Memory(x.data_ptr(), NAMES[x.dtype], tuple(x.shape), x.stride(), 0, 0)


@pytest.fixture(autouse=True)
def tensors_stay_on_a_cpu(on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: F811
    """Take every tensor for one on a GPU."""
    monkeypatch.setattr(gpu, "check", lambda x, role: None)
    monkeypatch.setattr(gpu, "is_on_gpu", lambda x: isinstance(x, torch.Tensor))
    monkeypatch.setattr(gpu, "memory", memory)
    monkeypatch.setattr(gpu, "on", lambda x: nullcontext())
    monkeypatch.setattr(gpu, "beside", lambda x, array: torch.from_numpy(array))
    monkeypatch.setattr(find, "gpu_backend", lambda x: gpu if isinstance(x, torch.Tensor) else None)
    cuda_read.prepared.cache_clear()
    yield
    cuda_read.prepared.cache_clear()


def read(
    x: Any, *, axis: Any = -1, dtype: Any = None, out: Any = None, temperature: Any = None,
    keepdims: bool = False, **own: Any,
) -> Read:  # fmt: skip
    options = DEFAULTS if temperature is None else Options(temperature=temperature)
    return _device_read.run(x, axis, dtype, out, NOTHING | {"keepdims": keepdims} | own, options)


def state_of(x: Any, axis: Any = -1, offset: int = 0, **options: Any) -> DeviceState:
    return DeviceState.first(x, axis, offset, OF_A_STATE | options, OF_A_CHUNK)


def inputs(family: str, rows: int, vocab: int, dtype: str = "float32") -> Any:
    x = FAMILIES[family](rows, vocab, "float32" if dtype == "bfloat16" else dtype, 0)
    tensor = torch.from_numpy(np.ascontiguousarray(x))
    return tensor.bfloat16() if dtype == "bfloat16" else tensor


def chosen(x: Any, s: int = 2) -> Any:
    return np.random.default_rng(0).integers(0, x.shape[-1], (*x.shape[:-1], s))


def read_of(state: DeviceState) -> Read:
    return Read(**{name: getattr(state, name) for name in Read._fields})


def state_of_parts(x: Any, edges: list[int], **options: Any) -> DeviceState:
    cuts = itertools.pairwise(edges)
    parts = [state_of(x[..., a:b], offset=a, **options) for a, b in cuts]
    return functools.reduce(operator.or_, parts)  # type: ignore[arg-type]


def test_shapes_follow_the_input() -> None:
    x = inputs("normal", 12, 100).view(2, 6, 100)
    options = EVERYTHING | {"select": chosen(x)}
    for view in (x, x[:, ::2]):
        options["select"] = chosen(view)
        assert_close_to_truth(read(view, **options), view, "read", **options)
    one = {"select": chosen(x, 1)[..., 0], "keepdims": True, **EVERYTHING}
    assert_close_to_truth(read(x, **one), x, "read", **one)
    assert_close_to_truth(read(x, axis=None, argmax=True), x, "read", axis=None, argmax=True)


def test_columns_may_be_selected_on_the_gpu() -> None:
    x = inputs("ties", 4, 100)
    columns = chosen(x)
    options = {"select": columns, **EVERYTHING}
    got = read(x, **options | {"select": torch.from_numpy(columns)})
    assert_close_to_truth(got, x, "read", **options)
    with pytest.raises(DtypeError, match="select holds"):
        read(x, select=torch.zeros(4))
    with pytest.raises(ShapeError, match="select has shape"):
        read(x, select=torch.zeros(3, dtype=torch.int64))


def test_more_ranks_than_one_launch_counts() -> None:
    x = inputs("ties", 3, 100)
    options = EVERYTHING | {"select": chosen(x, 7)}
    assert_close_to_truth(read(x, **options), x, "read", **options)


def test_integers_are_converted_first() -> None:
    x = torch.from_numpy(np.random.default_rng(0).integers(-9, 9, (3, 100)))
    options = EVERYTHING | {"select": chosen(x)}
    assert_close_to_truth(read(x, **options), x, "read", **options)


def test_results_go_where_they_are_wanted() -> None:
    x = inputs("normal", 5, 100)
    want = read(x, select=[1, 2, 3, 4, 5], **EVERYTHING)
    out = Read(*[None if field is None else torch.full_like(field, 7) for field in want])
    assert read(x, select=[1, 2, 3, 4, 5], out=out, **EVERYTHING) is out
    for got, expected in zip(out, want, strict=True):
        assert (got is None) == (expected is None)
        assert got is None or torch.equal(got, expected)
    strided = torch.zeros(5, 2)[:, 0]
    read(x, out=(strided, torch.zeros(5)))
    assert torch.equal(strided, want.lse)
    with pytest.raises(ShapeError, match=r"out\.argmax is missing"):
        read(x, argmax=True, out=(out.lse, out.max, None))
    with pytest.raises(ShapeError, match=r"out\.max has shape"):
        read(x, out=(out.lse, torch.zeros(4)))


def test_dtype_is_that_of_all_floats() -> None:
    x = inputs("normal", 5, 100)
    got = read(x, dtype="float16", entropy=True, argmax=True)
    assert (got.lse.dtype, got.entropy.dtype, got.argmax.dtype) == (
        torch.float16, torch.float16, torch.int64,
    )  # fmt: skip


def test_what_is_not_there_is_refused_by_name() -> None:
    x = inputs("normal", 4, 8)
    with pytest.raises(BackendUnavailableError, match="top_k is 2"):
        read(x, top_k=2)
    with pytest.raises(BackendUnavailableError, match="top_k is 2"):
        state_of(x, top_k=2)
    with pytest.raises(BackendUnavailableError, match="where is given"):
        DeviceState.first(x, -1, 0, OF_A_STATE, OF_A_CHUNK | {"where": x > 0})
    with pytest.raises(ShapeError, match="length 0"):
        read(x[:, :0], argmax=True)
    with pytest.raises(ShapeError, match="without select"):
        read(x, rank=True)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_a_row_in_parts_is_one_read_of_it(family: str, dtype: str) -> None:
    x = inputs(family, 5, 91, dtype)
    vocab = x.shape[-1]
    options: dict[str, Any] = {"entropy": True, "sum_p2": True}
    given = {}
    if vocab:
        options = EVERYTHING | {"select": chosen(x)}
        columns = torch.from_numpy(options["select"])
        given = {"selected_logit": torch.gather(x, -1, columns).double()}
    for cuts in ([], [40, 40, 41]):
        edges = sorted([0, *[min(cut, vocab) for cut in cuts], vocab])
        got = read_of(state_of_parts(x, edges, **options, **given))
        assert_close_to_truth(got, x, "read", **options)


def test_merging_is_the_same_in_either_order_and_leaves_both_as_they_were() -> None:
    x = inputs("ties", 20, 90)
    options = {"entropy": True, "argmax": True, "sum_p2": True}
    a, b = state_of(x[:, :30], **options), state_of(x[:, 30:], offset=30, **options)
    before = a.lse
    for one, other in zip(read_of(a | b), read_of(b | a), strict=True):
        assert one is other or torch.equal(one, other)
    assert torch.equal(a.lse, before)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_given_logit_ranks_as_a_number_that_the_type_may_lack(dtype: str) -> None:
    x = inputs("ties", 1, 90, dtype)
    for logit in (0.0, 0.3, -0.2, 0.5, -1.0, -7.0, 7.0, np.inf, -np.inf, np.nan):
        for column in (0, 17, 89, 500):
            logits = torch.tensor([logit], dtype=torch.float64)
            state = state_of(x, select=[column], selected_logit=logits, rank=True)
            before = x[0].double() > logit
            before[: column + 1] |= x[0, : column + 1].double() == logit
            if column < 90 and x[0, column] == logit:
                before[column] = False
            assert int(state._parts.ranks) == int(before.sum()) * (logit == logit)


def test_update_goes_on_with_the_next_columns() -> None:
    x = inputs("normal", 4, 90)
    state = state_of(x[:, :30], argmax=True)
    assert state.update(x[:, 30:]) is state
    assert torch.equal(state.argmax, x.argmax(-1))
    with pytest.raises(ShapeError, match="the chunk has shape"):
        state.update(x[:3])
    with pytest.raises(DtypeError, match="cannot be merged"):
        state.update(x.double())


def test_a_state_travels_to_a_cpu_as_bytes() -> None:
    x = inputs("normal", 4, 90, "bfloat16")
    columns = torch.from_numpy(chosen(x))
    logits = torch.gather(x, -1, columns).double()
    for select in (columns, columns.numpy()):
        state = state_of(x, select=select, selected_logit=logits, **EVERYTHING)
        there = pickle.loads(pickle.dumps(state))
        for name in ("lse", "max", "argmax", "entropy", "sum_p2", "selected", "rank"):
            assert torch.equal(getattr(there, name), getattr(state, name))
        with pytest.raises(BackendUnavailableError, match="cannot be merged"):
            state | there
        with pytest.raises(BackendUnavailableError, match="cannot be merged"):
            there | state


def test_a_column_read_twice_or_never_is_named_where_that_is_known() -> None:
    x = inputs("normal", 4, 90)
    with pytest.raises(ShapeError, match="read by both"):
        state_of(x, select=[3] * 4) | state_of(x, select=[3] * 4)
    with pytest.raises(ShapeError, match="none of the 90 columns"):
        _ = state_of(x, select=[90] * 4).selected
    far = torch.full((4,), 90)
    state = state_of(x, select=far, selected_logit=torch.zeros(4), rank=True)
    assert bool(state.selected.isnan().all())
    assert state.rank.tolist() == [-1] * 4


def test_states_with_different_options_are_refused() -> None:
    x = inputs("normal", 4, 90)
    with pytest.raises(ShapeError, match="entropy"):
        state_of(x, entropy=True) | state_of(x)
    one, other = torch.ones(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    _ = state_of(x, temperature=one) | state_of(x, temperature=one)
    with pytest.raises(ShapeError, match="temperature is not one and the same"):
        state_of(x, temperature=one) | state_of(x, temperature=other)


@pytest.mark.parametrize("where", ["cpu", "gpu"])
def test_temperature_may_be_one_a_row(where: str) -> None:
    x = inputs("normal", 4, 90)
    temperature = np.array([0.5, 1.0, 2.0, 1e-3])
    given = temperature if where == "cpu" else torch.from_numpy(temperature)
    got = read_of(state_of_parts(x, [0, 30, 90], temperature=given, entropy=True))
    assert_close_to_truth(got, x, "read", temperature=temperature, entropy=True)


def test_log_probabilities_of_numbers_are_those_of_the_rows() -> None:
    x = inputs("normal", 4, 90)
    assert_close_to_truth(state_of(x).logprob(x), x, "log_softmax")


def test_a_state_of_any_axis() -> None:
    x = inputs("normal", 12, 41).view(3, 4, 41)
    for axis in (0, 1, 2, None):
        got = read_of(state_of(x, axis=axis, entropy=True, argmax=True))
        assert_close_to_truth(got, x, "read", axis=axis, entropy=True, argmax=True)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_row_along_another_axis_is_close_to_the_truth(family: str, dtype: str) -> None:
    x = inputs(family, 37, 70, dtype)
    options = EVERYTHING | {"select": chosen(x)} if x.shape[1] else {"entropy": True}
    across = x.T.contiguous()
    assert_close_to_truth(read(across, axis=0, **options), across, "read", axis=0, **options)


def test_a_state_of_parts_along_another_axis() -> None:
    x = inputs("ties", 37, 70).T.contiguous()
    columns = np.random.default_rng(0).integers(0, 70, (37, 2))
    logits = torch.gather(x.T, -1, torch.from_numpy(columns)).double()
    options = EVERYTHING | {"select": columns}
    a = state_of(x[:30], axis=0, selected_logit=logits, **options)
    b = state_of(x[30:], axis=0, offset=30, selected_logit=logits, **options)
    assert_close_to_truth(read_of(a | b), x, "read", axis=0, **options)
