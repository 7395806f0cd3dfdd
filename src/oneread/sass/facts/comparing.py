"""How a kernel takes the larger or the smaller of two values.

One instruction does it, or a comparison and a selection: those differ in what becomes of NaN.
Knows no loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from oneread.sass.decode.instruction import Instruction, Operand, Register
from oneread.sass.flow.graph import Graph
from oneread.sass.flow.reaching import Reaching
from oneread.sass.flow.recurrences import is_move

Extreme: TypeAlias = Literal["max", "min"]

#: Opcodes that choose by themselves; their last operand says which.
_CHOOSE: Final = frozenset(
    {"DMNMX", "FMNMX", "FMNMX3", "HMNMX2", "IMNMX", "UFMNMX", "UIMNMX", "UVIMNMX", "VHMNMX",
     "VIMNMX", "VIMNMX3"}
)  # fmt: skip
_COMPARE: Final = frozenset({"DSETP", "FSETP", "HSETP2", "ISETP"})
_SELECT: Final = frozenset({"FSEL", "SEL"})
_LARGER: Final = ("GT", "GE", "GTU", "GEU")
_SMALLER: Final = ("LT", "LE", "LTU", "LEU")


@dataclass(frozen=True, slots=True)
class Choice:
    """The larger or the smaller of values.

    ``form`` is ``FMNMX``, ``FSETP+FSEL``, ``FSETP+MOV`` under a guard, ``FSETP+BRA`` where a branch
    leads to the move. ``steps`` are the instructions; the last of them writes the value.
    """

    extreme: Extreme
    form: str
    steps: tuple[Instruction, ...]

    @property
    def index(self) -> int:
        return self.steps[-1].index

    @property
    def is_float(self) -> bool:
        """Say whether the values are no integers."""
        return self.form[0] in "FHD" or self.form.startswith("VH")


def choices(graph: Graph, instructions: Iterable[Instruction], reaching: Reaching) -> list[Choice]:
    """Return the places where the larger or the smaller of values is taken.

    Parameters
    ----------
    graph : Graph
        The kernel.
    instructions : iterable of Instruction
        Where to look.
    reaching : Reaching
        Where values come from.

    Returns
    -------
    list of Choice
        In the order of the instructions.
    """
    finder = _Finder(graph, reaching)
    found = (finder.choice(one) for one in instructions)
    return [one for one in found if one]


class _Finder:
    """One search through a kernel."""

    def __init__(self, graph: Graph, reaching: Reaching) -> None:
        self.graph = graph
        self.reaching = reaching

    def choice(self, one: Instruction) -> Choice | None:
        if one.opcode in _CHOOSE and one.operands[-1].kind == "true":
            return Choice("max" if one.operands[-1].inverted else "min", one.opcode, (one,))
        if one.opcode in _SELECT:
            return self.selected(one)
        return self.moved(one) if is_move(one) else None

    def selected(self, one: Instruction) -> Choice | None:
        """Return the choice of a selection between two values that were compared."""
        *values, condition = one.inputs
        if condition.register is None or len(values) != 2:
            return None
        comparison = self.comparison(one, condition.register)
        if comparison is None:
            return None
        first, second = comparison.inputs[:2]
        larger = comparison.has(*_LARGER) != condition.inverted
        if self.same(one, values[0], comparison, second):
            larger = not larger
            first, second = second, first
        if not (
            self.same(one, values[0], comparison, first)
            and self.same(one, values[1], comparison, second)
        ):
            return None
        form = f"{comparison.opcode}+{one.opcode}"
        return Choice("max" if larger else "min", form, (comparison, one))

    def moved(self, one: Instruction) -> Choice | None:
        """Return the choice of a move over what a value was compared with."""
        result = one.operands[0].register
        source = next((operand for operand in reversed(one.inputs) if operand.register), None)
        block = self.graph.block_of(one.index)
        branch, guard = one, one.guard
        if guard is None and block is not None:
            branch, guard = self.graph.control_of(block.number) or (one, None)
        if guard is None or source is None or not source.is_plain or result is None:
            return None
        comparison = self.comparison(branch, guard.register)
        if comparison is None:
            return None
        first, second = comparison.inputs[:2]
        larger = comparison.has(*_LARGER) != guard.negated
        if self.same(one, source, comparison, second) and first.register == result:
            larger = not larger
        elif not (self.same(one, source, comparison, first) and second.register == result):
            return None
        steps = (comparison, one) if branch is one else (comparison, branch, one)
        form = "+".join(step.opcode for step in (steps if branch is one else steps[:2]))
        return Choice("max" if larger else "min", form, steps)

    def comparison(self, reader: Instruction, predicate: Register) -> Instruction | None:
        """Return the comparison of two values that alone makes a predicate."""
        definitions = self.reaching.of(reader.index, predicate)
        if len(definitions) != 1 or min(definitions) < 0:
            return None
        one = self.graph.program.instructions[min(definitions)]
        is_whole = (
            one.opcode in _COMPARE
            and one.guard is None
            and one.operands[0].register == predicate
            and one.has(*_LARGER, *_SMALLER)
            and all(operand.kind == "true" and operand.is_plain for operand in one.inputs[2:])
        )
        return one if is_whole else None

    def same(self, one: Instruction, left: Operand, other: Instruction, right: Operand) -> bool:
        """Say whether operands of two instructions are the same value."""
        if left.text != right.text or left.register is None:
            return left.text == right.text
        register = left.register
        return self.reaching.of(one.index, register) == self.reaching.of(other.index, register)
