"""A run in a few lines: for people who will not read every row, losses first to be seen.

Knows no op; prints nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from oneread.bench.judge import Row, Verdict, together
from oneread.bench.tables import short

_HEAD = [
    "group", "cases", "torch / oneread", "best peer / oneread", "worst case", "goals met"
]  # fmt: skip


def cells(groups: Mapping[str, Sequence[Row]]) -> list[list[str]]:
    """Return a table with one line for each group, its head first."""
    lines = [_line(name, rows) for name, rows in groups.items()]
    if not any(row.aims for rows in groups.values() for row in rows):
        return [_HEAD, *lines]
    aims = [_met([v for row in rows for v in row.aims]) for rows in groups.values()]
    return [[*_HEAD, "aims"], *([*line, met] for line, met in zip(lines, aims, strict=True))]


def _line(name: str, rows: Sequence[Row]) -> list[str]:
    torch = [
        value
        for row in rows
        for record in row.others
        if record.library == "torch" and (value := row.ratio(record)) is not None
    ]
    best = [
        (value, row)
        for row in rows
        if row.best is not None and (value := row.ratio(row.best)) is not None
    ]
    worst = "-"
    if best:
        value, row = min(best, key=lambda pair: pair[0])
        assert row.best is not None
        worst = f"{value:.2f}x {row.best.contestant}, {short(row.ours)}"
    judged = [*(v for row in rows for v in row.verdicts), *together(rows)]
    ratios = [_median(torch), _median([value for value, _ in best])]
    return [name, str(len(rows)), *ratios, worst, _met(judged)]


def _met(verdicts: Sequence[Verdict]) -> str:
    judged = [verdict.met for verdict in verdicts if verdict.met is not None]
    return f"{sum(judged)} of {len(judged)}" if judged else "-"


def _median(ratios: Sequence[float]) -> str:
    return f"{statistics.median(ratios):.2f}x" if ratios else "-"


def missed(groups: Mapping[str, Sequence[Row]]) -> list[str]:
    """Return a line for each goal that was missed, the furthest first."""
    found = [
        (verdict.part or 0.0, f"{row.case}: {verdict}")
        for rows in groups.values()
        for row in rows
        for verdict in row.verdicts
        if verdict.met is False
    ]
    found += [
        (verdict.part or 0.0, f"{name}: {verdict}")
        for name, rows in groups.items()
        for verdict in together(rows)
        if verdict.met is False
    ]
    return [line for _, line in sorted(found)]


def facts(header: Mapping[str, Any]) -> list[str]:
    """Return what a run was made on and with, in a few lines."""
    versions = [
        f"{name} {version}" for name, version in header["libraries"].items() if version is not None
    ]
    commit = header["commit"] or "unknown"
    libraries = f"Libraries: {', '.join(versions)}"
    run = f"Run: `{header['command']}`, {header['date'][:10]}, commit {commit}"
    machine = header["machine"]
    if "gpu" in machine:
        return [_gpu(machine), libraries, run]
    compiler = header["compiler"]
    built = f"built by {compiler['compiler']} {compiler['version']}"
    return [*_cpu(machine, header["threads"]), f"{libraries}; {built}", run]


def _cpu(machine: Mapping[str, Any], threads: int) -> list[str]:
    caches = ", ".join(
        f"{name} {size / 1024:.0f} KiB" if size < 1 << 20 else f"{name} {size / (1 << 20):.0f} MiB"
        for name, size in machine["caches"].items()
    )
    memory, load = machine["memory_bytes"], machine["load_average"]
    conditions = [
        f"Instruction set {machine['isa']}",
        f"{threads} threads",
        f"huge pages: {machine['huge_pages']}",
        f"clock governor: {machine['governor'] or 'not readable'}",
        f"load before: {load:.2f}" if load is not None else "load before: not readable",
    ]
    return [
        f"Machine: {machine['cpu']}, {machine['cores']} cores, {caches}"
        + (f", {memory / 1e9:.0f} GB" if memory else ""),
        "; ".join(conditions),
    ]


def _gpu(machine: Mapping[str, Any]) -> str:
    facts = [
        f"{machine['gpu']} ({machine['target']})",
        f"{machine['multiprocessors']} multiprocessors",
        f"driver {machine['driver'] or 'unknown'}",
        f"NVRTC {machine['nvrtc']}",
    ]
    return "Machine: " + ", ".join(facts)
