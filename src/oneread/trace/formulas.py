"""Expressions of the user over a kernel's variables, for watches.

Knows no machine. Parsed by Python's own parser and walked; only arithmetic and a few functions are
let through, and nothing is evaluated as code. Computed in double.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from oneread.trace.errors import UsageError
from oneread.trace.machine import floats, maths

#: Longest expression, in characters, and deepest nesting.
_LONGEST = 200
_DEEPEST = 30

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: floats.divide,
}

_exp, _log = maths.FUNCTIONS["exp"][0], maths.FUNCTIONS["log"][0]
_FUNCTIONS: dict[str, tuple[int, Callable[..., float]]] = {
    "exp": (1, _exp),
    "expf": (1, _exp),
    "log": (1, _log),
    "logf": (1, _log),
    "fabsf": (1, abs),
    "fmaxf": (2, floats.larger),
    "max": (2, floats.larger),
    "fminf": (2, floats.smaller),
    "min": (2, floats.smaller),
}


class Formula:
    """An expression over variables, such as ``m + logf(d)``.

    Parameters
    ----------
    text : str
        Numbers, variables and their members, ``+ - * /``, brackets, ``expf logf fmaxf fminf``.

    Raises
    ------
    UsageError
        When it is something else.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > _LONGEST:
            raise UsageError(f"watch: longer than {_LONGEST} characters")
        try:
            self._node = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise UsageError(f"watch {text!r} is no expression") from None
        self.names: list[str] = []
        self._check(self._node, 0)

    def value(self, names: Mapping[str, float]) -> float:
        """Return its value for these values of the variables."""
        return self._value(self._node, names)

    def _check(self, node: ast.expr, depth: int) -> None:
        if depth > _DEEPEST:
            raise UsageError(f"watch {self.text!r} is nested too deeply")
        if isinstance(node, ast.Constant) and type(node.value) in {int, float}:
            return
        if isinstance(node, ast.Name | ast.Attribute):
            name = self._name(node)
            if name not in self.names:
                self.names.append(name)
            return
        inner: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            inner = [node.left, node.right]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            inner = [node.operand]
        elif isinstance(node, ast.Call) and self._is_known(node):
            inner = node.args
        if not inner:
            raise UsageError(f"watch {self.text!r}: {ast.unparse(node)!r} is not allowed there")
        for part in inner:
            self._check(part, depth + 1)

    def _is_known(self, node: ast.Call) -> bool:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        return not node.keywords and len(node.args) == _FUNCTIONS.get(name, (-1, None))[0]

    def _name(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Attribute):
            return f"{self._name(node.value)}.{node.attr}"
        raise UsageError(f"watch {self.text!r}: {ast.unparse(node)!r} is no variable")

    def _value(self, node: ast.expr, names: Mapping[str, float]) -> float:
        if isinstance(node, ast.Constant):
            return float(node.value)  # type: ignore[arg-type]
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left, names), self._value(node.right, names)
            return _OPERATORS[type(node.op)](left, right)
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, names)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)
            function = _FUNCTIONS[node.func.id][1]
            return function(*[self._value(part, names) for part in node.args])
        return float(names[self._name(node)])
