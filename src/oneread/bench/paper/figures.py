"""What the paper's figures show, as shapes: rows, lengths, and how many of the largest.

Knows names and numbers only. The paper is Milakov & Gimelshein (2018), section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from oneread.bench.cases import Case, Shape

#: A large batch, which fills a GPU, and a small one, which does not.
ROWS: Final = (4000, 10)
VOCABS: Final = (10, 100, 1000, 4000, 10000, 25000, 50000, 100000)
K: Final = 5
#: The table of larger k is for this length.
K_VOCAB: Final = 25000
KS: Final = (5, 10, 15, 30)

SOFTMAX: Final = "paper softmax"
TOP_K: Final = "paper softmax_topk"


class Figure(NamedTuple):
    """One point of a figure: an op on an input."""

    group: str
    op: str
    shape: Shape
    k: int | None = None

    def case(self, **others: Any) -> Case:
        """Return the case of the point."""
        options = (("k", self.k),) if self.k else ()
        return Case(self.group, self.op, self.shape, options=options, **others)


def points() -> Iterator[Figure]:
    """Yield the points of all figures, each once, the shorter rows first."""
    for rows in ROWS:
        for vocab in VOCABS:
            yield Figure(SOFTMAX, "softmax", (rows, vocab))
    for rows in ROWS:
        for vocab in VOCABS:
            ks = KS if (rows, vocab) == (ROWS[0], K_VOCAB) else (K,)
            for k in ks:
                yield Figure(TOP_K, "softmax_topk", (rows, vocab), k)
