"""What `oneread paper` times on a GPU: the gallery's kernels beside ours, then what is beyond.

Knows names only: no library, no clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from oneread.bench.cases import Case, Shape
from oneread.bench.gpu.cases import GALLERY, SOFTMAX_PEERS, TOP_K_PEERS
from oneread.bench.paper import figures

_GPU: Final[dict[str, Any]] = {"arrays": "torch", "device": "gpu", "timed": "graph"}


def _figures() -> Iterator[Case]:
    for point in figures.points():
        yield point.case(
            memory="fresh" if point.k else "out", kernels=tuple(GALLERY[point.op]),
            peers=("torch",), quick=point.shape[1] in (1000, 4000, figures.K_VOCAB), **_GPU,
        )  # fmt: skip


def _beyond(group: str, shape: Shape, k: int | None = None, **others: Any) -> Case:
    point = figures.Figure(f"beyond: {group}", "softmax_topk" if k else "softmax", shape, k)
    peers = TOP_K_PEERS if k else SOFTMAX_PEERS
    return point.case(memory="fresh" if k else "out", peers=peers, **_GPU, **others)


def _types() -> Iterator[Case]:
    for vocab in (1000, 4000, 25000, 100000):
        yield _beyond("bfloat16", (4000, vocab), dtype="bfloat16", quick=vocab == 4000)
    for vocab in (25000, 128256):
        yield _beyond("bfloat16", (4000, vocab), 5, dtype="bfloat16")


def _large_k() -> Iterator[Case]:
    for rows in (4000, 64, 1):
        for k in (5, 20, 64, 256, 1024):
            yield _beyond("large k", (rows, 128256), k, quick=rows == 64 and k in (64, 1024))


def _long_rows() -> Iterator[Case]:
    for rows in (4000, 64):
        for vocab in (1000, 32768, 65536, 131072, 262144):
            yield _beyond("long rows", (rows, vocab), quick=(rows, vocab) == (64, 262144))


def _one_row() -> Iterator[Case]:
    for vocab in (1000, 32768, 128256, 262144):
        yield _beyond("one row", (1, vocab), quick=vocab == 128256)


CASES: Final[dict[str, Case]] = {
    case.name: case
    for make in (_figures, _types, _large_k, _long_rows, _one_row)
    for case in make()
}
