"""What `oneread trace` shows: the source with counts, the table, the faults in words.

Returns lines and prints nothing; knows runs, never how they came about.
"""

import dataclasses
import math
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from oneread.cli._console import styled
from oneread.cli._trace_basis import basis
from oneread.spec.words import plural

if TYPE_CHECKING:
    from oneread.trace import Case, Fault, Repair, Run
    from oneread.trace.fixing import Fix
    from oneread.trace.opening import Opened
    from oneread.trace.probing import Probe
    from oneread.trace.sources import Launched
    from oneread.trace.subject import Subject

Model = tuple[int, float | None]

_LETTERS = {"error": "E", "warning": "W", "note": "N"}
_STYLES = {"error": "red", "warning": "bold", "note": "dim"}

#: Lines without counts or faults that are shown between others before some are left out.
_GAP = 12


def report(
    launches: "Sequence[Launched]", opened: "Sequence[Opened]", case: "Case", model: Model
) -> Iterator[str]:
    """Yield all that is said of launches: one with its source, several side by side."""
    for one in launches:
        yield styled(_head(one, case.k), "bold")
        yield from _remarks(one)
    if len(launches) == 1:
        yield ""
        yield from _listing(launches[0], model)
    yield ""
    yield from _table(launches, model)
    for one in launches:
        if one.run.faults:
            yield ""
            yield from _faults(one, alone=len(launches) == 1)
    yield from _watched(launches)
    yield from _next_steps(launches, opened, case)


def _head(one: "Launched", k: int) -> str:
    run, case = one.run, one.case
    shape = f"{_extent(run.grid, 'block')} of {_extent(run.block, 'thread')}"
    macros = "".join(f", {name}={value}" for name, value in case.defines.items())
    pattern = "given numbers" if case.data else f"{case.input} input"
    name = one.name if one.name == run.kernel else f"{one.name}: {run.kernel}"
    problem = f"{plural(case.rows, 'row')} x {case.vocab}"
    if any("k" in re.findall(r"\w+", argument.shape) for argument in run.arguments):
        problem += f", k={case.k}" + f" (no more than that, not {k})" * (case.k != k)
    return f"{name}: {shape}, {problem}{macros}, {pattern}, {run.schedule.replace('-', ' ')}"


def _extent(shape: tuple[int, int, int], noun: str) -> str:
    """Return a grid or a block in words: `32 x 4 threads`."""
    sizes = list(shape)
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return plural(math.prod(shape), noun, " x ".join(map(str, sizes)))


def _remarks(one: "Launched") -> Iterator[str]:
    from oneread.source.host import in_one_line

    yield from basis(one.source.loaded, one.case)
    if one.source.loaded.skipped:
        yield in_one_line(one.source.loaded.skipped)


# ---- the source


def _listing(one: "Launched", model: Model) -> Iterator[str]:
    """Yield the lines of the source that count, with what was counted."""
    run = one.run
    columns: dict[str, Counter[int]] = {
        "reads": Counter(), "writes": Counter(), "shared": Counter(), "barriers": Counter(),
        "DRAM": Counter(),
    }  # fmt: skip
    for line in run.counts.lines:
        if line.space == "shared":
            columns["shared"][line.line] += line.requests
        else:  # an atomic reads what it changes
            for kind, name in (("read", "reads"), ("write", "writes")):
                if line.kind in (kind, "atomic"):
                    columns[name][line.line] += line.elements
    columns["barriers"].update(run.counts.barrier_lines)
    for line, size in zip(
        run.counts.lines, run.counts.of_lines(run.counts.dram(*model)), strict=True
    ):
        columns["DRAM"][line.line] += size
    columns = {name: counted for name, counted in columns.items() if counted}
    marks = _marks(run.faults)
    counted = {line for column in columns.values() for line in column} | marks.keys()
    kernel = one.source.loaded.program.kernel.position.line
    text = _lines(one)
    head = "".join(f"{name:>9}" for name in columns)
    yield styled(f"{'line':>5}{head}", "bold")
    for number in _shown({*counted, kernel}, len(text)):
        if number is None:
            yield "  ..."
            continue
        cells = "".join(
            f"{f'{column[number]:,}' if column[number] else '':>9}" for column in columns.values()
        )
        mark = marks.get(number, "")
        shown = f"{mark:<4}"
        shown = styled(shown, "red") if mark.startswith("E") else shown
        yield f"{number:>5}{cells}  {shown}{_clean(text[number - 1])}".rstrip()
    said = "reads, writes: elements of global memory"
    said += "; shared: requests of warps" * ("shared" in columns)
    said += "; DRAM: bytes (model)" * ("DRAM" in columns)
    yield said + "; +: more faults than one" * any(mark.endswith("+") for mark in marks.values())


def _marks(faults: "Sequence[Fault]") -> dict[int, str]:
    """Return for each line the first fault that it has part in, + where there are more."""
    found: dict[int, list[str]] = {}
    for number, fault in enumerate(faults, 1):
        for line in {fault.line, fault.with_line or fault.line}:
            found.setdefault(line, []).append(f"{_LETTERS[fault.severity]}{number}")
    return {line: marks[0] + "+" * (len(marks) > 1) for line, marks in found.items()}


def _shown(lines: set[int], last: int) -> Iterator[int | None]:
    """Yield the lines to show, None where some are left out."""
    before = 0
    for line in sorted(one for one in lines if 1 <= one <= last):
        if before and line - before > _GAP:
            yield None
            before = line - 1
        yield from range(before + 1 if before else line, line + 1)
        before = line


def _lines(one: "Launched") -> list[str]:
    from oneread.source.text import split_lines

    return [line.rstrip() for line in split_lines(one.source.text.expandtabs(4))]


def _clean(text: str) -> str:
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


# ---- the table


def _table(launches: "Sequence[Launched]", model: Model) -> Iterator[str]:
    rows = list(_rows(launches, model))
    left = max(len(head) for head, _ in rows)
    widths = [max(map(len, one)) + 2 for one in zip(*(cells for _, cells in rows), strict=True)]
    room = shutil.get_terminal_size((100, 24)).columns - left
    start = 0
    while start < len(widths):
        stop = start + 1
        while stop < len(widths) and sum(widths[start : stop + 1]) <= room:
            stop += 1
        if start:
            yield ""
        for place, (head, cells) in enumerate(rows):
            part = zip(cells[start:stop], widths[start:stop], strict=True)
            line = head.ljust(left) + "".join(cell.rjust(width) for cell, width in part)
            yield styled(line, "bold") if place == 0 else line.rstrip()
        start = stop


def _rows(launches: "Sequence[Launched]", model: Model) -> Iterator[tuple[str, list[str]]]:
    from oneread.trace.counts import CACHE_KB_A_BLOCK

    runs = [one.run for one in launches]
    counts = [run.counts for run in runs]
    yield "", [run.kernel for run in runs]
    yield from _by_element(runs)
    yield "bytes the source asks for", [f"{one.issued_bytes:,}" for one in counts]
    yield "bytes after register reuse", [f"{one.after_reuse_bytes:,}" for one in counts]
    traffic = [one.dram(*model) for one in counts]
    resident, cache_kb = model
    size = f"{CACHE_KB_A_BLOCK * resident if cache_kb is None else cache_kb:g} kB"
    total = [f"{one.read_bytes + one.written_bytes:,}" for one in traffic]
    yield f"DRAM bytes (model, {size})", total
    yield "sectors (least possible)", [f"{c.sectors:,} ({c.ideal_sectors:,})" for c in counts]
    conflicts = [
        sum(line.wavefronts - line.ideal_wavefronts for line in one.lines) for one in counts
    ]
    yield "bank conflicts", [f"{one:,}" for one in conflicts]
    yield "shared-memory requests", [f"{one.shared_requests:,}" for one in counts]
    yield "barriers of blocks", [f"{one.barriers:,}" for one in counts]
    yield "exponentials of lanes", [f"{one.lane_exps:,}" for one in counts]
    yield "error against float64", [_error(run) for run in runs]
    yield "faults", [tally(run.faults) for run in runs]


def _by_element(runs: "Sequence[Run]") -> Iterator[tuple[str, list[str]]]:
    names = dict.fromkeys(name for run in runs for name in run.counts.buffers)
    passes = {name: [_passes(run, name) for run in runs] for name in names}
    for name in names:
        if any(map(int, filter(None, passes[name]))):
            yield f"passes over {name}", passes[name]
    for kind, word in (("loads", "reads"), ("stores", "writes")):
        for name in names:
            cells = []
            for run in runs:
                spread = getattr(run.counts.buffers.get(name), kind, None)
                one = "" if spread is None else str(spread.min)
                more = f"-{spread.max}" if spread is not None and spread.max > spread.min else ""
                cells.append(one + more)
            if any(cell not in {"", "0"} for cell in cells):
                yield f"{word} an element of {name}", cells


def _passes(run: "Run", name: str) -> str:
    """Return how often places of the source load the whole buffer."""
    for buffer in run.memory:
        if buffer.name == name and buffer.space == "global":
            cells = buffer.elements * len(buffer.types)
            return str(run.counts.sweeps(name, cells))
    return ""


def _error(run: "Run") -> str:
    if not run.result:
        return "not known"
    wrong = sum(one.wrong for one in run.result)
    if wrong:
        return f"{wrong:,} of {sum(one.count for one in run.result):,} wrong"
    return f"{max(one.max_abs for one in run.result):.2g}"


def tally(faults: "Iterable[Fault]") -> str:
    """Return how many faults there are of each severity."""
    counts = Counter(fault.severity for fault in faults)
    parts = [plural(counts[one], one) for one in _LETTERS if counts.get(one)]
    return ", ".join(parts) or "none"


# ---- faults


def _faults(one: "Launched", alone: bool) -> Iterator[str]:
    lines = _lines(one)
    if not alone:
        yield styled(f"{one.run.kernel}:", "bold")
    shown: dict[str, str] = {}
    for number, fault in enumerate(one.run.faults, 1):
        yield from _fault(fault, f"{_LETTERS[fault.severity]}{number}", shown)
        if not alone:
            for line in sorted({fault.line, fault.with_line or fault.line}):
                if 0 < line <= len(lines):
                    yield f"    {line:>5} | {_clean(lines[line - 1].strip())}"


def _fault(fault: "Fault", mark: str, shown: dict[str, str]) -> Iterator[str]:
    """Yield what is said of a fault; `shown` has the repairs that stand above, and where."""
    times = f", {fault.count:,} times" if fault.count > 1 else ""
    head = f"{mark:<4}{fault.severity}: {fault.title} ({fault.id}){times}"
    yield styled(head, _STYLES[fault.severity])
    yield f"    {_clean(str(fault))}"
    if fault.id == "unlike-softmax":
        yield f"    say so: --truth {fault.buffer}={fault.parameters['truth']}"
    if "guess" in fault.parameters:
        how = "if it holds zeros" if fault.id == "uninitialised" else "as guessed"
        yield f"    {how}: --arg {shlex.quote(fault.parameters['guess'])}"
    if fault.repair is not None:
        repair = _repair(fault.repair)
        above = shown.setdefault(repair, mark)
        yield f"    repair: {repair if above == mark else f'that of {above}'}"


def _repair(repair: "Repair") -> str:
    said = {name: _clean(str(value).strip()) for name, value in repair.parameters.items()}
    if repair.kind == "insert-after":
        return f"after the statement in line {repair.line}, insert  {said['text']}"
    if repair.kind == "insert":
        return f"in line {repair.line}, column {repair.column}, insert  {said['text']}"
    return f"in line {repair.line}, replace  {said['old']}  by  {said['new']}"


def _watched(launches: "Sequence[Launched]") -> Iterator[str]:
    for one in launches:
        for watch in one.run.watch:
            if watch.label == "user":
                values = [f"{value:.6g}" for value in watch.value]
                few = values if len(values) <= 8 else [*values[:4], "...", *values[-3:]]
                many = plural(len(values), "value")
                yield f"{watch.name}, {many} in {one.run.kernel}: {', '.join(few)}"


def _next_steps(
    launches: "Sequence[Launched]", opened: "Sequence[Opened]", case: "Case"
) -> Iterator[str]:
    from oneread.trace.opening import ALL_ORDERS

    faults = [fault for one in launches for fault in one.run.faults]
    if len(opened) != 1 or opened[0].subject is None or not faults:
        return
    if case.schedule == ALL_ORDERS:
        case = dataclasses.replace(case, schedule="in-order")
    command = opened[0].subject.command(case)
    yield ""
    if any(fault.repair is not None for fault in faults):
        yield f"repair and run again:      {command} --fix"
    yield f"smallest launch of each:   {command} --probe"


# ---- many launches


def probe(probed: "Probe", subject: "Subject") -> Iterator[str]:
    """Yield what many launches have shown, each fault with the command for its smallest one."""
    launches = plural(len(probed.outcomes), "launch")
    yield styled(
        f"{subject.called}: {launches}, {probed.tried} with those that shrink faults", "bold"
    )
    base = probed.plan.base
    yield from basis(subject.source(subject.complete(base)).loaded, subject.complete(base))
    for said, whys in (
        ("ruled out by the source", [one.refused for one in probed.refused]),
        ("stopped by a limit", [one.stopped for one in probed.stopped]),
    ):
        if whys:
            yield f"{len(whys)} {said}, the first one: {_clean(whys[0].splitlines()[0])}"
    shown: dict[str, str] = {}
    other = False
    for number, finding in enumerate(probed.findings, 1):
        yield ""
        if probed.is_of_other_block(finding) and not other:
            other = True
            yield f"with blocks of another size, unless you say --block {probed.plan.macro}:"
        yield from _fault(finding.fault, f"{_LETTERS[finding.fault.severity]}{number}", shown)
        yield f"    show:   {finding.command}"
    yield ""
    counted = ", each cause counted once" if probed.findings else ""
    yield f"faults: {tally(finding.fault for finding in probed.findings)}{counted}"


def fix(fixed: "Fix") -> Iterator[str]:
    """Yield the repairs that helped, and what the same launches show afterwards."""
    if not fixed.diff and not fixed.exclusions:
        yield "no known repair helps"
    yield from _diff(fixed.diff)
    for one in fixed.exclusions:
        yield f"the repair rules this launch out: {_clean(one.why)}"
        yield from _diff(one.diff)
    runs = len(fixed.after)
    again = "the same launch" if runs == 1 else f"the same {runs} launches"
    before = [fault for one in fixed.before for fault in one.faults]
    yield ""
    yield f"before: {tally(_distinct(before))}{', each place counted once' if before else ''}"
    yield f"after:  {tally(fixed.remaining)}, in {again}{_apart(fixed.notes)}"
    shown: dict[str, str] = {}
    for number, fault in enumerate(fixed.remaining, 1):
        yield from _fault(fault, f"{_LETTERS[fault.severity]}{number}", shown)


def _diff(diff: str) -> Iterator[str]:
    from oneread.source.text import split_lines

    yield from (_coloured(_clean(line.rstrip("\r\n"))) for line in split_lines(diff))


def _apart(notes: "Sequence[Fault]") -> str:
    """Return how many notes are left, and which."""
    if not notes:
        return ""
    lines: dict[str, list[int]] = {}
    for one in notes:
        if one.line not in lines.setdefault(one.id, []):
            lines[one.id].append(one.line)
    which = (
        f"{name} ({', '.join(f'line {line}' for line in where)})" for name, where in lines.items()
    )
    return f", apart from {plural(len(notes), 'note')} without a repair: {'; '.join(which)}"


def _distinct(faults: "Iterable[Fault]") -> "list[Fault]":
    return list({(one.id, one.line, one.column, one.with_line): one for one in faults}.values())


def _coloured(line: str) -> str:
    if line.startswith("+") and not line.startswith("+++"):
        return styled(line, "green")
    return styled(line, "red") if line.startswith("-") and not line.startswith("---") else line


__all__ = ["fix", "probe", "report", "tally"]
