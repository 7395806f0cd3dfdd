"""The largest errors of our results that runs have found, beside what the ops promise.

Knows the ops by the table only; prints nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from oneread.bench.ours import OURS
from oneread.bench.store import OK, Run
from oneread.spec import FLOAT_DTYPES, OPS

_NONE = "-"


def cells(runs: Mapping[str, Run]) -> list[list[str]]:
    """Return a table with a line for each op and output, its head first.

    Parameters
    ----------
    runs : mapping of str to Run
        Runs by what their device is called.

    Returns
    -------
    list of list of str
        A column for each device and element type that was checked.
    """
    found = {name: _largest(run) for name, run in runs.items()}
    columns = [
        (device, dtype)
        for device, errors in found.items()
        for dtype in FLOAT_DTYPES
        if any(of == dtype for _, _, of in errors)
    ]
    head = ["op", "output", "bound", *(f"{device} {dtype}" for device, dtype in columns)]
    lines = []
    for op, spec in OPS.items():
        for output in spec.outputs:
            errors = [found[device].get((op, output, dtype)) for device, dtype in columns]
            if any(error is not None for error in errors):
                shown = [_NONE if error is None else f"{error:.1f}" for error in errors]
                lines.append([f"`{op}`", output, str(spec.bound(output)), *shown])
    return [head, *lines]


def _largest(run: Run) -> dict[tuple[str, str, str], float]:
    """Return the largest error of each op, output and element type of the input."""
    largest: dict[tuple[str, str, str], float] = {}
    for record in run.records:
        if record.contestant == OURS and record.status == OK:
            for output, error in record.ulp.items():
                key = (record.op, output, record.dtype)
                largest[key] = max(error, largest.get(key, 0.0))
    return largest
