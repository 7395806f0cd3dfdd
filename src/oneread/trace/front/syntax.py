"""The syntax tree: what was written, before any name has a meaning.

Values only. Brackets are gone, their effect is in the shape.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from oneread.source.text import Position


@dataclass(slots=True, eq=False, repr=False)
class TypeWords:
    """The words of a type before its declarators: ``const unsigned int``, ``T``, ``auto``."""

    position: Position
    name: str
    const: bool = False
    volatile: bool = False


@dataclass(slots=True, eq=False, repr=False)
class Declarator:
    """What stands around a name: stars with their qualifiers, a reference, dimensions."""

    position: Position
    name: str
    #: For each star, from left to right: whether the pointer itself is const, volatile.
    pointers: tuple[tuple[bool, bool], ...] = ()
    reference: bool = False
    dimensions: tuple[Expr | None, ...] = ()


@dataclass(slots=True, eq=False, repr=False)
class TypeId:
    """A whole type, as in a cast."""

    words: TypeWords
    declarator: Declarator


@dataclass(slots=True, eq=False, repr=False)
class Expr:
    """An expression; `height` is how deep it is nested."""

    position: Position
    height: int = field(default=1, init=False)


@dataclass(slots=True, eq=False, repr=False)
class Number(Expr):
    """A number as it is written."""

    text: str


@dataclass(slots=True, eq=False, repr=False)
class Character(Expr):
    """A character in its quotes."""

    text: str


@dataclass(slots=True, eq=False, repr=False)
class Name(Expr):
    """A name; `arguments` are those of a template, None where no bracket stands."""

    name: str
    arguments: tuple[TypeId | Expr, ...] | None = None


@dataclass(slots=True, eq=False, repr=False)
class Limit(Expr):
    """``std::numeric_limits<T>::member()``."""

    type: TypeId
    member: str


@dataclass(slots=True, eq=False, repr=False)
class Prefix(Expr):
    """An operator before its operand."""

    operator: str
    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class Postfix(Expr):
    """``++`` or ``--`` behind its operand."""

    operator: str
    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class Infix(Expr):
    """A binary operator, assignments and the comma among them."""

    operator: str
    left: Expr
    right: Expr


@dataclass(slots=True, eq=False, repr=False)
class Choice(Expr):
    """``condition ? then : otherwise``."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(slots=True, eq=False, repr=False)
class Apply(Expr):
    """A call by name."""

    function: Name
    arguments: tuple[Expr, ...]


@dataclass(slots=True, eq=False, repr=False)
class Subscript(Expr):
    """``base[index]``."""

    base: Expr
    index: Expr


@dataclass(slots=True, eq=False, repr=False)
class Access(Expr):
    """``base.member`` or ``base->member``."""

    base: Expr
    member: str
    arrow: bool


@dataclass(slots=True, eq=False, repr=False)
class Cast(Expr):
    """A cast; `form` is empty for C's, or static_cast, reinterpret_cast, const_cast."""

    form: str
    type: TypeId
    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class Braces(Expr):
    """``{a, b}``, as an initialiser."""

    items: tuple[Expr, ...]


@dataclass(slots=True, eq=False, repr=False)
class Make(Expr):
    """``T{a, b}`` or ``T(a)``."""

    type: TypeId
    items: tuple[Expr, ...]
    braces: bool


@dataclass(slots=True, eq=False, repr=False)
class SizeOf(Expr):
    """``sizeof`` or ``alignof`` of a type or of an expression's type."""

    operator: str
    of: TypeId | Expr


@dataclass(slots=True, eq=False, repr=False)
class Statement:
    """A statement or declaration; `astray` if it has an error of grammar itself."""

    position: Position
    astray: bool = field(default=False, init=False)


@dataclass(slots=True, eq=False, repr=False)
class Compound(Statement):
    """``{...}``."""

    statements: tuple[Statement, ...]


@dataclass(slots=True, eq=False, repr=False)
class Simple(Statement):
    """An expression and its semicolon."""

    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class Selection(Statement):
    """``if``; `settled` for ``if constexpr``."""

    condition: Expr
    then: Statement
    otherwise: Statement | None
    settled: bool


@dataclass(slots=True, eq=False, repr=False)
class ForLoop(Statement):
    """``for``."""

    start: Statement | None
    condition: Expr | None
    step: Expr | None
    body: Statement


@dataclass(slots=True, eq=False, repr=False)
class WhileLoop(Statement):
    """``while``."""

    condition: Expr
    body: Statement


@dataclass(slots=True, eq=False, repr=False)
class DoLoop(Statement):
    """``do``."""

    body: Statement
    condition: Expr


@dataclass(slots=True, eq=False, repr=False)
class Jump(Statement):
    """``break``, ``continue`` or ``return``."""

    word: str
    value: Expr | None = None


@dataclass(slots=True, eq=False, repr=False)
class Variables(Statement):
    """Variables declared together, each with its initialiser."""

    words: TypeWords
    #: Storage and such: static, extern, constexpr, __shared__, __constant__, __device__.
    flags: frozenset[str]
    align: Expr | None
    declared: tuple[tuple[Declarator, Expr | None], ...]


@dataclass(slots=True, eq=False, repr=False)
class Alias(Statement):
    """``typedef`` or ``using``."""

    names: tuple[tuple[Position, str, TypeId], ...]


@dataclass(slots=True, eq=False, repr=False)
class StructType(Statement):
    """The definition of a struct."""

    name: str
    align: Expr | None
    members: tuple[Variables, ...]


@dataclass(slots=True, eq=False, repr=False)
class EnumType(Statement):
    """An enumeration that is not scoped."""

    name: str
    base: TypeId | None
    items: tuple[tuple[Position, str, Expr | None], ...]


@dataclass(slots=True, eq=False, repr=False)
class StaticAssert(Statement):
    """``static_assert``."""

    condition: Expr
    message: str


@dataclass(slots=True, eq=False, repr=False)
class TemplateParameter:
    """``typename T`` (then `words` is None) or ``int N``, with a default perhaps."""

    position: Position
    name: str
    words: TypeWords | None
    default: TypeId | Expr | None


@dataclass(slots=True, eq=False, repr=False)
class Parameter:
    """A parameter of a function."""

    type: TypeId


@dataclass(slots=True, eq=False, repr=False)
class FunctionHead:
    """A function without its body: `body` is where its brace stands among the tokens, or None."""

    position: Position
    name: str
    is_kernel: bool
    returns: TypeId
    parameters: tuple[Parameter, ...]
    template: tuple[TemplateParameter, ...]
    max_threads: Expr | None
    body: int | None
    #: Where it stands among the tokens, so that use before declaration is seen.
    start: int
    #: Names in what could not be read of it, and whether that is so of its parameters.
    lost: frozenset[str] = frozenset()
    broken: bool = False


@dataclass(slots=True, eq=False, repr=False)
class Body:
    """A function's statements, and the names in what could not be read of it."""

    block: Compound
    lost: frozenset[str]
    #: Whether every statement could be read.
    whole: bool
