"""A launch: blocks one after another, warps that meet at barriers, and the clock of all.

Knows the program only as something that starts a warp.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from oneread.spec.words import plural
from oneread.trace.errors import LimitError
from oneread.trace.limits import Limits
from oneread.trace.machine.device import Device
from oneread.trace.machine.memory import Space
from oneread.trace.machine.sites import BarrierSite
from oneread.trace.machine.values import WARP
from oneread.trace.machine.warp import Block, Warp
from oneread.trace.schedules import Draw, Schedule

#: What a warp yields where another one may go on, besides the barriers that it waits at.
SWITCH = None

#: Steps between two looks at the wall clock.
_LOOK = 256

Reached = BarrierSite | None


class Program(Protocol):
    """A compiled kernel."""

    def start(self, warp: Warp) -> Iterator[Reached]:
        """Run a warp; yield each barrier that it reaches."""


class Clock:
    """Counts steps, and stops a run that takes too long."""

    def __init__(self, device: Device, limits: Limits) -> None:
        self._device, self._limits = device, limits
        self._end = time.monotonic() + limits.seconds
        self._next_look = _LOOK
        self.recorder: Callable[[Warp, int, int, int], None] | None = None
        """Called after every step with the warp, number of the step, line and column."""

    def tick(self, warp: Warp, line: int, column: int) -> None:
        """End a step of a warp.

        Raises
        ------
        LimitError
            When there have been too many, or they took too long.
        """
        device = self._device
        if self.recorder is not None:
            self.recorder(warp, device.step, line, column)
        device.step += 1
        if device.step >= self._next_look:
            self._look(line)

    def _look(self, line: int) -> None:
        limits, device = self._limits, self._device
        self._next_look += _LOOK
        if device.step > limits.steps:
            raise LimitError(
                f"stopped after {plural(limits.steps, 'step')} (steps); does a loop never end? "
                "If all do, fewer rows and columns will do",
                line,
            )
        if device.accesses > limits.accesses:
            raise LimitError(f"stopped after {plural(limits.accesses, 'access')} (accesses)", line)
        if time.monotonic() > self._end:
            raise LimitError(
                f"stopped after {limits.seconds:g} s (seconds); does a loop never end? "
                "If all do, fewer rows and columns will do",
                line,
            )


@dataclass
class Launch:
    """A kernel with the shape, order and memory that it runs with."""

    program: Program
    device: Device
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    schedule: Schedule
    owned_rows: Callable[[int], frozenset[int] | None]
    """The rows that a block may touch, by its number."""

    def run(self) -> list[Block]:
        """Run all blocks and return them, in order of their numbers."""
        across, down, deep = self.grid
        numbers = self.schedule.order(
            range(across * down * deep), Draw((self.schedule.seed or 0) + 1)
        )
        done: list[Block] = []
        for number in numbers:
            place = (number % across, number // across % down, number // (across * down))
            block = Block(number, place)
            block.rows = self.owned_rows(number)
            self._run_block(block)
            done.append(block)
        self.device.hazards.ordering.settle()
        return sorted(done, key=lambda block: block.index)

    def _run_block(self, block: Block) -> None:
        for buffer in self.device.spaces["shared"].buffers:
            buffer.forget()
        threads = self.block[0] * self.block[1] * self.block[2]
        warps = [
            Warp(block, index, threads, Space("local", self.device.finer))
            for index in range(-(-threads // WARP))
        ]
        running = {warp.index: self.program.start(warp) for warp in warps}
        draw = Draw((self.schedule.seed or 0) * 65_537 + block.index)
        live = warps
        while live:
            ready = self.schedule.order(live, draw)
            while ready:
                place = draw.below(len(ready)) if self.schedule.switching else 0
                if self._go_on(ready[place], running) is not SWITCH:
                    del ready[place]
            live = self._meet(block, live)

    def _go_on(self, warp: Warp, running: dict[int, Iterator[Reached]]) -> Any:
        try:
            warp.waiting = next(running[warp.index])
        except StopIteration:
            del running[warp.index]
            warp.waiting = None
            return warp
        return warp.waiting

    def _meet(self, block: Block, warps: Sequence[Warp]) -> list[Warp]:
        """Let the warps that wait pass their barrier, and judge whether they all came to it."""
        waiting = [warp for warp in warps if warp.waiting is not None]
        if not waiting:
            return []
        site = waiting[0].waiting
        step = self.device.step
        assert site is not None
        for warp in waiting[1:]:
            if warp.waiting is not site:
                self.device.report.add(
                    "barrier-lines",
                    warp.waiting,
                    warp,
                    step,
                    warp.mask,
                    with_line=site.line,
                    first_warp=waiting[0].index,
                )
        # Threads that return early count as arrived; a warp that walks past a barrier does not.
        gone = sorted((one for one in warps if one.waiting is None), key=lambda one: not one.live)
        if gone:
            severity = "error" if gone[0].live else None
            self.device.report.add("barrier-exited", site, gone[0], step, 0, severity=severity)
        block.barriers.append(site if all(w.waiting is site for w in waiting) else None)
        block.epoch += 1
        for warp in waiting:
            warp.recent.clear()
            warp.order.clear()
        for met in {warp.waiting for warp in waiting if warp.waiting is not None}:
            met.times += 1
        return waiting
