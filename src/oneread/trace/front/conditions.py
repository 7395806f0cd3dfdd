"""The value of an `#if`: integer arithmetic over tokens.

Knows no macro: names that are left are 0, as C says.
"""

from __future__ import annotations

from oneread.source.tokens import Token
from oneread.trace.front import fold, literals
from oneread.trace.front.precedence import BINDS, OR
from oneread.trace.front.report import Refused, Report
from oneread.trace.types import LONG


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
        condition = self.binary(OR, depth)
        if not self.take("?"):
            return condition
        then = self.choice_of(bool(condition), depth)
        if not self.take(":"):
            raise self.wrong()
        otherwise = self.choice_of(not condition, depth)
        return then if condition else otherwise

    def choice_of(self, counts: bool, depth: int) -> int:
        """Return the value of one side of ``?:``; of the other one it cannot matter."""
        self.dead += not counts
        value = self.choice(depth + 1)
        self.dead -= not counts
        return value

    def binary(self, least: int, depth: int) -> int:
        left = self.unary(depth + 1)
        while self.at < len(self.tokens):
            operator = self.tokens[self.at]
            binds = BINDS.get(operator.text, 0)
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
        if text in ("||", "&&"):
            return int(bool(left) or bool(right)) if text == "||" else int(bool(left and right))
        if text in fold.COMPARISONS:
            return fold.compared(text, left, right)
        value = fold.applied(text, left, right, LONG)  # C's intmax_t
        if value is None and not self.dead:
            if text in ("/", "%") and not right:
                raise self.report.error("if-zero", operator)
            raise self.wrong()
        return int(value or 0)

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
            signed = {"!": int(not value), "-": -value, "+": value, "~": ~value}[token.text]
            return fold.wrapped(signed, LONG)
        if token.text == "(":
            value = self.choice(depth + 1)
            if not self.take(")"):
                raise self.wrong()
            return value
        if token.kind == "name":
            return int(token.text == "true")
        found = literals.number(token.text) if token.kind == "number" else None
        if found is None or found[0].kind == "float":
            self.at -= 1
            raise self.wrong()
        return fold.wrapped(int(found[1]), LONG)
