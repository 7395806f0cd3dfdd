"""What each instruction is there for, as far as a fact says it.

Every instruction has one role, so that counts by role add up. Knows no loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from oneread.sass.decode.instruction import Instruction
from oneread.sass.facts.transfers import Transfer

if TYPE_CHECKING:
    from oneread.sass.analysis import Analysis

#: ``exchange`` is between lanes: shuffles and shared memory; ``wait`` is barriers; ``other`` is
#: addresses, counters, and what no fact is about.
Role: TypeAlias = Literal[
    "load", "store", "max", "exp", "sum", "divide", "exchange", "local", "wait", "control", "other"
]

ROLES: Final[tuple[Role, ...]] = (
    "load", "store", "max", "exp", "sum", "divide", "exchange", "local", "wait", "control", "other",
)  # fmt: skip
_EXCHANGES: Final = frozenset({"CREDUX", "LDS", "MATCH", "REDUX", "SHFL", "STS", "VOTE"})


def roles(analysis: Analysis) -> dict[int, Role]:
    """Return the role of each instruction of a kernel, by index.

    Parameters
    ----------
    analysis : Analysis
        The facts about it.

    Returns
    -------
    dict of int to str
        One of `ROLES` for each instruction that is reached without a slow path.
    """
    found: dict[int, Role] = {}

    def give(role: Role, instructions: Iterable[Instruction]) -> None:
        for one in instructions:
            found.setdefault(one.index, role)

    for exponential in analysis.exponentials:
        give("exp", exponential.parts)
    for choice in analysis.choices:
        if choice.is_float:
            give("max", choice.steps)
    for accumulator in analysis.accumulators:
        give("sum", (*accumulator.updates, *accumulator.rescales))
    for division in analysis.divisions:
        give("divide", (division.reciprocal, *division.checks, *division.products))
    for access in analysis.accesses:
        if access.space == "local":
            give("local", [access.instruction])
        elif access.space == "global":
            give("store" if access.is_store else "load", [access.instruction])
    for transfer in analysis.transfers:
        give(_of_transfer(transfer), [transfer.instruction])
    for one in analysis.warm:
        give(_by_opcode(one), [one])
    return found


def _of_transfer(one: Transfer) -> Role:
    if "global" not in one.spaces:
        return "exchange"
    return "load" if one.instruction.opcode in ("LDGSTS", "UBLKCP", "UTMALDG") else "store"


def _by_opcode(one: Instruction) -> Role:
    if one.opcode in _EXCHANGES:
        return "exchange"
    if one.opcode in ("BAR", "DEPBAR", "WARPSYNC"):
        return "wait"
    return "control" if one.opcode in ("BRA", "BSSY", "BSYNC", "CALL", "EXIT", "RET") else "other"
