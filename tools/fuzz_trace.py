"""Read and run kernels that were changed at random: what goes wrong is oneread's own error.

``python tools/fuzz_trace.py --count 100000`` runs that many; a seed and a number give the same text
again (``--seed 7 --only 1234`` prints it). What can be read is launched, small and under small
limits, then shown and written as a trace file; a few are probed and mended. Standard library only.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "src/oneread/kernels/gallery"
sys.path.insert(0, str(ROOT / "src"))

from oneread.cli import _trace_text  # noqa: E402
from oneread.source.errors import SourceError  # noqa: E402
from oneread.source.host import device_code, find_kernels  # noqa: E402
from oneread.source.text import SourceText  # noqa: E402
from oneread.spec.errors import OneReadError  # noqa: E402
from oneread.trace.case import Case  # noqa: E402
from oneread.trace.errors import LimitError  # noqa: E402
from oneread.trace.fixing import fix  # noqa: E402
from oneread.trace.front.settings import Settings  # noqa: E402
from oneread.trace.inputs import PATTERNS  # noqa: E402
from oneread.trace.limits import Limits  # noqa: E402
from oneread.trace.opening import Opened  # noqa: E402
from oneread.trace.probing import probe  # noqa: E402
from oneread.trace.refusals import REFUSALS  # noqa: E402
from oneread.trace.subject import Subject  # noqa: E402
from oneread.trace.subset import ACCEPTED  # noqa: E402
from oneread.trace.tracefile import describe, dumps  # noqa: E402

#: Longest time that one text may take, in seconds: far from what any needs on a slow core, but a
#: loop is longer.
SLOWEST_S = 20.0

#: What a launch may take: enough to reach the end of most, and to meet each limit now and then.
LIMITS = Limits(
    elements=4096, threads=128, blocks=16, steps=1500, accesses=5000, recorded=2000, seconds=2.0
)

#: Share of the texts that are probed and mended, too: a probe is dozens of launches.
PROBED = 0.02

#: How a text may end: refused as a text, as a launch, by a limit, or run to its end.
ENDS = ("refused", "unlaunched", "stopped", "ran")

#: Pieces that are put in: marks that open and close, words that lead elsewhere, odd characters.
PIECES = (
    *"(){}[]<>;,.:?=+-*/%&|^!~#\\\"'@$`",
    "<<", ">>", "::", "->", "...", "/*", "*/", "//", "\n", "\r\n", "\t", "\0", "\ud800", "é", "変",
    "#define X X\n", "#define F(a) F(a) a\n", "#if 1\n", "#endif\n", "#else\n", "#include <x>\n",
    "#include \"relu.cu\"\n", "#include \"../gallery.toml\"\n", "and ", "not ", "auto& ",
    "template <int N> ", "struct S { int a; };", "extern \"C\" {", "__global__ void z() {",
    "__shared__ ", "float4 ", "const ", "unsigned ", "return ", "for (;;) ", "if (x) ", "else ",
    "1e999f", "0x", "1'", "99999999999999999999", "'ab'", "\"", "R\"(", "operator", "std::",
   "auto ",    "(" * 300, "-" * 300, "{" * 300, "1+" * 300, "a[" * 300, "x?" * 300,
)  # fmt: skip


HEAD = "__global__ void k(const float* x, float* y, int* count, int vocab) {\n"
WORD = re.compile(r"\w+|[-+*/%<>=&|^!?~]+")


def gallery() -> list[str]:
    """Return the kernels of the gallery."""
    return [path.read_text("utf-8") for path in sorted(GALLERY.glob("*.cu"))]


def kernel(rng: random.Random) -> str:
    """Return a kernel of a few examples of the subset, now and then of what is outside of it."""
    rows = rng.sample(ACCEPTED, rng.randint(1, 6))
    outside = "\n".join(one.outside for one in rows)
    codes = [f"    {{ {one.code} }}" for one in rows]
    if rng.random() < 0.1:
        codes.append(f"    {{ {rng.choice(list(REFUSALS.values())).code} }}")
    return "\n".join([outside, HEAD, *codes, "}\n"])


def mutated(texts: Sequence[str], rng: random.Random) -> str:
    """Return one of the texts, or a new kernel, with a few random changes."""
    text = rng.choice(texts) if texts and rng.random() < 0.5 else kernel(rng)
    for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3, 8))):
        text = rng.choice(CHANGES)(text, rng)
    return text


def _span(text: str, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(text) + 1)
    return start, min(len(text), start + rng.choice((1, 1, 2, 5, 30)))


def _drop(text: str, rng: random.Random) -> str:
    start, stop = _span(text, rng)
    return text[:start] + text[stop:]


def _put(text: str, rng: random.Random) -> str:
    start, _ = _span(text, rng)
    return text[:start] + rng.choice(PIECES) + text[start:]


def _swap(text: str, rng: random.Random) -> str:
    start, stop = _span(text, rng)
    return text[:start] + rng.choice(PIECES) + text[stop:]


def _repeat(text: str, rng: random.Random) -> str:
    start, stop = _span(text, rng)
    return text[:stop] + text[start:stop] * rng.choice((1, 2, 50)) + text[stop:]


def _cut(text: str, rng: random.Random) -> str:
    return text[: _span(text, rng)[0]]


def _word(text: str, rng: random.Random) -> str:
    """Put one of the text's words or marks where another one is."""
    words = list(WORD.finditer(text))
    if not words:
        return text
    old = rng.choice(words)
    # A number for a number, a name for a name, a mark for a mark: more of these can be run.
    kind = old.group()[0].isdigit(), old.group()[0].isalpha()
    new = rng.choice([w for w in words if (w.group()[0].isdigit(), w.group()[0].isalpha()) == kind])
    return text[: old.start()] + new.group() + text[old.end() :]


CHANGES = (*[_word] * 12, _drop, _drop, _put, _put, _swap, _swap, _repeat, _cut)


#: Kernels that are asked for: the only one, or one that is not there or has no end.
KERNELS = ("", "", "k", "k<3>", "k<float, 4>", "k<(", "z", "top_k", "<", "k<k>", "変")

#: Macros of the command line, by name: what the gallery's sizes and the examples' names become.
DEFINES = ("TILE", "K_MAX", "WIDTH", "N", "x", "int", "1x", "")
MEANINGS = (
    "16",
    "32",
    "-1",
    "0",
    "1 << 40",
    "TILE",
    "x",
    "(",
    ")",
    "",
    "1.5f",
    "99999999999",
    "\0",
)

#: Arguments: sizes, patterns and roles, good and bad.
ARGUMENTS = (
    "rows*vocab", "rows*vocab:normal", "1", "vocab:out", "rows:inout:zeros", "8:-inf", "0", "-1",
    "rows/0", "1e9", "2**99", "vocab:", ":out", "nobody", "1.5", "9999999999999", "",
)  # fmt: skip


def settings(rng: random.Random) -> Settings:
    """Return how a text is read: mostly as it is."""
    if rng.random() < 0.8:
        return Settings()
    names = rng.sample(DEFINES, rng.choice((0, 1, 2)))
    return Settings(
        kernel=rng.choice(KERNELS),
        defines={name: rng.choice(MEANINGS) for name in names},
        folders=rng.choice(((), (GALLERY,), (GALLERY / "nowhere",))),
    )


def follow(text: str, rng: random.Random) -> str:
    """Read a text as everyone does, run it if it can be read, and return one of `ENDS`."""
    source = SourceText("fuzz.cu", text)
    find_kernels(source)
    device_code(source)
    how = settings(rng)
    subject = Subject(f"{text}\n", how.kernel, how.folders)
    asked = replace(case(rng), defines=how.defines)
    try:
        launches = Opened("fuzz.cu", subject).launch(asked)
        if rng.random() < PROBED:
            improve(subject, replace(asked, record=False))
    except OneReadError as error:
        str(error).encode("utf-8")  # a message can be printed
        if isinstance(error, SourceError):
            return "refused"
        return "stopped" if isinstance(error, LimitError) else "unlaunched"
    show(_trace_text.report(launches, [Opened("fuzz.cu", subject)], asked, (2, 1.0)))
    dumps(describe(launches))
    return "ran"


def improve(subject: Subject, asked: Case) -> None:
    """Probe a kernel and mend it, as the command line does."""
    found = probe(subject, asked)
    show(_trace_text.probe(found, subject))
    show(_trace_text.fix(fix(subject, found.cases)))


def show(lines: Iterable[str]) -> None:
    """See that lines can be printed."""
    "\n".join(lines).encode("utf-8")


def case(rng: random.Random) -> Case:
    """Return a small launch of any kind."""
    return Case(
        rows=rng.choice((1, 2, 3)),
        vocab=rng.choice((1, 31, 32, 70)),
        k=rng.choice((1, 3)),
        block=rng.choice((None, None, 1, 32, 33, 64, (8, 4))),
        input=rng.choice(list(PATTERNS)),
        arguments={
            name: rng.choice(ARGUMENTS)
            for name in rng.sample(("x", "y", "vocab", "count", "z"), rng.choice((0,) * 8 + (1, 2)))
        },
        schedule=rng.choice(("in-order", "in-order", "reverse", "random:1", "switch:1")),
        record=rng.choice((False, False, True, (0,))),
        limits=LIMITS,
    )


def fuzz(count: int, seed: int) -> tuple[dict[str, int], list[str]]:
    """Follow so many changed texts; return how they ended and one line for each that crashed."""
    texts = gallery()
    ends = dict.fromkeys(ENDS, 0)
    crashes: list[str] = []
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        text = mutated(texts, rng)
        start = time.process_time()
        try:
            ends[follow(text, rng)] += 1
        except Exception as crash:
            where = traceback.extract_tb(crash.__traceback__)[-1]
            crashes.append(
                f"--seed {seed} --only {number}: {type(crash).__name__}: {crash} "
                f"({Path(where.filename).name}:{where.lineno})"
            )
        took = time.process_time() - start
        if took > SLOWEST_S:
            crashes.append(f"--seed {seed} --only {number}: took {took:.1f} s")
    return ends, crashes


def main() -> int:
    """Fuzz, and print what crashed; 1 when something did."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="print this text and follow it")
    options = parser.parse_args()
    if options.only is not None:
        rng = random.Random(f"{options.seed}/{options.only}")
        text = mutated(gallery(), rng)
        print(text.encode("utf-8", "backslashreplace").decode())
        print(follow(text, rng))
        return 0
    ends, crashes = fuzz(options.count, options.seed)
    print("\n".join([*crashes[:50], f"{ends}, {len(crashes)} crashed"]))
    return 1 if crashes else 0


if __name__ == "__main__":
    sys.exit(main())
