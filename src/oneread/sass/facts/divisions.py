"""Divisions and reciprocals, and how much care the compiler takes with them.

Each starts at a `MUFU.RCP`. Knows no loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from oneread.sass.decode.instruction import Instruction, Program, Register
from oneread.sass.facts.constants import Constants
from oneread.sass.flow.reaching import Reaching

#: ``fast``: the reciprocal as it is, multiplied. ``guarded``: the same, scaled where the
#: denominator is very large or small. ``division``: corrected to the last bit, with a slow path
#: where `FCHK` says so. ``reciprocal``: 1/x corrected to the last bit. ``integer``: a division of
#: integers, which begins with a reciprocal as well.
DivisionForm: TypeAlias = Literal["fast", "guarded", "division", "reciprocal", "integer"]

_FROM_INTEGER: Final = frozenset({"I2F", "I2FP", "UI2F", "UI2FP"})
#: What makes an integer of the first guess, or changes its bits before that.
_TO_INTEGER: Final = frozenset({"F2I", "IADD", "IADD3", "UF2I", "UIADD3", "VIADD"})
_ONE: Final = 1.0


@dataclass(frozen=True, slots=True)
class Division:
    """A reciprocal and what is done with it.

    ``checks`` are the `FCHK` that ask for the slow path, one for each quotient; ``products`` are
    the multiplications of a fast one.
    """

    form: DivisionForm
    reciprocal: Instruction
    checks: tuple[Instruction, ...]
    products: tuple[Instruction, ...]


def divisions(
    program: Program, instructions: Iterable[Instruction], reaching: Reaching
) -> list[Division]:
    """Return the divisions among instructions.

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
    list of Division
        One for each `MUFU.RCP`.
    """
    looked = list(instructions)
    constants = Constants(program, reaching)
    users = reaching.users()
    reciprocals = [one for one in looked if one.opcode == "MUFU" and one.has("RCP")]
    checks = _checks(reciprocals, [one for one in looked if one.opcode == "FCHK"], reaching)
    found = []
    for one in reciprocals:
        using = [program.instructions[index] for index in sorted(users.get(one.index, ()))]
        own = checks.get(one.index, ())
        corrected = any(_is_correction(user, constants) for user in using)
        form: DivisionForm = "fast"
        feeding = [program.instructions[index] for index in reaching.feeding(one)]
        # A divisor that was converted may well divide a number that is none.
        is_converted = any(source.opcode in _FROM_INTEGER for source in feeding)
        if is_converted and any(user.opcode in _TO_INTEGER for user in using):
            form = "integer"
        elif own and corrected:
            form = "division"
        elif corrected:
            form = "reciprocal"
        elif any(source.guard for source in feeding):
            form = "guarded"
        products = tuple(user for user in using if user.opcode in ("FMUL", "FFMA"))
        found.append(Division(form, one, own if form == "division" else (), products))
    return found


def _checks(
    reciprocals: Sequence[Instruction], checks: Iterable[Instruction], reaching: Reaching
) -> dict[int, tuple[Instruction, ...]]:
    """Return the checks of each reciprocal: those of its divisor that no other is nearer to."""
    found: dict[int, tuple[Instruction, ...]] = {}
    for check in checks:
        same = [one for one in reciprocals if _same_divisor(one, check, reaching)]
        if same:
            # The check stands behind the reciprocal, unless the compiler swapped the two.
            nearest = min(
                same, key=lambda one: (one.index > check.index, abs(one.index - check.index))
            )
            found[nearest.index] = (*found.get(nearest.index, ()), check)
    return found


def _same_divisor(one: Instruction, check: Instruction, reaching: Reaching) -> bool:
    """Say whether a check is about the value that a reciprocal is of."""
    divisor: Register | None = one.inputs[0].register
    checked = check.inputs[-1].register
    if divisor is None or checked is None:
        return one.inputs[0].text == check.inputs[-1].text
    return reaching.of(one.index, divisor) == reaching.of(check.index, checked)


def _is_correction(user: Instruction, constants: Constants) -> bool:
    """Say whether an instruction computes what a reciprocal lacks: 1 - x * r, or x * r - 1."""
    if user.opcode != "FFMA" or len(user.inputs) != 3:
        return False
    added = constants.number(user, user.inputs[2])
    return added is not None and abs(added) == _ONE
