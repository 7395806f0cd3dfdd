"""`oneread inspect`: a kernel's autopsy: what it issues, what was compiled, what it took."""

import contextlib
import dataclasses
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oneread.cli import _inspect_text
from oneread.cli._console import diagnostics, fail, say, write
from oneread.cli._macros import macros, pairs

if TYPE_CHECKING:
    from oneread.report.autopsy import Autopsy, Took
    from oneread.sass import Build
    from oneread.source.catalogue import KernelEntry
    from oneread.trace import Case

HELP = """Take kernels apart, line by line: what the source issues, what was compiled, what it took.

Each NAME is a .cu file or a key of the gallery. It is run by the tracer and compiled, both without
a GPU; of the gallery, times are those that an H200 took. Several are compared with the first.
"""

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Sources.")]
Kernel = Annotated[str | None, typer.Option(metavar="K", help="One kernel of a file.")]
Rows = Annotated[int, typer.Option(min=1, metavar="N", help="Rows of the traced launch.")]
Vocab = Annotated[int, typer.Option("--vocab", "--n", min=1, metavar="N", help="Columns of a row.")]
K = Annotated[int, typer.Option("--k", min=1, metavar="N", help="k of a top-k kernel.")]
Define = Annotated[
    list[str] | None, typer.Option("--define", "-D", metavar="TILE=256", help="A macro.")
]
Arg = Annotated[
    list[str] | None,
    typer.Option(metavar="eps=1e-5", help="What a parameter gets, if its name is new."),
]
Grid = Annotated[str | None, typer.Option(metavar="X[,Y[,Z]]", help="Blocks; one a row.")]
Block = Annotated[
    str | None, typer.Option(metavar="X[,Y[,Z]]", help="Threads of a block; as the source says.")
]
Arch = Annotated[
    str | None, typer.Option(metavar="sm_90", help="Target; what was measured, or sm_86.")
]
FastMath = Annotated[bool, typer.Option("--fast-math", help="Compile with --use_fast_math.")]
Opt = Annotated[list[str] | None, typer.Option(metavar="FLAG", help="An option of the compiler.")]
AsMarkdown = Annotated[bool, typer.Option("--md", help="Print Markdown.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, a kernel a line.")]


def inspect(
    names: Names,
    kernel: Kernel = None,
    rows: Rows = 1,
    vocab: Vocab = 8192,
    k: K = 8,
    define: Define = None,
    arg: Arg = None,
    grid: Grid = None,
    block: Block = None,
    arch: Arch = None,
    fast_math: FastMath = False,
    opt: Opt = None,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Show kernels from three sides."""
    from oneread.sass import Build
    from oneread.trace.case import Case, parse_extent

    if as_markdown and as_json:
        raise fail("--md and --json exclude each other")
    build = Build(arch, fast_math, tuple(opt or ()), macros(define))
    shape = [None if one is None else parse_extent(one) for one in (grid, block)]
    case = Case(rows, vocab, k, grid=shape[0], block=shape[1], arguments=pairs("--arg", arg))
    with diagnostics(), _worded():
        found = [
            _autopsy(name, one, case, build) for name in names for one in _kernels(name, kernel)
        ]
    for one in found:
        if as_json:
            write(json.dumps(dataclasses.asdict(one), allow_nan=False) + "\n")
        else:
            for line in _inspect_text.autopsy(one, as_markdown):
                say(line)
    if len(found) > 1 and not as_json:
        for line in _inspect_text.comparison(found, as_markdown):
            say(line)


@contextlib.contextmanager
def _worded() -> Iterator[None]:
    """Say as options what the tracer wants to be told."""
    from oneread.trace.errors import UsageError
    from oneread.trace.subject import options

    try:
        yield
    except UsageError as error:
        raise fail(error.worded(lambda settings: shlex.join(options(settings)))) from None


def _kernels(name: str, kernel: str | None) -> list[str | None]:
    """Return the kernels to take apart: of a file with several all, unless one is named."""
    from oneread.sass.read.opening import is_machine_code
    from oneread.source.host import find_kernels
    from oneread.source.text import SourceText
    from oneread.trace.opening import is_file

    path = Path(name)
    if path.is_file() and is_machine_code(path):
        raise fail(f"{name} is machine code; inspect takes a source, sass explain takes this")
    if kernel is not None or not (is_file(name) and path.is_file()):
        return [kernel]
    source = SourceText(path.name, path.read_text("utf-8", errors="replace"))
    names = [one.name for one in find_kernels(source)]
    return [*names] if len(names) > 1 else [None]


def _autopsy(name: str, kernel: str | None, case: "Case", build: "Build") -> "Autopsy":
    from oneread.report.autopsy import autopsy
    from oneread.sass import analyse, open_code, record
    from oneread.source.catalogue import read_catalogue
    from oneread.trace import describe, open_kernel

    entry = read_catalogue().kernels.get(name)
    took = _took(entry) if entry else ()
    opened = open_kernel(name, kernel)
    opened.kernel()  # refuses a sequence
    defines = {**(entry.bench_defines if entry else {}), **build.defines}
    arch = build.arch or (took[0].target if took else None)
    build = dataclasses.replace(build, arch=arch, defines=defines)
    texts = {macro: str(value) for macro, value in defines.items()}
    launched = opened.launch(dataclasses.replace(case, defines=texts))
    (run,) = describe(launched)["runs"]
    code = open_code(name, build)
    program = code.kernel(kernel or run["kernel"])
    return autopsy(record.describe(code, analyse(program)), run, took)


def _took(entry: "KernelEntry") -> "tuple[Took, ...]":
    from oneread.report.autopsy import Took
    from oneread.source.measured import rates

    return tuple(
        Took(
            one.shape,
            one.rows,
            one.vocab,
            one.microseconds,
            one.share_of_copy,
            one.device,
            one.target,
            entry.bench_defines,
        )
        for one in rates(entry.key)
    )
