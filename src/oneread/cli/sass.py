"""`oneread sass`: what the compiler made of a kernel, without a GPU."""

import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from oneread.cli import _sass_text
from oneread.cli._console import fail, say, styled, write

if TYPE_CHECKING:
    from oneread.sass import Build, Code

HELP = "Read machine code: what the compiler made of a kernel."

EXPLAIN_HELP = """Tell what a kernel's machine code does.

Each NAME is a .cu file or a key of the gallery, which NVRTC compiles without a GPU; a cubin; text
that nvdisasm or cuobjdump -sass wrote (- is standard input); or a folder of Triton's cache.
"""

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Sources or machine code.")]
Kernel = Annotated[str | None, typer.Option(metavar="K", help="Kernel of a file with several.")]
Arch = Annotated[str | None, typer.Option(metavar="sm_86", help="Target; sm_86 for a source.")]
FastMath = Annotated[bool, typer.Option("--fast-math", help="Compile with --use_fast_math.")]
Opt = Annotated[list[str] | None, typer.Option(metavar="FLAG", help="An option of the compiler.")]
Define = Annotated[
    list[str] | None, typer.Option("--define", "-D", metavar="TILE=256", help="A macro.")
]
Lang = Annotated[str, typer.Option(metavar="en|ko", help="Language of the story.")]
AsMarkdown = Annotated[bool, typer.Option("--md", help="Print the story as a Markdown note.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")]


@app.callback()
def _program() -> None:
    """Keep `explain` a command of its own while it is the only one."""


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
    as_json: AsJson = False,
) -> None:
    """Show what was found out about kernels."""
    from oneread.sass import Build, analyse, record
    from oneread.sass.story.markdown import markdown
    from oneread.sass.story.telling import tell
    from oneread.sass.story.words import LANGUAGES

    if as_markdown and as_json:
        raise fail("--md and --json exclude each other")
    if lang not in LANGUAGES:
        raise fail(f"--lang {lang}: there are {', '.join(LANGUAGES)}")
    build = Build(arch, fast_math, tuple(opt or ()), _defines(define))
    for name in names:
        code = _opened(name, build)
        for program in [code.kernel(kernel)] if kernel else code.programs:
            analysis = analyse(program)
            if as_json:
                write(record.dumps([record.describe(code, analysis)]))
                continue
            sections = tell(code, analysis)
            if as_markdown:
                write(markdown(code, program.name, sections, lang))
                continue
            say(styled(f"{program.name} ({program.arch})", "bold"))
            for line in _sass_text.story(code, sections, lang):
                say(line)
            say()


def _opened(name: str, build: "Build") -> "Code":
    from oneread.sass import open_code, read_code

    if name == "-":
        return read_code(sys.stdin.buffer.read(), "standard input", build.arch)
    return open_code(name, build)


def _defines(given: list[str] | None) -> dict[str, int]:
    found = {}
    for text in given or ():
        macro, _, value = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", macro) or not re.fullmatch(r"-?\d+|", value):
            raise fail(f"--define {text}: write NAME=NUMBER")
        found[macro] = int(value or 1)
    return found
