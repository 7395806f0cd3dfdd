"""Measure on a GPU what `oneread sass` predicts without one: loops that fill an SM, and one warp.

``python tools/run_microkernels.py --out FILE.jsonl`` times the loops of tools/microkernels.cu with
2,048 threads on each SM and a row in the L1 cache, and the loops of two kernels of the gallery with
one warp on the whole GPU, each loop apart. The machine code that ran goes into the records, so that
tools/micro.py can say what is predicted of just that. Needs cuda.core and NVRTC; ``PYTHONPATH=src``
is enough, nothing has to be built. With ``nvdisasm`` there, the predictions are printed beside.
"""

from __future__ import annotations

import argparse
import base64
import ctypes
import datetime as dt
import importlib.metadata
import json
import statistics
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import micro
import numpy as np
from numpy.typing import NDArray

from oneread.bench.runner import commit_of
from oneread.runtime import nvrtc
from oneread.runtime.gpu import Gpu, Launch
from oneread.source.catalogue import gallery_folder
from oneread.spec import BackendUnavailableError

Record = dict[str, Any]

SCHEMA = 1
ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(__file__).with_name("microkernels.cu")
MATHS = {"fast": ("--use_fast_math",), "default": ()}
KERNELS = ("row_max", "row_sum", "row_online")
THREADS = 1024
BLOCKS_PER_SM = 2
WARPS_PER_SM = THREADS * BLOCKS_PER_SM // 32
#: 32 KB: a fraction of the L1 cache; a multiple of 256, so that only the unrolled loops run.
COLUMNS = 8192
SWEEPS = (4, 20)
LAUNCHES = 9
#: Kernels whose loops are timed for one warp, with the lanes that share a row.
ALONE = {"online_softmax_single_thread": 1, "safe_softmax_shared": 32}
VOCABS = (2048, 4096)
#: Relative; fast maths has some units in the last place, and a sum of 80,000 terms more.
LARGEST_ERROR = 1e-3

#: Put before all else: a warp brings the row into the L1 cache, a sector of 32 bytes a lane. It is
#: no loop and has pointers of its own, so that the loops are compiled as they would be without; the
#: sum is stored, so that the loads are needed.
WARM = f"""\
    float warmed = 0.0f;
#pragma unroll
    for (int i = 0; i < {VOCABS[1] // 256}; ++i) warmed += same_x[256 * i + 8 * threadIdx.x];
    warmth[threadIdx.x] = warmed;"""
ARGUMENTS = "int vocab, const float* same_x, float* warmth, long long* ticks)"


class Timed(NamedTuple):
    """A kernel with clocks around its loops: the text, and the first and last line of each loop."""

    text: str
    loops: tuple[tuple[int, int], ...]


def with_clocks(text: str) -> Timed:
    """Return a kernel of the gallery with a clock before and behind each loop over its row."""
    head, mark, body = text.partition('extern "C"')
    out = head.splitlines()
    loops: list[tuple[int, int]] = []
    is_open = False
    for line in (mark + body).splitlines():
        code = line.partition("//")[0].rstrip()
        if starts := code.startswith("    for (int ") and "< vocab" in code:
            out.append(f"    const long long start_{len(loops)} = clock64();")
            loops.append((len(out) + 1, 0))
            is_open = True
        if code == "}":
            out.append("    if (threadIdx.x != 0) return;")
            out += [f"    ticks[{n}] = stop_{n} - start_{n};" for n in range(len(loops))]
        out.append(line.replace("int vocab)", ARGUMENTS))
        if code.endswith("int vocab) {"):
            out += WARM.splitlines()
        if is_open and (code == "    }" or (starts and code.endswith(";"))):
            loops[-1] = loops[-1][0], len(out)
            out.append(f"    const long long stop_{len(loops) - 1} = clock64();")
            is_open = False
    return Timed("\n".join(out) + "\n", tuple(loops))


def header(gpu: Gpu) -> Record:
    """Return what the machine is."""
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    )
    return {
        "record": "header",
        "schema": SCHEMA,
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": commit_of(ROOT),
        "device": gpu.device.name,
        "target": gpu.target,
        "driver": driver.stdout.strip(),
        "multiprocessors": gpu.device.properties.multiprocessor_count,
        "nvrtc": ".".join(map(str, nvrtc.version())),
        "cuda_core": importlib.metadata.version("cuda-core"),
        "python": sys.version.partition(" ")[0],
    }


def code(gpu: Gpu, name: str, text: str, maths: str) -> Record:
    """Return a source and the machine code that is launched here."""
    cubin = nvrtc.compile_cubin(text, gpu.target, name=f"{name}.cu", options=MATHS[maths])
    packed = base64.b64encode(zlib.compress(cubin.code, 9)).decode()
    return {"record": "code", "name": name, "maths": maths, "source": text, "cubin": packed}


def full(gpu: Gpu) -> Iterator[Record]:
    """Yield how many elements a clock an SM full of threads does of each loop."""
    text = SOURCE.read_text("utf-8")
    x = np.random.default_rng(1).standard_normal(COLUMNS).astype(np.float32)
    multiprocessors = gpu.device.properties.multiprocessor_count
    blocks = BLOCKS_PER_SM * multiprocessors
    for maths, options in MATHS.items():
        yield code(gpu, SOURCE.stem, text, maths)
        for name in KERNELS:
            kernel = gpu.build(text, name, {}, *options)
            rates = []
            for _ in range(LAUNCHES):
                took = []
                for sweeps in SWEEPS:
                    y, clocks = sweep(gpu, kernel, x, blocks, sweeps)
                    check(name, y, right(name, x, sweeps))
                    took.append(clocks_of_sms(clocks, multiprocessors))
                more = (SWEEPS[1] - SWEEPS[0]) * COLUMNS * WARPS_PER_SM
                rates.append(more / (took[1] - took[0]))
            record = {"record": "full", "name": SOURCE.stem, "kernel": name, "maths": maths}
            settings = {"columns": COLUMNS, "sweeps": SWEEPS, "threads": 32 * WARPS_PER_SM}
            every = np.array(rates)  # launches by SMs
            yield (
                record
                | settings
                | quartiles("elements_a_clock", np.median(every, axis=1))
                | {
                    "slowest_sm": round(float(np.median(every, axis=0).min()), 4),
                    "fastest_sm": round(float(np.median(every, axis=0).max()), 4),
                }
            )


def sweep(
    gpu: Gpu, kernel: Any, x: NDArray[Any], blocks: int, sweeps: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Launch a microkernel once; return its results and the clocks of its warps."""
    warps = blocks * THREADS // 32
    arrays = (x, np.zeros(blocks * THREADS, np.float32), np.zeros((warps, 3), np.int64))
    memory = [gpu.put(array) for array in arrays]
    try:
        numbers = (ctypes.c_int(COLUMNS), ctypes.c_int(sweeps))
        arguments = (*(one.address for one in memory), *numbers)
        gpu.launch([Launch(kernel, blocks, THREADS, arguments)])
        return gpu.get(memory[1]), gpu.get(memory[2])
    finally:
        gpu.free(*memory)


def clocks_of_sms(clocks: NDArray[Any], multiprocessors: int) -> NDArray[Any]:
    """Return for each SM the clocks from its first warp's start to its last warp's end."""
    start, stop, place = clocks.T
    numbers, warps = np.unique(place, return_counts=True)
    if len(numbers) != multiprocessors or set(warps) != {WARPS_PER_SM}:
        raise SystemExit(f"warps are spread unevenly: {dict(zip(numbers, warps, strict=True))}")
    return np.array([stop[place == one].max() - start[place == one].min() for one in numbers])


def right(name: str, x: NDArray[Any], sweeps: int) -> NDArray[Any]:
    """Return what the lanes of a warp have in the end, in float64."""
    columns = x.astype(np.float64).reshape(-1, 32)
    largest = columns.max(axis=0)
    if name == "row_max":
        return np.asarray(largest)
    base = columns[0, 0] if name == "row_sum" else largest
    d = sweeps * np.exp(columns - base).sum(axis=0)
    return np.asarray(d if name == "row_sum" else largest + d)


def check(name: str, y: NDArray[Any], wanted: NDArray[Any]) -> None:
    """Stop where results are wrong: nothing wrong is timed."""
    found = y.reshape(-1, wanted.size)
    error = float(np.max(np.abs(found / wanted - 1)))
    if not error <= LARGEST_ERROR:
        raise SystemExit(f"{name}: wrong by {error:.2g}")


def alone(gpu: Gpu) -> Iterator[Record]:
    """Yield how many clocks an element of a lane takes in each loop of a warp that is alone."""
    for name, lanes in ALONE.items():
        timed = with_clocks((gallery_folder() / f"{name}.cu").read_text("utf-8"))
        for maths, options in MATHS.items():
            text = f"#define TILE {lanes}\n" + timed.text
            yield code(gpu, name, text, maths)
            kernel = gpu.build(text, name, {}, *options)
            took = np.array(
                [[one_row(gpu, name, kernel, vocab, timed) for vocab in VOCABS]
                 for _ in range(LAUNCHES)]
            )  # fmt: skip
            each = (took[:, 1] - took[:, 0]) * lanes / (VOCABS[1] - VOCABS[0])
            for nth, (first, last) in enumerate(timed.loops):
                record = {"record": "alone", "name": name, "kernel": name, "maths": maths}
                # The line of the macro stands before the others.
                place = {"loop": nth + 1, "lines": [first + 1, last + 1]}
                yield (
                    record
                    | place
                    | {"vocabs": VOCABS, "lanes": lanes}
                    | quartiles("clocks_an_element", each[:, nth])
                )


def one_row(gpu: Gpu, name: str, kernel: Any, vocab: int, timed: Timed) -> NDArray[Any]:
    """Launch a kernel of the gallery for one row with one warp; return the clocks of its loops."""
    longest = np.random.default_rng(1).standard_normal(VOCABS[1]).astype(np.float32)
    x = longest[:vocab]
    results = (np.zeros(vocab, np.float32), np.zeros(32, np.float32))
    arrays = (longest, *results, np.zeros(len(timed.loops), np.int64))
    memory = [gpu.put(array) for array in arrays]
    try:
        row, y, warmth, ticks = (one.address for one in memory)
        arguments = (row, y, ctypes.c_int(vocab), row, warmth, ticks)
        shared_bytes = 4 * vocab if "extern __shared__" in timed.text else 0
        gpu.launch([Launch(kernel, 1, 32, arguments, shared_bytes)])
        powers = np.exp(x.astype(np.float64) - x.max())
        check(name, gpu.get(memory[1]), powers / powers.sum())
        return gpu.get(memory[3])
    finally:
        gpu.free(*memory)


def quartiles(name: str, values: NDArray[Any]) -> Record:
    """Return the number of some values, their median and quartiles."""
    numbers = [float(value) for value in values]
    low, middle, high = statistics.quantiles(numbers, n=4, method="inclusive")
    return {
        "n": len(numbers),
        name: round(middle, 4),
        f"{name}_p25": round(low, 4),
        f"{name}_p75": round(high, 4),
    }


def main() -> int:
    """Measure all, write the records, and show predictions beside them where that can be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="file for the records")
    options = parser.parse_args()
    gpu = Gpu()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("w", encoding="utf-8") as file:
        for records in ([header(gpu)], full(gpu), alone(gpu)):
            for record in records:
                file.write(json.dumps(record) + "\n")
                file.flush()
                shown = {k: v for k, v in record.items() if k not in ("source", "cubin")}
                print(json.dumps(shown), flush=True)
    try:
        print(micro.tables(options.out))
    except BackendUnavailableError as error:
        print(f"no predictions here: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
