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
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from oneread.bench.cases import Case
from oneread.bench.gpu.peers import PEERS
from oneread.bench.runner import WorkerError, commit_of, records_of, version_of, work
from oneread.bench.store import Record
from oneread.runtime import driver, machine, nvrtc
from oneread.spec import BackendUnavailableError

_LIBRARIES: Final = (
    "oneread", "numpy", "torch", "triton", "liger-kernel", "quack-kernels", "nvidia-cutlass-dsl",
    "flashinfer-python", "cupy-cuda13x", "cupy-cuda12x",
)  # fmt: skip
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

    def until(self, part: float = 1.0) -> float | None:
        """Return the time at which a part of the seconds is over."""
        return None if self.seconds is None else self.start + part * self.seconds

    def expected_s(self) -> float:
        """Return about how long it takes on one H200, in seconds: compiling is a third of it."""
        each, per_gb = (0.5, 0.3) if self.quick else (1.5, 0.5)
        data = sum(case.input_bytes for case in self.cases) / 1e9
        return 20 + each * len(self.cases) * (1 + len(self.peers) / 4) + per_gb * data


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
    _compile(request)
    left, failed = list(request.cases), False
    while left:
        done = 0
        try:
            for line in work(_WORKER, _task(request, left, request.until()), _environment()):
                yield records_of(line)
                done += 1
            return
        except WorkerError as error:
            if failed and not done:
                raise
            failed = not done
            if done < len(left):
                yield [_absent(left[done], str(error), target)]
            left = left[done + 1 :]


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
        task = _task(request, request.cases[number::count], request.until(_COMPILING))
        with contextlib.suppress(WorkerError):  # the race meets the same error, and tells it
            for _ in work(_WORKER, {**task, "only_compile": True}, _environment()):
                pass

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(some, range(count)))


def _task(request: Request, cases: Any, until: float | None) -> dict[str, Any]:
    return {
        "cases": [case.name for case in cases], "peers": list(request.peers),
        "quick": request.quick, "only_compile": False, "until": until,
    }  # fmt: skip


def _environment() -> dict[str, str]:
    return {**_ENVIRONMENT, **os.environ}


def _absent(case: Case, reason: str, target: str) -> Record:
    from oneread.bench.gpu.race import absent

    return absent(case, reason, target)


def header(request: Request, command: str, checkout: Path | None) -> dict[str, Any]:
    """Return the facts of a run: GPU, libraries, time, commit. No names of hosts or paths."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "commit": commit_of(checkout) if checkout else None,
        "quick": request.quick,
        "machine": {**facts(), "cpu": machine.cpu_name(), "cores": machine.cores()},
        "libraries": {name: version_of(name) for name in _LIBRARIES},
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
