"""`oneread prove`: one read, shown: accesses counted, memory and cache misses measured."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from oneread.cli._console import say, size_text, styled

if TYPE_CHECKING:
    from oneread.bench.prove import Accesses, Proof

HELP = """Count what the kernels read and write, on this machine.

Without OP the default kernel of each op, with it all kernels of that op.
"""

_ARRAYS = ("x", "y", "scratch")


def prove(
    op: Annotated[str | None, typer.Argument(help="One op: all of its kernels.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a kernel and line.")
    ] = False,
) -> None:
    """Print what was counted and measured, kernel by kernel."""
    from oneread.bench.prove import COUNTED_SHAPE, as_record
    from oneread.bench.prove import prove as proofs

    for proof in proofs(op):
        if as_json:
            say(json.dumps(as_record(proof)))
            continue
        say(styled(proof.kernel, "bold"))
        for head, text in _lines(proof):
            say(f"  {head:<9} {text}")
    if not as_json:
        rows, vocab = COUNTED_SHAPE
        say(f"counted: accesses an element, {rows} rows of {vocab:,} float32 (sort: rows of 4,096)")
        say("read: brought by loads into a cache of 32 KiB, which the counted build models")


def _lines(proof: "Proof") -> Iterator[tuple[str, str]]:
    yield "counted", "; ".join(_by_array(proof.accesses))
    a = proof.accesses
    total = _counted(sum(a) - a.reads, "access", "es")
    yield "", f"{total} in all; x is read {_times(a.reads)}"
    if proof.peak_bytes is None:
        yield "memory", f"not supported here: {proof.memory}"
    else:
        ratio = proof.peak_bytes / proof.arrays_bytes
        yield "memory", f"peak {ratio:.2f} of its arrays, {size_text(proof.arrays_bytes)}"
    if proof.miss_bytes is None:
        yield "hardware", f"not supported here: {proof.hardware}"
    else:
        yield "hardware", f"{size_text(proof.miss_bytes)} missed the last cache"


def _by_array(accesses: "Accesses") -> Iterator[str]:
    for name in _ARRAYS:
        loads, stores = getattr(accesses, f"{name}_loads"), getattr(accesses, f"{name}_stores")
        parts = [_counted(loads, "load"), _counted(stores, "store")]
        if loads or stores:
            yield f"{name} {', '.join(filter(None, parts))}"


def _counted(n: float, noun: str, plural: str = "s") -> str:
    number = _number(n)
    return f"{number} {noun}{'' if number == '1' else plural}" if n else ""


def _number(n: float) -> str:
    return f"{n:.2f}".rstrip("0").rstrip(".")


def _times(reads: float) -> str:
    text = _number(reads)
    return "once" if text == "1" else f"{text} times"
