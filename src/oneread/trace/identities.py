"""What an element beyond the end of a row has to be: the identity of all that it is folded into.

Knows the tree; knows no machine. A number is tried in the element's place: the kernel is followed
once, statement by statement, with every other number open. It fits if each maximum, minimum, sum
and product that the element reaches is the same without it: -inf for a maximum and for a sum of
exponentials, 0 for a sum of squares, and nothing at all for a sum of squared differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from oneread.trace.roles import Target, variable
from oneread.trace.tree import (
    AddressOf,
    Assign,
    Binary,
    Block,
    BuiltinCall,
    Call,
    Conditional,
    Construct,
    Convert,
    Declare,
    Deref,
    DoWhile,
    Evaluate,
    For,
    If,
    Index,
    Literal,
    Load,
    Logical,
    Program,
    Return,
    Unary,
    Update,
    While,
)
from oneread.trace.types import Scalar
from oneread.trace.walking import children, nodes

#: What is tried, as the source has it; -inf first, which most kernels of this kind need.
CANDIDATES = {"-INFINITY": -math.inf, "0.0f": 0.0, "1.0f": 1.0, "INFINITY": math.inf}

_IDENTITIES = {"+": 0.0, "-": 0.0, "*": 1.0, "/": 1.0, "max": -math.inf, "min": math.inf}
_FOLDS = {
    **dict.fromkeys(["fmaxf", "fmax", "max", "atomicMax"], "max"),
    **dict.fromkeys(["fminf", "fmin", "min", "atomicMin"], "min"),
    **dict.fromkeys(["atomicAdd"], "+"),
}
#: Statements that are followed: loops within loops double them.
_MOST_STEPS = 5_000

_EXPONENTIALS = frozenset(["expf", "exp", "exp2f", "exp2", "__expf"])


class Known(NamedTuple):
    """What is known of a value."""

    number: float | None
    """None where it is open; then it is taken for finite."""
    element: bool
    """Whether it depends on the element."""


OPEN = Known(None, False)
LOST = Known(None, True)


class _UnfitError(Exception):
    """The number does not fit: what it is folded into changes."""


@lru_cache(maxsize=64)
def identity_of(program: Program, line: int, column: int) -> str | None:
    """Return what a load has to give beyond the end of a row, None where no number will do.

    Parameters
    ----------
    program : Program
        The kernel.
    line, column : int
        Of an element that is read, where it starts.
    """
    loads = [
        node
        for node in nodes(program)
        if isinstance(node, Load)
        and isinstance(node.place, Index)
        and node.place.position[1:3] == (line, column)
        and isinstance(node.type, Scalar)
        and node.type.kind == "float"
    ]
    for text, number in CANDIDATES.items():
        if len(loads) == 1 and _Trial(program, loads[0], number).fits():
            return text
    return None


class _Trial:
    """One number in place of an element."""

    def __init__(self, program: Program, load: Load, number: float) -> None:
        self.program, self.load, self.element = program, load, Known(number, True)
        self.running = {
            variable(one.target) for one in nodes(program) if isinstance(one, Assign | Update)
        }
        """Variables that change: such as a maximum is kept in."""
        self.values: dict[Target, Known] = {}
        self.returned: list[Known] = []
        self.folds = self.steps = 0

    def fits(self) -> bool:
        """Say whether the element is folded somewhere, and changes nothing."""
        try:
            self.run(self.program.kernel.body)
        except _UnfitError:
            return False
        return self.folds > 0

    # ---- statements

    def run(self, node: Any) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise _UnfitError
        if isinstance(node, Block):
            for one in node.statements:
                self.run(one)
        elif isinstance(node, Declare) and node.value is not None:
            self.values[id(node.variable), node.variable.name] = self.value(node.value)
        elif isinstance(node, Evaluate):
            self.value(node.value)
        elif isinstance(node, If):
            self.branch(node)
        elif isinstance(node, For | While | DoWhile):
            for one in node.start if isinstance(node, For) else ():
                self.run(one)
            for _ in range(2):  # what a round leaves behind meets the next one
                self.run(node.body)
                if isinstance(node, For) and node.step is not None:
                    self.value(node.step)
        elif isinstance(node, Return) and node.value is not None:
            self.returned.append(self.value(node.value))

    def branch(self, node: If) -> None:
        taken = self.decided(node.condition)
        if taken is not None:
            # What the element does not reach stays as it is; what it chooses is done for it alone.
            if taken or node.otherwise is not None:
                raise _UnfitError
            self.folds += 1
            return
        before = dict(self.values)
        self.run(node.then)
        then, self.values = self.values, before
        if node.otherwise is not None:
            self.run(node.otherwise)
        for place, value in then.items():
            self.values[place] = _either([value, self.values.get(place, OPEN)])

    def decided(self, condition: Any) -> bool | None:
        """Return how a condition on the element comes out, None for one on something else."""
        found = self.value(condition)
        if not found.element:
            return None
        if found.number is None:
            raise _UnfitError
        return bool(found.number)

    def put(self, target: Any, value: Known) -> None:
        place = variable(target)
        if value.element and (place is None or isinstance(target, Deref)):
            raise _UnfitError  # under which other name it will be read is not known
        if place is not None:
            self.values[place] = value

    # ---- expressions

    def value(self, node: Any) -> Known:
        """Return what is known of an expression."""
        if node is self.load:
            return self.element
        make: Callable[[Any], Known] | None = getattr(self, f"_{type(node).__name__.lower()}", None)
        if make is not None:
            return make(node)
        parts = [self.value(child) for child in children(node)]
        return LOST if any(part.element for part in parts) else OPEN

    def _literal(self, node: Literal) -> Known:
        return Known(float(node.value), False)

    def _convert(self, node: Convert) -> Known:
        return self.value(node.value)

    def _load(self, node: Load) -> Known:
        place = variable(node.place)
        found = OPEN if place is None else self.values.get(place, OPEN)
        return found if found.element or place not in self.running else OPEN

    def _addressof(self, node: AddressOf) -> Known:
        place = variable(node.place)
        if place in self.values and self.values[place].element:
            raise _UnfitError
        return OPEN

    def _construct(self, node: Construct) -> Known:
        if any(self.value(one).element for one in node.values):
            raise _UnfitError  # members are not followed
        return OPEN

    def _logical(self, node: Logical) -> Known:
        sides = self.value(node.left), self.value(node.right)
        settles = float(node.operator == "||")
        if any(one.element and one.number == settles for one in sides):
            return Known(settles, True)
        return LOST if any(one.element for one in sides) else OPEN

    def _unary(self, node: Unary) -> Known:
        found = self.value(node.value)
        if found.number is None or node.operator != "-":
            return found._replace(number=None)
        return found._replace(number=-found.number)

    def _conditional(self, node: Conditional) -> Known:
        taken = self.decided(node.condition)
        if taken is not None:
            side = node.then if taken else node.otherwise
            if not self.runs(side):
                return self.value(side)._replace(element=True)
            self.folds += 1
            return self.value(side)
        return _either([self.value(node.then), self.value(node.otherwise)])

    def _binary(self, node: Binary) -> Known:
        left, right = self.value(node.left), self.value(node.right)
        return _computed(node.operator, left, right)

    def _assign(self, node: Assign) -> Known:
        folded = self.folded(node)
        found = self.value(node.value) if folded is None else folded
        self.put(node.target, found)
        return found

    def folded(self, node: Assign) -> Known | None:
        """Return what becomes of a target in its own new value, None if it is not there."""
        value = _bare(node.value)
        if not isinstance(value, Binary) or value.operator not in {"+", "*"}:
            return None
        for old, more in ((value.left, value.right), (value.right, value.left)):
            if _reads(old, variable(node.target)):
                self.fold(value.operator, self.value(old))
                return self.fold(value.operator, self.value(more))
        return None

    def _update(self, node: Update) -> Known:
        target, value = self.value(Load(node.position, node.target.type, node.target)), node.value
        self.fold(node.operator, target)
        found = self.fold(node.operator, self.value(value))
        self.put(node.target, found)
        return found

    def fold(self, operator: str, more: Known) -> Known:
        """Fold a value into what is open; that of the element has to leave it as it is."""
        if more.element:
            if more.number != _IDENTITIES.get(operator):
                raise _UnfitError
            self.folds += 1
        return OPEN

    def _builtincall(self, node: BuiltinCall) -> Known:
        name, found = node.builtin.name, [self.value(one) for one in node.arguments]
        if node.builtin.kind == "shuffle":
            return found[1]
        if node.builtin.kind == "atomic" and name in _FOLDS:
            return self.fold(_FOLDS[name], found[1])
        if name in _FOLDS and any(one.element for one in found):
            return self.extreme(_FOLDS[name], node, found)
        if name in _EXPONENTIALS and found[0].number is not None:
            return found[0]._replace(number=_exponential(found[0].number))
        if name in {"fabsf", "fabs"} and found[0].number is not None:
            return found[0]._replace(number=abs(found[0].number))
        return LOST if any(one.element for one in found) else OPEN

    def extreme(self, which: str, node: BuiltinCall, found: list[Known]) -> Known:
        """Return a maximum or minimum of what the element is among."""
        pairs = list(zip(node.arguments, found, strict=True))
        mine = [one for one in found if one.element]
        others = [argument for argument, one in pairs if not one.element]
        if not others or any(map(self.runs, others)):
            for one in mine:
                self.fold(which, one)
            return OPEN
        numbers = [one.number for one in found]
        if None in numbers:
            return LOST
        # A bound of the source, as in max(x, 0).
        pick = max if which == "max" else min
        return Known(pick(one for one in numbers if one is not None), True)

    def runs(self, node: Any) -> bool:
        """Say whether a value is that of a variable that changes."""
        node = _bare(node)
        return isinstance(node, Load) and variable(node.place) in self.running

    def _call(self, node: Call) -> Known:
        for parameter, argument in zip(node.function.parameters, node.arguments, strict=True):
            self.values[id(parameter), parameter.name] = self.value(argument)
        outer, self.returned = self.returned, []
        self.run(node.function.body)
        found, self.returned = self.returned, outer
        return _either(found)


def _either(found: Sequence[Known]) -> Known:
    """Return what is known of one of several values: of the element, wherever it is among them."""
    of_element = {one for one in found if one.element}
    return OPEN if not of_element else of_element.pop() if len(of_element) == 1 else LOST


def _computed(operator: str, left: Known, right: Known) -> Known:
    """Return what is known of an operation."""
    element = left.element or right.element
    a, b = left.number, right.number
    if a is not None and b is not None:
        return Known(_number(operator, a, b), element)
    if not element:
        return OPEN
    one = a if b is None else b
    if one is None:
        return LOST
    if operator == "*" and one == 0.0:
        return Known(0.0, True)
    if operator == "/" and a == 0.0:
        return Known(0.0, True)
    if math.isinf(one) and operator in {"+", "-"}:
        return Known(one if a is not None or operator == "+" else -one, True)
    if math.isinf(one) and operator in {"<", "<=", ">", ">="}:
        # An open number lies above -inf and below inf.
        less = (one < 0) == (a is not None)
        return Known(float(less == (operator in {"<", "<="})), True)
    if math.isinf(one) and operator in {"==", "!="}:
        return Known(float(operator == "!="), True)
    return LOST


def _number(operator: str, a: float, b: float) -> float | None:
    """Return the result of an operation on numbers, None where there is none."""
    compared = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}
    if operator in compared:
        return float(compared[operator])
    computed: dict[str, Callable[[], float]] = {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a / b,
    }
    if operator not in computed or (operator == "/" and b == 0):
        return None
    number = computed[operator]()
    return None if math.isnan(number) else number


def _exponential(number: float) -> float | None:
    try:
        return math.exp(number) if number in {-math.inf, 0.0, math.inf} else None
    except OverflowError:
        return math.inf


def _reads(node: Any, target: Target | None) -> bool:
    """Say whether a value is that of a variable, or of it and what it is scaled by."""
    node = _bare(node)
    if isinstance(node, Binary) and node.operator == "*":
        return _reads(node.left, target) or _reads(node.right, target)
    return target is not None and isinstance(node, Load) and variable(node.place) == target


def _bare(value: Any) -> Any:
    while isinstance(value, Convert):
        value = value.value
    return value


__all__ = ["identity_of"]
