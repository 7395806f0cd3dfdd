"""How the CUDA kernels are launched: rows of a table, each with the measurement behind it.

Knows no GPU and no array: shapes, sizes and targets come in, macros and launch shapes go out.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from oneread.spec import BackendUnavailableError

__all__ = [
    "ELEMENTS",
    "FOLDER",
    "Choice",
    "Neighbours",
    "Rows",
    "choices",
    "choices_across",
    "choose",
    "choose_across",
]

#: Where the kernels are.
FOLDER: Final = Path(__file__).parents[1] / "kernels" / "cuda"

#: Numbers of the element types in the sources, and their bytes.
ELEMENTS: Final = {
    "float32": (0, 4), "float16": (1, 2), "bfloat16": (2, 2), "float64": (3, 8),
}  # fmt: skip

#: Numbers of the ops in the sources.
_OPS: Final = {"softmax": 0, "log_softmax": 1, "logsumexp": 2}


class _Room(NamedTuple):
    """What fits a multiprocessor, and of its shared memory one block."""

    threads: int = 2048
    blocks: int = 32
    shared_bytes: int = 227 << 10


_ROOM: Final = {
    75: _Room(1024, 16, 64 << 10),
    80: _Room(2048, 32, 163 << 10),
    86: _Room(1536, 16, 99 << 10),
    89: _Room(1536, 24, 99 << 10),
    120: _Room(1536, 24, 99 << 10),
}
_MOST_ROOM: Final = _Room()
#: What a kernel's own variables take at most, and those of one with candidates.
_OWN_SHARED_BYTES, _COUNTS_BYTES = 2 << 10, 8 << 10

_FIRST_WITH_CLUSTERS: Final = 90
#: More than any row of the table is limited to.
_ANY_VECTORS: Final = 1 << 24
_FIRST_WITH_COPIES: Final = 80
_VECTOR_BYTES: Final = 16
#: Long rows that are not aligned are cut into vectors from the beginning of a line of memory on.
_LINE_BYTES: Final = 128
_LONG_VECTORS: Final = 4096


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

    def vectors(self, line_bytes: int) -> int:
        """Return how many accesses a row takes at most, the first at a multiple of a line."""
        size = ELEMENTS[self.dtype][1]
        before = 0 if self.aligned else line_bytes - size
        return -(-(before + self.vocab * size) // self.vector_bytes)


class Neighbours(NamedTuple):
    """What a kernel is to run over along another axis than the last.

    `inner` rows lie side by side, `vector_bytes` of them can be read at once. `masked` says that a
    mask or lengths leave columns out.
    """

    dtype: str
    inner: int
    vocab: int
    vector_bytes: int
    masked: bool = False


class Choice(NamedTuple):
    """A kernel, what it is compiled with and how it is launched."""

    kernel: str
    block: int
    rows_a_block: int
    cluster: int
    dynamic_bytes: int
    defines: tuple[tuple[str, int], ...]
    measured: str
    ranks: int | None = None
    """How many columns of a row it may count for; None for any."""

    def grid(self, rows: int) -> int:
        """Return the number of blocks for so many rows."""
        return -(-rows // self.rows_a_block) * self.cluster

    def shares(self, what: Rows) -> int:
        """Return how many blocks share a row of which each thread takes vectors once."""
        defines = dict(self.defines)
        vectors = what.vectors(defines.get("LINE_BYTES", what.vector_bytes))
        return max(1, -(-vectors // (defines["VECTORS"] * defines["ROW_THREADS"])))

    def beside(self, more: dict[str, int]) -> Choice:
        """Return it with a mask, lengths, a second loop or results of another type.

        They take a few registers more. Powers are kept in the precision of their own type alone.
        """
        defines = dict(self.defines) | more
        if "RESULT" in more and "KEEP" in defines:
            defines["KEEP"] = 0
        if more and "MIN_BLOCKS" in defines:
            defines["MIN_BLOCKS"] = max(1, defines["MIN_BLOCKS"] * 3 // 4)
        return self._replace(defines=tuple(defines.items()))


def _rows_of(op: str) -> list[dict[str, Any]]:
    return table()["softmax" if op == "log_softmax" else op]


@cache
def table() -> dict[str, list[dict[str, Any]]]:
    """Return the rows of ``tuning.toml`` by op, in order."""
    return tomllib.loads((FOLDER / "tuning.toml").read_text(encoding="utf-8"))


def choose(
    op: str, what: Rows, target: str, *, temperature: int = 0, by_length: bool = False,
    ranks: int = 0,
) -> Choice:  # fmt: skip
    """Return the first row of the table that holds these rows on this target.

    `temperature` is 0 for none, 1 for one for all, 2 for one a row. With `by_length` the number of
    rows does not count, so that a row's bits do not depend on it. `ranks` columns of a row are
    counted that come before others.
    """
    number = int(target.removeprefix("sm_"))
    for row in _rows_of(op):
        if ranks <= row.get("ranks", ranks) and _holds(row, what, number, by_length):
            return _choice(op, row, what, number, temperature)
    raise BackendUnavailableError(f"no kernel does {op} of {what} on {target}")


def choices(
    op: str, target: str, *, aligned: bool = True, temperature: int = 0
) -> dict[str, list[Choice]]:
    """Return for each element type all that `choose` can answer on a target."""
    number = int(target.removeprefix("sm_"))
    found: dict[str, list[Choice]] = {}
    for dtype, (_, size) in ELEMENTS.items():
        for row in _rows_of(op):
            before = 0 if aligned else _line_bytes(row, _VECTOR_BYTES)
            vocab = (row.get("vectors", _ANY_VECTORS) * _VECTOR_BYTES - before) // size
            k = row.get("k", 0)
            what = Rows(dtype, row.get("rows", 1 << 20), vocab, _VECTOR_BYTES, aligned, k)
            if _holds(row, what, number, by_length=False):
                found.setdefault(dtype, []).append(_choice(op, row, what, number, temperature))
    return found


def choose_across(op: str, what: Neighbours, target: str, *, temperature: int = 0) -> Choice:
    """Return the first row of the table of `across` that holds these rows on this target."""
    for row in table()["across"]:
        if _spans(row, op, what):
            return _choice_across(op, row, what.dtype, int(target.removeprefix("sm_")), temperature)
    raise BackendUnavailableError(f"no kernel does {op} of {what} on {target}")


def choices_across(op: str, target: str) -> dict[str, list[Choice]]:
    """Return for each element type all that `choose_across` can answer without a temperature."""
    number = int(target.removeprefix("sm_"))
    found: dict[str, list[Choice]] = {}
    for dtype in ELEMENTS:
        for row in table()["across"]:
            what = Neighbours(dtype, 1 << 20, row.get("columns", _ANY_VECTORS), _VECTOR_BYTES)
            if _spans(row, op, what):
                found.setdefault(dtype, []).append(_choice_across(op, row, dtype, number, 0))
    return found


def _spans(row: dict[str, Any], op: str, what: Neighbours) -> bool:
    size = ELEMENTS[what.dtype][1]
    access = row.get("access", size)
    return bool(
        row.get("bytes", size) == size
        and size <= access <= what.vector_bytes
        and what.vocab <= row.get("columns", what.vocab)
        and what.inner >= row.get("inner", 1)
        and (row["kernel"] == "softmax_across" or not (op == "logsumexp" or what.masked))
    )


def _choice_across(
    op: str, row: dict[str, Any], dtype: str, target: int, temperature: int
) -> Choice:
    element, size = ELEMENTS[dtype]
    access, side = row.get("access", size), row["side"]
    defines = {
        "ELEMENT": element, "VECTOR_BYTES": access, "TEMPERATURE": temperature, "SIDE": side,
    }  # fmt: skip
    if row["kernel"] == "softmax_across":
        block = side * row["shares"]
        defines |= {"OP": _OPS[op], "SHARES": row["shares"], "AHEAD": row["ahead"]}
    else:
        block = row["block_threads"]
        defines |= {"LOG": _OPS[op], "BLOCK_THREADS": block, "VECTORS": row["per_thread"]}
        defines["MIN_BLOCKS"] = _blocks(row["min_blocks"], block, target)
    width = access // size
    return Choice(row["kernel"], block, side * width, 1, 0, tuple(defines.items()), row["measured"])


def _blocks(wanted: int, block: int, target: int) -> int:
    """Return how many blocks a multiprocessor is to hold, where so many have room."""
    room = _ROOM.get(target, _MOST_ROOM)
    return max(1, min(wanted, room.threads // block, room.blocks))


def _line_bytes(row: dict[str, Any], vector_bytes: int) -> int:
    """Return where the vectors of rows that are not aligned begin: at multiples of this."""
    return _LINE_BYTES if row.get("vectors", _ANY_VECTORS) >= _LONG_VECTORS else vector_bytes


def _dynamic_bytes(row: dict[str, Any], what: Rows) -> int:
    """Return the shared memory that a block is launched with."""
    if "capacity" in row:
        return int(row["capacity"]) * _candidate_bytes(what.dtype)
    if "held" not in row:
        return 0
    slots = row["block_threads"] * (row["per_thread"] - row["held"]) * row.get("inputs", 1)
    return int(slots * what.vector_bytes)


def _holds(row: dict[str, Any], what: Rows, target: int, by_length: bool) -> bool:
    own = _COUNTS_BYTES if "capacity" in row else _OWN_SHARED_BYTES
    room = _ROOM.get(target, _MOST_ROOM).shared_bytes - own
    return bool(
        row.get("bytes", ELEMENTS[what.dtype][1]) == ELEMENTS[what.dtype][1]
        and (
            "vectors" not in row
            or what.vectors(_line_bytes(row, what.vector_bytes)) <= row["vectors"]
        )
        and what.k <= row.get("k", what.k)
        and ("rows" not in row or (what.rows <= row["rows"] and not by_length))
        and (row.get("cluster", 1) == 1 or target >= _FIRST_WITH_CLUSTERS)
        and (
            row.get("held", row["per_thread"]) == row["per_thread"]
            or (target >= _FIRST_WITH_COPIES and what.vector_bytes == _VECTOR_BYTES)
        )
        and _dynamic_bytes(row, what) <= room
    )


def _candidate_bytes(dtype: str) -> int:
    """Return what a key takes, as wide as what is computed in, and a column."""
    return max(ELEMENTS[dtype][1], 4) + 4


def _choice(op: str, row: dict[str, Any], what: Rows, target: int, temperature: int) -> Choice:
    block, cluster, vectors = row["block_threads"], row.get("cluster", 1), row["per_thread"]
    row_threads = row.get("row_threads", block)
    defines = {
        "ELEMENT": ELEMENTS[what.dtype][0],
        "VECTOR_BYTES": what.vector_bytes,
        "ALIGNED": int(what.aligned),
        "TEMPERATURE": temperature,
        "BLOCK_THREADS": block,
        "ROW_THREADS": row_threads,
        "VECTORS": vectors,
        "CLUSTER": cluster,
        "MIN_BLOCKS": _blocks(row["min_blocks"], block, target),
    }
    if not what.aligned:
        defines["LINE_BYTES"] = _line_bytes(row, what.vector_bytes)
    if op in ("softmax", "log_softmax"):
        defines["LOG"] = _OPS[op]
    for name in ("keep", "held", "at_once", "capacity"):
        if name in row:
            defines[name.upper()] = row[name]
    return Choice(
        row["kernel"],
        block,
        block // row_threads,
        cluster,
        _dynamic_bytes(row, what),
        tuple(defines.items()),
        row["measured"],
        row.get("ranks"),
    )
