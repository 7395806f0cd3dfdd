"""The tracer: CUDA C executed on a CPU, warp by warp, every access counted.

Standard library only. Knows no CUDA, no NVRTC, no NumPy and no web. Names are loaded when they are
used, so that a program that may trace pays nothing until it does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    "case": ("Case",),
    "counts": ("Counts",),
    "errors": (
        "LimitError",
        "UsageError",
    ),
    "exploring": (
        "Exploration",
        "explore",
    ),
    "faults": (
        "Fault",
        "Repair",
    ),
    "fixing": (
        "Fix",
        "fix",
    ),
    "gallery": (
        "run_kernel",
        "run_sequence",
    ),
    "limits": ("Limits",),
    "opening": (
        "Opened",
        "open_kernel",
    ),
    "planning": (
        "Plan",
        "plan",
    ),
    "probing": (
        "Probe",
        "probe",
    ),
    "repairs": ("apply",),
    "running": (
        "Run",
        "launch",
    ),
    "sources": (
        "Launched",
        "Source",
        "run",
    ),
    "subject": ("Subject",),
    "tracefile": (
        "describe",
        "dumps",
        "record",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

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


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"oneread.trace.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
