"""Which registers hold a value that is still needed, at each instruction.

Knows no word of shared memory and no algorithm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from oneread.sass.decode.instruction import Register
from oneread.sass.flow.graph import Graph

#: What a thread and its warp have of their own.
_BANKS = ("R", "UR", "P", "UP")
_NOTHING: frozenset[Register] = frozenset()


def live(graph: Graph) -> Mapping[int, frozenset[Register]]:
    """Return the registers that are taken at each instruction of a kernel.

    Parameters
    ----------
    graph : Graph
        The kernel.

    Returns
    -------
    mapping of int to frozenset of Register
        By index: those whose value is read there or later, and those that are written there. What
        only a slow path needs is not counted; what a guard may leave as it is, is needed.
    """
    ways = [
        (edge.source, edge.target)
        for edge in graph.edges
        if not (graph.blocks[edge.source].is_cold or graph.blocks[edge.target].is_cold)
    ]
    entering = dict.fromkeys(graph.blocks, _NOTHING)
    found: dict[int, frozenset[Register]] = {}
    waiting = set(graph.blocks)
    while waiting:
        number = max(waiting)
        waiting.remove(number)
        needed = _NOTHING.union(*(entering[to] for source, to in ways if source == number))
        for one in reversed(list(graph.instructions([number]))):
            kept = needed if one.guard else needed - one.writes
            needed = kept | _own(one.reads)
            found[one.index] = needed | _own(one.writes)
        if needed != entering[number]:
            entering[number] = needed
            waiting.update(source for source, to in ways if to == number)
    return found


def _own(registers: Iterable[Register]) -> frozenset[Register]:
    return frozenset(one for one in registers if one.bank in _BANKS)
