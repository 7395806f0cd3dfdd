"""Hold every kernel of the ops on a GPU against a second opinion, on fresh rows, for a while.

``python tools/soak_cuda.py --seconds 60 --out FILE.jsonl`` compiles first, then takes turns through
all launches of the table, ops and element types, each time with fresh rows. What PyTorch computes
of each row in float64 is the truth; top-k is held against a stable sort. It says how many rows of
each kernel were checked and exits with 1 when one was wrong. Rows have logits of several kinds:
spread out, crowded, masked, far from zero, tied.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import soak_backward
import torch
from soak_truth import computed, far, lost, probabilities, room_of, summed

import oneread
from oneread.bench.gpu import runner
from oneread.runtime import tuning
from oneread.spec import OPS, BackendUnavailableError

Record = dict[str, Any]

#: Elements of a turn, about: a few milliseconds with its check.
ELEMENTS = 1 << 25
#: Rows of a turn at most.
MOST_ROWS = 1 << 17
#: Rows side by side where the columns of a row are not.
SIDE_BY_SIDE = 64
#: What a length is where the table has no bound.
LONGEST = 600_000
#: Lengths where no table gives them, and rows of the longest that several blocks share.
LENGTHS = (1000, 25_001, 128_256)
FEW = 10
#: Ops whose launches are in another table than that of softmax.
TABLES = {"logsumexp": "logsumexp", "top_k": "topk", "softmax_topk": "topk", "read": "read",
          "state": "read", **soak_backward.TABLES}  # fmt: skip
#: Columns that a state keeps.
TOP = 5
KS = (1, 10, 64, 256, 1024)
DEEPEST = 90  # nats below the maximum: powers there are out of the normal range of float32


class Job(NamedTuple):
    """One launch that is soaked."""

    op: str
    dtype: str
    rows: int
    vocab: int
    k: int = 0
    strided: bool = False
    masked: bool = False


@dataclass
class Tally:
    """What was found of a job."""

    kernel: str = ""
    rows: int = 0
    turns: int = 0
    wrong_rows: int = 0
    first_wrong: str = ""
    refused: str = ""


def jobs(ops: Sequence[str]) -> Iterator[Job]:
    """Yield a job for each row of the table and op, with even and odd rows, masks and strides."""
    for op, dtype in product(ops, tuning.ELEMENTS):
        if op in ("softmax_topk", "top_k"):
            sizes = product(LENGTHS, KS)
            # A sort takes longer than what it is compared with.
            found = {Job(op, dtype, _rows(v, ELEMENTS // 4), v, k) for v, k in sizes if k <= v}
            found |= {Job(op, dtype, FEW, LENGTHS[-1], k) for k in KS}
        else:
            strided = Job(op, dtype, 40 * SIDE_BY_SIDE, 777, strided=True)
            plain = {Job(op, dtype, _rows(v, ELEMENTS), v) for v in LENGTHS}
            if op in ("read", "state"):
                found = {strided, *plain, Job(op, dtype, FEW, LENGTHS[-1])}
            elif op in soak_backward.CHECKS:
                found = set(_table(op, dtype))
            else:
                masked = {job._replace(masked=True) for job in (strided, *plain)}
                found = {strided, *masked, *_table(op, dtype)}
        yield from sorted(found)


def _table(op: str, dtype: str) -> Iterator[Job]:
    size = tuning.ELEMENTS[dtype][1]
    for row in tuning.table()[TABLES.get(op, "softmax")]:
        if row.get("bytes", size) != size:
            continue
        vocab = row["vectors"] * 16 // size if "vectors" in row else LONGEST
        few = row.get("rows")
        for odd in (0, 1):  # rows that 16 bytes do not divide
            yield Job(op, dtype, few or _rows(vocab, ELEMENTS), max(1, vocab - odd))


def _rows(vocab: int, elements: int) -> int:
    return max(65, min(MOST_ROWS, elements // vocab))


def logits(job: Job, generator: torch.Generator, turn: int) -> torch.Tensor:
    """Return fresh rows, of another kind in each turn."""
    where = generator.device
    x = torch.empty((job.rows, job.vocab), device=where)
    x.normal_(0, (4, 0.1, 30, 4, 4)[turn % 5], generator=generator)
    if turn % 5 == 2:
        x += torch.randint(-1000, 1000, (job.rows, 1), device=where, generator=generator)
    if turn % 5 == 3:
        kept = torch.rand(x.shape, device=where, generator=generator) < 0.1
        kept[:, -1] = True
        x.masked_fill_(~kept, -torch.inf)
    if turn % 5 == 4:
        x = x.round()
    return x.to(_type(job))


def _type(job: Job) -> torch.dtype:
    return getattr(torch, job.dtype)


def laid(job: Job, x: torch.Tensor) -> torch.Tensor:
    """Return rows as the job wants them in memory."""
    if not job.strided:
        return x
    sides = job.rows // SIDE_BY_SIDE, SIDE_BY_SIDE
    return x.view(*sides, job.vocab).movedim(1, 2).contiguous().movedim(1, 2)


def given(job: Job, x: torch.Tensor, turn: int) -> dict[str, Any]:
    """Return what an op takes beside the logits: numbers, or the mask and lengths of the job.

    Each row keeps a column at least.
    """
    if job.op in soak_backward.CHECKS:
        return soak_backward.given(job.op, x, turn)
    if not job.masked:
        return {}
    rows = torch.arange(job.rows, device=x.device).view(x.shape[:-1])
    columns = torch.arange(job.vocab, device=x.device)
    where = ((rows[..., None] * 31 + columns * 7 + turn) % 5 > 0) | (columns == 0)
    return {"where": where, "lengths": (rows * 7919 + turn) % job.vocab + 1}


def call(job: Job, x: torch.Tensor, options: dict[str, Any]) -> Any:
    """Do the op."""
    if job.op in soak_backward.CHECKS:
        return soak_backward.call(job.op, x, options)
    if job.op == "state":
        return _state(x)
    op = getattr(oneread, job.op)
    if job.op == "read":
        return op(x, select=_column(x), rank=True, entropy=True, sum_p2=True, argmax=True)
    return op(x, job.k) if job.k else op(x, **options)


def warm(found: Sequence[Job], where: str) -> None:
    """Do each op once, side by side: to compile takes longer than all that follows.

    What is compiled for a turn alone, too.
    """

    def once(job: Job) -> None:
        x = laid(job, torch.zeros((job.rows, job.vocab), device=where).to(_type(job)))
        with contextlib.suppress(Exception):  # which the soak tells
            for turn in range(1 + (job.op == "logits_gradient")):
                call(job, x, given(job, x, turn))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(once, found))


def soak(job: Job, generator: torch.Generator, tally: Tally) -> None:
    """Take one turn of a job."""
    x = laid(job, logits(job, generator, tally.turns))
    options = given(job, x, tally.turns)
    got = call(job, x, options)
    ran = oneread.last_kernel()
    if job.masked:
        columns = torch.arange(job.vocab, device=x.device)
        beyond = columns >= options["lengths"][..., None]
        x = x.masked_fill(~options["where"] | beyond, -torch.inf)
    if job.op in soak_backward.CHECKS:
        bad = soak_backward.CHECKS[job.op](x, options, got)
    else:
        bad = CHECKS[job.op](job, x, got)
    tally.kernel = ran.name if ran else "?"
    tally.turns += 1
    tally.rows += job.rows
    wrong = bad.reshape(job.rows, -1).any(-1).nonzero()[:, 0]
    if len(wrong):
        tally.wrong_rows += len(wrong)
        tally.first_wrong = tally.first_wrong or f"row {int(wrong[0])} of turn {tally.turns}"


def _allowed(x: torch.Tensor, bound: int) -> torch.Tensor:
    """Return what an exponential far below the maximum may be off by, in units."""
    depth = (x.double().amax(-1, keepdim=True) - x.double()).nan_to_num(0.0, 0.0, 0.0)
    return bound + depth


def _softmax(job: Job, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return far(y, probabilities(x.double())[0], _allowed(x, OPS["softmax"].max_ulp))


def _log_softmax(job: Job, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    truth, plain = probabilities(x.double())[1], probabilities(computed(x))[1]
    return far(y, truth, OPS["log_softmax"].max_ulp, room=room_of(plain, truth) + lost(x))


def _lse(got: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    size = x.double().amax(-1).abs().clamp_min(1.0)  # at which m + log d is rounded
    return far(got, torch.logsumexp(x.double(), -1), OPS["logsumexp"].max_ulp, size)


def _logsumexp(job: Job, x: torch.Tensor, lse: torch.Tensor) -> torch.Tensor:
    return _lse(lse, x)


def _top_k(job: Job, x: torch.Tensor, got: Any) -> torch.Tensor:
    truth, places = torch.sort(x, dim=-1, descending=True, stable=True)
    values, indices = got
    return (values != truth[:, : job.k]) | (indices != places[:, : job.k])


def _softmax_topk(job: Job, x: torch.Tensor, got: Any) -> torch.Tensor:
    places = torch.sort(x, dim=-1, descending=True, stable=True)[1][:, : job.k]
    p = probabilities(x.double())[0].gather(-1, places)
    allowed = _allowed(x, OPS["softmax_topk"].max_ulp).gather(-1, places)
    values, indices = got
    return (indices != places) | far(values, p, allowed)


def _column(x: torch.Tensor) -> torch.Tensor:
    """Return the column of each row that `read` selects."""
    *rows, vocab = x.shape
    return (torch.arange(math.prod(rows), device=x.device) * 7919 % vocab).view(rows)


def _state(x: torch.Tensor) -> Any:
    """Return what is read of rows in two parts."""
    middle = x.shape[-1] // 2
    options = {"entropy": True, "sum_p2": True, "argmax": True, "top_k": TOP}
    first = oneread.State.of(x[..., :middle], **options)
    return first | oneread.State.of(x[..., middle:], offset=middle, **options)


def _of_state(job: Job, x: torch.Tensor, got: Any) -> torch.Tensor:
    first = oneread.top_k(x, TOP)  # which has a soak of its own
    wrong = (got.indices != first.indices) | (got.values != first.values)
    both = (probabilities(one) for one in (x.double(), computed(x)))
    return wrong.any(-1) | _statistics(x, got, *both)


def _statistics(x: torch.Tensor, got: Any, true: Any, plain: Any) -> torch.Tensor:
    """Say of which rows a number is wrong; `plain` is the truth as its type computes it."""
    entropy, bound = _entropy(x, *true), OPS["read"].bound
    room = room_of(_entropy(x, *plain), entropy) + DEEPEST * lost(x)
    return (
        (got.argmax != x.argmax(-1))  # the first, where several are equal
        | (got.max != x.amax(-1))
        | _lse(got.lse, x)
        | far(got.entropy, entropy, bound("entropy"), room=room)
        | far(got.sum_p2, summed(true[0].square()), bound("sum_p2"))
    )


def _entropy(x: torch.Tensor, p: torch.Tensor, logp: torch.Tensor) -> torch.Tensor:
    return -summed(torch.where(x.isneginf(), 0.0, p * logp))


def _read(job: Job, x: torch.Tensor, got: Any) -> torch.Tensor:
    column = _column(x)[..., None]
    true, plain = probabilities(x.double()), probabilities(computed(x))
    logit, selected, other = (one.gather(-1, column)[..., 0] for one in (x, true[1], plain[1]))
    before = torch.arange(job.vocab, device=x.device) < column
    rank = ((x > logit[..., None]) | ((x == logit[..., None]) & before)).sum(-1)
    room = room_of(other, selected) + lost(x)
    wrong = far(got.selected, selected, OPS["read"].bound("selected"), room=room)
    return (got.rank != rank) | wrong | _statistics(x, got, true, plain)


CHECKS: dict[str, Callable[[Job, torch.Tensor, Any], torch.Tensor]] = {
    "softmax": _softmax, "log_softmax": _log_softmax, "logsumexp": _logsumexp, "top_k": _top_k,
    "softmax_topk": _softmax_topk, "read": _read, "state": _of_state,
}  # fmt: skip


OPS_SOAKED = [*CHECKS, *soak_backward.CHECKS]


def run(found: Sequence[Job], seconds: float, where: str) -> dict[Job, Tally]:
    """Go through the jobs until the time is over, each as often as the others."""
    end = time.monotonic() + seconds
    generator = torch.Generator(where).manual_seed(time.time_ns() % 2**63)
    tallies = {job: Tally() for job in found}
    while True:
        left = [job for job, tally in tallies.items() if not tally.refused]
        if not left:
            return tallies
        for job in left:
            if time.monotonic() > end:
                return tallies
            try:
                soak(job, generator, tallies[job])
            except BackendUnavailableError as error:
                tallies[job].refused = str(error)
            except Exception as error:  # the others go on
                tallies[job].refused = tallies[job].first_wrong = repr(error)
                tallies[job].wrong_rows = tallies[job].rows = job.rows


def show(tallies: dict[Job, Tally]) -> int:
    """Print what was checked of each kernel; 1 when something was wrong."""
    by_kernel: dict[str, list[Tally]] = {}
    for job, tally in tallies.items():
        name = tally.kernel or f"{job.op} (not yet on a GPU: {tally.refused or 'no time'})"
        by_kernel.setdefault(f"{name}, {job.dtype}", []).append(tally)
    for name, several in by_kernel.items():
        rows, wrong = (sum(t) for t in zip(*((t.rows, t.wrong_rows) for t in several), strict=True))
        print(f"{name:44} {len(several):3} launches {rows:12,} rows {wrong} wrong", flush=True)
    for job, tally in tallies.items():
        if tally.wrong_rows:
            print(f"WRONG {job}: {tally.wrong_rows} of {tally.rows}, {tally.first_wrong}")
    total = sum(tally.rows for tally in tallies.values())
    wrong = sum(tally.wrong_rows for tally in tallies.values())
    print(f"{total:,} rows, {wrong} wrong")
    return 1 if wrong else 0


def main() -> int:
    """Soak, show and keep."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--out", type=Path, help="file for the records")
    parser.add_argument("--op", action="append", choices=OPS_SOAKED, help="only this; default: all")
    options = parser.parse_args()
    try:
        header: Record = {"record": "header", **runner.facts()}
    except BackendUnavailableError as error:
        parser.error(str(error))
    found = list(jobs(options.op or OPS_SOAKED))
    start = time.monotonic()
    warm(found, "cuda")
    print(f"{len(found)} launches compiled in {time.monotonic() - start:.1f} s", flush=True)
    tallies = run(found, options.seconds, "cuda")
    if options.out:
        told = ({**job._asdict(), **asdict(tally)} for job, tally in tallies.items())
        lines = [header, *({"record": "soak", **one} for one in told)]
        options.out.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return show(tallies)


if __name__ == "__main__":
    sys.exit(main())
