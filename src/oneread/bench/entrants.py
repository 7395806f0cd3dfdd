"""Contestants on their way from a library through check and clock to a record.

Knows no op, no device and no library by more than its name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final

import oneread
from oneread.bench.cases import Case
from oneread.bench.check import Finding
from oneread.bench.contestants import AbsentError, Contestant, Forms
from oneread.bench.store import ABSENT, NOT_YET, OK, WRONG, Record
from oneread.bench.timing import Times

OWN: Final = "oneread"

#: Finds out what is wrong with outputs, if anything.
Judgement = Callable[[Mapping[str, Any]], Finding]


@dataclasses.dataclass(slots=True)
class Entrant:
    """A contestant, what was found of it so far, and whether it is still in the race."""

    name: str
    library: str
    version: str | None
    ready: Contestant | None = None
    status: str = OK
    reason: str | None = None
    finding: Finding = dataclasses.field(default_factory=lambda: Finding({}, None))
    kernel: dict[str, Any] | None = None
    times: Times | None = None

    def leave(self, status: str, reason: str) -> None:
        """Take it out of the race."""
        self.ready, self.status, self.reason = None, status, reason


def enter(library: str, version: str | None, forms: Forms) -> list[Entrant]:
    """Make the contestants of a library."""
    entrants = []
    for name, make in forms.items():
        entrant = Entrant(name, library, version)
        try:
            entrant.ready = make()
        except AbsentError as error:
            entrant.leave(ABSENT, str(error))
        except Exception as error:
            leave_or_raise(entrant, error)
        entrants.append(entrant)
    return entrants


def enter_peer(
    name: str, op: str, version: Callable[[], str], forms: Callable[[], Forms]
) -> list[Entrant]:
    """Make the contestants of another library, or the one that says why there are none."""
    # What another library raises is its reason, whatever it is: some do when they are imported.
    try:
        known = version()
    except ModuleNotFoundError:
        return [Entrant(name, name, None, None, ABSENT, "not installed")]
    except Exception as error:
        return [Entrant(name, name, None, None, ABSENT, first_line(error))]
    try:
        made = forms()
    except Exception as error:
        return [Entrant(name, name, known, None, ABSENT, first_line(error))]
    if not made:
        return [Entrant(name, name, known, None, ABSENT, f"has no {op}")]
    return enter(name, known, made)


def check(entrant: Entrant, judgement: Judgement | None) -> None:
    """Call it once and compare with the truth, if any; out of the race if it is wrong."""
    if entrant.ready is None:
        return
    try:
        outputs = entrant.ready.outputs()
        if entrant.library == OWN and (ran := oneread.last_kernel()):
            entrant.kernel = dataclasses.asdict(ran)
        if judgement is None:
            return
        entrant.finding = judgement(outputs)
    except Exception as error:
        leave_or_raise(entrant, error)
    if entrant.finding.fault:
        entrant.leave(WRONG, entrant.finding.fault)


def leave_or_raise(entrant: Entrant, error: Exception, where: str = "") -> None:
    """Take one out for an error: of ours, only what is not there on this device."""
    said = f"{where}{first_line(error)}"
    if entrant.library != OWN:
        entrant.leave(ABSENT, said)
    elif isinstance(error, oneread.BackendUnavailableError):
        entrant.leave(NOT_YET, said)
    else:
        raise error


def first_line(error: BaseException) -> str:
    """Return the beginning of what an error says."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]


def record(
    case: Case, entrant: Entrant, n_bytes: int, checked: int, rates: Mapping[str, float],
    **facts: Any,
) -> Record:  # fmt: skip
    """Return what is kept of one; `facts` are the fields that depend on the device."""
    times = entrant.times
    share = None
    if times and rates and not entrant.name.startswith(f"{OWN} "):
        share = n_bytes / times.median_s / 1e9 / max(rates.values())
    options = dict(case.options)
    return Record(
        case=case.name, contestant=entrant.name, group=case.group, op=case.op, shape=case.shape,
        rows=case.rows, vocab=case.vocab, axis=case.axis, dtype=case.dtype,
        k=options.get("k", options.get("top_k")), order=case.order, memory=case.memory,
        arrays=case.arrays, environment=dict(case.environment),
        library=entrant.library, version=entrant.version, status=entrant.status,
        reason=entrant.reason, threads=entrant.ready.threads if entrant.ready else None,
        kernel=entrant.kernel,
        n=times.n if times else 0, dropped=times.dropped if times else 0,
        median_s=times.median_s if times else None, p25_s=times.p25_s if times else None,
        p75_s=times.p75_s if times else None, bytes=n_bytes, rates=dict(rates), share=share,
        checked_rows=checked if entrant.finding.ulp or entrant.status == WRONG else 0,
        ulp=entrant.finding.ulp, max_ulp=entrant.finding.max_ulp, device=case.device,
        timed=case.timed, **facts,
    )  # fmt: skip


def traffic(case: Case, row_output: bool) -> int:
    """Return the bytes that must be read and written at least, small outputs left out."""
    return case.input_bytes * (2 if row_output else 1)
