"""The ways in which tools/run_torch.py does a step: ours, PyTorch's and those of other libraries.

A way makes a call of no arguments from the tensors of a step. Knows no clock and no file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import torch
from torch import Tensor

import oneread.torch as ot

Outputs = tuple[Tensor, ...]
Call = Callable[[], Outputs]

#: What the entropy counts beside the log-probabilities.
BONUS: Final = -0.01
TOP_K: Final = 20
#: Rows that a way by pieces takes at a time.
PIECE: Final = 128

OURS: Final = "oneread"
IN_PLACE: Final = "oneread, overwrite_logits"


@dataclass(frozen=True)
class Data:
    """The tensors of a step: logits, a column and numbers a row, a gradient of the output.

    `single` says that one call is made, which may leave anything in the logits.
    """

    x: Tensor
    index: Tensor
    temperature: Tensor
    pull: Tensor
    g: Tensor
    single: bool = False

    def own(self) -> Tensor:
        """Return logits that a call may write over."""
        return self.x if self.single else self.x.clone()


Make = Callable[[Data], Call]
#: What a step computes of logits.
Function = Callable[[Tensor, Data], Outputs]


@dataclass(frozen=True)
class Way:
    """A way to do a step: its name, its library, whether it is also run in a CUDA graph."""

    name: str
    library: str
    make: Make
    graph: bool = False


# How a function becomes a way.


def forward(f: Function) -> Make:
    """Return a way that calls a function of logits that need no gradient."""
    return lambda data: lambda: f(data.x, data)


def recorded(f: Function) -> Make:
    """Return a way that calls a function of logits that need a gradient, which is not taken."""

    def make(data: Data) -> Call:
        x = data.x.detach().requires_grad_()
        return lambda: f(x, data)

    return make


def both(f: Function, own: bool = False) -> Make:
    """Return a way that calls a function and takes the gradient; `own`: it may spoil the logits."""

    def make(data: Data) -> Call:
        x = (data.own() if own else data.x).detach().requires_grad_()
        pulls = _gradients(data)

        def call() -> Outputs:
            made = f(x, data)
            return (*made, *torch.autograd.grad(made, x, pulls(made)))

        return call

    return make


def _gradients(data: Data) -> Callable[[Outputs], Any]:
    """Return what gives the gradients of the outputs, in their types: none of a loss."""
    pull = cache(lambda dtype, factor: (factor * data.pull).to(dtype))

    def pulls(made: Outputs) -> Any:
        if not made[0].ndim:
            return None
        return tuple(pull(one.dtype, factor) for one, factor in zip(made, (1, BONUS), strict=False))

    return pulls


def backward(f: Function) -> Make:
    """Return a way that takes the gradient of one output, made before."""

    def make(data: Data) -> Call:
        x = data.x.detach().requires_grad_()
        (y,) = f(x, data)
        return lambda: torch.autograd.grad(y, x, data.g, retain_graph=True)

    return make


def through(f: Function) -> Make:
    """Return a way that makes an output as long as the row, and takes the gradient."""

    def make(data: Data) -> Call:
        x = data.x.detach().requires_grad_()

        def call() -> Outputs:
            (y,) = f(x, data)
            return (y, *torch.autograd.grad(y, x, data.g))

        return call

    return make


class _Layer(torch.autograd.Function):
    """Hands logits on as the output of a layer, and keeps the gradient that comes back."""

    @staticmethod
    def forward(ctx: Any, seed: Tensor, logits: Tensor, kept: list[Tensor]) -> Tensor:
        ctx.kept = kept
        return logits.detach()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        ctx.kept.append(grads[0])
        return None, None, None


def over_logits(f: Function) -> Make:
    """Return a way whose gradient is written over the logits, as those of a layer before it."""

    def make(data: Data) -> Call:
        logits = data.own()
        seed = torch.zeros((), device=logits.device, requires_grad=True)

        def call() -> Outputs:
            kept: list[Tensor] = []
            (loss,) = f(_Layer.apply(seed, logits, kept), data)
            torch.autograd.grad(loss, seed, allow_unused=True)
            return loss, kept.pop()

        return call

    return make


def compiled(way: Callable[[Function], Make], f: Function) -> Make:
    """Return a way whose function torch.compile has made anew."""

    def make(data: Data) -> Call:
        torch.compiler.reset()  # else the ninth shape of a function is not compiled any more
        held: Any = torch.compile(f, dynamic=False)
        return way(held)(data)

    return make


def compiled_derivative(derivative: Any, f: Function) -> Make:
    """Return what torch.compile makes of the derivative alone, of an output made before."""

    def make(data: Data) -> Call:
        torch.compiler.reset()
        held = torch.compile(lambda g, y: derivative(g, y, -1, y.dtype), dynamic=False)
        (y,) = f(data.x, data)
        return lambda: (held(data.g, y),)

    return make


# The functions: ours, and those that people write.


def loss(x: Tensor, d: Data) -> Outputs:
    """Return our loss."""
    return (ot.cross_entropy(x, d.index),)


def loss_over(x: Tensor, d: Data) -> Outputs:
    """Return our loss, whose gradient is written over the logits."""
    return (ot.cross_entropy(x, d.index, overwrite_logits=True),)


def torch_loss(x: Tensor, d: Data) -> Outputs:
    """Return PyTorch's loss."""
    return (torch.nn.functional.cross_entropy(x, d.index),)


def liger_loss(x: Tensor, d: Data) -> Outputs:
    """Return Liger's loss, which spoils the logits."""
    from liger_kernel.transformers.functional import liger_cross_entropy

    return (liger_cross_entropy(x, d.index),)


def quack_loss(x: Tensor, d: Data, inplace: bool = False) -> Outputs:
    """Return Quack's loss."""
    from quack.cross_entropy import cross_entropy

    return (cross_entropy(x, d.index, inplace_backward=inplace),)


def logprobs(x: Tensor, d: Data, temperature: float | None = None) -> Outputs:
    """Return our log-probabilities and entropies."""
    return tuple(ot.logprobs_and_entropy(x, d.index, temperature=temperature))


def torch_logprobs(x: Tensor, d: Data, temperature: float | None = None) -> Outputs:
    """Return them as people write them."""
    logp = torch.log_softmax(x if temperature is None else x / temperature, -1)
    return logp.gather(-1, d.index[:, None])[:, 0], -(logp.exp() * logp).sum(-1)


def torch_pieces(x: Tensor, d: Data, temperature: float | None = None) -> Outputs:
    """Do it by pieces, as trainers that run out of memory do."""
    made = []
    for some, columns in zip(x.split(PIECE), d.index.split(PIECE), strict=True):
        logp = torch.log_softmax(some if temperature is None else some / temperature, -1)
        made.append((logp.gather(-1, columns[:, None])[:, 0], -(logp.exp() * logp).sum(-1)))
    logprobs, entropies = zip(*made, strict=True)
    return torch.cat(logprobs), torch.cat(entropies)


def chosen(x: Tensor, d: Data) -> Outputs:
    """Return our log-probabilities alone."""
    return (ot.selective_log_softmax(x, d.index),)


def torch_chosen(x: Tensor, d: Data) -> Outputs:
    """Return them as people write them."""
    return (torch.log_softmax(x, -1).gather(-1, d.index[:, None])[:, 0],)


def softmax(x: Tensor, _: Data) -> Outputs:
    """Return our softmax."""
    return (ot.softmax(x),)


def torch_softmax(x: Tensor, _: Data) -> Outputs:
    """Return PyTorch's softmax."""
    return (torch.softmax(x, -1),)


def log_softmax(x: Tensor, _: Data) -> Outputs:
    """Return our log-softmax."""
    return (ot.log_softmax(x),)


def torch_log_softmax(x: Tensor, _: Data) -> Outputs:
    """Return PyTorch's log-softmax."""
    return (torch.log_softmax(x, -1),)


def liger_softmax(x: Tensor, _: Data) -> Outputs:
    """Return Liger's softmax."""
    from liger_kernel.ops.softmax import LigerSoftmaxFunction

    return (LigerSoftmaxFunction.apply(x),)


def quack_softmax(x: Tensor, _: Data) -> Outputs:
    """Return Quack's softmax."""
    from quack.softmax import softmax

    return (softmax(x),)


def top(x: Tensor, d: Data) -> Outputs:
    """Return our largest log-probabilities, a temperature a row."""
    best = ot.softmax_topk(x, TOP_K, kind="logprob", temperature=d.temperature)
    return best.values, best.indices


def torch_top(x: Tensor, d: Data) -> Outputs:
    """Return them as servers compute them, in float32."""
    return tuple(_torch_logp(x, d).topk(TOP_K))


def _torch_logp(x: Tensor, d: Data) -> Tensor:
    return torch.log_softmax(x.float() / d.temperature[:, None], -1)


def top_and_chosen(x: Tensor, d: Data) -> Outputs:
    """Return ours and that of a given column, from one read."""
    r = ot.read(x, top_k=TOP_K, select=d.index, temperature=d.temperature)
    assert r.logprobs is not None
    assert r.indices is not None
    assert r.selected is not None
    return r.logprobs, r.indices, r.selected


def torch_top_and_chosen(x: Tensor, d: Data) -> Outputs:
    """Return them as servers compute them."""
    logp = _torch_logp(x, d)
    return *logp.topk(TOP_K), logp.gather(-1, d.index[:, None])[:, 0]
