"""Threads: how many, from how many callers, and after a fork."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneread
from oneread.runtime import cpu
from oneread.spec import OPS

Everything = Callable[..., Any]

CALLERS = 16
LONG_SECONDS = 0.04

each_op = pytest.mark.parametrize("op", OPS)
linux = pytest.mark.skipif(sys.platform != "linux", reason="affinity and cgroups are Linux's")


@pytest.fixture
def threads_of_the_process() -> Iterator[None]:
    """Leave the number of threads as it was."""
    before = oneread.get_threads()
    yield
    oneread.set_threads(before)


# --------------------------------------------------------------------------------- many callers


def test_16_callers_at_once_get_their_own_results(everything: Everything, alone: Any) -> None:
    start = threading.Barrier(CALLERS)
    dtypes, vocabs = ("float32", "bfloat16"), (5, 1000, 32769)
    jobs = [(op, dtype, vocab) for op in OPS for dtype in dtypes for vocab in vocabs]
    expected = {job: alone.expected(*job) for job in jobs}

    def work(caller: int) -> int:
        start.wait()
        wrong = 0
        for turn in range(len(jobs)):
            op, dtype, vocab = job = jobs[(turn + caller * 7) % len(jobs)]
            got = everything(op, alone.logits(dtype, vocab), threads=1 + caller % 4)
            record = oneread.last_kernel()
            wrong += (alone.bits(got) != expected[job]).any() or record.dtype != dtype
        return int(wrong)

    with ThreadPoolExecutor(CALLERS) as pool:
        assert list(pool.map(work, range(CALLERS))) == [0] * CALLERS


def test_last_kernel_is_that_of_the_calling_thread() -> None:
    oneread.softmax(np.zeros((2, 3), np.float32))
    seen: list[Any] = []

    def other() -> None:
        seen.append(oneread.last_kernel())
        oneread.logsumexp(np.zeros(3))
        seen.append(oneread.last_kernel().name)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [None, "lazy_logsumexp"]
    assert oneread.last_kernel().name == "lazy_softmax"


def longest_pause(call: Callable[[], Any]) -> float:
    """Return how long another thread stood still at most while a call ran."""
    stop, last, pause = threading.Event(), time.perf_counter(), 0.0

    def watch() -> None:
        nonlocal last, pause
        while not stop.is_set():
            now = time.perf_counter()
            pause, last = max(pause, now - last), now

    watcher = threading.Thread(target=watch)
    watcher.start()
    time.sleep(0.01)
    pause = 0.0
    call()
    time.sleep(0.01)
    stop.set()
    watcher.join()
    return pause


def seconds(call: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


@pytest.mark.alone
@each_op
def test_the_gil_is_released(op: str, everything: Everything) -> None:
    def call_on(rows: int) -> Callable[[], Any]:
        x = np.broadcast_to(np.arange(4_000, dtype=np.float32), (rows, 4_000))
        out = {"out": np.empty(x.shape, np.float32)} if OPS[op].row_output else {}
        return lambda: everything(op, x, threads=1, **out)

    rows, call = 1000, call_on(1000)
    while (shortest := min(seconds(call) for _ in range(4))) < LONG_SECONDS:
        rows *= 2
        call = call_on(rows)
    # A busy machine stops a thread for a while, but hardly in each of ten calls. With the GIL held,
    # the other thread stands still during all of each.
    assert min(longest_pause(call) for _ in range(10)) < shortest / 2


# ---------------------------------------------------------------------------------------- fork

FORK = """
import json, multiprocessing, os, signal, threading, numpy as np, oneread
signal.alarm(100)
x = np.random.default_rng(0).normal(0, 4, (64, 40_003)).astype("f4")
def work(threads):
    best = oneread.read(x, top_k=5, entropy=True, threads=threads)
    y = oneread.softmax(x[:1], threads=threads)
    ran = oneread.last_kernel().threads
    return b"".join(a.tobytes() for a in (*best[:2], *best[3:6], best.entropy, y)), ran
expected = work(1)[0]
def right(threads=2):
    return work(threads) == (expected, threads)
"""

CHILD_AFTER_PARENT = (
    FORK
    + """
context = multiprocessing.get_context("fork")
def nested(queue):
    said = [right(), right(3)]
    # A child has none of its parent's threads: it makes its own.
    queue.put([*said, len(os.listdir("/proc/self/task")) if os.path.exists("/proc") else 3])
    if os.fork() == 0:
        os._exit(0 if right() and right(3) else 1)
    queue.put(os.wait()[1])
first = [right(), right(3)]
queue = context.Queue()
child = context.Process(target=nested, args=(queue,))
child.start()
said = [queue.get(), queue.get()]
child.join()
with context.Pool(3) as pool:
    pooled = [pool.apply_async(right, (threads,)) for threads in (1, 2, 3, 2, 3)]
    pooled = [one.get() for one in pooled]
print(json.dumps([first, said, child.exitcode, pooled, [right(), right(3)]]))
"""
)

FORK_WHILE_COMPUTING = (
    FORK
    + """
stop, turns, bad = threading.Event(), [0, 0], []
def compute(who):
    while not stop.is_set():
        if not work(2)[0] == expected:
            bad.append(who)
        turns[who] += 1
threads = [threading.Thread(target=compute, args=(who,)) for who in (0, 1)]
for thread in threads:
    thread.start()
statuses = []
for _ in range(25):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(0 if right() and right(3) else 1)
    statuses.append(os.waitpid(child, 0)[1])
stop.set()
for thread in threads:
    thread.join()
print(json.dumps([statuses, bad, min(turns) > 0, right()]))
"""
)

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@needs_fork
def test_forked_child_computes_after_its_parent_did(fresh: Callable[..., Any]) -> None:
    # Later Pythons warn that a process with threads forks: here it is meant.
    first, said, code, pooled, last = fresh(CHILD_AFTER_PARENT, warnings="ignore")
    assert (first, last) == ([True, True], [True, True])
    assert (said, code) == ([[True, True, 3], 0], 0)
    assert pooled == [True] * 5


@needs_fork
def test_fork_while_other_threads_compute(fresh: Callable[..., Any]) -> None:
    statuses, bad, both, last = fresh(FORK_WHILE_COMPUTING, warnings="ignore")
    assert statuses == [0] * 25
    assert (bad, both, last) == ([], True, True)


# ----------------------------------------------------------------------------- how many threads

COUNT = """
import json, numpy as np, oneread
x = np.zeros((64, 4096), "f4")
said = [oneread.get_threads()]
oneread.softmax(x); said.append(oneread.last_kernel().threads)
oneread.logsumexp(x); said.append(oneread.last_kernel().threads)
oneread.set_threads(2)
oneread.softmax(x); said.append(oneread.last_kernel().threads)
oneread.softmax(x, threads=5); said.append(oneread.last_kernel().threads)
oneread.set_threads(None); said.append(oneread.get_threads())
print(json.dumps(said))
"""

REFUSED = """
import json, oneread
try:
    oneread.get_threads()
except oneread.BackendUnavailableError as error:
    print(json.dumps(str(error)))
"""

AFFINITY = """
import json, os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import oneread
print(json.dumps(oneread.get_threads()))
"""

GET = "import json, oneread; print(json.dumps(oneread.get_threads()))"


def test_threads_come_from_the_call_then_set_threads_then_the_variable(
    fresh: Callable[..., Any],
) -> None:
    machine = cpu.native.available_threads()
    assert fresh(COUNT, ONEREAD_THREADS="3") == [3, 3, 3, 2, 5, machine]
    assert fresh(COUNT) == [machine, machine, machine, 2, 5, machine]


@pytest.mark.parametrize("text", ["", "  ", " 7 "])
def test_empty_variable_is_automatic_and_spaces_do_not_count(
    text: str, fresh: Callable[..., Any]
) -> None:
    expected = int(text) if text.strip() else cpu.native.available_threads()
    assert fresh(GET, ONEREAD_THREADS=text) == expected


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "1e1", "2 3", "\u0663"])
def test_bad_variable_is_refused(text: str, fresh: Callable[..., Any]) -> None:
    message = fresh(REFUSED, ONEREAD_THREADS=text)
    assert "ONEREAD_THREADS" in message
    assert "at least 1" in message


@pytest.mark.parametrize(
    ("threads", "error"),
    [
        (0, oneread.ShapeError),
        (-3, oneread.ShapeError),
        (True, oneread.DtypeError),
        (1.0, oneread.DtypeError),
        ("2", oneread.DtypeError),
    ],
)
def test_bad_number_of_threads_is_refused(
    threads: Any, error: type[Exception], threads_of_the_process: None
) -> None:
    before = oneread.get_threads()
    with pytest.raises(error, match=r"threads is .*at least 1"):
        oneread.set_threads(threads)
    with pytest.raises(error, match=r"threads is .*at least 1"):
        oneread.softmax(np.zeros(3), threads=threads)
    assert oneread.get_threads() == before


@each_op
def test_threads_are_honoured(
    op: str, everything: Everything, threads_of_the_process: None
) -> None:
    x = np.random.default_rng(0).normal(size=(40, 2000)).astype(np.float32)
    for threads in (1, 2, np.int64(3)):
        everything(op, x, threads=threads)
        assert oneread.last_kernel().threads == threads
        oneread.set_threads(threads)
        everything(op, x)
        assert oneread.last_kernel().threads == threads


@each_op
def test_small_inputs_stay_on_the_calling_thread(op: str, everything: Everything) -> None:
    everything(op, np.ones((4, 1000), np.float32), threads=8)
    assert oneread.last_kernel().threads == 1


def test_more_threads_than_rows_and_spans_are_no_error(everything: Everything, alone: Any) -> None:
    for op in OPS:
        got = everything(op, alone.logits("float32", 32769), threads=100)
        alone.check(got, (op, "float32", 32769), "100 threads")


@linux
def test_affinity_limits_the_default(fresh: Callable[..., Any]) -> None:
    assert fresh(AFFINITY) == 1


ONE, HALF, NO_LIMIT = "100000 100000", "50000 100000", "max 100000"


@linux
@pytest.mark.parametrize(
    ("files", "group", "cpus"),
    [
        ({"cpu.max": ONE}, "/", 1),
        ({"cpu.max": "150000 100000"}, "/", 2),
        ({"cpu.max": HALF}, "/", 1),
        ({"cpu.max": NO_LIMIT}, "/", None),
        ({"a/b/cpu.max": ONE}, "/a/b", 1),
        ({"a/cpu.max": HALF, "a/b/cpu.max": NO_LIMIT}, "/a/b", 1),
        ({"a/cpu.max": ONE}, "/b", None),
        ({"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"}, "/", 1),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "/", None),
        ({}, "/", None),
    ],
    ids=[
        "one", "one and a half", "half", "no limit", "own group", "group above", "other group",
        "version 1", "no limit in version 1", "nothing there",
    ],
)  # fmt: skip
def test_cgroup_quota_limits_the_default(
    files: dict[str, str], group: str, cpus: int | None, fresh: Callable[..., Any], tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.write_text(f"0::{group}\n")
    for name, text in files.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    (tmp_path / "tree").mkdir(exist_ok=True)
    mounts = f"mount --bind {tmp_path}/tree /sys/fs/cgroup && mount --bind {own} /proc/$$/cgroup"
    namespace = [
        "unshare",
        "--mount",
        "--map-root-user",
        "sh",
        "-c",
        f'{mounts} && exec "$@"',
        "sh",
    ]
    if not shutil.which("unshare") or subprocess.run([*namespace, "true"], check=False).returncode:
        pytest.skip("this process may not mount cgroup files of its own (unshare --mount)")
    available = len(os.sched_getaffinity(0))
    assert fresh(GET, *namespace) == min(available, cpus or available)


# ----------------------------------------------------------------------------------- endurance

SOAK = """
import json, signal, time, numpy as np, oneread
signal.alarm(100)
x = np.random.default_rng(0).normal(0, 4, (8, 4100)).astype("f4")
y, lse = oneread.softmax(x, threads=1), oneread.logsumexp(x, threads=1)
wrong = 0
for turn in range(10_000):
    wrong += not np.array_equal(oneread.logsumexp(x, threads=2), lse)
    wrong += not np.array_equal(oneread.softmax(x, threads=2 + turn % 3), y)
    if turn % 500 == 0:
        time.sleep(0.002)  # the others fall asleep
print(json.dumps([wrong, oneread.last_kernel().threads]))
"""


def test_20_000_small_calls_do_not_hang(fresh: Callable[..., Any]) -> None:
    wrong, threads = fresh(SOAK)
    assert wrong == 0
    assert threads > 1
