"""A kernel run: buffers made, the tree compiled, blocks run, the outcome judged.

Knows every part of the machine; knows no text but for repairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from oneread.spec.words import plural
from oneread.trace import inputs
from oneread.trace.arguments import Argument, arguments_of, guessed_sizes
from oneread.trace.atomics import changes
from oneread.trace.case import Case, extent
from oneread.trace.compiler.context import Context
from oneread.trace.compiler.kernel import Kernel
from oneread.trace.compiler.layout import layout
from oneread.trace.counts import Counts, gather
from oneread.trace.errors import LimitError, UsageError
from oneread.trace.faults import Fault, Faults, order
from oneread.trace.findings import after_run, note_guesses
from oneread.trace.front.program import Loaded
from oneread.trace.identities import identity_of
from oneread.trace.judging import Judgement, Output, Problem, guess, is_guessed, judge
from oneread.trace.machine.device import Device
from oneread.trace.machine.floats import round32
from oneread.trace.machine.launch import Clock, Launch
from oneread.trace.machine.memory import Buffer, CellError, Finer
from oneread.trace.machine.values import FULL
from oneread.trace.ownership import Owner, axes_of_blocks, rows_of_blocks, rows_of_threads
from oneread.trace.recording import Memory, Recorder, Recording, memory
from oneread.trace.repairs import add_repairs
from oneread.trace.schedules import Schedule
from oneread.trace.shape import shape_of
from oneread.trace.static import has_rows, spanning_indices
from oneread.trace.tree import Variable
from oneread.trace.types import CHAR, VECTORS, Pointer, Scalar, Struct, Type, Void
from oneread.trace.watching import Watch, Watches


@dataclass(frozen=True)
class Run:
    """A kernel that has run."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    schedule: str
    arguments: list[Argument]
    counts: Counts
    faults: list[Fault]
    """The worst first."""
    result: list[Judgement]
    """Each output whose meaning is known, against the truth in double."""
    inputs: dict[str, list[Any]]
    outputs: dict[str, list[Any]]
    """Numbers of each buffer that the kernel may write."""
    memory: list[Memory]
    """What buffers there were."""
    watch: list[Watch]
    """m, d and the factor as they were found, and every value that they took."""
    recording: Recording | None

    def worst(self) -> str | None:
        """Return the severity of the worst fault, None where there is none."""
        return self.faults[0].severity if self.faults else None

    def having(self, identifier: str) -> list[Fault]:
        """Return the faults of one kind."""
        return [fault for fault in self.faults if fault.id == identifier]


def launch(loaded: Loaded, text: str, case: Case) -> Run:
    """Run a kernel once; where it makes NaN that should not be, find out where they come from.

    Parameters
    ----------
    loaded : Loaded
        The kernel as it was read.
    text : str
        Its source, for repairs.
    case : Case
        What it is launched with.

    Returns
    -------
    Run
        What happened.
    """
    try:
        run = _run(loaded, text, case, find_nan=False)
    except RecursionError:
        raise LimitError(
            "the caller's stack leaves no room to run calls within calls and what is nested up to "
            f"{case.limits.nesting} deep (nesting)"
        ) from None
    if any(one.wrong_nans for one in run.result):
        again = _run(loaded, text, replace(case, record=False), find_nan=True)
        run.faults.extend(again.having("nan-made"))
        run.faults.sort(key=order)
    return run


def _run(loaded: Loaded, text: str, case: Case, find_nan: bool) -> Run:
    """Run once; anew with smaller cells where a buffer is used in smaller parts than declared."""
    finer: dict[tuple[str, str], str] = {}
    while True:
        try:
            return _Session(loaded, text, case, find_nan, finer).run()
        except CellError as found:
            finer[found.key] = found.code


class _Session:
    """One run, from arguments to outcome."""

    def __init__(self, loaded: Loaded, text: str, case: Case, find_nan: bool, finer: Finer) -> None:
        self._loaded, self._program = loaded, loaded.program
        self._text, self._case = text, case
        self._names = case.names(loaded)
        shape = shape_of(loaded, case)
        self._grid, self._block, (self._shared_bytes, *_) = (
            extent(part.value, self._names)
            for part in (shape.grid, shape.block, shape.shared_bytes)
        )
        case.limits.check_launch(self._grid, self._block)
        self._faults = Faults()
        self._device = Device(self._faults, finer)
        self._arguments = arguments_of(loaded, case.arguments, self._names, case.input)
        unknown = set(case.truth or ()) - {one.name for one in self._arguments}
        if unknown:
            raise UsageError(f"no parameter is named {min(unknown)!r}, which a truth is given for")
        self._buffers: dict[str, Buffer] = {}
        self._inputs: dict[str, list[Any]] = {}
        self._schedule = Schedule.parse(case.schedule)
        self._find_nan = find_nan
        width = _bound(self._arguments)
        self._own_rows = () if width is None else rows_of_threads(self._program, width)

    def run(self) -> Run:
        """Run the kernel."""
        parameters = self._program.kernel.parameters
        values = list(map(self._value, parameters, self._arguments))
        clock = Clock(self._device, self._case.limits)
        recorder = self._recorder(clock)
        context = self._context(clock, recorder)
        kernel = Kernel(self._program, context, values)
        launched = Launch(
            kernel, self._device, self._grid, self._block, self._schedule, self._owner()
        )
        counts = gather(
            self._buffers.values(),
            context.sites,
            context.barriers,
            launched.run(),
            self._device.step,
            (context.exps[0], context.exps[1]),
        )
        result, doubts = self._judge(counts)
        faults = self._found(context, counts, result, doubts)
        return Run(
            self._program.kernel.name,
            self._grid,
            self._block,
            self._schedule.name,
            self._arguments,
            counts,
            faults,
            result,
            self._inputs,
            {buffer.name: buffer.numbers() for buffer in self._written()},
            self._memory(recorder),
            context.watches.all(),
            recorder.recording if recorder is not None else None,
        )

    def _context(self, clock: Clock, recorder: Recorder | None) -> Context:
        return Context(
            self._device,
            clock,
            self._case.limits,
            self._grid,
            self._block,
            self._shared_bytes,
            recorder,
            Watches(self._program, self._case.watch),
            self._schedule.switching,
            self._find_nan,
            frozenset(map(id, self._own_rows)),
        )

    def _recorder(self, clock: Clock) -> Recorder | None:
        wanted = self._case.record
        if wanted is False:
            return None
        blocks = None if wanted is True else frozenset(wanted)
        recorder = Recorder(blocks, self._case.limits)
        self._device.watcher = recorder.access
        clock.recorder = recorder.step
        return recorder

    # ---- arguments

    def _value(self, variable: Variable, argument: Argument) -> Any:
        if isinstance(variable.type, Scalar):
            return _number(argument, variable.type)
        assert isinstance(variable.type, Pointer)
        return self._buffer(variable.type.target, argument).base

    def _buffer(self, kind: Type, argument: Argument) -> Buffer:
        kind = CHAR if isinstance(kind, Void) else kind
        scalars = layout(kind)
        # A size counts numbers: a float4 is four of them. A struct of the source is one thing.
        grouped = isinstance(kind, Struct) and VECTORS.get(kind.name) is kind
        count = int(argument.size) // (len(scalars) if grouped else 1)
        there = sum(one.count * len(one.declared) for one in self._buffers.values())
        self._case.limits.check_elements(there + count * len(scalars))
        values = None
        if argument.pattern is not None:
            floating = all(code in "fd" for _, code in scalars)
            values = self._filled(argument, count * len(scalars), argument.pattern, floating)
            self._inputs[argument.name] = list(values)
        space = self._device.spaces["global"]
        buffer = space.allocate(argument.name, count, scalars, kind.size, values)
        if self._in_rows(argument):
            buffer.width = self._case.vocab * len(buffer.layout) // len(buffer.declared)
        self._buffers[argument.name] = buffer
        return buffer

    def _filled(self, argument: Argument, count: int, pattern: str, floating: bool) -> list[Any]:
        name = argument.name
        given = self._case.data.get(name)
        if given is not None:
            if len(given) != count:
                raise UsageError(f"{name} has {plural(count, 'number')}; given: {len(given)}")
            return [round32(value) if floating else value for value in given]
        follows = (self._case.truth or {}).get(name)
        if follows is not None and argument.role == "input":
            return [round32(value) for value in self._problem(name).truth(follows)]
        rows = self._case.rows if self._case.rows and count % self._case.rows == 0 else 1
        rows = 1 if _plain(argument.shape) == "vocab" else rows
        columns = count // rows
        if not floating:
            return inputs.integers(pattern, count, max(1, self._case.vocab))
        tile, number = self._case.tile(self._names), len(self._inputs)
        return inputs.make(pattern, rows, columns, tile, number)

    def _in_rows(self, argument: Argument) -> bool:
        """Say whether a buffer is (rows, vocab) and the kernel finds rows by their length."""
        width = _bound(self._arguments)
        if argument.shape.replace(" ", "") != "rows*vocab" or width is None:
            return False
        return has_rows(self._program, width)

    def _owner(self) -> Owner:
        """Return which rows a block may touch; all, where the kernel says which a thread has."""
        if self._own_rows or axes_of_blocks(self._program) > 1:
            return lambda _: None
        return rows_of_blocks(self._case.rows, math.prod(self._grid))

    # ---- outcome

    def _written(self) -> list[Buffer]:
        names = {one.name for one in self._arguments if one.role in {"output", "inout"}}
        return [buffer for name, buffer in self._buffers.items() if name in names]

    def _memory(self, recorder: Recorder | None) -> list[Memory]:
        shared = self._device.spaces["shared"].buffers
        local = recorder.recording.locals.values() if recorder is not None else ()
        return [*map(memory, [*self._buffers.values(), *shared]), *local]

    def _judge(self, counts: Counts) -> tuple[list[Judgement], list[Judgement]]:
        """Return the outputs against their truth, and those where that may be another."""
        case, name = self._case, self._program.kernel.name
        shapes = {one.name: _plain(one.shape) for one in self._arguments}
        outputs = [
            Output(
                buffer.name,
                buffer.numbers(),
                shapes[buffer.name],
                all(code in "fd" for _, code in buffer.declared),
            )
            for buffer in self._written()
        ]
        wide = len(self._wide())
        if not wide:
            return [], []
        # An input of one row, such as a bias, makes what comes out another thing, too.
        columns = sum(
            one.role != "scalar" and one.name in self._inputs and one.shape == "vocab"
            for one in self._arguments
        )
        inputs = wide + (columns if case.rows > 1 else 0)
        guessed = guess(name, counts.exps, inputs, outputs)
        truths = guessed if case.truth is None else case.truth
        result: list[Judgement] = []
        doubts: list[Judgement] = []
        for one in judge(outputs, self._problem("an output"), truths):
            doubted = one.wrong and case.truth is None and is_guessed(name, one.op)
            (doubts if doubted else result).append(one)
        return result, doubts

    def _found(
        self,
        context: Context,
        counts: Counts,
        result: list[Judgement],
        doubts: list[Judgement],
    ) -> list[Fault]:
        """Return the faults of the run, with what was guessed and with repairs."""
        sizes = guessed_sizes(self._loaded, self._case.arguments)
        guesses = [name for name, by_index in sizes.items() if not by_index]
        written = self._written()
        after_run(
            self._faults, self._program, context, written, counts, result, doubts, guesses
        )  # fmt: skip
        faults = self._faults.sorted()
        note_guesses(faults, [one for one in self._arguments if one.name in sizes], guesses)
        self._add_repairs(faults, result)
        return faults

    def _add_repairs(self, faults: Sequence[Fault], result: Sequence[Judgement]) -> None:
        bound, program = _bound(self._arguments), self._program
        spanning = spanning_indices(program, bound) if faults and bound else frozenset()
        threads = math.prod(self._block)

        def beyond(line: int, column: int) -> str | None:
            # Of a softmax -inf does, and the result says so if it does not.
            return identity_of(program, line, column) or ("-INFINITY" if result else None)

        changed = changes(program) if faults else {}
        add_repairs(faults, self._text, bound, beyond, spanning, self._names, threads, changed)

    def _wide(self) -> list[list[list[float]]]:
        """Return the rows of the inputs that have some."""
        rows, vocab = self._case.rows, self._case.vocab
        return [
            [values[row * vocab : (row + 1) * vocab] for row in range(rows)]
            for values in self._inputs.values()
            if rows and vocab and len(values) == rows * vocab
        ]

    def _problem(self, asking: str) -> Problem:
        wide, case = self._wide(), self._case
        if not wide:
            raise UsageError(f"{asking} follows from logits, but none stand before it")
        span = self._names.get("SPAN", case.vocab)
        return Problem(wide, min(case.k, case.vocab), max(1, span))


def _plain(shape: str) -> str:
    """Return the expression of a size in the form in which it is compared."""
    plain = shape.replace(" ", "")
    return {"vocab*rows": "rows*vocab", "k*rows": "rows*k"}.get(plain, plain)


def _bound(arguments: Sequence[Argument]) -> str | None:
    """Return the parameter that holds the length of a row, if one does."""
    return next(
        (one.name for one in arguments if one.role == "scalar" and one.shape == "vocab"), None
    )


def _number(argument: Argument, kind: Scalar) -> Any:
    """Return what a parameter of a type holds in every lane."""
    value = argument.size
    if kind.kind == "bool":
        return FULL if value else 0
    if kind.kind == "float":
        return round32(value) if kind.size == 4 else float(value)
    if not kind.lowest <= value <= kind.highest or value != int(value):
        holds = f"whole numbers from {kind.lowest} to {kind.highest}"
        raise UsageError(f"{argument.name} is {kind}, which holds {holds}, not {value}")
    return int(value)
