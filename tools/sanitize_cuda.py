"""Put a small run of every CUDA kernel of the ops before NVIDIA's compute-sanitizer.

``python tools/sanitize_cuda.py --out FOLDER`` compiles all that is launched, then memcheck and
racecheck watch a few rows of each kernel, in each way that it is launched. Where the tools do not
run, that is said and is no failure. Messages go to FOLDER/sanitizer.jsonl, all that was said to a
log of each tool; 1 when there is an error. ``--launch`` is the program that is watched.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from soak_cuda import OPS_SOAKED, SIDE_BY_SIDE, TABLES, Job, call, given, jobs, laid, warm

from oneread.bench.gallery import nvidia
from oneread.bench.gpu import runner
from oneread.runtime import cuda, tuning
from oneread.spec import BackendUnavailableError

Record = dict[str, Any]

CHECKERS = ("memcheck", "racecheck")
#: Rows of a job: many where they have no more elements than these, or where few are launched
#: another way. The tools slow a kernel down a hundred times, and what a backward pass is given is
#: made on the CPU.
MANY, FEW = 67, 3
ELEMENTS = 1 << 20
#: float16 runs the code of bfloat16 but for two conversions, which the soak checks.
DTYPES = ("float32", "bfloat16", "float64")


def small(found: Sequence[Job], target: str) -> list[Job]:
    """Return a job with few rows for each kernel and way to launch it."""
    chosen: dict[Any, Job] = {}
    for job in found:
        if job.dtype in DTYPES:
            few = shortened(job, target)
            chosen.setdefault(way(few, target), few)
    return list(chosen.values())


def shortened(job: Job, target: str) -> Job:
    """Return a job with few rows that is launched the same way."""
    if job.strided:
        return job._replace(rows=SIDE_BY_SIDE)
    many, few = [job._replace(rows=rows) for rows in (MANY, FEW)]
    own = way(job, target)
    if way(few, target) != own:
        return many
    return many if way(many, target) == own and MANY * job.vocab <= ELEMENTS else few


def way(job: Job, target: str) -> tuple[Any, ...]:
    """Return what tells launches apart: the op, the kernel, who shares a row, how rows lie."""
    if job.strided:
        return job.op, job.dtype, "strided", job.masked
    aligned = job.vocab * tuning.ELEMENTS[job.dtype][1] % cuda.VECTOR_BYTES == 0
    what = tuning.Rows(job.dtype, job.rows, job.vocab, aligned=aligned, k=job.k)
    op = TABLES.get(job.op, job.op)
    choice = tuning.choose(op, what, target, ranks=int(op == "read"))
    shared = choice.cluster > 1, choice.rows_a_block > 1
    return job.op, job.dtype, choice.kernel, shared, aligned, job.masked


def launch(found: Sequence[Job]) -> Iterator[Record]:
    """Launch each job once: the program that NVIDIA's tools watch.

    Numbers are drawn on the CPU, since kernels of PyTorch would be watched, too.
    """
    import torch

    import oneread

    drawn = torch.empty(max(job.rows * job.vocab for job in found)).normal_(0, 4)
    for job in found:
        x = drawn[: job.rows * job.vocab].view(job.rows, job.vocab).to(getattr(torch, job.dtype))
        x = laid(job, x)
        options = {
            name: one.cuda() if torch.is_tensor(one) else one
            for name, one in given(job, x, 0).items()
        }
        record: Record = {
            "record": "launched", "entry": job.op, "use": f"{job.dtype} k{job.k}",
            "vocab": job.vocab,
        }  # fmt: skip
        try:
            call(job, x.cuda(), options)
            torch.cuda.synchronize()
            ran = oneread.last_kernel()
            yield record | {"kernel": ran.name if ran else "?"}
        except Exception as error:  # the tool that watches says more
            yield record | {"said": str(error)[:200]}


def names() -> list[str]:
    """Return the kernels that messages may be about: what the files of the folder are called."""
    return sorted(path.stem for path in tuning.FOLDER.glob("*.cu"))


def watched(out: Path, program: Sequence[str], limit_s: float) -> Iterator[Record]:
    """Yield what the tools say; of the first one alone where it does not run here."""
    end = time.monotonic() + limit_s
    for left, checker in zip((2, 1), CHECKERS, strict=True):
        limit = max(1.0, (end - time.monotonic()) / left)
        records, log = nvidia.sanitized(checker, program, names(), limit)
        (out / f"{checker}.log").write_text(log[-2_000_000:], encoding="utf-8")
        launched = log.count('{"record": "launched"')
        yield {**records[0], "launched": launched}
        yield from records[1:]
        if not launched:
            return


def show(record: Record) -> None:
    """Print what a tool did, and each message."""
    if record["record"] == "tool":
        did = f"watched {record.get('launched', 0)} launches" if record["ran"] else "does not run"
        print(f"{record['tool']} {did}: {record['said'] or 'it said nothing'}", flush=True)
    else:
        print(json.dumps(record), flush=True)


def main() -> int:
    """Watch, or be watched; 1 when an error was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, help="folder for records and logs")
    parser.add_argument("--seconds", type=float, default=100.0, help="for both tools together")
    parser.add_argument("--launch", action="store_true", help="run the kernels, watched or not")
    options = parser.parse_args()
    if options.out is None and not options.launch:
        parser.error("give --out or --launch")
    try:
        header: Record = {"record": "header", **runner.facts()}
    except BackendUnavailableError as error:
        parser.error(str(error))
    found = small(list(jobs(OPS_SOAKED)), header["target"])
    if options.launch:
        for record in launch(found):
            print(json.dumps(record), flush=True)
        return 0
    warm(found, "cuda")
    options.out.mkdir(parents=True, exist_ok=True)
    program = [sys.executable, str(Path(__file__).resolve()), "--launch"]
    errors = 0
    with (options.out / "sanitizer.jsonl").open("w", encoding="utf-8") as file:
        for record in (header, *watched(options.out, program, options.seconds)):
            file.write(json.dumps(record) + "\n")
            if record["record"] != "header":
                show(record)
            errors += record.get("severity") == "error"
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
