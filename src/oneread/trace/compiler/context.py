"""What all parts of the compiler share: the machine, the slots of variables, the places counted.

Knows no node of the tree but its variables and functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import Any

from oneread.source.text import Position
from oneread.trace.compiler.layout import base_element, layout
from oneread.trace.compiler.operators import Operators
from oneread.trace.compiler.warps import Meetings
from oneread.trace.errors import UsageError
from oneread.trace.limits import Limits
from oneread.trace.machine.device import Device
from oneread.trace.machine.launch import Clock
from oneread.trace.machine.sites import BarrierSite, Site
from oneread.trace.machine.warp import Warp
from oneread.trace.recording import Recorder
from oneread.trace.tree import Function, Storage, Variable
from oneread.trace.types import Void
from oneread.trace.watching import Watches


class Context:
    """A kernel being compiled for a launch.

    Parameters
    ----------
    device : Device
        That it will run on.
    clock : Clock
        That counts its steps.
    limits : Limits
        What it may take.
    grid, block : tuple of int
        Shape of the launch.
    shared_bytes : int
        Of the ``extern __shared__`` array.
    recorder : Recorder or None
        Where registers go.
    watches : Watches
        Variables whose values are kept.
    switching : bool
        Whether warps may take turns before every statement that touches memory.
    find_nan : bool
        Whether operations that make a NaN of numbers are reported.
    rows : set
        Numbers of the expressions whose value is the row of a thread.
    """

    def __init__(
        self,
        device: Device,
        clock: Clock,
        limits: Limits,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_bytes: int,
        recorder: Recorder | None,
        watches: Watches,
        switching: bool,
        find_nan: bool,
        rows: AbstractSet[int] = frozenset(),
    ) -> None:
        self.device, self.clock, self.limits = device, clock, limits
        self.grid, self.block = grid, block
        self.recorder, self.watches = recorder, watches
        self.switching, self.find_nan, self.rows = switching, find_nan, rows
        self.operators = Operators(device.report, device, find_nan)
        self.meetings = Meetings(device.report, device, recorder)
        self.sites: list[Site] = []
        self.barriers: list[BarrierSite] = []
        self.exps = [0, 0]
        """Exponentials of warps and of lanes."""
        self.registers = 0
        """Slots of a warp. No function calls itself, so that each variable has its own."""
        self._slots: dict[Variable, int] = {}
        self._shared: dict[Variable, int] = {}
        self._shared_bytes, self._static_bytes = shared_bytes, 0
        self._dynamic: int | None = None
        self._statements: list[Position | None] = []

    def slot(self, variable: Variable) -> int:
        """Return where a warp keeps a variable."""
        slot = self._slots.get(variable)
        if slot is None:
            slot = self._slots[variable] = self.extra_slot()
        return slot

    def extra_slot(self) -> int:
        """Return a slot for a value that no variable holds."""
        self.registers += 1
        return self.registers - 1

    def shared_address(self, variable: Variable) -> int:
        """Return the address of a shared variable; all extern ones start at one."""
        if variable not in self._shared:
            self._shared[variable] = self._place(variable)
        return self._shared[variable]

    def _place(self, variable: Variable) -> int:
        line = variable.position.line
        element = base_element(variable.type)
        if variable.storage is Storage.EXTERN_SHARED:
            if self._dynamic is None:
                if not self._shared_bytes:
                    raise UsageError(
                        f"{variable.name} in line {line} is extern __shared__: say how many bytes "
                        "a block has (shared_bytes)"
                    )
                count = self._shared_bytes // element.size
                self._dynamic = self._allocate(variable.name, count, element, line)
                buffer = self.device.spaces["shared"].buffers[-1]
                buffer.untyped = element.size == 1
                finer = self.device.finer.get(("shared", variable.name))
                if buffer.untyped and finer is not None:
                    buffer.retype(finer)
            return self._dynamic
        self._static_bytes += variable.type.size
        self.limits.check_static_shared(self._static_bytes, line)
        return self._allocate(variable.name, variable.type.size // element.size, element, line)

    def _allocate(self, name: str, count: int, element: Any, line: int) -> int:
        space = self.device.spaces["shared"]
        self.limits.check_shared(space.used + count * element.size, line)
        return space.allocate(name, count, layout(element), element.size).base

    def site(self, position: Position, verb: str) -> Site:
        """Return a new place that is counted."""
        site = Site(position.line, position.column, verb)
        site.statement = self._statement() or position
        self.sites.append(site)
        return site

    def end(self, function: Function) -> Callable[[Warp], None]:
        """Return what reports the lanes that reach the end of a function that returns a value."""
        if isinstance(function.return_type, Void):
            return lambda _: None
        device = self.device

        def report(warp: Warp) -> None:
            if warp.mask:
                name = function.name
                device.report.add(
                    "no-return", function.position, warp, device.step, warp.mask, function=name
                )

        return report

    @contextmanager
    def within(self, position: Position | None) -> Iterator[None]:
        """Compile a statement; None for a loop, whose rounds begin anew."""
        self._statements.append(position)
        yield
        self._statements.pop()

    def _statement(self) -> Position | None:
        """Return the outermost statement in the innermost loop: a barrier may follow it."""
        found = None
        for position in reversed(self._statements):
            if position is None:
                break
            found = position
        return found
