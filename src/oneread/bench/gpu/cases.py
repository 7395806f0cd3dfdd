"""The cases on a GPU: what is timed, what has to be reached and what would be better still.

Knows names only: no library, no clock. The numbers are those set for one H200.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from oneread.bench.cases import BARE, BEST, COPY, READ, US, Bar, Case, Goal, Shape

#: What the rows of a group are to reach together: geometric mean of the best peer's time over ours.
TOGETHER: Final = {"softmax": 1.0}

#: The types that a GPU is asked for most.
_TYPES: Final = ("float32", "bfloat16")

#: Lengths of 4000 rows.
_LENGTHS: Final = (4000, 8192, 16384, 32768, 65536, 128256, 131072, 262144)

TORCH: Final = "torch"

#: Libraries that have a softmax alone.
_SOFTMAX_PEERS: Final = ("torch", "compile", "triton", "liger", "quack", "flashinfer", "cupy")
_TOP_K_PEERS: Final = ("torch", "compile", "flashinfer")


def _at_least(against: str, number: float, firm: bool = False) -> Goal:
    return (Bar(against, number, firm=firm),)


_AHEAD: Final = (_at_least(BEST, 1.0, firm=True),)


def _graph(group: str, op: str, shape: Shape, dtype: str, **others: Any) -> Case:
    peers = _TOP_K_PEERS if op == "softmax_topk" else _SOFTMAX_PEERS
    given = {"arrays": "torch", "device": "gpu", "timed": "graph", "peers": peers, **others}
    return Case(group, op, shape, dtype=dtype, **given)


def _softmax() -> Iterator[Case]:
    for dtype, vocab in product(_TYPES, _LENGTHS):
        share = 0.89 if (dtype, vocab) == ("bfloat16", 262144) else 0.93
        yield _graph(
            "softmax", "softmax", (4000, vocab), dtype,
            goals=(_at_least(COPY, share), _at_least(BEST, 0.95, firm=True)), aims=_AHEAD,
            quick=(dtype, vocab) in (("float32", 4000), ("bfloat16", 32768)),
        )  # fmt: skip


def _short_rows() -> Iterator[Case]:
    for dtype, shape in product(_TYPES, ((4000, 1000), (32768, 128))):
        yield _graph(
            "short rows", "softmax", shape, dtype,
            goals=(_at_least(BEST, 0.97, firm=True),), aims=_AHEAD,
            quick=(dtype, shape[0]) == ("float32", 4000),
        )  # fmt: skip


def _odd_rows() -> Iterator[Case]:
    for dtype in _TYPES:
        yield _graph(
            "odd rows", "softmax", (4000, 50257), dtype,
            goals=(_at_least(COPY, 0.88),), aims=(_at_least(COPY, 0.93),),
            quick=dtype == "float32",
        )  # fmt: skip


def _few_rows() -> Iterator[Case]:
    for dtype, rows, vocab in product(_TYPES, (1, 10, 64), (32768, 128256, 262144)):
        wide = dtype == "float32"
        goals = [_at_least(BEST, 1.0 if wide else 0.95, firm=True)]
        if (dtype, rows, vocab) == ("float32", 1, 128256):
            goals.append(_at_least(US, 4.3))
        yield _graph(
            "few rows", "softmax", (rows, vocab), dtype, goals=tuple(goals),
            aims=() if wide else _AHEAD, quick=wide and (rows, vocab) == (1, 128256),
        )  # fmt: skip


def _axis() -> Iterator[Case]:
    for dtype in _TYPES:
        yield _graph(
            "another axis", "softmax", (4096, 1024, 64), dtype, axis=1,
            goals=(_at_least(COPY, 0.75),), aims=(_at_least(COPY, 0.90),),
            peers=("torch", "compile", "cupy"), quick=dtype == "float32",
        )  # fmt: skip


_WIDE: Final = (4096, 128256)


def _logsumexp() -> Iterator[Case]:
    yield _graph(
        "logsumexp", "logsumexp", _WIDE, "bfloat16", goals=(_at_least(READ, 0.95),),
        aims=(_at_least(READ, 0.97),), peers=("torch", "compile", "quack", "cupy"), quick=True,
    )  # fmt: skip


def _read() -> Iterator[Case]:
    options = (("select", "random"), ("entropy", True), ("rank", True))
    yield _graph(
        "read", "read", _WIDE, "bfloat16", options=options, memory="fresh",
        goals=(_at_least(READ, 0.88),), aims=(_at_least(READ, 0.93),),
        peers=("torch", "compile"), quick=True,
    )  # fmt: skip


#: Shares of the read rate by type and length: floor and aim of k up to 10, floor and aim of 64.
_TOP_K: Final = {
    ("float32", 128256): (0.95, 0.97, 0.90, 0.93),
    ("float32", 25000): (0.75, 0.85, 0.62, 0.75),
    ("bfloat16", 128256): (0.76, 0.88, 0.70, 0.82),
    ("bfloat16", 25000): (0.48, 0.65, 0.40, 0.55),
}


def _softmax_topk() -> Iterator[Case]:
    for ((dtype, vocab), shares), k in product(_TOP_K.items(), (5, 10, 64)):
        floor, aim = shares[:2] if k <= 10 else shares[2:]
        yield _graph(
            "softmax_topk", "softmax_topk", (4000, vocab), dtype, options=(("k", k),),
            memory="fresh", goals=(_at_least(READ, floor),), aims=(_at_least(READ, aim),),
            quick=(dtype, vocab, k) == ("float32", 25000, 10),
        )  # fmt: skip


def _large_k() -> Iterator[Case]:
    for rows, k in product((4000, 256), (256, 1024)):
        goals, aims = [_at_least(BEST, 1.0, firm=True)], [_at_least(BARE, 1.0, firm=True)]
        if k == 256:
            goals.insert(0, _at_least(READ, 0.49))
            aims.insert(0, _at_least(READ, 0.60))
        yield _graph(
            "softmax_topk, large k", "softmax_topk", (rows, 128256), "float32",
            options=(("k", k),), memory="fresh", goals=tuple(goals), aims=tuple(aims),
            quick=(rows, k) == (256, 256),
        )  # fmt: skip


def _few_rows_top_k() -> Iterator[Case]:
    yield _graph(
        "softmax_topk, few rows", "softmax_topk", (10, 128256), "float32", options=(("k", 10),),
        memory="fresh", goals=(_at_least(US, 11.5),), aims=(_at_least(US, 9.0),), quick=True,
    )  # fmt: skip


def _calls() -> Iterator[Case]:
    for group, memory, goal in (
        ("call, fresh result", "fresh", _at_least(TORCH, 1.0, firm=True)),
        ("call, out=", "out", _at_least(US, 7.0)),
    ):
        yield Case(
            group, "softmax", (10, 1000), (goal,), memory=memory, arrays="torch", device="gpu",
            peers=_SOFTMAX_PEERS, quick=True,
        )  # fmt: skip


CASES: Final[dict[str, Case]] = {
    case.name: case
    for make in (
        _softmax, _short_rows, _odd_rows, _few_rows, _axis, _logsumexp, _read, _softmax_topk,
        _large_k, _few_rows_top_k, _calls,
    )
    for case in make()
}  # fmt: skip
