"""C types of the subset, with the sizes and alignments of CUDA on 64-bit Linux.

Knows the conversion rules of C++ arithmetic; knows no expression.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Void:
    """The type of a call that returns nothing, and the target of `void*`."""

    size: int = 1
    align: int = 1

    def __str__(self) -> str:
        return "void"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number: ``kind`` is bool, int or float; ``rank`` orders types of one size."""

    name: str
    size: int
    kind: Literal["bool", "int", "float"]
    signed: bool
    rank: int

    @property
    def align(self) -> int:
        return self.size

    @property
    def lowest(self) -> int:
        """Smallest value of an integer type."""
        return -(1 << (8 * self.size - 1)) if self.signed else 0

    @property
    def highest(self) -> int:
        """Largest value of an integer type; of bool, 1."""
        if self.kind == "bool":
            return 1
        return (1 << (8 * self.size - self.signed)) - 1

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Pointer:
    """A 64-bit address. ``const`` and ``volatile`` are of what it points to.

    Addresses are generic, as in CUDA: which space one lies in is seen when it is used.
    """

    target: Type
    const: bool = False
    volatile: bool = False
    size: int = 8
    align: int = 8

    def __str__(self) -> str:
        words = "const " * self.const + "volatile " * self.volatile
        return f"{words}{self.target}*"


@dataclass(frozen=True, slots=True)
class Array:
    """``length`` elements in a row; None is ``extern __shared__ T name[]``."""

    element: Type
    length: int | None

    @property
    def size(self) -> int:
        return self.element.size * (self.length or 0)

    @property
    def align(self) -> int:
        return self.element.align

    def __str__(self) -> str:
        base: Type = self
        dimensions = ""
        while isinstance(base, Array):
            dimensions += f"[{'' if base.length is None else base.length}]"
            base = base.element
        return f"{base}{dimensions}"


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a struct and its offset in bytes."""

    name: str
    type: Type
    offset: int
    const: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """A struct of the source, or a vector type such as float4. Two are the same if identical."""

    name: str
    fields: tuple[Field, ...]
    size: int
    align: int

    def field(self, name: str) -> Field | None:
        """Return a field by name, or None."""
        return next((field for field in self.fields if field.name == name), None)

    def __str__(self) -> str:
        return self.name


Type: TypeAlias = Void | Scalar | Pointer | Array | Struct


def make_struct(name: str, members: list[tuple[str, Type, bool]], align: int = 1) -> Struct:
    """Lay out a struct as C does: each member at its alignment, the size a multiple of it.

    Parameters
    ----------
    name : str
        Name of the struct.
    members : list of (str, Type, bool)
        Name, type and constness of each member in order.
    align : int
        Alignment asked for with ``__align__``; the members may ask for more.

    Returns
    -------
    Struct
        The struct with the offsets of its members.
    """
    fields, offset = [], 0
    for member, kind, const in members:
        offset = round_up(offset, kind.align)
        fields.append(Field(member, kind, offset, const))
        offset += kind.size
        align = max(align, kind.align)
    return Struct(name, tuple(fields), max(1, round_up(offset, align)), align)


def round_up(value: int, step: int) -> int:
    """Return the next multiple of a step."""
    return -(-value // step) * step


VOID: Final = Void()
BOOL: Final = Scalar("bool", 1, "bool", False, 0)
CHAR: Final = Scalar("char", 1, "int", True, 1)
SCHAR: Final = Scalar("signed char", 1, "int", True, 1)
UCHAR: Final = Scalar("unsigned char", 1, "int", False, 1)
SHORT: Final = Scalar("short", 2, "int", True, 2)
USHORT: Final = Scalar("unsigned short", 2, "int", False, 2)
INT: Final = Scalar("int", 4, "int", True, 3)
UINT: Final = Scalar("unsigned int", 4, "int", False, 3)
LONG: Final = Scalar("long", 8, "int", True, 4)
ULONG: Final = Scalar("unsigned long", 8, "int", False, 4)
LONG_LONG: Final = Scalar("long long", 8, "int", True, 5)
ULONG_LONG: Final = Scalar("unsigned long long", 8, "int", False, 5)
FLOAT: Final = Scalar("float", 4, "float", True, 6)
DOUBLE: Final = Scalar("double", 8, "float", True, 7)

SCALARS: Final = (
    BOOL, CHAR, SCHAR, UCHAR, SHORT, USHORT, INT, UINT,
    LONG, ULONG, LONG_LONG, ULONG_LONG, FLOAT, DOUBLE,
)  # fmt: skip

#: Names that headers define: of <cstdint>, <cstddef> and CUDA.
NAMED: Final[dict[str, Scalar]] = {
    "int8_t": SCHAR, "uint8_t": UCHAR, "int16_t": SHORT, "uint16_t": USHORT,
    "int32_t": INT, "uint32_t": UINT, "int64_t": LONG, "uint64_t": ULONG,
    "size_t": ULONG, "ptrdiff_t": LONG, "intptr_t": LONG, "uintptr_t": ULONG,
    "uchar": UCHAR, "ushort": USHORT, "uint": UINT, "ulong": ULONG,
}  # fmt: skip

SIZE_T: Final = ULONG
PTRDIFF_T: Final = LONG


def _vectors() -> dict[str, Struct]:
    """Return CUDA's vector types. Those of 2 and 4 elements are aligned as a whole, up to 16."""
    bases = {
        "char": SCHAR, "uchar": UCHAR, "short": SHORT, "ushort": USHORT, "int": INT, "uint": UINT,
        "longlong": LONG_LONG, "ulonglong": ULONG_LONG, "float": FLOAT, "double": DOUBLE,
    }  # fmt: skip
    made = {}
    for base, kind in bases.items():
        for count in (1, 2, 3, 4):
            align = 1 if count == 3 else min(16, kind.size * count)
            members: list[tuple[str, Type, bool]] = [(axis, kind, False) for axis in "xyzw"[:count]]
            made[f"{base}{count}"] = make_struct(f"{base}{count}", members, align)
    return made


VECTORS: Final = _vectors()


def promote(kind: Scalar) -> Scalar:
    """Return the type after integer promotion: whatever is narrower than int becomes int."""
    return INT if kind.kind != "float" and kind.rank < INT.rank else kind


def common(left: Scalar, right: Scalar) -> Scalar:
    """Return the type in which two numbers meet, by the usual arithmetic conversions."""
    left, right = promote(left), promote(right)
    high, low = (left, right) if left.rank >= right.rank else (right, left)
    if high.kind == "float" or high.signed == low.signed or not high.signed:
        return high
    # A signed type of higher rank wins only when it holds all values of the unsigned one.
    return high if high.size > low.size else unsigned(high)


def unsigned(kind: Scalar) -> Scalar:
    """Return the unsigned type of the same rank."""
    return next(other for other in SCALARS if other.rank == kind.rank and not other.signed)


def may_hold(kind: Type) -> bool:
    """Say whether a register can hold the type: no array, and no struct with one."""
    if isinstance(kind, Struct):
        return all(may_hold(field.type) for field in kind.fields)
    return not isinstance(kind, Array)
