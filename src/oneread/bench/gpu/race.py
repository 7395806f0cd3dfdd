"""One case on a GPU: its contestants made, checked, captured and timed, traffic beside them.

Knows no op and no library by more than its name; the GPU comes in as an object.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol

import oneread
from oneread.bench import entrants
from oneread.bench.cases import Case
from oneread.bench.check import Judges
from oneread.bench.entrants import Entrant
from oneread.bench.gpu import gallery, ours
from oneread.bench.gpu.peers import Peer
from oneread.bench.gpu.sets import Sets, judges
from oneread.bench.gpu.timing import Effort, Gpu, Job, Sample, contest, in_calls, in_graph
from oneread.bench.ours import OURS
from oneread.bench.store import ABSENT, Record
from oneread.spec import OPS

#: What names of plain traffic begin with, so that they are nobody's.
_PLAIN: Final = "plain "


class Machine(Gpu, Protocol):
    """The GPU of a race."""

    where: str
    target: str

    def forget(self) -> None:
        """Give back memory that nothing uses any more."""


#: Returns the jobs of plain traffic for the sets of a case, by name.
Traffic = Callable[[Sets, bool], Mapping[str, Job]]


def race(
    case: Case, peers: Sequence[Peer], gpu: Machine, effort: Effort, traffic: Traffic
) -> list[Record]:
    """Check and time all contestants of a case.

    Parameters
    ----------
    case : Case
        The case.
    peers : sequence of Peer
        The libraries to compare with.
    gpu : Machine
        Where.
    effort : Effort
        How much is timed.
    traffic : callable
        Gives the jobs of plain traffic.

    Returns
    -------
    list of Record
        Ours first; those that are wrong or absent included.
    """
    row_output = OPS[case.op].row_output
    sets = Sets.of(case, gpu.where, row_output)
    judge, checked = judges(case, sets)
    found = enter(case, peers, sets)
    for entrant in found:
        for y in sets.y[:1]:
            y.fill_(math.nan)  # so that what a contestant does not write is not another's
        entrants.check(entrant, _judgement(case, entrant, judge))
    samples = _samples(case, found, len(sets.x), gpu, effort)
    plain = traffic(sets, row_output) if case.timed == "graph" else {}
    for name, job in plain.items():
        samples[_PLAIN + name] = in_graph(job, len(sets.x), gpu, effort)
    times = contest(samples, effort)
    n_bytes = entrants.traffic(case, row_output)
    rates = {name: n_bytes / times[_PLAIN + name].median_s / 1e9 for name in plain}
    for entrant in found:
        entrant.times = times.get(entrant.name)
    records = [_record(case, e, checked, rates, gpu.target, len(sets.x)) for e in found]
    del sets, judge, found, samples, plain
    gc.collect()
    gpu.forget()
    return records


def _judgement(case: Case, entrant: Entrant, judge: Judges) -> entrants.Judgement:
    """Return what judges one: ours by what it promises, the gallery's by the gallery's bound."""
    if entrant.library != entrants.OWN:
        return judge.peer
    bound = gallery.bound(case, entrant.name)
    return judge.ours if bound is None else partial(judge.peer, max_ulp=bound)


def enter(case: Case, peers: Sequence[Peer], sets: Sets) -> list[Entrant]:
    """Make all contestants of a case, ours first."""
    found = entrants.enter(entrants.OWN, oneread.__version__, ours.forms(case, sets))
    for peer in peers:
        if case.peers is None or peer.NAME in case.peers:
            forms = partial(peer.forms, case, sets)
            found += entrants.enter_peer(peer.NAME, case.op, peer.version, forms)
    return found


def _samples(
    case: Case, found: Sequence[Entrant], sets: int, gpu: Gpu, effort: Effort
) -> dict[str, Sample]:
    """Return what times each contestant; one that a graph refuses leaves with the reason."""
    samples: dict[str, Sample] = {}
    for entrant in found:
        if entrant.ready is None:
            continue
        try:
            if case.timed == "call":
                samples[entrant.name] = in_calls(entrant.ready.run, gpu, effort)
            else:
                samples[entrant.name] = in_graph(entrant.ready.run, sets, gpu, effort)
        except Exception as error:
            where = "in a CUDA graph: " if case.timed == "graph" else ""
            entrants.leave_or_raise(entrant, error, where)
    return samples


def absent(case: Case, reason: str, target: str) -> Record:
    """Return the record of a case that could not run here."""
    entrant = Entrant(OURS, entrants.OWN, oneread.__version__, None, ABSENT, reason)
    return _record(case, entrant, 0, {}, target, 0)


def _record(
    case: Case, entrant: Entrant, checked: int, rates: Mapping[str, float], target: str, sets: int
) -> Record:  # fmt: skip
    n_bytes = entrants.traffic(case, OPS[case.op].row_output)
    return entrants.record(
        case, entrant, n_bytes, checked, rates, isa=target, sets=sets,
        cache="warm" if case.timed == "call" else "sets take turns",
    )  # fmt: skip


__all__ = ["Traffic", "absent", "enter", "race"]
