"""Plans run on a GPU: kernels built once, buffers filled, results read back.

Knows no truth.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oneread.bench.gallery import entries
from oneread.bench.gallery.entries import Plan, Step
from oneread.runtime.gpu import Gpu, Launch, Memory

#: What outputs hold before a run, so that what is never written is seen.
POISON = -12345

_FOR = re.compile(r"\bfor \(")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A plan with its buffers on the GPU."""

    plan: Plan
    memory: dict[str, Memory]
    launches: tuple[Launch, ...]


class Runner:
    """A GPU with the kernels that were built for it so far.

    Parameters
    ----------
    gpu : Gpu
        Where.
    options : str
        The compiler's, for example ``-fmad=false``.
    rolled : bool
        Whether loops stay as they are written: none is unrolled.
    """

    def __init__(self, gpu: Gpu, *options: str, rolled: bool = False) -> None:
        self.gpu = gpu
        self._rolled = rolled
        self.options = options
        self._kernels: dict[tuple[Any, ...], Any] = {}

    def kernel(self, step: Step) -> Any:
        """Return the kernel of a step, built when it is asked for the first time."""
        key = (step.kernel, *sorted(step.defines.items()))
        if key not in self._kernels:
            text = entries.source(step.kernel)
            text = _FOR.sub('_Pragma("unroll 1") for (', text) if self._rolled else text
            self._kernels[key] = self.gpu.build(text, step.kernel, step.defines, *self.options)
        return self._kernels[key]

    @contextmanager
    def loaded(self, plan: Plan, given: dict[str, NDArray[Any]]) -> Iterator[Loaded]:
        """Give the plan with its buffers on the GPU; all but the inputs are poisoned."""
        memory: dict[str, Memory] = {}
        try:
            for name, shape in plan.shapes.items():
                poison = np.full(shape, POISON, plan.dtypes[name])
                memory[name] = self.gpu.put(given.get(name, poison))
            yield Loaded(plan, memory, tuple(self._launch(step, memory) for step in plan.steps))
        finally:
            self.gpu.free(*memory.values())

    def run(self, loaded: Loaded) -> dict[str, NDArray[Any]]:
        """Launch a plan and return what all but its inputs hold then."""
        self.gpu.launch(loaded.launches)
        written = loaded.plan.named("between", "output")
        return {name: self.gpu.get(loaded.memory[name]) for name in written}

    def _launch(self, step: Step, memory: dict[str, Memory]) -> Launch:
        arguments = tuple(
            memory[name].address if isinstance(name, str) else ctypes.c_int(name)
            for name in step.arguments
        )
        return Launch(self.kernel(step), step.grid, step.block, arguments, step.shared_bytes)
