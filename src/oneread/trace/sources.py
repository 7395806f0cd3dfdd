"""The front door: a source and what to launch it with, to a run.

Knows the front end and the machine; the parts that do the work are elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from oneread.source.text import SourceText
from oneread.trace.case import Case, Extent, Size
from oneread.trace.errors import UsageError
from oneread.trace.exploring import ORDERS, Exploration, explore
from oneread.trace.front.program import Loaded, load_program
from oneread.trace.front.settings import Settings
from oneread.trace.limits import Limits
from oneread.trace.running import Run, launch

#: What ends the names of files with kernels.
SUFFIXES = (".cu", ".cuh", ".txt")


class Source:
    """A CUDA C text, read once and launched as often as wanted.

    Parameters
    ----------
    source : str or Path
        The text, or the name of a file that holds it: a string of one line, without braces, that
        ends in ``.cu``.
    kernel : str, optional
        Name of the kernel, with template arguments where it needs some; may be left out where
        there is one.
    defines : mapping, optional
        Macros.
    folders : iterable of Path
        Where ``#include "file"`` is looked for, after the folder of the file itself.
    name : str, optional
        What a text is called in messages.
    limits : Limits, optional
        How large the text may be.

    Raises
    ------
    SourceError
        When the text cannot be read: all that is wrong with it.
    """

    def __init__(
        self,
        source: str | Path,
        kernel: str | None = None,
        defines: Mapping[str, str | int | float] | None = None,
        folders: Iterable[Path] = (),
        name: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        known, self.text = read_source(source)
        folders = (*beside(source), *folders)
        self.name = name or known
        self.defines = {macro: str(value) for macro, value in (defines or {}).items()}
        settings = Settings(kernel or "", self.defines, tuple(folders), limits or Limits())
        self.loaded: Loaded = load_program(SourceText(self.name, self.text), settings)

    def launch(self, case: Case) -> Run:
        """Run the kernel once."""
        return launch(self.loaded, self.text, case)

    def explore(self, case: Case, orders: Iterable[str] = ORDERS) -> Exploration:
        """Run a launch in several orders of warps and compare what comes out."""
        return explore(self.launch, case, tuple(orders))


class Launched(NamedTuple):
    """A source that was launched, and what happened."""

    name: str
    """What it was asked for by: a key of the gallery or a file."""
    source: Source
    case: Case
    run: Run
    buffers: Mapping[str, str] | None = None
    """What a sequence calls the buffers of each parameter; None where they have its name."""

    def buffer(self, parameter: str) -> str:
        """Return what the buffer of a parameter is called."""
        return parameter if self.buffers is None else self.buffers[parameter]


def run(
    source: str | Path,
    kernel: str | None = None,
    *,
    rows: int = 4,
    vocab: int = 256,
    k: int = 5,
    defines: Mapping[str, str | int | float] | None = None,
    grid: Extent | None = None,
    block: Extent | None = None,
    shared_bytes: Size | None = None,
    arguments: Mapping[str, str | int | float] | None = None,
    input: str = "normal",  # noqa: A002 (the word of the command line)
    data: Mapping[str, Sequence[float]] | None = None,
    schedule: str = "in-order",
    watch: Sequence[str] = (),
    record: bool | Iterable[int] = False,
    truth: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    folders: Iterable[Path] = (),
) -> Run:
    """Run a CUDA C kernel on the CPU, count its accesses and find its faults.

    Parameters
    ----------
    source : str or Path
        The text, or the name of a file that holds it.
    kernel : str, optional
        Name of the kernel, with template arguments where it needs some.
    rows, vocab, k : int
        Sizes of the problem; parameters get theirs by their usual names.
    defines : mapping, optional
        Macros.
    grid, block : int, str or tuple, optional
        Shape of the launch; text is an expression over rows, vocab, k and macros. As the source
        launches the kernel where it does, else one block a row and the threads that it names.
    shared_bytes : int or str, optional
        Of an ``extern __shared__`` array; as the source launches it, else a float a thread.
    arguments : mapping, optional
        What a parameter gets where its name does not say: ``"rows*vocab:normal"``.
    input : str
        Pattern of the inputs, a key of `oneread.trace.inputs.PATTERNS`.
    data : mapping, optional
        Numbers of inputs that follow no pattern, by the parameter.
    schedule : str
        ``in-order``, ``reverse``, ``random:SEED``, or ``switch:SEED`` to let another warp go on
        after every statement that touches memory.
    watch : sequence of str
        Expressions over variables whose values are kept, besides m, d and the factor.
    record : bool or iterable of int
        Whether events are kept, or the blocks whose events are.
    truth : mapping, optional
        What each output should be, a name of `oneread.trace.truth.NAMES`; guessed if left out.
    limits : Limits, optional
        How much the run may take.
    folders : iterable of Path
        Where ``#include "file"`` is looked for.

    Returns
    -------
    Run
        Counts, faults, the result against the truth, outputs and, if recorded, events.

    Raises
    ------
    SourceError
        When the text cannot be read.
    UsageError
        When the kernel cannot be launched like this, or a macro is one that the text never names;
        the message says what would help.
    LimitError
        When the run meets a limit.

    Examples
    --------
    >>> from oneread.trace import run
    >>> text = '''
    ... __global__ void twice(const float* x, float* y, int vocab) {
    ...     for (int i = threadIdx.x; i < vocab; i += blockDim.x) y[i] = x[i] + x[i];
    ... }'''
    >>> outcome = run(text, rows=1, vocab=64, block=32)
    >>> outcome.counts.buffers["x"].loads.max
    2
    >>> outcome.faults
    []
    """
    case = Case(
        rows=rows,
        vocab=vocab,
        k=k,
        defines={macro: str(value) for macro, value in (defines or {}).items()},
        grid=grid,
        block=block,
        shared_bytes=shared_bytes,
        arguments=arguments or {},
        input=input,
        data=data or {},
        schedule=schedule,
        watch=watch,
        record=record,
        truth=truth,
        limits=limits or Limits(),
    )
    return _using_all(Source(source, kernel, defines, folders, limits=limits)).launch(case)


def _using_all(source: Source) -> Source:
    """Return a source that names all of its macros."""
    for macro, near in source.loaded.unused.items():
        raise unused_macro([source.name], macro, near)
    return source


def unused_macro(names: Sequence[str], macro: str, near: str) -> UsageError:
    """Return the error of a macro that would change nothing, since no text names it."""
    never = "never uses" if len(names) == 1 else "never use"
    hint = f"; there is {near}" if near else ""
    return UsageError(f"{' and '.join(names)} {never} the macro {macro}{hint}")


def beside(source: str | Path) -> tuple[Path, ...]:
    """Return the folder that a file lies in, which its own headers are looked for first in."""
    return () if _is_text(source) else (Path(source).parent,)


def _is_text(source: str | Path) -> bool:
    # A text that begins a kernel has a brace; a file whose name has one can be given as a Path.
    return isinstance(source, str) and bool(
        set("\n{") & set(source) or not source.endswith(SUFFIXES)
    )


def read_source(source: str | Path) -> tuple[str, str]:
    """Return the name and the text of a source: ``<text>`` if it is the text itself."""
    if _is_text(source):
        return "<text>", str(source)
    path = Path(source)
    with path.open("rb") as file:  # which may be a device without an end
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise UsageError(f"{path} has more than {_LARGEST:,} bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no UTF-8 text") from None
    return path.name, text.replace("\r\n", "\n").replace("\r", "\n")


#: Bytes of a file that is still read; the front end refuses what is larger than its own limit.
_LARGEST = 1 << 20
