"""Time the steps of a trainer and of a sampler with `oneread.torch`, with PyTorch and with others.

Each way is checked against float64 first, its gradient too; then ways take turns. Writes one JSONL
file as it goes: a header, a record for each way of each step, and the peak memory of the ways
against tokens. A way that is wrong, not installed or out of memory has a record that says so.
tools/torch_docs.py makes tables and figures of it. About two minutes on an H200, where what peers
compile is compiled by several processes first; less on two idle cores.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor
from torch_devices import OnCpu, OnGpu
from torch_steps import MEMORY, MEMORY_VOCAB, MEMORY_WAYS, Step, steps
from torch_ways import OURS, Call, Way

import oneread
from oneread.bench.entrants import first_line
from oneread.bench.gpu import peers
from oneread.bench.store import ABSENT, OK, WRONG
from oneread.testing.ulps import FORMATS

Record = dict[str, Any]
Device = OnCpu | OnGpu

NO_MEMORY: Final = "out of memory"
FAILED: Final = "failed"
IN_GRAPH: Final = ", CUDA graph"
#: Rows that are compared with the truth.
_CHECKED: Final = 8
#: Seconds that compiling may take, and how many processes do it.
_COMPILE_S: Final = 60.0
_COMPILERS: Final = 8


@dataclass
class Entrant:
    """A way on its way to a record."""

    name: str
    way: Way
    version: str | None = None
    call: Call | None = None
    status: str = OK
    reason: str | None = None
    error: dict[str, float] = field(default_factory=dict)
    kernel: Record | None = None
    extra_bytes: int | None = None
    sample: Callable[[], Any] | None = None

    def leave(self, status: str, reason: str) -> None:
        """Take it out."""
        self.call, self.sample, self.status, self.reason = None, None, status, reason

    def attempt(self, what: Callable[[], None]) -> None:
        """Do something with it, after which it is out if that raised."""
        if self.status != OK:
            return
        try:
            what()
        except ImportError as error:
            self.leave(ABSENT, first_line(error))
        except (torch.OutOfMemoryError, MemoryError) as error:
            self.leave(NO_MEMORY, first_line(error))
        except Exception as error:
            no_memory = isinstance(error, RuntimeError) and "memory" in str(error)
            self.leave(NO_MEMORY if no_memory else FAILED, first_line(error))


def measured(step: Step, device: Device, skipped: frozenset[str]) -> list[Record]:
    """Check and time the ways of a step, and return a record of each.

    Parameters
    ----------
    step : Step
        What is computed.
    device : OnCpu or OnGpu
        Where.
    skipped : set of str
        Libraries that are left out.
    """
    data = step.data(device.where)
    found = [Entrant(w.name, w) for w in step.ways if w.library not in skipped]
    rows = torch.linspace(0, step.rows - 1, min(step.rows, _CHECKED), device=data.x.device).long()
    truth = {name: one.detach() for name, one in step.truth(data, rows).items()}
    for one in found:
        one.attempt(lambda one=one: _start(one, data))
        one.attempt(lambda one=one: _check(one, step, truth, rows))
        if not step.small:
            one.attempt(lambda one=one: _weigh(one, device))
        one.attempt(lambda one=one: _prepare(one, step, device))
    if not step.small:
        found += _in_graphs(found, device)
    times, rates = device.contest(
        {one.name: one.sample for one in found if one.sample}, step, data
    )  # fmt: skip
    return [_record(step, one, times.get(one.name), rates) for one in found]


def _start(one: Entrant, data: Any) -> None:
    name = one.way.library
    one.version = oneread.__version__ if name == OURS else peers.load(name).version()
    one.call = one.way.make(data)


def _check(one: Entrant, step: Step, truth: dict[str, Tensor], rows: Tensor) -> None:
    """Compare a first call with the truth."""
    assert one.call is not None
    outputs = dict(zip(step.fields, one.call(), strict=True))
    if one.way.library == OURS and (ran := oneread.last_kernel()):
        one.kernel = asdict(ran)
    for name, output in outputs.items():
        got = output.detach()[rows] if output.ndim else output.detach()
        if name == "indices":  # of equal logits another may be named: its number counts
            one.error[name] = error_of(truth[name].gather(-1, got), truth["values"])
        else:
            one.error[name] = error_of(got, truth[name])
    bound = allowed(step.dtype)
    wrong = [name for name, error in one.error.items() if not error <= bound]
    if wrong:
        one.leave(WRONG, f"{', '.join(wrong)}: off by more than {bound:.2g} of a row")


def error_of(got: Tensor, truth: Tensor) -> float:
    """Return the largest error of a row over the row, both as sums of absolute numbers."""
    if got.shape != truth.shape:
        return float("inf")
    error, size = ((got.double() - truth).abs(), truth.abs())
    if error.ndim > 1:
        error, size = error.sum(-1), size.sum(-1)
        return (error / size).max().item()
    return (error.sum() / size.sum()).item()


def allowed(dtype: str) -> float:
    """Return how much may be off: half of the digits of the type of the logits."""
    return float(2.0 ** -((FORMATS[dtype].digits + 1) // 2))


def _weigh(one: Entrant, device: Device) -> None:
    """Find the most memory that a call takes beyond what is there."""
    assert one.call is not None
    before = device.reset_peak()
    made = one.call()
    one.extra_bytes = device.peak() - before
    del made


def _prepare(one: Entrant, step: Step, device: Device) -> None:
    assert one.call is not None
    one.sample = device.sample(one.call, step.small)


def _in_graphs(found: list[Entrant], device: Device) -> list[Entrant]:
    """Return the ways that run in a graph once more, as they do there."""
    if isinstance(device, OnCpu):
        return []
    made = []
    for one in found:
        if one.way.graph and one.call:
            again = replace(one, name=one.name + IN_GRAPH, extra_bytes=None, sample=None)
            again.attempt(lambda again=again: setattr(again, "sample", device.graph(again.call)))
            made.append(again)
    return made


def _record(step: Step, one: Entrant, times: Any, rates: dict[str, float]) -> Record:
    n_bytes = (step.reads + step.writes) * step.input_bytes
    share = None
    if times and rates and not step.small:
        share = n_bytes / times.median_s / 1e9 / max(rates.values())
    return {
        "record": "step", "group": step.group, "step": step.name, "way": one.name,
        "library": one.way.library, "version": one.version, "dtype": step.dtype,
        "rows": step.rows, "vocab": step.vocab, "status": one.status, "reason": one.reason,
        "times": asdict(times) if times else None, "extra_bytes": one.extra_bytes,
        "bytes": n_bytes, "input_bytes": step.input_bytes, "rates": rates, "share": share,
        "error": one.error, "kernel": one.kernel,
    }  # fmt: skip


def memory(step: Step, way: Way, device: Device) -> Iterator[Record]:
    """Yield the peak memory of a way for more and more tokens, the logits among it."""
    for tokens in device.tokens():
        again = replace(step, rows=tokens, vocab=MEMORY_VOCAB)
        one = Entrant(way.name, way)
        one.attempt(lambda one=one, again=again: _peak(one, again, device))
        _forget(device)
        yield {
            "record": "memory", "step": step.name, "way": way.name, "library": way.library,
            "version": one.version, "dtype": step.dtype, "vocab": MEMORY_VOCAB, "tokens": tokens,
            "peak_bytes": one.extra_bytes, "limit_bytes": device.limit_bytes,
            "status": one.status, "reason": one.reason,
        }  # fmt: skip
        if one.status != OK:
            return


def _forget(device: Device) -> None:
    """Give back memory that nothing uses any more."""
    gc.collect()
    device.forget()


def _peak(one: Entrant, step: Step, device: Device) -> None:
    before = device.reset_peak()
    _start(one, step.data(device.where, single=True))
    assert one.call is not None
    one.call()
    one.extra_bytes = device.peak() - before
    one.call = None


def records(device: Device, options: argparse.Namespace) -> Iterator[Record]:
    """Measure, and yield each record when it is there."""
    until = time.monotonic() + (options.seconds or float("inf"))
    skipped = frozenset({"compile"} if options.quick else ())
    every = [step for step in steps(device.name) if options.only in step.key]
    yield {"record": "header", "schema": 1, "kind": "torch", **device.header(_command(options))}
    if device.name == "cuda" and not options.quick:
        _compile_first(every, options)
    timed = iter(every)
    for step in timed:
        if time.monotonic() > until:
            print(f"no time was left for {step.key} and {len(list(timed))} more", file=sys.stderr)
            return
        yield from measured(step, device, skipped)
        _forget(device)
        if step.name in MEMORY:
            for way in step.ways:
                if way.name in MEMORY_WAYS:
                    yield from memory(step, way, device)


def _compile_first(every: list[Step], options: argparse.Namespace) -> None:
    """Let several processes call what peers compile, which is kept on disk."""
    slow = [step for step in every if not step.small]
    end = time.monotonic() + min(_COMPILE_S, 0.4 * (options.seconds or float("inf")))
    running: list[subprocess.Popen[bytes]] = []
    for i in range(_COMPILERS):
        if some := [step.key for step in slow[i::_COMPILERS]]:
            words = [sys.executable, __file__, "--device", "cuda", "--compile", *some]
            null = subprocess.DEVNULL
            running.append(subprocess.Popen(words, stdout=null, stderr=null))
    for process in running:
        try:
            process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:  # what is left is compiled when it is timed
            process.kill()
            process.wait()


def _compile(device: Device, keys: list[str]) -> None:
    """Call each way of some steps once."""
    for step in steps(device.name):
        if step.key in keys:
            data = step.data(device.where)
            for way in step.ways:
                one = Entrant(way.name, way)
                one.attempt(lambda one=one, data=data: _start(one, data))
                one.attempt(lambda one=one: one.call() and None)
                one.call = None
                device.forget()


def _command(options: argparse.Namespace) -> str:
    """Return the command of a run, without the file."""
    words = ["python tools/run_torch.py --device", options.device]
    words += ["--quick"] * options.quick
    words += [f"--seconds {options.seconds:g}"] if options.seconds else []
    words += [f"--only '{options.only}'"] if options.only else []
    return " ".join(words)


def main() -> int:
    """Measure, and write what was found; 1 when a way of ours was wrong or failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--quick", action="store_true", help="fewer samples, no torch.compile")
    parser.add_argument("--seconds", type=float, help="begin no further step after these")
    parser.add_argument("--only", default="", help="steps whose name has this")
    parser.add_argument("--out", type=Path, help="the JSONL file to write")
    parser.add_argument("--compile", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    # Each process compiles in itself, Inductor would start as many again as there are cores.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    warnings.simplefilter("ignore")  # of compilers, about what they would like to be given
    device = OnCpu(options.quick) if options.device == "cpu" else OnGpu(options.quick)
    if options.compile:
        _compile(device, options.compile)
        return 0
    if options.out is None:
        parser.error("--out is needed")
    failed = 0
    with options.out.open("w", encoding="utf-8") as file:
        for record in records(device, options):
            file.write(json.dumps(record) + "\n")
            file.flush()
            print(said(record), flush=True)
            failed += record.get("library") == OURS and record["status"] in {WRONG, FAILED}
    return int(failed > 0)


def said(record: Record) -> str:
    """Return a record as a line."""
    match record["record"]:
        case "step":
            took = record["times"]
            ms = f"{took['median_s'] * 1e3:9.3f} ms" if took else f"{record['status']:>12}"
            mib = record["extra_bytes"]
            more = "" if mib is None else f"{mib / 2**20:9.1f} MiB"
            share = "" if record["share"] is None else f"{record['share']:.0%}"
            shape = f"{record['rows']}x{record['vocab']}"
            why = record["reason"] or ""
            return f"{record['step']}, {shape}: {record['way']:28s} {ms} {more} {share} {why}"
        case "memory":
            peak = record["peak_bytes"]
            mib = "out" if peak is None else f"{peak / 2**20:.0f} MiB"
            return f"  {record['way']}: {record['tokens']} tokens {mib}"
        case _:
            return f"{record['command']}, {record['commit']}"


if __name__ == "__main__":
    sys.exit(main())
