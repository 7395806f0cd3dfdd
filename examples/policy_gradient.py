"""One step of a policy gradient, with PyTorch's functions and with ours in their place.

The policy is small, its vocabulary as large as real ones; what its logits cost is what one sees.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from measuring import measured, report
from torch import Tensor, nn

from oneread.torch.trl import entropy_from_logits, selective_log_softmax

CLIP = 0.2
ENTROPY_BONUS = 0.01


class Policy(nn.Module):
    """Tokens to logits."""

    def __init__(self, vocab: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, width)
        self.mixer = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocab, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits of each next token."""
        logits: Tensor = self.head(self.mixer(self.embedding(tokens))[0])
        return logits


def plain(logits: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Return log-probabilities and entropies by PyTorch's functions."""
    logp = torch.log_softmax(logits, -1)
    entropy = -(logp.exp() * logp).sum(-1)
    return logp.gather(-1, tokens[..., None])[..., 0], entropy


def ours(logits: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Return the same by the functions that take the place of TRL's."""
    return selective_log_softmax(logits, tokens), entropy_from_logits(logits)


def step(policy: Policy, tokens: Tensor, read: Callable[..., tuple[Tensor, Tensor]]) -> float:
    """Make one step of a clipped policy gradient; rewards are made up."""
    generator = torch.Generator(tokens.device).manual_seed(1)
    advantages = torch.randn(len(tokens), 1, generator=generator, device=tokens.device)
    logprobs, entropy = read(policy(tokens[:, :-1]), tokens[:, 1:])
    ratio = (logprobs - logprobs.detach()).exp()
    gain = torch.minimum(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages)
    loss = -gain.mean() - ENTROPY_BONUS * entropy.mean()
    policy.zero_grad(set_to_none=True)
    loss.backward()
    return loss.item()


def main() -> None:
    """Make the step both ways, and print what each took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocab", type=int, default=128_256, help="tokens there are")
    parser.add_argument("--sequences", type=int, default=4, help="completions in a batch")
    parser.add_argument("--length", type=int, default=65, help="tokens of each")
    parser.add_argument("--width", type=int, default=32, help="width of the policy")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    policy = Policy(options.vocab, options.width).to(device)
    tokens = torch.randint(options.vocab, (options.sequences, options.length), device=device)
    losses = []
    for name, read in (("before", plain), ("after", ours)):
        loss, milliseconds, mebibytes = measured(lambda r=read: step(policy, tokens, r), device)
        report(name, milliseconds, mebibytes)
        losses.append(loss)
    print(f"loss     {losses[0]:.6f} and {losses[1]:.6f}")


if __name__ == "__main__":
    main()
