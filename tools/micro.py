"""What `oneread sass` predicts of the loops that tools/run_microkernels.py timed, beside the times.

Predictions are made from the machine code in the records: that which ran. Needs ``nvdisasm``.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from oneread.bench.gallery import tables as markdown
from oneread.sass import Analysis, analyse, read_code
from oneread.sass.facts.loops import Work

Record = dict[str, Any]

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks" / "results"
#: How far a prediction may be off, as a share of it: of a full SM, and of a warp alone.
ALLOWED = {"full": 0.20, "alone": 0.30}


class Row(NamedTuple):
    """A loop: what is predicted of it and what was measured, in the unit of its kind.

    ``loop`` counts the loops over a row of one kernel, from 1.
    """

    kind: str
    kernel: str
    maths: str
    loop: int
    predicted: float
    limit: str
    measured: float
    quartiles: tuple[float, float]

    @property
    def ratio(self) -> float:
        """Return the measured number as a share of the predicted one."""
        return self.measured / self.predicted


def newest(folder: Path = FOLDER) -> Path | None:
    """Return the newest records, None where there are none."""
    files = sorted(folder.glob("micro-*.jsonl"))
    return files[-1] if files else None


def load(path: Path) -> list[Record]:
    """Return the records of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def rows(records: list[Record]) -> Iterator[Row]:
    """Yield each timed loop with its prediction."""
    analyses: dict[tuple[str, str, str], Analysis] = {}
    for one in records:
        if one["record"] == "code":
            found = read_code(zlib.decompress(base64.b64decode(one["cubin"])), one["name"])
            for program in found.programs:
                analyses[one["name"], one["maths"], program.name] = analyse(program)
        elif one["record"] in ALLOWED:
            analysis = analyses[one["name"], one["maths"], one["kernel"]]
            yield _full(one, analysis) if one["record"] == "full" else _alone(one, analysis)


def _full(one: Record, analysis: Analysis) -> Row:
    price = _widest(analysis).cost
    name = "elements_a_clock"
    spread = one[f"{name}_p25"], one[f"{name}_p75"]
    ceiling = price.ceilings[price.limit]
    return Row("full", one["kernel"], one["maths"], 1, ceiling, price.limit, one[name], spread)


def _alone(one: Record, analysis: Analysis) -> Row:
    first, last = one["lines"]
    work = _widest(analysis, first, last)
    if work.alone_cycles is None:
        raise ValueError(f"{one['kernel']}: no control bits")
    name = "clocks_an_element"
    spread = one[f"{name}_p25"], one[f"{name}_p75"]
    predicted = work.alone_cycles / work.elements
    return Row("alone", one["kernel"], one["maths"], one["loop"], predicted, "", one[name], spread)


def _widest(analysis: Analysis, first: int = 1, last: int = 1 << 30) -> Work:
    """Return the widest loop of those that some lines of the source became."""
    rungs = [
        rung
        for one in analysis.ladders
        if one.line is not None and first <= one.line <= last
        for rung in one.rungs
        if rung.loop
    ]
    loop = max(rungs, key=lambda rung: rung.elements).loop
    return next(work for work in analysis.works if work.loop == loop)


def tables(path: Path) -> str:
    """Return what was measured beside what is predicted, as Markdown."""
    records = load(path)
    found = list(rows(records))
    head = ["loop", "maths", "predicted", "limited by", "measured", "quartiles", "of predicted"]
    full = (
        [f"`{one.kernel}`", one.maths, f"{one.predicted:.1f}", one.limit, *_measured(one)]
        for one in found
        if one.kind == "full"
    )
    alone = (
        [f"`{one.kernel}`", f"{one.loop}", one.maths, f"{one.predicted:.1f}", *_measured(one)]
        for one in found
        if one.kind == "alone"
    )
    title = "{device}, driver {driver}, NVRTC {nvrtc}, {date:.10}".format(**records[0])
    return "\n".join(
        [
            f"Elements a clock of an SM with 2,048 threads ({title}):",
            "",
            markdown.markdown(head, full),
            "",
            "Clocks an element of a lane, for a warp alone:",
            "",
            markdown.markdown(["kernel", "loop", *head[1:3], *head[4:]], alone),
        ]
    )


def _measured(one: Row) -> list[str]:
    low, high = one.quartiles
    return [f"{one.measured:.2f}", f"{low:.2f} to {high:.2f}", f"{one.ratio:.2f}"]


if __name__ == "__main__":
    print(tables(Path(sys.argv[1])))
