"""The value of an `#if`: integer arithmetic over tokens.

Knows no macro: names that are left are 0, as C says.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from oneread.source.tokens import Token
from oneread.trace.front.report import Refused, Report

#: Binary operators by how tightly they bind.
_BINDS: Final = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6,
    "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_INTEGER: Final = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)[uUlL]*")


def value_of(directive: Token, tokens: list[Token], report: Report) -> int:
    """Return the value of a condition, which holds unless that is 0.

    Parameters
    ----------
    directive : Token
        The `if` or `elif`, where an error without a place of its own is shown.
    tokens : list of Token
        The condition, macros expanded and `defined` answered.
    report : Report
        Takes what is wrong.

    Returns
    -------
    int
        Its value.
    """
    return _Condition(directive, tokens, report).value()


class _Condition:
    def __init__(self, directive: Token, tokens: list[Token], report: Report) -> None:
        self.directive = directive
        self.tokens = tokens
        self.report = report
        self.at = 0
        self.dead = 0  # operands around here whose value cannot matter

    def value(self) -> int:
        value = self.choice(0)
        if self.at < len(self.tokens):
            raise self.wrong()
        return value

    def wrong(self) -> Refused:
        token = self.tokens[self.at] if self.at < len(self.tokens) else self.directive
        return self.report.error("if-malformed", token)

    def take(self, text: str) -> bool:
        found = self.at < len(self.tokens) and self.tokens[self.at].text == text
        self.at += found
        return found

    def choice(self, depth: int) -> int:
        condition = self.binary(1, depth)
        if not self.take("?"):
            return condition
        then = self.choice(depth + 1)
        if not self.take(":"):
            raise self.wrong()
        otherwise = self.choice(depth + 1)
        return then if condition else otherwise

    def binary(self, least: int, depth: int) -> int:
        left = self.unary(depth + 1)
        while self.at < len(self.tokens):
            operator = self.tokens[self.at]
            binds = _BINDS.get(operator.text, 0)
            if binds < least:
                break
            self.at += 1
            settled = operator.text in ("&&", "||") and (operator.text == "||") == bool(left)
            self.dead += settled
            right = self.binary(binds + 1, depth + 1)
            self.dead -= settled
            left = self.apply(operator, left, right)
        return left

    def apply(self, operator: Token, left: int, right: int) -> int:
        text = operator.text
        if text in "/%" and right == 0:
            if self.dead:
                return 0
            raise self.report.error("if-zero", operator)
        if text in ("<<", ">>") and not 0 <= right < 64:
            raise self.wrong()
        # 64 bits, as in C's intmax_t.
        value = int(_APPLY[text](left, right))
        return (value + (1 << 63)) % (1 << 64) - (1 << 63)

    def unary(self, depth: int) -> int:
        limit = self.report.limits.nesting
        if depth > limit:
            raise self.report.error("nesting", self.directive, limit=limit)
        if self.at >= len(self.tokens):
            raise self.wrong()
        token = self.tokens[self.at]
        self.at += 1
        if token.text in ("!", "-", "+", "~"):
            value = self.unary(depth + 1)
            return {"!": int(not value), "-": -value, "+": value, "~": ~value}[token.text]
        if token.text == "(":
            value = self.choice(depth + 1)
            if not self.take(")"):
                raise self.wrong()
            return value
        if token.kind == "name":
            return int(token.text == "true")
        found = _INTEGER.fullmatch(token.text.replace("'", "")) if token.kind == "number" else None
        if found is None or len(token.text) > 80:
            self.at -= 1
            raise self.wrong()
        digits = found[1]
        octal = digits.startswith("0") and digits.isdigit()
        return int(digits, 8 if octal else 0)


def _divide(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_APPLY: Final[dict[str, Callable[[int, int], int]]] = {
    "||": lambda a, b: bool(a) or bool(b),
    "&&": lambda a, b: bool(a) and bool(b),
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "%": lambda a, b: a - b * _divide(a, b),
}
