"""The devices of tools/run_torch.py: how calls are timed there, and memory counted.

Knows no step.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch

import oneread
from oneread.bench import runner, timing
from oneread.bench.gpu import timing as gpu_timing
from oneread.bench.gpu.timing import Gpu, Sample
from oneread.bench.timing import Times
from oneread.runtime import cpu, reuse

#: The name that plain traffic begins with.
_PLAIN: Final = "plain "
#: Fewest calls of a sample, and of a graph.
_LEAST: Final = 3
#: Samples on a GPU are long: the first call's way from Python to the GPU is in it, which
#: steps before it hide where a model trains.
_FULL: Final = replace(gpu_timing.FULL, graph_s=20e-3)
#: Tokens whose memory is measured first, so many that glibc maps a matrix alone, and last: on a CPU
#: that is no cliff, but enough.
_TOKENS: Final = {"cpu": (128, 1024), "cuda": (4096, 1 << 22)}


def _tokens(name: str) -> Iterator[int]:
    tokens, most = _TOKENS[name]
    while tokens <= most:
        yield tokens
        tokens *= 2


class OnCpu:
    """The processor, with as many threads for PyTorch as for ours."""

    name: Final = "cpu"
    where: Final = "cpu"
    limit_bytes = None

    def __init__(self, quick: bool) -> None:
        self.threads = oneread.get_threads()
        torch.set_num_threads(self.threads)
        self._quick = quick

    def header(self, command: str) -> dict[str, Any]:
        """Return the facts of a run."""
        request = runner.Request((), threads=self.threads, quick=self._quick)
        return {"device": self.name, **runner.header(request, command, runner.checkout())}

    def sample(self, call: Callable[[], Any], small: bool) -> Callable[[], Any]:
        """Return what is timed."""
        del small  # timing.contest makes several calls of short ones itself
        return call

    def contest(
        self, samples: Mapping[str, Callable[[], Any]], step: Any, data: Any
    ) -> tuple[dict[str, Times], dict[str, float]]:
        """Time calls in turn; and return what plain traffic of the size reaches."""
        del data
        times = timing.contest(samples, timing.QUICK if self._quick else timing.FULL)
        if step.small:
            return times, {}
        kinds = ("copy", "streaming_copy") if step.writes else ("read",)
        return times, {
            kind: cpu.native.bandwidth(kind, step.input_bytes, self.threads) for kind in kinds
        }

    def reset_peak(self) -> int:
        """Forget the most bytes that were in use, and return how many are now."""
        # What is kept for later would be taken for what is in use: by us, and by glibc.
        reuse.forget()
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        return self._of_process("VmRSS")

    def peak(self) -> int:
        """Return the most bytes that were in use since then."""
        return self._of_process("VmHWM")

    @staticmethod
    def _of_process(field: str) -> int:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        (line,) = [one for one in lines if one.startswith(field + ":")]
        return int(line.split()[1]) << 10

    def tokens(self) -> Iterator[int]:
        """Yield the numbers of tokens whose memory is measured."""
        return _tokens(self.name)

    def forget(self) -> None:
        """Do nothing: memory is given back when it is not used."""


class OnGpu:
    """A GPU; `gpu` and `torch_cuda` are made up in tests."""

    name: Final = "cuda"

    def __init__(self, quick: bool, gpu: Any = None, torch_cuda: Any = torch.cuda) -> None:
        if gpu is None:
            from oneread.bench.gpu.device import TorchGpu

            gpu = TorchGpu()
        self.gpu, self.where, self._cuda = gpu, gpu.where, torch_cuda
        self._effort = gpu_timing.QUICK if quick else _FULL
        self._quick = quick
        self.limit_bytes = torch_cuda.get_device_properties(gpu.index).total_memory

    def header(self, command: str) -> dict[str, Any]:
        """Return the facts of a run."""
        from oneread.bench.gpu import runner as gpu_runner

        request = gpu_runner.Request((), quick=self._quick)
        return {"device": self.name, **gpu_runner.header(request, command, runner.checkout())}

    def sample(self, call: Callable[[], Any], small: bool) -> Sample:
        """Return what times calls one after the other: a small one by the clock of the CPU."""
        if small:
            return gpu_timing.in_calls(lambda _: call(), self.gpu, self._effort)
        return one_after_another(call, self.gpu, self._effort.graph_s)

    def graph(self, call: Callable[[], Any]) -> Sample:
        """Return what times calls that are replayed."""
        replay = self.gpu.captured([partial(_dropped, call)] * _LEAST)
        replay()
        return lambda: self.gpu.elapsed_s(replay) / _LEAST

    def contest(
        self, samples: Mapping[str, Sample], step: Any, data: Any
    ) -> tuple[dict[str, Times], dict[str, float]]:
        """Time calls in turn, plain traffic among them, and return what that reaches."""
        every, plain = dict(samples), {} if step.small else self._traffic(data, bool(step.writes))
        for name, job in plain.items():
            call = partial(job, 0)
            every[_PLAIN + name] = one_after_another(call, self.gpu, self._effort.graph_s)
        times = gpu_timing.contest(every, self._effort)
        n_bytes = step.input_bytes * (2 if step.writes else 1)
        return times, {name: n_bytes / times[_PLAIN + name].median_s / 1e9 for name in plain}

    def _traffic(self, data: Any, copied: bool) -> dict[str, Callable[[int], Any]]:
        from oneread.bench.gpu import traffic
        from oneread.bench.gpu.sets import Sets

        y = (torch.empty_like(data.x),) if copied else ()
        sets = Sets((data.x,), y, data.index)
        return dict(traffic.jobs(sets, copied, self.gpu.stream, self.gpu.index))

    def reset_peak(self) -> int:
        """Forget the most bytes that were in use, and return how many are now."""
        self._cuda.synchronize()
        self._cuda.reset_peak_memory_stats()
        return int(self._cuda.memory_allocated())

    def peak(self) -> int:
        """Return the most bytes that were in use since then."""
        self._cuda.synchronize()
        return int(self._cuda.max_memory_allocated())

    def tokens(self) -> Iterator[int]:
        """Yield the numbers of tokens whose memory is measured, far more than fit."""
        return _tokens(self.name)

    def forget(self) -> None:
        """Give back memory that nothing uses any more."""
        self.gpu.forget()


def _dropped(call: Callable[[], Any]) -> None:
    """Call and drop what was made, so that the next call may have its memory."""
    call()


def one_after_another(call: Callable[[], Any], gpu: Gpu, sample_s: float) -> Sample:
    """Return what times a call: so many in a row that a sample is long enough."""
    gpu.elapsed_s(call)
    call_s = gpu.elapsed_s(call)
    calls = max(_LEAST, round(sample_s / max(call_s, 1e-6)))

    def several() -> None:
        for _ in range(calls):
            call()

    return lambda: gpu.elapsed_s(several) / calls
