"""Faults that are seen once a run has ended: wrong or missing results, costs, idle barriers.

Knows counts and buffers; knows no warp.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from oneread.trace.arguments import Argument
from oneread.trace.counts import Counts, LineCounts
from oneread.trace.faults import Fault, Faults, Repair
from oneread.trace.judging import Judgement
from oneread.trace.machine.access import Access
from oneread.trace.machine.hazards import last_store
from oneread.trace.machine.memory import Buffer
from oneread.trace.messages import FAULTS
from oneread.trace.static import narrow_offsets
from oneread.trace.tree import Program

if TYPE_CHECKING:
    from oneread.trace.compiler.context import Context

#: Requests that take more than this many times the sectors that would do are noted.
_SCATTERED = 2


def after_run(
    faults: Faults,
    program: Program,
    context: Context,
    written: Sequence[Buffer],
    counts: Counts,
    result: Sequence[Judgement],
    doubts: Sequence[Judgement],
    guessed: Collection[str],
) -> None:
    """Add the faults that a finished run shows.

    Parameters
    ----------
    faults : Faults
        Where they go.
    program : Program
        What ran.
    context : Context
        What it was compiled for.
    written : sequence of Buffer
        Its outputs.
    counts : Counts
        What was counted.
    result : sequence of Judgement
        The outputs against the truth.
    doubts : sequence of Judgement
        Those that are wrong if the kernel is a softmax, which only its exponentials say.
    guessed : collection of str
        The buffers whose size is a guess that their indices do not bear out.
    """
    known = {one.buffer for one in result}
    line = program.kernel.position.line
    for buffer in written:
        severity = "error" if buffer.name in known else "warning"
        _missing(faults, buffer, line, severity, buffer.name in guessed)
    by_name = {buffer.name: buffer for buffer in written}
    for judgement in result:
        if judgement.wrong:
            _wrong("wrong-result", faults, by_name[judgement.buffer], judgement, line)
            for fault in faults.sorted():
                if fault.id == "stray-row":
                    fault.severity = "error"
    for doubt in doubts:
        _wrong("unlike-softmax", faults, by_name[doubt.buffer], doubt, line)
    for one in counts.lines:
        _cost(faults, one)
    for barrier in context.barriers:
        if barrier.times and not barrier.used:
            faults.put(_fault("barrier-idle", barrier.line, barrier.column))
    for offset in narrow_offsets(program):
        at = offset.position
        repair = Repair("insert", offset.start.line, offset.start.column, {"text": "(size_t)"})
        faults.put(_fault("latent-overflow", at.line, at.column, repair=repair, limit=offset.limit))


#: Faults that may say no more than that the size of a buffer is another one.
_OF_SIZE = frozenset(["out-of-bounds", "unwritten", "stray-row"])


def note_guesses(faults: Iterable[Fault], guessed: Iterable[Argument]) -> None:
    """Tell the faults that may come of a guess what was guessed: the argument to be passed."""
    by_name = {one.name: one for one in guessed}
    for fault in faults:
        one = by_name.get(fault.buffer or "")
        if one is not None and fault.id in _OF_SIZE:
            contents = one.pattern or "out"
            contents = f"inout:{contents}" if one.role == "inout" else contents
            fault.parameters["guess"] = f"{one.name}={one.shape}:{contents}"
        elif one is not None and fault.id == "uninitialised" and one.role == "output":
            fault.parameters["guess"] = f"{one.name}={one.shape}:inout:zeros"


def _fault(
    identifier: str,
    line: int,
    column: int = 1,
    buffer: str | None = None,
    index: int | None = None,
    repair: Repair | None = None,
    access: Access | None = None,
    severity: str | None = None,
    **parameters: object,
) -> Fault:
    return Fault(
        identifier,
        severity or FAULTS[identifier].severity,
        line,
        column,
        access.step if access is not None else 0,
        access.warp.block.index if access is not None else 0,
        access.warp.index if access is not None else 0,
        access.bits if access is not None else 0,
        buffer=buffer,
        index=index,
        parameters=parameters,
        repair=repair,
    )


def _missing(faults: Faults, buffer: Buffer, line: int, severity: str, guessed: bool) -> None:
    missing = [cell for cell, times in enumerate(buffer.stores) if not times]
    if missing and not all(buffer.valid):
        written = len(buffer.stores) - len(missing)
        if guessed and 0 < written == missing[0] and severity == "warning":
            severity = "note"  # all up to some place: the buffer may be no longer than that
        faults.put(
            _fault(
                "unwritten",
                line,
                buffer=buffer.name,
                index=missing[0],
                severity=severity,
                unwritten=len(missing),
                count=len(buffer.stores),
            )
        )


def _wrong(
    identifier: str, faults: Faults, buffer: Buffer, judgement: Judgement, line: int
) -> None:
    assert judgement.first_wrong is not None
    writer = last_store(buffer, buffer.first_cell(judgement.first_wrong))
    faults.put(
        _fault(
            identifier,
            writer.site.line if writer is not None else line,
            writer.site.column if writer is not None else 1,
            buffer=buffer.name,
            index=judgement.first_wrong,
            access=writer,
            got=f"{judgement.got:.6g}",
            want=f"{judgement.want:.6g}",
            truth=judgement.op,
            wrong=judgement.wrong,
            count=judgement.count,
            error=f"{judgement.max_abs:.2g}" if judgement.comparable else "NaN",
        )
    )


def _cost(faults: Faults, one: LineCounts) -> None:
    verb = {"read": "reading", "write": "writing"}.get(one.kind, "an atomic on")
    if one.space == "shared" and one.wavefronts > one.ideal_wavefronts:
        faults.put(
            _fault(
                "bank-conflict",
                one.line,
                one.column,
                buffer=one.buffer,
                verb=verb,
                wavefronts=one.wavefronts,
                ideal=one.ideal_wavefronts,
            )
        )
    if one.space == "global" and one.sectors > _SCATTERED * one.ideal_sectors:
        faults.put(
            _fault(
                "uncoalesced",
                one.line,
                one.column,
                buffer=one.buffer,
                verb=verb,
                sectors=round(one.sectors / one.requests, 1),
                ideal=round(one.ideal_sectors / one.requests, 1),
            )
        )
