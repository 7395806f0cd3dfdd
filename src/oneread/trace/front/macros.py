"""Macros: what `#define` says, and what a use of one becomes.

Knows tokens and no directive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from oneread.source.text import Position
from oneread.source.tokens import Token
from oneread.spec.words import plural
from oneread.trace.front.report import Refused, Report

#: A token with the macros that it came from, which are not expanded in it again.
Hidden = tuple[Token, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro; `parameters` is None for one without brackets."""

    name: str
    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]
    position: Position
    variadic: bool = False


class Expander:
    """Expands macros in lines of tokens, within limits of depth and size.

    Parameters
    ----------
    macros : dict of str to Macro
        What is defined at the moment; the caller changes it.
    report : Report
        Takes what is wrong.
    """

    def __init__(self, macros: dict[str, Macro], report: Report) -> None:
        self.macros = macros
        self.report = report
        self.produced = 0
        #: Macros that the text expands, defines, or asks for in a condition.
        self.named: set[str] = set()

    def expand(self, tokens: list[Token], depth: int = 0) -> Iterator[Token]:
        """Yield the tokens with all macros in them expanded."""
        stack: list[Hidden] = [(token, frozenset()) for token in reversed(tokens)]
        return (token for token, _ in self.run(stack, depth))

    def run(self, stack: list[Hidden], depth: int) -> Iterator[Hidden]:
        limits = self.report.limits
        while stack:
            token, hidden = stack.pop()
            macro = self.macros.get(token.text) if token.kind == "name" else None
            if macro is None or macro.name in hidden:
                yield token, hidden
                continue
            opens = stack and stack[-1][0].text == "(" and stack[-1][0].kind == "mark"
            if macro.parameters is not None and not opens:
                yield token, hidden
                continue
            try:
                body = self.replacement(token, macro, stack, hidden, depth)
            except Refused:
                # It is reported; a number in its place lets the reading go on.
                body = [(token._replace(kind="number", text="0"), hidden)]
            self.produced += len(body) + 1
            if self.produced > limits.tokens:
                raise self.report.fatal("too-many-tokens", token.position, limit=limits.tokens)
            stack.extend(self.placed(token, macro, body, hidden))

    def replacement(
        self, use: Token, macro: Macro, stack: list[Hidden], hidden: frozenset[str], depth: int
    ) -> list[Hidden]:
        """Return what a macro becomes, its arguments taken off the stack."""
        limit = self.report.limits.macro_depth
        if len(hidden) + depth >= limit:
            raise self.report.error("macro-depth", use, name=macro.name, limit=limit)
        whole = macro.parameters is None
        arguments = [] if whole else self.arguments(use, macro, stack)
        for token in macro.body:
            if token.kind == "mark" and (token.text == "##" or (token.text == "#" and not whole)):
                raise self.report.outside("# and ## in macros", use)
        return self.substitute(use, macro, arguments, hidden, depth)

    def placed(
        self, use: Token, macro: Macro, body: list[Hidden], hidden: frozenset[str]
    ) -> Iterator[Hidden]:
        """Yield the body from its end, this macro hidden in it."""
        self.report.uses.setdefault(use.position, macro.name)
        self.named.add(macro.name)
        now = hidden | {macro.name}
        for token, others in reversed(body):
            yield token._replace(first=False), others | now

    def arguments(self, use: Token, macro: Macro, stack: list[Hidden]) -> list[list[Hidden]]:
        """Take the arguments of a use off the stack, its closing bracket included."""
        stack.pop()
        parts: list[list[Hidden]] = [[]]
        depth = 0
        while stack:
            token, hidden = stack.pop()
            if token.kind == "mark":
                if token.text == ")" and depth == 0:
                    return self.counted(use, macro, parts)
                depth += (token.text in "([{") - (token.text in ")]}")
                whole = macro.variadic and len(parts) > len(macro.parameters or ())
                if token.text == "," and depth == 0 and not whole:
                    parts.append([])
                    continue
            parts[-1].append((token, hidden))
        raise self.report.error("macro-open", use, name=macro.name)

    def counted(self, use: Token, macro: Macro, parts: list[list[Hidden]]) -> list[list[Hidden]]:
        wanted = len(macro.parameters or ())
        if wanted == 0 and parts == [[]]:
            parts = []
        if macro.variadic and len(parts) == wanted:
            parts.append([])
        if len(parts) != wanted + macro.variadic:
            raise self.report.error(
                "macro-arguments",
                use,
                name=macro.name,
                wanted=plural(wanted, "argument"),
                given=len(parts),
            )
        return parts

    def substitute(
        self,
        use: Token,
        macro: Macro,
        arguments: list[list[Hidden]],
        hidden: frozenset[str],
        depth: int,
    ) -> list[Hidden]:
        """Return a macro's body with its arguments, each expanded by itself, in their places.

        The body stands where the macro is used; an argument stays where it is written.
        """
        names = {name: at for at, name in enumerate(macro.parameters or ())}
        if macro.variadic:
            names["__VA_ARGS__"] = len(names)
        ready: dict[int, list[Hidden]] = {}
        out: list[Hidden] = []
        for token in macro.body:
            at = names.get(token.text) if token.kind == "name" else None
            if at is None:
                out.append((token._replace(position=use.position), hidden))
                continue
            if at not in ready:
                ready[at] = list(self.run(arguments[at][::-1], depth + 1))
            out += ready[at]
            if self.produced + len(out) > self.report.limits.tokens:
                raise self.report.fatal(
                    "too-many-tokens", use.position, limit=self.report.limits.tokens
                )
        return out
