"""Put a small run of every CUDA kernel of the ops before NVIDIA's compute-sanitizer.

``python tools/sanitize_cuda.py --out FOLDER`` runs one launch under memcheck first: where the tool
does not run, that is said and is no failure. Then memcheck and racecheck watch a few rows of each
launch of the table. Messages go to FOLDER/sanitizer.jsonl, all that was said to a log of each tool;
1 when there is an error. ``--launch`` is the program that is watched.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from soak_cuda import CHECKS, Job, jobs
from tuning_rows import FEW_ROWS

from oneread.bench.gallery import nvidia
from oneread.bench.gpu import runner
from oneread.runtime import tuning
from oneread.spec import BackendUnavailableError

Record = dict[str, Any]

CHECKERS = ("memcheck", "racecheck")
#: The tools slow a kernel down a hundred times: as few rows as have its launch, by whether that is
#: one for few rows.
ROWS = {True: 3, False: 67}
#: Rows that lie side by side: more than one block's.
SIDE_BY_SIDE = 64
PROBE_S = 60


def small(found: Sequence[Job]) -> Iterator[Job]:
    """Yield the jobs with few rows."""
    for job in found:
        yield job._replace(rows=SIDE_BY_SIDE if job.strided else ROWS[job.rows <= FEW_ROWS])


def launch(found: Sequence[Job]) -> Iterator[Record]:
    """Launch each job once: the program that NVIDIA's tools watch."""
    import torch

    import oneread

    for job in found:
        x = torch.empty((job.rows, job.vocab), device="cuda").normal_(0, 4)
        x = x.to(getattr(torch, job.dtype))
        if job.strided:
            x = x.view(1, SIDE_BY_SIDE, job.vocab).movedim(1, 2).contiguous().movedim(1, 2)
        record: Record = {
            "record": "launched", "entry": job.op, "use": f"{job.dtype} k{job.k}",
            "vocab": job.vocab,
        }  # fmt: skip
        try:
            _call(job, x)
            torch.cuda.synchronize()
            ran = oneread.last_kernel()
            yield record | {"kernel": ran.name if ran else "?"}
        except Exception as error:  # the tool that watches says more
            yield record | {"said": str(error)[:200]}


def _call(job: Job, x: Any) -> None:
    import torch

    import oneread

    if job.op == "read":
        column = torch.zeros(job.rows, dtype=torch.int64, device=x.device)
        oneread.read(x, select=column, rank=True, entropy=True)
    else:
        getattr(oneread, job.op)(x, *([job.k] if job.k else []))


def names() -> list[str]:
    """Return the kernels that messages may be about: what the files of the folder are called."""
    return sorted(path.stem for path in tuning.FOLDER.glob("*.cu"))


def watched(out: Path, program: Sequence[str], limit_s: float) -> Iterator[Record]:
    """Yield what the tools say, or that they do not run here."""
    (probed, *_), log = nvidia.sanitized("memcheck", [*program, "--probe"], names(), PROBE_S)
    if not probed["ran"]:
        (out / "probe.log").write_text(log, encoding="utf-8")
        yield probed
        return
    end = time.monotonic() + limit_s
    for left, checker in zip((2, 1), CHECKERS, strict=True):
        limit = max(1.0, (end - time.monotonic()) / left)
        records, log = nvidia.sanitized(checker, program, names(), limit)
        (out / f"{checker}.log").write_text(log[-2_000_000:], encoding="utf-8")
        launched = log.count('{"record": "launched"')
        yield from ({**one, "launched": launched} for one in records[:1])
        yield from records[1:]


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
    parser.add_argument("--seconds", type=float, default=300.0, help="for both tools together")
    parser.add_argument("--launch", action="store_true", help="run the kernels, watched or not")
    parser.add_argument("--probe", action="store_true", help="of those, the first alone")
    options = parser.parse_args()
    if options.launch:
        found = list(small(list(jobs(list(CHECKS)))))
        for record in launch(found[:1] if options.probe else found):
            print(json.dumps(record), flush=True)
        return 0
    if options.out is None:
        parser.error("give --out or --launch")
    try:
        header: Record = {"record": "header", **runner.facts()}
    except BackendUnavailableError as error:
        parser.error(str(error))
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
