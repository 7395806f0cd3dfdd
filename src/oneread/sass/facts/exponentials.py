"""Exponentials, and how the compiler makes them of base-2 ones.

Each starts at a `MUFU.EX2`; what feeds it says which form it is. Knows no loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from oneread.sass.decode.instruction import Instruction, Program
from oneread.sass.facts.constants import Constants
from oneread.sass.flow.reaching import Reaching

#: ``fast``: the argument times log2(e), small numbers flushed. ``guarded``: the same, scaled where
#: the power would be subnormal. ``libm``: log2(e) in two parts, so that the argument is right to
#: the last bit. ``fused``: log2(e) multiplied where something is subtracted. ``exp2``: no log2(e).
ExponentialForm: TypeAlias = Literal["fast", "guarded", "libm", "fused", "exp2"]

#: log2(e) as float32, and what that lacks.
_LOG2_E: Final = 1.4426950216293335
_LOG2_E_LOW: Final = 1.925963033500011e-08
_HALF: Final = 0.5
#: Longest way back from the power to the argument's first instruction.
_DEPTH: Final = 6
_ARITHMETIC: Final = frozenset({"FADD", "FFMA", "FMUL", "HADD2", "HFMA2", "HMUL2"})
_SHIFTS: Final = frozenset({"IMAD", "SHF", "SHL"})


@dataclass(frozen=True, slots=True)
class Exponential:
    """An exponential: its `MUFU.EX2` and the instructions of its idiom, in order of addresses."""

    form: ExponentialForm
    power: Instruction
    parts: tuple[Instruction, ...]


def exponentials(
    program: Program, instructions: Iterable[Instruction], reaching: Reaching
) -> list[Exponential]:
    """Return the exponentials among instructions.

    Parameters
    ----------
    program : Program
        The kernel.
    instructions : iterable of Instruction
        Where to look.
    reaching : Reaching
        Where values come from.

    Returns
    -------
    list of Exponential
        One for each `MUFU.EX2`.
    """
    constants = Constants(program, reaching)
    users = reaching.users()
    return [
        _exponential(program, one, reaching, constants, users)
        for one in instructions
        if one.opcode == "MUFU" and one.has("EX2")
    ]


def _exponential(
    program: Program,
    power: Instruction,
    reaching: Reaching,
    constants: Constants,
    users: Mapping[int, set[int]],
) -> Exponential:
    """Return the exponential of a power, by the constants that its argument is made with."""
    feeding = [program.instructions[index] for index in reaching.feeding(power)]
    near = {one.index: one for one in feeding}
    chain = {one.index: one for one in _chain(program, power, reaching, _DEPTH)}
    factors = {index: set(_factors(one, constants)) for index, one in chain.items()}

    def has(index: int, factor: float) -> bool:
        return any(abs(one - factor) <= 1e-6 * factor for one in factors.get(index, ()))

    low = [index for index in near if has(index, _LOG2_E_LOW)]
    scaled = [index for index in near if has(index, _LOG2_E)]
    form: ExponentialForm = "exp2"
    parts = {power.index: power}
    if low:
        form = "libm"
        parts |= chain
    elif any(has(index, _HALF) and near[index].guard for index in near):
        logs = [one for index, one in chain.items() if has(index, _LOG2_E)]
        form = "guarded" if logs else "exp2"
        parts |= near
        parts |= {one.index: one for one in logs} | _subtractions(program, logs, reaching)
        parts |= _guards(program, near.values(), reaching)
        parts |= _squares(program, power, users)
    elif scaled:
        form = "fast" if all(near[index].opcode != "FFMA" for index in scaled) else "fused"
        parts |= near
        if form == "fast":
            parts |= _subtractions(program, [near[index] for index in scaled], reaching)
    return Exponential(form, power, tuple(parts[index] for index in sorted(parts)))


def _chain(
    program: Program, one: Instruction, reaching: Reaching, depth: int
) -> Iterator[Instruction]:
    """Yield the arithmetic that an instruction's operands are made by."""
    if depth == 0:
        return
    for index in reaching.feeding(one):
        source = program.instructions[index]
        if source.opcode in _ARITHMETIC:
            yield source
            yield from _chain(program, source, reaching, depth - 1)


def _factors(one: Instruction, constants: Constants) -> Iterator[float]:
    """Yield the constants among the operands of an instruction."""
    for operand in one.inputs:
        value = constants.number(one, operand)
        if value is not None:
            yield abs(value)


def _guards(
    program: Program, scaled: Iterable[Instruction], reaching: Reaching
) -> dict[int, Instruction]:
    """Return the comparisons that say where an argument is halved."""
    found = {}
    for one in scaled:
        for index in reaching.feeding(one, [one.guard.register]) if one.guard else ():
            found[index] = program.instructions[index]
    return found


def _squares(
    program: Program, power: Instruction, users: Mapping[int, set[int]]
) -> dict[int, Instruction]:
    """Return the multiplications of a power by itself, which undo that its argument was halved."""
    result = power.operands[0].register
    using = (program.instructions[index] for index in users.get(power.index, ()))
    return {
        one.index: one
        for one in using
        if one.opcode == "FMUL" and all(operand.register == result for operand in one.inputs)
    }


def _subtractions(
    program: Program, scaled: Iterable[Instruction], reaching: Reaching
) -> dict[int, Instruction]:
    """Return the subtractions whose results are scaled."""
    found = {}
    for one in scaled:
        for index in reaching.feeding(one):
            source = program.instructions[index]
            if source.opcode == "FADD":
                found[index] = source
    return found
