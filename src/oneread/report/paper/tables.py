"""What the report says in words and tables, for a terminal, Markdown and HTML alike.

Knows records and claims; knows no markup.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from oneread.bench.cases import own_kernel
from oneread.bench.summary import facts as facts_of
from oneread.report.paper.claims import COUNTED, FAILS, HOLDS, NOT_HERE, PART, TIMED, Finding
from oneread.report.paper.machines import OURS, Case, Machine, ratio, seconds
from oneread.report.paper.wins import losses, named
from oneread.spec import OPS

#: A table: its head first.
Table = list[list[str]]

#: Where claims that need no clock are said to be measured.
EVERYWHERE: Final = "on any machine"


class Line(NamedTuple):
    """A claim with what was found, by machine or for all of them."""

    said: str
    figure: str
    found: dict[str, Finding]


def timed(machines: Sequence[Machine]) -> list[Line]:
    """Return the claims about time, each with a finding for every machine."""
    return [
        Line(claim.said, claim.figure, {one.short: claim.judge(one) for one in judged(machines)})
        for claim in TIMED
    ]


def judged(machines: Sequence[Machine]) -> list[Machine]:
    """Return the machines on which the paper's measurements were made."""
    return [machine for machine in machines if machine.has_paper]


def counted(machines: Sequence[Machine]) -> list[Line]:
    """Return the claims that need no clock, each with one finding."""
    return [
        Line(claim.said, claim.figure, {EVERYWHERE: claim.judge(machines)}) for claim in COUNTED
    ]


def verdicts(machines: Sequence[Machine]) -> dict[str, Counter[str]]:
    """Return how many claims have each verdict, by machine and for those that are counted."""
    found: dict[str, Counter[str]] = {}
    for line in (*timed(machines), *counted(machines)):
        for where, finding in line.found.items():
            found.setdefault(where, Counter())[finding.verdict] += 1
    return found


#: What several claims do that have a verdict.
_PLURALS: Final = {HOLDS: "hold", PART: "hold in part", FAILS: "fail", NOT_HERE: NOT_HERE}


def counted_verdicts(counts: Counter[str]) -> list[str]:
    """Return how many claims have each verdict in words, those that hold first."""
    return [
        f"{counts[verdict]} {verdict if counts[verdict] == 1 else plural}"
        for verdict, plural in _PLURALS.items()
        if counts[verdict]
    ]


def answers(machines: Sequence[Machine]) -> list[str]:
    """Return for each machine whether online softmax pays there, and by how much."""
    return [sentence for machine in machines for sentence in _answer(machine)]


def _answer(machine: Machine) -> Iterator[str]:
    pairs = (
        ("softmax", None, "safe", "online", "online softmax instead of safe"),
        ("softmax_topk", 5, "safe_unfused", "online_fused",
         "online softmax fused with top-5 instead of safe softmax, then top-5"),
        ("softmax", None, "online", OURS, "our softmax instead of the textbook's online"),
    )  # fmt: skip
    for op, k, slow, fast, what in pairs:
        parts = []
        for rows in (4000, 10):
            cases = machine.of_paper(op, rows, k)
            long = [case for vocab, case in cases.items() if vocab >= 1000]
            values = [value for case in long if (value := ratio(case, slow, fast))]
            if values:
                parts.append(f"{_times(values)} for {rows} rows")
        if parts:
            yield f"{machine.short}: {what} is {', '.join(parts)}."


def _times(values: Sequence[float]) -> str:
    middle = statistics.median(values)
    least, most = min(values), max(values)
    word = "as fast"
    if least == most:
        return f"{middle:.2f}x {word}"
    return f"{middle:.2f}x ({least:.2f}x to {most:.2f}x) {word}"


def figure_table(machine: Machine, op: str, rows: int, k: int | None, base: str) -> Table:
    """Return a figure of the paper as numbers: the time of the base, speeds beside it."""
    cases = machine.of_paper(op, rows, k)
    names = _names(cases.values(), base)
    head = ["V", f"{base.replace('_', ' ')}, us", *(name.split(", ")[-1] for name in names)]
    return [head, *(_figure_line(v, case, base, names) for v, case in cases.items())]


def _names(cases: Any, base: str) -> list[str]:
    """Return who was timed beside the base: textbooks, ours, the others."""
    found = dict.fromkeys(r.contestant for case in cases for r in case if r.median_s)
    found.pop(own_kernel(base), None)
    return sorted(found, key=lambda name: (not name.startswith(OURS), name == OURS))


def _figure_line(vocab: int, case: Case, base: str, names: Sequence[str]) -> list[str]:
    time = seconds(case, base)
    speeds = [ratio(case, base, name) for name in names]
    return [
        f"{vocab:,}",
        f"{time * 1e6:,.1f}" if time else "-",
        *(f"{value:.2f}x" if value else "-" for value in speeds),
    ]


def k_table(machine: Machine) -> Table:
    """Return what fusing brings for each k of the paper's table."""
    lines = [["K", "safe, then top-k, us", "safe fused", "online fused", "oneread", "the paper"]]
    says = {5: "5x", 10: "3.5x", 15: "2x", 30: "1.4x"}
    for k, said in says.items():
        case = machine.of_paper("softmax_topk", 4000, k).get(25000)
        if case is not None:
            names = ["safe_fused", "online_fused", OURS]
            _, *rest = _figure_line(25000, case, "safe_unfused", names)
            lines.append([str(k), *rest, said])
    return lines


def losses_table(machines: Sequence[Machine]) -> Table:
    """Return the cases in which a peer is faster, the furthest behind first."""
    found = [(cell.ratio, machine.short, cell) for machine in machines for cell in losses(machine)]
    lines = [["machine", "case", "shape", "k", "the peer's time over ours", "peer"]]
    for value, name, cell in sorted(found, key=lambda one: one[0]):
        shape, k = named(cell)
        lines.append([name, cell.panel, shape, k, f"{value:.2f}x", cell.peer])
    return lines


def memory_table(machine: Machine) -> Table:
    """Return peak memory by way and number of tokens."""
    facts = [fact for fact in machine.facts("memory/") if fact["points"]]
    tokens = sorted({t for fact in facts for t, _ in fact["points"]})
    lines = [["tokens", *(fact["way"] for fact in facts)]]
    points = [dict(fact["points"]) for fact in facts]
    return lines + [[f"{t:,}", *(_peak(of, t) for of in points)] for t in tokens]


def _peak(points: Mapping[int, int | None], tokens: int) -> str:
    if tokens not in points:
        return "-"
    peak = points[tokens]
    return "out of memory" if peak is None else f"{peak / 1e9:.2f} GB"


def dram_table(machine: Machine) -> Table:
    """Return the bytes that memory moved by hardware counters, as multiples of the input."""
    lines = [["op", "type", "input", "read, of the input", "written, of the input"]]
    for fact in machine.facts("dram/"):
        for one in fact["ops"]:
            size = one["input_bytes"]
            written = one.get("write_bytes")
            lines.append([
                one["op"], one["dtype"], f"{size / (1 << 30):.2f} GiB",
                f"{one['read_bytes'] / size:.3f}",
                "not counted" if written is None else f"{written / size:.3f}",
            ])  # fmt: skip
    return lines


def dram_remark(machine: Machine) -> str:
    """Return how the bytes were counted, or why they could not be."""
    facts = machine.facts("dram/")
    if not facts:
        return "Not measured."
    fact = facts[0]
    if fact["status"] != "ok":
        return f"Not supported: {fact['reason']}."
    return f"Counted: {fact['how']}. {_dram_verdict(fact['ops'])}."


#: How far from the bytes that must move, in inputs, still counts as no more than these.
_NEAR: Final = 0.03


def _dram_verdict(counted: Sequence[Mapping[str, Any]]) -> str:
    """Return which ops moved other than one read, and one write where a row is the result."""
    far = []
    for one in counted:
        moved = [(one["read_bytes"], 1), (one.get("write_bytes"), int(OPS[one["op"]].row_output))]
        if any(n is not None and abs(n / one["input_bytes"] - of) > _NEAR for n, of in moved):
            far.append(f"{one['op']} of {one['dtype']}")
    if far:
        return f"Further than {_NEAR:.0%} of the input from what must move: {', '.join(far)}"
    return f"All within {_NEAR:.0%} of the input of what must move"


def machine_facts(machine: Machine) -> list[str]:
    """Return what the runs of a machine were made on and with, each line once."""
    lines = dict.fromkeys(line for header in machine.headers for line in facts_of(header))
    unfinished = [] if machine.run.complete else ["A run of these was not finished."]
    return [*lines, *unfinished]
