"""What a loop computes anew in each trip, though nothing that it is made of changes there.

Knows no opcode but those of memory.
"""

from __future__ import annotations

from oneread.sass.decode.instruction import Instruction, Register
from oneread.sass.decode.opcodes import pipe
from oneread.sass.flow.graph import Graph, Loop
from oneread.sass.flow.reaching import Reaching


def is_invariant(one: Instruction, loop: Loop, graph: Graph, reaching: Reaching) -> bool:
    """Say whether an instruction of a loop writes the same in each trip.

    Parameters
    ----------
    one : Instruction
        Such as a reciprocal.
    loop : Loop
        That it stands in.
    graph : Graph
        The kernel.
    reaching : Reaching
        Where values come from.

    Returns
    -------
    bool
        False also where that is not known: what is loaded in the loop may be another value.
    """
    inside = {each.index for each in graph.instructions(loop.blocks)}
    known: dict[int, bool] = {}

    def keeps(index: int) -> bool:
        source = graph.program.instructions[index]
        # What is read in the loop may be at another place, or have changed.
        if pipe(source.opcode) in ("lsu", "async"):
            return False
        if index not in known:
            known[index] = False  # what comes round to itself changes
            known[index] = all(same(source, register) for register in source.reads)
        return known[index]

    def same(source: Instruction, register: Register) -> bool:
        definitions = reaching.of(source.index, register)
        there = [index for index in definitions if index in inside]
        return not there or (len(there) == len(definitions) and all(map(keeps, there)))

    return keeps(one.index)
