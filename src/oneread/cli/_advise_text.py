"""What `oneread sass advise` shows: changes, what they cost in meaning, and numbers.

Returns lines and prints nothing.
"""

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from oneread.cli._console import styled
from oneread.cli._inspect_text import table

if TYPE_CHECKING:
    from oneread.sass import Program
    from oneread.sass.advice.advising import Example, Measures, Proof

_WIDTH = 96
#: What is advised; below, what it changes besides the code.
_SAID = {
    "ternary": """
        take the larger or smaller value with fmaxf or fminf
        NaN is treated otherwise: a > b ? a : b is b if either is NaN, fmaxf(a, b) the one that is
        none. The compiler may not make FMNMX of the comparison for that reason.""",
    "reciprocal": """
        take 1 / d once, before the loop
        Results are rounded twice and may differ in the last bit; 1 / d of a d below 2.9e-39 is
        infinite.""",
    "exp2": """
        take powers of two: exp(a - b) is exp2(a log2(e) - b log2(e))
        The products are rounded before they are subtracted: the relative error grows by about
        |b| * 2^-24, where a - b of near numbers has none; what is beyond 2.3e38 becomes infinite.
        """,
    "wide-loads": """
        load 16 bytes a lane
        It takes rows that begin at multiples of 16 bytes, or code for their ends.""",
    "one-rescale": """
        take the maximum of four elements, and rescale the sum once for them
        The sum is added up in another order.""",
}
_NAMES = {
    "each": "instructions an element",
    "mufu_each": "MUFU an element",
    "alone": "cycles an element, a warp alone",
    "load_bytes": "bytes of the widest load",
    "instructions": "instructions in the code",
    "registers": "registers",
    "divisions_in_loops": "divisions in loops",
}


def advice(
    program: "Program",
    proofs: "Sequence[Proof]",
    examples: "Sequence[Example]",
    as_markdown: bool,
) -> Iterator[str]:
    """Yield what is advised, the changes first that were compiled."""
    head = f"{program.short_name} ({program.arch})"
    yield f"# {head}" if as_markdown else styled(head, "bold")
    if not proofs and not examples:
        yield ""
        yield "Nothing is known that would make it shorter."
    elif not proofs:
        yield ""
        yield "Nothing in the source is known that would make it shorter; another kernel might be."
    for proof in proofs:
        yield from _head(proof.id, _lines(proof.lines), as_markdown)
        yield from ["```diff"] * as_markdown
        for old, new in proof.diff:
            yield from (f"- {old}", f"+ {new}")
        yield from ["```"] * as_markdown
        yield ""
        if proof.after is None:
            yield f"The compiler refuses it: {proof.refusal}"
        else:
            yield from _measures(("before", "after"), proof.before, proof.after, as_markdown)
    for example in examples:
        own = f"for {_lines(example.lines)}; " if example.lines else ""
        yield from _head(example.id, f"{own}by two kernels of the gallery", as_markdown)
        yield "They differ in more than this: the second has a row a warp, and shuffles."
        yield ""
        yield from _measures(example.kernels, example.before, example.after, as_markdown)
        yield ""
        for took in example.took:
            change = took.after_us / took.before_us - 1
            yield (
                f"{took.rows} x {took.vocab} took {took.before_us:.1f} and {took.after_us:.1f} us "
                f"on an {took.device} ({change:+.0%}; default maths)."
            ) + "  " * as_markdown


def as_json(
    program: "Program",
    proofs: "Sequence[Proof]",
    examples: "Sequence[Example]",
    as_markdown: bool,
) -> Iterator[str]:
    """Yield the same as one record."""
    found = {
        "kernel": program.short_name,
        "arch": program.arch,
        "changes": [asdict(one) for one in proofs],
        "examples": [asdict(one) for one in examples],
    }
    yield json.dumps(found, allow_nan=False)


def _head(name: str, place: str, as_markdown: bool) -> Iterator[str]:
    what, *more = (line.strip() for line in _SAID[name].strip().splitlines())
    but = " ".join(more)
    title = f"{what[0].upper()}{what[1:]} ({place})"
    yield ""
    yield from (f"## {title}", "") if as_markdown else (styled(title, "bold"),)
    yield from [but] if as_markdown else textwrap.wrap(but, _WIDTH)
    yield from [""] * as_markdown


def _lines(numbers: Sequence[int]) -> str:
    return f"line{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def _measures(
    names: tuple[str, str], before: "Measures", after: "Measures", as_markdown: bool
) -> Iterator[str]:
    """Yield a table of two builds, with the change of each number."""
    order = sorted((field.name for field in fields(before)), key=list(_NAMES).index)
    rows = []
    for name in order:
        values = getattr(before, name), getattr(after, name)
        if None not in values:
            change = values[1] - values[0]
            rows.append(
                (_NAMES[name], *map(_number, values), _number(change, "+") if change else "")
            )
    yield from table(("", *names, "change"), rows, as_markdown)


def _number(value: float, sign: str = "") -> str:
    return f"{value:{sign}.2f}" if isinstance(value, float) else f"{value:{sign}d}"
