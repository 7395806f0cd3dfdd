"""Records of a run on a GPU as tables in Markdown.

Knows the records, not how they were measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from oneread.bench.gallery import entries
from oneread.spec import OneReadError

Record = dict[str, Any]

#: Version of the records that is read.
SCHEMA: Final = 1
NONE_YET: Final = "No run is committed yet."


class RecordsError(OneReadError, ValueError):
    """A file that does not hold the records of a run."""


def load(path: Path) -> list[Record]:
    """Return the records of a file, the header first."""
    try:
        records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    except ValueError as error:
        raise RecordsError(f"{path.name}: {error}") from None
    if not records or records[0].get("record") != "header" or records[0].get("schema") != SCHEMA:
        raise RecordsError(f"{path.name}: no header of schema {SCHEMA}")
    return records


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    first, *rest = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([first, "|" + "---|" * len(head), *rest])


def facts(records: Sequence[Record]) -> str:
    """Return what the machine was, and how the stages of the run ended."""
    header = records[0]
    names = ("device", "driver", "nvrtc", "cuda_core", "date", "commit")
    lines = [f"- {name}: {header[name]}" for name in names if header.get(name)]
    ended = [r for r in of(records, "stage") if r["ended"] != "status 0"]
    lines += [f"- stage {r['stage']}: {r['ended']}" for r in ended]
    failed = [r for r in of(records, "tool") if not r["ran"]]
    lines += [f"- {r['tool']} did not run: {r['said'].splitlines()[-1]}" for r in failed]
    return "\n".join(lines)


def accuracy(records: Sequence[Record]) -> str:
    """Return the largest errors of each output at each length, over all families of input."""
    checks = of(records, "check")
    vocabs = sorted({r["vocab"] for r in checks})
    rows = []
    for key, buffer in dict.fromkeys((r["entry"], r["buffer"]) for r in checks):
        mine = [r for r in checks if (r["entry"], r["buffer"]) == (key, buffer)]
        cells = [_worst([r for r in mine if r["vocab"] == vocab]) for vocab in vocabs]
        rows.append([f"`{key}`", buffer, *cells])
    return markdown(["entry", "output", *(f"{v} columns" for v in vocabs)], rows)


def _worst(records: Sequence[Record]) -> str:
    if not records:
        return "-"
    worst = max(float(r["max_ulp"]) for r in records)
    return "wrong" if worst == float("inf") else f"{worst:.1f} ulp"


def times(records: Sequence[Record]) -> str:
    """Return the time of each entry at each shape, and its rate beside a copy's."""
    timings = of(records, "timing")
    shapes = dict.fromkeys((r["shape"], r["rows"], r["vocab"]) for r in timings)
    head = ["entry", *(f"{shape}: {rows} x {vocab}" for shape, rows, vocab in shapes)]
    found = {(r["entry"], r["shape"]): r for r in timings}
    rows = [
        [f"`{key}`", *(_time(found.get((key, shape))) for shape, _, _ in shapes)]
        for key in dict.fromkeys(r["entry"] for r in timings)
    ]
    copies = {r["shape"]: r["gbs"] for r in of(records, "copy")}
    rows.append(["a copy", *(f"{copies[shape]:.0f} GB/s" for shape, _, _ in shapes)])
    return markdown(head, rows)


def _time(record: Record | None) -> str:
    if record is None:
        return "-"
    return f"{record['median_us']:.1f} us, {record['gbs']:.0f} GB/s, {100 * record['share']:.0f} %"


def soaks(records: Sequence[Record]) -> str:
    """Return how many of many rows were wrong in each launch."""
    rows = [
        [
            f"`{r['entry']}`",
            str(r["defines"].get("TILE", "-")),
            f"{r['rows']} x {r['vocab']}",
            ", ".join(map(str, r["wrong_rows"])),
        ]
        for r in of(records, "soak")
    ]
    return markdown(["kernel", "TILE", "shape", "wrong rows of each launch"], rows)


def sanitizer(records: Sequence[Record]) -> str:
    """Return what compute-sanitizer says of each kernel, beside what the tracer finds."""
    kernels = entries.catalogue().kernels
    rows = []
    for key, kernel in kernels.items():
        theirs = [r for r in of(records, "sanitizer") if r["kernel"] == key]
        ours = list(dict.fromkeys(f"`{fault.id}`" for fault in kernel.faults))
        if theirs or ours:
            said = [
                f"{r['tool']} {r['severity']}, {_lines(r['lines'])}: {r['message']}" for r in theirs
            ]
            rows.append([f"`{key}`", "; ".join(said) or "nothing", ", ".join(ours) or "nothing"])
    return markdown(["kernel", "compute-sanitizer", "the tracer"], rows)


def _lines(lines: Sequence[int]) -> str:
    return f"line {', '.join(map(str, lines))}" if lines else "no line"


def counts(records: Sequence[Record]) -> str:
    """Return what ncu counted in each kernel's first launch: small, with the defines to trace."""
    names = (
        "global_load_requests", "global_load_sectors", "global_store_requests",
        "global_store_sectors", "shared_load_wavefronts", "shared_store_wavefronts",
    )  # fmt: skip
    first: dict[str, Record] = {}
    for record in of(records, "ncu"):
        first.setdefault(record["kernel"], record)
    rows = [[f"`{key}`", *(str(record[name]) for name in names)] for key, record in first.items()]
    return markdown(["kernel", *(name.replace("_", " ") for name in names)], rows)


def of(records: Sequence[Record], kind: str) -> list[Record]:
    """Return the records of one kind."""
    return [record for record in records if record["record"] == kind]


PARTS: Final[dict[str, Callable[[Sequence[Record]], str]]] = {
    "facts": facts,
    "accuracy": accuracy,
    "times": times,
    "soaks": soaks,
    "sanitizer": sanitizer,
    "counts": counts,
}


def part(name: str, folder: Path) -> str:
    """Return a part of the page, made of the newest file of records in a folder."""
    files = sorted(folder.glob("gallery-*.jsonl"))
    return PARTS[name](load(files[-1])) if files else NONE_YET
