"""What is measured of an entry: its distance from the truth, races that show, and its time.

Each function returns records, ready for JSON.
"""

from __future__ import annotations

import base64
import ctypes
import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from oneread.bench.gallery import entries, truth
from oneread.bench.gallery.entries import Problem
from oneread.bench.gallery.runner import Loaded, Runner
from oneread.runtime.gpu import Launch
from oneread.testing import FAMILIES

Record = dict[str, Any]

#: A copy as a kernel: vectors of 16 bytes, several on their way for each thread.
COPY: Final = """
extern "C" __global__ void __launch_bounds__(THREADS)
copy_vectors(const float4* __restrict__ x, float4* __restrict__ y, int count) {
    const int first = blockIdx.x * (THREADS * VECTORS) + threadIdx.x;
    float4 held[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        if (first + i * THREADS < count) held[i] = x[first + i * THREADS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        if (first + i * THREADS < count) __stcs(&y[first + i * THREADS], held[i]);
}
"""
COPY_THREADS: Final = 256
COPY_VECTORS: Final = 4

#: Goal for y >= 1e-30 where a lane adds few columns; a long row's sum may lose more.
GOAL_ULP: Final = 8.0

#: Kernels in which one lane adds up the whole row.
ONE_LANE: Final = frozenset({"online_softmax_single_thread"})

#: Columns of the checks: a multiple of every tile, of none, one, many.
VOCABS: Final = (256, 250, 1, 1000)
ROWS: Final = 5

#: Shapes that are timed: in the second cache, far beyond it, and few long rows.
SHAPES: Final = {"cached": (1024, 2048), "memory": (16384, 8192), "few-rows": (16, 1 << 20)}

#: The soak: enough rows that blocks of all ages share a multiprocessor; 1e-4 is 800 ulp.
SOAK_ROWS: Final = 100_000
SOAK_VOCAB: Final = 512
SOAK_TILES: Final = (64, 128, 256)
SOAK_ERROR: Final = 1e-4


def allowed_ulp(key: str, vocab: int) -> float:
    """Return what an error may be: the goal, and more where one lane adds many columns."""
    short = vocab <= 256 and key not in ONE_LANE
    return GOAL_ULP if short else GOAL_ULP + vocab / 16


def check(runner: Runner, key: str, use: str) -> Iterator[Record]:
    """Yield a record for each output at each length: the worst over all families of input."""
    macros = entries.defines(key, use)
    for vocab in VOCABS:
        worst: dict[str, Record] = {}
        for family in FAMILIES:
            if family in {"empty", "vocab_one"}:
                continue
            for name, verdict in _verdicts(runner, key, family, vocab, macros):
                record = worst.setdefault(
                    name, {"max_ulp": -1.0, "exact_ulp": 0.0, "wrong": [], "families": 0}
                )
                record["families"] += 1
                if verdict.max_ulp > record["max_ulp"]:
                    record |= {"max_ulp": verdict.max_ulp, "family": family}
                record["exact_ulp"] = max(record["exact_ulp"], verdict.exact_ulp)
                if verdict.max_ulp > allowed_ulp(key, vocab):
                    record["wrong"].append(family)
        for name, record in worst.items():
            right = not record["wrong"]
            yield {
                "record": "check",
                "entry": key,
                "defines": macros,
                "rows": ROWS,
                "vocab": vocab,
                "buffer": name,
                "status": "ok" if right else "wrong" if entries.is_right(key) else "faulty",
                "allowed_ulp": allowed_ulp(key, vocab),
                **record,
            }


def _verdicts(
    runner: Runner, key: str, family: str, vocab: int, macros: dict[str, int]
) -> Iterator[tuple[str, truth.Verdict]]:
    rows, columns = FAMILIES[family](ROWS, vocab).shape  # some families shorten the rows
    plan = entries.plan(key, Problem(rows, columns, min(4, columns)), macros)
    given = truth.inputs(plan, family)
    with runner.loaded(plan, given) as loaded:
        got = runner.run(loaded)
    known = given | {name: got[name] for name in plan.named("between")}
    for name in plan.named("output"):
        yield name, truth.judge(plan, name, got[name], known)


def outputs(runner: Runner, key: str, rows: int, vocab: int) -> Record:
    """Return what the buffers hold for normal logits, before and after."""
    macros = entries.defines(key, "trace")
    plan = entries.plan(key, Problem(rows, vocab), macros)
    given = truth.inputs(plan, "normal")
    with runner.loaded(plan, given) as loaded:
        got = runner.run(loaded)
    return {
        "record": "outputs",
        "entry": key,
        "defines": macros,
        "rows": rows,
        "vocab": vocab,
        "k": plan.problem.k,
        "family": "normal",
        "inputs": {name: _packed(a) for name, a in given.items()},
        "outputs": {name: _packed(a) for name, a in got.items()},
    }


def _packed(a: NDArray[Any]) -> list[str]:
    """Return the type of an array, and base64 of its little-endian bytes."""
    data = a.astype(a.dtype.newbyteorder("<")).tobytes()
    return [a.dtype.name, base64.b64encode(data).decode()]


def shared(records: Iterable[Record]) -> Iterator[Record]:
    """Yield records with each array once: many kernels give the same bits.

    An ``array`` comes before the first of the ``outputs`` that name it by its number.
    """
    numbers: dict[tuple[str, ...], int] = {}
    for record in records:
        named = dict(record)
        for field in ("inputs", "outputs"):
            for name, packed in record.get(field, {}).items():
                kind, data = packed
                if (kind, data) not in numbers:
                    numbers[kind, data] = number = len(numbers)
                    yield {"record": "array", "number": number, "type": kind, "data": data}
                named[field] = named[field] | {name: numbers[kind, data]}
        yield named


def soak_input(rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return logits and their softmax in float32, for all soaks of a run."""
    x = FAMILIES["normal"](rows, SOAK_VOCAB)
    y = np.exp(x - x.max(axis=-1, keepdims=True))
    y /= y.sum(axis=-1, keepdims=True)
    return x, y


def soak(
    runner: Runner, key: str, tile: int, x: NDArray[Any], y: NDArray[Any], launches: int
) -> Record:
    """Return how many rows of repeated launches are wrong, and whether launches differ."""
    macros = {"TILE": tile}
    plan = entries.plan(key, Problem(*x.shape), macros)
    wrong, first, differing = [], None, 0
    with runner.loaded(plan, {"x": x}) as loaded:
        for _ in range(launches):
            got = runner.run(loaded)["y"]
            bad = ~(np.abs(got - y) <= SOAK_ERROR * y + truth.LEAST)
            wrong.append(int(bad.any(axis=-1).sum()))
            first = got if first is None else first
            differing += not np.array_equal(got, first, equal_nan=True)
    return {
        "record": "soak",
        "entry": key,
        "defines": macros,
        "options": list(runner.options),
        "rows": x.shape[0],
        "vocab": x.shape[1],
        "launches": launches,
        "wrong_rows": wrong,
        "differing_launches": differing,
        "status": "faulty" if any(wrong) and not entries.is_right(key) else _status(wrong),
    }


def _status(wrong: list[int]) -> str:
    return "wrong" if any(wrong) else "ok"


def timing(
    runner: Runner, key: str, shape: str, x: NDArray[Any], copy_gbs: float, budget_s: float
) -> Record:
    """Return how long an entry takes on logits of a shape, and its rate beside a copy's."""
    rows, vocab = SHAPES[shape]
    plan = entries.plan(key, Problem(rows, vocab, 8), entries.defines(key, "bench"))
    given = truth.completed(plan, dict.fromkeys(plan.logits, x))
    with runner.loaded(plan, given) as loaded:
        taken = _seconds(runner, loaded, budget_s)
    median = statistics.median(taken)
    gbs = plan.least_bytes / median / 1e9
    return {
        "record": "timing",
        "entry": key,
        "shape": shape,
        "rows": rows,
        "vocab": vocab,
        "k": plan.problem.k,
        "defines": entries.defines(key, "bench"),
        "n": len(taken),
        "median_us": median * 1e6,
        "p25_us": float(np.percentile(taken, 25)) * 1e6,
        "p75_us": float(np.percentile(taken, 75)) * 1e6,
        "bytes": plan.least_bytes,
        "gbs": gbs,
        "copy_gbs": copy_gbs,
        "share": gbs / copy_gbs,
    }


def timing_input(shape: str) -> NDArray[Any]:
    """Return logits for `timing`, the same for all entries."""
    x = np.random.default_rng(0).standard_normal(SHAPES[shape], np.float32)
    x *= 4
    return x


def copy_rate(runner: Runner, shape: str) -> tuple[float, str]:
    """Return at how many GB/s a copy within the GPU moves arrays of a shape, in and out, and how.

    The faster of the driver's copy and a kernel: large copies that are nodes of a graph move
    2.8 TB/s on an H200, less than softmax kernels do.
    """
    gpu = runner.gpu
    source = gpu.put(np.ones(SHAPES[shape], np.float32))
    target = gpu.put(np.zeros(SHAPES[shape], np.float32))
    blocks = -(-source.size_bytes // (16 * COPY_THREADS * COPY_VECTORS))
    macros = {"THREADS": COPY_THREADS, "VECTORS": COPY_VECTORS}
    kernel = gpu.build(COPY, "copy_vectors", macros)
    arguments = (source.address, target.address, ctypes.c_int(source.size_bytes // 16))
    launch = Launch(kernel, blocks, COPY_THREADS, arguments)
    ways: dict[str, Callable[[Any, int], None]] = {
        "driver": lambda stream, _: gpu.copy(target, source, stream),
        "kernel": lambda stream, _: gpu.launch((launch,), stream),
    }
    try:
        taken = {name: statistics.median(gpu.seconds(put, 20, 15)) for name, put in ways.items()}
    finally:
        gpu.free(source, target)
    how = min(taken, key=lambda name: taken[name])
    return 2 * source.size_bytes / taken[how] / 1e9, how


def _seconds(runner: Runner, loaded: Loaded, budget_s: float) -> list[float]:
    """Time as many repetitions as fit into the time: up to 20 a graph, 5 to 21 graphs."""
    gpu = runner.gpu
    once = gpu.seconds(lambda stream, _: gpu.launch(loaded.launches, stream), 1, 2)[-1]
    repeats = max(1, min(20, math.floor(budget_s / 10 / once)))
    rounds = max(5, min(21, math.floor(budget_s / once / repeats)))
    return gpu.seconds(lambda stream, _: gpu.launch(loaded.launches, stream), repeats, rounds)
