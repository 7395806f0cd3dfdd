"""oneread.torch on NVIDIA GPUs: gradients, streams, graphs, memory, several devices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from oneread import BackendUnavailableError, ShapeError
from oneread.testing import ulp

torch = pytest.importorskip("torch", reason="the tensors are PyTorch's")
import oneread.torch as ot  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use"),
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning",
                               "ignore::DeprecationWarning"),
]  # fmt: skip
two_gpus = pytest.mark.skipif(
    torch.cuda.is_available() and torch.cuda.device_count() < 2, reason="needs two GPUs"
)

ROWS, VOCAB = 9, 2003
HELD = torch.randn(ROWS, VOCAB, generator=torch.Generator().manual_seed(0)) * 3
TARGET = torch.tensor([0, -100, 5, 2002, 7, 7, 1000, -100, 1])
INDEX = TARGET.clamp(min=0)
SCALE = torch.linspace(0.5, 2, ROWS)

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "softmax": ot.softmax,
    "log_softmax": lambda x: ot.log_softmax(x, temperature=0.7),
    "softmax-first": lambda x: ot.softmax(x, 0),
    "logsumexp": lambda x: ot.logsumexp(x, temperature=SCALE.to(x.device)),
    "softmax_topk": lambda x: ot.softmax_topk(x, 5, kind="logprob").values,
    "entropy": lambda x: ot.entropy(x, temperature=0.5),
    "sum_p2": lambda x: ot.read(x, sum_p2=True).sum_p2,
    "logprobs": lambda x: ot.selective_log_softmax(x, INDEX.to(x.device)),
    "both": lambda x: sum(ot.logprobs_and_entropy(x, INDEX.to(x.device), temperature=0.7)),
    "cross_entropy": lambda x: ot.cross_entropy(x, TARGET.to(x.device)),
    "cross_entropy-every": lambda x: ot.cross_entropy(
        x,
        TARGET.to(x.device),
        weight=torch.linspace(0, 2, VOCAB).to(x.device),
        label_smoothing=0.1,
        z_loss=0.01,
        softcap=5.0,
        reduction="none",
    ),
    "cross_entropy-soft": lambda x: ot.cross_entropy(x, HELD.flip(0).softmax(-1).to(x.device)),
}
each_function = pytest.mark.parametrize("f", FUNCTIONS.values(), ids=list(FUNCTIONS))


def with_gradient(f: Any, x: Any) -> tuple[Any, Any]:
    leaf = x.detach().clone().requires_grad_()
    y = f(leaf)
    w = torch.arange(y.numel()).double().cos().reshape(y.shape).to(x.device)
    (y * w).sum().backward()
    return y.detach(), leaf.grad


def assert_near(got: Any, want: Any) -> None:
    """Fail unless results are as close to float64 ones as float32 sums of them can be."""
    for a, b in zip(got, want, strict=True):
        truth = b.double().cpu().numpy()
        size = np.abs(truth).max(initial=1e-9)
        dtype = str(a.dtype).removeprefix("torch.")
        # A power of an lse of about 16 is off by as many ulp, and in float64 both have one.
        allowed = (64 if dtype == "float64" else 16) * ulp(size, dtype)
        assert np.abs(a.double().cpu().numpy() - truth).max(initial=0) <= allowed


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@each_function
def test_gradients_are_those_of_float64_on_a_cpu(f: Any, dtype: Any) -> None:
    x = HELD.to(dtype)
    assert_near(with_gradient(f, x.cuda()), with_gradient(f, x.double()))


@each_function
def test_gradients_of_gradients_are_those_of_a_cpu(f: Any) -> None:
    def second(x: Any) -> Any:
        leaf = x.clone().requires_grad_()
        (grad,) = torch.autograd.grad(f(leaf).square().sum(), leaf, create_graph=True)
        (made,) = torch.autograd.grad(grad.square().sum(), leaf)
        return (made,)

    assert_near(second(HELD.double().cuda()), second(HELD.double()))


@each_function
def test_work_is_in_the_current_stream_forward_and_backward(f: Any) -> None:
    # pytorch/pytorch#22470
    want = with_gradient(f, HELD.cuda())
    stream = torch.cuda.Stream()
    x = torch.zeros(ROWS, VOCAB, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        x.copy_(HELD.cuda(), non_blocking=True)
        got = with_gradient(f, x)
    stream.synchronize()
    for a, b in zip(got, want, strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("name", ["softmax", "logsumexp", "both", "cross_entropy", "softmax_topk"])
def test_training_steps_are_captured_in_graphs(name: str) -> None:
    f = FUNCTIONS[name]
    target, index = TARGET.cuda(), INDEX.cuda()

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            if name == "cross_entropy":
                return ot.cross_entropy(x, target)
            if name == "both":
                return sum(ot.logprobs_and_entropy(x, index, temperature=0.7))
            if name == "logsumexp":
                return ot.logsumexp(x, temperature=0.7)
            return f(x)

    model = Model().cuda()
    want = with_gradient(model, HELD.cuda())
    sample = (torch.zeros(ROWS, VOCAB, device="cuda", requires_grad=True),)
    graphed = torch.cuda.make_graphed_callables(model, sample)
    got = with_gradient(graphed, HELD.cuda())
    for a, b in zip(got, want, strict=True):
        assert torch.equal(a, b)


@each_function
def test_compiled_code_equals_eager_code(f: Any) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    for a, b in zip(
        with_gradient(compiled, HELD.cuda()), with_gradient(f, HELD.cuda()), strict=True
    ):
        torch.testing.assert_close(a, b)


def test_types_under_autocast_are_those_of_torch() -> None:
    x = HELD.cuda().bfloat16().requires_grad_()
    with torch.autocast("cuda", torch.bfloat16):
        assert ot.softmax(x).dtype == torch.softmax(x, -1).dtype == torch.float32
        assert ot.log_softmax(x).dtype == torch.log_softmax(x, -1).dtype
        assert ot.logsumexp(x).dtype == torch.logsumexp(x, -1).dtype
        loss = ot.softmax(x).square().sum()
    loss.backward()
    assert x.grad.dtype == torch.bfloat16


def test_target_outside_the_classes_has_a_loss_of_nan() -> None:
    target = torch.tensor([0, VOCAB, -7, 3, 3, 3, 3, 3, 3], device="cuda")
    loss = ot.cross_entropy(HELD.cuda(), target, reduction="none")
    assert torch.isnan(loss).tolist() == [False, True, True] + [False] * 6


@pytest.mark.parametrize("shape", [(), (ROWS,)])
def test_temperature_on_the_gpu_is_not_looked_at_and_its_gradient_not_lost(shape: Any) -> None:
    heat = torch.full(shape, 0.7, dtype=torch.float64, device="cuda")
    x = HELD.double().cuda().requires_grad_()
    functions = (ot.softmax, ot.log_softmax, ot.logsumexp, ot.entropy)

    def gradients() -> list[Any]:
        made = [f(x, temperature=heat) for f in functions]
        return [torch.autograd.grad(y, x, torch.ones_like(y))[0] for y in made]

    want = [with_gradient(partial(f, temperature=0.7), x)[0] for f in functions]
    assert_near([f(x.detach(), temperature=heat) for f in functions], want)
    gradients()
    torch.cuda.synchronize()
    try:
        torch.cuda.set_sync_debug_mode("error")
        gradients()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    with pytest.raises(BackendUnavailableError, match="temperature requires a gradient"):
        ot.softmax(x.detach(), temperature=heat.requires_grad_())


def test_mixed_devices_are_refused() -> None:
    # triton-lang/triton#2441
    with pytest.raises(BackendUnavailableError, match="device cpu"):
        ot.cross_entropy(HELD.cuda(), TARGET)


def extra_bytes(f: Callable[[], Any]) -> int:
    """Return the most memory that a call took beyond what was there."""
    f()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    f()
    torch.cuda.synchronize()
    return int(torch.cuda.max_memory_allocated() - before)


SLACK = 1 << 20


def test_reading_takes_no_memory_as_long_as_the_rows() -> None:
    # vllm-project/vllm#48641
    x = torch.zeros(512, 50_257, device="cuda", dtype=torch.bfloat16)
    index = torch.zeros(512, device="cuda", dtype=torch.int64)
    assert extra_bytes(lambda: ot.logprobs_and_entropy(x, index)) < SLACK
    assert extra_bytes(lambda: ot.cross_entropy(x, index)) < SLACK
    assert extra_bytes(lambda: ot.softmax_topk(x, 20)) < SLACK


def test_backward_takes_one_gradient_or_nothing() -> None:
    w = torch.zeros(512, 50_257, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    index = torch.zeros(512, device="cuda", dtype=torch.int64)

    def step(f: Callable[[Any], Any]) -> Callable[[], Any]:
        return lambda: torch.autograd.grad(f(w), w)

    one = w.numel() * w.element_size()
    assert extra_bytes(step(lambda x: ot.cross_entropy(x, index))) <= one + SLACK
    both = step(lambda x: sum(ot.logprobs_and_entropy(x, index, temperature=0.7)).sum())
    assert extra_bytes(both) <= one + SLACK
    logits = w * 1

    def over() -> None:
        loss = ot.cross_entropy(logits, index, overwrite_logits=True)
        torch.autograd.grad(loss, logits)

    over()
    logits = w * 1
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    over()
    assert torch.cuda.max_memory_allocated() - before < SLACK


def test_offsets_beyond_2_to_the_31_elements_have_a_loss_and_a_gradient() -> None:
    # Dao-AILab/flash-attention#714
    rows, vocab = 42_735, 50_257
    if torch.cuda.mem_get_info()[0] < 12 << 30:
        pytest.skip("needs 12 GiB of a GPU")
    x = torch.zeros(rows, vocab, dtype=torch.bfloat16, device="cuda")
    x[-1, 7] = 10
    x.requires_grad_()
    loss = ot.cross_entropy(x, torch.full((rows,), 7, device="cuda"), reduction="none")
    first, last = float(loss[0]), float(loss[-1])
    assert abs(first - float(np.log(vocab))) <= ulp(first, "bfloat16")
    assert 0 < last < first / 2
    loss.sum().backward()
    want = torch.softmax(x[-1].detach().double(), -1)
    want[7] -= 1
    assert_near([x.grad[-1]], [want])


def test_more_than_2_to_the_31_columns_have_a_gradient() -> None:
    # pytorch/pytorch#103501
    if torch.cuda.mem_get_info()[0] < 12 << 30:
        pytest.skip("needs 12 GiB of a GPU")
    vocab = (1 << 31) + 64
    x = torch.zeros(1, vocab, dtype=torch.float16, device="cuda")
    special = [0, (1 << 31) - 1, 1 << 31, vocab - 1]
    x[0, special] = torch.tensor([5.0, 7.0, 9.0, 10.0], dtype=torch.float16, device="cuda")
    x.requires_grad_()
    lse = ot.logsumexp(x, dtype=torch.float32)
    lse.backward(torch.full((1,), 2.0**20, device="cuda"))  # those of zeros are numbers of float16
    places = [*special, 1, (1 << 31) + 1, vocab - 2]
    logits = x[:, places].detach().double()
    total = torch.logsumexp(
        torch.cat([logits[:, :4], logits.new_tensor([[np.log(vocab - 4)]])], 1), 1
    )
    assert_near([lse.detach()], [total])
    assert_near([x.grad[0, places]], [(logits[0] - total).exp() * 2.0**20])
    assert int((x.grad[0, 99::9973] != x.grad[0, 1]).sum()) == 0


def test_leaf_is_not_overwritten() -> None:
    x = HELD.cuda().requires_grad_()
    with pytest.raises(ShapeError, match="leaf"):
        ot.cross_entropy(x, TARGET.cuda(), overwrite_logits=True)


@two_gpus
@each_function
def test_second_gpu_computes_while_the_first_is_current(f: Any) -> None:
    # linkedin/Liger-Kernel#1303
    want = with_gradient(f, HELD.to("cuda:0"))
    torch.cuda.set_device(0)
    got = with_gradient(f, HELD.to("cuda:1"))
    assert torch.cuda.current_device() == 0
    for a, b in zip(got, want, strict=True):
        assert a.device.index == 1
        assert torch.equal(a.cpu(), b.cpu())
