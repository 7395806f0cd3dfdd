"""What a GPU did with the gallery beside what the tracer says: distances, faults, counts.

Reads the records that the package carries and runs the tracer on the same launches.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from oneread.bench.gallery import entries, tables, truth
from oneread.bench.gallery.entries import Problem
from oneread.source.measured import Record, Result, load, newest, of, results
from oneread.trace import Case
from oneread.trace.faults import Fault
from oneread.trace.gallery import run_kernel, run_sequence
from oneread.trace.limits import Limits
from oneread.trace.running import Run

#: All of these launches end; how long they take on a busy machine is no matter.
PATIENT = Limits(seconds=3600)

#: Results below it are only asked to be small.
LEAST = 1e-30

#: The launches that NVIDIA's tools watched: which defines, and how many columns of 4 rows.
LAUNCHES = (("trace", 256), ("trace", 250), ("bench", 256))

#: Kernels whose result depends on the order of warps: an order in which ours is the GPU's.
ORDERS = {"zoo_reused_scratch": "reverse"}

#: Kernels whose result no order of warps gives, and why.
UNORDERED = {
    "zoo_missing_syncwarp": "wrong on the GPU: lanes of a warp race, which has no defined result"
}

#: Messages of compute-sanitizer by how they begin: in short, and what the tracer calls it.
KINDS = {
    "Invalid __global__ read": ("read out of bounds", {"out-of-bounds"}),
    "Error: Race reported": ("race", {"race-warps", "race-warp"}),
    "Warning: Race reported": ("race, a warning", {"race-warps", "race-warp"}),
    "Barrier error detected. Divergent": ("divergent barrier", {"barrier-divergence"}),
}

#: Why compute-sanitizer has no message for what the tracer calls so.
ALONE = {
    "wrong-result": "no tool of it checks results",
    "nan-made": "no tool of it checks results",
    "stray-row": "another row of the same allocation is valid memory",
    "latent-overflow": "nothing overflows at this size",
    "barrier-idle": "costs time, breaks nothing",
    "barrier-exited": "threads that left count as arrived",
}

COUNTED = (
    "global_load_requests", "global_load_sectors", "global_store_requests",
    "global_store_sectors", "shared_load_wavefronts", "shared_store_wavefronts",
)  # fmt: skip


@dataclass(frozen=True)
class Kept:
    """Accesses of shared memory that nvcc makes none of: (line, buffer) of each.

    `once` are stores that replace one for each round of a loop: as many as these have.
    """

    why: str
    loads: tuple[tuple[int, str], ...] = ()
    stores: tuple[tuple[int, str], ...] = ()
    once: tuple[tuple[int, str], ...] = ()


_TWO_IN_ONE = "m and d side by side: one access of 8 bytes"
_LOADED = "loaded a line above"
_SUM = "a lane's own sum stays in a register over the loop, stored once behind it"
_TREE = ((26, "m_scratch"), (36, "d_scratch"))
KEPT = {
    "top_k": Kept(_LOADED, ((65, "scratch"),)),
    "safe_softmax_topk": Kept(_LOADED, ((102, "scratch"),)),
    "online_softmax_topk": Kept(_LOADED, ((91, "scratch"),)),
    "online_softmax_tiled_racy": Kept(
        _TWO_IN_ONE, ((63, "d_row"),), ((30, "d_row"), (56, "m_row"))
    ),
    "online_softmax_tiled": Kept(_TWO_IN_ONE, ((69, "d_row"),), ((31, "d_row"), (62, "m_row"))),
    "online_softmax_lane": Kept(_LOADED, ((48, "m_scratch"), (49, "m_scratch"))),
    "safe_softmax_shared": Kept("stored a line above", ((31, "row"), (47, "row"))),
    "online_partials": Kept(_TWO_IN_ONE, ((58, "scratch"),)),
    "zoo_odd_tree": Kept(_SUM, _TREE, _TREE, ((25, "m_scratch"), (35, "d_scratch"))),
    "zoo_odd_tree_fixed": Kept(_SUM, _TREE, _TREE, ((25, "m_scratch"), (35, "d_scratch"))),
    "zoo_missing_syncwarp": Kept(_SUM, ((30, "scratch"),), ((30, "scratch"),), ((29, "scratch"),)),
    "zoo_missing_syncwarp_fixed": Kept(
        _SUM, ((30, "scratch"),), ((30, "scratch"),), ((29, "scratch"),)
    ),
}

UNROLLED = "unrolled"
OUTSIDE = "outside"


@cache
def records() -> tuple[Record, ...]:
    """Return the records of the newest run."""
    path = newest()
    assert path is not None, "no run is committed"
    return tuple(load(path))


# ---- results


def ulps(ours: float, theirs: float) -> int:
    """Return how many float32 numbers lie between two."""
    return abs(_place(ours) - _place(theirs))


def _place(value: float) -> int:
    bits: int = struct.unpack("<i", struct.pack("<f", value))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF)


def distance(ours: list[float], theirs: list[float]) -> int:
    """Return the largest distance where theirs is >= 1e-30; elsewhere both must be small."""
    pairs = list(zip(ours, theirs, strict=True))
    assert all(abs(a) < 2 * LEAST for a, b in pairs if abs(b) < LEAST)
    return max((ulps(a, b) for a, b in pairs if abs(b) >= LEAST), default=0)


def rerun(result: Result) -> dict[str, list[Any]]:
    """Return what the tracer gives for the inputs of a run on the GPU."""
    case = Case(
        rows=result.rows,
        vocab=result.vocab,
        k=result.k,
        data=result.inputs,
        schedule=ORDERS.get(result.entry, "in-order"),
        limits=PATIENT,
    )
    if result.entry in entries.catalogue().sequences:
        outputs: dict[str, list[Any]] = {}
        for run in run_sequence(result.entry, case):
            outputs |= run.outputs
        return outputs
    return run_kernel(result.entry, case).outputs


def distances(_: str = "") -> str:
    """Return the table of the tracer's distance from the GPU."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for result in results():
        ours = {} if result.entry in UNORDERED else rerun(result)
        for name, theirs in result.outputs.items():
            cell = f"{distance(ours[name], theirs)} ulp" if ours else UNORDERED[result.entry]
            shape = f"{result.rows} x {result.vocab}"
            found.setdefault((result.entry, name), {})[shape] = cell
    shapes = list(dict.fromkeys(shape for cells in found.values() for shape in cells))
    rows = (
        [f"`{entry}`", name, *(cells.get(shape, "-") for shape in shapes)]
        for (entry, name), cells in found.items()
    )
    return tables.markdown(["entry", "output", *shapes], rows)


# ---- launches that the tools of NVIDIA watched


@cache
def traced(kernel: str, use: str, vocab: int) -> Run:
    """Return one of `LAUNCHES` of a kernel in the tracer, with the input that the GPU had."""
    macros = entries.defines(kernel, use)
    plan = entries.plan(kernel, Problem(4, vocab), macros)
    given = truth.inputs(plan, "normal")
    return run_kernel(
        kernel,
        Case(
            vocab=vocab,
            k=plan.problem.k,
            defines={name: str(value) for name, value in macros.items()},
            data={name: a.ravel().tolist() for name, a in given.items()},
            limits=PATIENT,
        ),
    )


def launch_of(kernel: str, use: str, vocab: int) -> str:
    """Return a launch in words."""
    macros = (f"{name}={value}" for name, value in entries.defines(kernel, use).items())
    return ", ".join([f"4 x {vocab}", *macros])


def launches(kernel: str) -> list[tuple[str, int]]:
    """Return those of `LAUNCHES` that differ: some kernels have nothing to define."""
    found: dict[str, tuple[str, int]] = {}
    for launch in LAUNCHES:
        found.setdefault(launch_of(kernel, *launch), launch)
    return list(found.values())


def same(record: Record, fault: Fault) -> bool:
    """Return whether a message of compute-sanitizer and a fault of ours are one."""
    lines = {fault.line, fault.line if fault.with_line is None else fault.with_line}
    return fault.id in kind(record)[1] and set(record["lines"]) == lines


def kind(record: Record) -> tuple[str, set[str]]:
    """Return the kind of a message of compute-sanitizer: in short, and our names for it."""
    return next(value for start, value in KINDS.items() if record["message"].startswith(start))


def said(kernel: str, use: str, vocab: int) -> list[Record]:
    """Return what compute-sanitizer said of a launch."""
    launch = {"kernel": kernel, "use": use, "vocab": vocab}
    return [r for r in of(records(), "sanitizer") if r.items() >= launch.items()]


def sanitizer(_: str = "") -> str:
    """Return the table of faults, a row for each kernel and launch with any."""
    head = ["kernel", "launch", "compute-sanitizer", "the tracer", "the tracer alone, and why"]
    return tables.markdown(head, _faults())


def _faults() -> Iterator[list[str]]:
    for kernel, entry in entries.catalogue().kernels.items():
        rows = list(_rows(kernel))
        yield from rows
        if not rows and entry.faults:
            inputs = dict.fromkeys(f"`{fault.id}` with `{fault.input}`" for fault in entry.faults)
            shows = f"this input shows no fault; {', '.join(inputs)}"
            yield [f"`{kernel}`", "all three", "nothing", "nothing", shows]
    for record in of(records(), "far"):
        yield _far(record)


def _rows(kernel: str) -> Iterator[list[str]]:
    for use, vocab in launches(kernel):
        theirs, ours = said(kernel, use, vocab), traced(kernel, use, vocab).faults
        if theirs or ours:
            alone = [one for one in ours if not any(same(record, one) for record in theirs)]
            words = (f"{r['tool']}: {kind(r)[0]}, {_lines(r['lines'])}" for r in theirs)
            yield [
                f"`{kernel}`",
                launch_of(kernel, use, vocab),
                "; ".join(dict.fromkeys(words)) or "nothing",
                "; ".join(map(_named, ours)) or "nothing",
                "; ".join(dict.fromkeys(f"`{one.id}`: {ALONE[one.id]}" for one in alone)) or "-",
            ]


def _named(fault: Fault) -> str:
    lines = sorted({fault.line, fault.line if fault.with_line is None else fault.with_line})
    return f"`{fault.id}`, {_lines(lines)}"


def _lines(lines: list[int]) -> str:
    return f"line{'s' * (len(lines) > 1)} {' and '.join(map(str, lines))}"


def _far(record: Record) -> list[str]:
    """Return the row of a launch that is too large for compute-sanitizer and for the tracer."""
    kernel = record["entry"]
    ours = traced(kernel, "trace", 256).faults
    happened = record.get("said", "").partition(":")[0]
    return [
        f"`{kernel}`",
        f"{record['rows']} x {record['vocab']}",
        f"not run; without it: {f'`{happened}`' if happened else 'right'}",
        "; ".join(f"{_named(one)}, from 4 rows" for one in ours) or "nothing, from 4 rows",
        "-",
    ]


def ours(run: Run) -> dict[str, int]:
    """Return what the tracer counts under the names of `COUNTED`."""
    counted = dict.fromkeys(COUNTED, 0)
    for one in run.counts.lines:
        verb = "load" if one.kind == "read" else "store"
        if one.space == "global":
            counted[f"global_{verb}_requests"] += one.requests
            counted[f"global_{verb}_sectors"] += one.sectors
        else:
            counted[f"shared_{verb}_wavefronts"] += one.wavefronts
    return counted


def kept(run: Run) -> dict[str, int]:
    """Return how many wavefronts of shared memory nvcc saves by `KEPT`."""
    rule = KEPT.get(run.kernel, Kept(""))

    def wavefronts(verb: str, places: tuple[tuple[int, str], ...]) -> int:
        lines = (one for one in run.counts.lines if one.kind == verb and one.space == "shared")
        return sum(one.wavefronts for one in lines if (one.line, one.buffer) in places)

    once = wavefronts("write", rule.once)
    return {
        "shared_load_wavefronts": wavefronts("read", rule.loads),
        "shared_store_wavefronts": wavefronts("write", rule.stores) - once,
    }


def counted(kernel: str, use: str, vocab: int, rolled: bool = False) -> Record | None:
    """Return what ncu counted in a launch; None where it was not measured."""
    launch = {"kernel": kernel, "use": use, "vocab": vocab, "rolled": rolled}
    return next((r for r in of(records(), "ncu") if r.items() >= launch.items()), None)


def counts(_: str = "") -> str:
    """Return the table of counts, a row for each kernel and launch."""
    rows = []
    for kernel in entries.catalogue().kernels:
        for use, vocab in launches(kernel):
            theirs, run = counted(kernel, use, vocab), traced(kernel, use, vocab)
            if theirs is None:
                continue
            mine = ours(run)
            differing = [name for name in COUNTED if mine[name] != theirs[name]]
            cells = (
                f"{theirs[n]}, ours {mine[n]}" if n in differing else f"{mine[n]}" for n in COUNTED
            )
            why = "; ".join(_reasons(run, differing))
            rows.append([f"`{kernel}`", launch_of(kernel, use, vocab), *cells, why or "-"])
    head = ["kernel", "launch", *(name.replace("_", " ") for name in COUNTED), "why they differ"]
    return tables.markdown(head, rows)


def _reasons(run: Run, differing: list[str]) -> Iterator[str]:
    if any(name.startswith("global") for name in differing):
        yield UNROLLED
        if run.having("out-of-bounds"):
            yield OUTSIDE
    if any(name.startswith("shared") for name in differing):
        yield KEPT[run.kernel].why


PARTS: dict[str, Callable[[str], str]] = {
    "distances": distances,
    "sanitizer": sanitizer,
    "counts": counts,
}
