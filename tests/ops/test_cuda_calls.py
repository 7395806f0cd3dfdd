"""Calls on a GPU as a server makes them: threads, streams, graphs, errors."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import oneread
from oneread.runtime import cuda, driver
from oneread.testing import FAMILIES, assert_close_to_truth

torch = pytest.importorskip("torch", reason="tensors on a GPU are PyTorch's")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU"),
]

SHAPE = (10, 1000)


def normal(seed: int = 0) -> Any:
    return FAMILIES["normal"](*SHAPE, "float32", seed)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_plain_calls_of_sums_are_close_to_the_truth_fresh_and_in_place(dtype: str) -> None:
    held = torch.randn(SHAPE).to(getattr(torch, dtype))
    x, columns = held.cuda(), torch.randint(SHAPE[1], (SHAPE[0], 2))
    own: dict[str, Any] = {"rank": True, "entropy": True, "sum_p2": True, "argmax": True}
    for _ in range(2):  # made, and made again
        lse = oneread.logsumexp(x)
        assert oneread.logsumexp(x, out=lse) is lse
        assert_close_to_truth(lse.cpu(), held, "logsumexp")
        r = oneread.read(x, select=columns.cuda(), **own)
        assert oneread.read(x, select=columns.cuda(), out=r, **own) is r
        made = oneread.Read(*[None if field is None else field.cpu() for field in r])
        assert_close_to_truth(made, held, "read", select=columns.numpy(), **own)


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("vocab", [1000, 50_257])
def test_result_may_be_of_another_type(op: str, dtype: str, vocab: int) -> None:
    written = "bfloat16" if dtype == "float32" else "float32"
    held = torch.randn(7, vocab).to(getattr(torch, dtype))
    y = getattr(oneread, op)(held.cuda(), dtype=written)
    assert_close_to_truth(y.cpu(), held, op, dtype=written)
    record = oneread.last_kernel()
    assert record is not None
    assert record.dtype == dtype  # which was read as it is


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_plain_calls_are_close_to_the_truth_fresh_and_in_place(op: str, dtype: str) -> None:
    held = torch.randn(SHAPE).to(getattr(torch, dtype))
    x = held.cuda()
    out = torch.full_like(x, 7)
    for _ in range(2):  # made, and made again
        assert_close_to_truth(getattr(oneread, op)(x).cpu(), held, op)
        assert getattr(oneread, op)(x, out=out) is out
        assert_close_to_truth(out.cpu(), held, op)
    assert getattr(oneread, op)(x, out=x) is x
    assert_close_to_truth(x.cpu(), held, op)


def test_plain_call_counts_the_version_of_out() -> None:
    x = torch.randn(SHAPE, device="cuda")
    out = torch.empty_like(x)
    before = out._version
    oneread.softmax(x, out=out)
    assert out._version == before + 1


def test_gradients_are_not_lost() -> None:
    x = torch.randn(SHAPE, device="cuda", requires_grad=True)
    oneread.softmax(x).square().sum().backward()
    peer = x.detach().double().requires_grad_()
    peer.softmax(-1).square().sum().backward()
    torch.testing.assert_close(x.grad.double(), peer.grad)
    with torch.no_grad():
        assert_close_to_truth(oneread.softmax(x).cpu(), x.detach().cpu(), "softmax")


def test_thread_that_never_used_the_gpu_may_call() -> None:
    held = torch.from_numpy(normal())
    x, out = held.cuda(), torch.empty(SHAPE, device="cuda")
    failures: list[BaseException] = []

    def work() -> None:
        try:
            oneread.softmax(x, out=out)
        except BaseException as error:
            failures.append(error)

    torch.cuda.synchronize()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    torch.cuda.synchronize()
    assert not failures
    assert_close_to_truth(out.cpu(), held, "softmax")


def test_two_streams_at_once_do_not_mix() -> None:
    inputs = [torch.from_numpy(normal(seed)).cuda() for seed in range(2)]
    outputs = [torch.empty_like(x) for x in inputs]
    streams = [torch.cuda.Stream() for _ in inputs]
    torch.cuda.synchronize()
    for _ in range(100):
        for x, y, stream in zip(inputs, outputs, streams, strict=True):
            with torch.cuda.stream(stream):
                oneread.log_softmax(x, out=y)
    torch.cuda.synchronize()
    for seed, y in enumerate(outputs):
        assert_close_to_truth(y.cpu(), normal(seed), "log_softmax")


def test_side_stream_is_not_waited_for() -> None:
    x = torch.randn(SHAPE, device="cuda")
    out = torch.zeros_like(x)
    oneread.softmax(x, out=out)
    out.zero_()
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        oneread.softmax(x, out=out)
        assert not stream.query()
    stream.synchronize()
    assert float(out.sum()) == pytest.approx(SHAPE[0], abs=1e-3)


def test_graph_of_fresh_results_replays_on_new_numbers() -> None:
    x = torch.randn(SHAPE, device="cuda")
    where = torch.rand(SHAPE, device="cuda") < 0.5
    lengths = torch.full((SHAPE[0],), SHAPE[1], device="cuda")

    def work() -> Any:
        return (
            oneread.softmax(x), oneread.log_softmax(x, where=where),
            oneread.logsumexp(x, lengths=lengths),
        )  # fmt: skip

    work()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = work()
    for seed in range(1, 4):
        held = normal(seed)
        x.copy_(torch.from_numpy(held))
        where.copy_(torch.rand(SHAPE, device="cuda") < 0.5)
        lengths.fill_(100 * seed)
        graph.replay()
        torch.cuda.synchronize()
        assert_close_to_truth(made[0].cpu(), held, "softmax")
        assert_close_to_truth(made[1].cpu(), held, "log_softmax", where=where.cpu().numpy())
        assert_close_to_truth(made[2].cpu(), held, "logsumexp", lengths=lengths.cpu().numpy())


def test_error_of_a_launch_names_kernel_shape_and_gpu() -> None:
    x = torch.randn(SHAPE, device="cuda")
    oneread.softmax(x)
    record = oneread.last_kernel()
    assert record is not None
    code = cuda.cubins.compiled(cuda.source("softmax_row"), driver.device(0).target, DEFINES)
    function = driver.load(driver.device(0), code, "softmax_row")
    # More threads than any block may have.
    launch = cuda.Launch(function, 1, 4096, 0, [10, 1000, 1000, 1000], record, "softmax of 10 rows")
    with pytest.raises(oneread.BackendUnavailableError) as raised:
        launch(torch.cuda.current_stream().cuda_stream, x.data_ptr(), x.data_ptr())
    for part in ("softmax_row", "cuda:0", "softmax of 10 rows", "invalid argument"):
        assert part in str(raised.value)
    assert_close_to_truth(oneread.softmax(x).cpu(), x.cpu(), "softmax")


DEFINES = {
    "ELEMENT": 0, "VECTOR_BYTES": 16, "ALIGNED": 1, "TEMPERATURE": 0, "BLOCK_THREADS": 128,
    "ROW_THREADS": 128, "VECTORS": 2, "CLUSTER": 1, "MIN_BLOCKS": 1, "LOG": 0, "KEEP": 0,
}  # fmt: skip
