"""Hold every kernel of the ops on a GPU against a second opinion, on fresh rows, for a while.

``python tools/soak_cuda.py --seconds 120 --out FILE.jsonl`` takes turns through all launches of the
table, ops and element types. What PyTorch computes of each row in float64 is the truth; top-k is
held against a stable sort. It says how many rows of each kernel were checked and exits with 1 when
one was wrong. Rows have logits of several kinds: spread out, crowded, masked, far from zero, tied.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import torch

import oneread
from oneread.bench.gpu import runner
from oneread.runtime import tuning
from oneread.spec import OPS, BackendUnavailableError
from oneread.testing.ulps import FORMATS

Record = dict[str, Any]

#: Elements of a turn, about: a few milliseconds with its check.
ELEMENTS = 1 << 25
#: Rows of a turn at most.
MOST_ROWS = 1 << 17
#: What a length is where the table has no bound.
LONGEST = 600_000
KS = (1, 10, 64, 256, 1024)
#: What the truth itself, computed in float64, may be off by where the result is a float64.
OWN_ULP = 8


class Job(NamedTuple):
    """One launch that is soaked."""

    op: str
    dtype: str
    rows: int
    vocab: int
    k: int = 0
    strided: bool = False


@dataclass
class Tally:
    """What was found of a job."""

    kernel: str = ""
    rows: int = 0
    turns: int = 0
    wrong_rows: int = 0
    first_wrong: str = ""
    refused: str = ""
    seconds: float = field(default=0.0, repr=False)


def jobs(ops: Sequence[str]) -> Iterator[Job]:
    """Yield a job for each row of the table and op, one with odd rows, and the strided kernel."""
    for op, dtype in product(ops, tuning.ELEMENTS):
        if op in ("softmax_topk", "top_k"):
            sizes = product((1000, 25_000, 128_256), KS)
            # A sort takes longer than what it is compared with.
            found = {Job(op, dtype, _rows(v, ELEMENTS // 4), v, k) for v, k in sizes if k <= v}
        elif op == "read":
            found = {Job(op, dtype, _rows(v, ELEMENTS), v) for v in (1000, 25_000, 128_256)}
        else:
            found = set(_table(op, dtype))
            found.add(Job(op, dtype, 40 * 64, 777, strided=True))
        yield from sorted(found)


def _table(op: str, dtype: str) -> Iterator[Job]:
    size = tuning.ELEMENTS[dtype][1]
    name = "logsumexp" if op == "logsumexp" else "softmax"
    for row in tuning.table()[name]:
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
    return x.to(getattr(torch, job.dtype))


def soak(job: Job, generator: torch.Generator, tally: Tally) -> None:
    """Take one turn of a job."""
    x = logits(job, generator, tally.turns)
    if job.strided:
        x = x.view(40, 64, job.vocab).movedim(1, 2).contiguous().movedim(1, 2)
    bad = CHECKS[job.op](job, x)
    ran = oneread.last_kernel()
    tally.kernel = ran.name if ran else "?"
    tally.turns += 1
    tally.rows += job.rows
    wrong = bad.reshape(job.rows, -1).any(-1).nonzero()[:, 0]
    if len(wrong):
        tally.wrong_rows += len(wrong)
        tally.first_wrong = tally.first_wrong or f"row {int(wrong[0])} of turn {tally.turns}"


def _far(got: torch.Tensor, truth: torch.Tensor, ulps: Any, least: Any = 0.0) -> torch.Tensor:
    """Say which numbers are further from the truth than so many units in the last place.

    A unit is taken at the truth, or at `least` where that is larger.
    """
    dtype = str(got.dtype).removeprefix("torch.")
    own = FORMATS[dtype]
    size = torch.maximum(truth.abs(), torch.as_tensor(least, dtype=truth.dtype, device=got.device))
    _, exponent = torch.frexp(size.clamp_min(own.tiny))
    unit = torch.exp2((exponent - 1 - own.digits).double())
    value = got.double()
    near = (value - truth).abs() <= (ulps + OWN_ULP * (dtype == "float64")) * unit
    tiny = FORMATS["float32"].tiny if dtype == "float16" else own.tiny
    flushed = (value == 0) & (truth.abs() < tiny)  # results below the normal range may be 0
    same = (value == truth) | (value.isnan() & truth.isnan())
    return ~(near | flushed | same)


def _allowed(x: torch.Tensor, bound: int) -> torch.Tensor:
    """Return what an exponential far below the maximum may be off by, in units."""
    depth = (x.double().amax(-1, keepdim=True) - x.double()).nan_to_num(0.0, 0.0, 0.0)
    return bound + depth


def _softmax(job: Job, x: torch.Tensor) -> torch.Tensor:
    y = oneread.softmax(x)
    return _far(y, torch.softmax(x.double(), -1), _allowed(x, OPS["softmax"].max_ulp))


def _log_softmax(job: Job, x: torch.Tensor) -> torch.Tensor:
    return _far(oneread.log_softmax(x), _logp(x), OPS["log_softmax"].max_ulp)


def _logp(x: torch.Tensor) -> torch.Tensor:
    """Return log-probabilities whose small ones keep their digits, which PyTorch's do not."""
    below, at = x.double(), x.argmax(-1, keepdim=True)
    below = below - below.gather(-1, at)
    rest = below.exp().scatter_(-1, at, 0.0).sum(-1, keepdim=True)
    return below - rest.log1p()


def _lse(got: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    size = x.double().amax(-1).abs().clamp_min(1.0)  # at which m + log d is rounded
    return _far(got, torch.logsumexp(x.double(), -1), OPS["logsumexp"].max_ulp, size)


def _logsumexp(job: Job, x: torch.Tensor) -> torch.Tensor:
    return _lse(oneread.logsumexp(x), x)


def _top_k(job: Job, x: torch.Tensor) -> torch.Tensor:
    values, indices = oneread.top_k(x, job.k)
    truth, places = torch.sort(x, dim=-1, descending=True, stable=True)
    return (values != truth[:, : job.k]) | (indices != places[:, : job.k])


def _softmax_topk(job: Job, x: torch.Tensor) -> torch.Tensor:
    values, indices = oneread.softmax_topk(x, job.k)
    places = torch.sort(x, dim=-1, descending=True, stable=True)[1][:, : job.k]
    p = torch.softmax(x.double(), -1).gather(-1, places)
    allowed = _allowed(x, OPS["softmax_topk"].max_ulp).gather(-1, places)
    return (indices != places) | _far(values, p, allowed)


def _read(job: Job, x: torch.Tensor) -> torch.Tensor:
    column = (torch.arange(job.rows, device=x.device) * 7919) % job.vocab
    found = oneread.read(x, select=column, rank=True, entropy=True)
    logit, logp = x.gather(-1, column[:, None]), _logp(x)
    before = torch.arange(job.vocab, device=x.device) < column[:, None]
    rank = ((x > logit) | ((x == logit) & before)).sum(-1)
    entropy = -torch.where(x.isneginf(), 0.0, logp.exp() * logp).sum(-1)
    selected = logp.gather(-1, column[:, None])[:, 0]
    bound = OPS["read"].bound
    return (
        (found.rank != rank)
        | _lse(found.lse, x)
        | _far(found.selected, selected, bound("selected"))
        | _far(found.entropy, entropy, bound("entropy"))
    )


CHECKS: dict[str, Callable[[Job, torch.Tensor], torch.Tensor]] = {
    "softmax": _softmax, "log_softmax": _log_softmax, "logsumexp": _logsumexp, "top_k": _top_k,
    "softmax_topk": _softmax_topk, "read": _read,
}  # fmt: skip


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
    parser.add_argument("--op", action="append", choices=CHECKS, help="only this; default: all")
    options = parser.parse_args()
    try:
        header: Record = {"record": "header", **runner.facts()}
    except BackendUnavailableError as error:
        parser.error(str(error))
    tallies = run(list(jobs(options.op or list(CHECKS))), options.seconds, "cuda")
    if options.out:
        found = ({**job._asdict(), **asdict(tally)} for job, tally in tallies.items())
        lines = [header, *({"record": "soak", **one} for one in found)]
        options.out.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return show(tallies)


if __name__ == "__main__":
    sys.exit(main())
