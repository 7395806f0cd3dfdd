"""Time and memory of a call, on a CPU or a GPU, for the examples beside this."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

ROUNDS = 5


def measured(call: Callable[[], Any], device: str) -> tuple[Any, float, float]:
    """Return the result, the median milliseconds, and the most MiB taken beyond what was there."""
    call()  # kernels are compiled and loaded
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        wait(device)
        times.append((time.perf_counter() - start) * 1e3)
    before = reset_peak(device)
    result = call()
    wait(device)
    return result, statistics.median(times), (peak(device) - before) / 2**20


def report(name: str, milliseconds: float, mebibytes: float) -> None:
    """Print one line."""
    print(f"{name:8s} {milliseconds:9.2f} ms   {mebibytes:9.1f} MiB")


def wait(device: str) -> None:
    """Wait for a GPU."""
    if device == "cuda":
        torch.cuda.synchronize()


def reset_peak(device: str) -> int:
    """Forget the most bytes that were in use, and return how many are now."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _of_process("VmRSS")


def peak(device: str) -> int:
    """Return the most bytes that were in use since then."""
    return torch.cuda.max_memory_allocated() if device == "cuda" else _of_process("VmHWM")


def _of_process(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (line,) = [one for one in lines if one.startswith(field + ":")]
    return int(line.split()[1]) << 10
