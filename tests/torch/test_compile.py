"""oneread.torch in graphs: torch.compile, torch.export, checkpoints, autocast, operators."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="graphs are PyTorch's")
import oneread  # noqa: E402
import oneread.torch as ot  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning",
                                        "ignore::FutureWarning")  # fmt: skip

X = torch.randn(3, 7, generator=torch.Generator().manual_seed(0))
TARGET = torch.tensor([1, -100, 4])
SOFT = X.flip(0).softmax(-1)


@pytest.fixture(autouse=True)
def _fresh_graphs() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def read_everything(x: Any) -> Any:
    r = ot.read(x, top_k=2, select=torch.arange(x.shape[0]) % 5, entropy=True, sum_p2=True)
    return r.lse.sum() + r.logprobs.sum() + r.selected.sum() + r.entropy.sum() + r.sum_p2.sum()


def targets_of(x: Any) -> Any:
    return torch.arange(x.shape[0]) % 3


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "softmax": (ot.softmax, lambda x: torch.softmax(x, -1)),
    "log_softmax": (
        lambda x: ot.log_softmax(x, 0, temperature=0.5),
        lambda x: torch.log_softmax(x / 0.5, 0),
    ),
    "logsumexp": (ot.logsumexp, lambda x: torch.logsumexp(x, -1)),
    "softmax_topk": (
        lambda x: ot.softmax_topk(x, 3).values,
        lambda x: torch.softmax(x, -1).topk(3).values,
    ),
    "entropy": (ot.entropy, lambda x: -(x.softmax(-1) * x.log_softmax(-1)).sum(-1)),
    "read": (read_everything, lambda x: (x * x).sum()),
    "logprobs": (
        lambda x: ot.selective_log_softmax(x, targets_of(x)),
        lambda x: x.log_softmax(-1).gather(-1, targets_of(x)[:, None]),
    ),
    "cross_entropy": (
        lambda x: ot.cross_entropy(x, targets_of(x), label_smoothing=0.1, z_loss=0.1),
        lambda x: torch.nn.functional.cross_entropy(x, targets_of(x), label_smoothing=0.1),
    ),
    "cross_entropy-soft": (
        lambda x: ot.cross_entropy(x, x.detach().flip(0).sigmoid()),
        lambda x: torch.nn.functional.cross_entropy(x, x.detach().flip(0).sigmoid()),
    ),
}
each_function = pytest.mark.parametrize(("f", "peer"), FUNCTIONS.values(), ids=list(FUNCTIONS))


def with_gradient(f: Any, x: Any) -> tuple[Any, Any]:
    leaf = x.detach().clone().requires_grad_()
    y = f(leaf)
    (y * torch.linspace(1, 2, y.numel()).reshape(y.shape)).sum().backward()
    return y.detach(), leaf.grad


@each_function
def test_one_graph_holds_forward_and_backward_and_equals_eager(f: Any, peer: Any) -> None:
    del peer
    for got, want in zip(
        with_gradient(torch.compile(f, backend="aot_eager", fullgraph=True), X),
        with_gradient(f, X),
        strict=True,
    ):
        torch.testing.assert_close(got, want)


def graphs_made(f: Any, *, dynamic: bool | None) -> int:
    """Return how often a function is compiled for inputs of several shapes."""
    torch._dynamo.reset()
    made = 0

    def backend(graph: Any, example: Any) -> Any:
        nonlocal made
        made += 1
        return graph.forward

    compiled = torch.compile(f, backend=backend, fullgraph=True, dynamic=dynamic)
    for rows, vocab in ((5, 11), (6, 11), (9, 11), (9, 13), (8, 17), (12, 19)):
        compiled(torch.randn(rows, vocab, requires_grad=True))
    return made


@pytest.mark.parametrize("dynamic", [None, True])
@each_function
def test_recompiles_no_more_than_torch_itself(f: Any, peer: Any, dynamic: bool | None) -> None:
    # pytorch/pytorch#163811
    assert graphs_made(f, dynamic=dynamic) <= graphs_made(peer, dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    ("f", "values"),
    [
        (lambda x, k: ot.softmax_topk(x, k).values, (2, 3, 4, 5)),
        (lambda x, k: ot.read(x, top_k=k).logprobs, (2, 3, 4, 5)),
        (lambda x, scale: ot.softmax(x, temperature=scale), (0.5, 0.7, 0.9, 1.1)),
        (lambda x, scale: ot.entropy(x, temperature=scale), (2, 3, 4, 5)),
    ],
    ids=["k", "top_k", "temperature", "whole temperature"],
)
def test_temperature_and_k_become_symbols(f: Any, values: Any, dynamic: bool | None) -> None:
    compiled = torch.compile(f, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    torch._dynamo.utils.counters.clear()
    for value in values:
        x = X.clone().requires_grad_()
        assert torch.equal(compiled(x, value), f(x, value))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == (1 if dynamic else 2)


def test_the_first_call_is_not_compiled_twice() -> None:
    code = (
        "import torch, oneread.torch as ot\n"
        "f = torch.compile(lambda x: ot.softmax(x) + ot.logsumexp(x, 0), backend='eager')\n"
        "for _ in range(2): f(torch.zeros(3, 4))\n"
        "print(torch._dynamo.utils.counters['stats']['unique_graphs'])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "1\n"


def test_graphs_of_transforms() -> None:
    def f(x: Any) -> Any:
        return torch.func.vmap(torch.func.grad(lambda v: ot.logsumexp(v) ** 2))(x)

    compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(X), f(X))


@pytest.mark.parametrize("f", [f for f, _ in FUNCTIONS.values()], ids=list(FUNCTIONS))
def test_a_backward_pass_of_an_eager_call_is_compiled(f: Any) -> None:
    from torch._dynamo import compiled_autograd

    grads = []
    for compiled in (False, True):
        x = X.clone().requires_grad_()
        loss = f(x).square().sum()
        with (
            compiled_autograd._enable(torch.compile(backend="eager")) if compiled else nullcontext()
        ):
            loss.backward()
        grads.append(x.grad)
    torch.testing.assert_close(*grads)


def test_exported_program_holds_the_operators() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return ot.cross_entropy(x, targets_of(x)), ot.softmax_topk(x, 2).indices

    rows = torch.export.Dim("rows", min=2, max=64)
    program = torch.export.export(Model(), (X,), dynamic_shapes=({0: rows},))
    held = {str(node.target) for node in program.graph.nodes}
    assert {"oneread.cross_entropy.default", "oneread.softmax_topk.default"} <= held
    for x in (X, X.repeat(4, 1)):
        for got, want in zip(program.module()(x), Model()(x), strict=True):
            assert torch.equal(got, want)


def test_exported_program_of_named_tuples_is_saved_and_loaded() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            both = ot.logprobs_and_entropy(x, targets_of(x))
            return both, ot.read(x), ot.softmax_topk(x, 2), oneread.top_k(x, 2)

    file = io.BytesIO()
    torch.export.save(torch.export.export(Model(), (X,)), file)
    file.seek(0)
    made = torch.export.load(file).module()(X)
    assert [type(one) for one in made] == [type(one) for one in Model()(X)]


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_compute_the_same_gradient(reentrant: bool) -> None:
    from torch.utils.checkpoint import checkpoint

    for f, _ in FUNCTIONS.values():
        got = with_gradient(lambda x, f=f: checkpoint(f, x, use_reentrant=reentrant), X)
        for a, b in zip(got, with_gradient(f, X), strict=True):
            assert torch.equal(a, b)


def test_types_under_autocast_are_those_of_torch() -> None:
    x = X.bfloat16().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        assert ot.softmax(x).dtype == torch.softmax(x, -1).dtype
        assert ot.log_softmax(x).dtype == torch.log_softmax(x, -1).dtype
        assert ot.logsumexp(x).dtype == torch.logsumexp(x, -1).dtype
        loss = ot.cross_entropy(x, TARGET)
        assert loss.dtype == torch.float32
    loss.backward()
    assert x.grad.dtype == torch.bfloat16


def test_autocast_leaves_the_digits_of_a_loss() -> None:
    options = {"weight": X[0].abs(), "label_smoothing": 0.5, "softcap": 3.0, "z_loss": 0.1}
    for target in (TARGET, SOFT):
        want = ot.cross_entropy(X, target, **options)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert ot.cross_entropy(X, target, **options) == want


def test_saved_tensors_may_be_moved_away() -> None:
    for f, _ in FUNCTIONS.values():
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t: copy.deepcopy(t.detach()), lambda t: t
        ):
            got = with_gradient(f, X)
        for a, b in zip(got, with_gradient(f, X), strict=True):
            assert torch.equal(a, b)


# Operators


def options(
    *axis: int, dtype: Any = None, where: Any = None, lengths: Any = None, scale: Any = None
) -> Any:
    return list(axis), dtype, where, lengths, scale, None, None, None


def samples() -> Iterator[tuple[str, tuple[Any, ...]]]:
    x, half = X.clone().requires_grad_(), X.bfloat16().requires_grad_()
    scale, where = torch.tensor([0.5, 1.0, 2.0]), X < 1
    row = X.logsumexp(-1)
    yield "softmax", (x, *options(-1))
    yield "softmax", (half, *options(0, dtype="float32", where=where))
    yield "log_softmax", (x, *options(-1, scale=scale, lengths=torch.tensor([1, 7, 3])))
    yield "logsumexp", (half, *options(0, 1, dtype="bfloat16"), True)
    yield "top_k", (x, *options(-1), 2, None)
    yield "softmax_topk", (x, *options(0, scale=scale.mean()), 3, "int32", "prob", True, True)
    yield "softmax_topk", (x, *options(-1), 3, None, "logprob", False, False)
    yield "read", (x, *options(-1), 2, torch.tensor([0, 1, 2]), True, True, True, True, False)
    yield "cross_entropy", (x, TARGET, None, 0.1, 0.1, None, -100)
    yield "cross_entropy", (half, TARGET, torch.rand(7), 0.0, 0.0, 2.0, -100)
    yield "soft_cross_entropy", (x, SOFT, None, 0.1, 0.1, 3.0, -100)
    for log in (False, True):
        y = (X.log_softmax(-1) if log else X.softmax(-1)).requires_grad_()
        yield "softmax_backward", (y, X.clone().requires_grad_(), scale[:, None], log, "float32")
    ones = [torch.ones(3).requires_grad_() for _ in range(4)]
    columns = torch.tensor([[1], [2], [-1]])
    yield "logits_gradient", (
        x, row.requires_grad_(), *ones[:3], columns, ones[3][:, None], None, None,
        scale[:, None], None,
    )  # fmt: skip
    yield "logits_gradient", (
        x, row.detach(), None, None, None, columns.repeat(1, 2), torch.ones(3, 2), ones[0],
        torch.rand(7), None, 3.0,
    )  # fmt: skip


@pytest.mark.parametrize(("name", "inputs"), [pytest.param(*s, id=s[0]) for s in samples()])
def test_operator_passes_the_checks_of_torch(name: str, inputs: tuple[Any, ...]) -> None:
    said = torch.library.opcheck(getattr(torch.ops.oneread, name).default, inputs)
    assert set(said.values()) == {"SUCCESS"}


def test_every_operator_is_checked() -> None:
    registered = {
        name.split("::")[1].split(".")[0]
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("oneread::")
    }
    assert registered == {name for name, _ in samples()}
