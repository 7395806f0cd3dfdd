"""cross_entropy: the values and gradients of PyTorch's, and what is ours alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from oneread import BackendUnavailableError, DtypeError, ShapeError
from oneread.testing import ulp

torch = pytest.importorskip("torch", reason="the loss is PyTorch's")
from oneread.torch import cross_entropy  # noqa: E402

peer = torch.nn.functional.cross_entropy
X = torch.randn(4, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
Y = torch.tensor([1, -100, 3, 0])
WEIGHT = torch.tensor([0.5, 2.0, 1.25, 0.0, 1.0], dtype=torch.float64)
SOFT = torch.rand(4, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def with_gradient(f: Any, x: Any, *args: Any, **options: Any) -> tuple[Any, Any]:
    """Return the loss and the gradient of its sum."""
    leaf = x.detach().clone().requires_grad_()
    loss = f(leaf, *args, **options)
    loss.sum().backward()
    return loss.detach(), leaf.grad


def assert_near(got: Any, want: Any) -> None:
    """Fail unless float64 results are the same but for rounding."""
    for a, b in zip(got, want, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_array_equal(torch.isfinite(a), torch.isfinite(b))
        size = max(1.0, float(b.abs().nan_to_num(0, 0).max())) if b.numel() else 1.0
        assert float((a - b).abs().nan_to_num(0).sum()) <= 64 * ulp(size, "float64")


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("target", [Y, SOFT], ids=["numbers", "soft"])
def test_all_options_together_give_what_torch_gives(target: Any, reduction: str) -> None:
    # pytorch/pytorch#69339, pytorch/pytorch#73205
    for weight, smoothing in itertools.product((None, WEIGHT), (0.0, 0.2)):
        options = {"weight": weight, "label_smoothing": smoothing, "reduction": reduction}
        assert_near(
            with_gradient(cross_entropy, X, target, **options),
            with_gradient(peer, X, target, **options),
        )


@pytest.mark.parametrize("shape", [(5,), (2, 5), (2, 5, 3), (2, 5, 3, 2), (0, 5), (0, 5, 3)])
def test_classes_are_where_torch_has_them(shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(shape, generator=generator, dtype=torch.float64)
    rows = shape[:1] + shape[2:] if len(shape) > 1 else ()
    for target in (
        torch.randint(0, 5, rows, generator=generator),
        torch.rand(shape, generator=generator, dtype=torch.float64),
    ):
        for reduction in ("none", "mean"):
            assert_near(
                with_gradient(cross_entropy, x, target, reduction=reduction),
                with_gradient(peer, x, target, reduction=reduction),
            )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_loss_is_at_least_float32_and_the_gradient_has_the_type_of_the_logits(dtype: Any) -> None:
    x = X.to(dtype)
    loss, grad = with_gradient(cross_entropy, x, Y)
    assert (loss.dtype, grad.dtype) == (torch.float32, dtype)
    want, _ = with_gradient(peer, x.double(), Y)
    assert abs(float(loss) - float(want)) <= 8 * ulp(float(want), "float32")


def test_z_loss_and_softcap_are_those_of_their_formulas() -> None:
    # linkedin/Liger-Kernel#239, openxla/tokamax#1121
    def formula(x: Any, target: Any) -> Any:
        z = 3 * torch.tanh(x / 3)
        loss = peer(z, target, label_smoothing=0.1, reduction="none")
        lse = torch.logsumexp(z, -1)
        kept = target != -100 if not target.is_floating_point() else torch.ones(4, dtype=torch.bool)
        return loss + 0.01 * torch.where(kept, lse, 0) ** 2

    for target in (Y, SOFT):
        options = {"z_loss": 0.01, "softcap": 3.0, "label_smoothing": 0.1}
        got = with_gradient(cross_entropy, X, target, reduction="none", **options)
        assert_near(got, with_gradient(formula, X, target))


@pytest.fixture
def fresh_memory_is_nan() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("fresh_memory_is_nan")
@pytest.mark.parametrize("target", [Y, SOFT], ids=["numbers", "soft"])
def test_no_option_reads_memory_that_nobody_wrote(target: Any) -> None:
    given = {"weight": WEIGHT, "label_smoothing": 0.1, "z_loss": 0.1, "softcap": 3.0}
    for count in range(len(given) + 1):
        for names in itertools.combinations(given, count):
            options = {name: given[name] for name in names}
            loss, grad = with_gradient(cross_entropy, X, target, **options)
            assert torch.isfinite(loss), names
            assert torch.isfinite(grad).all(), names


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sum_of_narrow_weights_is_as_wide_as_the_loss(dtype: Any) -> None:
    # float16 ends at 65,504; bfloat16 has three digits
    weight = WEIGHT.to(dtype)
    x, target = X.repeat(30_000, 1), Y.repeat(30_000)
    got = cross_entropy(x, target, weight=weight)
    want = peer(x, target, weight=weight.double())
    assert abs(float(got) - float(want)) <= 64 * ulp(float(want), "float64")


def test_wide_weights_do_not_widen_the_loss() -> None:
    assert cross_entropy(X.float(), Y, weight=WEIGHT).dtype == torch.float32


# Public issues


@pytest.mark.parametrize("bad", [-math.inf, math.inf, math.nan])
@pytest.mark.parametrize(
    "options", [{}, {"label_smoothing": 0.1}, {"z_loss": 0.1}, {"softcap": 2.0}]
)
def test_ignored_rows_get_a_gradient_of_exactly_zero(bad: float, options: Any) -> None:
    # pytorch/pytorch#11551
    x = X.clone()
    x[1] = bad
    loss, grad = with_gradient(cross_entropy, x, Y, **options)
    assert torch.isfinite(loss)
    assert torch.isfinite(grad).all()
    assert (grad[1] == 0).all()
    kept = [0, 2, 3]
    want, of_kept = with_gradient(cross_entropy, X[kept], Y[kept], **options)
    assert_near((loss, grad[kept]), (want, of_kept))


@pytest.mark.parametrize("bad", [-math.inf, math.inf, math.nan])
@pytest.mark.parametrize("softcap", [None, 3.0])
@pytest.mark.parametrize(
    "hessian",
    [torch.func.hessian, lambda f: partial(torch.autograd.functional.hessian, f)],
    ids=["func", "autograd"],
)
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_ignored_rows_have_second_derivatives_of_zero(
    hessian: Any, softcap: Any, bad: float
) -> None:
    options = {"label_smoothing": 0.1, "z_loss": 0.1, "softcap": softcap, "reduction": "sum"}
    x, kept = X.clone(), [0, 2, 3]
    x[1] = bad
    got = hessian(lambda x: cross_entropy(x, Y, **options))(x)
    assert (got[1] == 0).all()
    assert (got[:, :, 1] == 0).all()
    want = hessian(lambda x: cross_entropy(x, Y[kept], **options))(X[kept])
    assert_near((got[kept][:, :, kept],), (want,))


def test_when_all_rows_are_ignored_the_mean_is_nan_and_the_gradient_zero() -> None:
    # pytorch/pytorch#70348
    nothing = torch.full((4,), -100)
    for weight in (None, WEIGHT):
        loss, grad = with_gradient(cross_entropy, X, nothing, weight=weight)
        assert math.isnan(loss)
        assert (grad == 0).all()
    assert float(cross_entropy(X, nothing, reduction="sum")) == 0
    assert (cross_entropy(X, nothing, reduction="none") == 0).all()


@pytest.mark.parametrize("target", [[0, -7, 1, 1], [0, 5, 1, 1], [0, -100, 1, 1]])
def test_only_the_exact_ignore_index_is_special(target: list[int]) -> None:
    # pytorch/pytorch#12670
    with pytest.raises(IndexError, match="0 to 4 or ignore_index"):
        cross_entropy(X, torch.tensor(target), ignore_index=-2)
    loss = cross_entropy(X, torch.tensor([0, -2, 1, 1]), ignore_index=-2, reduction="none")
    assert loss[1] == 0
    assert (loss[[0, 2, 3]] > 0).all()


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32])
def test_target_may_be_of_any_integer_type(dtype: Any) -> None:
    # pytorch/pytorch#108345
    target = torch.tensor([1, 2, 3, 0])
    assert cross_entropy(X, target.to(dtype)) == cross_entropy(X, target)


def test_what_does_not_fit_is_refused() -> None:
    for error, target in (
        (ShapeError, torch.tensor([[0], [1], [2], [3]])),
        (ShapeError, torch.tensor([0, 1])),
        (DtypeError, torch.tensor([True, False, True, True])),
        (DtypeError, torch.tensor([0.0, 1.0, 2.0, 3.0])),
        (BackendUnavailableError, torch.zeros(4, dtype=torch.int64, device="meta")),
    ):
        with pytest.raises(error, match="target"):
            cross_entropy(X, target)
    for error, options in (
        (ShapeError, {"weight": WEIGHT[:3]}),
        (ShapeError, {"reduction": "average"}),
        (ShapeError, {"label_smoothing": 1.5}),
        (ShapeError, {"z_loss": math.nan}),
        (ShapeError, {"softcap": 0.0}),
    ):
        with pytest.raises(error, match=next(iter(options))):
            cross_entropy(X, Y, **options)
    for kind, smoothing in itertools.product((torch.int64, torch.float8_e4m3fn), (0.0, 0.1)):
        with pytest.raises(DtypeError, match="float8" if kind.is_floating_point else "logits"):
            cross_entropy(X.to(kind), Y, label_smoothing=smoothing)
    with pytest.raises(BackendUnavailableError, match="weight"):
        cross_entropy(X, Y, weight=WEIGHT.clone().requires_grad_())


def test_soft_targets_need_not_add_up_to_one() -> None:
    # NVIDIA-NeMo/Automodel#2428
    x = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    p = x.softmax(-1)
    for q in ([[2.0, 2.0]], [[0.0, 0.0]], [[0.5, 0.2]]):
        target = torch.tensor(q, dtype=torch.float64)
        loss, grad = with_gradient(cross_entropy, x, target)
        assert_near((loss, grad), (-(target * p.log()).sum(), target.sum() * p - target))


def test_masked_classes_of_a_soft_target_that_do_not_count_add_nothing() -> None:
    x = torch.tensor([[0.0, -math.inf, 1.0]])
    loss, grad = with_gradient(cross_entropy, x, torch.tensor([[0.5, 0.0, 0.5]]))
    assert torch.isfinite(loss)
    assert torch.isfinite(grad).all()
    assert grad[0, 1] == 0


def test_gradients_of_wide_rows_in_float16_are_not_lost() -> None:
    # jax-ml/jax#40598
    x = torch.zeros(1, 70_000, dtype=torch.float16)
    _, grad = with_gradient(cross_entropy, x, torch.tensor([0]))
    want = 1 / 70_000
    assert abs(float(grad[0, 1]) - want) <= ulp(want, "float16")
    assert float(grad[0, 0]) == -1


def test_gradient_of_16_bit_logits_is_exact_but_for_one_rounding() -> None:
    # apple/ml-cross-entropy#14
    x = torch.randn(64, 32, generator=torch.Generator().manual_seed(0)).bfloat16()
    target = torch.arange(64) % 32
    _, grad = with_gradient(cross_entropy, x, target, reduction="sum")
    want = x.double().softmax(-1) - torch.nn.functional.one_hot(target, 32)
    assert (np.abs((grad.double() - want).numpy()) <= ulp(want.numpy(), "bfloat16")).all()


# Over the logits


def logits_of(w: Any) -> Any:
    return w @ torch.eye(5, dtype=w.dtype)


@pytest.mark.parametrize("options", [{}, {"weight": WEIGHT, "label_smoothing": 0.1, "z_loss": 0.1}])
def test_gradient_is_written_over_the_logits_on_request(options: Any) -> None:
    w = X.clone().requires_grad_()
    logits = logits_of(w)
    cross_entropy(logits, Y, overwrite_logits=True, **options).backward()
    _, want = with_gradient(cross_entropy, X, Y, **options)
    assert_near((logits.detach(), w.grad), (want, want))
    assert logits.detach()[1].tolist() == [0] * 5


def test_without_request_the_logits_stay_as_they_are() -> None:
    # linkedin/Liger-Kernel#1251
    w = X.clone().requires_grad_()
    logits = logits_of(w)
    before = logits.detach().clone()
    cross_entropy(logits, Y).backward()
    assert torch.equal(logits, before)


def test_autograd_sees_that_logits_were_overwritten() -> None:
    w = X.clone().requires_grad_()
    p = w.softmax(-1)  # which needs its output for its own gradient
    loss = cross_entropy(p, Y, overwrite_logits=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    logits = logits_of(w)
    loss = cross_entropy(logits, Y, overwrite_logits=True)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_gradient_of_an_overwriting_gradient_is_refused() -> None:
    w = X.clone().requires_grad_()
    loss = cross_entropy(logits_of(w), Y, overwrite_logits=True)
    with pytest.raises(BackendUnavailableError, match="overwrite_logits"):
        torch.autograd.grad(loss, w, create_graph=True)


def test_logits_that_cannot_be_overwritten_are_refused() -> None:
    leaf = X.clone().requires_grad_()
    kept = logits_of(leaf)
    kept.retain_grad()
    for logits in (leaf, leaf.view(4, 5), kept, logits_of(leaf)[:, :4], logits_of(leaf).T):
        with pytest.raises(ShapeError, match="cannot be overwritten"):
            cross_entropy(
                logits, torch.zeros(len(logits), dtype=torch.int64), overwrite_logits=True
            )
    with pytest.raises(ShapeError, match="transformation"):
        torch.func.grad(lambda x: cross_entropy(x, Y, overwrite_logits=True))(X)
    assert cross_entropy(X, Y, overwrite_logits=True) == cross_entropy(X, Y)
