"""Distillation from the stored top log-probs of a teacher, before and after.

A teacher's k likeliest tokens and their log-probs are stored for each position; the student learns
them by the cross entropy over these and one class for all other tokens.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from measuring import measured, report
from torch import Tensor, nn

import oneread.torch as ot


def store(teacher: nn.Module, hidden: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return tokens and log-probs to store, (positions, k)."""
    with torch.no_grad():
        best = ot.softmax_topk(teacher(hidden), k, kind="logprob")
    return best.indices, best.values


def plain(logits: Tensor, tokens: Tensor) -> Tensor:
    """Return the student's log-probs of these tokens by PyTorch's functions."""
    return torch.log_softmax(logits, -1).gather(-1, tokens)


def ours(logits: Tensor, tokens: Tensor) -> Tensor:
    """Return the same from one read, with a gradient that is one write."""
    return ot.selective_log_softmax(logits, tokens)


def loss_of(student: Tensor, teacher: Tensor) -> Tensor:
    """Return the cross entropy over the stored tokens and all others as one class."""
    rest, of_rest = [1 - logp.exp().sum(-1) for logp in (teacher, student)]
    kept = (teacher.exp() * student).sum(-1)
    return -(kept + rest * of_rest.clamp(min=1e-6).log()).mean()


def step(
    student: nn.Module, hidden: Tensor, tokens: Tensor, logprobs: Tensor,
    read: Callable[[Tensor, Tensor], Tensor],
) -> float:  # fmt: skip
    """Make one step of the student's gradient."""
    loss = loss_of(read(student(hidden), tokens), logprobs)
    student.zero_grad(set_to_none=True)
    loss.backward()
    return loss.item()


def main() -> None:
    """Store the teacher's log-probs, make a student's step both ways, print what each took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocab", type=int, default=128_256, help="tokens there are")
    parser.add_argument("--positions", type=int, default=256, help="tokens of text")
    parser.add_argument("--top-k", type=int, default=20, help="tokens stored of each position")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    hidden = torch.randn(options.positions, 32, device=device)
    teacher, student = [nn.Linear(32, options.vocab, bias=False).to(device) for _ in range(2)]
    tokens, logprobs = store(teacher, hidden, options.top_k)
    stored = (tokens.nbytes + logprobs.nbytes) / 2**20
    print(
        f"stored   {stored:.2f} MiB in place of {options.positions * options.vocab * 4 / 2**20:.1f}"
    )
    losses = []
    for name, read in (("before", plain), ("after", ours)):
        loss, milliseconds, mebibytes = measured(
            lambda r=read: step(student, hidden, tokens, logprobs, r), device
        )
        report(name, milliseconds, mebibytes)
        losses.append(loss)
    print(f"loss     {losses[0]:.6f} and {losses[1]:.6f}")


if __name__ == "__main__":
    main()
