"""Typed nodes made from typed nodes: conversions, loads, operators on constants folded.

Knows what C++ converts by itself; knows no syntax and reports nothing: what is not possible is
None.
"""

from __future__ import annotations

from oneread.source.text import Position
from oneread.trace import tree
from oneread.trace.front import fold
from oneread.trace.types import (
    BOOL,
    PTRDIFF_T,
    VOID,
    Array,
    Pointer,
    Scalar,
    Struct,
    Type,
    Void,
    common,
    promote,
)


def qualifiers(place: tree.Expr) -> tuple[bool, bool]:
    """Return whether a place is const and whether it is volatile."""
    match place:
        case tree.VariableRef(variable=variable):
            return variable.const, variable.volatile
        case tree.Deref(pointer=pointer) | tree.Index(pointer=pointer):
            kind = pointer.type
            return isinstance(kind, Pointer) and kind.const, (
                isinstance(kind, Pointer) and kind.volatile
            )
        case tree.Member(base=base, field=field):
            const, volatile = qualifiers(base)
            return const or field.const, volatile
    return True, False


def root(place: tree.Expr) -> tree.Variable | None:
    """Return the variable that a place is part of, if it is not reached through a pointer."""
    while isinstance(place, tree.Member):
        place = place.base
    return place.variable if isinstance(place, tree.VariableRef) else None


def in_memory(place: tree.Expr) -> tree.Expr:
    """Return a place after its variable was moved from a register to memory."""
    variable = root(place)
    if variable is not None and variable.storage is tree.Storage.REGISTER:
        variable.storage = tree.Storage.LOCAL
    return place


def pointer_to(place: tree.Expr) -> Pointer:
    """Return the type of a place's address."""
    return Pointer(place.type, *qualifiers(place))


def loaded(node: tree.Expr) -> tree.Expr:
    """Return the value of a place: an array's is its address."""
    if not isinstance(node, tree.Lvalue):
        return node
    if isinstance(node.type, Array):
        const, volatile = qualifiers(node)
        kind = Pointer(node.type.element, const, volatile)
        return tree.Decay(node.position, kind, in_memory(node))
    return tree.Load(node.position, node.type, node)


def converted(node: tree.Expr, to: Type) -> tree.Expr:
    """Return a value as one of another type; the conversion is known to be allowed."""
    if node.type == to:
        return node
    if isinstance(node, tree.Literal) and isinstance(to, Scalar):
        if isinstance(node.type, Scalar):
            value = fold.converted(node.value, to)
            if value is not None:
                return tree.Literal(node.position, to, value)
        elif to is BOOL:
            return tree.Literal(node.position, to, int(node.value != 0))
    if isinstance(node, tree.Literal) and isinstance(to, Pointer) and node.value == 0:
        return tree.Literal(node.position, to, 0)
    return tree.Convert(node.position, to, node)


def implicit(node: tree.Expr, to: Type) -> tree.Expr | None:
    """Return a value converted as C++ does by itself, or None where it does not."""
    have = node.type
    if have == to:
        return node
    if isinstance(to, Scalar):
        if isinstance(have, Scalar) or (isinstance(have, Pointer) and to is BOOL):
            return converted(node, to)
        return None
    if isinstance(to, Pointer):
        is_null = (
            isinstance(node, tree.Literal)
            and node.value == 0
            and (isinstance(have, Pointer) or (isinstance(have, Scalar) and have.kind == "int"))
        )
        if is_null or (isinstance(have, Pointer) and gains(have, to)):
            return converted(node, to)
    return None


def alike(left: tree.Expr, right: tree.Expr) -> tuple[tree.Expr, tree.Expr] | None:
    """Return two values as ones of a common type, or None."""
    have, other = left.type, right.type
    if isinstance(have, Scalar) and isinstance(other, Scalar):
        # Two of one narrow type stay what they are.
        kind = have if have is other else common(have, other)
        return converted(left, kind), converted(right, kind)
    found = implicit(right, left.type)
    if found is not None:
        return left, found
    found = implicit(left, right.type)
    return None if found is None else (found, right)


def gains(have: Pointer, to: Pointer) -> bool:
    """Say whether a pointer becomes another by gaining const or volatile, or as `void*`."""
    return keeps(have, to) and (have.target == to.target or isinstance(to.target, Void))


def keeps(have: Pointer, to: Pointer) -> bool:
    """Say whether a pointer has all of the qualifiers of another."""
    return to.const >= have.const and to.volatile >= have.volatile


def has_const(kind: Type) -> bool:
    """Say whether a struct has a const member, so that it cannot be assigned to."""
    return isinstance(kind, Struct) and any(
        field.const or has_const(field.type) for field in kind.fields
    )


def castable(have: Type, to: Type, form: str = "") -> bool:
    """Say whether a cast in the source can make one type another; C's, if no form is given."""
    if isinstance(have, Pointer) and isinstance(to, Pointer):
        return not form or _pointer_castable(have, to, form)
    pointers = isinstance(have, Pointer) + isinstance(to, Pointer)
    if form == "static_cast" and pointers and to is not BOOL and not isinstance(to, Void):
        return False
    if form == "reinterpret_cast" and (to is BOOL or isinstance(to, Void)):
        return False
    if form == "reinterpret_cast" and not pointers:
        return have == to and isinstance(to, Scalar) and to.kind == "int"
    return form != "const_cast" and _castable(have, to)


def _castable(have: Type, to: Type) -> bool:
    """Say whether C casts one type to another, one of them no pointer."""
    if isinstance(to, Void):
        return True
    if isinstance(to, Scalar):
        holds_address = to is BOOL or (to.kind == "int" and to.size == 8)
        return isinstance(have, Scalar) or (isinstance(have, Pointer) and holds_address)
    if isinstance(to, Pointer):
        return isinstance(have, Scalar) and have.kind == "int"
    return have == to


def _pointer_castable(have: Pointer, to: Pointer, form: str) -> bool:
    """Say whether a cast of a form of C++ makes one pointer another."""
    if form == "const_cast":
        return _bare(have) == _bare(to)
    related = have.target == to.target or isinstance(have.target, Void)
    return gains(have, to) or (keeps(have, to) and (related or form == "reinterpret_cast"))


def _bare(kind: Type) -> Type:
    """Return a pointer without the qualifiers of what it points to."""
    return Pointer(_bare(kind.target)) if isinstance(kind, Pointer) else kind


def sign(position: Position, operator: str, value: tree.Expr) -> tree.Expr:
    """Return ``-``, ``~`` or ``!`` of a number whose type fits."""
    kind = BOOL if operator == "!" else value.type
    if isinstance(value, tree.Literal) and isinstance(value.type, Scalar):
        number = fold.negated(operator, value.value, value.type)
        if number is not None:
            return tree.Literal(position, kind, number)
    return tree.Unary(position, kind, operator, value)


def arithmetic(position: Position, operator: str, left: tree.Expr, right: tree.Expr) -> tree.Expr:
    """Return an operator or comparison of two numbers after the usual conversions."""
    have, other = left.type, right.type
    assert isinstance(have, Scalar)
    assert isinstance(other, Scalar)
    if operator in ("<<", ">>"):
        kind = promote(have)
        left, right = converted(left, kind), converted(right, promote(other))
    else:
        kind = common(have, other)
        left, right = converted(left, kind), converted(right, kind)
    compares = operator in fold.COMPARISONS
    if isinstance(left, tree.Literal) and isinstance(right, tree.Literal):
        if compares:
            return tree.Literal(position, BOOL, fold.compared(operator, left.value, right.value))
        number = fold.applied(operator, left.value, right.value, kind)
        if number is not None:
            return tree.Literal(position, kind, number)
    return tree.Binary(position, BOOL if compares else kind, operator, left, right)


def logical(position: Position, operator: str, left: tree.Expr, right: tree.Expr) -> tree.Expr:
    """Return ``&&`` or ``||`` of two bools."""
    if isinstance(left, tree.Literal):
        if (operator == "||") == bool(left.value):
            return tree.Literal(position, BOOL, left.value)
        return right
    return tree.Logical(position, BOOL, operator, left, right)


def moved(position: Position, operator: str, pointer: tree.Expr, index: tree.Expr) -> tree.Expr:
    """Return a pointer moved by an integer."""
    steps = converted(index, PTRDIFF_T)
    if operator == "-":
        steps = sign(index.position, "-", steps)
    return tree.PointerAdd(position, pointer.type, pointer, steps)


def zero(position: Position, kind: Type) -> tree.Expr:
    """Return the value that braces give to what they leave out."""
    if isinstance(kind, Scalar):
        return tree.Literal(position, kind, 0.0 if kind.kind == "float" else 0)
    if isinstance(kind, Pointer):
        return tree.Literal(position, kind, 0)
    if isinstance(kind, Array):
        return tree.ArrayValue(position, kind, ())
    if isinstance(kind, Void):
        return tree.Literal(position, VOID, 0)
    return tree.Construct(position, kind, tuple(zero(position, f.type) for f in kind.fields))


def is_index(node: tree.Expr) -> bool:
    """Say whether a value can move a pointer."""
    return isinstance(node.type, Scalar) and node.type.kind != "float"
