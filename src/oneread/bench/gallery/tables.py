"""Records of a run on a GPU as tables in Markdown.

Knows the records, not how they were measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from oneread.source.measured import Record, load, newest, of

NONE_YET: Final = "No run is committed yet."


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
    """Return how many of many rows were wrong in each launch, compiled in each way."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for r in of(records, "soak"):
        kernel = (f"`{r['entry']}`", str(r["defines"]["TILE"]), f"{r['rows']} x {r['vocab']}")
        compiled = " ".join(f"`{option}`" for option in r["options"]) or "as usual"
        found.setdefault(kernel, {})[compiled] = ", ".join(map(str, r["wrong_rows"]))
    ways = list(dict.fromkeys(way for cells in found.values() for way in cells))
    rows = [[*kernel, *(cells.get(way, "-") for way in ways)] for kernel, cells in found.items()]
    return markdown(["kernel", "TILE", "shape", *ways], rows)


PARTS: Final[dict[str, Callable[[Sequence[Record]], str]]] = {
    "facts": facts,
    "accuracy": accuracy,
    "times": times,
    "soaks": soaks,
}


def part(name: str, folder: Path) -> str:
    """Return a part of the page, made of the newest file of records in a folder."""
    path = newest(folder=folder)
    return NONE_YET if path is None else PARTS[name](load(path))
