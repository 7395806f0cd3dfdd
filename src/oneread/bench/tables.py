"""Records as tables of text, for the terminal and for Markdown.

Knows no op; prints nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from oneread.bench.judge import Row, Verdict, row
from oneread.bench.store import OK, WRONG, Record

#: Where units in the last place say nothing: exact outputs, or nothing checked.
_NONE = "-"


def groups(cases: Sequence[Sequence[Record]]) -> dict[str, list[Row]]:
    """Return the rows of each group, from the records of each case."""
    found: dict[str, list[Row]] = {}
    for records in cases:
        found.setdefault(records[0].group, []).append(row(records))
    return found


def cells(rows: Sequence[Row]) -> list[list[str]]:
    """Return a group's table, its head first."""
    names = list(dict.fromkeys(r.contestant for one in rows for r in one.others if r.n))
    head = ["case", "oneread us", "quartiles", *names, "best peer", "of rate", "ulp", "goals"]
    if any(one.aims for one in rows):
        return [[*head, "aims"], *([*_line(one, names), judged(one.aims)] for one in rows)]
    return [head, *(_line(one, names) for one in rows)]


def _line(row: Row, names: Sequence[str]) -> list[str]:
    ours, best = row.ours, row.best
    others = {record.contestant: record for record in row.others}
    if ours.median_s is None:
        blank = [_NONE] * (len(names) + 4)
        return [short(ours), ours.status, *blank, ours.reason or ""]
    digits = 1 if ours.device == "cpu" else 2
    times = [_us(seconds, digits) for seconds in (ours.median_s, ours.p25_s, ours.p75_s)]
    quartiles = "-".join(times[1:])
    ratios = [_ratio(row, others.get(name)) for name in names]
    fastest = f"{row.ratio(best):.2f} {best.contestant}" if best else _NONE
    share = f"{ours.share:.0%}" if ours.share is not None else _NONE
    ulp = f"{_ulp(ours)} / {_ulp(best)}"
    goals = judged(row.verdicts)
    return [short(ours), times[0], quartiles, *ratios, fastest, share, ulp, goals]


def short(record: Record) -> str:
    """Return the name of a case without its group."""
    return record.case.removeprefix(record.group + "/")


def judged(verdicts: Sequence[Verdict]) -> str:
    """Say in a few words whether goals are met."""
    if not verdicts:
        return _NONE
    missed = [f"{v.reached} ({v.goal})" for v in verdicts if v.met is False]
    unjudged = [str(verdict) for verdict in verdicts if verdict.met is None]
    if missed:
        return "MISSED " + "; ".join(missed)
    return "; ".join(unjudged) if unjudged else "met"


def _ratio(row: Row, record: Record | None) -> str:
    if record is None:
        return ""
    value = row.ratio(record)
    return f"{value:.2f}x" if value is not None else record.status


def _us(seconds: float | None, digits: int) -> str:
    if seconds is None:
        return _NONE
    us = seconds * 1e6
    return f"{us:.{digits}f}" if us < 1000 else f"{us:.0f}"


def _ulp(record: Record | None) -> str:
    if record is None or record.max_ulp is None:
        return _NONE
    return f"{record.max_ulp:.1f}" if record.max_ulp < 100 else f"{record.max_ulp:.0f}"


def text(table: Sequence[Sequence[str]]) -> list[str]:
    """Return lines with columns side by side: the first and last to the left, others right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    last = len(widths) - 1
    return [
        "  ".join(
            cell.ljust(width) if i in (0, last) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]


def markdown(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    head, *lines = table
    rule = ["---"] + ["---:"] * (len(head) - 2) + ["---"]
    return ["| " + " | ".join(line) + " |" for line in (head, rule, *lines)]


def remarks(rows: Sequence[Row]) -> list[str]:
    """Return one line for each reason why somebody did not take part or was wrong."""
    found: dict[str, int] = {}
    for one in rows:
        for record in (one.ours, *one.others):
            if record.status != OK:
                verb = "WRONG" if record.status == WRONG else record.status
                line = f"{record.contestant} {verb}: {record.reason}"
                found[line] = found.get(line, 0) + 1
    return [f"{line} ({n} case{'s' * (n != 1)})" for line, n in found.items()]
