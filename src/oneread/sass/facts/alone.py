"""How long a warp that is alone on an SM takes for a trip of a loop.

The compiler has written down what each instruction waits for: cycles, and barriers that others set
when their results are there. Stepping through that gives an estimate, with a table of latencies
for what takes a varying time, and loads that find their data in the L1 cache. Knows no memory
system.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oneread.sass.decode.instruction import Instruction
from oneread.sass.decode.opcodes import Pipe, pipe
from oneread.sass.facts.throughput import rates

#: Trips that are stepped through; the last one counts, when the first has filled the barriers.
_TRIPS: Final = 4
#: Cycles until the result of an instruction of varying time is there. Typical of sm_75 to sm_120;
#: they differ by some cycles between targets.
_CYCLES: Final = {
    "LDG": 34, "LD": 34, "LDS": 24, "LDSM": 28, "LDL": 34, "SHFL": 24, "LDC": 24, "LDCU": 24,
    "ULDC": 12, "S2R": 20, "S2UR": 20, "R2UR": 12, "ATOMS": 40, "ATOMG": 200, "ATOM": 200,
    "REDUX": 20, "CREDUX": 20,
}  # fmt: skip
_MUFU: Final = 20
_OTHER: Final = 16
#: Cycles until the operands of an instruction were read.
_READ: Final = 8
_LANES: Final = 32
#: Parts of an SM, each with a fourth of its pipes; a warp stays in one.
_PARTS: Final = 4
#: Pipes that the parts share.
_SHARED: Final = ("lsu", "fp64")


def cycles_alone(instructions: Sequence[Instruction], target: int) -> int | None:
    """Return the cycles of a trip for a warp alone.

    Parameters
    ----------
    instructions : sequence of Instruction
        A trip, in order of addresses.
    target : int
        Such as 86.

    Returns
    -------
    int or None
        None where an instruction has no control bits.
    """
    known = rates(target)
    ready = dict.fromkeys(range(6), 0)
    free: dict[Pipe, int] = {}
    now = start = 0
    for _ in range(_TRIPS):
        start = now
        for one in instructions:
            bits = one.control
            if bits is None:
                return None
            waits = range(6) if one.opcode == "DEPBAR" else bits.waits
            name = pipe(one.opcode) or "control"
            now = max([now, free.get(name, 0), *(ready[barrier] for barrier in waits)])
            if name in known:
                share = 1 if name in _SHARED else _PARTS
                free[name] = now + -(-_LANES * share // known[name])
            set_by = ((bits.write_barrier, _latency(one)), (bits.read_barrier, _READ))
            for barrier, latency in set_by:
                if barrier is not None:
                    ready[barrier] = max(ready[barrier], now + latency)
            now += max(bits.stall, 1)
    return now - start


def _latency(one: Instruction) -> int:
    return _MUFU if pipe(one.opcode) == "mufu" else _CYCLES.get(one.opcode, _OTHER)
