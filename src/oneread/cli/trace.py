"""`oneread trace`: a CUDA C kernel run on the CPU, its accesses counted, its faults found."""

import contextlib
import dataclasses
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oneread.cli import _trace_basis, _trace_text
from oneread.cli._console import FAILURE, REFUSED, fail, note, say, styled, write
from oneread.cli._macros import pairs
from oneread.cli._trace_numbers import check_sizes, read_numbers
from oneread.spec.words import plural

if TYPE_CHECKING:
    from oneread.trace import Case, Limits
    from oneread.trace.opening import Opened
    from oneread.trace.sources import Launched

HELP = """Run CUDA C kernels with no GPU, count every access, find every fault.

Each NAME is a file, or a key of the gallery (--list shows them). One kernel is shown as its
source with counts and faults at each line, several side by side. Sizes are expressions over
rows, vocab, k and macros.

Exit status: 0 no fault, 1 an error (or what --fail-on names), 2 could not run.
"""

_SEVERITIES = ("error", "warning", "note")

Names = Annotated[
    list[str] | None, typer.Argument(metavar="NAME...", help="Files with kernels, gallery keys.")
]
Kernel = Annotated[
    list[str] | None, typer.Option(metavar="K", help="Kernel of a file with several.")
]
Rows = Annotated[int, typer.Option(min=0, metavar="N", help="Rows of the problem.")]
Vocab = Annotated[int, typer.Option("--vocab", "--n", min=0, metavar="N", help="Columns of a row.")]
K = Annotated[int, typer.Option("--k", min=0, metavar="N", help="k of a top-k kernel.")]
Define = Annotated[
    list[str] | None, typer.Option("--define", "-D", metavar="TILE=32", help="A macro.")
]
Grid = Annotated[
    str | None, typer.Option(metavar="X[,Y[,Z]]", help="Blocks; as the source says, or one a row.")
]
Block = Annotated[
    str | None, typer.Option(metavar="X[,Y[,Z]]", help="Threads of a block; as the source says.")
]
SharedBytes = Annotated[
    str | None,
    typer.Option(metavar="BYTES", help="Of an extern __shared__ array; as the source says."),
]
Arg = Annotated[
    list[str] | None,
    typer.Option(metavar="x=rows*vocab:normal", help="What a parameter gets, if its name is new."),
]
Input = Annotated[
    str, typer.Option(metavar="PATTERN|FILE", help="A pattern, or rows of numbers: .npy or text.")
]
Truth = Annotated[
    list[str] | None,
    typer.Option(metavar="y=softmax", help="What an output should be, or none; else as named."),
]
Schedule = Annotated[
    str,
    typer.Option(
        metavar="ORDER",
        help="Order of warps: in-order, reverse, random, switch (at statements that touch memory), "
        "or all of them; random:1 and switch:3 with their seed.",
    ),
]
Seed = Annotated[int | None, typer.Option(min=0, metavar="N", help="Of schedule random or switch.")]
Watch = Annotated[
    list[str] | None,
    typer.Option(metavar="EXPR", help="Also follow this expression over variables."),
]
Probe = Annotated[
    bool, typer.Option("--probe", help="Try many launches; show each fault's smallest.")
]
Fix = Annotated[bool, typer.Option("--fix", help="Apply known repairs and run again.")]
Out = Annotated[Path | None, typer.Option(metavar="run.json", help="Write a trace file.")]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="run.html", help="Write a page that replays it.")
]
Record = Annotated[
    str | None, typer.Option(metavar="0,2", help="Blocks whose events are written; all that fit.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print counts and faults as a trace file.")]
Folder = Annotated[
    list[Path] | None, typer.Option("--include", "-I", metavar="DIR", help='Of #include "file".')
]
Resident = Annotated[int, typer.Option(min=1, metavar="N", help="Blocks that share the cache.")]
CacheKb = Annotated[
    float | None, typer.Option(min=0, metavar="KB", help="Modelled cache; 48 for each such block.")
]
FailOn = Annotated[str, typer.Option(metavar="|".join(_SEVERITIES), help="What gives status 1.")]
Limit = Annotated[
    list[str] | None, typer.Option(metavar="seconds=60", help="A limit; messages name them.")
]
ListThem = Annotated[bool, typer.Option("--list", help="List the gallery's keys.")]


def trace(
    names: Names = None,
    kernel: Kernel = None,
    rows: Rows = 4,
    vocab: Vocab = 256,
    k: K = 5,
    define: Define = None,
    grid: Grid = None,
    block: Block = None,
    shared_bytes: SharedBytes = None,
    arg: Arg = None,
    input: Input = "normal",  # noqa: A002 (the name of the option)
    schedule: Schedule = "in-order",
    seed: Seed = None,
    watch: Watch = None,
    truth: Truth = None,
    probe: Probe = False,
    fix: Fix = False,
    out: Out = None,
    html: Html = None,
    record: Record = None,
    as_json: AsJson = False,
    include: Folder = None,
    resident_blocks: Resident = 8,
    cache_kb: CacheKb = None,
    fail_on: FailOn = "error",
    limit: Limit = None,
    list_them: ListThem = False,
) -> None:
    """Launch kernels and show what happened."""
    asked = SimpleNamespace(**locals(), at="")  # what is launched, for errors of one of several
    if list_them:
        _list()
        return
    _check(asked)
    with _diagnostics(asked):
        worst, stopped = _answer(asked)
    if worst is not None and _SEVERITIES.index(worst) <= _SEVERITIES.index(fail_on):
        raise SystemExit(FAILURE)
    if stopped:
        raise fail(f"a limit stopped {plural(stopped, 'launch')}: nobody knows what it hides")


def _check(asked: SimpleNamespace) -> None:
    """Refuse options that do not go together, before anything is read."""
    if not asked.names:
        raise fail("name a file or a key of the gallery; --list shows the keys")
    if asked.fail_on not in _SEVERITIES:
        raise fail(f"--fail-on {asked.fail_on}: there are {', '.join(_SEVERITIES)}")
    if len(asked.kernel or ()) > 1:
        raise fail(f"--kernel {asked.kernel[1]}: one is named already, {asked.kernel[0]}")
    written = asked.out is not None or asked.html is not None
    if (asked.probe or asked.fix) and (written or asked.as_json):
        raise fail("--out, --html and --json are for runs without --probe and --fix")
    if (asked.probe or asked.fix) and asked.schedule == "all":
        raise fail("--schedule all is for runs without --probe and --fix, which judge each launch")
    if asked.record is not None and not written:
        raise fail("--record needs --out or --html: the file that the events go to")
    for option, path in (("--out", asked.out), ("--html", asked.html)):
        if path is not None and path.is_dir():
            raise fail(f"{option} {path}: a folder")
    if asked.html is not None:
        from oneread.web.bundle import read_bundle

        read_bundle()  # raises where there is no page


def _answer(asked: SimpleNamespace) -> tuple[str | None, int]:
    """Do what was asked for; return the severity of the worst fault, and launches without end."""
    from oneread.trace import open_kernel
    from oneread.trace.inputs import PATTERNS
    from oneread.trace.opening import is_file, refuse_unused

    of_files = next(iter(asked.kernel or ()), None), asked.include or ()
    beside = any(map(is_file, asked.names))  # of keys that stand beside files they are not meant
    opened = [
        open_kernel(name, *(() if beside and not is_file(name) else of_files))
        for name in asked.names
    ]
    case = _case(asked)
    refuse_unused(opened, case)
    if asked.input not in PATTERNS and (Path(asked.input).is_file() or "." in asked.input):
        numbers = read_numbers(Path(asked.input))
        check_sizes(case, asked.input, numbers)
        case = dataclasses.replace(case, input="normal", file=asked.input)
        case = _only(opened, "--input FILE").with_rows(case, numbers)
    if asked.probe or asked.fix:
        option = "--fix" if asked.fix else "--probe"
        return _improve(_only(opened, option), case, asked.probe, asked.fix)
    return _run(opened, case, asked), 0


@contextlib.contextmanager
def _diagnostics(asked: SimpleNamespace) -> Iterator[None]:
    """Print what a compiler prints where a source cannot be read; name options that would help."""
    from oneread.source.errors import SourceError
    from oneread.trace import UsageError
    from oneread.trace.subject import options

    try:
        yield
    except SourceError as error:
        note(str(error))
        if {one.id for one in error.diagnostics} & {"which-kernel", "template-kernel"}:
            note("a kernel is named by --kernel K")
        raise SystemExit(REFUSED) from None
    except UsageError as error:
        said = error.worded(lambda settings: shlex.join(options(settings)))
        raise fail(f"{asked.at}: {said}" if len(asked.names) > 1 and asked.at else said) from None


# ---- options


def _case(asked: SimpleNamespace) -> "Case":
    from oneread.trace.case import Case, parse_extent

    schedule = asked.schedule
    return Case(
        asked.rows,
        asked.vocab,
        asked.k,
        pairs("--define", asked.define, "1"),
        None if asked.grid is None else parse_extent(asked.grid),
        None if asked.block is None else parse_extent(asked.block),
        asked.shared_bytes,
        pairs("--arg", asked.arg),
        asked.input,
        schedule=schedule if asked.seed is None else _seeded(schedule, asked.seed),
        watch=tuple(asked.watch or ()),
        record=_blocks(asked.record),
        truth=_truths(asked.truth),
        limits=_limits(asked.limit),
    )


def _truths(given: list[str] | None) -> dict[str, str] | None:
    return {} if given == ["none"] else None if given is None else pairs("--truth", given)


def _seeded(schedule: str, seed: int) -> str:
    if schedule not in {"random", "switch"}:
        raise fail(f"--seed is for --schedule random or switch, not {schedule}")
    return f"{schedule}:{seed}"


def _blocks(text: str | None) -> bool | list[int]:
    if text is None:
        return False
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", text):
        raise fail(f"--record {text}: write numbers of blocks with commas between")
    return [int(number) for number in text.split(",")]


def _limits(given: list[str] | None) -> "Limits":
    from oneread.trace import Limits

    given_limits = pairs("--limit", given)
    known = {field.name for field in dataclasses.fields(Limits)}
    numbers: dict[str, Any] = {}
    for name, value in given_limits.items():
        if name not in known:
            raise fail(f"--limit: no {name!r}; there are {', '.join(sorted(known))}")
        whole = name != "seconds"
        if not re.fullmatch(r"\d{1,12}" if whole else r"\d{1,12}(\.\d{1,6})?", value):
            raise fail(f"--limit {name}={value}: write a {'whole ' * whole}number")
        numbers[name] = int(value) if whole else float(value)
    return Limits(**numbers)


def _only(opened: "list[Opened]", option: str) -> "Opened":
    if len(opened) != 1:
        raise fail(f"{option} is for one kernel, not {len(opened)}")
    return opened[0]


# ---- what is shown


def _list() -> None:
    from oneread.source.catalogue import read_catalogue

    catalogue = read_catalogue()
    width = max(map(len, [*catalogue.kernels, *catalogue.sequences]))
    for head, entries in (("kernels", catalogue.kernels), ("sequences", catalogue.sequences)):
        say(styled(head, "bold"))
        for key, entry in entries.items():
            say(f"  {key:<{width}}  {entry.title}")


def _run(opened: "list[Opened]", case: "Case", asked: SimpleNamespace) -> str | None:
    from oneread.trace import tracefile
    from oneread.trace.opening import arguments_of_each

    model = asked.resident_blocks, asked.cache_kb
    arguments = arguments_of_each(opened, case)
    kept: list[Launched] = []

    def launch(one: "Case") -> "list[Launched]":
        kept.clear()
        for each, its in zip(opened, arguments, strict=True):
            asked.at = each.name
            kept.extend(each.launch(dataclasses.replace(one, arguments=its)))
        asked.at = ""
        return kept

    if asked.out is None and asked.html is None:
        launch(case)
    else:
        text = tracefile.record(launch, case, *model)
        if asked.out is not None:
            _written(asked.out, text, kept, bool(case.record))
        if asked.html is not None:
            _written(asked.html, _page(text, opened, case), kept, bool(case.record))
    if asked.as_json:
        plain = [one._replace(run=dataclasses.replace(one.run, recording=None)) for one in kept]
        write(tracefile.dumps(tracefile.describe(plain, *model)))
    else:
        for line in _trace_text.report(kept, opened, case, model):
            say(line)
    severities = [worst for one in kept if (worst := one.run.worst()) is not None]
    return min(severities, key=_SEVERITIES.index, default=None)


def _page(text: str, opened: "list[Opened]", case: "Case") -> str:
    from oneread.trace.opening import command
    from oneread.web import export

    return export.page(text, {one.name for one in opened}, command(opened, case))


def _written(out: Path, text: str, launches: "list[Launched]", named: bool) -> None:
    """Write a file under another name first, and say what it holds."""
    import math

    partial = out.with_name(f"{out.name}.partial")
    try:
        partial.write_text(text, "utf-8")
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)
    kept = [one.run.recording for one in launches if one.run.recording is not None]
    blocks = sum(len(set(one.block)) for one in kept)
    of = sum(math.prod(one.run.grid) for one in launches)
    events = sum(one.events for one in kept)
    parts = f"{plural(events, 'event')} of {blocks} of {plural(of, 'block')}"
    note(f"wrote {out}: {parts}, {len(text):,} bytes")
    if blocks < of and not named:
        note("only the first blocks, to stay below a limit; `reduced` in the file says which")


def _improve(opened: "Opened", case: "Case", probe: bool, fix: bool) -> tuple[str | None, int]:
    """Try many launches, or known repairs, or both; return what `_answer` does."""
    from oneread.trace import fixing, probing

    subject = opened.kernel()
    cases, worst, stopped = [case], None, 0
    if probe:
        probed = probing.probe(subject, case)
        cases, worst, stopped = list(probed.cases), probed.worst(), len(probed.stopped)
        for line in _trace_text.probe(probed, subject):
            say(line)
    if fix:
        fixed = fixing.fix(subject, cases)
        faults: list[Any] = [fault for one in fixed.before for fault in one.faults]
        worst = min((one.severity for one in faults), key=_SEVERITIES.index, default=None)
        stopped = sum(bool(one.stopped) for one in fixed.before)
        full = subject.complete(case)
        known = () if probe else _trace_basis.basis(subject.source(full).loaded, full)
        for line in [*known, *_trace_text.fix(fixed)]:
            say(line)
    return worst, stopped
