"""The trace file: launches as JSON, as `trace.schema.json` beside this module has it.

The same launch gives the same bytes. Knows runs and their recordings; opens no file.
"""

from __future__ import annotations

import base64
import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from oneread import __version__
from oneread.trace.basis import basis
from oneread.trace.case import Case
from oneread.trace.compiler.layout import leaves
from oneread.trace.counts import CACHE_KB_A_BLOCK, RESIDENT_BLOCKS, Counts, LineCounts, Pass
from oneread.trace.errors import LimitError, UsageError
from oneread.trace.faults import Fault
from oneread.trace.limits import Limits
from oneread.trace.pools import Pools, choose, little_endian
from oneread.trace.recording import OPERATIONS, Memory, Recording
from oneread.trace.running import Run
from oneread.trace.sources import Launched
from oneread.trace.tree import Storage

#: Name and version of the format.
SCHEMA: Final = "oneread-trace/1"

SCHEMA_FILE: Final = Path(__file__).with_name("trace.schema.json")

Trace = dict[str, Any]
Runs = Callable[[Case], Sequence[Launched]]


def describe(
    launches: Iterable[Launched],
    resident_blocks: int = RESIDENT_BLOCKS,
    cache_kb: float | None = None,
) -> Trace:
    """Return launches as a trace file holds them.

    Parameters
    ----------
    launches : iterable of Launched
        What has run, in order.
    resident_blocks : int
        Blocks that share the modelled cache, as in `Counts.dram`.
    cache_kb : float, optional
        Its size.

    Returns
    -------
    dict
        Of the schema in `SCHEMA_FILE`; numbers that JSON lacks are words.
    """
    runs = [_run(one, resident_blocks, cache_kb) for one in launches]
    return {"schema": SCHEMA, "engine": __version__, "runs": runs}


def dumps(trace: Trace) -> str:
    """Return a trace as text, the same for the same trace.

    Parameters
    ----------
    trace : dict
        Of `describe`.

    Returns
    -------
    str
        One line of JSON.

    Examples
    --------
    >>> from oneread.trace import describe, dumps, open_kernel, Case
    >>> text = dumps(describe(open_kernel("relu").launch(Case(rows=1, vocab=4))))
    >>> text[:28]
    '{"schema":"oneread-trace/1",'
    """
    return json.dumps(trace, separators=(",", ":"), allow_nan=False) + "\n"


def record(
    run: Runs,
    case: Case,
    resident_blocks: int = RESIDENT_BLOCKS,
    cache_kb: float | None = None,
) -> str:
    """Run with events kept and return the text of the trace file.

    Where the events of all blocks pass a limit, those of the first blocks are kept, as many as fit;
    the file says so in `reduced`. Counts and checks are always those of all blocks.

    Parameters
    ----------
    run : callable
        Makes the launches.
    case : Case
        What they are launched with; blocks that it names in `record` are kept or refused.
    resident_blocks : int
        Blocks that share the modelled cache, as in `Counts.dram`.
    cache_kb : float, optional
        Its size.

    Returns
    -------
    str
        The text.

    Raises
    ------
    LimitError
        When not even one block, or not the blocks that were named, fit; or when the runs that this
        takes are longer together than one may be.
    UsageError
        When a block is named that there is not.
    """
    model, run = (resident_blocks, cache_kb), _in_time(run, case.limits.seconds)
    if not isinstance(case.record, bool):
        return _fitting(describe(_named(run(case), case.record), *model), case.limits)
    try:
        return _fitting(describe(run(replace(case, record=True)), *model), case.limits)
    except LimitError as error:
        if error.setting not in {"recorded", "file_bytes"}:
            raise
        setting = error.setting
    kept = _room(run(replace(case, record=[0])), case.limits)
    while True:
        try:
            trace = describe(run(replace(case, record=range(kept))), *model)
            for one in trace["runs"]:
                one["recording"]["reduced"] = {"setting": setting}
            return _fitting(trace, case.limits)
        except LimitError:
            if kept == 1:
                raise
            kept //= 2


def _in_time(run: Runs, seconds: float) -> Runs:
    """Return what makes launches and lets all of them together take so long."""
    end = time.monotonic() + seconds

    def launch(case: Case) -> Sequence[Launched]:
        left = max(0.0, end - time.monotonic())
        launches = run(replace(case, limits=replace(case.limits, seconds=left)))
        # The file says what was allowed, not what was left.
        return [one._replace(case=replace(one.case, limits=case.limits)) for one in launches]

    return launch


def _named(launches: Sequence[Launched], blocks: Iterable[int]) -> Sequence[Launched]:
    """Check that the blocks that are to be recorded are there."""
    most = max(math.prod(one.run.grid) for one in launches)
    for block in blocks:
        if block >= most:
            raise UsageError(f"there is no block {block}: {most} run")
    return launches


def _room(launches: Sequence[Launched], limits: Limits) -> int:
    """Return how many blocks may fit, judged by the first one."""
    recordings = [one.run.recording for one in launches if one.run.recording is not None]
    events = max([recording.events for recording in recordings], default=0)
    size = len(dumps(describe(launches)))
    return max(1, min(limits.recorded // max(1, events), limits.file_bytes // size))


def _fitting(trace: Trace, limits: Limits) -> str:
    text = dumps(trace)
    if len(text) > limits.file_bytes:
        raise LimitError(
            f"a trace file of {len(text):,} bytes; the limit is {limits.file_bytes:,} "
            "(file_bytes); record fewer blocks",
            setting="file_bytes",
        )
    return text


def _run(launched: Launched, resident_blocks: int, cache_kb: float | None) -> Trace:
    source, case, run = launched.source, launched.case, launched.run
    pools = Pools() if run.recording is None else run.recording.pools
    types = {
        variable.name + leaf.name: str(leaf.type)
        for function in source.loaded.program.functions
        for variable in function.variables
        if variable.storage is Storage.REGISTER
        for leaf in leaves(variable.type)
    }
    buffers = [_buffer(one, run, pools) for one in run.memory]
    recording = None if run.recording is None else _recording(run.recording, types)
    return {
        "name": launched.name,
        "kernel": run.kernel,
        "source": {"name": source.name, "text": source.text},
        "launch": _launch(launched),
        "settings": asdict(case.limits),
        "buffers": buffers,
        "counts": _counts(run.counts, resident_blocks, cache_kb),
        "faults": [describe_fault(one) for one in run.faults],
        "result": [_plain(asdict(one)) for one in run.result],
        "watches": [_plain(asdict(one)) for one in run.watch],
        "recording": recording,
        "pools": {
            "floats": base64.b64encode(little_endian(pools.floats)).decode(),
            "integers": base64.b64encode(little_endian(pools.integers)).decode(),
        },
    }


def _launch(launched: Launched) -> Trace:
    case, run = launched.case, launched.run
    found = basis(launched.source.loaded, case)
    return {
        "grid": run.grid,
        "block": run.block,
        "rows": case.rows,
        "vocab": case.vocab,
        "k": case.k,
        "defines": dict(case.defines),
        "input": case.input,
        "schedule": run.schedule,
        "arguments": [_plain(asdict(one)) for one in run.arguments],
        "basis": {
            "line": None if found.launch is None else found.launch.line,
            "launches": found.launches,
            "items": [one._asdict() for one in found.items],
        },
    }


def _buffer(memory: Memory, run: Run, pools: Pools) -> Trace:
    roles = {one.name: one.role for one in run.arguments}
    outer = memory.space == "global"

    def held(values: Sequence[Any] | None) -> Trace | None:
        if not outer or not values:
            return None
        how = choose(values)
        return {"at": pools.put(values, how), "pool": how, "count": len(values)}

    return {
        **asdict(memory),
        "role": roles.get(memory.name, "") if outer else "",
        "before": held(run.inputs.get(memory.name)),
        "after": held(run.outputs.get(memory.name)),
    }


def _counts(counts: Counts, resident_blocks: int, cache_kb: float | None) -> Trace:
    dram = counts.dram(resident_blocks, cache_kb)
    size = CACHE_KB_A_BLOCK * resident_blocks if cache_kb is None else cache_kb
    whole = (
        "steps", "barriers", "exps", "lane_exps", "shared_requests", "wavefronts",
        "global_requests", "sectors", "ideal_sectors", "issued_bytes", "after_reuse_bytes",
    )  # fmt: skip
    return {
        **{name: getattr(counts, name) for name in whole},
        "dram_model": {
            "read_bytes": dram.read_bytes,
            "written_bytes": dram.written_bytes,
            "resident_blocks": resident_blocks,
            "cache_kb": size,
        },
        "buffers": [asdict(one) for one in counts.buffers.values()],
        "lines": _with_dram(counts.lines, counts.of_lines(dram)),
        "passes": _with_dram(counts.passes, counts.of_passes(dram)),
        "barrier_lines": {str(line): times for line, times in sorted(counts.barrier_lines.items())},
    }


def _with_dram(places: Sequence[LineCounts | Pass], sizes: Sequence[int]) -> list[Trace]:
    return [{**asdict(one), "dram_bytes": size} for one, size in zip(places, sizes, strict=True)]


def describe_fault(fault: Fault) -> Trace:
    """Return a fault as a trace file holds it."""
    found: Trace = _plain(asdict(fault))
    return found


def _recording(recording: Recording, types: dict[str, str]) -> Trace:
    steps = ("step", "block", "warp", "line", "column", "mask", "end")
    events = ("operation", "name", "at", "stride", "count", "value", "old", "pool")
    return {
        "blocks": sorted(set(recording.block)),
        "reduced": None,
        "operations": OPERATIONS,
        "names": [
            {"name": name, "space": space, "type": types.get(name, "")}
            for name, space in zip(recording.names, recording.spaces, strict=True)
        ],
        "steps": {name: list(getattr(recording, name)) for name in steps},
        "events": {name: list(getattr(recording, name)) for name in events},
        "partial": {"event": list(recording.partial), "lanes": list(recording.lanes)},
    }


def _plain(value: Any) -> Any:
    """Return a value with words for the numbers that JSON lacks."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value
