"""One launch in many orders, to see whether the result depends on which warp runs first.

Knows runs and their outputs only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from oneread.trace.case import Case
from oneread.trace.faults import Fault
from oneread.trace.judging import absolute, close
from oneread.trace.messages import FAULTS
from oneread.trace.running import Run

#: Orders that are tried unless others are asked for.
ORDERS = ("in-order", "reverse", "random:1", "random:2", "switch:1")


@dataclass(frozen=True)
class Exploration:
    """Runs of one launch, each in another order."""

    runs: list[Run]
    fault: Fault | None
    """Set when two of them differ by more than rounding."""

    @property
    def depends(self) -> bool:
        """Whether the outcome depends on the order."""
        return self.fault is not None


def explore(run: Callable[[Case], Run], case: Case, orders: Sequence[str] = ORDERS) -> Exploration:
    """Run a launch in several orders and compare the outputs.

    Parameters
    ----------
    run : callable
        Runs the kernel.
    case : Case
        The launch; its schedule is left aside.
    orders : sequence of str
        Schedules to try.

    Returns
    -------
    Exploration
        The runs, and the fault if two outputs differ by more than sums in another order may.
    """
    runs = [run(replace(case, schedule=order, record=False)) for order in orders]
    first = runs[0]
    for other in runs[1:]:
        difference = _difference(first, other, case.vocab)
        if difference is not None:
            return Exploration(runs, _fault(first, other, *difference))
    return Exploration(runs, None)


def _difference(first: Run, other: Run, vocab: int) -> tuple[str, int] | None:
    meanings = {one.buffer: one.op for one in first.result}
    for name, values in first.outputs.items():
        bound = absolute(meanings.get(name), vocab)
        for index, (one, two) in enumerate(zip(values, other.outputs[name], strict=True)):
            if not close(one, two, bound):
                return name, index
    return None


def _fault(first: Run, other: Run, name: str, index: int) -> Fault:
    races = [fault for run in (first, other) for fault in run.faults if "race" in fault.id]
    line = races[0].line if races else 1
    parameters: dict[str, Any] = {
        "first": f"{first.outputs[name][index]:.9g}",  # 9 digits tell any two float32 apart
        "second": f"{other.outputs[name][index]:.9g}",
        "first_schedule": first.schedule,
        "second_schedule": other.schedule,
    }
    return Fault(
        "order-dependent",
        FAULTS["order-dependent"].severity,
        line,
        1,
        0,
        0,
        0,
        0,
        buffer=name,
        index=index,
        parameters=parameters,
        repair=races[0].repair if races else None,
    )
