"""Masks and lengths of top-k, `read` and `State` on a GPU give what they give on a CPU."""

from __future__ import annotations

from typing import Any

import pytest

import oneread
from oneread import State

torch = pytest.importorskip("torch", reason="tensors on a GPU are PyTorch's")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU"),
]

MASKS = ("half", "few", "lengths", "both", "one for all", "one a row")
each_mask = pytest.mark.parametrize("mask", MASKS)


def options_of(mask: str, rows: int, vocab: int) -> dict[str, Any]:
    """Return what leaves columns out: half of them, nearly all, the ends of rows, whole rows."""
    torch.manual_seed(vocab)
    chance = torch.rand(rows, vocab, device="cuda")
    lengths = torch.randint(0, vocab + 1, (rows,), device="cuda")
    lengths[0] = min(vocab, 5)
    return {
        "half": {"where": chance < 0.5}, "few": {"where": chance < 30 / vocab},
        "lengths": {"lengths": lengths}, "both": {"where": chance < 0.5, "lengths": lengths},
        "one for all": {"where": (chance < 0.5)[:1]}, "one a row": {"where": chance[:, :1] < 0.5},
    }[mask]  # fmt: skip


def there(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value.cpu() for name, value in options.items()}


def inputs(rows: int, vocab: int, dtype: str) -> dict[str, Any]:
    """Return rows of numbers, of ties, of -inf for the most part, with NaN, and that rise."""
    torch.manual_seed(rows)
    x = torch.randn(rows, vocab, device="cuda") * 3
    chance = torch.rand(rows, vocab, device="cuda")
    found = {
        "numbers": x, "ties": (3 * chance).floor(),
        "-inf": x.masked_fill(chance < 0.97, -torch.inf),
        "nan": x.masked_fill(chance < 0.05, torch.nan), "rising": x.sort(-1).values,
    }  # fmt: skip
    return {name: values.to(getattr(torch, dtype)) for name, values in found.items()}


def same_bits(a: Any, b: Any) -> bool:
    return torch.equal(a.view(torch.uint8), b.view(torch.uint8))


@each_mask
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("shape", [(6, 331), (5, 5001), (70, 20_000), (3, 128_256)])
def test_winners_are_those_of_the_cpu(shape: tuple[int, int], dtype: str, mask: str) -> None:
    options = options_of(mask, *shape)
    for name, x in inputs(*shape, dtype).items():
        for k in sorted({min(k, shape[1]) for k in (3, 64, 300, 2500)}):
            got = oneread.top_k(x, k, **options)
            want = oneread.top_k(x.cpu(), k, **there(options))
            assert torch.equal(got.indices.cpu(), want.indices), (name, k)
            assert same_bits(got.values.cpu(), want.values), (name, k)
            both = oneread.softmax_topk(x, k, **options)
            assert torch.equal(both.indices.cpu(), want.indices), (name, k)


@each_mask
@pytest.mark.parametrize("shape", [(6, 331), (70, 20_000), (3, 128_256)])
def test_probabilities_and_lse_are_near_those_of_the_cpu(shape: tuple[int, int], mask: str) -> None:
    options = options_of(mask, *shape)
    for x in inputs(*shape, "float32").values():
        for k in (7, 300):
            got = oneread.softmax_topk(x, k, return_lse=True, **options)
            want = oneread.softmax_topk(x.cpu(), k, return_lse=True, **there(options))
            near = {"rtol": 3e-6, "atol": 1e-37, "equal_nan": True}
            assert torch.allclose(got.values.cpu(), want.values, **near)
            assert torch.allclose(got.lse.cpu(), want.lse, **near | {"atol": 1e-6})


@each_mask
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("axis", [0, 1])
def test_read_is_that_of_the_cpu(axis: int, dtype: str, mask: str) -> None:
    options = options_of(mask, 40, 3001)
    flags = dict.fromkeys(("rank", "entropy", "sum_p2", "argmax"), True)
    columns = torch.randint(0, 3001, (40, 3))
    masks = {k: v.T if axis == 0 and k == "where" else v for k, v in options.items()}
    asked = {"select": columns, "axis": axis, "top_k": 9, **flags}
    for name, rows in inputs(40, 3001, dtype).items():
        x = rows.T.contiguous() if axis == 0 else rows
        got = oneread.read(x, **asked, **masks)
        want = oneread.read(x.cpu(), **asked, **there(masks))
        for field in ("rank", "argmax", "indices", "values", "max"):
            one, other = getattr(got, field).cpu(), getattr(want, field)
            assert torch.equal(one.nan_to_num(), other.nan_to_num()), (name, field)
        for field in ("lse", "selected", "entropy", "sum_p2", "logprobs"):
            one, other = getattr(got, field).cpu(), getattr(want, field)
            assert torch.allclose(one, other, rtol=2e-5, atol=2e-5, equal_nan=True), (name, field)


@each_mask
def test_states_of_parts_are_those_of_the_cpu(mask: str) -> None:
    options = {"where": None, "lengths": None} | options_of(mask, 30, 900)
    flags = {"entropy": True, "argmax": True, "select": torch.randint(0, 900, (30,)), "top_k": 100}

    def of(x: Any, options: dict[str, Any]) -> Any:
        where, lengths = options["where"], options["lengths"]
        parts = []
        for a, b in ((0, 400), (400, 900)):
            masks = {
                "where": where if where is None or where.shape[1] == 1 else where[:, a:b],
                "lengths": lengths if lengths is None else (lengths - a).clip(0, b - a),
            }
            parts.append(State.of(x[:, a:b], offset=a, **flags, **masks))
        return parts[0] | parts[1]

    held = {name: None if value is None else value.cpu() for name, value in options.items()}
    for name, x in inputs(30, 900, "float32").items():
        got, want = of(x, options), of(x.cpu(), held)
        for field in ("argmax", "indices"):
            assert torch.equal(getattr(got, field).cpu(), getattr(want, field)), (name, field)
        assert torch.equal(got.values.cpu().nan_to_num(nan=7), want.values.nan_to_num(nan=7)), name
        for field in ("lse", "entropy", "selected"):
            one, other = getattr(got, field).cpu(), getattr(want, field)
            assert torch.allclose(one, other, rtol=2e-5, atol=2e-5, equal_nan=True), (name, field)


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_nothing_waits_for_masks_and_lengths_on_the_gpu() -> None:
    x = torch.randn(50, 4000, device="cuda")
    options = options_of("both", 50, 4000)

    def all_of_it() -> None:
        oneread.top_k(x, 9, **options)
        oneread.softmax_topk(x, 300, **options)
        oneread.read(x, top_k=3, entropy=True, **options)
        State.of(x, argmax=True, **options)
        State.of(x, top_k=9, **options)

    all_of_it()
    torch.cuda.synchronize()
    try:
        torch.cuda.set_sync_debug_mode("error")
        all_of_it()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_a_graph_replays_on_new_masks() -> None:
    x, where = torch.randn(8, 5000, device="cuda"), torch.ones(8, 5000, dtype=torch.bool).cuda()
    oneread.top_k(x, 20, where=where)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = oneread.top_k(x, 20, where=where)
    for seed in range(3):
        torch.manual_seed(seed)
        where.copy_(torch.rand(8, 5000, device="cuda") < 0.1)
        graph.replay()
        torch.cuda.synchronize()
        want = oneread.top_k(x.cpu(), 20, where=where.cpu())
        assert torch.equal(got.indices.cpu(), want.indices)
