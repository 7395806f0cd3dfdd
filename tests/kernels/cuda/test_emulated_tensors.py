"""`read` and `State` of tensors on a GPU, with the kernel on a CPU and its memory there, too."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from emulated import COMPILER, on_cpu  # noqa: F401
from tensors import (
    NOTHING,
    cpu_state,
    gpu,
    inputs,
    masked_inputs,
    state_of,
    state_of_parts,
    state_under,
    tensors_stay_on_a_cpu,  # noqa: F401
    torch,
)

import oneread
from oneread.backends import torch_
from oneread.ops import _device_read
from oneread.ops._arguments import DEFAULTS, Options
from oneread.ops._device_state import DeviceState
from oneread.spec import BackendUnavailableError, DtypeError, Read, ShapeError
from oneread.testing import FAMILIES, assert_close_to_truth

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler"),
    pytest.mark.usefixtures("tensors_stay_on_a_cpu"),
]

EVERYTHING: dict[str, Any] = {"entropy": True, "sum_p2": True, "argmax": True, "rank": True}


def read(
    x: Any, *, axis: Any = -1, dtype: Any = None, out: Any = None, temperature: Any = None,
    keepdims: bool = False, **own: Any,
) -> Read:  # fmt: skip
    options = DEFAULTS if temperature is None else Options(temperature=temperature)
    return _device_read.run(x, axis, dtype, out, NOTHING | {"keepdims": keepdims} | own, options)


def chosen(x: Any, s: int = 2) -> Any:
    return np.random.default_rng(0).integers(0, x.shape[-1], (*x.shape[:-1], s))


def read_of(state: DeviceState) -> Read:
    return Read(**{name: getattr(state, name) for name in Read._fields})


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


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "empty"])
@pytest.mark.parametrize("masked", [False, True])
def test_merging_is_that_of_the_states_on_a_cpu(family: str, masked: bool) -> None:
    """Masked rows begin with -inf up to another place each: a part may have nothing else."""
    x = inputs(family, 5, 91, "float64")
    columns = torch.from_numpy(chosen(x))
    options = {"select": columns, "selected_logit": torch.gather(x, -1, columns), **EVERYTHING}
    for row, length in enumerate((0, 40, 91, 40, 40) if masked else ()):
        x[row, :length] = -np.inf
    for cut in (1, 40, 90):
        a = state_of(x[:, :cut], **options)
        b = state_of(x[:, cut:], offset=cut, **options)
        got, want = cpu_state(a | b), cpu_state(a) | cpu_state(b)
        for one, other in zip(got._parts.sums, want._parts.sums, strict=True):
            assert_close_to_each_other(one.astype(np.float64), other.astype(np.float64))
        for name in ("argmax", "rank", "selected", "max", "lse"):
            assert_close_to_each_other(getattr(got, name), getattr(want, name))


def assert_close_to_each_other(one: Any, other: Any) -> None:
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype.kind == "i":
        assert one.tolist() == other.tolist()
    else:
        np.testing.assert_array_max_ulp(one, other, maxulp=4)


@pytest.mark.parametrize("temperature", [None, 0.3, "rows"])
def test_a_minus_infinite_part_changes_nothing(temperature: Any) -> None:
    x = inputs("normal", 4, 30)
    if temperature == "rows":
        temperature = torch.tensor([0.5, 1.0, 2.0, 3.0], dtype=torch.float64)
    options = {"entropy": True, "sum_p2": True, "argmax": True, "temperature": temperature}
    a = state_of(x, **options)
    nothing = state_of(torch.full((4, 5), -np.inf), offset=30, **options)
    for both in (a | nothing, nothing | a):
        for one, other in zip(read_of(both), read_of(a), strict=True):
            assert one is other or torch.equal(one, other)


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


@pytest.mark.parametrize("cuts", [[], [30, 31, 60]])
def test_a_row_in_parts_under_masks_is_one_read_of_it(cuts: list[int]) -> None:
    x, where, lengths = masked_inputs()
    options = {"entropy": True, "sum_p2": True, "argmax": True, "select": chosen(x)}
    want = oneread.read(x, where=where, lengths=lengths, **options)
    state = state_under(x, where, lengths, cuts, **options)
    for got in (read_of(state), read_of(pickle.loads(pickle.dumps(state)))):
        assert torch.equal(got.argmax, want.argmax)
        masks = {"where": where.numpy(), "lengths": lengths.numpy()}
        assert_close_to_truth(got, x, "read", **options, **masks)


def test_rank_of_parts_under_masks_is_that_of_the_row_and_none_of_a_column_left_out() -> None:
    x, where, lengths = masked_inputs()
    columns = np.random.default_rng(6).integers(0, 90, (6, 20))
    logits = torch.gather(x, -1, torch.from_numpy(columns)).double()
    want = oneread.read(x, where=where, lengths=lengths, select=columns, rank=True).rank
    kept = torch.gather(where & (torch.arange(90) < lengths[:, None]), 1, torch.from_numpy(columns))
    assert kept.any()
    options = {"select": columns, "selected_logit": logits, "rank": True}
    for cuts in ([], [30, 31, 60]):
        got = state_under(x, where, lengths, cuts, **options).rank
        assert torch.equal(got, torch.where(kept, want, -1))


def test_gradients_of_options_on_a_gpu_are_refused_and_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gpu, "check", torch_.check_gradient)
    x, wanted = inputs("normal", 4, 30), torch.ones(4, requires_grad=True)
    with pytest.raises(BackendUnavailableError, match="temperature requires a gradient"):
        read(x, temperature=wanted)
    with pytest.raises(BackendUnavailableError, match="temperature requires a gradient"):
        state_of(x, temperature=wanted)
    with pytest.raises(BackendUnavailableError, match="selected_logit requires a gradient"):
        state_of(x, select=torch.zeros(4, dtype=torch.int64), selected_logit=wanted)


def test_numbers_of_rows_on_a_cpu_are_copied_without_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spread, x = gpu.spread, inputs("normal", 4, 30)

    def of_tensors(numbers: Any, *rest: Any) -> Any:
        assert type(numbers) is torch.Tensor  # of other memory a copy waits
        return spread(numbers, *rest)

    monkeypatch.setattr(gpu, "spread", of_tensors)
    monkeypatch.setattr(gpu, "is_on_gpu", lambda one: one is x or one is select)
    heat, lengths = np.array([0.5, 1.0, 2.0, 4.0]), np.array([30, 7, 1, 2])
    select, logit = torch.tensor([0, 1, 2, 3]), [0.5, 1.0, 2.0, 4.0]
    options = Options(temperature=heat, lengths=lengths)
    got = _device_read.run(x, -1, None, None, NOTHING | {"keepdims": False}, options)
    assert_close_to_truth(got, x, "read", temperature=heat, lengths=lengths)
    asked = {"select": select, "selected_logit": np.array(logit), "rank": True}
    rank = state_of(x, **asked).rank
    assert torch.equal(rank, (x > torch.tensor(logit)[:, None]).sum(-1))
