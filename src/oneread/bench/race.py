"""One case: its contestants made, checked and timed; and what the machine could do at best.

Knows no op and no library by more than its name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import oneread
from oneread.bench import ours
from oneread.bench.cases import Case
from oneread.bench.check import Checker, Finding
from oneread.bench.contestants import AbsentError, Contestant, Data, Forms
from oneread.bench.peers import Peer
from oneread.bench.store import ABSENT, OK, WRONG, Record
from oneread.bench.timing import Effort, Machine, Times, contest
from oneread.runtime import cpu, machine
from oneread.spec import OPS

#: Arrays of the input's size that a peer may need at once: copies, temporaries, outputs.
_COPIES: Final = 6


@dataclasses.dataclass(slots=True)
class _Entrant:
    """A contestant on its way through check and clock."""

    name: str
    library: str
    version: str | None
    ready: Contestant | None = None
    status: str = OK
    reason: str | None = None
    finding: Finding = dataclasses.field(default_factory=lambda: Finding({}, None))
    kernel: dict[str, Any] | None = None
    times: Times | None = None


def race(case: Case, peers: Sequence[Peer], threads: int, effort: Effort) -> list[Record]:
    """Check and time all contestants of a case.

    Parameters
    ----------
    case : Case
        The case.
    peers : sequence of Peer
        The libraries to compare with.
    threads : int
        How many each may use.
    effort : Effort
        How much is timed.

    Returns
    -------
    list of Record
        Ours first; those that are wrong or absent included.
    """
    try:
        _check_memory(case)
        data = Data.of(case, OPS[case.op].row_output)
        checker = Checker(case, data)
    except (AbsentError, oneread.BackendUnavailableError) as error:
        return [absent(case, _first_line(error))]
    entrants = _enter("oneread", oneread.__version__, ours.forms(case, data, threads))
    for peer in peers:
        if case.peers is None or peer.NAME in case.peers:
            entrants += _peer_entrants(peer, case, data, threads)
    for entrant in entrants:
        # A yardstick is another op, or has other rows; that one's own case checks it.
        _check(entrant, None if entrant.name in case.yardsticks else checker)
    times = contest({e.name: e.ready.run for e in entrants if e.ready}, effort)
    for entrant in entrants:
        entrant.times = times.get(entrant.name)
    rates = _rates(case, threads)
    return [_record(case, entrant, len(checker.rows), rates) for entrant in entrants]


def absent(case: Case, reason: str) -> Record:
    """Return the record of a case that cannot run here."""
    entrant = _Entrant(ours.OURS, "oneread", oneread.__version__, None, ABSENT, reason)
    return _record(case, entrant, 0, {})


def _check_memory(case: Case) -> None:
    free = machine.memory_bytes("MemAvailable")
    wanted = _COPIES * case.input_bytes
    if free is not None and free < wanted:
        raise AbsentError(f"needs {wanted / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are free")


def _peer_entrants(peer: Peer, case: Case, data: Data, threads: int) -> list[_Entrant]:
    try:
        version = peer.version()
    except ImportError:
        return [_Entrant(peer.NAME, peer.NAME, None, None, ABSENT, "not installed")]
    # What another library raises is its reason, whatever it is.
    try:
        forms = peer.forms(case, data, threads)
    except Exception as error:
        return [_Entrant(peer.NAME, peer.NAME, version, None, ABSENT, _first_line(error))]
    if not forms:
        return [_Entrant(peer.NAME, peer.NAME, version, None, ABSENT, f"has no {case.op}")]
    return _enter(peer.NAME, version, forms)


def _enter(library: str, version: str, forms: Forms) -> list[_Entrant]:
    """Make the contestants of a library."""
    entrants = []
    for name, make in forms.items():
        entrant = _Entrant(name, library, version)
        try:
            entrant.ready = make()
        except AbsentError as error:
            entrant.status, entrant.reason = ABSENT, str(error)
        except Exception as error:
            if library == "oneread":
                raise
            entrant.status, entrant.reason = ABSENT, _first_line(error)
        entrants.append(entrant)
    return entrants


def _check(entrant: _Entrant, checker: Checker | None) -> None:
    """Call it once and compare with the truth, if any; out of the race if it is wrong."""
    if entrant.ready is None:
        return
    own = entrant.library == "oneread"
    try:
        outputs = entrant.ready.outputs()
        if own and (ran := cpu.last_kernel()):
            entrant.kernel = dataclasses.asdict(ran)
        if checker is None:
            return
        entrant.finding = checker.ours(outputs) if own else checker.peer(outputs)
    except Exception as error:
        if own:
            raise
        entrant.status, entrant.reason = ABSENT, _first_line(error)
    if entrant.finding.fault:
        entrant.status, entrant.reason = WRONG, entrant.finding.fault
    if entrant.status != OK:
        entrant.ready = None


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]


def _traffic(case: Case) -> int:
    """Return the bytes that must be read and written at least, small outputs left out."""
    return case.input_bytes * (2 if OPS[case.op].row_output else 1)


def _rates(case: Case, threads: int) -> dict[str, float]:
    """Return what plain traffic of the case's size reaches, in 1e9 bytes a second."""
    kinds = ("copy", "streaming_copy") if OPS[case.op].row_output else ("read",)
    return {kind: _rate(kind, case.input_bytes, threads) for kind in kinds}


@lru_cache(maxsize=256)
def _rate(kind: str, n_bytes: int, threads: int) -> float:
    Machine().settle()
    rate: float = cpu.native.bandwidth(kind, n_bytes, threads)
    return rate


def _record(case: Case, entrant: _Entrant, checked: int, rates: dict[str, float]) -> Record:
    times, n_bytes = entrant.times, _traffic(case)
    last_cache = max(machine.caches().values(), default=0)
    share = None
    if times and rates and not entrant.name.startswith("oneread "):
        share = n_bytes / times.median_s / 1e9 / max(rates.values())
    options = dict(case.options)
    return Record(
        case=case.name, contestant=entrant.name, group=case.group, op=case.op, shape=case.shape,
        rows=case.rows, vocab=case.vocab, axis=case.axis, dtype=case.dtype,
        k=options.get("k", options.get("top_k")), order=case.order, memory=case.memory,
        arrays=case.arrays, environment=dict(case.environment), isa=cpu.native.isa(),
        library=entrant.library, version=entrant.version, status=entrant.status,
        reason=entrant.reason, threads=entrant.ready.threads if entrant.ready else None,
        kernel=entrant.kernel, cache="larger than caches" if n_bytes > last_cache else "warm",
        n=times.n if times else 0, dropped=times.dropped if times else 0,
        median_s=times.median_s if times else None, p25_s=times.p25_s if times else None,
        p75_s=times.p75_s if times else None, bytes=n_bytes, rates=rates, share=share,
        checked_rows=checked if entrant.finding.ulp or entrant.status == WRONG else 0,
        ulp=entrant.finding.ulp, max_ulp=entrant.finding.max_ulp,
    )  # fmt: skip
