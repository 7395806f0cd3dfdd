"""Guards: which threads leave at once, and by what they are told apart.

Knows no loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from oneread.sass.decode.instruction import Instruction
from oneread.sass.facts.accesses import parameter_base
from oneread.sass.flow.graph import Graph
from oneread.sass.flow.reaching import ENTRY, Reaching

#: Longest way back from the predicate to what it tells threads apart by.
_DEPTH: Final = 6


@dataclass(frozen=True, slots=True)
class Exit:
    """A guarded EXIT before anything is loaded.

    ``steps`` are the instructions that make its predicate; ``special`` are the special registers
    in them, such as ``SR_TID.X``, ``parameters`` the places of kernel parameters, in bytes.
    """

    instruction: Instruction
    steps: tuple[Instruction, ...]
    special: tuple[str, ...]
    parameters: tuple[int, ...]


def exits(graph: Graph, reaching: Reaching) -> list[Exit]:
    """Return the guarded exits of a kernel before its first load and loop.

    Parameters
    ----------
    graph : Graph
        The kernel.
    reaching : Reaching
        Where values come from.

    Returns
    -------
    list of Exit
        In the order of addresses.
    """
    heads = {loop.head for loop in graph.loops}
    found: list[Exit] = []
    for number in sorted(graph.blocks):
        if number in heads:
            break
        for one in graph.instructions([number]):
            if one.opcode in ("LDG", "LD", "STG", "ST"):
                return found
            if one.opcode == "EXIT" and one.guard:
                found.append(_exit(graph, one, reaching))
    return found


def _exit(graph: Graph, one: Instruction, reaching: Reaching) -> Exit:
    base = parameter_base(graph.program.target)
    steps: dict[int, Instruction] = {}
    special: set[str] = set()
    parameters: set[int] = set()
    waiting = [(one, 0)]
    while waiting:
        reader, depth = waiting.pop()
        for operand in reader.inputs:
            if operand.text.startswith("SR_"):
                special.add(operand.text)
            if operand.kind == "constant" and operand.base == "0x0":
                offset = int(operand.number or 0) - base
                if offset >= 0:
                    parameters.add(offset)
        for index in reaching.feeding(reader):
            if index != ENTRY and index not in steps and depth < _DEPTH:
                steps[index] = graph.program.instructions[index]
                waiting.append((steps[index], depth + 1))
    return Exit(
        one,
        tuple(steps[index] for index in sorted(steps)),
        tuple(sorted(special)),
        tuple(sorted(parameters)),
    )
