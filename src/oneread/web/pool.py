"""Workers and who waits for them: at most as many runs at once as there are cores.

Knows processes and time; knows neither requests nor kernels. A run that is over, whatever the
reason, has no process left when its caller is told.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

#: Runs that may wait for a worker.
QUEUE: Final = 32

#: Workers that wait for a run: one for the next, and one for what is typed while that one works.
SPARES: Final = 2

#: Wall clock in which a new worker is ready.
START_S: Final = 30.0

#: Bytes of an answer: the largest trace in a page, and room.
MOST_ANSWER_BYTES: Final = 16_000_000

#: What a Python may need to start; a worker has nothing else of the server's environment.
_KEPT: Final = ("DYLD_LIBRARY_PATH", "LD_LIBRARY_PATH")

_COMMAND: Final = (sys.executable, "-I", "-S", str(Path(__file__).with_name("worker.py")))


class Ended(Exception):  # noqa: N818 (an end, not always an error)
    """A run without an answer: `reason` is a key of `ENDS`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


#: Why a run has no answer.
ENDS: Final = {
    "busy": "too many runs are waiting; try again in a moment",
    "superseded": "a newer run of this page took its place",
    "deadline": "the run took too long and was ended",
    "gone": "nobody waits for the answer",
    "server": "the run ended without an answer; it may have needed too much memory",
    "stopping": "the server is stopping",
}


class Answer(NamedTuple):
    """What a worker gave back."""

    status: int
    kind: str
    body: bytes


class Worker:
    """A process that waits for its one job."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._requests, self._answers = process, process.stdin, process.stdout

    @classmethod
    async def start(cls) -> Worker:
        """Start a process and wait until it is ready.

        Raises
        ------
        Ended
            When it does not get ready.
        """
        # A session of its own: Ctrl-C in the terminal is for the server, and it ends as a whole.
        process = await asyncio.create_subprocess_exec(
            *_COMMAND,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={name: os.environ[name] for name in _KEPT if name in os.environ},
            start_new_session=True,
        )
        worker = cls(process)
        try:
            async with asyncio.timeout(START_S):
                if await worker._answers.readline() != b"ready\n":
                    raise Ended("server")
        except BaseException:
            await worker.stop()
            raise
        return worker

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can still take a job."""
        return self._process.returncode is None

    async def ask(self, job: str, body: bytes) -> Answer:
        """Give it its job and return the answer.

        Raises
        ------
        Ended
            When it ends without one.
        """
        try:
            self._requests.write(f"{job} {len(body)}\n".encode() + body)
            await self._requests.drain()
            status, kind, length = (await self._answers.readline()).split()
            if int(length) > MOST_ANSWER_BYTES:
                raise Ended("server")
            return Answer(int(status), kind.decode(), await self._answers.readexactly(int(length)))
        except (OSError, ValueError, asyncio.IncompleteReadError):
            raise Ended("server") from None

    async def stop(self) -> None:
        """End the process and wait until it is gone."""
        # Not `Process.kill`, which may take the exit status that asyncio waits for.
        if self.alive:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        # A process is over for asyncio when its pipes are.
        self._requests.close()
        with suppress(OSError):
            await self._requests.wait_closed()
        await self._answers.read()
        await self._process.wait()


class _Run:
    """A run that waits or works, and why it was ended, if it was."""

    work: asyncio.Task[Answer]

    def __init__(self) -> None:
        self.reason: str | None = None
        self.is_over = False
        """Whether only its process has still to go."""

    def end(self, reason: str) -> None:
        # Once, and not when it is over: it would not see its process go.
        if self.reason is None and not self.is_over:
            self.reason = reason
            self.work.cancel()


class Pool:
    """Workers, one a run, and some that are ready for the next.

    Parameters
    ----------
    deadline_s : float
        Wall clock of a run from the moment its worker gets it.
    at_once : int, optional
        Runs that work at the same time; the cores that this process may use if left out.
    queue : int
        Runs that may wait.
    """

    def __init__(self, deadline_s: float, at_once: int | None = None, queue: int = QUEUE) -> None:
        self.at_once = at_once or _cores()
        self._deadline_s, self._queue = deadline_s, queue
        self._free = asyncio.Semaphore(self.at_once)
        self._runs: set[_Run] = set()
        self._newest: dict[str, _Run] = {}
        self._spares: list[asyncio.Task[Worker]] = []
        self._closed = False

    def prepare(self, count: int = SPARES) -> None:
        """Have workers ready for the next runs, since starting one takes longer than most runs."""
        while len(self._spares) < count and not self._closed:
            self._spares.append(asyncio.create_task(Worker.start()))

    async def run(self, job: str, body: bytes, page: str, gone: asyncio.Future[None]) -> Answer:
        """Run a job in a worker of its own.

        Parameters
        ----------
        job : str
            Its name.
        body : bytes
            The request.
        page : str
            Who asks; an older run of the same page is ended. May be empty.
        gone : future
            Done when nobody waits for the answer any more.

        Returns
        -------
        Answer
            Of the worker.

        Raises
        ------
        Ended
            When there is none.
        """
        older = self._newest.get(page)
        if older is not None:
            older.end("superseded")
        if self._closed:
            raise Ended("stopping")
        if sum(run.reason is None for run in self._runs) >= self.at_once + self._queue:
            raise Ended("busy")
        run = _Run()
        run.work = asyncio.create_task(self._work(run, job, body))
        self._runs.add(run)
        if page:
            self._newest[page] = run
        try:
            either: set[asyncio.Future[Any]] = {run.work, gone}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            run.end("gone")
            return await self._answer(run)
        finally:
            run.end("gone")
            await asyncio.wait({run.work})  # until its process is gone
            self._runs.discard(run)
            if self._newest.get(page) is run:
                del self._newest[page]

    async def close(self) -> None:
        """End all runs and all workers."""
        self._closed = True
        runs = list(self._runs)
        for run in runs:
            run.end("stopping")
        await asyncio.gather(*(run.work for run in runs), return_exceptions=True)
        while self._spares:
            spare = self._spares.pop()
            spare.cancel()
            with suppress(asyncio.CancelledError, Ended, OSError, TimeoutError):
                await (await spare).stop()

    async def _answer(self, run: _Run) -> Answer:
        try:
            return await run.work
        except asyncio.CancelledError:
            if run.reason is None:
                raise
            raise Ended(run.reason) from None

    async def _work(self, run: _Run, job: str, body: bytes) -> Answer:
        async with self._free:
            worker = await self._ready()
            try:
                async with asyncio.timeout(self._deadline_s):
                    return await worker.ask(job, body)
            except TimeoutError:
                raise Ended("deadline") from None
            finally:
                run.is_over = True
                await worker.stop()
                self.prepare()  # only now: it would take time from the run

    async def _ready(self) -> Worker:
        """Take a worker that is ready, or the first that becomes so."""
        while not self._closed:
            self.prepare(1)
            # Nothing is taken here: if this run is ended meanwhile, the worker is for another.
            await asyncio.wait(self._spares, return_when=asyncio.FIRST_COMPLETED)
            failed = False
            for spare in [one for one in self._spares if one.done()]:
                self._spares.remove(spare)
                if spare.exception() is not None:
                    failed = True
                elif spare.result().alive:
                    self.prepare(1)
                    return spare.result()
            if failed and not self._spares:  # the next one would fail, too
                raise Ended("server")
        raise Ended("stopping")


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
