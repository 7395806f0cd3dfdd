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
    head = f"{'op, kernels':<30} {'reads':>5} {'loads':>5} {'stores':>6} {'ulp':>4}  outputs"
    say(styled(head, "bold"))
    for spec in OPS.values():
        say(f"{spec.name:<49} {spec.max_ulp:>4}  {_fold(spec.outputs)}")
        for output, bound in spec.wider:
            say(f"{'':<49} {bound:>4}  {output}")
        for kernel in spec.kernels:
            accesses = f"{kernel.reads:>5} {kernel.loads:>5} {kernel.stores:>6}"
            say(f"  {kernel.name:<28} {accesses}")
    say("loads, stores: accesses an element, of x, y and scratch; reads: loads of x that")
    say("are in no innermost cache; radix_top_k reads 7 times in float64; ulp: largest")
    say("error beyond twice that of the plain formula")


def _fold(names: tuple[str, ...]) -> str:
    """Join names, shortened to what is left of 80 columns."""
    text = " ".join(names)
    return text if len(text) <= 24 else text[:21].rsplit(" ", 1)[0] + " ..."
