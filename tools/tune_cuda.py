"""Measure on a GPU which launch of the CUDA kernels is fastest for a shape.

``python tools/tune_cuda.py sweep --out FILE.jsonl`` compiles and times candidates for each shape
that the table was made from, or for those of ``--shape softmax/float32/4000x8192``, through the
ops themselves with a table of one row, and keeps the best of each shape. ``rows FILE.jsonl...``
prints the rows of tuning.toml that records give. A sweep needs a GPU and PyTorch, rows no GPU.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import tuning_rows
from tuning_rows import Record, Row, Shape

import oneread
from oneread.bench.cases import Case
from oneread.bench.gpu import runner
from oneread.bench.gpu.sets import Sets, judges
from oneread.bench.gpu.timing import Effort, contest, in_graph
from oneread.runtime import cubins, cuda, tuning
from oneread.sass.facts.occupancy import occupancy
from oneread.sass.read.elf import read_cubin
from oneread.spec import BackendUnavailableError, OneReadError

SCHEMA = 1
FIRST, LAST = Effort(rounds=2, graph_s=1.5e-3), Effort(rounds=7, graph_s=1.5e-3)
#: Candidates that are measured again, and records of a shape that are kept.
FINALISTS, KEPT = 8, 3
MEASURED = re.compile(r"(\d+) x (\d+):")
DTYPES = {4: "float32", 2: "bfloat16", 8: "float64"}


class Candidate(NamedTuple):
    """A row with what it compiles to."""

    row: Row
    choice: tuning.Choice
    registers: int
    blocks: int


def shapes_of_table() -> list[Shape]:
    """Return the shapes whose measurements stand in the table."""
    found = {
        Shape(op, DTYPES[row["bytes"]], int(said[1]), int(said[2])): None
        for op in tuning_rows.OPS
        for row in tuning.table()[op]
        if (said := MEASURED.match(row["measured"])) and row.get("bytes") in DTYPES
    }
    return list(found)


@contextmanager
def table_of(op: str, row: Row) -> Iterator[None]:
    """Let the ops see a table of one row alone."""
    forget()
    with mock.patch.object(tuning, "table", return_value={op: [{**row, "measured": ""}]}):
        yield
    forget()


def forget() -> None:
    """Let the ops choose again: what they keep of a geometry was another row's."""
    for name in list(sys.modules):
        if name.startswith(("oneread.ops.", "oneread.backends.", "oneread.runtime.cuda")):
            for kept in list(vars(sys.modules[name]).values()):
                if kept is not cuda._loaded and hasattr(kept, "cache_clear"):
                    kept.cache_clear()


def chosen(shape: Shape, row: Row, target: str) -> tuning.Choice | None:
    """Return how a row of the table would be launched for a shape; None: not on this target."""
    with table_of(shape.op, row):
        try:
            what = tuning.Rows(shape.dtype, shape.rows, shape.vocab)
            return tuning.choose(shape.op, what, target)
        except OneReadError:
            return None


def built(row: Row, choice: tuning.Choice, target: str) -> Candidate | None:
    """Compile a candidate; None when it is refused, spills or does not fit."""
    try:
        code = cubins.compiled(cuda.source(choice.kernel), target, dict(choice.defines))
    except OneReadError:
        return None
    resources = read_cubin(code).resources(choice.kernel)
    if resources.local_bytes or not resources.registers:
        return None
    number = int(target.removeprefix("sm_"))
    blocks = occupancy(number, resources, choice.block, choice.dynamic_bytes).blocks
    return Candidate(row, choice, resources.registers, blocks) if blocks else None


def compiled(shape: Shape, target: str) -> list[Candidate]:
    """Return what can be launched for a shape, each code once, compiled side by side."""
    wanted = {}
    for row in tuning_rows.candidates(shape):
        if choice := chosen(shape, row, target):
            wanted[choice.kernel, choice.defines] = row, choice
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda pair: built(*pair, target), wanted.values())
        return [one for one in found if one]


def sweep(shape: Shape, gpu: Any) -> Iterator[Record]:
    """Yield records of the best candidates for a shape, the fastest first."""
    case = Case(
        "tuning", shape.op, (shape.rows, shape.vocab), dtype=shape.dtype, device="gpu",
        timed="graph",
    )  # fmt: skip
    row_output = shape.op != "logsumexp"
    sets = Sets.of(case, gpu.where, keep=row_output)
    judge, _ = judges(case, sets)
    samples: dict[Any, Callable[[], float]] = {}
    found = compiled(shape, gpu.target)
    for number, candidate in enumerate(found):
        sample = _sample(shape, candidate, sets, judge, gpu)
        if sample:
            samples[number] = sample
    first = contest(samples, FIRST)
    best = sorted(first, key=lambda number: first[number].median_s)[:FINALISTS]
    streams = [n for n in first if found[n].row["kernel"] in tuning_rows.STREAMS]
    alone = [n for n in streams if found[n].row.get("cluster", 1) == 1]
    best += sorted(alone, key=lambda n: first[n].median_s)[:1]
    others = {
        name: in_graph(job, len(sets.x), gpu, LAST) for name, job in _others(shape, sets).items()
    }
    last = contest({**{n: samples[n] for n in dict.fromkeys(best)}, **others}, LAST)
    us = {name: round(times.median_s * 1e6, 3) for name, times in last.items()}
    order = sorted((n for n in us if n not in others), key=lambda n: us[n])
    kept = [n for i, n in enumerate(order) if i < KEPT or n in alone]
    for number in kept:
        yield _record(shape, found[number], us[number], us["torch"], us.get("copy"))


def _sample(
    shape: Shape, candidate: Candidate, sets: Sets, judge: Any, gpu: Any
) -> Callable[[], float] | None:
    """Check a candidate and capture it; None, with a word on it, when it is wrong or fails."""
    op = getattr(oneread, shape.op)
    kept = sets.y or tuple(_results(sets))

    def job(i: int) -> Any:
        return op(sets.x[i], out=kept[i])

    try:
        with table_of(shape.op, candidate.row):
            finding = judge.ours({"y" if sets.y else "lse": job(0)})
            if finding.fault:
                print(f"WRONG {shape} {candidate.row}: {finding.fault}", flush=True)
                return None
            return in_graph(job, len(sets.x), gpu, FIRST)
    except OneReadError as error:
        print(f"refused {shape} {candidate.row}: {error}", flush=True)
        return None


def _results(sets: Sets) -> Iterator[Any]:
    import torch

    for x in sets.x:
        kind = torch.float64 if x.dtype == torch.float64 else torch.float32
        yield torch.empty(x.shape[0], dtype=kind, device=x.device)


def _others(shape: Shape, sets: Sets) -> dict[str, Callable[[int], Any]]:
    import torch

    if not sets.y:
        return {"torch": lambda i: torch.logsumexp(sets.x[i], -1)}
    return {
        "torch": lambda i: torch.softmax(sets.x[i], -1, out=sets.y[i]),
        "copy": lambda i: sets.y[i].copy_(sets.x[i]),
    }


def _record(
    shape: Shape, candidate: Candidate, us: float, torch_us: float, copy_us: float | None
) -> Record:
    left_out = {"ELEMENT", "VECTOR_BYTES", "TEMPERATURE", "LOG"}
    return {
        "record": "tuning", **shape._asdict(), "kernel": candidate.choice.kernel, "median_us": us,
        "torch_us": torch_us, "copy_us": copy_us, "registers": candidate.registers,
        "blocks_a_multiprocessor": candidate.blocks,
        "defines": {n: v for n, v in candidate.choice.defines if n not in left_out},
    }  # fmt: skip


def run(shapes: Sequence[Shape], out: Path, seconds: float) -> int:
    """Sweep shapes into a file until the time is over; 1 when some were left out."""
    import torch

    from oneread.bench.gpu.device import TorchGpu

    gpu, end = TorchGpu(), time.monotonic() + seconds
    header = {
        "record": "header", "schema": SCHEMA, "date": dt.datetime.now(dt.UTC).date().isoformat(),
        **runner.facts(), "torch": torch.__version__,
        "what": "configurations of the CUDA kernels, in CUDA graphs over inputs that take turns, "
        f"results in out=; the {KEPT} best of each shape",
    }  # fmt: skip
    left_out = [shape for shape in shapes if not _swept(shape, gpu, out, header, end)]
    if left_out:
        print("no time was left for", *left_out)
    return 1 if left_out else 0


def _swept(shape: Shape, gpu: Any, out: Path, header: Record, end: float) -> bool:
    if time.monotonic() > end:
        return False
    new = not out.exists()
    with out.open("a", encoding="utf-8") as file:
        if new:
            file.write(json.dumps(header) + "\n")
        for number, record in enumerate(sweep(shape, gpu)):
            file.write(json.dumps(record) + "\n")
            if number == 0:
                print(f"{shape}: {record['median_us']:.2f} us, {record['defines']}", flush=True)
    gpu.forget()
    return True


def records(files: Sequence[Path]) -> list[Record]:
    """Return the measurements of several files."""
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
    return [one for one in map(json.loads, lines) if one["record"] == "tuning"]


def main() -> int:
    """Sweep, or print rows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    sweeping = commands.add_parser("sweep", help="measure candidates on the GPU")
    sweeping.add_argument("--out", type=Path, required=True, help="file that records are added to")
    sweeping.add_argument("--shape", type=Shape.parse, action="append", help="OP/DTYPE/ROWSxV")
    sweeping.add_argument("--seconds", type=float, default=1e9, help="begin none after so long")
    rows = commands.add_parser("rows", help="print the rows of tuning.toml that records give")
    rows.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "sweep":
        try:
            return run(options.shape or shapes_of_table(), options.out, options.seconds)
        except BackendUnavailableError as error:
            parser.error(str(error))
    print(tuning_rows.as_toml(tuning_rows.rows_of(records(options.files))), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
