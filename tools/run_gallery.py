"""Check and time every kernel of the gallery on a GPU, and put it before NVIDIA's own tools.

``python tools/run_gallery.py --out FOLDER`` does all of it, each stage in a process of its own, so
that a kernel that breaks the GPU's context, or never ends, costs one stage only. It writes
FOLDER/gallery.jsonl, FOLDER/outputs.jsonl and a log of each of NVIDIA's tools. ``--stage NAME``
runs one stage and prints its records. Needs cuda.core and NVRTC, no PyTorch; ``PYTHONPATH=src`` is
enough, nothing has to be built.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib.metadata
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from oneread.bench.gallery import entries, measure, nvidia, truth
from oneread.bench.gallery.entries import Problem
from oneread.bench.gallery.runner import Runner
from oneread.bench.runner import commit_of
from oneread.runtime import nvrtc
from oneread.runtime.gpu import Gpu
from oneread.spec import OneReadError

Record = dict[str, Any]

SCHEMA = 1
ROOT = Path(__file__).resolve().parents[1]

#: Without contraction a * b + c is rounded twice, as the tracer and the float64 truth have it.
STRICT = "-fmad=false"

#: May wait for ever, or leave the GPU's context broken: each has a stage of its own.
DANGEROUS = ("zoo_barrier_in_branch",)
RACES = (
    "online_softmax_tiled_racy",
    "online_softmax_tiled",
    "online_softmax_lane",
    "zoo_reused_scratch",
    "zoo_reused_scratch_fixed",
    "zoo_barrier_in_branch_fixed",
)
WARP_RACES = ("zoo_missing_syncwarp", "zoo_missing_syncwarp_fixed")

#: rows * vocab just above 2^31: 8.6 GB in and as much out.
FAR = Problem(32_769, 65_536)


def facts() -> Iterator[Record]:
    """Yield what the machine is."""
    gpu = Gpu()
    properties = gpu.device.properties
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version,memory.total", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    )
    yield {
        "record": "header",
        "schema": SCHEMA,
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "device": gpu.device.name,
        "target": gpu.target,
        "driver": driver.stdout.strip(),
        "multiprocessors": properties.multiprocessor_count,
        "l2_bytes": properties.l2_cache_size,
        "nvrtc": ".".join(map(str, nvrtc.version())),
        "cuda_core": importlib.metadata.version("cuda-core"),
        "python": sys.version.partition(" ")[0],
        "numpy": np.__version__,
    }


def check() -> Iterator[Record]:
    """Yield how near every entry is to the truth."""
    runner = Runner(Gpu(), STRICT)
    for use in ("trace", "bench"):
        for key in entries.all_keys():
            if key not in DANGEROUS:
                yield from measure.check(runner, key, use)


def outputs() -> Iterator[Record]:
    """Yield results at shapes that the tracer runs, for a comparison bit by bit."""
    runner = Runner(Gpu(), STRICT)
    for key in entries.all_keys():
        if key not in DANGEROUS:
            yield measure.outputs(runner, key, 4, 256)
        if entries.is_right(key):
            yield measure.outputs(runner, key, 2, 250)


def soak() -> Iterator[Record]:
    """Yield whether races show in many rows, compiled in two ways."""
    x, y = measure.soak_input(measure.SOAK_ROWS)
    for runner in (Runner(Gpu(), STRICT), Runner(Gpu())):
        for key in RACES:
            for tile in measure.SOAK_TILES:
                yield measure.soak(runner, key, tile, x, y, launches=3)
        for key in WARP_RACES:
            yield measure.soak(runner, key, 32, x, y, launches=3)


def timing() -> Iterator[Record]:
    """Yield how long every entry takes at each shape, compiled as usual."""
    runner = Runner(Gpu())
    for shape in measure.SHAPES:
        rate, way = measure.copy_rate(runner, shape)
        x = measure.timing_input(shape)
        yield {"record": "copy", "shape": shape, "gbs": rate, "way": way}
        for key in entries.all_keys():
            if key in DANGEROUS:
                continue
            try:
                yield measure.timing(runner, key, shape, x, rate, budget_s=0.2)
            except OneReadError as error:  # a limit of the kernel, such as the longest row
                yield {"record": "skipped", "entry": key, "shape": shape, "why": str(error)}


def dangerous() -> Iterator[Record]:
    """Yield what the kernel with a barrier in a branch does, should it end."""
    runner = Runner(Gpu(), STRICT)
    for key in DANGEROUS:
        yield from measure.check(runner, key, "trace")
        x, y = measure.soak_input(1000)
        for tile in measure.SOAK_TILES:
            yield measure.soak(runner, key, tile, x, y, launches=3)


def far(key: str) -> Iterator[Record]:
    """Yield what a kernel does with an array of more than 2^31 elements."""
    gpu = Gpu()
    runner = Runner(gpu, STRICT)
    plan = entries.plan(key, FAR, entries.defines(key, "bench"))
    x = np.tile(truth.FAMILIES["normal"](1, FAR.vocab), (FAR.rows, 1))
    x[-1] = truth.FAMILIES["normal"](1, FAR.vocab, "float32", 1)
    record: Record = {"record": "far", "entry": key, "rows": FAR.rows, "vocab": FAR.vocab}
    try:
        with runner.loaded(plan, {"x": x}) as loaded:
            y = runner.run(loaded)["y"]
    except Exception as error:  # what the driver says is the result
        yield record | {"status": "faulty", "said": str(error)[:200]}
        return
    last = entries.plan(key, Problem(1, FAR.vocab), entries.defines(key, "bench"))
    verdict = truth.judge(last, "y", y[-1:], {"x": x[-1:]})
    right = verdict.max_ulp <= measure.allowed_ulp(key, FAR.vocab)
    yield record | {"status": "ok" if right else "faulty", "max_ulp": verdict.max_ulp}


def launch(rolled: bool = False) -> Iterator[Record]:
    """Launch each kernel at small shapes: the program that NVIDIA's tools watch."""
    runner = Runner(Gpu(), STRICT, rolled=rolled)
    for key in sorted(entries.catalogue().kernels, key=lambda key: key in DANGEROUS):
        for use, vocab in (("trace", 256), ("trace", 250), ("bench", 256)):
            plan = entries.plan(key, Problem(4, vocab), entries.defines(key, use))
            record: Record = {"record": "launched", "entry": key, "use": use, "vocab": vocab}
            try:
                with runner.loaded(plan, truth.inputs(plan, "normal")) as loaded:
                    runner.run(loaded)
            except Exception as error:  # the tool that watches says more
                yield record | {"said": str(error)[:200]}
            else:
                yield record


STAGES: dict[str, Callable[[], Iterator[Record]]] = {
    "facts": facts,
    "check": check,
    "outputs": outputs,
    "soak": soak,
    "timing": timing,
    "dangerous": dangerous,
    "far-fixed": lambda: far("zoo_row_offset_fixed"),
    "far": lambda: far("zoo_row_offset"),
    "launch": launch,
    "launch-rolled": lambda: launch(rolled=True),
}

#: Seconds after which a stage is given up; NVIDIA's tools come after "timing".
LIMITS = {
    "facts": 60,
    "check": 120,
    "outputs": 60,
    "soak": 180,
    "timing": 120,
    "dangerous": 30,
    "far-fixed": 60,
    "far": 60,
}
TOOL_LIMIT = 90


def command(stage: str) -> list[str]:
    """Return the command of a stage."""
    return [sys.executable, str(Path(__file__).resolve()), "--stage", stage]


def run_stage(stage: str, limit_s: float) -> Iterator[Record]:
    """Yield the records of a stage run in a process of its own, then how it ended."""
    start = time.monotonic()
    process = subprocess.Popen(
        command(stage), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        printed, complaints = process.communicate(timeout=limit_s)
        ended = f"status {process.returncode}"
    except subprocess.TimeoutExpired:
        process.kill()
        printed, complaints = process.communicate()
        ended = f"given up after {limit_s:.0f} s"
    for line in printed.splitlines():
        if line.startswith("{") and line.endswith("}"):
            yield json.loads(line)
    took = round(time.monotonic() - start, 1)
    said = complaints.strip()[-600:]
    yield {"record": "stage", "stage": stage, "ended": ended, "seconds": took, "said": said}


def all_records(out: Path, deadline: float) -> Iterator[Record]:
    """Yield the records of all stages and tools, as far as time allows."""

    def left() -> float:
        return deadline - time.monotonic()

    for stage, limit in LIMITS.items():
        if left() < 5:
            yield {"record": "stage", "stage": stage, "ended": "no time left"}
        else:
            yield from run_stage(stage, min(limit, left()))
        if stage == "timing":
            yield from watched(out, left)


def watched(out: Path, left: Callable[[], float]) -> Iterator[Record]:
    """Yield what NVIDIA's tools say of the stage ``launch``, and ncu of rolled loops as well."""
    names = list(entries.catalogue().kernels)
    for checker in nvidia.CHECKERS:
        limit = min(TOOL_LIMIT, left())
        records, log = nvidia.sanitized(checker, command("launch"), names, limit)
        (out / f"{checker}.log").write_text(log[-2_000_000:], encoding="utf-8")
        yield from records
    for stage in ("launch", "launch-rolled"):
        records, log = nvidia.profiled(command(stage), min(TOOL_LIMIT, left()))
        (out / f"ncu-{stage}.log").write_text(log[-2_000_000:], encoding="utf-8")
        for record in records:
            loops = {"rolled": stage == "launch-rolled"} if record["record"] == "ncu" else {}
            yield record | loops


def as_json(record: Record) -> str:
    """Return the line of a record: an infinite error, which JSON has not, as a string."""
    plain = {n: "Infinity" if value == math.inf else value for n, value in record.items()}
    return json.dumps(plain, allow_nan=False)


def show(record: Record) -> None:
    """Print a line for what is wrong, slow to end, or a summary; nothing for the rest."""
    kind = record["record"]
    if kind in {"stage", "tool", "header", "copy", "far"}:
        print(json.dumps(record), flush=True)
    elif kind == "timing":
        print(
            f"{record['entry']:32} {record['shape']:9} {record['median_us']:10.1f} us "
            f"{record['gbs']:7.0f} GB/s {record['share']:6.2f} of a copy",
            flush=True,
        )
    elif record.get("status") == "wrong":
        print("WRONG", json.dumps(record), flush=True)


def main() -> int:
    """Run one stage, or all of them; 1 when a kernel that should be right is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--stage", choices=STAGES, help="run one and print its records")
    parser.add_argument("--out", type=Path, help="folder for the records of all")
    parser.add_argument("--minutes", type=float, default=8.0, help="stop before; default 8")
    options = parser.parse_args()
    if options.stage:
        for record in STAGES[options.stage]():
            print(as_json(record), flush=True)
        return 0
    if options.out is None:
        parser.error("give --out or --stage")
    options.out.mkdir(parents=True, exist_ok=True)
    wrong = 0
    deadline = time.monotonic() + 60 * options.minutes
    with (
        (options.out / "gallery.jsonl").open("w", encoding="utf-8") as records,
        (options.out / "outputs.jsonl").open("w", encoding="utf-8") as results,
    ):
        for record in measure.shared(all_records(options.out, deadline)):
            kind = record["record"]
            if kind == "header":
                record["commit"] = commit_of(ROOT)
            files = {"header": (records, results), "array": (results,), "outputs": (results,)}
            for file in files.get(kind, (records,)):
                file.write(as_json(record) + "\n")
                file.flush()
            show(record)
            wrong += record.get("status") == "wrong"
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
