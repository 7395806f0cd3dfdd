"""`read` and `State` of tensors on a GPU give what they give on a CPU."""

from __future__ import annotations

import functools
import itertools
import operator
import pickle
from typing import Any

import numpy as np
import pytest

import oneread
from oneread import BackendUnavailableError, Read, ShapeError, State
from oneread.testing import FAMILIES, assert_close_to_truth

torch = pytest.importorskip("torch", reason="tensors on a GPU are PyTorch's")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU"),
]

FLOATS = ("float32", "float64", "float16", "bfloat16")
#: One length for each launch shape, most of them no multiple of anything.
LENGTHS = (1, 3, 33, 129, 1000, 2047, 4000, 16385, 50257, 128256)
EVERYTHING: dict[str, Any] = {"entropy": True, "sum_p2": True, "argmax": True, "rank": True}


def inputs(family: str, rows: int, vocab: int, dtype: str, seed: int = 0) -> Any:
    """Return a family's logits as a tensor on the CPU."""
    if dtype != "bfloat16":
        return torch.from_numpy(np.ascontiguousarray(FAMILIES[family](rows, vocab, dtype, seed)))
    wide = FAMILIES[family](rows, vocab, "float32", seed)
    return torch.from_numpy(np.ascontiguousarray(wide)).bfloat16()


def on_gpu(value: Any) -> Any:
    return torch.as_tensor(value).cuda() if isinstance(value, np.ndarray) else value


def on_cpu(read: Read) -> Read:
    return Read(*[None if field is None else field.cpu() for field in read])


def chosen(x: Any, s: int = 2, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, x.shape[-1], (*x.shape[:-1], s))


def assert_reads(x: Any, **options: Any) -> None:
    got = oneread.read(x.cuda(), **{name: on_gpu(value) for name, value in options.items()})
    assert_close_to_truth(on_cpu(got), x, "read", **options)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("vocab", [331, 4096, 70_001])
def test_every_family_is_close_to_the_truth(family: str, dtype: str, vocab: int) -> None:
    x = inputs(family, 6, vocab, dtype)
    options = {"entropy": True, "sum_p2": True}
    if x.shape[-1]:
        options = EVERYTHING | {"select": chosen(x)}
    assert_reads(x, **options)
    assert_reads(x, **options, temperature=0.7)
    assert_reads(x)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("vocab", LENGTHS)
@pytest.mark.parametrize("rows", [7, 100])
def test_every_length_is_close_to_the_truth(dtype: str, vocab: int, rows: int) -> None:
    for family in ("normal", "ties", "masked_first_tile"):
        x = inputs(family, rows, vocab, dtype, vocab)
        assert_reads(x, select=chosen(x), **EVERYTHING)


def test_more_ranks_than_one_launch_counts() -> None:
    x = inputs("ties", 3, 5000, "bfloat16")
    assert_reads(x, select=chosen(x, 11), **EVERYTHING)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rank_and_argmax_are_those_of_a_cpu_bit_for_bit(dtype: str) -> None:
    for family in ("normal", "ties", "nan", "masked_all", "plus_inf", "constant", "sorted_up"):
        for vocab in (9, 1003, 20_000, 128_256):
            x = inputs(family, 20, vocab, dtype, vocab)
            options = {"select": chosen(x), "rank": True, "argmax": True}
            want, got = oneread.read(x, **options), oneread.read(x.cuda(), **options)
            assert torch.equal(got.rank.cpu(), want.rank)
            assert torch.equal(got.argmax.cpu(), want.argmax)


def test_column_outside_of_the_row_is_nan() -> None:
    x = torch.randn(2, 40, device="cuda")
    select = torch.tensor([[-1, 40], [2**62, 3]], device="cuda")
    got = oneread.read(x, select=select, rank=True)
    assert got.selected.isnan().tolist() == [[True, True], [True, False]]
    assert (got.rank == -1).tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize("offset", range(8))
@pytest.mark.parametrize("vocab", [7, 129, 5000])
def test_rows_at_any_address_are_those_alone(offset: int, vocab: int) -> None:
    held = inputs("normal", 9, vocab, "bfloat16", offset)
    memory = torch.full((9 * (vocab + 3) + 16,), float("nan"), dtype=held.dtype, device="cuda")
    view = memory.as_strided((9, vocab), (vocab + 3, 1), offset)
    view.copy_(held)
    options = {"select": chosen(held), **EVERYTHING}
    assert_close_to_truth(on_cpu(oneread.read(view, **options)), held, "read", **options)


def test_shapes_follow_the_input() -> None:
    x = inputs("normal", 24, 300, "float32").view(4, 6, 300)
    assert_reads(x, select=chosen(x, 1)[..., 0], argmax=True)
    assert_reads(x, keepdims=True, entropy=True)
    assert_reads(x, axis=None, argmax=True, sum_p2=True)
    assert_reads(x[:, ::2], select=chosen(x[:, ::2]), **EVERYTHING)


@pytest.mark.parametrize("shape", [(6, 70, 5), (1, 300, 33), (40, 64, 64), (2, 3, 1)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_row_along_another_axis_is_close_to_the_truth(dtype: str, shape: tuple[int, ...]) -> None:
    rows, vocab = shape[0] * shape[2], shape[1]
    x = inputs("ties", rows, vocab, dtype).view(shape[0], shape[2], vocab)
    x = x.movedim(-1, 1).contiguous()
    select = np.random.default_rng(0).integers(0, vocab, (shape[0], shape[2], 2))
    assert_reads(x, axis=1, select=select, **EVERYTHING)


def test_results_go_where_they_are_wanted() -> None:
    x = torch.randn(5, 1000, device="cuda")
    want = oneread.read(x, select=[1, 2, 3, 4, 5], **EVERYTHING)
    out = Read(*[None if field is None else torch.empty_like(field) for field in want])
    assert oneread.read(x, select=[1, 2, 3, 4, 5], out=out, **EVERYTHING) is out
    for got, expected in zip(out, want, strict=True):
        assert (got is None) == (expected is None)
        assert got is None or torch.equal(got, expected)
    with pytest.raises(ShapeError, match=r"out\.argmax is missing"):
        oneread.read(x, argmax=True, out=(out.lse, out.max, None))
    half = oneread.read(x, entropy=True, dtype="float16")
    assert half.entropy.dtype == torch.float16


def test_a_graph_replays_on_new_numbers() -> None:
    x = torch.randn(8, 50_257, device="cuda")
    select = torch.zeros(8, dtype=torch.int64, device="cuda")
    out = oneread.read(x, select=select, **EVERYTHING)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        oneread.read(x, select=select, out=out, **EVERYTHING)
    for seed in range(3):
        held = inputs("normal", 8, 50_257, "float32", seed)
        columns = chosen(held, 1, seed)[:, 0]
        x.copy_(held)
        select.copy_(torch.from_numpy(columns))
        graph.replay()
        torch.cuda.synchronize()
        assert_close_to_truth(on_cpu(out), held, "read", select=columns, **EVERYTHING)


def test_warm_lets_the_first_call_be_one_in_a_graph() -> None:
    x = torch.randn(3, 7777, device="cuda").half()
    out = Read(*[torch.empty(3, device="cuda") for _ in range(2)])
    out = out._replace(entropy=torch.empty(3, device="cuda"))
    oneread.warm("read", (3, 7777), "float16", device="cuda", entropy=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        oneread.read(x, entropy=True, out=out)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out.entropy, oneread.read(x, entropy=True).entropy)


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_nothing_waits_for_the_gpu() -> None:
    x = torch.randn(100, 5000, device="cuda")
    select = torch.zeros(100, dtype=torch.int64, device="cuda")
    logit = x[:, 0].clone()

    def all_of_it() -> Any:
        oneread.read(x, select=select, **EVERYTHING)
        oneread.read(x, select=[1] * 100, rank=True)
        options = {"select": select, "selected_logit": logit, "top_k": 7, **EVERYTHING}
        state = State.of(x[:, :2000], **options) | State.of(x[:, 2000:], offset=2000, **options)
        state.top_k("prob", renormalize=True)
        names = ("lse", "entropy", "selected", "rank", "argmax", "values", "indices", "logprobs")
        return [getattr(state, name) for name in names]

    all_of_it()
    torch.cuda.synchronize()
    try:
        torch.cuda.set_sync_debug_mode("error")
        all_of_it()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_a_row_gives_the_same_bits_in_any_batch_where_asked() -> None:
    x = torch.randn(500, 20_000, device="cuda")
    whole = oneread.read(x, deterministic="batch", entropy=True)
    for rows in (1, 3, 64):
        part = oneread.read(x[:rows], deterministic="batch", entropy=True)
        assert torch.equal(part.lse, whole.lse[:rows])
        assert torch.equal(part.entropy, whole.entropy[:rows])


# State


def state_of_parts(x: Any, edges: list[int], **options: Any) -> State:
    cuts = itertools.pairwise(edges)
    states = [State.of(x[..., a:b], offset=a, **options) for a, b in cuts]
    return functools.reduce(operator.or_, states)


@pytest.mark.parametrize("family", ["normal", "ties", "masked_first_tile", "masked_all", "nan",
                                    "plus_inf", "gap", "large_offset", "huge"])  # fmt: skip
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_row_in_parts_is_one_read_of_it(family: str, dtype: str) -> None:
    x = inputs(family, 6, 3001, dtype)
    columns = chosen(x)
    logits = torch.gather(x, -1, torch.from_numpy(columns)).double()
    options = {"select": columns, **EVERYTHING}
    for edges in ([0, 3001], [0, 1, 700, 701, 3001], [0, 1500, 1500, 3001]):
        state = state_of_parts(x.cuda(), edges, selected_logit=logits, **options)
        got = Read(**{name: getattr(state, name) for name in Read._fields})
        assert_close_to_truth(on_cpu(got), x, "read", **options)


def test_merging_is_the_same_in_either_order_and_leaves_both_as_they_were() -> None:
    x = torch.randn(20, 900, device="cuda")
    a = State.of(x[:, :300], entropy=True)
    b = State.of(x[:, 300:], offset=300, entropy=True)
    before = a.lse
    one, other = a | b, b | a
    assert torch.equal(one.lse, other.lse)
    assert torch.equal(one.entropy, other.entropy)
    assert torch.equal(a.lse, before)
    assert one.lse.is_cuda


def test_update_goes_on_with_the_next_columns() -> None:
    x = torch.randn(4, 900, device="cuda")
    state = State.of(x[:, :300], argmax=True)
    assert state.update(x[:, 300:]) is state
    assert torch.equal(state.argmax, x.argmax(-1))


@pytest.mark.parametrize("family", ["normal", "ties", "masked_first_tile", "masked_all", "nan",
                                    "plus_inf", "constant", "sorted_up", "huge"])  # fmt: skip
@pytest.mark.parametrize("dtype", FLOATS)
def test_first_columns_of_parts_are_those_of_the_cpu_bit_for_bit(family: str, dtype: str) -> None:
    x = inputs(family, 6, 3001, dtype)
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]
    for k in (1, 10, 300, 2500):
        want = State.of(x, top_k=k)
        for edges in ([0, 3001], [0, 1, 700, 701, 3001]):
            state = state_of_parts(x.cuda(), edges, top_k=k, argmax=True)
            assert state.values.is_cuda
            assert state.indices.is_cuda
            for got in (state, pickle.loads(pickle.dumps(state))):
                assert torch.equal(got.indices.cpu(), want.indices)
                assert torch.equal(got.values.cpu().view(bits), want.values.view(bits))
                assert torch.equal(got.argmax.cpu(), want.indices[:, 0])


def test_a_merge_of_first_columns_replays_in_a_graph_on_new_numbers() -> None:
    x = torch.randn(8, 5000, device="cuda")

    def both() -> tuple[Any, Any]:
        a, b = State.of(x[:, :2000], top_k=20), State.of(x[:, 2000:], offset=2000, top_k=20)
        merged = a | b
        return merged.values, merged.indices

    both()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        values, indices = both()
    x.copy_(torch.randn_like(x).round())
    graph.replay()
    torch.cuda.synchronize()
    want = oneread.top_k(x.cpu(), 20)
    assert torch.equal(indices.cpu(), want.indices)
    assert torch.equal(values.cpu(), want.values)


def test_a_state_travels_to_a_cpu_as_bytes() -> None:
    x = inputs("normal", 4, 900, "float32")
    state = State.of(x.cuda(), argmax=True, entropy=True, sum_p2=True)
    there = pickle.loads(pickle.dumps(state))
    assert not there.lse.is_cuda
    for name in ("lse", "max", "argmax", "entropy", "sum_p2"):
        assert torch.equal(getattr(there, name), getattr(state, name).cpu())
    with pytest.raises(BackendUnavailableError, match="cannot be merged"):
        state | there


def test_a_column_read_twice_or_never_is_named_where_that_is_known() -> None:
    x = torch.randn(4, 900, device="cuda")
    with pytest.raises(ShapeError, match="read by both"):
        State.of(x, select=3) | State.of(x, select=3)
    with pytest.raises(ShapeError, match="none of the"):
        _ = State.of(x, select=900).selected
    far = torch.full((4,), 900, device="cuda")
    assert bool(State.of(x, select=far).selected.isnan().all())


def test_log_probabilities_of_numbers_are_those_of_the_rows() -> None:
    x = inputs("normal", 4, 900, "float32")
    got = State.of(x.cuda()).logprob(x.cuda())
    assert_close_to_truth(got.cpu(), x, "log_softmax")


def test_temperature_may_be_one_a_row() -> None:
    x = inputs("normal", 4, 900, "float32")
    temperature = np.array([0.5, 1.0, 2.0, 1e-3])
    for given in (temperature, torch.from_numpy(temperature).cuda()):
        state = state_of_parts(x.cuda(), [0, 300, 900], temperature=given, entropy=True)
        got = Read(**{name: getattr(state, name) for name in Read._fields})
        assert_close_to_truth(on_cpu(got), x, "read", temperature=temperature, entropy=True)
