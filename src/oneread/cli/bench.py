"""`oneread bench`: the ops timed beside other libraries, and two runs compared."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
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

GPU_HELP = """Time the ops on an NVIDIA GPU beside other libraries' kernels.

As `cpu` does: results are checked first, contestants take turns, goals stand beside. Launches are
put into CUDA graphs, over inputs that take turns so that no cache holds them; plain calls have
cases of their own. Copies and reads of the same bytes are timed in the same turns. An op that has
no kernel for GPUs yet shows as such. Needs PyTorch for CUDA; peers that are missing are named.
"""

COMPARE_HELP = """Compare the files of two runs.

Marks differences where the quartiles of both do not touch. How much the peers changed tells what
the machine did.
"""

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)


QUICK = Annotated[bool, typer.Option("--quick", help="A few cases and little time.")]
CASE = Annotated[
    list[str] | None,
    typer.Option("--case", metavar="PATTERN", help="Part of a name, or a pattern with *."),
]
PEERS = Annotated[
    str | None, typer.Option("--peers", metavar="A,B", help="Only these libraries; - for none.")
]
THREADS = Annotated[int | None, typer.Option("--threads", min=1, help="Threads of every library.")]
OUT = Annotated[Path | None, typer.Option("--out", help="Where to keep the records.")]
AS_JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object a record.")]
ONLY_LIST = Annotated[bool, typer.Option("--list", help="List the cases and goals.")]
SECONDS = Annotated[
    float | None,
    typer.Option("--seconds", min=1, help="Begin nothing after so long; what is left is named."),
]


@app.command("cpu", help=CPU_HELP)
def cpu(
    quick: QUICK = False,
    case: CASE = None,
    peers: PEERS = None,
    threads: THREADS = None,
    out: OUT = None,
    as_json: AS_JSON = False,
    only_list: ONLY_LIST = False,
) -> None:
    """Run the cases on the CPU and show a table for each group."""
    from oneread.bench import runner
    from oneread.bench.cases import CASES
    from oneread.bench.peers import PEERS as KNOWN
    from oneread.runtime.machine import cpu_name

    cases = _chosen(case, quick, CASES, only_list)
    if only_list:
        return
    request = runner.Request(tuple(cases), _peers(peers, KNOWN), _threads(threads), quick)
    _announce(request, f"{request.threads} threads")
    command = _command("cpu", quick, case, peers, threads=threads)
    header = partial(runner.header, request, command, runner.checkout())
    keep = out or (None if case else _default_path("cpu", cpu_name(), quick))
    _run(runner.run(request), len(cases), keep, header, as_json)


@app.command("gpu", help=GPU_HELP)
def gpu(
    quick: QUICK = False,
    case: CASE = None,
    peers: PEERS = None,
    seconds: SECONDS = None,
    out: OUT = None,
    as_json: AS_JSON = False,
    only_list: ONLY_LIST = False,
) -> None:
    """Run the cases on the GPU and show a table for each group."""
    from oneread.bench.gpu import runner
    from oneread.bench.gpu.cases import CASES
    from oneread.bench.gpu.peers import PEERS as KNOWN
    from oneread.bench.gpu.peers import SLOW
    from oneread.bench.runner import checkout

    cases = _chosen(case, quick, CASES, only_list)
    if only_list:
        return
    chosen = _peers(peers, KNOWN)
    if quick and peers is None:
        chosen = tuple(name for name in chosen if name != SLOW)
        note(f"without {SLOW}, which compiles for longer than all the rest takes: --peers names it")
    request = runner.Request(tuple(cases), chosen, quick, seconds)
    runner.check_available()
    facts = runner.facts()
    _announce(request, facts["gpu"])
    command = _command("gpu", quick, case, peers, seconds=seconds)
    header = partial(runner.header, request, command, checkout())
    keep = out or (None if case else _default_path("gpu", facts["gpu"], quick))
    _run(runner.run(request), len(cases), keep, header, as_json)


def _chosen(case: list[str] | None, quick: bool, among: Any, only_list: bool) -> list[Any]:
    """Return the cases that fit, printed where only a list is asked for."""
    from oneread.bench.cases import select

    cases = select(tuple(case or ()), quick, among)
    if not cases:
        raise fail("no case fits; --list shows all")
    if only_list:
        _list(cases)
    return cases


def _run(
    records: Iterator[list[Any]],
    count: int,
    keep: Path | None,
    header: Callable[[], dict[str, Any]],
    as_json: bool,
) -> None:
    """Show the records as they come, kept in a file where there is one."""
    from oneread.bench.runner import WorkerError

    if keep:
        records = _kept(records, keep, header())
    try:
        wrong = _show(records, count, as_json)
    except WorkerError as error:
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
        said = _told(case.goals) + (f" (aim: {_told(case.aims)})" if case.aims else "")
        say(f"{case.name:<40}  {said}")


def _told(goals: Any) -> str:
    return "; ".join(" or ".join(map(str, goal)) for goal in goals)


def _announce(request: Any, with_what: str) -> None:
    """Say what is going to be done, and how long it may take."""
    minutes = request.expected_s() / 60
    time = f"{minutes:.0f} minutes" if minutes >= 2 else f"{minutes * 60:.0f} s"
    note(f"{len(request.cases)} cases, {with_what}, about {time} at most")


def _peers(text: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if text is None:
        return known
    names = [name.strip() for name in text.split(",") if name.strip() not in ("", "-")]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise fail(f"--peers: no {unknown[0]!r}; there are {', '.join(known)}")
    return tuple(name for name in known if name in names)


def _threads(asked: int | None) -> int:
    from oneread.runtime import cpu as runtime

    return runtime.get_threads() if asked is None else runtime.check_threads(asked)


def _command(
    device: str, quick: bool, case: list[str] | None, peers: str | None, **others: Any
) -> str:
    """Return the command as it can be given again, without paths."""
    words = [f"oneread bench {device}", "--quick" if quick else ""]
    words += [f"--case {pattern!r}" for pattern in case or ()]
    words += [f"--peers {peers}" if peers else ""]
    words += [f"--{name} {value:g}" for name, value in others.items() if value]
    return " ".join(filter(None, words))


def _default_path(device: str, name: str, quick: bool) -> Path:
    """Return a name that is free, with the date and the processor in it."""
    from datetime import UTC, datetime

    from oneread.bench.runner import checkout

    root = checkout()
    folder = root / "benchmarks" / "results" if root else Path()
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    stem = f"{device}-{datetime.now(UTC):%Y-%m-%d}-{slug}" + "-quick" * quick
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
