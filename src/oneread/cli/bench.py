"""`oneread bench`: the ops timed beside other libraries, and two runs compared."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from oneread.cli._console import FAILURE, fail, is_terminal, note, say, styled

HELP = "Time the ops beside other libraries."

CPU_HELP = """Time the ops beside the libraries that are installed.

Results are checked against float64 before anything is timed. Each row shows our time, how much
longer each peer takes (above 1, ours is faster), the share of the rate at which memory is copied
or read, the largest errors in ulp, and whether the goals are met. A run of all cases is kept in
benchmarks/results, or in the current folder outside of a checkout; one with --case only where
--out says so. Exit status 1: a result of ours is wrong. Goals that are missed do not count.
"""

COMPARE_HELP = """Compare the files of two runs.

Marks differences where the quartiles of both do not touch. How much the peers changed tells what
the machine did.
"""

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)


@app.command("cpu", help=CPU_HELP)
def cpu(
    quick: Annotated[bool, typer.Option("--quick", help="A few cases and little time.")] = False,
    case: Annotated[
        list[str] | None,
        typer.Option("--case", metavar="PATTERN", help="Part of a name, or a pattern with *."),
    ] = None,
    peers: Annotated[
        str | None, typer.Option("--peers", metavar="A,B", help="Only these libraries; - for none.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Threads of every library.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where to keep the records.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a record.")
    ] = False,
    only_list: Annotated[bool, typer.Option("--list", help="List the cases and goals.")] = False,
) -> None:
    """Run the cases and show a table for each group."""
    from oneread.bench import runner
    from oneread.bench.cases import select

    cases = select(tuple(case or ()), quick)
    if not cases:
        raise fail("no case fits; --list shows all")
    if only_list:
        _list(cases)
        return
    request = runner.Request(tuple(cases), _peers(peers), _threads(threads), quick)
    keep = out or (None if case else _default_path(quick))
    _announce(request)
    records = runner.run(request)
    if keep:
        command = _command(quick, case, peers, threads)
        records = _kept(records, keep, runner.header(request, command, runner.checkout()))
    try:
        wrong = _show(records, len(cases), as_json)
    except runner.WorkerError as error:
        raise fail(str(error), FAILURE) from None
    if wrong:
        raise fail(f"wrong results of our own: {', '.join(wrong)}", FAILURE)


@app.command("compare", help=COMPARE_HELP)
def compare(
    first: Annotated[Path, typer.Argument(help="File of the first run.")],
    second: Annotated[Path, typer.Argument(help="File of the second run.")],
    with_peers: Annotated[bool, typer.Option("--peers", help="Show the peers, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a row.")] = False,
) -> None:
    """Show two runs side by side."""
    from oneread.bench import compare as comparing
    from oneread.bench.store import load
    from oneread.bench.tables import text

    found = comparing.changes(load(first), load(second))
    shown = [one for one in found if with_peers or one.contestant == "oneread"]
    if as_json:
        for one in shown:
            plain = {"case": one.case, "contestant": one.contestant, "ratio": one.ratio}
            say(json.dumps({**plain, "beyond_quartiles": one.beyond, "mark": one.mark}))
        return
    head, *lines = text(comparing.cells(shown))
    say(styled(head, "bold"))
    for line in lines:
        say(line)
    drift = comparing.drift(found)
    if drift is not None:
        say(f"Peers, which did not change: {drift:.3f} in the median.")


def _list(cases: list[Any]) -> None:
    """Print the cases with their goals."""
    for case in cases:
        say(f"{case.name:<40}  " + "; ".join(" or ".join(map(str, goal)) for goal in case.goals))


def _announce(request: Any) -> None:
    """Say what is going to be done, and how long it may take."""
    minutes = request.expected_s() / 60
    time = f"{minutes:.0f} minutes" if minutes >= 2 else f"{minutes * 60:.0f} s"
    note(f"{len(request.cases)} cases, {request.threads} threads, about {time} at most")


def _peers(text: str | None) -> tuple[str, ...]:
    from oneread.bench.peers import PEERS

    if text is None:
        return PEERS
    names = [name.strip() for name in text.split(",") if name.strip() not in ("", "-")]
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise fail(f"--peers: no {unknown[0]!r}; there are {', '.join(PEERS)}")
    return tuple(name for name in PEERS if name in names)


def _threads(asked: int | None) -> int:
    from oneread.runtime import cpu as runtime

    return runtime.get_threads() if asked is None else runtime.check_threads(asked)


def _command(quick: bool, case: list[str] | None, peers: str | None, threads: int | None) -> str:
    """Return the command as it can be given again, without paths."""
    words = ["oneread bench cpu", "--quick" if quick else ""]
    words += [f"--case {pattern!r}" for pattern in case or ()]
    words += [f"--peers {peers}" if peers else "", f"--threads {threads}" if threads else ""]
    return " ".join(filter(None, words))


def _default_path(quick: bool) -> Path:
    """Return a name that is free, with the date and the processor in it."""
    from datetime import UTC, datetime

    from oneread.bench.runner import checkout
    from oneread.runtime.machine import cpu_name

    root = checkout()
    folder = root / "benchmarks" / "results" if root else Path()
    slug = re.sub(r"[^a-z0-9]+", "-", cpu_name().lower()).strip("-")
    stem = f"cpu-{datetime.now(UTC):%Y-%m-%d}-{slug}" + "-quick" * quick
    path, number = folder / f"{stem}.jsonl", 2
    while path.exists():
        path, number = folder / f"{stem}-{number}.jsonl", number + 1
    return path


def _kept(cases: Iterator[list[Any]], path: Path, header: dict[str, Any]) -> Iterator[list[Any]]:
    """Hand on the records of each case once they are in the file."""
    from oneread.bench.store import Writer

    try:
        with Writer(path, header) as writer:
            for records in cases:
                for record in records:
                    writer.add(record)
                yield records
    finally:
        if path.exists():
            note(f"kept in {path}")


def _show(cases: Iterator[list[Any]], total: int, as_json: bool) -> list[str]:
    """Print tables, each when its group is done; return the cases in which ours is wrong."""
    from oneread.bench.store import WRONG

    wrong: list[str] = []
    group: list[list[Any]] = []
    for number, records in enumerate(cases, 1):
        wrong += [r.case for r in records if r.library == "oneread" and r.status == WRONG]
        if is_terminal(sys.stderr):
            note(f"{number} of {total}: {records[0].case}")
        if as_json:
            for record in records:
                say(json.dumps(record.as_json()))
            continue
        if group and group[0][0].group != records[0].group:
            _table(group)
            group = []
        group.append(records)
    if group:
        _table(group)
    return wrong


def _table(group: list[list[Any]]) -> None:
    """Print the table of a group."""
    from oneread.bench import tables

    ((name, rows),) = tables.groups(group).items()
    head, *lines = tables.text(tables.cells(rows))
    say()
    say(styled(name, "bold"))
    say(styled(head, "bold"))
    for line in lines:
        say(line)
    for remark in tables.remarks(rows):
        say(f"  {remark}")
