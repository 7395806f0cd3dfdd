"""`oneread sass`: what the compiler made of a kernel, without a GPU."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oneread.cli import _sass_text
from oneread.cli._console import FAILURE, fail, note, say, styled, write
from oneread.cli._macros import macros
from oneread.spec.words import plural

if TYPE_CHECKING:
    from oneread.sass import Analysis, Build, Code

HELP = "Read machine code: what the compiler made of a kernel."

EXPLAIN_HELP = """Tell what a kernel's machine code does.

Each NAME is a .cu file or a key of the gallery, which NVRTC compiles without a GPU; a cubin; text
that nvdisasm or cuobjdump -sass wrote (- is standard input); or a folder of Triton's cache.
"""

MATRIX_HELP = """Compile a kernel for several targets, with fast and default maths, side by side.

NAME is a .cu file or a key of the gallery. What all builds agree in stands above; the rest is a
table, in which builds that agree share a row.
"""

DIFF_HELP = """Compare the machine code of two kernels by what it does.

Shows the properties that differ; the instructions that an element takes, by what they are there
for, summed over the loops that go over elements; and loops that do the same beside each other.
"""

CHECK_HELP = """Find the lines of machine code that a note quotes in fresh builds of its kernel.

NOTE is text in any language with the kernel in it, or beside --source. Each line counts once;
those with an ellipsis are patterns. --nvrtc tries the compilers of other toolkits too. --claims
judges statements about properties, each with the builds that it fails for. Exit status 1: some
line is in no build.
"""

ADVISE_HELP = """Say what would make a kernel's code shorter, and prove it.

NAME is a .cu file or a key of the gallery. Changes of the source are compiled and set beside what
is there, whether they help or not; what takes another kernel is shown by two of the gallery.
"""

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Sources or machine code.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A source.")]
Archs = Annotated[
    list[str] | None, typer.Option("--arch", metavar="sm_86", help="A target; all by default.")
]
NoteFile = Annotated[Path, typer.Argument(metavar="NOTE", help="A text.", show_default=False)]
Source = Annotated[
    str | None, typer.Option(metavar="FILE.cu|KEY", help="The kernel's source, or of the gallery.")
]
Claims = Annotated[
    Path | None, typer.Option(metavar="FILE.toml", help="Statements to judge for each build.")
]
Nvrtc = Annotated[
    list[str] | None,
    typer.Option("--nvrtc", metavar="PATH", help="Another NVRTC to try: a toolkit, a library."),
]
AsTable = Annotated[bool, typer.Option("--md", help="Print a Markdown table.")]
Kernel = Annotated[str | None, typer.Option(metavar="K", help="Kernel of a file with several.")]
Kernels = Annotated[
    list[str] | None,
    typer.Option("--kernel", metavar="K", help="Kernel of both files; twice: of each."),
]
Arch = Annotated[str | None, typer.Option(metavar="sm_86", help="Target; sm_86 for a source.")]
FastMath = Annotated[bool, typer.Option("--fast-math", help="Compile with --use_fast_math.")]
Opt = Annotated[list[str] | None, typer.Option(metavar="FLAG", help="An option of the compiler.")]
Define = Annotated[
    list[str] | None, typer.Option("--define", "-D", metavar="TILE=256", help="A macro.")
]
Lang = Annotated[str, typer.Option(metavar="en|ko", help="Language of the story.")]
AsMarkdown = Annotated[bool, typer.Option("--md", help="The story as a Markdown note.")]
AsHtml = Annotated[
    bool, typer.Option("--html", help="A page: source beside machine code, and the story.")
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="DIR",
        help="Where notes or pages go, with an index; or one FILE.md, FILE.html.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")]


@app.command("explain", help=EXPLAIN_HELP)
def explain(
    names: Names,
    kernel: Kernel = None,
    arch: Arch = None,
    fast_math: FastMath = False,
    opt: Opt = None,
    define: Define = None,
    lang: Lang = "en",
    as_markdown: AsMarkdown = False,
    as_html: AsHtml = False,
    out: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Show what was found out about kernels."""
    from oneread.sass import record
    from oneread.sass.story.words import LANGUAGES

    forms = [("--md", as_markdown), ("--html", as_html), ("--json", as_json)]
    chosen = [name for name, is_chosen in forms if is_chosen]
    if len(chosen) > 1:
        raise fail(f"{' and '.join(chosen)} exclude each other")
    if out is not None and not (as_markdown or as_html):
        raise fail("--out is for the notes of --md and the pages of --html")
    if lang not in LANGUAGES:
        raise fail(f"--lang {lang}: there are {', '.join(LANGUAGES)}")
    build = _build(arch, fast_math, opt, define, kernel)
    found = _analysed(names, kernel, build)
    form = "html" if as_html else "md"
    if out is not None and out.suffix != f".{form}":
        _keep(out, found, lang, form)
    elif as_html or out is not None:
        _put(out, _only_page(found, lang, form))
    else:
        for code, analysis in found:
            if as_json:
                write(record.dumps([record.describe(code, analysis, lang)]))
            elif as_markdown:
                write(_note(code, analysis, lang))
            else:
                _show(code, analysis, lang)


@app.command("matrix", help=MATRIX_HELP)
def matrix(
    name: Name,
    kernel: Kernel = None,
    arch: Archs = None,
    opt: Opt = None,
    define: Define = None,
    as_markdown: AsTable = False,
) -> None:
    """Show properties of a kernel for each build."""
    from oneread.runtime.nvrtc import TARGETS
    from oneread.sass import analyse, open_code
    from oneread.sass.summary import summarise

    columns = {}
    for fast_math in (True, False):
        for target in arch or TARGETS:
            build = _build(target, fast_math, opt, define, kernel)
            code = open_code(name, build)
            if code.build is None:
                raise fail(f"{name} is machine code already; matrix compiles a source")
            summary = summarise(analyse(code.kernel(kernel)))
            columns[target, "fast" if fast_math else "default"] = summary
    for line in _sass_text.matrix(columns, as_markdown):
        say(line)


@app.command("advise", help=ADVISE_HELP)
def advise(
    name: Name,
    kernel: Kernel = None,
    arch: Arch = None,
    fast_math: FastMath = False,
    opt: Opt = None,
    define: Define = None,
    as_markdown: AsTable = False,
    as_json: AsJson = False,
) -> None:
    """Show changes of a source with what they do to the machine code."""
    from oneread.cli import _advise_text
    from oneread.sass import analyse, open_code
    from oneread.sass.advice.advising import examples, prove

    if as_markdown and as_json:
        raise fail("--md and --json exclude each other")
    build = _build(arch, fast_math, opt, define, kernel)
    code = open_code(name, build)
    proofs = list(prove(code, kernel))
    shown = list(examples(analyse(code.kernel(kernel)), build))
    lines = _advise_text.as_json if as_json else _advise_text.advice
    for line in lines(code.kernel(kernel), proofs, shown, as_markdown):
        say(line)


@app.command("diff", help=DIFF_HELP)
def diff(
    first: Name,
    second: Name,
    kernel: Kernels = None,
    arch: Arch = None,
    fast_math: FastMath = False,
    opt: Opt = None,
    define: Define = None,
    as_markdown: AsTable = False,
) -> None:
    """Show in what two kernels differ."""
    from oneread.sass import analyse
    from oneread.sass.aligning import align
    from oneread.sass.summary import roles_each, summarise

    if len(kernel or ()) > 2:
        raise fail("--kernel is one kernel of both files, or one of each")
    wanted = (kernel[0], kernel[-1]) if kernel else (None, None)
    found = []
    for name, one in zip((first, second), wanted, strict=True):
        build = _build(arch, fast_math, opt, define, one)
        analysis = analyse(_opened(name, build).kernel(one))
        found.append((analysis.program.short_name, analysis))
    summaries = [(name, summarise(analysis)) for name, analysis in found]
    costs = [(name, roles_each(analysis)) for name, analysis in found]
    pairs = align(found[0][1], found[1][1])
    for line in _sass_text.diff(summaries, costs, pairs, as_markdown):
        say(line)


@app.command("check", help=CHECK_HELP)
def check(
    note_file: NoteFile,
    source: Source = None,
    arch: Archs = None,
    opt: Opt = None,
    define: Define = None,
    claims: Claims = None,
    nvrtc: Nvrtc = None,
    as_markdown: AsTable = False,
) -> None:
    """Say which builds have the lines that a note quotes."""
    from oneread.runtime.nvrtc import find_library
    from oneread.sass.checking import check_note
    from oneread.sass.claims import read_claims

    given = read_claims(_text(claims), claims.name) if claims else []
    libraries = [None, *map(find_library, nvrtc or ())]
    text, macros_of_key = _given_source(source)
    defines = {**macros_of_key, **macros(define)}
    builds = [
        replace(one, defines=defines)
        for library in libraries
        for one in _all_builds(arch, opt, library)
    ]
    checked = check_note(_text(note_file), builds, text, note_file.name)
    for line in _sass_text.check(checked, as_markdown):
        say(line)
    if given:
        for line in _sass_text.claims(checked, given, as_markdown):
            say(line)
    if checked.missing:
        raise SystemExit(FAILURE)


def _build(
    arch: str | None,
    fast_math: bool,
    opt: list[str] | None,
    define: list[str] | None,
    kernel: str | None,
) -> "Build":
    from oneread.sass import Build
    from oneread.sass.read.opening import instance_of

    options = tuple(opt or ())
    return Build(arch, fast_math, options, macros(define), instance=instance_of(kernel))


def _all_builds(
    arch: list[str] | None, opt: list[str] | None, library: str | None
) -> "Iterator[Build]":
    """Yield the builds for both maths and all targets that a compiler knows of those asked for."""
    from oneread.runtime import nvrtc
    from oneread.sass import Build

    known = nvrtc.supported_targets(library)
    targets = [one for one in arch or nvrtc.TARGETS if one in known or library is None]
    if left_out := [one for one in arch or nvrtc.TARGETS if one not in targets]:
        number = ".".join(map(str, nvrtc.version(library)))
        note(f"NVRTC {number} does not compile for {', '.join(left_out)}")
    for fast_math in (True, False):
        for target in targets:
            yield Build(target, fast_math, tuple(opt or ()), nvrtc=library)


def _given_source(name: str | None) -> tuple[str | None, Mapping[str, int]]:
    """Return the text of a file or of a kernel of the gallery, and the macros of the latter."""
    from oneread.source.catalogue import read_catalogue

    catalogue = read_catalogue()
    if name is None:
        return None, {}
    if name in catalogue.kernels and not Path(name).exists():
        return _text(catalogue.path(name)), catalogue.kernels[name].bench_defines
    return _text(Path(name)), {}


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        raise fail(f"{path}: no text in UTF-8") from None


def _opened(name: str, build: "Build") -> "Code":
    """Open what was named; - is standard input."""
    from oneread.sass import open_code, read_code

    if name == "-":
        return read_code(sys.stdin.buffer.read(), "standard input", build.arch)
    return open_code(name, build)


def _analysed(
    names: list[str], kernel: str | None, build: "Build"
) -> "Iterator[tuple[Code, Analysis]]":
    """Open what was named, one kernel after another."""
    from oneread.sass import analyse

    for name in names:
        code = _opened(name, build)
        for program in [code.kernel(kernel)] if kernel else code.programs:
            yield code, analyse(program)


def _show(code: "Code", analysis: "Analysis", lang: str) -> None:
    from oneread.sass.story.telling import tell

    program = analysis.program
    say(styled(f"{program.short_name} ({program.arch})", "bold"))
    for line in _sass_text.story(code, tell(code, analysis), lang):
        say(line)
    say()


def _note(code: "Code", analysis: "Analysis", lang: str) -> str:
    from oneread.sass.story.markdown import markdown
    from oneread.sass.story.telling import tell

    return markdown(code, analysis.program.short_name, tell(code, analysis), lang)


def _page(code: "Code", analysis: "Analysis", lang: str) -> str:
    from oneread.report.kernel_page import kernel_page
    from oneread.sass import record

    return kernel_page(record.describe(code, analysis, lang))


def _put(out: Path | None, page: str) -> None:
    if out is None:
        write(page)
    else:
        out.write_text(page, "utf-8")
        note(f"wrote {out}")


def _only_page(found: "Iterator[tuple[Code, Analysis]]", lang: str, form: str) -> str:
    """Return the page or the note of the only kernel."""
    made = _page if form == "html" else _note
    pages = [made(code, analysis, lang) for code, analysis in found]
    if len(pages) != 1:
        raise fail(f"{len(pages)} kernels: name one with --kernel, or a folder with --out")
    return pages[0]


def _keep(folder: Path, found: "Iterator[tuple[Code, Analysis]]", lang: str, form: str) -> None:
    """Write a note or a page a kernel, and an index of them in Markdown or HTML."""
    from oneread.report.index import index

    made = _page if form == "html" else _note
    folder.mkdir(parents=True, exist_ok=True)
    entries: list[tuple[str, str, str]] = []
    for code, analysis in found:
        program = analysis.program
        name = f"{program.short_name}.{program.arch}.{form}"
        if any(name == known for _, known, _ in entries):
            raise fail(f"two kernels would be written to {folder / name}: name one with --kernel")
        (folder / name).write_text(made(code, analysis, lang), "utf-8")
        entries.append((program.short_name, name, f"{program.arch}, from {code.name}"))
    if form == "html":
        (folder / "index.html").write_text(index(entries, lang), "utf-8")
    else:
        lines = [f"- [{kernel}]({name}), {more}" for kernel, name, more in entries]
        (folder / "index.md").write_text("\n".join(lines) + "\n", "utf-8")
    what = plural(len(entries), "page" if form == "html" else "note")
    note(f"wrote {what} and index.{form} to {folder}")
