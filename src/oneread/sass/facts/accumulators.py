"""Accumulators: what a loop carries and improves at each element.

Found by data flow alone: a circle of values whose steps are all of one kind. Knows no source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from oneread.sass.decode.instruction import Instruction, Register
from oneread.sass.facts.comparing import Choice
from oneread.sass.facts.constants import Constants
from oneread.sass.facts.initials import Initial, initial_of
from oneread.sass.flow.graph import Loop
from oneread.sass.flow.reaching import ENTRY, Reaching
from oneread.sass.flow.recurrences import Recurrence, Value
from oneread.sass.flow.words import Words

AccumulatorKind: TypeAlias = Literal["max", "min", "sum", "product"]
#: A sum that is only added to; rescaled by the instruction that adds; rescaled before.
SumForm: TypeAlias = Literal["plain", "fused", "scaled"]

_ADDS: Final = frozenset({"DADD", "FADD", "FADD2", "FADD32I", "HADD2"})
_MULTIPLIES: Final = frozenset({"DMUL", "FMUL", "FMUL2", "FMUL32I", "HMUL2"})
_FUSED: Final = frozenset({"DFMA", "FFMA", "FFMA2", "FFMA32I", "HFMA2"})


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A value that a loop improves.

    ``carriers`` hold it between trips, words of shared memory if ``is_shared``. ``updates`` are
    the instructions that improve it; on the longest way through a trip there are ``length`` of
    them. ``rescales`` are those that also multiply it, as the sum of an online softmax is.
    ``initial`` is the constant that it begins with, None where it begins with what an earlier loop
    left. ``crosses_lanes`` says that it passes through shuffles.
    """

    kind: AccumulatorKind
    loop: Loop
    carriers: tuple[Register, ...]
    updates: tuple[Instruction, ...]
    rescales: tuple[Instruction, ...]
    length: int
    initial: Initial | None
    crosses_lanes: bool

    @property
    def form(self) -> SumForm | None:
        """Return how a sum is added to, None of what is no sum."""
        if self.kind != "sum":
            return None
        if not self.rescales:
            return "plain"
        return "fused" if any(one.opcode in _FUSED for one in self.rescales) else "scaled"

    @property
    def is_shared(self) -> bool:
        return any(one.bank == "S" for one in self.carriers)


def accumulator_of(
    recurrence: Recurrence,
    choices: Mapping[int, Choice],
    reaching: Reaching,
    words: Words,
    constants: Constants,
) -> Accumulator | None:
    """Return the accumulator that a recurrence is, None if it is none.

    Parameters
    ----------
    recurrence : Recurrence
        What a loop carries.
    choices : mapping of int to Choice
        The choices between values, by each of their steps.
    reaching : Reaching
        Where values come from, in the whole kernel.
    words : Words
        The words of shared memory.
    constants : Constants
        What instructions write.

    Returns
    -------
    Accumulator or None
        None for counters, addresses and what is of no kind.
    """
    steps = recurrence.operations
    kind: AccumulatorKind
    rescales: tuple[Instruction, ...] = ()
    if all(one.index in choices for one in steps):
        extremes = {choices[one.index].extreme for one in steps}
        if len(extremes) != 1:
            return None
        kind = extremes.pop()
        chosen = {choices[one.index].index for one in steps}
        updates = tuple(one for one in recurrence.steps if one.index in chosen)
    elif all(one.opcode in _ADDS | _MULTIPLIES | _FUSED for one in steps):
        rescales = tuple(one for one in steps if _multiplies(one, recurrence))
        updates = tuple(one for one in steps if one.opcode not in _MULTIPLIES)
        kind = "sum" if updates else "product"
        updates = updates or steps
    else:
        return None
    initial = initial_of(recurrence, reaching, words, constants)
    if initial and kind in ("max", "min"):
        initial = replace(initial, type=_type(choices[one.index] for one in steps))
    return Accumulator(
        kind,
        recurrence.loop,
        recurrence.carriers,
        updates,
        rescales,
        _longest(recurrence, {one.index for one in updates}),
        initial,
        any(one.opcode == "SHFL" for one in recurrence.steps),
    )


def _type(found: Iterable[Choice]) -> Literal["float", "int", "unsigned"]:
    """Return what choices compare."""
    for one in found:
        if not one.is_float:
            return "unsigned" if one.steps[0].has("U32") else "int"
    return "float"


def _multiplies(one: Instruction, recurrence: Recurrence) -> bool:
    """Say whether an instruction has the carried value among its factors."""
    if one.opcode in _MULTIPLIES:
        return True
    carried = recurrence.inputs[one.index]
    return one.opcode in _FUSED and any(factor.register in carried for factor in one.inputs[:2])


def _longest(recurrence: Recurrence, counted: set[int]) -> int:
    """Return how many of some steps lie on the longest way from the head around to it."""
    members = {one.index for one in recurrence.steps}
    known: dict[Value, int] = {}

    def length(value: Value) -> int:
        if value.definition == ENTRY or value.definition not in members:
            return 0
        if value not in known:
            known[value] = 0  # the circle of an inner loop is gone through once
            before = max((length(one) for one in recurrence.links.get(value, ())), default=0)
            known[value] = before + (value.definition in counted)
        return known[value]

    heads = [Value(ENTRY, register) for register in recurrence.carriers]
    return max((length(one) for head in heads for one in recurrence.links[head]), default=0)
