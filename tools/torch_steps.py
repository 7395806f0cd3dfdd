"""The steps that tools/run_torch.py measures: what is computed of which logits, and the truth.

Knows no clock and no file. How a step is done is in `torch_ways`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import torch
import torch_ways as ways
from torch import Tensor
from torch_ways import BONUS, IN_PLACE, OURS, PIECE, TOP_K, Data, Function, Make, Way

#: Spread of the logits, that of a language model's.
SPREAD: Final = 4.0
TEMPERATURE: Final = 0.7
#: The group of outputs as long as the row, which have a gradient as long.
WHOLE_ROWS: Final = "whole rows"


@dataclass(frozen=True)
class Step:
    """What is computed on (rows, vocab) logits, in several ways.

    `reads` and `writes` count tensors of their size that must move at least; `fields` are the
    outputs of a call; `small` says that the cost of a call is what is timed.
    """

    group: str
    name: str
    rows: int
    vocab: int
    dtype: str
    reads: int
    writes: int
    fields: tuple[str, ...]
    truth: Callable[[Data, Tensor], dict[str, Tensor]]
    ways: tuple[Way, ...]
    small: bool = False

    @property
    def key(self) -> str:
        """The step with its shape."""
        return f"{self.group}: {self.name}, {self.rows}x{self.vocab} {self.dtype}"

    @property
    def input_bytes(self) -> int:
        """Bytes of the logits."""
        return self.rows * self.vocab * getattr(torch, self.dtype).itemsize

    def data(self, where: str, single: bool = False) -> Data:
        """Make its tensors on a device; the same step gives the same numbers."""
        generator = torch.Generator(where).manual_seed(self.rows + self.vocab)
        given = {"device": where, "generator": generator}
        x = torch.empty(self.rows, self.vocab, dtype=getattr(torch, self.dtype), device=where)
        x.normal_(0, SPREAD, generator=generator)
        index = torch.randint(self.vocab, (self.rows,), **given)
        temperature = 0.5 + torch.rand(self.rows, **given)
        pull = 0.5 + torch.rand(self.rows, **given)
        g = x[:0]
        if self.group == WHOLE_ROWS:
            g = torch.empty_like(x).normal_(0, 1, generator=generator)
        return Data(x, index, temperature, pull, g, single)


# The truth: PyTorch's functions in float64 on some rows, with its gradients.


def _wide(d: Data, rows: Tensor) -> Tensor:
    return d.x[rows].double().requires_grad_()


def _true_loss(d: Data, rows: Tensor) -> dict[str, Tensor]:
    losses = [
        torch.nn.functional.cross_entropy(some.double(), columns, reduction="none")
        for some, columns in zip(d.x.split(PIECE), d.index.split(PIECE), strict=True)
    ]
    x = _wide(d, rows)
    part = torch.nn.functional.cross_entropy(x, d.index[rows], reduction="sum") / len(d.x)
    (gradient,) = torch.autograd.grad(part, x)
    return {"loss": torch.cat(losses).mean(), "gradient": gradient}


def _true_logprobs(
    d: Data, rows: Tensor, temperature: float | None = None, entropy: bool = True
) -> dict[str, Tensor]:
    x = _wide(d, rows)
    logp = torch.log_softmax(x if temperature is None else x / temperature, -1)
    made = {"logprobs": logp.gather(-1, d.index[rows, None])[:, 0]}
    if entropy:
        made["entropy"] = -(logp.exp() * logp).sum(-1)
    pulls = [factor * d.pull[rows].double() for factor in (1, BONUS)[: len(made)]]
    (gradient,) = torch.autograd.grad(list(made.values()), x, pulls)
    return {**made, "gradient": gradient}


def _true_softmax(d: Data, rows: Tensor, log: bool = False) -> dict[str, Tensor]:
    x = _wide(d, rows)
    y = torch.log_softmax(x, -1) if log else torch.softmax(x, -1)
    if not len(d.g):
        return {"y": y}
    (gradient,) = torch.autograd.grad(y, x, d.g[rows].double())
    return {"y": y, "gradient": gradient}


def _true_top(d: Data, rows: Tensor) -> dict[str, Tensor]:
    logp = torch.log_softmax(_wide(d, rows) / d.temperature[rows, None], -1)
    chosen = logp.gather(-1, d.index[rows, None])[:, 0]
    return {"values": logp.topk(TOP_K)[0], "indices": logp, "selected": chosen}


# The steps.

_GPU: Final = "cuda"


def _pair(
    ours: Function, theirs: Function, way: Callable[[Function], Make], peers: tuple[Way, ...] = ()
) -> tuple[Way, ...]:
    """Return our way, that of eager PyTorch, and what torch.compile makes of it."""
    return (
        Way(OURS, OURS, way(ours), graph=way is not ways.backward),
        Way("torch", "torch", way(theirs)),
        Way("torch.compile", "compile", ways.compiled(way, theirs)),
        *peers,
    )


def _losses(device: str) -> Iterator[Step]:
    """Yield the loss of classes with its gradient."""
    peers = [Way(IN_PLACE, OURS, ways.over_logits(ways.loss_over), graph=True)]
    if device == _GPU:
        peers += [
            Way("liger", "liger", ways.both(ways.liger_loss, own=True)),
            Way("quack", "quack", ways.both(ways.quack_loss)),
            Way("quack, inplace_backward", "quack",
                ways.both(partial(ways.quack_loss, inplace=True), own=True)),
        ]  # fmt: skip
    rows, dtype = (4096, "bfloat16") if device == _GPU else (256, "float32")
    yield Step(
        "loss", "cross_entropy, forward and backward", rows, 128_256, dtype, 2, 1,
        ("loss", "gradient"), _true_loss,
        _pair(ways.loss, ways.torch_loss, ways.both, tuple(peers)),
    )  # fmt: skip


def _logprob_steps(device: str) -> Iterator[Step]:
    """Yield log-probabilities and entropies, with and without a temperature and a gradient."""
    shape = (8192, 151_936, "bfloat16") if device == _GPU else (256, 128_256, "float32")
    for way, label, fields in (
        (ways.forward, "forward", ("logprobs", "entropy")),
        (ways.both, "forward and backward", ("logprobs", "entropy", "gradient")),
    ):
        for temperature in (None, TEMPERATURE):
            given = {"temperature": temperature}
            pieces = Way(f"torch, {PIECE} rows at a time", "torch",
                         way(partial(ways.torch_pieces, **given)))  # fmt: skip
            yield Step(
                "log-probs",
                f"logprobs_and_entropy{', temperature' if temperature else ''}, {label}",
                *shape, 1 if way is ways.forward else 2, 0 if way is ways.forward else 1, fields,
                partial(_true_logprobs, **given),
                _pair(partial(ways.logprobs, **given), partial(ways.torch_logprobs, **given), way,
                      (pieces,)),
            )  # fmt: skip
    if device != _GPU:
        yield Step(
            "log-probs", "selective_log_softmax, forward and backward", *shape, 2, 1,
            ("logprobs", "gradient"), partial(_true_logprobs, entropy=False),
            _pair(ways.chosen, ways.torch_chosen, ways.both),
        )  # fmt: skip


def _whole_rows(device: str) -> Iterator[Step]:
    """Yield what is as long as the row: on a GPU the gradient alone, on a CPU both directions."""
    alone = device == _GPU
    dtype = "bfloat16" if alone else "float32"
    for op, ours, theirs in (
        ("softmax", ways.softmax, ways.torch_softmax),
        ("log_softmax", ways.log_softmax, ways.torch_log_softmax),
    ):
        made = _pair(ours, theirs, ways.backward if alone else ways.through)
        if alone:
            derivative = getattr(torch.ops.aten, f"_{op}_backward_data")
            held = Way("torch.compile", "compile", ways.compiled_derivative(derivative, theirs))
            made = (*made[:2], held)
        if alone and op == "softmax":
            made += (
                Way("liger", "liger", ways.backward(ways.liger_softmax)),
                Way("quack", "quack", ways.backward(ways.quack_softmax)),
            )
        for rows, vocab in ((65_536, 8192), (4096, 128_256)) if alone else ((256, 128_256),):
            yield Step(
                WHOLE_ROWS, f"{op}, {'backward' if alone else 'forward and backward'}",
                rows, vocab, dtype, 2 if alone else 3, 1 if alone else 2,
                ("gradient",) if alone else ("y", "gradient"),
                partial(_true_softmax, log=op == "log_softmax"), made,
            )  # fmt: skip


def _calls(_: str) -> Iterator[Step]:
    """Yield calls that cost more than what they compute, without compiled ones."""
    for op, ours, theirs, truth, field in (
        ("softmax", ways.softmax, ways.torch_softmax, _true_softmax, "y"),
        ("cross_entropy", ways.loss, ways.torch_loss, _true_loss, "loss"),
        ("selective_log_softmax", ways.chosen, ways.torch_chosen,
         partial(_true_logprobs, entropy=False), "logprobs"),
    ):  # fmt: skip
        for way, label in ((ways.forward, "no gradient"), (ways.recorded, "a gradient to come"),
                           (ways.both, "with the gradient")):  # fmt: skip
            if way is ways.both and op == "softmax":
                continue
            fields = (field, "gradient") if way is ways.both else (field,)
            yield Step(
                "call", f"{op}, {label}", 10, 1000, "float32", 1, 1, fields, truth,
                tuple(w for w in _pair(ours, theirs, way) if w.library != "compile"), small=True,
            )  # fmt: skip


def _samplers(device: str) -> Iterator[Step]:
    """Yield the top log-probabilities of a step of generation, a temperature a row."""
    shape = (512, 151_936, "bfloat16") if device == _GPU else (64, 128_256, "float32")
    for label, ours, theirs, fields in (
        (f"top {TOP_K} log-probs", ways.top, ways.torch_top, ("values", "indices")),
        (f"top {TOP_K} log-probs and the sampled token's", ways.top_and_chosen,
         ways.torch_top_and_chosen, ("values", "indices", "selected")),
    ):  # fmt: skip
        yield Step("sampler", f"{label}, temperature", *shape, 1, 0, fields, _true_top,
                   _pair(ours, theirs, ways.forward))  # fmt: skip


def steps(device: str) -> list[Step]:
    """Return the steps of a device, those that matter most first."""
    makes = (_losses, _logprob_steps, _samplers, _calls, _whole_rows)
    return [step for make in makes for step in make(device)]


#: Steps whose memory is measured against tokens, and the page that shows it.
MEMORY: Final = {
    "cross_entropy, forward and backward": "trainer",
    "logprobs_and_entropy, forward and backward": "trainer",
    f"top {TOP_K} log-probs, temperature": "sampler",
}
MEMORY_VOCAB: Final = 128_256
#: The ways that are shown.
MEMORY_WAYS: Final = ("torch", IN_PLACE, OURS)
