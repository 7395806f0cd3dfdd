"""Top-k on a GPU finds what it finds on a CPU, whatever the rows hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneread
from oneread.testing import FAMILIES, assert_close_to_truth, assert_conforms
from oneread.testing.arrays import numpy_dtype

torch = pytest.importorskip("torch", reason="tensors on a GPU are PyTorch's")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU"),
]

OPS = ("top_k", "softmax_topk")
FLOATS = ("float32", "float64", "float16", "bfloat16")


def on_gpu(array: Any) -> Any:
    """Return a NumPy array as a tensor on the GPU, with its strides where torch has such."""
    if not isinstance(array, np.ndarray):
        return array
    if array.dtype.name == "bfloat16":
        return on_gpu(array.view(np.int16)).view(torch.bfloat16)
    if any(step < 0 for step in array.strides):
        array = array.copy()
    return torch.from_numpy(array).cuda()


def on_cpu(result: Any) -> Any:
    """Return a result with its tensors on the CPU."""
    return type(result)(*[one.cpu() for one in result])


def implementation(op: str) -> Any:
    def run(x: Any, **options: Any) -> Any:
        given = {name: on_gpu(value) for name, value in options.items()}
        return on_cpu(getattr(oneread, op)(on_gpu(x), **given))

    return run


def same_bits(a: Any, b: Any) -> bool:
    return a.dtype == b.dtype and torch.equal(a.view(torch.uint8), b.view(torch.uint8))


def adversaries(rows: int, vocab: int) -> dict[str, Any]:
    """Return rows that a bound or a list of limited length may fail at."""
    rng = np.random.default_rng(vocab)
    normal = rng.normal(0, 3, (rows, vocab)).astype(np.float32)
    chance = rng.random((rows, vocab))
    return {
        "random": normal,
        "ascending": np.sort(normal, axis=1),
        "descending": -np.sort(-normal, axis=1),
        "all_equal": np.full((rows, vocab), -1.5, np.float32),
        "few_distinct": np.floor(3 * chance).astype(np.float32),
        "zeros_of_both_signs": np.copysign(np.float32(0), normal),
        "masked": np.where(chance < 0.97, np.float32(-np.inf), normal),
        "none_is_finite": np.full((rows, vocab), -np.inf, np.float32),
        "with_nan": np.where(chance < 0.05, np.float32(np.nan), normal),
        "nan_alone": np.full((rows, vocab), np.nan, np.float32),
        "plus_inf": np.where(chance < 0.1, np.float32(np.inf), normal),
        "huge": np.where(chance < 0.5, np.float32(3e38), np.float32(-3e38)),
    }


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("vocab", [1, 37, 1000, 4097, 50_257, 128_256])
@pytest.mark.parametrize("rows", [3, 70])
def test_winners_of_adversarial_rows_are_those_of_the_cpu(
    rows: int, vocab: int, dtype: str
) -> None:
    for name, numbers in adversaries(rows, vocab).items():
        with np.errstate(over="ignore"):
            x = numbers.astype(numpy_dtype(dtype))
        here = on_gpu(x)
        for k in sorted({min(k, vocab) for k in (1, 10, 64)}):
            got, want = oneread.top_k(here, k), oneread.top_k(here.cpu(), k)
            assert torch.equal(got.indices.cpu(), want.indices), (name, k)
            assert same_bits(got.values.cpu(), want.values), (name, k)
            both = oneread.softmax_topk(here, k)
            assert torch.equal(both.indices.cpu(), want.indices), (name, k)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("vocab", [331, 9000])
def test_every_family_is_close_to_the_truth(op: str, dtype: str, vocab: int) -> None:
    assert_conforms(implementation(op), op, dtype=dtype, vocab=vocab, without=("where", "lengths"))


@pytest.mark.parametrize("vocab", [64, 1000, 25_000, 128_256, 300_001, 2_000_003])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("rows", [2, 70])
def test_every_length_is_close_to_the_truth(rows: int, vocab: int, dtype: str) -> None:
    for family in ("normal", "spiky", "masked_first_tile"):
        x = FAMILIES[family](rows if vocab < 10**6 else 2, vocab, dtype, vocab)
        got = on_cpu(oneread.softmax_topk(on_gpu(x), 64, return_lse=True))
        assert_close_to_truth(got, x, "softmax_topk", k=64, return_lse=True)


@pytest.mark.parametrize("offset", range(8))
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("vocab", [7, 1001, 50_257])
def test_rows_at_any_address_take_nothing_from_beside_them(
    offset: int, dtype: str, vocab: int
) -> None:
    rows = 9
    x = FAMILIES["normal"](rows, vocab, dtype, offset)
    kind = getattr(torch, dtype)
    memory = torch.full((rows * (vocab + 3) + 16,), float("inf"), dtype=kind, device="cuda")
    view = memory.as_strided((rows, vocab), (vocab + 3, 1), offset)
    view.copy_(on_gpu(x))
    got = on_cpu(oneread.softmax_topk(view, 7))
    assert_close_to_truth(got, x, "softmax_topk", k=7)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_k_takes_the_place_of_the_axis(axis: int | None) -> None:
    x = torch.randn(40, 9, 50, device="cuda")
    got, want = oneread.softmax_topk(x, 6, axis), oneread.softmax_topk(x.cpu(), 6, axis)
    assert torch.equal(got.indices.cpu(), want.indices)
    assert got.values.shape == want.values.shape


def test_results_are_written_where_they_shall_go() -> None:
    x = torch.randn(70, 1000, device="cuda")
    want = oneread.softmax_topk(x, 5, return_lse=True)
    out = tuple(torch.zeros_like(one) for one in want)
    got = oneread.softmax_topk(x, 5, return_lse=True, out=out)
    assert all(a is b for a, b in zip(got, out, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(got, want, strict=True))
    turned = torch.zeros(5, 70, device="cuda").T, torch.zeros_like(want.indices)
    oneread.softmax_topk(x, 5, out=turned)
    assert torch.equal(turned[0], want.values)
    memory = torch.zeros(70, 5, device="cuda", dtype=torch.int64)
    with pytest.raises(oneread.ShapeError, match="shares memory"):
        oneread.top_k(x.double(), 5, out=(memory.view(torch.float64), memory))


@pytest.mark.parametrize("index_dtype", ["int32", "int16"])
def test_indices_come_in_the_type_asked_for(index_dtype: str) -> None:
    x = torch.randn(3, 5000, device="cuda")
    got = oneread.top_k(x, 4, index_dtype=index_dtype)
    assert got.indices.dtype == getattr(torch, index_dtype)
    assert torch.equal(got.indices.long(), x.topk(4).indices)


def test_types_are_those_of_the_cpu() -> None:
    options: list[dict[str, Any]] = [
        {}, {"kind": "logit"}, {"dtype": "float64"}, {"kind": "logit", "return_lse": True},
        {"dtype": "float16", "renormalize": True}, {"return_lse": True, "dtype": "float64"},
    ]  # fmt: skip
    for dtype in ("bfloat16", "float32", "int32", "bool", "float64"):
        x = (torch.randn(4, 90) * 3).to(getattr(torch, dtype))
        for given in options:
            got, want = (oneread.softmax_topk(y, 3, **given) for y in (x.cuda(), x))
            assert [one.dtype for one in got] == [one.dtype for one in want], (dtype, given)
            assert torch.equal(got.indices.cpu(), want.indices)


def test_no_winners_of_no_columns() -> None:
    for shape in ((3, 0), (0, 5), (3, 5)):
        x = torch.zeros(shape, device="cuda")
        got = oneread.softmax_topk(x, 0, return_lse=True)
        want = oneread.softmax_topk(x.cpu(), 0, return_lse=True)
        assert [one.shape for one in got] == [one.shape for one in want]
        assert torch.equal(got.lse.cpu(), want.lse)


def test_more_winners_than_columns_are_refused_by_number() -> None:
    with pytest.raises(oneread.ShapeError, match="k is 9"):
        oneread.top_k(torch.randn(4, 8, device="cuda"), 9)


#: On either side of what each kernel finds, and beyond all of them.
LARGE = (65, 255, 256, 1000, 2047, 2048, 2049, 5000)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("vocab", [66, 1000, 4097, 50_257, 128_256])
@pytest.mark.parametrize("rows", [2, 70])
def test_many_winners_of_adversarial_rows_are_those_of_the_cpu(
    rows: int, vocab: int, dtype: str
) -> None:
    for name, numbers in adversaries(rows, vocab).items():
        with np.errstate(over="ignore"):
            x = numbers.astype(numpy_dtype(dtype))
        here = on_gpu(x)
        for k in sorted({min(k, vocab) for k in LARGE}):
            got, want = oneread.top_k(here, k), oneread.top_k(here.cpu(), k)
            assert torch.equal(got.indices.cpu(), want.indices), (name, k)
            assert same_bits(got.values.cpu(), want.values), (name, k)
            both = oneread.softmax_topk(here, k)
            assert torch.equal(both.indices.cpu(), want.indices), (name, k)


@pytest.mark.parametrize("k", LARGE)
@pytest.mark.parametrize("kind", ["prob", "logprob"])
@pytest.mark.parametrize("renormalize", [False, True])
def test_many_probabilities_are_close_to_the_truth(k: int, kind: str, renormalize: bool) -> None:
    options = {"k": k, "kind": kind, "renormalize": renormalize, "return_lse": True}
    for rows, vocab in ((3, 40_001), (70, 9000)):
        temperature = np.linspace(0.5, 3, rows)
        for family in ("normal", "spiky", "masked_first_tile"):
            x = FAMILIES[family](rows, vocab, "float32", 0)
            got = implementation("softmax_topk")(x, temperature=temperature, **options)
            assert_close_to_truth(got, x, "softmax_topk", temperature=temperature, **options)


def test_kernel_that_finds_many_winners_is_named() -> None:
    x = torch.randn(70, 5000, device="cuda")
    names = {}
    for k in LARGE:
        oneread.softmax_topk(x, min(k, 5000))
        record = oneread.last_kernel()
        assert record is not None
        names[k] = record.name
    assert set(names.values()) == {"big_topk", "sort_topk"}
    assert [k for k in LARGE if names[k] == "sort_topk"] == [2049, 5000]


@pytest.mark.parametrize("k", [500, 3000])
def test_many_winners_in_a_graph_replayed_on_new_numbers(k: int) -> None:
    x = torch.randn(8, 50_000, device="cuda")
    oneread.warm("softmax_topk", (8, 50_000), "float32", device="cuda", k=k)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = oneread.softmax_topk(x, k)
    for seed in range(3):
        held = FAMILIES["normal"](8, 50_000, "float32", seed)
        x.copy_(on_gpu(held))
        graph.replay()
        torch.cuda.synchronize()
        assert_close_to_truth(on_cpu(oneread.SoftmaxTopK(*got[:2])), held, "softmax_topk", k=k)


def test_a_graph_replays_on_new_numbers() -> None:
    for vocab in (100, 5000, 128_256):
        x = torch.randn(8, vocab, device="cuda")
        oneread.warm("softmax_topk", (8, vocab), "float32", device="cuda", k=10)
        out = (
            torch.empty(8, 10, device="cuda"),
            torch.empty(8, 10, device="cuda", dtype=torch.int64),
        )
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            oneread.softmax_topk(x, 10, out=out)
        for seed in range(3):
            held = FAMILIES["normal"](8, vocab, "float32", seed)
            x.copy_(on_gpu(held))
            graph.replay()
            torch.cuda.synchronize()
            got = oneread.SoftmaxTopK(out[0].cpu(), out[1].cpu())
            assert_close_to_truth(got, held, "softmax_topk", k=10)


def test_a_row_gives_the_same_bits_in_any_batch_where_asked() -> None:
    x = torch.randn(500, 20_000, device="cuda")
    whole = oneread.softmax_topk(x, 10, deterministic="batch")
    for rows in (1, 3, 64):
        part = oneread.softmax_topk(x[:rows], 10, deterministic="batch")
        assert torch.equal(part.values, whole.values[:rows])


def test_the_same_call_gives_the_same_bits() -> None:
    x = torch.randint(0, 50, (3000, 5001), device="cuda").bfloat16()
    first = oneread.softmax_topk(x, 64)
    for _ in range(20):
        again = oneread.softmax_topk(x, 64)
        assert torch.equal(again.values, first.values)
        assert torch.equal(again.indices, first.indices)


def test_many_fresh_rows_agree_with_a_sort() -> None:
    for seed in range(20):
        torch.manual_seed(seed)
        x = torch.randn(20_000, 1 << seed % 5 + 8, device="cuda").to(
            torch.bfloat16 if seed % 2 else torch.float32
        )
        got = oneread.top_k(x, 64)
        want = x.float().sort(dim=-1, descending=True, stable=True).indices[:, :64]
        assert torch.equal(got.indices, want)


def test_more_than_2_to_the_31_columns() -> None:
    x = torch.empty(2, (1 << 31) + 1000, device="cuda", dtype=torch.bfloat16).normal_()
    x[0, 5], x[1, -3] = 100, 100
    got = oneread.softmax_topk(x, 3)
    assert got.indices[:, 0].tolist() == [5, (1 << 31) + 997]
    assert got.indices.amax() < x.shape[1]


def test_kernel_that_ran_is_named() -> None:
    for vocab, name in ((1000, "topk_row"), (5000, "topk")):
        oneread.top_k(torch.randn(400, vocab, device="cuda"), 3)
        record = oneread.last_kernel()
        assert record is not None
        assert (record.name, record.device) == (name, "cuda:0")
