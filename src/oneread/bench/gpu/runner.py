"""A run on a GPU: kernels compiled by several processes, cases timed by one, facts for the header.

Knows no library by more than the name of its distribution.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from oneread.bench.cases import Case
from oneread.bench.gpu.peers import PEERS
from oneread.bench.runner import WorkerError, versions_of, when, work, work_through
from oneread.bench.store import Record
from oneread.runtime import driver, machine, nvrtc
from oneread.spec import BackendUnavailableError

_LIBRARIES: Final = (
    "oneread", "numpy", "torch", "triton", "liger-kernel", "quack-kernels", "nvidia-cutlass-dsl",
    "apache-tvm-ffi", "flashinfer-python", "cupy-cuda13x", "cupy-cuda12x",
)  # fmt: skip
#: Why a case is absent when the seconds of a run are over.
NO_TIME: Final = "no time was left"
_WORKER: Final = "oneread.bench.gpu.worker"
#: Processes that compile side by side: each has a context and a few arrays on the GPU.
_MOST_COMPILERS: Final = 8
#: Each compiles in itself, Inductor would start as many processes again as there are cores.
_ENVIRONMENT: Final = {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
#: The part of a limited time that compiling may take.
_COMPILING: Final = 0.4


@dataclass(frozen=True, slots=True)
class Request:
    """What a run shall do; `seconds` is when it shall stop, None: when all is done."""

    cases: tuple[Case, ...]
    peers: tuple[str, ...] = PEERS
    quick: bool = False
    seconds: float | None = None
    start: float = field(default_factory=time.time)
    table: str = "oneread.bench.gpu.cases"
    """The module whose table the cases are of."""
    compile_first: bool = True
    """Whether several processes first compile what peers would compile one after the other."""

    def until(self, part: float = 1.0) -> float | None:
        """Return the time at which a part of the seconds is over."""
        return None if self.seconds is None else self.start + part * self.seconds

    def expected_s(self) -> float:
        """Return about how long it takes on one H200, in seconds: compiling is a third of it."""
        each, per_gb = (0.5, 0.3) if self.quick else (1.5, 0.5)
        total = 20.0
        for case in self.cases:
            peers = set(self.peers if case.peers is None else case.peers) & set(self.peers)
            total += each * (1 + len(peers) / 4) + per_gb * case.input_bytes / 1e9
        return total


def run(request: Request) -> Iterator[list[Record]]:
    """Run cases and yield the records of each.

    Parameters
    ----------
    request : Request
        Which cases, with what.

    Yields
    ------
    list of Record
        Of one case, ours first. A case whose process ended is absent, with what it said.

    Raises
    ------
    BackendUnavailableError
        When there is no GPU, or no PyTorch that its arrays could be made with.
    WorkerError
        When two processes in a row ended before their first case was done.
    """
    target = check_available()
    if request.compile_first:
        _compile(request)

    def absent(case: Case, reason: str) -> Record:
        from oneread.bench.gpu import race

        return race.absent(case, reason, target)

    task = _task(request, request.until())
    yield from work_through(_WORKER, request.cases, task, _environment(), absent)


def check_available() -> str:
    """Return the target of the GPU; raise when nothing can be timed here."""
    target = driver.device(0).target
    if importlib.util.find_spec("torch") is None:
        raise BackendUnavailableError("PyTorch is not installed: arrays on the GPU are its tensors")
    return target


def _compile(request: Request) -> None:
    """Let several processes call each contestant once; what they compile is kept on disk."""
    count = max(1, min(_MOST_COMPILERS, (os.cpu_count() or 1) // 2, len(request.cases)))

    def some(number: int) -> None:
        names = [case.name for case in request.cases[number::count]]
        task = _task(request, request.until(_COMPILING)) | {"cases": names, "only_compile": True}
        with contextlib.suppress(WorkerError):  # the race meets the same error, and tells it
            for _ in work(_WORKER, task, _environment()):
                pass

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(some, range(count)))


def _task(request: Request, until: float | None) -> dict[str, Any]:
    return {
        "peers": list(request.peers), "quick": request.quick, "only_compile": False, "until": until,
        "table": request.table,
    }  # fmt: skip


def _environment() -> dict[str, str]:
    return {**_ENVIRONMENT, **os.environ}


def header(request: Request, command: str, checkout: Path | None) -> dict[str, Any]:
    """Return the facts of a run: GPU, libraries, time, commit. No names of hosts or paths."""
    return {
        **when(command, checkout),
        "quick": request.quick,
        "machine": {**facts(), "cpu": machine.cpu_name(), "cores": machine.cores()},
        "libraries": versions_of(_LIBRARIES),
    }


def facts(index: int = 0) -> dict[str, Any]:
    """Return what a GPU is, and what kernels are compiled and launched with."""
    found = driver.device(index)
    return {
        "gpu": found.name,
        "target": found.target,
        "multiprocessors": found.multiprocessors,
        "driver": driver_version(index),
        "nvrtc": ".".join(map(str, nvrtc.version())),
    }


def driver_version(index: int) -> str | None:
    """Return what the driver's own tool says of its version."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    words = [tool, f"--id={index}", "--query-gpu=driver_version", "--format=csv,noheader"]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    return said.stdout.strip() or None if said.returncode == 0 else None
