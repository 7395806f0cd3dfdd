"""Lines of machine code that a note quotes, looked for in fresh builds of the kernel it is about.

The note may be in any language: a line of machine code is known by its opcode. Addresses are not
compared, as they are a build's own. Knows no view.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from oneread.runtime import nvrtc
from oneread.sass.analysis import analyse
from oneread.sass.claims import Claim
from oneread.sass.decode.opcodes import PIPES
from oneread.sass.errors import MachineCodeError
from oneread.sass.read.opening import Build, Code, compile_source
from oneread.sass.summary import Summary, summarise
from oneread.source.text import SourceText
from oneread.spec import KernelCompileError

#: A line of a note that may be an instruction: perhaps an address, a guard; the opcode; the rest.
_LINE: Final = re.compile(
    r"[ \t]*(?:/\*[0-9a-f]{4,8}\*/[ \t]*)?((?:@!?U?P[0-9T][ \t]+)?([A-Z][A-Z0-9]+)\b[^;\n]*?)"
    r"[ \t]*(;?)[ \t]*(?:/\*.*)?",
    re.ASCII,
)
_ELISION: Final = re.compile(r"\.\.\.|\N{HORIZONTAL ELLIPSIS}")
#: What a note may leave out: that an operand is kept, and the descriptor of later targets.
_LEFT_OUT: Final = re.compile(r"\.reuse\b|\bdesc\[UR\d+\](?=\[)", re.ASCII)
#: A piece of CUDA C as `explain --md` writes it: all that the kernel is compiled from.
_FENCED: Final = re.compile(r"^```cuda\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: What notes leave out at the top of a kernel.
PRELUDE: Final = "#include <float.h>\n#include <math.h>\n"


@dataclass(frozen=True, slots=True)
class Quote:
    """A line of machine code in a note: its text, its line, and whether parts are left out."""

    text: str
    line: int
    is_elided: bool


#: What becomes of a claim in a build; ``otherwise``: it holds, and the line that it quotes is not
#: there.
Verdict: TypeAlias = Literal["holds", "otherwise", "fails"]


class Tried(NamedTuple):
    """A build: the quotes that it has, its properties (those of the first kernel), its lines.

    ``compiler`` is the version of NVRTC, such as ``13.5``.
    """

    build: Build
    compiler: str
    found: frozenset[Quote]
    summary: Summary
    lines: frozenset[str]

    def verdict(self, claim: Claim) -> Verdict:
        """Judge a claim."""
        if claim.failing(self.summary):
            return "fails"
        is_worded = not claim.quote or _is_among(_normal(claim.quote), self.lines)
        return "holds" if is_worded else "otherwise"


@dataclass(frozen=True)
class Checked:
    """The different quotes of a note, and the builds that were tried."""

    quotes: tuple[Quote, ...]
    tried: tuple[Tried, ...]

    @property
    def compilers(self) -> tuple[str, ...]:
        """Return the versions of NVRTC that were tried."""
        return tuple(dict.fromkeys(one.compiler for one in self.tried))

    @property
    def best(self) -> tuple[Build, ...]:
        """Return the builds with the most quotes, in the order in which they were tried.

        Whole lines count before patterns, which many builds have.
        """
        counts = [
            (sum(not each.is_elided for each in one.found), len(one.found)) for one in self.tried
        ]
        most = max(counts, default=(0, 0))
        return tuple(
            one.build
            for one, count in zip(self.tried, counts, strict=True)
            if one.found and count == most
        )

    @property
    def missing(self) -> tuple[Quote, ...]:
        """Return the quotes that no build has."""
        found = frozenset[Quote]().union(*(one.found for one in self.tried))
        return tuple(one for one in self.quotes if one not in found)


def check_note(
    text: str, builds: Iterable[Build], source: str | None = None, name: str = "note"
) -> Checked:
    """Look for the lines that a note quotes in builds of its kernel.

    Parameters
    ----------
    text : str
        The note.
    builds : iterable of Build
        Targets and options to try.
    source : str, optional
        The kernel's source; the kernels in the note if left out.
    name : str
        What to call the note where it is refused.

    Returns
    -------
    Checked
        Which build has which line.

    Raises
    ------
    MachineCodeError
        When the note quotes nothing, or has no kernel and no source is given.
    KernelCompileError
        When the compiler refuses the source.
    """
    quotes = tuple(find_quotes(text))
    if not quotes:
        raise MachineCodeError(f"{name}: quotes no line of machine code")
    is_given = source is not None
    if source is None:
        fenced = [one for one in _FENCED.findall(text) if "__global__" in one]
        kernels = fenced or list(find_sources(text))
        if not kernels:
            raise MachineCodeError(f"{name}: has no kernel in it; give its source")
        source = PRELUDE + "\n".join(kernels)
    tried = []
    for build in builds:
        code = _compiled(SourceText(f"{name}.cu", source), build, is_given)
        lines = frozenset(
            _normal(one.text) for program in code.programs for one in program.instructions
        )
        found = frozenset(one for one in quotes if _is_among(one.text, lines))
        compiler = ".".join(map(str, nvrtc.version(build.nvrtc)))
        tried.append(Tried(build, compiler, found, summarise(analyse(code.programs[0])), lines))
    return Checked(quotes, tuple(tried))


def _compiled(source: SourceText, build: Build, is_given: bool) -> Code:
    """Compile what a note is about; where the note is no whole source, say what helps."""
    try:
        return compile_source(source, build)
    except KernelCompileError as error:
        hint = "" if is_given else "; give the whole source by --source, a macro by -D"
        raise KernelCompileError(f"{error}{hint}", error.log) from None


def find_quotes(text: str) -> Iterator[Quote]:
    """Yield the lines of a text that are machine code, each once.

    A line ends with a semicolon, or leaves something out by an ellipsis.
    """
    seen: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        found = _LINE.fullmatch(line.strip("` "))
        if found is None or found[2] not in PIPES:
            continue
        shown = _normal(found[1])
        is_elided = _ELISION.search(shown) is not None
        if (found[3] or is_elided) and shown not in seen:
            seen.add(shown)
            yield Quote(shown, number, is_elided)


def find_sources(text: str) -> Iterator[str]:
    """Yield the kernels in a text, from the line of `__global__` to the brace that closes it."""
    at = 0
    while (start := text.find("__global__", at)) >= 0:
        opening = text.find("{", start)
        depth, at = 0, opening if opening >= 0 else len(text)
        while at < len(text):
            depth += (text[at] == "{") - (text[at] == "}")
            at += 1
            if depth == 0:
                yield text[text.rfind("\n", 0, start) + 1 : at]
                break


def _is_among(quote: str, lines: frozenset[str]) -> bool:
    """Say whether a quote is one of the lines, or leaves something out of one."""
    if not _ELISION.search(quote):
        return quote in lines
    form = re.compile(".*".join(map(re.escape, _ELISION.split(quote))))
    return any(form.fullmatch(line) for line in lines)


def _normal(text: str) -> str:
    """Return an instruction's text as all notes and disassemblers could have it."""
    short = _LEFT_OUT.sub("", text)
    return re.sub(r"[ \t]*,[ \t]*", ", ", " ".join(short.split()))
