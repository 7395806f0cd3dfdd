"""`oneread report`: verdicts, figures and tables from the files of runs alone."""

from pathlib import Path
from typing import Annotated

import typer

from oneread.cli import _claims_text
from oneread.cli._console import say

HELP = """Write the report of `oneread paper` from the files of runs, of one machine or several.

Takes files of `oneread paper` and of `oneread bench`, several of one machine too: times are then
medians of ratios. Measures nothing.
"""


def report(
    results: Annotated[list[Path], typer.Argument(help="Files of runs, .jsonl.")],
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where the report goes.")
    ] = Path("oneread-report"),
) -> None:
    """Judge the claims by the records and write the report."""
    from oneread.report.paper import machines

    found = machines.read(results)
    _claims_text.show(found)
    command = f"oneread report {' '.join(path.name for path in results)}"
    say(f"Report: {_claims_text.write(found, out, command)}")
