"""`oneread paper`: the paper's measurements on this machine, verdicts, one report."""

from pathlib import Path
from typing import Annotated, Any

import typer

from oneread.cli import _claims_text
from oneread.cli._console import FAILURE, Steps, fail, note, say
from oneread.cli.bench import PEERS, SECONDS, THREADS

HELP = """Measure what the online softmax paper measured, on this machine.

Softmax and softmax with top-k by its algorithms and by ours, on the CPU and, where there is one,
on the GPU; then what it left out: 16 bits, large k, long rows, one row, other libraries, memory.
Each claim gets its verdict. Records and report.html go to the folder --out. What is done is kept:
after Ctrl-C the same command goes on where it stopped. Exit status 1: a result of ours is wrong.
"""

DEVICES = ("cpu", "gpu")


QUICK = Annotated[bool, typer.Option("--quick", help="Fewer points and little time.")]
DEVICE = Annotated[
    str | None, typer.Option(help="cpu or gpu alone; else both where there is a GPU.")
]
OUT = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where all of it goes.")]
AGAIN = Annotated[bool, typer.Option("--again", help="Measure anew what is there.")]
BESIDE = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Leave out what this file of an earlier run has."),
]
RECORDS_ONLY = Annotated[bool, typer.Option("--records-only", help="Draw no report.")]


def paper(
    quick: QUICK = False,
    device: DEVICE = None,
    peers: PEERS = None,
    threads: THREADS = None,
    seconds: SECONDS = None,
    out: OUT = Path("oneread-paper"),
    again: AGAIN = False,
    beside: BESIDE = None,
    records_only: RECORDS_ONLY = False,
) -> None:
    """Measure, judge the claims, write the report."""
    from oneread.report.paper import build, machines

    if not records_only:
        build.check_available()
    paths, wrong = list(beside or ()), []
    devices = _devices(device)
    if paths and len(devices) > 1:
        raise fail("--beside goes with --device: its file is of one of them")
    for one in devices:
        request = _request(one, quick, peers, threads, seconds)
        path = out / f"{one}{'-quick' * quick}.jsonl"
        if again:
            path.unlink(missing_ok=True)
        wrong += _measure(
            request, path, _command(quick, device, peers, threads, seconds), beside or []
        )
        paths.append(path)
    found = machines.read(paths)
    _claims_text.show(found)
    if not records_only:
        command = f"oneread report {' '.join(path.name for path in paths)}"
        say(f"Report: {_claims_text.write(found, out, command)}")
    if wrong:
        raise fail(f"wrong results of our own: {', '.join(wrong)}", FAILURE)


def _devices(asked: str | None) -> list[str]:
    """Return the devices to measure; a GPU that is not there is told, not passed over."""
    from oneread.bench.gpu.runner import check_available
    from oneread.spec import BackendUnavailableError

    if asked is not None and asked not in DEVICES:
        raise fail(f"--device: no {asked!r}; there are {', '.join(DEVICES)}")
    if asked == "cpu":
        return ["cpu"]
    try:
        check_available()
    except BackendUnavailableError as error:
        if asked == "gpu":
            raise
        note(f"no GPU: {error}")
        return ["cpu"]
    return ["gpu"] if asked == "gpu" else ["cpu", "gpu"]


def _request(
    device: str, quick: bool, peers: str | None, threads: int | None, seconds: float | None
) -> Any:
    from oneread.bench.paper.run import Request, peers_of
    from oneread.runtime import cpu

    count = cpu.get_threads() if threads is None else cpu.check_threads(threads)
    chosen = peers_of(device, quick)
    if peers is not None:
        chosen = tuple(name.strip() for name in peers.split(",") if name.strip() not in ("", "-"))
        known = {name for each in DEVICES for name in peers_of(each, quick=False)}
        if unknown := [name for name in chosen if name not in known]:
            raise fail(f"--peers: no {unknown[0]!r}; there are {', '.join(sorted(known))}")
    return Request(device, quick, count, chosen, seconds)


def _measure(request: Any, path: Path, command: str, beside: list[Path]) -> list[str]:
    """Do what a file lacks, with a bar; return the cases in which ours is wrong."""
    from oneread.bench.journal import Journal
    from oneread.bench.paper import run
    from oneread.bench.runner import WorkerError, checkout
    from oneread.bench.store import WRONG, load

    note(f"{request.device}: {run.size(request)} pieces, kept in {path}")
    bar = Steps(run.size(request))
    try:
        with Journal(path, run.header(request, command, checkout()), beside) as journal:
            try:
                for key in run.run(request, journal):
                    bar.add(key)
            finally:
                bar.clear()
                if bar.done < bar.total:
                    note(
                        f"{request.device}: {bar.done} of {bar.total} pieces; "
                        "the same command does the rest"
                    )
    except WorkerError as error:
        raise fail(str(error), FAILURE) from None
    return [r.case for r in load(path).records if r.library == "oneread" and r.status == WRONG]


def _command(
    quick: bool, device: str | None, peers: str | None, threads: int | None, seconds: float | None
) -> str:
    """Return the command as it can be given again, without paths."""
    words = ["oneread paper", "--quick" if quick else ""]
    given = {"device": device, "peers": peers, "threads": threads, "seconds": seconds}
    words += [f"--{name} {value}" for name, value in given.items() if value is not None]
    return " ".join(filter(None, words))
