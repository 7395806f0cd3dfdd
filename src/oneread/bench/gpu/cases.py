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

#: Entries of the gallery's catalogue by op, and by the name that the algorithm has on a CPU too.
GALLERY: Final = {
    "softmax": {"naive": "naive_softmax", "safe": "safe_softmax", "online": "online_softmax"},
    "softmax_topk": {
        "safe_unfused": "safe_unfused",
        "online_unfused": "online_unfused",
        "safe_fused": "safe_softmax_topk",
        "online_fused": "online_softmax_topk",
    },
}

#: Libraries that have a softmax alone.
SOFTMAX_PEERS: Final = ("torch", "compile", "triton", "liger", "quack", "flashinfer", "cupy")
TOP_K_PEERS: Final = ("torch", "compile", "flashinfer")


def _at_least(against: str, number: float, firm: bool = False) -> Goal:
    return (Bar(against, number, firm=firm),)


_AHEAD: Final = (_at_least(BEST, 1.0, firm=True),)


def _graph(group: str, op: str, shape: Shape, dtype: str, **others: Any) -> Case:
    peers = TOP_K_PEERS if op == "softmax_topk" else SOFTMAX_PEERS
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
            peers=SOFTMAX_PEERS, quick=True,
        )  # fmt: skip


def _gallery() -> Iterator[Case]:
    """Yield cases in which the kernels of the gallery run beside ours and PyTorch's."""
    for rows, vocab in ((4000, 4000), (4000, 25000), (10, 25000)):
        yield _graph(
            "gallery softmax", "softmax", (rows, vocab), "float32", peers=("torch",),
            kernels=tuple(GALLERY["softmax"]), quick=vocab == 4000,
        )  # fmt: skip
    for rows in (4000, 10):
        yield _graph(
            "gallery softmax_topk", "softmax_topk", (rows, 25000), "float32", options=(("k", 5),),
            memory="fresh", peers=("torch",), kernels=tuple(GALLERY["softmax_topk"]),
            quick=rows == 10,
        )  # fmt: skip


CASES: Final[dict[str, Case]] = {
    case.name: case
    for make in (
        _softmax, _short_rows, _odd_rows, _few_rows, _axis, _logsumexp, _read, _softmax_topk,
        _large_k, _few_rows_top_k, _calls, _gallery,
    )
    for case in make()
}  # fmt: skip
