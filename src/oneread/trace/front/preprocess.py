"""The preprocessor: directives obeyed, macros expanded, files included.

Knows lines of tokens and nothing of C beyond. What it leaves out (includes of unknown headers) it
lists; errors in directives do not end the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from oneread.source.errors import SourceError
from oneread.source.includes import KNOWN_HEADERS
from oneread.source.text import SourceText
from oneread.source.tokens import Token, tokenize
from oneread.trace.front.conditions import value_of
from oneread.trace.front.macros import Expander, Macro
from oneread.trace.front.report import Refused, Report, guess
from oneread.trace.front.settings import Settings

#: What nvcc and NVRTC define where device code is compiled.
PREDEFINED: Final[Mapping[str, str]] = {
    "__CUDACC__": "1", "__CUDA_ARCH__": "900", "__cplusplus": "201703L",
}  # fmt: skip

_DIRECTIVES: Final = frozenset(
    {
        "define", "undef", "include", "if", "ifdef", "ifndef", "elif", "else", "endif", "error",
        "warning", "pragma", "line",
    }
)  # fmt: skip


@dataclass(slots=True)
class _Branch:
    """An open `#if`: whether its lines count now, and whether any branch has counted yet."""

    opening: Token
    counts: bool
    taken: bool
    has_else: bool = False


class Preprocessor:
    """One run over a file and what it includes.

    Parameters
    ----------
    settings : Settings
        Macros, folders and limits.
    report : Report
        Takes what is wrong, and the texts that were read.
    """

    def __init__(self, settings: Settings, report: Report) -> None:
        self.settings = settings
        self.report = report
        self.macros: dict[str, Macro] = {}
        self.unknown_headers: list[tuple[str, int]] = []
        self.tokens: list[Token] = []
        self.expander = Expander(self.macros, report)
        #: Names that a misspelt directive would have defined.
        self.lost: set[str] = set()
        self.once: set[str] = set()
        self.included = 0
        for name, text in {**PREDEFINED, **settings.defines}.items():
            self.command_line(name, text)

    def command_line(self, name: str, text: str) -> None:
        source = SourceText(f"<define {name}>", text)
        self.report.files[source.name] = source
        self.report.macros[name] = source.position(0, max(1, len(text)))
        *body, end = tokenize(source)
        if not name.isidentifier():
            self.report.error("define-name", end, name=name)
        self.macros[name] = Macro(name, None, tuple(body), end.position)

    def run(self, source: SourceText) -> list[Token]:
        """Return the tokens of a file with everything obeyed; one of kind ``end`` last."""
        end = self.file(source, 0)
        return [*_without_pragmas(self.tokens), end]

    def integers(self) -> dict[str, int]:
        """Return the macros that are integer arithmetic, with their values.

        Raises
        ------
        SourceError
            When all of them together make more tokens than one file may have.
        """
        found: dict[str, int] = {}
        limits, scratch = self.settings.limits, Report(self.settings.limits)
        expander = Expander(self.macros, scratch)
        for name, macro in self.macros.items():
            if macro.parameters is None and macro.body and name not in PREDEFINED:
                with suppress(Refused, SourceError):
                    body = list(expander.expand(list(macro.body)))
                    if not any(token.kind == "name" for token in body):
                        found[name] = value_of(macro.body[0], body, scratch)
            if expander.produced > limits.tokens:
                raise self.report.fatal("too-many-tokens", macro.position, limit=limits.tokens)
        return found

    def unused(self) -> dict[str, str]:
        """Return the macros of the settings that the text never names, each with a near one."""
        named = self.expander.named
        return {name: guess(name, named) for name in self.settings.defines if name not in named}

    def file(self, source: SourceText, depth: int) -> Token:
        size = len(source.text.encode("utf-8", "surrogatepass"))
        self.report.files[source.name] = source
        tokens = tokenize(source)
        limit = self.settings.limits.source_bytes
        if size > limit:
            raise self.report.fatal("too-large", tokens[0].position, size=size, limit=limit)
        conditions: list[_Branch] = []
        text: list[Token] = []
        at = 0
        while tokens[at].kind != "end":
            token = tokens[at]
            if not (token.first and token.text == "#" and token.kind == "mark"):
                if all(one.counts for one in conditions):
                    text.append(token)
                at += 1
                continue
            stop = at + 1
            while not tokens[stop].first and tokens[stop].kind != "end":
                stop += 1
            # A macro's arguments may run over lines; a directive ends them all the same.
            self.flush(text)
            self.directive(tokens[at + 1 : stop], source, conditions, depth)
            at = stop
        self.flush(text)
        for one in conditions:
            self.report.error("if-open", one.opening, name=one.opening.text)
        return tokens[at]

    def flush(self, text: list[Token]) -> None:
        """Expand the lines gathered so far; of one that fails, the rest is lost."""
        for token in text:
            if token.kind == "bad" and token.text == "comment-open":
                self.report.error(token.text, token)  # it hides all that follows
        with suppress(Refused):
            self.tokens.extend(self.expander.expand(text))
        text.clear()
        limit = self.settings.limits.tokens
        if len(self.tokens) > limit:
            raise self.report.fatal("too-many-tokens", self.tokens[-1].position, limit=limit)

    def directive(
        self, line: list[Token], source: SourceText, conditions: list[_Branch], depth: int
    ) -> None:
        if not line:
            return
        name, rest = line[0], line[1:]
        with suppress(Refused):
            if name.text in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
                self.conditional(name, rest, conditions)
            elif all(one.counts for one in conditions):
                self.obey(name, rest, source, depth)

    def obey(self, name: Token, rest: list[Token], source: SourceText, depth: int) -> None:
        match name.text:
            case "define":
                self.define(name, rest)
            case "undef":
                undefined = self.macro_name(name, rest).text
                if undefined not in self.settings.defines:  # the command line has the last word
                    self.macros.pop(undefined, None)
            case "include":
                self.include(name, rest, source, depth)
            case "error":
                words = " ".join(token.text for token in rest if token.kind != "bad")
                raise self.report.error("error-directive", name, text=words)
            case "pragma":
                if [token.text for token in rest] == ["once"]:
                    self.once.add(source.name)
            case "line" | "warning":
                pass
            case other:
                close = guess(other, _DIRECTIVES)
                hint = "did-you-mean-directive" if close else ""
                self.report.error("directive-unknown", name, hint, name=other, guess=close)
                if close == "define" and rest:
                    self.lost.add(rest[0].text)

    def macro_name(self, directive: Token, rest: list[Token]) -> Token:
        if not rest or rest[0].kind != "name" or rest[0].text == "defined":
            raise self.report.error("macro-name", rest[0] if rest else directive)
        return rest[0]

    def define(self, directive: Token, rest: list[Token]) -> None:
        name = self.macro_name(directive, rest)
        self.expander.named.add(name.text)
        body = rest[1:]
        if name.text in self.settings.defines:
            return  # the command line has the last word
        parameters: tuple[str, ...] | None = None
        variadic = False
        if body and body[0].text == "(" and not body[0].spaced:
            parameters, variadic, body = self.parameters(name, body)
        self.report.macros[name.text] = name.position
        self.macros[name.text] = Macro(name.text, parameters, tuple(body), name.position, variadic)

    def parameters(
        self, name: Token, body: list[Token]
    ) -> tuple[tuple[str, ...], bool, list[Token]]:
        names: list[str] = []
        at = 1
        while at < len(body) and body[at].text != ")":
            token = body[at]
            if token.text == "...":
                if at + 1 < len(body) and body[at + 1].text == ")":
                    return tuple(names), True, body[at + 2 :]
                break
            if token.kind != "name" or token.text in names:
                break
            names.append(token.text)
            at += 1
            if at < len(body) and body[at].text == "," and body[at + 1 : at + 2] != []:
                at += 1
        if at < len(body) and body[at].text == ")":
            return tuple(names), False, body[at + 1 :]
        raise self.report.error("macro-parameters", name, name=name.text)

    def conditional(self, name: Token, rest: list[Token], conditions: list[_Branch]) -> None:
        outer = all(one.counts for one in conditions[:-1])
        if name.text in ("if", "ifdef", "ifndef"):
            outer = outer and (not conditions or conditions[-1].counts)
            holds = False
            conditions.append(_Branch(name, False, True))  # should the line be wrong
            if outer:
                holds = self.holds(name, rest)
            conditions[-1] = _Branch(name, holds, holds or not outer)
            return
        if not conditions:
            raise self.report.error("if-lost", name, name=name.text)
        here = conditions[-1]
        if name.text == "endif":
            conditions.pop()
        elif here.has_else:
            raise self.report.error("else-twice", name, name=name.text)
        elif name.text == "else":
            here.counts, here.taken, here.has_else = not here.taken, True, True
        elif here.taken:
            here.counts = False
        else:
            here.taken = True  # should the line be wrong
            here.counts = here.taken = outer and self.holds(name, rest)

    def holds(self, name: Token, rest: list[Token]) -> bool:
        if name.text in ("ifdef", "ifndef"):
            macro = self.macro_name(name, rest).text
            self.expander.named.add(macro)
            return (macro in self.macros) == (name.text == "ifdef")
        answered: list[Token] = []
        at = 0
        while at < len(rest):
            if rest[at].text == "defined":
                bracket = at + 1 < len(rest) and rest[at + 1].text == "("
                wanted = self.macro_name(rest[at], rest[at + 1 + bracket :])
                at += 2 + 2 * bracket
                if bracket and (at > len(rest) or rest[at - 1].text != ")"):
                    raise self.report.error("if-malformed", name)
                self.expander.named.add(wanted.text)
                text = "1" if wanted.text in self.macros else "0"
                answered.append(Token("number", text, wanted.position))
            else:
                answered.append(rest[at])
                at += 1
        return value_of(name, list(self.expander.expand(answered)), self.report) != 0

    def include(self, name: Token, rest: list[Token], source: SourceText, depth: int) -> None:
        if rest and rest[0].kind == "string" and rest[0].text.startswith('"'):
            wanted = rest[0].text[1:-1]
        elif len(rest) > 2 and rest[0].text == "<" and rest[-1].text == ">":
            wanted = "".join(token.text for token in rest[1:-1])
        else:
            raise self.report.error("include-malformed", rest[0] if rest else name)
        if wanted in KNOWN_HEADERS:
            return
        # The first file has but a name; of one that was found the folder is known.
        own = (Path(source.name).parent,) if depth else ()
        found = self.find(wanted, own) if rest[0].kind == "string" else None
        if found is None:
            self.unknown_headers.append((wanted, name.position.line))
            self.report.missing += [wanted] * (rest[0].kind == "string")
            return
        if depth >= self.settings.limits.include_depth:
            limit = self.settings.limits.include_depth
            raise self.report.error("include-depth", name, name=wanted, limit=limit)
        if found.name in self.once:
            return
        self.included += 1
        if self.included > self.settings.limits.files:
            limit = self.settings.limits.files
            raise self.report.fatal("include-many", name.position, limit=limit)
        self.file(found, depth + 1)

    def find(self, wanted: str, own: tuple[Path, ...]) -> SourceText | None:
        """Return the file that is meant, from beside the one that asks or the given folders."""
        for folder in (*own, *self.settings.folders):
            path = folder / wanted
            try:
                inside = path.resolve().is_relative_to(folder.resolve())
                if inside and path.is_file():
                    return read_file(path, self.settings.limits.source_bytes)
            except (OSError, ValueError):
                continue
        return None


def _without_pragmas(tokens: list[Token]) -> Iterator[Token]:
    """Leave out ``_Pragma("...")``, which has no effect on a trace."""
    at = 0
    while at < len(tokens):
        word, *rest = tokens[at : at + 4]
        if word.text == "_Pragma" and [one.text for one in rest[::2]] == ["(", ")"]:
            at += 4
        else:
            yield word
            at += 1


def whole_numbers(defines: Mapping[str, str]) -> dict[str, int]:
    """Return the macros of a command line that are integer arithmetic, with their values."""
    settings = Settings(defines=defines)
    return Preprocessor(settings, Report(settings.limits)).integers()


def read_file(path: Path, limit: int) -> SourceText:
    """Return a file's text; a byte more than the limit at most, which shows that it is too long."""
    with path.open("rb") as file:
        return SourceText(str(path), file.read(limit + 1).decode("utf-8-sig", "replace"))
