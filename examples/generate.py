"""A loop that generates tokens with top log-probs and a temperature a row, before and after.

The model is small, its vocabulary as large as real ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from measuring import measured, report
from torch import Tensor, nn

import oneread.torch as ot

Step = tuple[Tensor, Tensor, Tensor]


def plain(logits: Tensor, temperatures: Tensor, k: int) -> Step:
    """Return log-probs and tokens of the k likeliest, and their chances, by PyTorch's functions."""
    logp = torch.log_softmax(logits / temperatures[:, None], -1)
    values, tokens = logp.topk(k)
    return values, tokens, values.softmax(-1)


def ours(logits: Tensor, temperatures: Tensor, k: int) -> Step:
    """Return the same from one read of the logits."""
    best = ot.softmax_topk(logits, k, kind="logprob", temperature=temperatures)
    return best.values, best.indices, best.values.softmax(-1)


class Model(nn.Module):
    """The last token to logits."""

    def __init__(self, vocab: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, width)
        self.cell = nn.GRUCell(width, width)
        self.head = nn.Linear(width, vocab, bias=False)

    def forward(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and the next state."""
        state = self.cell(self.embedding(tokens), state)
        return self.head(state), state


@torch.no_grad()
def generate(
    model: Model, rows: int, count: int, k: int, read: Callable[..., Step], device: str
) -> tuple[Tensor, Tensor]:
    """Return tokens and their log-probs, (rows, count)."""
    generator = torch.Generator(device).manual_seed(1)
    tokens = torch.zeros(rows, dtype=torch.int64, device=device)
    state = torch.zeros(rows, model.cell.hidden_size, device=device)
    temperatures = torch.linspace(0.7, 1.3, rows, device=device)
    chosen, logprobs = [], []
    for _ in range(count):
        logits, state = model(tokens, state)
        values, best, chances = read(logits, temperatures, k)
        pick = torch.multinomial(chances, 1, generator=generator)
        tokens = best.gather(1, pick)[:, 0]
        chosen.append(tokens)
        logprobs.append(values.gather(1, pick)[:, 0])
    return torch.stack(chosen, 1), torch.stack(logprobs, 1)


def main() -> None:
    """Generate both ways, and print what each took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocab", type=int, default=128_256, help="tokens there are")
    parser.add_argument("--rows", type=int, default=16, help="sequences side by side")
    parser.add_argument("--count", type=int, default=16, help="tokens to generate")
    parser.add_argument("--top-k", type=int, default=20, help="tokens to choose among")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = Model(options.vocab, 32).to(device)
    made = []
    for name, read in (("before", plain), ("after", ours)):
        result, milliseconds, mebibytes = measured(
            lambda r=read: generate(model, options.rows, options.count, options.top_k, r, device),
            device,
        )
        report(name, milliseconds, mebibytes)
        made.append(result)
    same = (made[0][0] == made[1][0]).double().mean().item()
    print(f"tokens   {made[0][0].numel()} of {options.vocab}, {same:.0%} the same")


if __name__ == "__main__":
    main()
