"""The typed tree: what the type checker hands to the machine.

Every expression carries its type, every conversion stands as a node, every name is resolved and
every compile-time constant is folded, so that who executes the tree needs no rule of C. Holds
values only; knows neither the parser nor the machine.

What the checker has lowered: a reference is a pointer (its uses are `Deref`), and a variable that
one is bound to, or whose address is taken, lies in memory (`Storage.LOCAL`); `__ldg` and its kin
are a `Load`, `__stcs` and its kin an `Assign`; `make_float4` and brace initialisers are a
`Construct`; `sizeof`, `constexpr`, enumerators and template arguments are a `Literal`; `p->f` is a
`Member` of a `Deref`; `-n` steps of a pointer are a `PointerAdd` of a negated index.

The position of an expression is where it starts; that of a `Binary`, `Logical`, `Conditional`,
`Assign` and `Update` is its operator. What a macro brought has the position of the macro's use,
its arguments their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from oneread.source.text import Position
from oneread.trace.builtins import Builtin
from oneread.trace.node import node
from oneread.trace.types import Field, Type


class Storage(Enum):
    """Where a variable lives.

    A ``REGISTER`` has no address: a scalar, a pointer or a struct without arrays whose address
    nobody takes, parameters among them. ``LOCAL`` is memory of one thread: arrays, and whatever
    has its address taken or a reference bound to it. ``SHARED`` is laid out at compile time; all
    of ``EXTERN_SHARED`` start at one address, behind it.
    """

    REGISTER = "register"
    LOCAL = "local"
    SHARED = "shared"
    EXTERN_SHARED = "extern shared"


@dataclass(slots=True, eq=False)
class Variable:
    """A variable of the source, or one that the checker made (then its name holds a ``$``)."""

    name: str
    type: Type
    storage: Storage
    position: Position
    const: bool = False
    volatile: bool = False
    #: Alignment asked for with ``__align__`` or ``alignas``; the type may ask for more.
    align: int = 1


@node
class Expr:
    """An expression: a value of its type, unless it is an `Lvalue`."""

    position: Position
    type: Type


@node
class Lvalue(Expr):
    """A place that holds a value of the type."""


@node
class VariableRef(Lvalue):
    """The place of a variable."""

    variable: Variable


@node
class Deref(Lvalue):
    """``*pointer``."""

    pointer: Expr


@node
class Index(Lvalue):
    """``pointer[index]``; the index is a 64-bit integer, counted in elements."""

    pointer: Expr
    index: Expr


@node
class Member(Lvalue):
    """A member of a struct that has a place."""

    base: Expr
    field: Field


@node
class Temporary(Lvalue):
    """The place of a made variable, after the value was put there; for `const T&` of a value."""

    variable: Variable
    value: Expr


@node
class Literal(Expr):
    """A constant. A float's value is rounded to its type; a null pointer is 0."""

    value: int | float


@node
class Special(Expr):
    """``threadIdx.x`` and the like, all of them unsigned int, and ``warpSize``, which is int."""

    name: str


@node
class Load(Expr):
    """The value that a place holds; of an array never."""

    place: Expr


@node
class AddressOf(Expr):
    """The address of a place that is in memory."""

    place: Expr


@node
class Decay(Expr):
    """The address of the first element of an array that has a place."""

    place: Expr


@node
class Extract(Expr):
    """A member of a struct that is a value, such as what a call returned."""

    value: Expr
    field: Field


@node
class Convert(Expr):
    """A value made one of another type; from float to int the fraction is cut.

    Between scalars, from a scalar or pointer to bool, between pointers and 64-bit integers,
    between pointers, and from anything to void, a place that is not read then too.
    """

    value: Expr


@node
class Unary(Expr):
    """``-`` and ``~`` on a promoted number, ``!`` on a bool."""

    operator: str
    value: Expr


@node
class Binary(Expr):
    """Arithmetic ``+ - * / % & | ^ << >>``, or a comparison ``< > <= >= == !=`` with a bool.

    Both operands have the same type, only the right one of a shift its own. Comparisons are of
    numbers or of pointers.
    """

    operator: str
    left: Expr
    right: Expr


@node
class Logical(Expr):
    """``&&`` or ``||`` of two bools; the right one is evaluated only where it matters."""

    operator: str
    left: Expr
    right: Expr


@node
class Conditional(Expr):
    """``condition ? then : otherwise``; the condition is a bool. Each lane evaluates one side."""

    condition: Expr
    then: Expr
    otherwise: Expr


@node
class Comma(Expr):
    """``left, right``: the value is the right one's; a place on the left is not read."""

    left: Expr
    right: Expr


@node
class PointerAdd(Expr):
    """A pointer moved by a 64-bit number of elements."""

    pointer: Expr
    index: Expr


@node
class PointerDifference(Expr):
    """The elements between two pointers of one type, a 64-bit integer."""

    left: Expr
    right: Expr


@node
class Assign(Expr):
    """Put a value in a place; the value of the expression is what was put. Right side first."""

    target: Expr
    value: Expr


@node
class Update(Expr):
    """``target += value`` and its kin, ``++target``, ``target++``.

    In order: evaluate ``value``, find the place once, load it, convert to ``compute``, apply
    ``operator``, convert to the type of the place, store. The expression's value is what was
    stored, or, when ``postfix``, what was there before. When ``compute`` is a pointer, ``value``
    is a 64-bit number of elements and the operator ``+`` or ``-``.
    """

    operator: str
    target: Expr
    value: Expr
    compute: Type
    postfix: bool


@node
class Call(Expr):
    """A call of a device function; each argument has the type of its parameter."""

    function: Function
    arguments: tuple[Expr, ...]


@node
class BuiltinCall(Expr):
    """A call of a built-in; each argument has the type that the built-in takes there."""

    builtin: Builtin
    arguments: tuple[Expr, ...]


@node
class Construct(Expr):
    """A struct made of a value for each of its fields, in order."""

    values: tuple[Expr, ...]


@node
class ArrayValue(Expr):
    """The first elements of an array; the others are zero. Only as an initialiser."""

    values: tuple[Expr, ...]


@node
class Statement:
    """A statement; its position is its first token, of a `Declare` the variable's name."""

    position: Position


@node
class Declare(Statement):
    """A variable of a register or of local memory comes to be, set or unset.

    Each time it is executed the variable is new: what it held before is gone. Shared variables
    have no such statement; they are listed in `Function.shared`.
    """

    variable: Variable
    value: Expr | None


@node
class Evaluate(Statement):
    """An expression whose value nobody uses."""

    value: Expr


@node
class Block(Statement):
    """Statements in order; none is the empty statement."""

    statements: tuple[Statement, ...]


@node
class If(Statement):
    """``if (condition) then else otherwise``; the condition is a bool."""

    condition: Expr
    then: Statement
    otherwise: Statement | None


@node
class For(Statement):
    """``for (start; condition; step) body``; no condition is true."""

    start: tuple[Statement, ...]
    condition: Expr | None
    step: Expr | None
    body: Statement


@node
class While(Statement):
    """``while (condition) body``."""

    condition: Expr
    body: Statement


@node
class DoWhile(Statement):
    """``do body while (condition)``."""

    body: Statement
    condition: Expr


@node
class Break(Statement):
    """``break``."""


@node
class Continue(Statement):
    """``continue``."""


@node
class Return(Statement):
    """``return value``; the value has the function's type."""

    value: Expr | None


@dataclass(slots=True, eq=False)
class Function:
    """A kernel or device function, one for each set of template arguments.

    No function calls itself, not even through others.
    """

    name: str
    position: Position
    return_type: Type
    parameters: tuple[Variable, ...]
    body: Block
    is_kernel: bool
    #: Variables of registers and of local memory, parameters and made ones included.
    variables: tuple[Variable, ...]
    #: Its own shared variables, static and extern, in the order of the source.
    shared: tuple[Variable, ...]
    #: Most threads a block may have by ``__launch_bounds__``.
    max_threads: int | None = None


@node
class Program:
    """A kernel and all that it reaches."""

    kernel: Function
    #: The kernel and the device functions it reaches, callees before callers.
    functions: tuple[Function, ...]

    @property
    def shared(self) -> tuple[Variable, ...]:
        """Return all shared variables, those of callees first."""
        return tuple(variable for function in self.functions for variable in function.shared)
