"""What notes the values of watched variables, expressions and rows while a kernel runs.

Knows places; knows no operator of C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneread.trace.compiler.context import Context
from oneread.trace.compiler.layout import lane_value
from oneread.trace.compiler.places import Places
from oneread.trace.machine.values import BITS, look
from oneread.trace.machine.warp import Warp
from oneread.trace.tree import Declare
from oneread.trace.types import DOUBLE, Type
from oneread.trace.watching import Watch


class Watchers:
    """Makes the closures that note.

    Parameters
    ----------
    context : Context
        Of the kernel.
    places : Places
        Where variables are read.
    """

    def __init__(self, context: Context, places: Places) -> None:
        self._context, self._places = context, places

    def of(self, node: Any) -> Callable[[Warp, Any], None] | None:
        """Return what notes the value that a node gives, None where nobody watches it."""
        watches, device = self._context.watches.of(node), self._context.device
        if not watches:
            return None
        kind = node.variable.type if isinstance(node, Declare) else node.type
        formulas = [
            (watch, self._formula(watch.name) if watch.label == "user" else None)
            for watch in watches
        ]

        def note(warp: Warp, value: Any) -> None:
            for watch, formula in formulas:
                if formula is None:
                    _keep(watch, device.step, warp, kind, value)
                else:
                    _keep(watch, device.step, warp, DOUBLE, formula(warp))

        return note

    def _formula(self, text: str) -> Callable[[Warp], float | None]:
        """Return the closure of an expression of the user."""
        watches = self._context.watches
        formula = watches.expressions[text]
        readers = {
            name: self._places.peek([getattr(n, "target", n) for n in watches.variables(name)])
            for name in formula.names
        }

        def evaluate(warp: Warp) -> float | None:
            values = {name: read(warp) for name, read in readers.items()}
            if any(value is None for value in values.values()):
                return None
            return formula.value(values)

        return evaluate


def placing(row: Callable[[Warp], Any]) -> Callable[[Warp], Any]:
    """Return the closure of an expression that also notes its value as the row of each lane."""

    def evaluate(warp: Warp) -> Any:
        value, bits = row(warp), warp.mask
        if type(value) is int:
            warp.place(value, bits)
        else:
            for lane in look(bits).lanes:
                warp.place(value[lane], BITS[lane])
        return value

    return evaluate


def _keep(watch: Watch, step: int, warp: Warp, kind: Type, value: Any) -> None:
    """Add to a watch the value of the first lane that takes part.

    Structs are left out, and what has no value yet.
    """
    if type(value) is list or value is None:
        return
    lane = look(warp.mask).first
    watch.step.append(step)
    watch.block.append(warp.block.index)
    watch.warp.append(warp.index)
    watch.lane.append(lane)
    watch.value.append(lane_value(kind, value, lane))
