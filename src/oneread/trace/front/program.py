"""A kernel and all that it reaches, from text to the typed tree: the front end's one entrance.

Knows the order of the steps and which functions are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from oneread.source.errors import Diagnostic, SourceError
from oneread.source.host import WHAT, Skipped, is_host_code, launches
from oneread.source.launches import HostLaunch, find_launches
from oneread.source.outline import Piece, declared, outline, reached
from oneread.source.text import Position, SourceText
from oneread.source.tokens import tokenize
from oneread.trace import tree
from oneread.trace.front import syntax
from oneread.trace.front.functions import Functions
from oneread.trace.front.mending import mend_braces, mend_words
from oneread.trace.front.names import TYPE_NAMES, Constant
from oneread.trace.front.preprocess import Preprocessor
from oneread.trace.front.report import Refused, Report, guess
from oneread.trace.front.settings import Settings
from oneread.trace.front.statements import Parser
from oneread.trace.types import SCALARS

_FUNCTIONS: Final = ("kernel", "device", "host")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What came of a file: the program, and what of the file is no part of it."""

    program: tree.Program
    skipped: tuple[Skipped, ...]
    #: Macros that the text names and that are whole numbers at its end, those of the settings too.
    macros: Mapping[str, int]
    #: Macros of the settings that the text never names, each with a near one of it or nothing.
    unused: Mapping[str, str]
    #: Constants of the file that are whole numbers, as far as the kernel reaches them.
    constants: Mapping[str, int]
    #: Launches of the kernel in the file's host code.
    launches: Sequence[HostLaunch]


def load_program(source: SourceText, settings: Settings | None = None) -> Loaded:
    """Read a file and check the kernel that is meant, with all that it reaches.

    Parameters
    ----------
    source : SourceText
        The file.
    settings : Settings, optional
        Which kernel, which macros, how far to go.

    Returns
    -------
    Loaded
        The typed tree of the kernel, and what was left out of the file.

    Raises
    ------
    SourceError
        When the text cannot be read: all errors that were found, in the order of the text.
    """
    settings = settings or Settings()
    report = Report(settings.limits)
    try:
        return _File(source, settings, report).load()
    except RecursionError:
        # Within the limit of nesting only a caller who is deep in its own stack gets here.
        where = Position(source.name, 1, 1)
        raise report.fatal("stack", where, limit=settings.limits.nesting) from None


class _File:
    """One run over a file."""

    def __init__(self, source: SourceText, settings: Settings, report: Report) -> None:
        self.settings = settings
        self.report = report
        self.source = source
        preprocessor = Preprocessor(settings, report)
        self.tokens = preprocessor.run(source)
        self.unknown_headers = preprocessor.unknown_headers
        named = preprocessor.expander.named
        self.macros = {name: n for name, n in preprocessor.integers().items() if name in named}
        self.unused = preprocessor.unused()
        self.slips = mend_words(self.tokens)
        self.pieces, self.problems = outline(self.tokens)
        self.mended: list[Diagnostic] = []
        if self.problems:
            self.mend_braces()
        self.parser = Parser(self.tokens, report)
        self.parser.scopes = [dict.fromkeys(TYPE_NAMES, True), {}]
        self.parser.templates = {
            piece.name for piece in self.pieces if piece.is_template and piece.kind in _FUNCTIONS
        }
        self.functions = Functions(self.parser, report)
        self.functions.lost |= preprocessor.lost
        self.functions.known_names |= preprocessor.macros.keys()
        for piece in self.pieces:
            self.functions.known_names |= declared(piece, self.tokens)

    def mend_braces(self) -> None:
        """Match the braces as the lines are indented, if that matches all of them."""
        tokens, mended = mend_braces(self.tokens)
        pieces, problems = outline(tokens) if tokens else ([], self.problems)
        if not problems:
            self.tokens, self.pieces, self.problems, self.mended = tokens, pieces, [], mended

    def load(self) -> Loaded:
        for problem in self.mended:
            self.report.add(problem)
        kernel = self.chosen()
        keep = reached(self.pieces, self.tokens, kernel.name)
        heads: list[syntax.FunctionHead] = []
        for piece in self.pieces:
            if piece.start in keep:
                self.report_slips(piece)
                with suppress(Refused):
                    heads += self.piece(piece)
        if self.problems:
            self.only_parse(heads)
        program = None
        with suppress(Refused):
            program = self.functions.program(self.head_of(kernel, heads), self.arguments())
        self.report.stop()
        assert program is not None, "what is refused is reported"
        return Loaded(
            program,
            tuple(sorted(self.skipped(), key=lambda one: one.line)),
            self.macros,
            self.unused,
            self.constants(),
            self.launches(),
        )

    def report_slips(self, piece: Piece) -> None:
        """Report the words of a declaration that were mended."""
        for token in self.tokens[piece.start : piece.stop] if self.slips else ():
            if name := self.slips.get(token.position):
                self.report.error("word", token, "did-you-mean", name=name, guess=token.text)

    def constants(self) -> dict[str, int]:
        """Return the integers that names of the file stand for."""
        return {
            name: int(meaning.value)
            for name, meaning in self.functions.file.items()
            if isinstance(meaning, Constant) and meaning.type.kind == "int"
        }

    def launches(self) -> list[HostLaunch]:
        """Return how the file launches the kernel, in lines that no condition leaves out."""
        _, _, rest = self.settings.kernel.partition("<")
        name, template = self.wanted() or self.kernels()[0], "".join(rest.split()).rstrip(">")
        lines = {one.line for one in launches(self.tokens) if one.name == name}

        def is_meant(one: HostLaunch) -> bool:
            known = ",".join(str(self.macros.get(part, part)) for part in one.template)
            return one.line in lines and (not template or known in ("", template))

        return list(filter(is_meant, find_launches(self.source, name) if lines else ()))

    def only_parse(self, heads: Sequence[syntax.FunctionHead]) -> None:
        """End the run of a file whose braces do not match: what its names mean is not known."""
        for head in heads:
            if head.body is not None:
                self.functions.body(head)
        # An error within the braces may be why they do not match, and says it better.
        if not self.report.failed or self.problems[0].id == "bracket-lost":
            self.report_problems()
        self.report.stop()

    def report_problems(self) -> None:
        for problem in self.problems:
            self.report.add(problem)

    def wanted(self) -> str:
        """Return the name that the settings give, without template arguments and namespaces."""
        return self.settings.kernel.partition("<")[0].rpartition("::")[2].strip()

    def kernels(self) -> list[str]:
        found = [one.name for one in self.pieces if one.kind == "kernel" and self.has_body(one)]
        return list(dict.fromkeys(found))

    def has_body(self, piece: Piece) -> bool:
        return self.tokens[piece.body].text == "{"

    def chosen(self) -> Piece:
        """Return the kernel that is meant."""
        wanted, names = self.wanted(), self.kernels()
        if not names:
            raise self.no_kernel()
        known = ", ".join(names)
        if not wanted and len(names) > 1:
            raise self.report.fatal("which-kernel", Position(self.source.name, 1, 1), known=known)
        if wanted and wanted not in names:
            close = guess(wanted, names)
            message = "kernel-unknown-guess" if close else "kernel-unknown"
            where = Position(self.source.name, 1, 1)
            raise self.report.fatal(message, where, name=wanted, known=known, guess=close)
        wanted = wanted or names[0]
        first, *others = [
            one
            for one in self.pieces
            if one.name == wanted and one.kind == "kernel" and self.has_body(one)
        ]
        if others:
            where = self.tokens[others[0].start].position
            raise self.report.fatal("kernel-twice", where, name=wanted)
        return first

    def no_kernel(self) -> SourceError:
        """Return the error of a file without a kernel."""
        self.report_problems()
        self.report.stop()  # an error before may be why there is none
        return self.report.fatal("no-kernel", Position(self.source.name, 1, 1))

    def piece(self, piece: Piece) -> Iterator[syntax.FunctionHead]:
        """Parse a declaration of the file and make what it brings known."""
        parser = self.parser
        parser.at, parser.depth, parser.astray = piece.start, 0, False
        if piece.kind in _FUNCTIONS:
            if piece.kind == "host":
                self.functions.host[piece.name] = self.tokens[piece.start].position
                return
            if parser.sees("template") and parser.ahead().text != "<":
                return  # an explicit instantiation: what a call needs is made anyway
            head = self.head(piece)
            self.functions.add(head)
            yield head
            return
        if parser.sees("namespace"):
            return  # a second name of one; what is named by it is refused where it stands
        try:
            statement = self.declaration(piece)
            if not self.problems:  # else it may be a piece of a function
                self.functions.file_level(statement)
        except Refused:
            self.lose(piece)
            raise

    def lose(self, piece: Piece) -> None:
        """Note the names of a declaration that could not be read: they are not missed later."""
        self.functions.lost |= declared(piece, self.tokens)

    def declaration(self, piece: Piece) -> syntax.Statement | None:
        parser = self.parser
        if piece.kind in ("type", "alias") and parser.begins_struct():
            return parser.struct_or_enum()
        if piece.kind == "alias":
            return parser.alias()
        if piece.kind == "assert":
            return parser.static_assert()
        if parser.sees("template"):
            raise parser.report.outside("a template of a struct or variable", parser.token)
        return parser.variables()

    def head(self, piece: Piece) -> syntax.FunctionHead:
        scopes = len(self.parser.scopes)
        self.parser.scopes.append({})
        try:
            found = self.parser.function_head()
            self.parser.scopes[scopes - 1].setdefault(found.name, False)
            return found
        except Refused:
            self.lose(piece)
            raise
        finally:
            self.functions.template_scopes[piece.start] = self.parser.scopes[scopes]
            del self.parser.scopes[scopes:]

    def head_of(self, kernel: Piece, heads: Sequence[syntax.FunctionHead]) -> syntax.FunctionHead:
        for head in heads:
            if head.start == kernel.start:
                return head
        raise Refused

    def launched_with(self) -> str:
        """Return the template arguments of the first launch, if what they are is in the text."""
        template = next((one.template for one in self.launches()), ())
        types = {kind.name for kind in SCALARS} | TYPE_NAMES
        known = types | self.functions.file.keys() | self.macros.keys() | {"true", "false"}
        plain = template and all(part.isdigit() or part in known for part in template)
        return f"<{', '.join(template)}>" if plain else ""

    def arguments(self) -> tuple[syntax.TypeId | syntax.Expr, ...] | None:
        """Parse the template arguments of the kernel as the settings or its launch give them."""
        _, bracket, rest = self.settings.kernel.partition("<")
        written = bracket + rest or self.launched_with()
        if not written:
            return None
        text = SourceText("<kernel>", written)
        self.report.files[text.name] = text
        parser = Parser(tokenize(text), self.report)
        parser.scopes = self.parser.scopes
        found = parser.template_arguments()
        if parser.token.kind != "end":
            raise parser.expected("the end of the kernel's name")
        return found

    def skipped(self) -> Iterator[Skipped]:
        for name, line in self.unknown_headers:
            yield Skipped("include", name, line)
        for piece in self.pieces:
            token = self.tokens[piece.start]
            if token.position.file == self.source.name and is_host_code(self.tokens, piece):
                yield Skipped(WHAT[piece.kind], piece.name, token.position.line)
        yield from launches(self.tokens)
