"""Values that are written down: numbers, characters, sizes and limits of types.

Knows no name but those of types.
"""

from __future__ import annotations

from abc import abstractmethod

from oneread.trace import tree
from oneread.trace.builtins import FLOAT_LIMITS
from oneread.trace.front import literals, syntax
from oneread.trace.front.typing import TypeChecker
from oneread.trace.types import CHAR, FLOAT, SIZE_T, Array, Scalar, Void


class LiteralChecker(TypeChecker):
    """Checks expressions that are constants by themselves."""

    @abstractmethod
    def checked(self, node: syntax.Expr) -> tree.Expr:
        """Check an expression; what comes back may be a place."""

    def number(self, node: syntax.Number) -> tree.Expr:
        found = literals.number(node.text)
        if found is None:
            raise self.report.error("number", node.position, text=node.text)
        return tree.Literal(node.position, *found)

    def character(self, node: syntax.Character) -> tree.Expr:
        value = literals.character(node.text)
        if value is None:
            raise self.report.error("character", node.position, text=node.text)
        return tree.Literal(node.position, CHAR, value)

    def limit(self, node: syntax.Limit) -> tree.Expr:
        kind = self.type_id(node.type)
        where = node.position
        if kind is FLOAT and node.member in FLOAT_LIMITS:
            return tree.Literal(where, FLOAT, FLOAT_LIMITS[node.member])
        if isinstance(kind, Scalar) and kind.kind != "float":
            limits = {"max": kind.highest, "min": kind.lowest, "lowest": kind.lowest}
            if node.member in limits:
                return tree.Literal(where, kind, limits[node.member])
        raise self.report.error("limit", where, type=str(kind), member=node.member)

    def size_of(self, node: syntax.SizeOf) -> tree.Expr:
        of = node.of
        kind = self.type_id(of) if isinstance(of, syntax.TypeId) else self.checked(of).type
        if isinstance(kind, Void) or (isinstance(kind, Array) and kind.length is None):
            raise self.report.error("size-unknown", node.position, type=str(kind))
        size = kind.size if node.operator == "sizeof" else kind.align
        return tree.Literal(node.position, SIZE_T, size)
