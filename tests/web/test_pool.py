"""Runs have a process each, a deadline and a place in the queue, and leave no process behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from oneread.web.pool import Answer, Ended, Pool, Worker

SMALL = json.dumps({"kernels": [{"key": "relu"}], "rows": 1, "vocab": 32}).encode()

Scene = Callable[[Pool], Awaitable[Any]]


class Watched(Pool):
    """A pool that remembers its workers."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.workers: list[Worker] = []

    async def _ready(self) -> Worker:
        self.workers.append(await super()._ready())
        return self.workers[-1]


def play(scene: Scene, deadline_s: float = 20.0, **more: Any) -> Any:
    """Run a scene with a pool; no worker may be left when it is over."""

    async def all_of_it() -> Any:
        pool = Watched(deadline_s, **more)
        pool.prepare()
        try:
            result = await scene(pool)
            # Those who were told that a run is over must find its process gone.
            busy = {run.work for run in pool._runs}
            assert busy or not any(is_alive(worker.pid) for worker in pool.workers)
        finally:
            await pool.close()
        assert not any(is_alive(worker.pid) for worker in pool.workers)
        return result

    return asyncio.run(all_of_it())


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def run(pool: Pool, body: bytes, page: str = "") -> asyncio.Task[Answer]:
    """Start a run for somebody who stays."""
    return asyncio.create_task(pool.run("trace", body, page, asyncio.Future()))


async def reason(task: asyncio.Task[Answer]) -> str:
    with pytest.raises(Ended) as ended:
        await task
    return ended.value.reason


async def working(pool: Pool, count: int) -> None:
    """Wait until so many workers have been given a job."""
    while len(pool.workers) < count:  # type: ignore[attr-defined]
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)


@pytest.fixture
def long(endless: dict[str, Any]) -> bytes:
    return json.dumps(endless).encode()


def test_answer_is_the_workers() -> None:
    async def scene(pool: Pool) -> Answer:
        return await run(pool, SMALL)

    answer = play(scene)
    assert (answer.status, answer.kind) == (200, "json")
    assert json.loads(answer.body)["runs"][0]["kernel"] == "relu"


def test_each_run_has_a_process_of_its_own() -> None:
    async def scene(pool: Watched) -> set[int]:
        for _ in range(3):
            await run(pool, SMALL)
        return {worker.pid for worker in pool.workers}

    assert len(play(scene)) == 3


def test_run_is_killed_at_the_deadline(long: bytes) -> None:
    async def scene(pool: Pool) -> tuple[str, float]:
        await asyncio.wait(pool._spares)
        start = time.monotonic()
        return await reason(run(pool, long)), time.monotonic() - start

    why, took = play(scene, deadline_s=0.5)
    assert why == "deadline"
    assert 0.5 <= took < 2


def test_newer_run_of_the_same_page_ends_the_older(long: bytes) -> None:
    async def scene(pool: Watched) -> tuple[str, int]:
        older = run(pool, long, "page")
        await working(pool, 1)
        newer = run(pool, SMALL, "page")
        return await reason(older), (await newer).status

    assert play(scene, at_once=1) == ("superseded", 200)


def test_runs_of_other_pages_are_left_alone(long: bytes) -> None:
    async def scene(pool: Watched) -> tuple[int, bool]:
        older = run(pool, long, "one page")
        nameless = run(pool, long)
        await working(pool, 2)
        status = (await run(pool, SMALL, "another")).status, (await run(pool, SMALL)).status
        alone = not (older.done() or nameless.done())
        for task in (older, nameless):
            task.cancel()
        await asyncio.gather(older, nameless, return_exceptions=True)
        return status[0] + status[1], alone

    assert play(scene, at_once=4) == (400, True)


def test_run_that_nobody_waits_for_is_ended(long: bytes) -> None:
    async def scene(pool: Watched) -> str:
        gone: asyncio.Future[None] = asyncio.Future()
        task = asyncio.create_task(pool.run("trace", long, "", gone))
        await working(pool, 1)
        gone.set_result(None)
        return await reason(task)

    assert play(scene) == "gone"


def test_run_that_waits_in_the_queue_can_be_ended_too(long: bytes) -> None:
    async def scene(pool: Watched) -> tuple[str, int]:
        first = run(pool, long)
        await working(pool, 1)
        waiting = run(pool, long, "page")
        await asyncio.sleep(0.05)
        newest = run(pool, SMALL, "page")
        why = await reason(waiting)
        first.cancel()
        return why, (await newest).status

    assert play(scene, at_once=1) == ("superseded", 200)


def test_as_many_at_once_as_allowed_and_a_queue_behind_them(long: bytes) -> None:
    async def scene(pool: Watched) -> tuple[int, str]:
        tasks = [run(pool, long) for _ in range(2 + 3)]
        await working(pool, 2)
        why = await reason(run(pool, SMALL))
        at_work = sum(is_alive(worker.pid) for worker in pool.workers)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return at_work, why

    assert play(scene, at_once=2, queue=3) == (2, "busy")


def test_usual_pool_has_a_run_a_core_and_32_that_wait(long: bytes) -> None:
    async def scene(pool: Watched) -> tuple[bool, int, str]:
        tasks = [run(pool, long) for _ in range(pool.at_once + 32)]
        await asyncio.sleep(0)
        busy = any(task.done() for task in tasks)
        why = await reason(run(pool, SMALL))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return busy, pool.at_once, why

    assert play(scene) == (False, len(os.sched_getaffinity(0)), "busy")


def test_queue_is_served_in_order() -> None:
    async def scene(pool: Pool) -> list[int]:
        done: list[int] = []
        tasks = [run(pool, SMALL) for _ in range(4)]
        for place, task in enumerate(tasks):
            task.add_done_callback(lambda _, place=place: done.append(place))
        await asyncio.gather(*tasks)
        return done

    assert play(scene, at_once=1) == [0, 1, 2, 3]


def test_worker_that_dies_is_told_and_replaced(long: bytes) -> None:
    async def scene(pool: Watched) -> tuple[str, int]:
        task = run(pool, long)
        await working(pool, 1)
        os.kill(pool.workers[0].pid, signal.SIGKILL)
        return await reason(task), (await run(pool, SMALL)).status

    assert play(scene) == ("server", 200)


def test_worker_that_died_while_it_waited_is_replaced() -> None:
    async def scene(pool: Watched) -> int:
        for idle in await asyncio.gather(*pool._spares):
            os.kill(idle.pid, signal.SIGKILL)
            while idle.alive:
                await asyncio.sleep(0.01)
        return (await run(pool, SMALL)).status

    assert play(scene) == 200


def test_run_has_a_worker_as_long_as_one_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    start, fails = Worker.start, [True, False, False, True, True, True]

    async def sometimes() -> Worker:
        if fails and fails.pop(0):
            raise OSError("no more processes")
        return await start()

    async def scene(pool: Watched) -> tuple[int, int, str]:
        await asyncio.wait(pool._spares)
        statuses = [(await run(pool, SMALL)).status for _ in range(2)]
        return statuses[0], statuses[1], await reason(run(pool, SMALL))

    monkeypatch.setattr(Worker, "start", sometimes)
    assert play(scene) == (200, 200, "server")


def test_closing_ends_runs_and_waiting_workers(long: bytes) -> None:
    async def scene(pool: Watched) -> tuple[str, str, list[Worker]]:
        task = run(pool, long)
        await working(pool, 1)
        idle = await asyncio.gather(*pool._spares)
        await pool.close()
        left = [one for one in idle if is_alive(one.pid)]
        return await reason(task), await reason(run(pool, SMALL)), left

    assert play(scene) == ("stopping", "stopping", [])


def test_workers_are_ready_before_they_are_needed() -> None:
    async def scene(pool: Watched) -> bool:
        ready = await asyncio.gather(*pool._spares)
        await asyncio.gather(run(pool, SMALL), run(pool, SMALL))
        return set(pool.workers) == set(ready)

    assert play(scene, at_once=2)


def test_newer_run_does_not_keep_a_process_that_ends_from_going(
    monkeypatch: pytest.MonkeyPatch, long: bytes
) -> None:
    stop = Worker.stop

    async def slowly(self: Worker) -> None:
        await asyncio.sleep(0.2)
        await stop(self)

    async def scene(pool: Watched) -> tuple[str, bool, int]:
        older = run(pool, long, "page")
        await working(pool, 1)
        await asyncio.sleep(0.4)  # past its deadline, and its process still there
        newer = run(pool, SMALL, "page")
        why = await reason(older)
        return why, is_alive(pool.workers[0].pid), (await newer).status

    monkeypatch.setattr(Worker, "stop", slowly)
    assert play(scene, deadline_s=0.4) == ("deadline", False, 200)


def test_process_that_is_ended_is_left_for_asyncio_to_wait_for(
    monkeypatch: pytest.MonkeyPatch, long: bytes
) -> None:
    def taken(*_: Any) -> None:
        raise AssertionError("a poll takes the exit status that asyncio waits for")

    async def scene(pool: Watched) -> str:
        task = run(pool, long)
        await working(pool, 1)
        with monkeypatch.context() as patch:
            patch.setattr(subprocess.Popen, "poll", taken)
            pool._runs.copy().pop().end("gone")
            return await reason(task)

    assert play(scene) == "gone"


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="environments are in /proc")
def test_worker_has_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "of the server")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/where/python/is")

    async def scene(pool: Pool) -> bytes:
        (worker, *_) = await asyncio.gather(*pool._spares)
        return Path(f"/proc/{worker.pid}/environ").read_bytes()

    assert play(scene) == b"LD_LIBRARY_PATH=/where/python/is\0"


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are listed in /proc")
def test_worker_has_no_open_file_but_its_streams(tmp_path: Path) -> None:
    async def scene(pool: Pool) -> list[int]:
        (worker, *_) = await asyncio.gather(*pool._spares)
        return sorted(int(one.name) for one in Path(f"/proc/{worker.pid}/fd").iterdir())

    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        assert play(scene) == [0, 1, 2]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are listed in /proc")
def test_runs_leave_no_descriptor_and_no_child_behind(long: bytes) -> None:
    def held() -> tuple[int, int]:
        tasks = Path("/proc/self/task").iterdir()
        children = [child for one in tasks for child in (one / "children").read_text().split()]
        return len(list(Path("/proc/self/fd").iterdir())), len(children)

    async def some(pool: Watched) -> None:
        await run(pool, SMALL)
        dropped, died = run(pool, long), run(pool, long)
        await working(pool, 2)
        os.kill(pool.workers.pop().pid, signal.SIGKILL)
        dropped.cancel()
        await asyncio.gather(dropped, died, return_exceptions=True)
        (idle, *_) = await asyncio.gather(*pool._spares)
        os.kill(idle.pid, signal.SIGKILL)
        while idle.alive:
            await asyncio.sleep(0.01)
        pool.workers.clear()

    async def scene(pool: Watched) -> tuple[tuple[int, int], tuple[int, int]]:
        found = []
        for _ in range(2):
            for _ in range(4):
                await some(pool)
            await run(pool, SMALL)
            pool.prepare()
            await asyncio.gather(*pool._spares)
            found.append(held())
        return found[0], found[1]

    first, second = play(scene, at_once=2)
    assert first == second


def test_job_that_breaks_a_worker_is_no_answer() -> None:
    async def scene(pool: Pool) -> str:
        return await reason(asyncio.create_task(pool.run("nothing", SMALL, "", asyncio.Future())))

    assert play(scene) == "server"
