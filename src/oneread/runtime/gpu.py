"""Kernels launched and timed on an NVIDIA GPU by cuda.core; memory there by address.

Knows no kernel. cuda.core is imported when a GPU is asked for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oneread.runtime.nvrtc import compile_cubin
from oneread.spec import BackendUnavailableError, ShapeError

__all__ = ["Gpu", "Launch", "Memory", "available"]


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel with all that one launch of it takes.

    `arguments` are what the kernel is given, in order: device addresses as int, numbers as
    `ctypes.c_int`.
    """

    kernel: Any
    grid: int
    block: int
    arguments: tuple[int | ctypes.c_int, ...]
    shared_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a GPU that holds an array of this shape and type."""

    address: int
    shape: tuple[int, ...]
    dtype: str
    size_bytes: int


class Gpu:
    """A GPU and a stream of its own.

    Parameters
    ----------
    index : int
        Which GPU, counted from 0.

    Raises
    ------
    BackendUnavailableError
        When cuda.core, the driver or the GPU is not there.
    """

    def __init__(self, index: int = 0) -> None:
        self._cuda, self._driver = _libraries()
        try:
            self.device = self._cuda.Device(index)
            self.device.set_current()
            self.stream = self.device.create_stream()
        except Exception as error:
            raise BackendUnavailableError(f"GPU {index} cannot be used ({error})") from error
        major, minor = self.device.compute_capability
        self.target = f"sm_{major}{minor}"
        """What kernels are compiled for here."""

    def build(self, source: str, name: str, defines: Mapping[str, int], *options: str) -> Any:
        """Compile a source for this GPU and return its kernel of that name."""
        cubin = compile_cubin(
            source, self.target, name=f"{name}.cu", defines=defines, options=options
        )
        return self._cuda.ObjectCode.from_cubin(cubin.code).get_kernel(name)

    def launch(self, launches: Sequence[Launch], stream: Any = None) -> None:
        """Put launches into a stream, one after the other; returns before they are done."""
        for one in launches:
            config = self._cuda.LaunchConfig(
                grid=one.grid, block=one.block, shmem_size=one.shared_bytes
            )
            where = self.stream if stream is None else stream
            self._cuda.launch(where, config, one.kernel, *one.arguments)

    def wait(self) -> None:
        """Wait until all in the stream is done; raises what a kernel did wrong meanwhile."""
        self.stream.sync()

    def put(self, array: NDArray[Any]) -> Memory:
        """Return new memory with a copy of an array, of exactly its size."""
        array = np.ascontiguousarray(array)
        address = int(self._do("cuMemAlloc", max(array.nbytes, 1)))
        memory = Memory(address, array.shape, array.dtype.str, array.nbytes)
        self.fill(memory, array)
        return memory

    def fill(self, memory: Memory, array: NDArray[Any]) -> None:
        """Copy an array of the same size to memory; the copy is done on return.

        A plain copy out of pageable memory is not: it returns when the driver has read the array,
        and streams that do not wait for the NULL stream, as this one, see memory of before.
        """
        if array.nbytes != memory.size_bytes:
            raise ShapeError(f"got {array.nbytes} bytes for memory of {memory.size_bytes}")
        if array.nbytes:
            array = np.ascontiguousarray(array)
            handle = self.stream.handle
            self._do("cuMemcpyHtoDAsync", memory.address, array.ctypes.data, array.nbytes, handle)
            self.wait()

    def get(self, memory: Memory) -> NDArray[Any]:
        """Return what memory holds, once all in the stream is done."""
        self.wait()
        array = np.empty(memory.shape, memory.dtype)
        if array.nbytes:
            self._do("cuMemcpyDtoH", array.ctypes.data, memory.address, array.nbytes)
        return array

    def copy(self, target: Memory, source: Memory, stream: Any) -> None:
        """Put a copy within the GPU into a stream."""
        size = min(target.size_bytes, source.size_bytes)
        handle = getattr(stream, "stream", stream).handle  # a graph that is built has a stream
        self._do("cuMemcpyDtoDAsync", target.address, source.address, size, handle)

    def free(self, *memories: Memory) -> None:
        """Give memory back, once all in the stream is done."""
        self.wait()
        for memory in memories:
            self._do("cuMemFree", memory.address)

    def seconds(self, put: Callable[[Any, int], None], repeats: int, rounds: int) -> list[float]:
        """Return how long a piece of work takes, once for each round.

        Parameters
        ----------
        put : callable
            Puts the i-th repetition into a stream, given the stream and i.
        repeats : int
            Repetitions that are timed together, in one graph: gaps between launches are small.
        rounds : int
            Measurements, after one that is not counted.

        Returns
        -------
        list of float
            Seconds a repetition, `rounds` of them.
        """
        if repeats < 1 or rounds < 1:
            raise ShapeError(f"got {repeats} repeats and {rounds} rounds; at least 1 is allowed")
        builder = self.stream.create_graph_builder().begin_building()
        for i in range(repeats):
            put(builder, i)
        graph = builder.end_building().complete()
        start, stop = self._do("cuEventCreate", 0), self._do("cuEventCreate", 0)
        taken = []
        for _ in range(rounds + 1):
            self._do("cuEventRecord", start, self.stream.handle)
            graph.launch(self.stream)
            self._do("cuEventRecord", stop, self.stream.handle)
            self._do("cuEventSynchronize", stop)
            milliseconds = self._do("cuEventElapsedTime", start, stop)
            taken.append(milliseconds / 1e3 / repeats)
        self._do("cuEventDestroy", start)
        self._do("cuEventDestroy", stop)
        return taken[1:]

    def _do(self, name: str, *arguments: Any) -> Any:
        """Call the driver and return what it gives besides the error code."""
        error, *given = getattr(self._driver, name)(*arguments)
        if int(error):
            raise BackendUnavailableError(f"the GPU failed: {name} gave {error.name}")
        return given[0] if given else None


def available() -> bool:
    """Return whether there is a GPU that kernels can be launched on."""
    try:
        Gpu()
    except BackendUnavailableError:
        return False
    return True


def _libraries() -> tuple[Any, Any]:
    try:
        import cuda.core
        from cuda.bindings import driver
    except ImportError as error:
        raise BackendUnavailableError(
            f"cuda.core cannot be imported ({error}); install it with: pip install oneread[cuda13]"
        ) from error
    return cuda.core, driver
