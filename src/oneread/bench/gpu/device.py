"""The GPU that is timed, through PyTorch: graphs and events.

Knows no op.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from oneread.runtime import driver
from oneread.spec import BackendUnavailableError


class TorchGpu:
    """One GPU, made the current one.

    Raises
    ------
    BackendUnavailableError
        When PyTorch sees none.
    """

    def __init__(self, index: int = 0) -> None:
        if not torch.cuda.is_available():
            raise BackendUnavailableError("PyTorch sees no GPU: it has to be one built for CUDA")
        torch.cuda.set_device(index)
        self.index = index
        self.where = f"cuda:{index}"
        self.target = driver.device(index).target
        self._side = torch.cuda.Stream()
        self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def stream(self) -> int:
        """Return the driver's number of the current stream."""
        return int(torch.cuda.current_stream().cuda_stream)

    def captured(self, calls: Sequence[Callable[[], Any]]) -> Callable[[], Any]:
        """Return what replays the launches of some calls, put into a graph."""
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        # torch.cuda.graph() collects garbage first, 0.1 s each time.
        with torch.cuda.stream(self._side):
            gc.disable()  # what it would free may not be freed during a capture
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                for call in calls:
                    call()
            except BaseException:
                with contextlib.suppress(RuntimeError):  # the first error tells more
                    graph.capture_end()
                raise
            finally:
                gc.enable()
            graph.capture_end()
        torch.cuda.synchronize()
        replay: Callable[[], Any] = graph.replay
        return replay

    def elapsed_s(self, job: Callable[[], Any]) -> float:
        """Return how long the GPU works on what a job launches."""
        start, stop = self._events
        torch.cuda.synchronize()
        start.record()
        job()
        stop.record()
        torch.cuda.synchronize()
        return float(start.elapsed_time(stop)) / 1e3

    def wall_s(self, job: Callable[[], Any]) -> float:
        """Return how long a job takes until the GPU is done."""
        torch.cuda.synchronize()
        start = time.perf_counter()
        job()
        torch.cuda.synchronize()
        return time.perf_counter() - start

    def forget(self) -> None:
        """Give back memory that nothing uses any more."""
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
