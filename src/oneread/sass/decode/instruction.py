"""What an instruction, an operand and a kernel's machine code are: plain values.

Knows neither how they are read from text nor what they mean together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, NamedTuple, TypeAlias

#: R a thread's registers, UR a warp's, P and UP their predicates, B convergence barriers; S is no
#: register but a word of shared memory, where data flow follows it like one.
Bank: TypeAlias = Literal["R", "UR", "P", "UP", "B", "S"]

#: ``zero`` is RZ and URZ, ``true`` PT and UPT: no register is read or written there.
OperandKind: TypeAlias = Literal[
    "register", "predicate", "zero", "true", "number", "constant", "address", "label", "other"
]


class Register(NamedTuple):
    """A register by bank and number."""

    bank: Bank
    number: int

    def __str__(self) -> str:
        return f"{self.bank}{self.number}"


ALWAYS_TRUE: Final = Register("P", 7)


class Named(NamedTuple):
    """A register as an operand names it: the first of a pair has the suffix ``64``."""

    register: Register
    suffixes: tuple[str, ...] = ()


class Guard(NamedTuple):
    """The predicate that an instruction runs under, ``@P0`` or ``@!P0``.

    `ALWAYS_TRUE` is no register: under its opposite, ``@!PT``, nothing ever runs.
    """

    register: Register
    negated: bool

    def __str__(self) -> str:
        name = "PT" if self.register == ALWAYS_TRUE else self.register
        return f"@{'!' if self.negated else ''}{name}"

    @property
    def opposite(self) -> Guard:
        return Guard(self.register, not self.negated)


class SourceLine(NamedTuple):
    """A line of source; of an inlined function, `call` is where it was called."""

    file: str
    line: int
    call: SourceLine | None = None

    @property
    def outermost(self) -> SourceLine:
        """Return the line in the kernel itself."""
        return self.call.outermost if self.call else self


class Control(NamedTuple):
    """What the compiler tells the scheduler.

    ``stall`` is cycles until the warp's next instruction, ``yields`` whether another warp should
    go first. ``write_barrier`` is set until the result is there, ``read_barrier`` until the
    operands were read, both None or one of six; ``waits`` are those that must be clear before.
    ``reuse`` says which operands stay in the operand cache, a bit each.
    """

    stall: int
    yields: bool
    write_barrier: int | None
    read_barrier: int | None
    waits: tuple[int, ...]
    reuse: int


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand as it is printed, and taken apart.

    ``number`` is the value of a number, the offset of an address or of a constant; None of a
    number that is no number, and of what has none. ``base`` is the bank of a constant, such as
    ``0x0`` or ``UR4``; of an address it says what the address is one of (``desc``, ``tmem``).
    """

    text: str
    kind: OperandKind
    names: tuple[Named, ...] = ()
    negative: bool = False
    absolute: bool = False
    inverted: bool = False
    number: float | None = None
    base: str = ""

    @property
    def register(self) -> Register | None:
        """Return the register, if the operand is one."""
        return self.names[0].register if self.kind in ("register", "predicate") else None

    @property
    def is_plain(self) -> bool:
        return not (self.negative or self.absolute or self.inverted)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    ``index`` counts from 0, ``address`` in bytes from the start of the kernel. The first
    ``outputs`` operands are written. ``reads`` and ``writes`` are all registers, those of pairs
    and of the guard included. ``target`` is the address that a branch may go to, ``targets`` all
    of a branch with a table. ``is_spill`` says that the disassembler has marked it as a register's
    spill or refill. `control` is None where the text had no encoding, `line` where the
    code has no line numbers.
    """

    index: int
    address: int
    guard: Guard | None
    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    outputs: int
    reads: frozenset[Register]
    writes: frozenset[Register]
    control: Control | None = None
    line: SourceLine | None = None
    targets: tuple[int, ...] = ()
    is_spill: bool = False

    @property
    def mnemonic(self) -> str:
        return ".".join((self.opcode, *self.modifiers))

    @property
    def text(self) -> str:
        """Return the instruction as a disassembler prints it, without ``.reuse``."""
        guard = f"{self.guard} " if self.guard else ""
        operands = ", ".join(operand.text for operand in self.operands)
        return f"{guard}{self.mnemonic} {operands}".rstrip()

    @property
    def never_runs(self) -> bool:
        """Say whether it stands under ``@!PT``: it takes its place and does nothing."""
        return self.guard is not None and self.guard.register == ALWAYS_TRUE

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """Return the operands that are not written."""
        return self.operands[self.outputs :]

    def has(self, *modifiers: str) -> bool:
        """Say whether it carries one of these modifiers."""
        return any(one in self.modifiers for one in modifiers)


class Resources(NamedTuple):
    """What a thread or a block of a kernel takes; None where the input does not say."""

    registers: int | None = None
    shared_bytes: int | None = None
    local_bytes: int | None = None
    barriers: int | None = None


NOTHING_SAID: Final = Resources()


@dataclass(frozen=True)
class Program:
    """The machine code of one kernel: ``target`` is 86 for sm_86, ``arch`` is that word.

    `name` is the symbol, ``short_name`` what the source calls the kernel.
    ``marks_spills`` says that the compiler is one that marks every spill.
    """

    name: str
    arch: str
    instructions: tuple[Instruction, ...]
    resources: Resources = NOTHING_SAID
    marks_spills: bool = False

    @property
    def target(self) -> int:
        return int("".join(char for char in self.arch if char.isdigit()))

    @property
    def short_name(self) -> str:
        # A mangled name begins with _Z, each of its parts with its length; the last one counts.
        rest, found = self.name.removeprefix("_Z").removeprefix("N"), ""
        while self.name.startswith("_Z") and (digits := re.match(r"\d+", rest)):
            end = digits.end() + int(digits[0])
            found, rest = rest[digits.end() : end], rest[end:]
        return found or self.name

    @cached_property
    def at(self) -> dict[int, Instruction]:
        """Return the instructions by address."""
        return {one.address: one for one in self.instructions}
