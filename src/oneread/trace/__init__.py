"""The tracer: CUDA C executed on a CPU, warp by warp, every access counted.

Standard library only. Knows no CUDA, no NVRTC, no NumPy and no web. Names are loaded when they are
used, so that a program that may trace pays nothing until it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneread._lazy import lazy

if TYPE_CHECKING:
    from oneread.trace.case import Case
    from oneread.trace.counts import Counts
    from oneread.trace.errors import LimitError, UsageError
    from oneread.trace.exploring import Exploration, explore
    from oneread.trace.faults import Fault, Repair
    from oneread.trace.fixing import Fix, fix
    from oneread.trace.gallery import run_kernel, run_sequence
    from oneread.trace.limits import Limits
    from oneread.trace.opening import Opened, open_kernel
    from oneread.trace.planning import Plan, plan
    from oneread.trace.probing import Probe, probe
    from oneread.trace.repairs import apply
    from oneread.trace.running import Run, launch
    from oneread.trace.sources import Launched, Source, run
    from oneread.trace.subject import Subject
    from oneread.trace.tracefile import describe, dumps, record

_HOMES = {
    "oneread.trace.case": ("Case",),
    "oneread.trace.counts": ("Counts",),
    "oneread.trace.errors": (
        "LimitError",
        "UsageError",
    ),
    "oneread.trace.exploring": (
        "Exploration",
        "explore",
    ),
    "oneread.trace.faults": (
        "Fault",
        "Repair",
    ),
    "oneread.trace.fixing": (
        "Fix",
        "fix",
    ),
    "oneread.trace.gallery": (
        "run_kernel",
        "run_sequence",
    ),
    "oneread.trace.limits": ("Limits",),
    "oneread.trace.opening": (
        "Opened",
        "open_kernel",
    ),
    "oneread.trace.planning": (
        "Plan",
        "plan",
    ),
    "oneread.trace.probing": (
        "Probe",
        "probe",
    ),
    "oneread.trace.repairs": ("apply",),
    "oneread.trace.running": (
        "Run",
        "launch",
    ),
    "oneread.trace.sources": (
        "Launched",
        "Source",
        "run",
    ),
    "oneread.trace.subject": ("Subject",),
    "oneread.trace.tracefile": (
        "describe",
        "dumps",
        "record",
    ),
}

__all__ = [
    "Case",
    "Counts",
    "Exploration",
    "Fault",
    "Fix",
    "Launched",
    "LimitError",
    "Limits",
    "Opened",
    "Plan",
    "Probe",
    "Repair",
    "Run",
    "Source",
    "Subject",
    "UsageError",
    "apply",
    "describe",
    "dumps",
    "explore",
    "fix",
    "launch",
    "open_kernel",
    "plan",
    "probe",
    "record",
    "run",
    "run_kernel",
    "run_sequence",
]


__getattr__, __dir__ = lazy(__name__, _HOMES)
