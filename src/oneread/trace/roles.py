"""m, d and the correction factor, found in code that nobody annotated.

Knows the tree; knows no machine. The rules:

- m is a variable that is assigned a maximum, a copy of one, or a number once it was found larger;
- d is a variable that exponentials are added to;
- a factor is an exponential of the difference of two variables that are both m, or of m and the
  number that replaces it.

A member of a struct of the source is m or d in every variable of that struct, because a merge
takes two and makes a third.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oneread.trace.tree import (
    Assign,
    Binary,
    BuiltinCall,
    Call,
    Conditional,
    Construct,
    Convert,
    Declare,
    Deref,
    Expr,
    Extract,
    If,
    Index,
    Literal,
    Load,
    Member,
    Program,
    Return,
    Unary,
    Update,
    VariableRef,
)
from oneread.trace.types import VECTORS, Struct
from oneread.trace.walking import nodes, under

_EXPONENTIALS = frozenset(["expf", "exp", "exp2f", "exp2", "__expf"])
_MAXIMA = frozenset(["fmaxf", "fmax", "max"])

#: A variable, or a member of one, by its name; or a member of all structs of one name.
Target = tuple[object, str]


def variable(place: Any) -> Target | None:
    """Return the variable that a place is, or is a part of."""
    names: list[str] = []
    while True:
        if isinstance(place, Member):
            names.append(place.field.name)
            place = place.base
        elif isinstance(place, Index | Deref):
            place = place.pointer
        elif isinstance(place, VariableRef):
            name = ".".join([place.variable.name, *reversed(names)])
            return (id(place.variable), name)
        elif hasattr(place, "place"):
            place = place.place
        else:
            return None


def assigned(node: Any) -> tuple[Target | None, Expr | None]:
    """Return the variable that a node gives a value, and the value."""
    if isinstance(node, Declare) and node.value is not None:
        return (id(node.variable), node.variable.name), node.value
    if isinstance(node, Assign | Update):
        return variable(node.target), node.value
    return None, None


class Roles:
    """What m, d and the factors of a kernel are.

    Parameters
    ----------
    program : Program
        The kernel.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._initial = {
            node.variable: node.value
            for node in nodes(program)
            if isinstance(node, Declare) and node.value is not None
        }
        self._larger = dict(self._found_larger())
        self._maxima = self._found_maxima()

    def found(self) -> Iterator[tuple[Any, str, str]]:
        """Yield each node that gives one of them a value, which it is, and what it is called."""
        for node in nodes(self._program):
            yield from self._of_assigned(node)
            if isinstance(node, Construct):
                yield from self._of_construct(node)
            if self._is_factor(node):
                yield node, "factor", f"line {node.position.line}"

    def _of_assigned(self, node: Any) -> Iterator[tuple[Any, str, str]]:
        target, value = assigned(node)
        if target is None or value is None or _in_array(node):
            return
        whole = target in self._maxima
        part = _assigned_member(node) in self._maxima
        if whole or (part and (_is_maximum(value) or self._copies(value))):
            yield node, "m", target[1]
        elif _adds_exponential(node, target, value):
            yield node, "d", target[1]

    def _of_construct(self, node: Construct) -> Iterator[tuple[Any, str, str]]:
        for target, value in _members(node):
            if _is_maximum(value):
                yield value, "m", target[1]
            elif _sums(self._resolved(value), target):
                yield value, "d", target[1]

    def _found_maxima(self) -> set[Target]:
        """Return what holds maxima: assigned one, or copied from what does."""
        pairs = list(self._pairs())
        self._maxima = {target for target, value in pairs if _is_maximum(value)}
        self._maxima |= {one for _, value in pairs for one in self._chosen(value)}
        self._maxima |= self._larger.keys()
        while True:
            copies = {t for t, value in pairs if t not in self._maxima and self._copies(value)}
            if not copies:
                return self._maxima
            self._maxima |= copies

    def _found_larger(self) -> Iterator[tuple[Target, Target]]:
        """Yield what takes a number where it is larger, and the number: ``if (v > m) m = v;``."""
        for node in nodes(self._program):
            if not isinstance(node, If) or not isinstance(node.condition, Binary):
                continue
            left, right = node.condition.left, node.condition.right
            if node.condition.operator in {"<", "<="}:
                left, right = right, left
            elif node.condition.operator not in {">", ">="}:
                continue
            more, less = variable(_place(left)), variable(_place(right))
            if more is None or less is None or not _floating(left):
                continue
            for target, value in map(assigned, under(node.then)):
                if target == less and variable(_place(value)) == more:
                    yield less, more

    def _pairs(self) -> Iterator[tuple[Target, Expr]]:
        """Yield each variable, member and parameter with a value that it gets."""
        for node in nodes(self._program):
            target, value = assigned(node)
            if target is not None and value is not None:
                yield target, value
                member = _assigned_member(node)
                if member is not None:
                    yield member, value
            elif isinstance(node, Construct):
                yield from _members(node)
            elif isinstance(node, Call):
                for parameter, argument in zip(
                    node.function.parameters, node.arguments, strict=True
                ):
                    yield (id(parameter), parameter.name), argument

    def _chosen(self, value: Any) -> Iterator[Target]:
        """Yield the member by which one of two structs is taken: ``a.m > b.m ? a : b``."""
        value = _bare(value)
        if isinstance(value, Conditional) and isinstance(value.type, Struct):
            condition = self._resolved(value.condition)
            if isinstance(condition, Binary) and condition.operator in {"<", ">", "<=", ">="}:
                sides = {_member(_place(side)) for side in (condition.left, condition.right)}
                if len(sides) == 1 and None not in sides and _floating(condition.left):
                    yield from (side for side in sides if side is not None)

    def _resolved(self, value: Any) -> Any:
        """Return what a variable was declared with in place of the variable."""
        bare = _bare(value)
        if isinstance(bare, Load) and isinstance(bare.place, VariableRef):
            return _bare(self._initial.get(bare.place.variable, bare))
        return bare

    def _copies(self, value: Any) -> bool:
        """Say whether a value is that of an m; a constant may stand in for it."""
        value = _bare(value)
        if isinstance(value, Conditional):
            sides = [s for s in (value.then, value.otherwise) if not _is_constant(s)]
            return bool(sides) and all(map(self._copies, sides))
        if isinstance(value, Call):
            given = [node.value for node in under(value.function.body) if isinstance(node, Return)]
            return bool(given) and all(one is not None and self._copies(one) for one in given)
        place = _place(value)
        return not self._maxima.isdisjoint({variable(place), _member(place)})

    def _is_factor(self, node: Any) -> bool:
        if not isinstance(node, BuiltinCall) or node.builtin.name not in _EXPONENTIALS:
            return False
        argument = _bare(node.arguments[0])
        return (
            isinstance(argument, Binary)
            and argument.operator == "-"
            and self._copies(argument.left)
            and (self._copies(argument.right) or self._replaces(argument.right))
        )

    def _replaces(self, value: Any) -> bool:
        return variable(_place(value)) in self._larger.values()


def _members(node: Construct) -> Iterator[tuple[Target, Expr]]:
    """Yield the members of a struct that is made, with their values."""
    kind = node.type
    if isinstance(kind, Struct) and VECTORS.get(kind.name) is not kind:
        for field, value in zip(kind.fields, node.values, strict=True):
            yield (kind.name, f"{kind.name}.{field.name}"), value


def _member(place: Any) -> Target | None:
    """Return the member that a place is; those of float4 and its kin have no meaning."""
    if isinstance(place, Member | Extract):
        kind = place.base.type if isinstance(place, Member) else place.value.type
        if isinstance(kind, Struct) and VECTORS.get(kind.name) is not kind:
            return (kind.name, f"{kind.name}.{place.field.name}")
    return None


def _assigned_member(node: Any) -> Target | None:
    """Return the member of a struct that a node gives a value, if it is one."""
    return _member(node.target) if isinstance(node, Assign | Update) else None


def _place(value: Any) -> Any:
    """Return the variable or member that an expression reads, if it does nothing else."""
    value = _bare(value)
    if isinstance(value, Load) and isinstance(value.place, VariableRef | Member):
        return value.place
    return value if isinstance(value, Extract) else None


def _in_array(node: Any) -> bool:
    """Say whether what is assigned is an element: scratch of a reduction, not a running value."""
    return not isinstance(node, Declare) and any(isinstance(n, Index) for n in under(node.target))


def _bare(value: Any) -> Any:
    while isinstance(value, Convert):
        value = value.value
    return value


def _is_constant(value: Any) -> bool:
    value = _bare(value)
    return isinstance(value, Literal) or (isinstance(value, Unary) and _is_constant(value.value))


def _is_maximum(value: Any) -> bool:
    value = _bare(value)
    if isinstance(value, BuiltinCall):
        return value.builtin.name in _MAXIMA and _floating(value)
    if isinstance(value, Conditional) and isinstance(value.condition, Binary):
        condition = value.condition
        sides = {variable(_bare(condition.left)), variable(_bare(condition.right))}
        chosen = {variable(_bare(value.then)), variable(_bare(value.otherwise))}
        # One of what is compared is taken: a guard compares indices.
        taken = bool((sides & chosen) - {None})
        return condition.operator in {"<", ">", "<=", ">="} and _floating(value) and taken
    return False


def _floating(value: Expr) -> bool:
    return getattr(value.type, "kind", "") == "float"


def _contains_exponential(value: Any) -> bool:
    return any(
        isinstance(node, BuiltinCall) and node.builtin.name in _EXPONENTIALS
        for node in under(value)
    )


def _adds_exponential(node: Any, target: Target, value: Any) -> bool:
    if isinstance(node, Update):
        return node.operator == "+" and _contains_exponential(value)
    member = _assigned_member(node)
    return _sums(value, target) or (member is not None and _sums(value, member))


def _sums(value: Any, target: Target) -> bool:
    """Say whether a value is a sum with an exponential in it, and with what is summed up."""
    bare = _bare(value)
    if isinstance(bare, Conditional):
        return _sums(bare.then, target) or _sums(bare.otherwise, target)
    if not isinstance(bare, Binary) or bare.operator != "+" or not _contains_exponential(bare):
        return False
    read = [n.place if isinstance(n, Load) else n for n in under(bare)
            if isinstance(n, Load | Extract)]  # fmt: skip
    return any(target in (variable(place), _member(place)) for place in read)
