"""A run: cases handed to fresh processes, records collected, facts for the header.

Knows no library by more than the name of its distribution.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from itertools import groupby
from pathlib import Path
from typing import IO, Any, Final

from oneread import __version__
from oneread.bench.cases import Case
from oneread.bench.peers import PEERS
from oneread.bench.store import Record
from oneread.runtime import cpu, machine
from oneread.spec import OneReadError

_LIBRARIES: Final = ("oneread", "numpy", "scipy", "torch", "onnxruntime", "onnx", "jax", "jaxlib")


class WorkerError(OneReadError, RuntimeError):
    """A process that ended before its cases were done."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a run shall do."""

    cases: tuple[Case, ...]
    peers: tuple[str, ...] = PEERS
    threads: int = 1
    quick: bool = False
    table: str = "oneread.bench.cases"
    """The module whose table the cases are of."""

    def expected_s(self) -> float:
        """Return about how long it takes on two cores, in seconds.

        By a run of all cases with all peers: a fixed part for each contestant, the rest grows
        with the data. What is not installed costs nothing, so it may take less.
        """
        total = 0.0
        for case in self.cases:
            peers = PEERS if case.peers is None else case.peers
            count = 1 + len(case.kernels) + len(set(self.peers) & set(peers))
            each, per_gb = (0.12, 4.0) if self.quick else (0.4, 11.0)
            total += count * (each + per_gb * case.input_bytes / 1e9)
        return total + 5 * len({case.environment for case in self.cases})


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
    WorkerError
        When two processes in a row ended before their first case was done, or the only one did.
    """
    for environment, cases in groupby(request.cases, key=lambda case: case.environment):
        variables = dict(environment)
        isa = variables.get(cpu.ISA_VARIABLE)
        supported = cpu.native.supported_isas()
        # A process for another instruction set would not start; its cases are told as absent.
        if isa is not None and isa not in supported:
            yield from ([_absent(case, f"this machine has no {isa}")] for case in cases)
        else:
            yield from _work(request, tuple(cases), {**os.environ, **variables})


def _absent(case: Case, reason: str) -> Record:
    from oneread.bench.race import absent

    return absent(case, reason)


def _work(
    request: Request, cases: tuple[Case, ...], environment: dict[str, str]
) -> Iterator[list[Record]]:
    task = {
        "peers": list(request.peers), "threads": request.threads, "quick": request.quick,
        "table": request.table,
    }  # fmt: skip
    return work_through("oneread.bench.worker", cases, task, environment, _absent)


def work_through(
    module: str, cases: Sequence[Case], task: dict[str, Any], environment: dict[str, str],
    absent: Callable[[Case, str], Record],
) -> Iterator[list[Record]]:  # fmt: skip
    """Run cases in a process of their own, and in another what is left where that one ends.

    Raises
    ------
    WorkerError
        When two in a row ended before their first case was done, or there is but one case.
    """
    left, failed = list(cases), False
    while left:
        done = 0
        try:
            names = [case.name for case in left]
            for line in work(module, {"cases": names, **task}, environment):
                yield [Record.of_json(plain) for plain in json.loads(line)]
                done += 1
            return
        except WorkerError as error:
            if not done and (failed or len(cases) == 1):
                raise
            failed = not done
            if done < len(left):
                yield [absent(left[done], str(error))]
            left = left[done + 1 :]


def work(module: str, task: dict[str, Any], environment: dict[str, str]) -> Iterator[str]:
    """Start a process for the cases of a task and yield the line that it writes for each.

    Raises
    ------
    WorkerError
        When it ends before they are done.
    """
    reader, writer = os.pipe()
    command = [sys.executable, "-m", module, json.dumps(task), str(writer)]
    with tempfile.TemporaryFile() as said, os.fdopen(reader, encoding="utf-8") as lines:
        process = subprocess.Popen(
            command, env=environment, pass_fds=(writer,), stdout=said, stderr=said,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(writer)
        try:
            done = 0
            for line in lines:
                yield line
                done += 1
            if process.wait() or done < len(task["cases"]):
                case = task["cases"][min(done, len(task["cases"]) - 1)]
                raise WorkerError(
                    f"{case}: its process ended with {process.returncode}; "
                    f"it said: {_last_words(said)}"
                )
        finally:
            process.terminate()
            process.wait()


def _last_words(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "nothing"


def header(request: Request, command: str, checkout: Path | None) -> dict[str, Any]:
    """Return the facts of a run: machine, libraries, time, commit. No names of hosts or paths."""
    return {
        **when(command, checkout),
        "threads": request.threads,
        "quick": request.quick,
        "machine": {
            "cpu": machine.cpu_name(),
            "cores": machine.cores(),
            "caches": machine.caches(),
            "memory_bytes": machine.memory_bytes(),
            "huge_pages": machine.huge_pages(),
            "governor": machine.governor(),
            "load_average": machine.load_average(),
            "isa": cpu.native.isa(),
        },
        "compiler": dict(cpu.native.build_info()),
        "libraries": versions_of(_LIBRARIES),
    }


def when(command: str, checkout: Path | None) -> dict[str, Any]:
    """Return when a run was made, with which command and of which commit."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "commit": commit_of(checkout) if checkout else None,
    }


def versions_of(names: Sequence[str]) -> dict[str, str | None]:
    """Return the versions of distributions, None for what is not installed."""
    return {name: version_of(name) for name in names}


def version_of(name: str) -> str | None:
    """Return the version of a distribution, None when it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return __version__ if name == "oneread" else None  # run from its sources


def checkout() -> Path | None:
    """Return the folder of oneread's own checkout that the process stands in, if it does."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        project = folder / "pyproject.toml"
        if project.is_file() and '\nname = "oneread"\n' in project.read_text("utf-8"):
            return folder
    return None


def commit_of(folder: Path) -> str | None:
    """Return the commit of a checkout, with a mark when files differ from it.

    `ONEREAD_COMMIT` says it first: of a copy that has no git, or another commit than its files are
    of. None when neither does.
    """
    told = os.environ.get("ONEREAD_COMMIT")
    if told:
        return told

    def git(*words: str) -> str:
        said = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, check=True
        )
        return said.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None
