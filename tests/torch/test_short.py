"""The short way of plain calls: what it gives, and how little of torch it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the calls are of PyTorch's tensors")
import oneread.torch as ot  # noqa: E402
from oneread.ops import _short  # noqa: E402

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(10, 1000, generator=GENERATOR)
TARGET = torch.randint(0, 1000, (10,), generator=GENERATOR)
#: A temperature of 1 makes a call that is not plain.
LONG = {"temperature": 1.0}

READS: dict[str, Callable[..., Any]] = {
    "logsumexp": lambda x, index, **options: ot.logsumexp(x, **options),
    "entropy": lambda x, index, **options: ot.entropy(x, **options),
    "logprobs": ot.selective_log_softmax,
    "both": lambda x, index, **options: torch.stack(
        tuple(ot.logprobs_and_entropy(x, index, **options))
    ),
}
each_read = pytest.mark.parametrize("f", READS.values(), ids=list(READS))
devices = pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param(
            "cuda",
            marks=[
                pytest.mark.gpu,
                pytest.mark.skipif(
                    not torch.cuda.is_available(), reason="needs a GPU that torch can use"
                ),
            ],
        ),
    ],
)


def with_gradient(f: Any, x: Any, *args: Any, grad: Any = None, **options: Any) -> tuple[Any, Any]:
    leaf = x.detach().requires_grad_()
    y = f(leaf, *args, **options)
    y.backward(torch.linspace(1, 2, y.numel()).reshape(y.shape).to(y) if grad is None else grad(y))
    return y.detach(), leaf.grad


@each_read
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", [(7,), (3, 7), (2, 3, 7), (0, 7), (5, 1), (2, 600_000)])
def test_plain_calls_give_what_others_give(f: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, generator=GENERATOR).to(dtype)
    index = torch.randint(0, shape[-1], shape[:-1], generator=GENERATOR)
    plain, long = with_gradient(f, x, index), with_gradient(f, x, index, **LONG)
    for a, b in zip(plain, long, strict=True):
        torch.testing.assert_close(a, b)


@each_read
@pytest.mark.parametrize("grad", ["expanded", "strided", "negated", "zero"])
def test_gradients_may_lie_in_any_way(f: Any, grad: str) -> None:
    x = X.reshape(2, 5, 1000)
    index = TARGET.reshape(2, 5)

    def given(y: Any) -> Any:
        if grad == "expanded":
            return torch.full((), 0.5).expand(y.shape)
        if grad == "strided":
            return (
                torch.linspace(1, 2, y.numel())
                .reshape(y.shape[::-1])
                .permute(*reversed(range(y.ndim)))
            )
        if grad == "zero":
            return torch._efficientzerotensor(y.shape)
        pair = torch.complex(torch.ones(y.shape), torch.linspace(1, 2, y.numel()).reshape(y.shape))
        return pair.conj().imag

    got = with_gradient(f, x, index, grad=given)
    want = with_gradient(f, x, index, grad=lambda y: torch.zeros(y.shape).copy_(given(y)), **LONG)
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a, b)


def test_fields_without_a_gradient_add_nothing() -> None:
    x = X.clone().requires_grad_()
    made = ot.logprobs_and_entropy(x, TARGET)
    (of_both,) = torch.autograd.grad(made.logprobs.sum() + 0 * made.entropy.sum(), x,
                                     retain_graph=True)  # fmt: skip
    (of_one,) = torch.autograd.grad(made.logprobs.sum(), x)
    torch.testing.assert_close(of_one, of_both)


def test_a_column_outside_is_named() -> None:
    for x in (X, X.clone().requires_grad_()):
        with pytest.raises(IndexError, match="column 1000; 0 to 999 is allowed"):
            ot.selective_log_softmax(x, TARGET.clone().fill_(1000))


@pytest.mark.parametrize(
    "index", [TARGET.int(), TARGET[:, None].repeat(1, 2), torch.stack([TARGET, TARGET], 1)[:, 0]]
)
def test_other_columns_are_no_plain_call_and_right(index: Any) -> None:
    assert _short.read_rows(X, index) is None
    got = ot.selective_log_softmax(X, index)
    assert torch.equal(got.reshape(10, -1)[:, 0], ot.selective_log_softmax(X, TARGET))


#: What takes no time on a GPU: views, fresh memory, what calls another operation.
FREE = {
    "alias", "as_strided", "contiguous", "detach", "empty", "empty_like", "empty_strided",
    "lift_fresh", "nll_loss", "nll_loss_nd", "ones_like", "reshape", "squeeze", "to", "unsqueeze",
    "view",
}  # fmt: skip


def operations(f: Callable[[], Any]) -> list[str]:
    """Return the operations of torch that a call runs, without those that one of them runs."""
    f()
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=cpu, acc_events=True) as profile:
        f()

    def is_one(event: Any) -> bool:
        room, _, name = event.name.partition("::")
        return room in ("aten", "oneread") and name not in FREE

    def is_within(event: Any) -> bool:
        parent = event.cpu_parent
        return parent is not None and (is_one(parent) or is_within(parent))

    ran = [event for event in profile.events() if is_one(event) and not is_within(event)]
    return sorted(event.name.partition("::")[2] for event in ran)


@devices
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_a_plain_loss_may_write_its_gradient_over_the_logits(device: str, reduction: str) -> None:
    target = TARGET.clone()
    target[3] = -100

    def results(**options: Any) -> tuple[Any, ...]:
        leaf = X.to(device).requires_grad_()
        held = leaf * 1
        loss = ot.cross_entropy(held, target.to(device), reduction=reduction, **options)
        (grad,) = torch.autograd.grad(loss.sum(), leaf)
        return loss.detach(), grad, held.detach()

    loss, grad, held = results(overwrite_logits=True)
    want_loss, want, kept = results()
    assert torch.equal(loss, want_loss)
    assert torch.equal(grad, want)
    assert torch.equal(held, want)
    assert torch.equal(kept.cpu(), X)


@devices
def test_a_plain_loss_and_its_gradient_are_few_operations(device: str) -> None:
    x, target = X.to(device).requires_grad_(), TARGET.to(device)
    # fill_ makes the 1 that the gradient starts with.
    assert operations(lambda: torch.autograd.grad(ot.cross_entropy(x, target), x)) == [
        "eq", "fill_", "neg", "nll_loss_backward", "nll_loss_forward",
    ]  # fmt: skip
    assert operations(lambda: ot.cross_entropy(x.detach(), target)) == ["eq", "nll_loss_forward"]


@devices
@pytest.mark.parametrize(
    ("name", "expected"),
    [("logsumexp", []), ("entropy", ["mul", "neg"]), ("logprobs", ["neg"])],
)
def test_a_plain_read_and_its_gradient_are_few_operations(
    name: str, expected: list[str], device: str
) -> None:
    x, target, grad = X.to(device).requires_grad_(), TARGET.to(device), torch.ones(10).to(device)
    assert operations(lambda: torch.autograd.grad(READS[name](x, target), x, grad)) == expected


@devices
def test_logprobs_and_entropy_have_one_gradient_of_few_operations(device: str) -> None:
    x, target, grad = X.to(device).requires_grad_(), TARGET.to(device), torch.ones(10).to(device)

    def both() -> Any:
        return torch.autograd.grad(tuple(ot.logprobs_and_entropy(x, target)), x, (grad, grad))

    assert operations(both) == ["add", "mul", "neg", "neg"]


@devices
@pytest.mark.parametrize("f", [ot.softmax, ot.log_softmax])
def test_a_plain_softmax_and_its_gradient_are_no_operations(f: Any, device: str) -> None:
    x, grad = X.to(device).requires_grad_(), torch.ones(10, 1000).to(device)
    assert operations(lambda: torch.autograd.grad(f(x), x, grad)) == []
