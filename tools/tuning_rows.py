"""Rows of tuning.toml: which ones to try for a shape, and which ones measurements give.

Knows no GPU: a row is what stands in the table, a record what was measured of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from oneread.runtime.tuning import ELEMENTS

Row = dict[str, Any]
Record = dict[str, Any]

#: Tables whose rows can be measured here.
OPS = ("softmax", "logsumexp")
VECTOR_BYTES = 16
#: Arrays of up to this many rows have rows of the table for themselves.
FEW_ROWS = 64
#: Threads and registers of a multiprocessor of sm_90, and the shared memory of its blocks.
THREADS, REGISTERS, SHARED_BYTES = 2048, 65536, 227 << 10
#: A row may leave this part of its registers or shared memory unused.
SLACK = 1.3
#: Kernels with no bound on the length of a row.
STREAMS = ("two_pass_softmax", "logsumexp")


class Shape(NamedTuple):
    """What is measured."""

    op: str
    dtype: str
    rows: int
    vocab: int

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return ELEMENTS[self.dtype][1]

    @property
    def vectors(self) -> int:
        """Vectors of 16 bytes that a row takes."""
        return -(-self.vocab * self.size // VECTOR_BYTES)

    @property
    def few(self) -> bool:
        """Whether there are few rows."""
        return self.rows <= FEW_ROWS

    @property
    def bytes(self) -> int:
        """Bytes that are read and written at least."""
        return self.rows * self.vocab * self.size * (1 if self.op == "logsumexp" else 2)

    def __str__(self) -> str:
        return f"{self.op}/{self.dtype}/{self.rows}x{self.vocab}"

    @classmethod
    def parse(cls, text: str) -> Shape:
        """Return what ``softmax/float32/4000x8192`` says; ValueError when it says nothing."""
        op, dtype, sides = text.split("/")
        rows, vocab = sides.split("x")
        for said, known in ((op, OPS), (dtype, ELEMENTS)):
            if said not in known:
                raise ValueError(f"{said!r} is none of {', '.join(known)}")
        return cls(op, dtype, int(rows), int(vocab))


def candidates(shape: Shape) -> Iterator[Row]:
    """Yield the rows of the table that may be the best for a shape."""
    if shape.op == "logsumexp":
        yield from _streams_of_logsumexp(shape)
        return
    yield from _shares_of_a_warp(shape)
    yield from _registers(shape)
    yield from _two_passes(shape)
    yield from _shared_memory(shape)


def _keeps(shape: Shape) -> tuple[int, ...]:
    """Whether a thread may keep its powers: in wider types that rounds twice (ADR 0022)."""
    return (0, 1) if shape.size == 2 else (0,)


def _shares_of_a_warp(shape: Shape) -> Iterator[Row]:
    """Several rows a block, each the row of a part of a warp."""
    for threads, vectors, block, keep in product(
        (2, 4, 8, 16, 32), (1, 2, 3, 4, 6, 8), (128, 256), _keeps(shape)
    ):
        if shape.vectors <= threads * vectors <= SLACK * shape.vectors + 1:
            for blocks in (1, THREADS // block):
                yield {
                    "kernel": "softmax_row", "block_threads": block, "row_threads": threads,
                    "per_thread": vectors, "min_blocks": blocks, "keep": keep,
                }  # fmt: skip


def _registers(shape: Shape) -> Iterator[Row]:
    """One row a block or a cluster, in registers."""
    width = VECTOR_BYTES // shape.size
    most_elements = 32 if shape.size == 8 else 128
    for cluster, block, vectors in product(
        (1, 2, 4, 8, 16), (64, 128, 256, 512, 1024), (1, 2, 3, 4, 6, 8, 12, 16)
    ):
        fits = shape.vectors <= cluster * block * vectors <= SLACK * shape.vectors
        if not fits or vectors * width > most_elements or (cluster > 1 and block < 256):
            continue
        if cluster == 1 and ((shape.vectors < 200 and block > 256) or _too_long(shape)):
            continue
        for blocks, keep in product(_min_blocks(THREADS // block), _keeps(shape)):
            registers = REGISTERS // (block * blocks)
            if vectors * 4 + 10 <= registers and not (keep and vectors * width + 10 > registers):
                yield {
                    "kernel": "softmax_row", "block_threads": block, "per_thread": vectors,
                    "cluster": cluster, "min_blocks": blocks, "keep": keep,
                }  # fmt: skip


def _too_long(shape: Shape) -> bool:
    """Whether a few rows are too long for one block each: most multiprocessors would idle."""
    return shape.few and shape.vectors > 4096


def _min_blocks(full: int) -> list[int]:
    return sorted({1, max(1, full // 2), full})


def _two_passes(shape: Shape) -> Iterator[Row]:
    """Rows of any length."""
    for cluster, (block, vectors, blocks) in product(
        (1, 2, 4, 8, 16),
        (
            (1024, 2, 2),
            (512, 4, 4),
            (512, 4, 2),
            (512, 4, 1),
            (1024, 4, 1),
            (512, 8, 2),
            (256, 8, 2),
            (256, 4, 8),
            (256, 4, 4),
        ),
    ):
        if shape.vectors > (2000 if cluster == 1 else 8000):
            yield {
                "kernel": "two_pass_softmax", "block_threads": block, "per_thread": vectors,
                "cluster": cluster, "min_blocks": blocks,
            }  # fmt: skip


def _shared_memory(shape: Shape) -> Iterator[Row]:
    """One row a block or a cluster, in shared memory but for what a thread holds itself."""
    if shape.vectors <= 700:
        return
    for cluster, block, vectors, (held, at_once) in product(
        (1, 2, 4, 8, 16), (128, 256, 512, 1024), (4, 8, 12, 13, 16, 24, 32),
        ((0, 1), (0, 2), (0, 4), (1, 1), (2, 2)),
    ):  # fmt: skip
        slots = vectors - held
        if (
            slots % at_once
            or not shape.vectors <= cluster * block * vectors <= SLACK * shape.vectors
        ):
            continue
        bytes_a_block = block * slots * VECTOR_BYTES + 1024 + block // 32 * 8 * cluster
        full = min(THREADS // block, SHARED_BYTES // bytes_a_block)
        if full < (1 if shape.few or block == 1024 else 2):
            continue
        for blocks in sorted({full, max(1, full // 2)}):
            if shape.few or blocks * block >= 512:
                yield {
                    "kernel": "softmax_shared", "block_threads": block, "per_thread": vectors,
                    "cluster": cluster, "min_blocks": blocks, "held": held, "at_once": at_once,
                }  # fmt: skip


def _streams_of_logsumexp(shape: Shape) -> Iterator[Row]:
    for threads, vectors, block in product((4, 8, 16, 32), (1, 2, 4, 8), (128, 256)):
        if shape.vectors <= 600 and threads * vectors <= 2 * shape.vectors:
            yield {
                "kernel": "logsumexp", "block_threads": block, "row_threads": threads,
                "per_thread": vectors, "min_blocks": (THREADS if vectors < 8 else 1024) // block,
            }  # fmt: skip
    for cluster, (block, vectors, blocks) in product(
        (1, 4, 8, 16),
        (
            (64, 2, 16), (64, 4, 16), (128, 2, 16), (128, 4, 8), (128, 8, 8), (256, 2, 8),
            (256, 4, 6), (256, 4, 8), (256, 4, 4), (256, 8, 3), (512, 2, 4), (512, 4, 3),
            (512, 4, 2), (1024, 2, 2), (1024, 4, 1),
        ),
    ):  # fmt: skip
        spread = cluster > 1 and (shape.rows > 300 or shape.vectors < 1000)
        if not spread and block * vectors * cluster <= 2 * shape.vectors:
            yield {
                "kernel": "logsumexp", "block_threads": block, "per_thread": vectors,
                "cluster": cluster, "min_blocks": blocks,
            }  # fmt: skip


def rows_of(records: Iterable[Record]) -> list[tuple[str, Row]]:
    """Return the rows of the table that measurements give, with their ops, in its order."""
    best: dict[Shape, list[Record]] = {}
    for record in records:
        shape = Shape(record["op"], record["dtype"], record["rows"], record["vocab"])
        best.setdefault(shape, []).append(record)
    for found in best.values():
        found.sort(key=lambda record: float(record["median_us"]))
    rows = []
    for op, dtype in product(OPS, ("float32", "bfloat16", "float64")):
        for few in (True, False):
            shapes = sorted(s for s in best if (s.op, s.dtype, s.few) == (op, dtype, few))
            rows += [(op, row) for row in _ladder(sorted(shapes, key=_length), best)]
    return rows


def _length(shape: Shape) -> int:
    return shape.vocab


def _ladder(shapes: Sequence[Shape], best: dict[Shape, list[Record]]) -> Iterator[Row]:
    """Yield the rows for shapes of rising length, each where the one before ends."""
    reached = 0
    for number, shape in enumerate(shapes):
        records = best[shape]
        last = number == len(shapes) - 1
        row, held = _row(shape, records[0], any_length=last)
        if held is not None and held <= reached:
            continue  # an earlier row holds these as well
        reached = held or reached
        yield row
        if last and "vectors" not in row and "cluster" in row and not shape.few:
            # For targets without clusters.
            alone = [r for r in records if r["defines"]["CLUSTER"] == 1 and r["kernel"] in STREAMS]
            yield from (_row(shape, record, any_length=True)[0] for record in alone[:1])


def _row(shape: Shape, record: Record, any_length: bool) -> tuple[Row, int | None]:
    """Return the row for what was measured of one, and how many vectors it holds; None: any."""
    defines, kernel = record["defines"], record["kernel"]
    block, cluster, per_thread = (defines[n] for n in ("BLOCK_THREADS", "CLUSTER", "VECTORS"))
    threads = defines.get("ROW_THREADS", block)
    held: int | None = shape.vectors if kernel in STREAMS else threads * per_thread * cluster
    if any_length and kernel in STREAMS:
        held = None
    row: Row = {"bytes": shape.size}
    if held is not None:
        row["vectors"] = held
    if shape.few:
        row["rows"] = FEW_ROWS
    row |= {"kernel": kernel, "block_threads": block}
    if threads != block:
        row["row_threads"] = threads
    row["per_thread"] = per_thread
    if cluster > 1:
        row["cluster"] = cluster
    row["min_blocks"] = defines["MIN_BLOCKS"]
    for name, of in (
        ("keep", "softmax_row"),
        ("held", "softmax_shared"),
        ("at_once", "softmax_shared"),
    ):
        if kernel == of:
            row[name] = defines.get(name.upper(), 0)
    row["measured"] = _measured(shape, record)
    return row, held


def _measured(shape: Shape, record: Record) -> str:
    us = record["median_us"]
    text = f"{shape.rows} x {shape.vocab}: {us:.2f} us, {shape.bytes / us / 1e3:.0f} GB/s"
    if record["copy_us"] and not shape.few:
        text += f", {record['copy_us'] / us:.2f} of a copy"
    return text


def as_toml(rows: Iterable[tuple[str, Row]]) -> str:
    """Return rows as they stand in the table."""
    return "\n".join(f"[[{op}]]\n{_lines(row)}" for op, row in rows)


def _lines(row: Row) -> str:
    return "".join(
        f'{name} = "{value}"\n' if isinstance(value, str) else f"{name} = {value}\n"
        for name, value in row.items()
    )
