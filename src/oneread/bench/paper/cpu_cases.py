"""What `oneread paper` times on a CPU: the textbook kernels beside ours, then what is beyond.

Knows names only: no library, no clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from oneread.bench.cases import Case, Shape
from oneread.bench.paper import figures
from oneread.spec import OPS

#: The longest rows of the large batch that a quick run has, the table of k apart.
_QUICK_VOCAB: Final = 4000


def _textbook(op: str) -> tuple[str, ...]:
    return tuple(kernel.algorithm for kernel in OPS[op].kernels if kernel.textbook)


def _figures() -> Iterator[Case]:
    for point in figures.points():
        rows, vocab = point.shape
        short = vocab <= _QUICK_VOCAB or rows < figures.ROWS[0]
        table = point.op == "softmax_topk" and vocab == figures.K_VOCAB
        yield point.case(
            memory="fresh" if point.k else "out", kernels=_textbook(point.op),
            peers=("torch",), quick=short or table,
        )  # fmt: skip


def _beyond(group: str, shape: Shape, k: int | None = None, **others: Any) -> Case:
    op = "softmax_topk" if k else "softmax"
    memory = "fresh" if k else "out"
    return figures.Figure(f"beyond: {group}", op, shape, k).case(memory=memory, **others)


def _types() -> Iterator[Case]:
    for shape in ((4000, 1000), (4000, 25000), (64, 128256)):
        yield _beyond("bfloat16", shape, dtype="bfloat16", quick=shape[1] == 1000)
    yield _beyond("bfloat16", (64, 128256), 5, dtype="bfloat16")


def _large_k() -> Iterator[Case]:
    for rows in (64, 1):
        for k in (5, 20, 64, 256, 1024):
            yield _beyond("large k", (rows, 128256), k, quick=rows == 1 and k in (64, 1024))


def _long_rows() -> Iterator[Case]:
    for vocab in (1000, 32768, 65536, 131072, 262144):
        yield _beyond("long rows", (64, vocab), quick=vocab == 32768)


def _one_row() -> Iterator[Case]:
    for vocab in (1000, 32768, 128256, 262144):
        yield _beyond("one row", (1, vocab), quick=vocab in (1000, 262144))


CASES: Final[dict[str, Case]] = {
    case.name: case
    for make in (_figures, _types, _large_k, _long_rows, _one_row)
    for case in make()
}
