"""Words of shared memory that data flow can follow as if they were registers.

A word is known by the linear form of its address: two instructions whose addresses have the same
form meet in the same word. What is addressed in a way that cannot be compared is left alone.
Knows no algorithm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from oneread.sass.decode.effects import data_width
from oneread.sass.decode.instruction import Instruction, Register
from oneread.sass.flow.forms import Form, Forms
from oneread.sass.flow.graph import Graph, Loop
from oneread.sass.flow.reaching import Reaching

_WORD_BYTES: Final = 4
#: An index that is multiplied, as in ``[R4.X4]``.
_SCALE: Final = re.compile(r"X\d+")


@dataclass(frozen=True)
class Words:
    """The words of a kernel.

    ``addresses`` are the values of their addresses; ``lanes`` says of what an access moves which
    register or word each of its results comes from.
    """

    addresses: Mapping[Register, Form]
    lanes: Mapping[tuple[int, Register], frozenset[Register]]

    def sources(self, one: Instruction, register: Register) -> frozenset[Register]:
        """Return the registers that a result of an instruction is made of."""
        return self.lanes.get((one.index, register), one.reads)

    def varies(self, word: Register, graph: Graph, loop: Loop) -> bool:
        """Say whether a word is another one in each trip of a loop."""
        varying = self.addresses[word].varying
        return any(one.index in varying for one in graph.instructions(loop.blocks))


def with_words(graph: Graph, reaching: Reaching) -> tuple[Graph, Words]:
    """Make the words of shared memory visible to data flow.

    Parameters
    ----------
    graph : Graph
        The kernel.
    reaching : Reaching
        Where values come from.

    Returns
    -------
    Graph
        The same, with words of bank ``S`` among what loads and stores read and write.
    Words
        What they are.
    """
    forms = Forms(graph, reaching)
    numbers: dict[tuple[object, int], Register] = {}
    addresses: dict[Register, Form] = {}
    lanes: dict[tuple[int, Register], frozenset[Register]] = {}
    instructions = list(graph.program.instructions)
    for one in graph.instructions(graph.blocks):
        place = _address(one, forms) if one.opcode in ("LDS", "STS") else None
        if place is None:
            continue
        data = _data(one)
        words = []
        for nth in range(len(data)):
            key = place.terms, place.offset + _WORD_BYTES * nth
            word = numbers.setdefault(key, Register("S", len(numbers)))
            addresses[word] = replace(place, offset=key[1])
            words.append(word)
        for register, word in zip(data, words, strict=True):
            if one.opcode == "LDS" and register:
                lanes[one.index, register] = frozenset({word})
            elif one.opcode == "STS":
                lanes[one.index, word] = frozenset({register} if register else ())
        instructions[one.index] = _touching(one, frozenset(words))
    program = replace(graph.program, instructions=tuple(instructions))
    return replace(graph, program=program), Words(addresses, lanes)


def _touching(one: Instruction, words: frozenset[Register]) -> Instruction:
    if one.opcode == "LDS":
        return replace(one, reads=one.reads | words)
    return replace(one, writes=one.writes | words)


def _data(one: Instruction) -> list[Register | None]:
    """Return the registers that an access loads or stores, None for each of zeros."""
    operand = one.operands[0] if one.opcode == "LDS" else one.operands[-1]
    width = data_width(one.opcode, one.modifiers)
    if operand.register is None:
        return [None] * width
    first = operand.register
    return [Register(first.bank, first.number + nth) for nth in range(width)]


def _address(one: Instruction, forms: Forms) -> Form | None:
    """Return the address of an access to shared memory, None where it has no known form."""
    operand = next((operand for operand in one.operands if operand.kind == "address"), None)
    if operand is None or operand.number is None:
        return None
    total = Form(offset=int(operand.number))
    for register, suffixes in operand.names:
        scale = next((int(one[1:]) for one in suffixes if _SCALE.fullmatch(one)), 1)
        total = total.plus(forms.of(one.index, register).times(scale))
    return total
