"""PyTorch tensors on a CPU: in, out, refused."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import oneread
from oneread import BackendUnavailableError, DtypeError, ShapeError

torch = pytest.importorskip("torch", reason="tests of PyTorch's tensors")

X = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0))
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def arrays(result: Any) -> list[Any]:
    return [a for a in (result if isinstance(result, tuple) else (result,)) if a is not None]


OPS: dict[str, Any] = {
    "softmax": oneread.softmax,
    "log_softmax": oneread.log_softmax,
    "logsumexp": oneread.logsumexp,
    "top_k": lambda x, axis=-1, **o: oneread.top_k(x, 2, axis, **o),
    "softmax_topk": lambda x, axis=-1, **o: oneread.softmax_topk(x, 2, axis, **o),
    "read": lambda x, axis=-1, **o: oneread.read(
        x, axis, top_k=2, select=1, rank=True, entropy=True, sum_p2=True, argmax=True, **o
    ),
}
each_op = pytest.mark.parametrize("op", OPS.values(), ids=list(OPS))


@each_op
@pytest.mark.parametrize("axis", [0, 1, 2, None])
def test_tensors_give_what_arrays_give(op: Any, axis: int | None) -> None:
    for x in (X, X.transpose(0, 2), X[:, ::2], X.expand(2, 3, 4, 5)[1], X.flip(1)[:, 1:]):
        for got, want in zip(arrays(op(x, axis)), arrays(op(x.numpy(), axis)), strict=True):
            assert type(got) is torch.Tensor
            np.testing.assert_array_equal(got.numpy(), want)
            assert tuple(got.shape) == want.shape


@pytest.mark.parametrize("dtype", FLOATS)
def test_results_have_the_types_of_the_policy(dtype: Any) -> None:
    x = X.to(dtype)
    statistic = torch.float64 if dtype == torch.float64 else torch.float32
    assert oneread.softmax(x).dtype == oneread.softmax(x, 0).dtype == dtype
    r = oneread.read(x, top_k=2, argmax=True)
    assert (r.lse.dtype, r.values.dtype, r.argmax.dtype) == (statistic, dtype, torch.int64)
    torch.testing.assert_close(oneread.softmax(x), torch.softmax(x, -1))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "uint16", "int32", "int64"])
def test_integers_are_converted_first(dtype: str) -> None:
    x = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    wide = torch.float32 if x.itemsize <= 2 else torch.float64
    assert torch.equal(oneread.softmax(x), oneread.softmax(x.to(wide)))


@pytest.mark.parametrize("dtype", [torch.float64, "float64", np.float64])
def test_dtype_may_be_of_any_library(dtype: Any) -> None:
    assert oneread.softmax(X, dtype=dtype).dtype == torch.float64
    assert oneread.logsumexp(X, dtype=dtype).dtype == torch.float64
    assert oneread.logsumexp(X, dtype=torch.bfloat16).dtype == torch.bfloat16
    assert oneread.top_k(X, 1, index_dtype=torch.int32).indices.dtype == torch.int32
    with pytest.raises(DtypeError, match="dtype is complex64"):
        oneread.softmax(X, dtype=torch.complex64)


def test_options_may_be_tensors() -> None:
    where = torch.rand(5, generator=torch.Generator().manual_seed(1)) < 0.7
    lengths, scale = torch.tensor([1, 2, 3, 5], dtype=torch.int16), torch.full((3, 4), 0.5)
    select = torch.zeros(3, 4, dtype=torch.int32)
    options = {"where": where, "lengths": lengths, "temperature": scale, "select": select}
    got = oneread.read(X, **options)
    want = oneread.read(X.numpy(), **{name: value.numpy() for name, value in options.items()})
    for a, b in zip(arrays(got), arrays(want), strict=True):
        np.testing.assert_array_equal(a.numpy(), b)
    half = oneread.softmax(X, temperature=torch.tensor(0.5, dtype=torch.bfloat16))
    assert torch.equal(half, oneread.softmax(X, temperature=0.5))


@pytest.mark.parametrize("dtype", FLOATS)
def test_out_is_filled_and_returned(dtype: Any) -> None:
    x = X.to(dtype, copy=True)
    for out in (torch.empty_like(x), torch.empty(5, 4, 3, dtype=dtype).permute(2, 1, 0)):
        assert oneread.softmax(x, out=out) is out
        assert torch.equal(out, oneread.softmax(x))
    want = oneread.log_softmax(x)
    assert oneread.log_softmax(x, out=x) is x
    assert torch.equal(x, want)


def test_several_outs_are_filled() -> None:
    r = oneread.read(X, top_k=2, argmax=True)
    assert oneread.read(X * 2, top_k=2, argmax=True, out=r) is r
    assert torch.equal(r.lse, oneread.logsumexp(X * 2))


def test_out_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ShapeError, match="has shape"):
        oneread.softmax(X, out=torch.empty(3, 4))
    with pytest.raises(DtypeError, match="holds float64"):
        oneread.softmax(X, out=torch.empty(3, 4, 5, dtype=torch.float64))
    with pytest.raises(ShapeError, match="one place"):
        oneread.softmax(X, out=torch.empty(3, 4, 1).expand(3, 4, 5))
    base = torch.randn(1, 12)
    for x, out in ((base[:, :9], base[:, 3:]), (base[:, 3:], base[:, :9]), (base[:, :6], base)):
        with pytest.raises(ShapeError, match=r"shares memory|has shape"):
            oneread.softmax(x, out=out)
    with pytest.raises(DtypeError, match="array of torch"):
        oneread.softmax(X, out=np.empty((3, 4, 5), np.float32))
    with pytest.raises(DtypeError, match="array of numpy"):
        oneread.softmax(X.numpy(), out=torch.empty(3, 4, 5))


@each_op
@pytest.mark.parametrize("n_bytes", [0, 12])
def test_tensor_whose_storage_was_freed_is_refused(op: Any, n_bytes: int) -> None:
    for part in (slice(None), slice(1, None)):
        for dtype in (torch.float32, torch.int64):
            x = torch.zeros(4, 6, dtype=dtype)
            view = x[part]
            x.untyped_storage().resize_(n_bytes)
            with pytest.raises(ShapeError, match="x has no storage"):
                op(view)


def test_out_whose_storage_was_freed_is_refused() -> None:
    out = torch.zeros(3, 4, 5)
    out.untyped_storage().resize_(0)
    with pytest.raises(ShapeError, match="out has no storage"):
        oneread.softmax(X, out=out)
    assert oneread.softmax(torch.zeros(0, 3)).shape == (0, 3)


def test_autograd_notices_that_a_saved_tensor_was_overwritten() -> None:
    w = torch.ones(4, requires_grad=True)
    for out in (torch.zeros(4), torch.zeros(8)[::2]):
        product = w * out
        oneread.softmax(torch.zeros(4), out=out)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.sum().backward()


def test_inference_tensors_are_inputs_and_outputs() -> None:
    with torch.inference_mode():
        x = torch.zeros(2, 4)
        out = torch.empty(2, 4)
        assert oneread.softmax(x, out=out) is out
        oneread.logsumexp(x, out=out[:, 0])
    assert torch.equal(oneread.softmax(x), torch.full((2, 4), 0.25))


def test_input_can_be_resized_afterwards() -> None:
    x = torch.zeros(2, 3)
    oneread.softmax(x)
    oneread.read(x, where=torch.ones(3, dtype=torch.bool), top_k=1)
    assert x.resize_(100, 100).shape == (100, 100)


def test_large_results_are_in_torch_too() -> None:
    x = torch.zeros(3, 1 << 20)
    y = oneread.softmax(x)
    assert type(y) is torch.Tensor
    assert (y == 2.0**-20).all()


# Refused


def test_gradient_that_would_be_cut_is_refused() -> None:
    x = X.clone().requires_grad_()
    with pytest.raises(BackendUnavailableError, match=r"no_grad\(\).*detach"):
        oneread.State.of(x)
    with pytest.raises(BackendUnavailableError, match="out"):
        oneread.softmax(x, out=torch.empty_like(x))
    with torch.no_grad():
        oneread.State.of(x)
    oneread.State.of(x.detach())


@each_op
def test_ops_have_gradients(op: Any) -> None:
    x = X.clone().requires_grad_()
    for got, want in zip(arrays(op(x)), arrays(op(X)), strict=True):
        assert torch.equal(got, want)
        assert got.requires_grad == got.is_floating_point()
    with torch.no_grad():
        assert not any(y.requires_grad for y in arrays(op(x)))
    op(torch.nn.Parameter(X, requires_grad=False))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forward_mode_tangent_that_would_be_cut_is_refused() -> None:
    import torch.autograd.forward_ad as forward

    with forward.dual_level():
        assert torch.equal(oneread.softmax(X), oneread.softmax(X))
        with pytest.raises(BackendUnavailableError, match="tangent"):
            oneread.State.of(forward.make_dual(X, X))


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (X[0].to_sparse, "to_dense"),
        (X[0].to_sparse_csr, "to_dense"),
        (lambda: X.to("meta"), "tensor on a CPU"),
        (lambda: torch.zeros(3, dtype=torch.complex64).conj().imag, "resolve_neg"),
        (lambda: torch.zeros(3, dtype=torch.complex64), "torch.complex64"),
        (lambda: X.to(torch.float8_e4m3fn), "float8"),
        (lambda: torch._efficientzerotensor((3,)), "zeros_like"),
    ],
    ids=["sparse", "csr", "meta", "negated", "complex", "float8", "zeros"],
)
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
def test_tensors_that_are_not_plain_numbers_are_refused(make: Any, advice: str) -> None:
    for call in (oneread.softmax, oneread.logsumexp, oneread.State.of):
        with pytest.raises(DtypeError, match=advice):
            call(make())


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_quantized_and_nested_tensors_are_refused() -> None:
    with pytest.raises(DtypeError, match="dequantize"):
        oneread.softmax(torch.quantize_per_tensor(X, 0.1, 0, torch.quint8))
    with pytest.raises(DtypeError, match="nested"):
        oneread.softmax(torch.nested.nested_tensor([X[0], X[1]]))


@pytest.mark.parametrize(
    "first",
    [
        "torch.func.grad(lambda x: oneread.softmax(x).sum())(x)",
        "with FakeTensorMode(allow_non_fake_inputs=True): oneread.softmax(x)",
        "with torch.device('meta'): oneread.softmax(x, 0)",
    ],
    ids=["transform", "mode", "device"],
)
def test_first_call_may_be_made_anywhere(first: str) -> None:
    code = (
        "import torch, oneread\nfrom torch._subclasses import FakeTensorMode\n"
        f"x = torch.zeros(2, 4)\n{first}\nprint(oneread.softmax(x, 0).sum().item())"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "4.0\n"


# Graphs


def compiled(f: Any, **options: Any) -> Any:
    torch._dynamo.reset()
    return torch.compile(f, backend="aot_eager", fullgraph=True, **options)


@each_op
@pytest.mark.parametrize("axis", [1, -1, None])
def test_compiled_calls_are_in_the_graph_and_equal_eager_ones(op: Any, axis: int | None) -> None:
    for got, want in zip(
        arrays(compiled(lambda x: op(x * 2, axis))(X)), arrays(op(X * 2, axis)), strict=True
    ):
        assert torch.equal(got, want)
        assert got.dtype == want.dtype


def test_compiled_options() -> None:
    def f(x: Any) -> Any:
        return oneread.read(
            x, 1, select=torch.zeros(3, 5, dtype=torch.int64), rank=True, where=x > 0,
            temperature=0.5, lengths=3, keepdims=True, dtype=torch.float64, deterministic="batch",
        )  # fmt: skip

    for got, want in zip(arrays(compiled(f)(X)), arrays(f(X)), strict=True):
        np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_compiled_out_is_filled() -> None:
    def f(x: Any, out: Any) -> Any:
        return oneread.softmax(x, out=out)

    out = torch.empty_like(X)
    compiled(f)(X, out)
    assert torch.equal(out, oneread.softmax(X))


def test_compiled_k_follows_the_width() -> None:
    torch._dynamo.reset()
    f = torch.compile(
        lambda x: oneread.softmax_topk(x, min(8, x.shape[-1]))[1], backend="eager", dynamic=False
    )
    assert f(torch.randn(2, 20)).shape == (2, 8)
    assert f(torch.randn(2, 5)).shape == (2, 5)


def test_compiled_once_for_all_batch_sizes() -> None:
    def f(x: Any) -> Any:
        return oneread.log_softmax(x) + oneread.logsumexp(x, keepdims=True)

    graph = compiled(f, dynamic=True)
    for n in (2, 5, 9):
        x = torch.randn(n, 11)
        assert torch.equal(graph(x), f(x))


def test_scale_is_not_folded_into_the_softmax() -> None:
    x, scale = torch.tensor([[-0.5, 0.625, 0.875, 0.25]]), torch.tensor([2e15])
    f = compiled(lambda a: oneread.softmax(a * scale))
    assert torch.equal(f(x), torch.tensor([[0.0, 0.0, 1.0, 0.0]]))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_compiled_constants(number: float) -> None:
    f = compiled(lambda: oneread.softmax(torch.full((2, 2), number)))
    assert torch.isnan(f()).all()


@each_op
def test_tensors_without_numbers_have_the_shapes_of_real_ones(op: Any) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    for shape, axis in (((0, 5), 1), ((4, 6, 3), 1), ((4, 6, 3), None), ((2, 3), -2)):
        want = arrays(op(torch.zeros(shape), axis))
        with FakeTensorMode():
            got = arrays(op(torch.empty(shape), axis))
        for fake, real in zip(got, want, strict=True):
            assert (fake.shape, fake.dtype) == (real.shape, real.dtype)
            assert not real.numel() or fake.stride() == real.stride()


def test_shapes_without_numbers_are_checked_as_real_ones() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.empty(2, 3)
        for wrong in (
            lambda: oneread.softmax(x, 2),
            lambda: oneread.softmax(x, kernel="fast"),
            lambda: oneread.logsumexp(x, workspace=3),
            lambda: oneread.top_k(x, 4),
            lambda: oneread.top_k(x, True),
            lambda: oneread.read(x, rank=True),
            lambda: oneread.State.of(x),
        ):
            with pytest.raises(oneread.OneReadError):
                wrong()


def test_registered_operators_pass_torchs_own_checks() -> None:
    oneread.softmax(X.as_subclass(type("Sub", (torch.Tensor,), {})))  # registers them
    common = (None, None, None, None, None, None, None)
    for name, own in {
        "softmax": (), "log_softmax": (), "logsumexp": (True,), "top_k": (2, None),
        "softmax_topk": (2, "int32", "prob", False, True),
        "read": (2, torch.zeros(3, 5, dtype=torch.int64), True, True, True, True, False),
    }.items():  # fmt: skip
        torch.library.opcheck(getattr(torch.ops.oneread, name).default, (X, [1], *common, *own))


def test_subclasses_stay_subclasses() -> None:
    class Mine(torch.Tensor):
        pass

    assert type(oneread.softmax(X.as_subclass(Mine))) is Mine


def test_tracers_see_the_op() -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    assert "oneread.softmax" in make_fx(lambda x: oneread.softmax(x, -1))(X).code


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_function_transforms_see_the_op() -> None:
    assert torch.equal(torch.vmap(oneread.softmax)(X), oneread.softmax(X))
    f = torch.func.functionalize(oneread.softmax)
    assert torch.equal(f(X), oneread.softmax(X))
    f = torch.func.grad(lambda x: oneread.softmax(x)[0])
    torch.testing.assert_close(f(X[0, 0]), torch.func.grad(lambda x: x.softmax(-1)[0])(X[0, 0]))


def test_state_in_a_compiled_function_runs_outside_of_the_graph() -> None:
    def f(x: Any) -> Any:
        state = oneread.State.of(x * 2, top_k=2).update(x, where=x > 0)
        return state.lse + 1, state.top_k(kind="prob").values, (state | state).d

    torch._dynamo.reset()
    for got, want in zip(torch.compile(f, backend="eager")(X), f(X), strict=True):
        assert torch.equal(got, want)
