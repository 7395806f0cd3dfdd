"""How tightly the operators of C bind.

Knows marks only; the conditions of directives and the expressions of the text go by it.
"""

from __future__ import annotations

from typing import Final

COMMA, ASSIGNMENT, CHOICE, OR = 1, 2, 3, 4

#: Binary operators by how tightly they bind.
BINDS: Final = {
    ",": COMMA,
    "=": ASSIGNMENT, "+=": ASSIGNMENT, "-=": ASSIGNMENT, "*=": ASSIGNMENT, "/=": ASSIGNMENT,
    "%=": ASSIGNMENT, "&=": ASSIGNMENT, "|=": ASSIGNMENT, "^=": ASSIGNMENT, "<<=": ASSIGNMENT,
    ">>=": ASSIGNMENT,
    "?": CHOICE, "||": OR, "&&": 5, "|": 6, "^": 7, "&": 8, "==": 9, "!=": 9,
    "<": 10, ">": 10, "<=": 10, ">=": 10, "<<": 11, ">>": 11, "+": 12, "-": 12,
    "*": 13, "/": 13, "%": 13,
}  # fmt: skip
