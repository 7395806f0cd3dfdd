"""`oneread ops`: the table of ops, what each returns and the kernels it can run."""

import dataclasses
import json
from typing import Annotated

import typer

from oneread.cli._console import say, styled
from oneread.spec import OPS

HELP = "List the ops with outputs, kernels and bounds."


def ops(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object an op and line.")
    ] = False,
) -> None:
    """Print the table of ops."""
    if as_json:
        for spec in OPS.values():
            say(json.dumps(dataclasses.asdict(spec)))
        return
    say(styled(f"{'op':<13} {'kernel':<21} {'loads':>5} {'stores':>6} {'ulp':>4}  outputs", "bold"))
    for spec in OPS.values():
        for i, kernel in enumerate(spec.kernels):
            name, ulp, outputs = ("", "", "")
            if i == 0:
                name, ulp, outputs = spec.name, str(spec.max_ulp), _fold(spec.outputs)
            line = f"{name:<13} {kernel.name:<21} {kernel.loads:>5} {kernel.stores:>6} {ulp:>4}"
            say(f"{line}  {outputs}".rstrip())
        for output, bound in spec.wider:
            say(f"{'':<48} {bound:>4}  {output}")
    say("loads, stores: accesses an element; ulp: largest error beyond twice that of the")
    say("plain formula; radix_top_k loads 7 times in float64")


def _fold(names: tuple[str, ...]) -> str:
    """Join names, shortened to what is left of 80 columns."""
    text = " ".join(names)
    return text if len(text) <= 24 else text[:21].rsplit(" ", 1)[0] + " ..."
