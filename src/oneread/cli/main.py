"""The `oneread` program: its commands, its version, and how it ends.

Knows no op: each command loads what it needs when it runs.
"""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from oneread.cli import (
    bench,
    demo,
    info,
    inspect,
    ops,
    paper,
    prove,
    read,
    report,
    sass,
    trace,
    web,
)
from oneread.cli._console import guarded, say
from oneread.cli.compile import HELP as COMPILE_HELP
from oneread.cli.compile import compile_


class Program(TyperGroup):
    """The group of commands; every expected error leaves as one line and an exit status."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line and exit."""
        standalone = kwargs.pop("standalone_mode", True)
        kwargs["standalone_mode"] = False
        if not standalone:
            return super().main(*args, **kwargs)
        with guarded():
            status = super().main(*args, **kwargs)
        raise SystemExit(status if isinstance(status, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        # The inner guard sees a closed pipe and Ctrl-C before the framework names them its way.
        with guarded():
            return super().invoke(ctx)


app = typer.Typer(
    name="oneread",
    cls=Program,
    help="Read the logits once, get everything: lse, top-k, log-probs, rank, entropy.",
    epilog="NO_COLOR and ONEREAD_ISA, _STORES, _THREADS are honoured. Refused input exits with 2.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def version() -> str:
    """Return the version of the installed package."""
    from importlib import metadata

    try:
        return metadata.version("oneread")
    except metadata.PackageNotFoundError:
        return "unknown (not installed)"


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"oneread {version()}")
        raise typer.Exit


@app.callback()
def _program(
    ctx: typer.Context,
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    if ctx.invoked_subcommand is None:
        say(ctx.get_help())


app.command("read", help=read.HELP)(read.read)
app.command("info", help=info.HELP)(info.info)
app.command("demo", help=demo.HELP)(demo.demo)
app.command("ops", help=ops.HELP)(ops.ops)
app.add_typer(bench.app, name="bench", help=bench.HELP)
app.command("prove", help=prove.HELP)(prove.prove)
app.command("paper", help=paper.HELP)(paper.paper)
app.command("report", help=report.HELP)(report.report)
app.command("compile", help=COMPILE_HELP)(compile_)
app.command("trace", help=trace.HELP)(trace.trace)
app.command("web", help=web.HELP)(web.web)
app.command("inspect", help=inspect.HELP)(inspect.inspect)
app.add_typer(sass.app, name="sass", help=sass.HELP)
