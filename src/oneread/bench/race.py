"""One case: its contestants made, checked and timed; and what the machine could do at best.

Knows no op and no library by more than its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, Final

import oneread
from oneread.bench import entrants, ours
from oneread.bench.cases import Case
from oneread.bench.check import Checker
from oneread.bench.contestants import AbsentError, Data
from oneread.bench.entrants import Entrant
from oneread.bench.peers import Peer
from oneread.bench.store import ABSENT, Record
from oneread.bench.timing import Effort, Machine, contest
from oneread.runtime import cpu, machine
from oneread.spec import OPS

#: Arrays of the input's size that a peer may need at once: copies, temporaries, outputs.
_COPIES: Final = 6


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
        return [absent(case, entrants.first_line(error))]
    found = entrants.enter(entrants.OWN, oneread.__version__, ours.forms(case, data, threads))
    for peer in peers:
        if case.peers is None or peer.NAME in case.peers:
            forms = partial(peer.forms, case, data, threads)
            found += entrants.enter_peer(peer.NAME, case.op, peer.version, forms)
    for entrant in found:
        # A yardstick is another op, or has other rows; that one's own case checks it.
        judge = checker.ours if entrant.library == entrants.OWN else checker.peer
        entrants.check(entrant, None if entrant.name in case.yardsticks else judge)
    times = contest({e.name: e.ready.run for e in found if e.ready}, effort)
    for entrant in found:
        entrant.times = times.get(entrant.name)
    rates = _rates(case, threads)
    return [_record(case, entrant, len(checker.rows), rates) for entrant in found]


def absent(case: Case, reason: str) -> Record:
    """Return the record of a case that cannot run here."""
    entrant = Entrant(ours.OURS, entrants.OWN, oneread.__version__, None, ABSENT, reason)
    return _record(case, entrant, 0, {})


def _check_memory(case: Case) -> None:
    free = machine.memory_bytes("MemAvailable")
    wanted = _COPIES * case.input_bytes
    if free is not None and free < wanted:
        raise AbsentError(f"needs {wanted / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are free")


def _rates(case: Case, threads: int) -> dict[str, float]:
    """Return what plain traffic of the case's size reaches, in 1e9 bytes a second."""
    kinds = ("copy", "streaming_copy") if OPS[case.op].row_output else ("read",)
    return {kind: _rate(kind, case.input_bytes, threads) for kind in kinds}


@lru_cache(maxsize=256)
def _rate(kind: str, n_bytes: int, threads: int) -> float:
    Machine().settle()
    rate: float = cpu.native.bandwidth(kind, n_bytes, threads)
    return rate


def _record(case: Case, entrant: Entrant, checked: int, rates: dict[str, float]) -> Record:
    n_bytes = entrants.traffic(case, OPS[case.op].row_output)
    last_cache = max(machine.caches().values(), default=0)
    facts: dict[str, Any] = {
        "isa": cpu.native.isa(),
        "cache": "larger than caches" if n_bytes > last_cache else "warm",
    }
    return entrants.record(case, entrant, n_bytes, checked, rates, **facts)
