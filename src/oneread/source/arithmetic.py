"""Integer expressions of the catalogue and of the command line, parsed and never evaluated as code.

``+ - * / %`` (division rounds down), brackets, ``min``, ``max``, ``ceil_div`` and ``log2`` (rounded
down), over names that are given. Knows no kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from oneread.source.errors import quoted
from oneread.spec import OneReadError

#: Longest expression, deepest nesting and largest number (beyond any size of a launch).
MAXIMUM_LENGTH: Final = 500
MAXIMUM_DEPTH: Final = 40
MAXIMUM_VALUE: Final = 1 << 63

_TOKEN: Final = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|([-+*/%(),]))", re.ASCII)
_FUNCTIONS: Final[dict[str, int]] = {"min": 2, "max": 2, "ceil_div": 2, "log2": 1}


class ExpressionError(OneReadError, ValueError):
    """An integer expression that cannot be read, or has no value."""


def integer(value: int | str, names: Mapping[str, int]) -> int:
    """Return the value of an integer expression.

    Parameters
    ----------
    value : int or str
        A number, or an expression.
    names : mapping of str to int
        What the names in it stand for.

    Returns
    -------
    int
        Its value.

    Raises
    ------
    ExpressionError
        When the text is no such expression, names what is not given, or divides by zero.

    Examples
    --------
    >>> integer("rows * ceil_div(vocab, SPAN)", {"rows": 2, "vocab": 250, "SPAN": 64})
    8
    """
    return value if isinstance(value, int) else _Expression(value, names).value()


class _Expression:
    """One run over an expression."""

    def __init__(self, text: str, names: Mapping[str, int]) -> None:
        self.text = text
        self.names = names
        self.depth = 0
        self.at = 0
        if len(text) > MAXIMUM_LENGTH:
            raise self.wrong(f"longer than {MAXIMUM_LENGTH} characters")
        self.tokens: list[str] = []
        place = 0
        while place < len(text.rstrip()):
            found = _TOKEN.match(text, place)
            if found is None:
                raise self.wrong(f"'{quoted(text[place:].strip()[:1])}' has no meaning here")
            self.tokens.append(found[1] or found[2] or found[3])
            place = found.end()

    def wrong(self, why: str) -> ExpressionError:
        return ExpressionError(f"'{quoted(self.text)}': {why}")

    def value(self) -> int:
        value = self.sum()
        if self.at < len(self.tokens):
            raise self.wrong(f"'{self.tokens[self.at]}' is not expected")
        return value

    def take(self, *texts: str) -> str:
        if self.at < len(self.tokens) and self.tokens[self.at] in texts:
            self.at += 1
            return self.tokens[self.at - 1]
        return ""

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise self.wrong(f"'{text}' is missing")

    def sum(self) -> int:
        self.depth += 1
        if self.depth > MAXIMUM_DEPTH:
            raise self.wrong(f"nested more than {MAXIMUM_DEPTH} deep")
        left = self.product()
        while sign := self.take("+", "-"):
            right = self.product()
            left = self.checked(left + right if sign == "+" else left - right)
        self.depth -= 1
        return left

    def product(self) -> int:
        left = self.factor()
        while sign := self.take("*", "/", "%"):
            right = self.factor()
            left = self.checked(left * right if sign == "*" else self.divided(sign, left, right))
        return left

    def divided(self, sign: str, left: int, right: int) -> int:
        if right == 0:
            raise self.wrong("divides by zero")
        return left // right if sign == "/" else left % right

    def checked(self, value: int) -> int:
        if abs(value) > MAXIMUM_VALUE:
            raise self.wrong("larger than 64 bits")
        return value

    def factor(self) -> int:
        negative = False
        while sign := self.take("-", "+"):
            negative ^= sign == "-"
        value = self.primary()
        return -value if negative else value

    def primary(self) -> int:
        if self.at >= len(self.tokens):
            raise self.wrong("a number or a name is missing")
        token = self.tokens[self.at]
        self.at += 1
        if token == "(":
            value = self.sum()
            self.expect(")")
            return value
        if token.isdigit():
            return self.checked(int(token))
        if token in _FUNCTIONS and self.take("("):
            return self.call(token)
        if token in self.names:
            return self.names[token]
        if token[0].isalpha() or token[0] == "_":
            known = ", ".join([*self.names, *_FUNCTIONS])
            raise self.wrong(f"'{token}' is not known; known are {known}")
        raise self.wrong(f"'{token}' is not expected")

    def call(self, name: str) -> int:
        values = [self.sum()]
        while self.take(","):
            values.append(self.sum())
        self.expect(")")
        if len(values) != _FUNCTIONS[name]:
            raise self.wrong(f"{name} takes {_FUNCTIONS[name]} numbers")
        if name == "log2":
            if values[0] < 1:
                raise self.wrong("log2 of a number below 1")
            return values[0].bit_length() - 1
        if name == "ceil_div":
            return -self.divided("/", -values[0], values[1])
        choose: Callable[[list[int]], int] = min if name == "min" else max
        return choose(values)
