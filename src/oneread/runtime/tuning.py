"""How the CUDA kernels are launched: rows of a table, each with the measurement behind it.

Knows no GPU and no array: shapes, sizes and targets come in, macros and launch shapes go out.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from oneread.spec import BackendUnavailableError

__all__ = ["ELEMENTS", "FOLDER", "Choice", "Rows", "choices", "choose"]

#: Where the kernels are.
FOLDER: Final = Path(__file__).parents[1] / "kernels" / "cuda"

#: Numbers of the element types in the sources, and their bytes.
ELEMENTS: Final = {
    "float32": (0, 4), "float16": (1, 2), "bfloat16": (2, 2), "float64": (3, 8),
}  # fmt: skip

#: Threads and blocks that fit a multiprocessor, where it is not 2048 and 32.
_ROOM: Final = {75: (1024, 16), 86: (1536, 16), 89: (1536, 24), 120: (1536, 24)}
_MOST_ROOM: Final = (2048, 32)

_FIRST_WITH_CLUSTERS: Final = 90
#: More than any row of the table is limited to.
_ANY_VECTORS: Final = 1 << 24
_FIRST_WITH_COPIES: Final = 80
_VECTOR_BYTES: Final = 16


class Rows(NamedTuple):
    """What a kernel is to run over.

    `vector_bytes` is what one access can take: 16, unless input and output lie differently.
    `aligned` says that every row begins and ends at a multiple of it. `k` is how many winners a row
    shall have.
    """

    dtype: str
    rows: int
    vocab: int
    vector_bytes: int = _VECTOR_BYTES
    aligned: bool = True
    k: int = 0

    @property
    def vectors(self) -> int:
        """Accesses that a row takes at most."""
        width = self.vector_bytes // ELEMENTS[self.dtype][1]
        return -(-self.vocab // width) + (not self.aligned)


class Choice(NamedTuple):
    """A kernel, what it is compiled with and how it is launched."""

    kernel: str
    block: int
    rows_a_block: int
    cluster: int
    dynamic_bytes: int
    defines: tuple[tuple[str, int], ...]
    measured: str

    def grid(self, rows: int) -> int:
        """Return the number of blocks for so many rows."""
        return -(-rows // self.rows_a_block) * self.cluster


def _rows_of(op: str) -> list[dict[str, Any]]:
    return table()["softmax" if op == "log_softmax" else op]


@cache
def table() -> dict[str, list[dict[str, Any]]]:
    """Return the rows of ``tuning.toml`` by op, in order."""
    return tomllib.loads((FOLDER / "tuning.toml").read_text(encoding="utf-8"))


def choose(
    op: str, what: Rows, target: str, *, temperature: int = 0, by_length: bool = False
) -> Choice:
    """Return the first row of the table that holds these rows on this target.

    `temperature` is 0 for none, 1 for one for all, 2 for one a row. With `by_length` the number of
    rows does not count, so that a row's bits do not depend on it.
    """
    number = int(target.removeprefix("sm_"))
    for row in _rows_of(op):
        if _holds(row, what, number, by_length):
            return _choice(op, row, what, number, temperature)
    raise BackendUnavailableError(f"no kernel does {op} of {what} on {target}")


def choices(
    op: str, target: str, *, aligned: bool = True, temperature: int = 0
) -> dict[str, list[Choice]]:
    """Return for each element type all that `choose` can answer on a target."""
    number = int(target.removeprefix("sm_"))
    found: dict[str, list[Choice]] = {}
    for dtype, (_, size) in ELEMENTS.items():
        width = _VECTOR_BYTES // size
        for row in _rows_of(op):
            vectors = row.get("vectors", _ANY_VECTORS) - (not aligned)
            what = Rows(
                dtype, row.get("rows", 1 << 20), vectors * width, _VECTOR_BYTES, aligned,
                row.get("k", 0),
            )  # fmt: skip
            if _holds(row, what, number, by_length=False):
                found.setdefault(dtype, []).append(_choice(op, row, what, number, temperature))
    return found


def _holds(row: dict[str, Any], what: Rows, target: int, by_length: bool) -> bool:
    return bool(
        row.get("bytes", ELEMENTS[what.dtype][1]) == ELEMENTS[what.dtype][1]
        and what.vectors <= row.get("vectors", what.vectors)
        and what.k <= row.get("k", what.k)
        and ("rows" not in row or (what.rows <= row["rows"] and not by_length))
        and (row.get("cluster", 1) == 1 or target >= _FIRST_WITH_CLUSTERS)
        and (
            row["kernel"] != "softmax_shared"
            or (target >= _FIRST_WITH_COPIES and what.vector_bytes == _VECTOR_BYTES)
        )
    )


def _candidate_bytes(dtype: str) -> int:
    """Return what a key takes, as wide as what is computed in, and a column."""
    return max(ELEMENTS[dtype][1], 4) + 4


def _choice(op: str, row: dict[str, Any], what: Rows, target: int, temperature: int) -> Choice:
    block, cluster, vectors = row["block_threads"], row.get("cluster", 1), row["per_thread"]
    threads, blocks = _ROOM.get(target, _MOST_ROOM)
    row_threads = row.get("row_threads", block)
    dynamic_bytes = row.get("capacity", 0) * _candidate_bytes(what.dtype)
    if row["kernel"] == "softmax_shared":
        dynamic_bytes = block * vectors * what.vector_bytes
    defines = {
        "ELEMENT": ELEMENTS[what.dtype][0],
        "VECTOR_BYTES": what.vector_bytes,
        "ALIGNED": int(what.aligned),
        "TEMPERATURE": temperature,
        "BLOCK_THREADS": block,
        "ROW_THREADS": row_threads,
        "VECTORS": vectors,
        "CLUSTER": cluster,
        "MIN_BLOCKS": max(1, min(row["min_blocks"], threads // block, blocks)),
    }
    if op in ("softmax", "log_softmax"):
        defines["LOG"] = int(op == "log_softmax")
    for name in ("keep", "at_once", "capacity"):
        if name in row:
            defines[name.upper()] = row[name]
    return Choice(
        row["kernel"],
        block,
        block // row_threads,
        cluster,
        dynamic_bytes,
        tuple(defines.items()),
        row["measured"],
    )
