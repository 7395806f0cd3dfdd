"""The tracer: CUDA C executed on a CPU, warp by warp, every access counted.

Standard library only. Knows no CUDA, no NVRTC, no NumPy and no web.
"""

from oneread.trace.case import Case
from oneread.trace.counts import Counts
from oneread.trace.errors import LimitError, UsageError
from oneread.trace.exploring import Exploration, explore
from oneread.trace.faults import Fault, Repair
from oneread.trace.fixing import Fix, fix
from oneread.trace.limits import Limits
from oneread.trace.planning import Plan, plan
from oneread.trace.probing import Probe, probe
from oneread.trace.repairs import apply
from oneread.trace.running import Run, launch
from oneread.trace.sources import Source, run
from oneread.trace.subject import Subject

__all__ = [
    "Case",
    "Counts",
    "Exploration",
    "Fault",
    "Fix",
    "LimitError",
    "Limits",
    "Plan",
    "Probe",
    "Repair",
    "Run",
    "Source",
    "Subject",
    "UsageError",
    "apply",
    "explore",
    "fix",
    "launch",
    "plan",
    "probe",
    "run",
]
