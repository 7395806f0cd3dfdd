"""What a loop costs an element, and the most elements a clock that this allows.

A ceiling and no prediction: latency, occupancy and bank conflicts are left out. Rates are of the
CUDA programming guide's table of arithmetic throughput where that has them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from oneread.sass.decode.instruction import Instruction
from oneread.sass.decode.opcodes import Pipe, pipe

#: Instructions of a lane that an SM starts in a clock: 4 schedulers of 32 lanes.
ISSUE: Final = 128
_LANES: Final = 32

#: The same for each pipe, by the first target that has these rates.
RATES: Final[dict[int, dict[Pipe, int]]] = {
    75: {"fma": 64, "alu": 64, "half": 64, "fp64": 2, "mufu": 16, "lsu": 16},
    80: {"fma": 64, "alu": 64, "half": 128, "fp64": 32, "mufu": 16, "lsu": 32},
    86: {"fma": 128, "alu": 64, "half": 64, "fp64": 2, "mufu": 16, "lsu": 32},
    90: {"fma": 128, "alu": 64, "half": 128, "fp64": 64, "mufu": 16, "lsu": 32},
    100: {"fma": 128, "alu": 64, "half": 128, "fp64": 64, "mufu": 16, "lsu": 32},
    103: {"fma": 128, "alu": 64, "half": 128, "fp64": 2, "mufu": 16, "lsu": 32},
    120: {"fma": 128, "alu": 64, "half": 64, "fp64": 2, "mufu": 16, "lsu": 32},
}
#: Exponentials are twice as fast there.
_FAST_EX2: Final = (103, 107)


@dataclass(frozen=True, slots=True)
class Cost:
    """What some instructions cost, for each of `elements` that they serve.

    ``pipes`` counts instructions by pipe, ``unknown`` those whose opcode is not known.
    ``ceilings`` is elements a clock that an SM cannot exceed, by pipe and for issue slots;
    ``limit`` names the lowest. ``stall_cycles`` is what the compiler makes one warp wait, the
    least that a warp alone can take; None without control bits.
    """

    instructions: int
    elements: int
    pipes: dict[Pipe, int]
    unknown: int
    ceilings: dict[str, float]
    stall_cycles: int | None

    @property
    def limit(self) -> str:
        return min(self.ceilings, key=lambda name: self.ceilings[name])


def cost(instructions: Iterable[Instruction], elements: int, target: int) -> Cost:
    """Return what instructions cost.

    Parameters
    ----------
    instructions : iterable of Instruction
        Each counted once.
    elements : int
        How many elements a lane is done with after them; at least 1.
    target : int
        Such as 86.

    Returns
    -------
    Cost
        Counts and ceilings.
    """
    counted = [one for one in instructions if one.opcode != "NOP"]
    pipes: Counter[Pipe] = Counter()
    slots: Counter[Pipe] = Counter()
    for one in counted:
        name = pipe(one.opcode)
        if name is None:
            continue
        pipes[name] += 1
        # Two multiply-adds in one instruction take two turns.
        turns = 2 if one.opcode in ("FADD2", "FFMA2", "FMUL2") else 1
        slots[name] += turns
    known = rates(target)
    if target in _FAST_EX2 and all(one.has("EX2") for one in counted if one.opcode == "MUFU"):
        known = {**known, "mufu": 32}
    ceilings: dict[str, float] = {
        name: known[name] * elements / slots[name] for name in known if slots[name]
    }
    if counted:
        ceilings["issue"] = ISSUE * elements / len(counted)
    stalls = [one.control.stall for one in counted if one.control]
    return Cost(
        len(counted),
        elements,
        dict(pipes),
        len(counted) - sum(pipes.values()),
        dict(ceilings),
        sum(stalls) if len(stalls) == len(counted) else None,
    )


def rates(target: int) -> dict[Pipe, int]:
    """Return the instructions of a lane that each pipe of an SM starts in a clock."""
    return RATES[max(first for first in RATES if first <= max(target, 75))]
