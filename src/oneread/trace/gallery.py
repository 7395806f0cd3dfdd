"""The kernels of the gallery, run by their keys: the catalogue says how each is launched.

Knows the catalogue; the runs are made elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from oneread.source.arithmetic import integer
from oneread.source.catalogue import (
    BufferSpec,
    Catalogue,
    KernelEntry,
    read_catalogue,
)
from oneread.trace.case import Case
from oneread.trace.errors import UsageError
from oneread.trace.front.preprocess import whole_numbers
from oneread.trace.running import Run
from oneread.trace.sources import Launched, Source


def size_of(buffer: BufferSpec) -> str:
    """Return the expression of how many elements a buffer has."""
    return "*".join(part if part.isidentifier() else f"({part})" for part in buffer.shape)


def case_of(entry: KernelEntry, case: Case | None = None) -> Case:
    """Return a launch of a kernel of the gallery.

    Parameters
    ----------
    entry : KernelEntry
        Of the catalogue.
    case : Case, optional
        Sizes, input, order and limits; what it leaves out is as the catalogue says.

    Returns
    -------
    Case
        With grid, block, arguments and truth of the catalogue, and k within the kernel's limits.
    """
    case = case or Case()
    defines = {name: str(value) for name, value in entry.trace_defines.items()}
    defines |= {name: str(value) for name, value in case.defines.items()}
    arguments = {
        buffer.name: f"{size_of(buffer)}:{case.input if buffer.role == 'input' else 'out'}"
        for buffer in entry.buffers
    }
    arguments |= {name: name for name in ("rows", "vocab", "k") if name in entry.args}
    return replace(
        case,
        defines=defines,
        k=_fitting_k(entry, case, defines),
        grid=entry.grid if case.grid is None else case.grid,
        block=entry.block if case.block is None else case.block,
        shared_bytes=entry.shared_bytes if case.shared_bytes is None else case.shared_bytes,
        arguments={**arguments, **case.arguments},
        truth=entry.truth if case.truth is None else case.truth,
    )


def _fitting_k(entry: KernelEntry, case: Case, defines: Mapping[str, str]) -> int:
    """Return k within the kernel's limits."""
    names = whole_numbers(defines) | {"rows": case.rows, "vocab": case.vocab, "k": case.k}
    limit = entry.limits.get("k")
    # A tunable that is no number is refused, with its place, where the source is read.
    if limit is None or not names.keys() >= entry.trace_defines.keys():
        return case.k
    return min(case.k, integer(limit, names))


def entry_of(catalogue: Catalogue, key: str) -> KernelEntry:
    """Return what the catalogue says of a kernel.

    Raises
    ------
    UsageError
        When there is no kernel of that key.
    """
    if key not in catalogue.kernels:
        raise UsageError(f"{key!r} is no kernel of the gallery: {', '.join(catalogue.kernels)}")
    return catalogue.kernels[key]


def run_kernel(key: str, case: Case | None = None) -> Run:
    """Run one kernel of the gallery.

    Parameters
    ----------
    key : str
        Its key in the catalogue.
    case : Case, optional
        What is not as the catalogue says.

    Returns
    -------
    Run
        What happened.

    Raises
    ------
    UsageError
        When there is no kernel of that key.

    Examples
    --------
    >>> from oneread.trace.gallery import run_kernel
    >>> outcome = run_kernel("online_softmax")
    >>> outcome.counts.buffers["x"].loads.max, outcome.counts.buffers["y"].stores.max
    (2, 1)
    """
    return launch_kernel(key, case).run


def launch_kernel(key: str, case: Case | None = None) -> Launched:
    """Run one kernel of the gallery, and say with what."""
    catalogue = read_catalogue()
    case = case_of(entry_of(catalogue, key), case)
    source = Source(catalogue.path(key), defines=case.defines, limits=case.limits)
    return Launched(key, source, case, source.launch(case))


def run_sequence(key: str, case: Case | None = None) -> list[Run]:
    """Run kernels one after another that share buffers, as a sequence of the catalogue says.

    Parameters
    ----------
    key : str
        Key of the sequence.
    case : Case, optional
        Sizes, input, order and limits of all of them.

    Returns
    -------
    list of Run
        One a launch, in order.

    Raises
    ------
    UsageError
        When there is no sequence of that key.
    """
    return [one.run for one in launch_sequence(key, case)]


def launch_sequence(key: str, case: Case | None = None) -> list[Launched]:
    """Run the kernels of a sequence, and say with what."""
    catalogue = read_catalogue()
    if key not in catalogue.sequences:
        raise UsageError(f"{key!r} is no sequence of the gallery: {', '.join(catalogue.sequences)}")
    case = case or Case()
    shared: dict[str, Sequence[Any]] = dict(case.data)
    launches: list[Launched] = []
    for launch in catalogue.sequences[key].launches:
        entry = catalogue.kernels[launch.kernel]
        theirs = {one.name: launch.buffers[one.name] for one in entry.buffers}
        data = {name: shared[known] for name, known in theirs.items() if known in shared}
        one = launch_kernel(launch.kernel, replace(case, data=data))
        shared |= {theirs[name]: values for name, values in one.run.outputs.items()}
        launches.append(one._replace(name=key, buffers=theirs))
    return launches
