"""The ops on a GPU give what they give on a CPU, and launch as a server needs it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import oneread
from oneread.runtime import gpu as machine
from oneread.testing import FAMILIES, assert_close_to_truth, assert_conforms

torch = pytest.importorskip("torch", reason="tensors on a GPU are PyTorch's")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU"),
]

OPS = ("softmax", "log_softmax", "logsumexp")
FLOATS = ("float32", "float64", "float16", "bfloat16")
#: One length for each kernel and launch shape, most of them no multiple of anything.
LENGTHS = (1, 3, 10, 33, 129, 250, 1000, 2047, 4000, 8192, 16385, 32768, 50257, 65537, 128256)
LONG = (262_144, 300_001, 2_000_003)


def on_gpu(array: Any) -> Any:
    """Return a NumPy array as a tensor on the GPU, with its strides where torch has such."""
    if not isinstance(array, np.ndarray):
        return array
    if array.dtype.name == "bfloat16":
        return on_gpu(array.view(np.int16)).view(torch.bfloat16)
    if any(step < 0 for step in array.strides):
        array = array.copy()
    return torch.from_numpy(array).cuda()


def on_cpu(tensor: Any) -> Any:
    return tensor.cpu()


def implementation(op: str, **fixed: Any) -> Any:
    def run(x: Any, **options: Any) -> Any:
        given = {name: on_gpu(value) for name, value in options.items()}
        return on_cpu(getattr(oneread, op)(on_gpu(x), **given, **fixed))

    return run


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("vocab", [331, 4096, 70_001])
def test_every_family_is_close_to_the_truth(op: str, dtype: str, vocab: int) -> None:
    assert_conforms(implementation(op), op, dtype=dtype, vocab=vocab, without=("where", "lengths"))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("vocab", LENGTHS)
@pytest.mark.parametrize("rows", [7, 100])
def test_every_length_is_close_to_the_truth(op: str, dtype: str, vocab: int, rows: int) -> None:
    for family in ("normal", "spiky", "masked_first_tile"):
        x = FAMILIES[family](rows, vocab, dtype, vocab)
        assert_close_to_truth(implementation(op)(x), x, op)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("vocab", LONG)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_long_rows_are_close_to_the_truth(op: str, dtype: str, vocab: int) -> None:
    for family in ("normal", "constant", "spiky"):
        x = FAMILIES[family](3, vocab, dtype, 1)
        assert_close_to_truth(implementation(op)(x), x, op)


@pytest.mark.parametrize("offset", range(8))
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("vocab", [7, 129, 1001, 5000, 50_257])
def test_rows_at_any_address_touch_nothing_beside_them(offset: int, dtype: str, vocab: int) -> None:
    rows = 9
    x = FAMILIES["normal"](rows, vocab, dtype, offset)
    kind = getattr(torch, dtype)
    memory = torch.full((rows * (vocab + 3) + 16,), float("nan"), dtype=kind, device="cuda")
    view = memory[offset:].as_strided((rows, vocab), (vocab + 3, 1), offset)
    view.copy_(on_gpu(x))
    out_memory = torch.full_like(memory, 7.0)
    for out_offset in (offset, (offset + 1) % 8):
        out = out_memory.as_strided((rows, vocab), (vocab + 3, 1), out_offset)
        oneread.softmax(view, out=out)
        assert_close_to_truth(on_cpu(out.clone()), x, "softmax")
        out.fill_(7.0)
        assert bool((out_memory == 7.0).all())


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "shape",
    [(6, 70, 5), (1, 300, 33), (40, 64, 64), (2, 3, 1), (3, 16, 96), (2, 1024, 64), (1, 4001, 50)],
)
def test_a_row_along_another_axis_is_close_to_the_truth(
    op: str, dtype: str, shape: tuple[int, ...]
) -> None:
    x = FAMILIES["normal"](shape[0], shape[1] * shape[2], dtype, 0).reshape(shape)
    got = getattr(oneread, op)(on_gpu(x), axis=1)
    rows = np.moveaxis(x, 1, -1).reshape(-1, shape[1])
    flat = got if op == "logsumexp" else got.movedim(1, -1)
    flat = flat.reshape(rows.shape[0], -1) if op != "logsumexp" else flat.reshape(-1)
    assert_close_to_truth(on_cpu(flat), rows, op)


@pytest.mark.parametrize("axis", [None, (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("op", OPS)
def test_several_axes_make_one_row(op: str, axis: Any) -> None:
    x = np.random.default_rng(0).normal(0, 3, (4, 5, 6)).astype(np.float32)
    assert_close_to_truth(implementation(op)(x, axis=axis), x, op, axis=axis)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0,), ()])
def test_empty_and_single(shape: tuple[int, ...]) -> None:
    x = torch.zeros(shape, device="cuda")
    for op in OPS:
        got, want = getattr(oneread, op)(x), getattr(oneread, op)(x.cpu())
        assert torch.equal(got.cpu(), want)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "bool"])
def test_integers_are_converted_first(dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, 2, (5, 40)).astype(dtype)
    for op in OPS:
        got = implementation(op)(x)
        assert got.dtype == getattr(oneread, op)(torch.from_numpy(x)).dtype
        assert_close_to_truth(got, x, op)


def test_dtype_is_that_of_the_result() -> None:
    x = torch.randn(5, 1000, device="cuda").bfloat16()
    wide = {dtype: oneread.softmax(x, dtype=dtype) for dtype in ("float32", "float64")}
    for dtype, y in wide.items():
        assert y.dtype == getattr(torch, dtype)
        assert_close_to_truth(on_cpu(y), x.to(y.dtype).cpu(), "softmax")
    assert torch.equal(oneread.softmax(x, dtype="float16"), wide["float32"].half())


def test_result_may_be_the_input() -> None:
    for vocab in (100, 5000, 50_257, 600_000):
        x = torch.randn(70, vocab, device="cuda")
        held = x.cpu().numpy()
        assert oneread.softmax(x, out=x) is x
        assert_close_to_truth(x.cpu(), held, "softmax")


def test_output_of_its_own_is_checked() -> None:
    x = torch.randn(4, 8, device="cuda")
    with pytest.raises(oneread.ShapeError, match="shape"):
        oneread.softmax(x, out=torch.empty(4, 9, device="cuda"))
    with pytest.raises(oneread.DtypeError, match="float64"):
        oneread.softmax(x, out=torch.empty(4, 8, device="cuda", dtype=torch.float64))
    with pytest.raises(oneread.BackendUnavailableError, match="cpu"):
        oneread.softmax(x, out=torch.empty(4, 8))
    flat = torch.randn(40, device="cuda")
    with pytest.raises(oneread.ShapeError, match="shares memory"):
        oneread.softmax(flat[:32].view(4, 8), out=flat[4:36].view(4, 8))


def test_temperature_of_each_row_may_lie_on_the_gpu() -> None:
    x = FAMILIES["normal"](20, 300, "float32", 0)
    temperature = np.random.default_rng(0).uniform(0.3, 3, 20)
    got = oneread.softmax(on_gpu(x), temperature=torch.from_numpy(temperature).cuda())
    assert_close_to_truth(on_cpu(got), x, "softmax", temperature=temperature)


def test_bad_temperature_on_the_gpu_gives_a_row_of_nan() -> None:
    x = torch.randn(3, 300, device="cuda")
    y = oneread.softmax(x, temperature=torch.tensor([1.0, 0.0, 2.0], device="cuda"))
    assert y.isnan().all(-1).tolist() == [False, True, False]


def test_kernel_that_ran_is_named_and_a_cpu_op_names_its_own_again() -> None:
    oneread.softmax(torch.randn(4000, 1000, device="cuda"))
    record = oneread.last_kernel()
    assert record is not None
    assert (record.name, record.device, record.isa[:3]) == ("softmax_row", "cuda:0", "sm_")
    oneread.softmax(np.zeros((2, 3), np.float32))
    record = oneread.last_kernel()
    assert record is not None
    assert record.device == "cpu"


def test_a_graph_replays_on_new_numbers() -> None:
    for vocab in (100, 5000, 128_256):
        x = torch.randn(8, vocab, device="cuda")
        y, lse = torch.empty_like(x), torch.empty(8, device="cuda")
        oneread.softmax(x, out=y)
        oneread.logsumexp(x, out=lse)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            oneread.softmax(x, out=y)
            oneread.logsumexp(x, out=lse)
        for seed in range(3):
            held = FAMILIES["normal"](8, vocab, "float32", seed)
            x.copy_(on_gpu(held))
            graph.replay()
            torch.cuda.synchronize()
            assert_close_to_truth(y.cpu(), held, "softmax")
            assert_close_to_truth(lse.cpu(), held, "logsumexp")


def test_warm_lets_the_first_call_be_one_in_a_graph() -> None:
    x = torch.randn(3, 7777, device="cuda").bfloat16()
    y = torch.empty_like(x)
    oneread.warm("softmax", (3, 7777), "bfloat16", device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        oneread.softmax(x, out=y)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(y, oneread.softmax(x))


def test_work_goes_to_the_current_stream() -> None:
    stream = torch.cuda.Stream()
    x = torch.randn(2000, 4000, device="cuda")
    want = oneread.softmax(x)
    torch.cuda.synchronize()
    y = torch.zeros_like(x)
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        oneread.softmax(x, out=y)
        assert not stream.query()
    stream.synchronize()
    assert torch.equal(y, want)


def test_two_threads_on_streams_of_their_own_agree_with_one() -> None:
    inputs = [torch.randn(100, 3000 + i, device="cuda") for i in range(8)]
    want = [oneread.softmax(x) for x in inputs]
    torch.cuda.synchronize()
    wrong = []

    def work(seed: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            for i in range(200):
                n = (i + seed) % len(inputs)
                y = oneread.softmax(inputs[n])
                torch.cuda.current_stream().synchronize()
                if not torch.equal(y, want[n]):
                    wrong.append(n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("op", OPS)
def test_a_row_gives_the_same_bits_in_any_batch_where_asked(op: str) -> None:
    x = torch.randn(500, 20_000, device="cuda")
    whole = getattr(oneread, op)(x, deterministic="batch")
    for rows in (1, 3, 64):
        assert torch.equal(getattr(oneread, op)(x[:rows], deterministic="batch"), whole[:rows])


def test_the_same_call_gives_the_same_bits() -> None:
    x = torch.randn(3000, 5001, device="cuda").bfloat16()
    first = oneread.softmax(x)
    for _ in range(20):
        assert torch.equal(oneread.softmax(x), first)


def test_what_a_gpu_cannot_do_yet_is_refused_by_name() -> None:
    x = torch.randn(4, 8, device="cuda")
    with pytest.raises(oneread.BackendUnavailableError, match="threads"):
        oneread.softmax(x, threads=1)


def test_more_than_2_to_the_31_elements() -> None:
    vocab = 65_600
    rows = (1 << 31) // vocab + 8
    x = torch.empty(rows, vocab, device="cuda", dtype=torch.bfloat16).normal_()
    y = oneread.softmax(x)
    lse = oneread.logsumexp(x)
    for row in (0, rows - 1):
        held = on_cpu(x[row : row + 1])
        assert_close_to_truth(on_cpu(lse[row : row + 1]), held, "logsumexp")
        assert_close_to_truth(on_cpu(y[row : row + 1]), held, "softmax")


def test_driver_and_runner_name_the_same_target() -> None:
    from oneread.runtime import driver

    assert driver.device(0).target == machine.Gpu().target
