"""Derivatives of every function, of any order and mode, against numerical ones and PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from oneread.testing import FAMILIES, ulp

torch = pytest.importorskip("torch", reason="derivatives are those of PyTorch")
import oneread  # noqa: E402
import oneread.torch as ot  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def numbers(*shape: int, seed: int = 0) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


X = numbers(3, 5)
TARGET = torch.tensor([1, -100, 4])
SOFT = numbers(3, 5, seed=1).softmax(-1)
WEIGHT = numbers(5, seed=2).abs()
SCALE = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
WHERE = torch.tensor([[1, 0, 1, 1, 1], [0, 1, 1, 0, 1], [1, 1, 1, 1, 1]], dtype=torch.bool)
SEVERAL = torch.tensor([[1, 1, 0], [2, 3, 4], [4, 4, 4]])
EVERY = {"label_smoothing": 0.2, "z_loss": 0.1, "softcap": 3.0, "weight": WEIGHT}

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "softmax": ot.softmax,
    "softmax-first": lambda x: ot.softmax(x, 0),
    "softmax-where": lambda x: ot.softmax(x, where=WHERE, temperature=SCALE),
    "log_softmax-all": lambda x: ot.log_softmax(x, (0, 1)),
    "log_softmax-scaled": lambda x: ot.log_softmax(x, temperature=SCALE),
    "logsumexp": lambda x: ot.logsumexp(x, 0, True),
    "logsumexp-where": lambda x: ot.logsumexp(x, temperature=SCALE, where=WHERE),
    "softmax_topk": lambda x: ot.softmax_topk(x, 3).values,
    "softmax_topk-log": lambda x: ot.softmax_topk(x, 2, 0, kind="logprob", temperature=0.5).values,
    "softmax_topk-k": lambda x: ot.softmax_topk(x, 3, renormalize=True, temperature=SCALE).values,
    "softmax_topk-logit": lambda x: tuple(
        ot.softmax_topk(x, 3, kind="logit", return_lse=True, temperature=0.5)[::2]
    ),
    "top_k": lambda x: oneread.top_k(x, 3, 0).values,
    "read": lambda x: tuple(
        field
        for field in ot.read(
            x, top_k=2, select=SEVERAL, entropy=True, sum_p2=True, argmax=True, temperature=SCALE
        )
        if field is not None and field.is_floating_point()
    ),
    "max": lambda x: ot.read(x, 0).max,
    "entropy": ot.entropy,
    "logprobs_and_entropy": lambda x: tuple(
        ot.logprobs_and_entropy(x, SEVERAL[:, 0], temperature=0.7)
    ),
    "cross_entropy": lambda x: ot.cross_entropy(x, TARGET),
    "cross_entropy-every": lambda x: ot.cross_entropy(x, TARGET, reduction="none", **EVERY),
    "cross_entropy-soft": lambda x: ot.cross_entropy(x, SOFT, **EVERY),
}


def assert_near(got: Any, want: Any) -> None:
    """Fail unless float64 results are the same but for rounding."""
    assert got.shape == want.shape
    size = np.maximum(1.0, np.abs(want.numpy()).max(initial=0))
    assert np.abs((got - want).numpy()).max(initial=0) <= 64 * ulp(size, "float64")


each_function = pytest.mark.parametrize("f", FUNCTIONS.values(), ids=list(FUNCTIONS))


@each_function
def test_gradients_are_the_numerical_ones(f: Any) -> None:
    x = X.clone().requires_grad_()
    assert torch.autograd.gradcheck(f, (x,), check_forward_ad=True, check_batched_grad=True)


@each_function
def test_gradients_of_gradients_are_the_numerical_ones(f: Any) -> None:
    x = X.clone().requires_grad_()
    assert torch.autograd.gradgradcheck(f, (x,), check_fwd_over_rev=True)


@each_function
def test_a_gradient_of_zeros_has_derivatives(f: Any) -> None:
    # PyTorch's own jvp is the gradient of the gradient where that is 0.
    change = numbers(3, 5, seed=4)
    _, got = torch.autograd.functional.jvp(f, X, change)
    _, want = torch.func.jvp(f, (X,), (change,))
    for a, b in zip(got, want, strict=True) if isinstance(got, tuple) else [(got, want)]:
        assert_near(a, b)


def test_gradient_of_a_soft_target_is_the_numerical_one() -> None:
    target = SOFT.clone().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda q: ot.cross_entropy(X, q, label_smoothing=0.1, softcap=3.0), (target,)
    )


# torch.func

PEERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "softmax": (ot.softmax, lambda v: v.softmax(-1)),
    "log_softmax": (
        lambda v: ot.log_softmax(v, temperature=0.5),
        lambda v: (v / 0.5).log_softmax(-1),
    ),
    "logsumexp": (ot.logsumexp, lambda v: v.logsumexp(-1)),
    "softmax_topk": (
        lambda v: ot.softmax_topk(v, 2).values,
        lambda v: v.softmax(-1).topk(2).values,
    ),
    "entropy": (ot.entropy, lambda v: -(v.softmax(-1) * v.log_softmax(-1)).sum(-1)),
    "sum_p2": (lambda v: ot.read(v, sum_p2=True).sum_p2, lambda v: (v.softmax(-1) ** 2).sum(-1)),
}
each_peer = pytest.mark.parametrize(("f", "peer"), PEERS.values(), ids=list(PEERS))


@each_peer
def test_vmap_equals_a_loop(f: Any, peer: Any) -> None:
    x = numbers(2, 3, 5)
    for dim in (0, 1):
        assert_near(torch.vmap(f, dim)(x), torch.vmap(peer, dim)(x))
    assert_near(torch.vmap(torch.vmap(f))(x), peer(x))


@each_peer
def test_linear_part_equals_that_of_torch(f: Any, peer: Any) -> None:
    change = numbers(3, 5, seed=4)
    got, want = [torch.func.linearize(one, X)[1](change) for one in (f, peer)]
    assert_near(got, want)


@each_peer
def test_transforms_and_their_mixtures_equal_those_of_torch(f: Any, peer: Any) -> None:
    def total(function: Any) -> Any:
        return lambda v: (function(v) ** 2).sum()

    func = torch.func
    for transform in (
        func.jacrev,
        func.jacfwd,
        lambda g: func.hessian(total(g)),
        lambda g: func.jacrev(func.jacrev(total(g))),
        lambda g: func.jacfwd(func.jacfwd(total(g))),
        lambda g: func.vmap(func.grad(total(g))),
        lambda g: func.grad(lambda v: (func.grad(total(g))(v) ** 2).sum()),
        lambda g: lambda v: func.jvp(g, (v,), (v.cos(),))[1],
    ):
        assert_near(transform(f)(X), transform(peer)(X))


@pytest.mark.parametrize("target", [TARGET, SOFT], ids=["numbers", "soft"])
def test_transforms_of_the_loss_equal_those_of_torch(target: Any) -> None:
    options = {"weight": WEIGHT, "label_smoothing": 0.2}
    peer = torch.nn.functional.cross_entropy

    def loss(f: Any) -> Any:
        return lambda v, t: f(v, t, reduction="sum", **options)

    x, t = torch.stack([X, 2 * X]), torch.stack([target, target])
    for transform in (torch.func.hessian, lambda f: torch.vmap(torch.func.grad(f))):
        at = (X, target) if transform is torch.func.hessian else (x, t)
        assert_near(transform(loss(ot.cross_entropy))(*at), transform(loss(peer))(*at))


def test_options_are_batched_too() -> None:
    x, scale = numbers(2, 3, 5), torch.tensor([0.5, 2.0], dtype=torch.float64)
    got = torch.vmap(lambda v, s: ot.softmax(v, temperature=s))(x, scale)
    assert_near(got, (x / scale[:, None, None]).softmax(-1))
    got = torch.vmap(lambda v, w: ot.softmax(v, where=w))(X, WHERE)
    assert_near(got, X.masked_fill(~WHERE, -torch.inf).softmax(-1))
    for given in (scale, torch.tensor(0.7)):
        dims = (0, 0 if given.ndim else None)
        got = torch.vmap(
            torch.func.hessian(lambda v, s: ot.logsumexp(v, temperature=s).square().sum()), dims
        )(x, given)
        want = torch.vmap(
            torch.func.hessian(lambda v, s: (v / s).logsumexp(-1).square().sum()), dims
        )(x, given)
        assert_near(got, want)
    got = torch.vmap(ot.selective_log_softmax)(X, SEVERAL)
    assert_near(got, X.log_softmax(-1).gather(-1, SEVERAL))


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 0.7},
        {"temperature": [0.7, 0.8, 0.9]},
        {"where": WHERE.tolist()},
        {"lengths": [1, 2, 5]},
    ],
    ids=["number", "numbers", "mask", "lengths"],
)
def test_options_are_the_same_whatever_the_default_device_and_type(options: Any) -> None:
    x = X.clone().requires_grad_()
    want = ot.logsumexp(X, **options)
    kept = torch.get_default_dtype()
    torch.set_default_dtype(torch.float16)
    try:
        with torch.device("meta"):
            got = ot.logsumexp(x, **options)
    finally:
        torch.set_default_dtype(kept)
    assert_near(got.detach(), want)


@each_peer
def test_reverse_over_forward_mode(f: Any, peer: Any) -> None:
    # pytorch/pytorch#162350: a rule that works in place breaks this
    import torch.autograd.forward_ad as forward

    del peer
    x = X.clone().requires_grad_()
    with forward.dual_level():
        y, tangent = forward.unpack_dual(f(forward.make_dual(x, X.cos())))
        (y + tangent).sum().backward()
    want = torch.func.grad(lambda v: f(v).sum() + torch.func.jvp(f, (v,), (X.cos(),))[1].sum())(X)
    assert_near(x.grad, want)


# Of every family, in every type


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(
    "family", sorted(set(FAMILIES) - {"empty", "nan", "plus_inf", "masked_all"})
)
def test_gradients_are_as_close_to_float64_as_those_of_torch(family: str, dtype: str) -> None:
    held = torch.from_numpy(FAMILIES[family](6, 331, "float32").astype(np.float64))
    x = held.clamp(-6e4, 6e4).where(held > -torch.inf, -torch.inf).to(getattr(torch, dtype))
    target = x.argmin(-1)
    for f, peer in (
        (ot.softmax, lambda v: v.softmax(-1)),
        (ot.log_softmax, lambda v: v.log_softmax(-1)),
        (ot.logsumexp, lambda v: v.logsumexp(-1)),
        (
            lambda v: ot.cross_entropy(v, target, reduction="none"),
            lambda v: torch.nn.functional.cross_entropy(v, target, reduction="none"),
        ),
    ):
        if not torch.isfinite(x).all() and f not in (ot.softmax, ot.logsumexp):
            continue  # a loss of infinity has no gradient
        got, plain, truth = [gradient(g, v) for g, v in ((f, x), (peer, x), (peer, x.double()))]
        size = np.maximum(np.abs(truth), np.abs(truth).max(-1, keepdims=True) / 2)
        # lse is kept in one number, and a power is as exact as its argument. No term
        # here is above 2.
        lse = np.abs(x.double().logsumexp(-1, keepdim=True).numpy())
        allowed = 2 * np.abs(plain - truth) + 8 * ulp(size, dtype) + 2 * ulp(lse, "float32")
        assert (np.abs(got - truth) <= allowed).all()


def gradient(f: Any, x: Any) -> Any:
    leaf = x.clone().requires_grad_()
    y = f(leaf)
    w = torch.linspace(-1, 2, y.numel(), dtype=torch.float64).reshape(y.shape).to(y.dtype)
    (made,) = torch.autograd.grad(y, leaf, w)
    assert made.dtype == x.dtype
    return made.double().numpy()


# Special rows


def test_gradient_of_logsumexp_of_a_row_of_minus_inf_is_zero() -> None:
    x = torch.tensor([[-torch.inf] * 3, [0.0, 1.0, -torch.inf]], requires_grad=True)
    ot.logsumexp(x).sum().backward()
    assert x.grad[0].tolist() == [0, 0, 0]
    assert x.grad[1, 2] == 0


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0), (0,), (2, 0, 3)])
@pytest.mark.parametrize("f", [ot.softmax, ot.log_softmax, ot.logsumexp, ot.entropy])
def test_empty_tensors_have_empty_derivatives(f: Any, shape: tuple[int, ...]) -> None:
    x = torch.zeros(shape, requires_grad=True)
    f(x).sum().backward()
    assert x.grad.shape == x.shape
    assert torch.func.jvp(f, (x.detach(),), (torch.zeros(shape),))[1].shape == f(x).shape


def test_masked_columns_get_no_gradient() -> None:
    # jax-ml/jax#23842
    x = torch.tensor([3.0, 900.0], requires_grad=True)
    kept = torch.tensor([True, False])
    for masked in (
        lambda: oneread.logsumexp(x, where=kept),
        lambda: oneread.logsumexp(torch.where(kept, x, -torch.inf)),
        lambda: oneread.logsumexp(x, lengths=1),
    ):
        (made,) = torch.autograd.grad(masked(), x)
        assert made.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "hessian",
    [torch.func.hessian, lambda f: lambda x: torch.autograd.functional.hessian(f, x)],
    ids=["func", "autograd"],
)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_masked_columns_hold_has_no_part_in_second_derivatives(
    bad: float, hessian: Any
) -> None:
    def total(x: Any) -> Any:
        r = ot.read(x, entropy=True, sum_p2=True, where=WHERE)
        best = ot.softmax_topk(x, 2, where=WHERE)
        return sum(y.square().sum() for y in (r.lse, r.entropy, r.sum_p2, best.values))

    got, want = [hessian(total)(X.where(WHERE, hidden)) for hidden in (bad, 0.0)]
    assert_near(got, want)


def test_log_probability_near_0_keeps_its_gradient_in_16_bits() -> None:
    x = torch.tensor([[4.0, 0.0]], dtype=torch.bfloat16, requires_grad=True)
    for f in (
        lambda: ot.selective_log_softmax(x, torch.tensor([0])),
        lambda: ot.softmax_topk(x, 2, kind="logprob").values[:, 0],
        lambda: ot.read(x, select=torch.tensor([[0, 1]])).selected[:, 0],
    ):
        (made,) = torch.autograd.grad(f(), x)
        q = float(torch.sigmoid(torch.tensor(-4.0, dtype=torch.float64)))
        for got, want in zip(made[0].tolist(), (q, -q), strict=True):
            assert abs(got - want) <= ulp(q, "bfloat16")


def test_what_is_kept_is_the_output_or_the_logits_and_numbers_a_row() -> None:
    x = numbers(64, 1000).float().requires_grad_()
    target = torch.zeros(64, dtype=torch.int64)

    def kept(f: Callable[[], Any]) -> list[tuple[int, ...]]:
        seen: list[Any] = []

        def pack(t: Any) -> Any:
            if t.data_ptr() != x.data_ptr() and t.numel() >= x.numel():
                seen.append(tuple(t.shape))
            return t

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            f()
        return seen

    assert kept(lambda: ot.softmax(x)) == kept(lambda: ot.log_softmax(x)) == [(64, 1000)]
    assert kept(lambda: ot.logsumexp(x)) == []
    assert kept(lambda: ot.softmax_topk(x, 5)) == []
    assert kept(lambda: ot.logprobs_and_entropy(x, target, temperature=0.7)) == []
    assert kept(lambda: ot.cross_entropy(x, target, label_smoothing=0.1, z_loss=0.1)) == []


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ot.selective_log_softmax(x, TARGET.abs() % 5),
        lambda x: ot.selective_log_softmax(x, SEVERAL, temperature=0.5),
        lambda x: ot.logprobs_and_entropy(x, TARGET.abs() % 5).logprobs,
        lambda x: ot.softmax_topk(x, 2, kind="logprob").values,
        lambda x: ot.read(x, 0).max,
    ],
    ids=["plain", "several", "beside entropy", "best", "max"],
)
def test_log_probabilities_may_be_changed_in_place(f: Any) -> None:
    # as what gather returns may be; a loss masks them so
    grads = []
    for in_place in (True, False):
        x = X.clone().requires_grad_()
        y = f(x)
        y.mul_(2) if in_place else (y := y * 2)
        y.sum().backward()
        grads.append(x.grad)
    assert torch.equal(*grads)


def test_gradient_of_a_temperature_is_refused_and_not_lost() -> None:
    scale = torch.tensor(0.5, requires_grad=True)
    for x in (X, X.clone().requires_grad_()):
        for op in (oneread.softmax, oneread.logsumexp):
            with pytest.raises(oneread.BackendUnavailableError, match="temperature"):
                op(x, temperature=scale)


def test_temperature_on_a_gpu_is_that_of_each_row_and_not_looked_at() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    from oneread.ops._derive import Rows

    with FakeTensorMode():  # which raises where a number is looked at
        x, scale = (torch.empty(shape, device="cuda") for shape in ((4, 75), ()))
        made = Rows.of("softmax", x, [-1]).scale(scale, x)
    assert (made.shape, made.device.type) == ((4, 1), "cuda")


def test_out_with_a_gradient_is_refused() -> None:
    with pytest.raises(oneread.BackendUnavailableError, match="out"):
        oneread.softmax(X.clone().requires_grad_(), out=torch.empty_like(X))
