"""A worker has only what a run needs: no files, no network, no processes, little memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from oneread.trace.exploring import ORDERS
from oneread.trace.inputs import PATTERNS
from oneread.web import worker
from oneread.web.bundle import why_missing
from oneread.web.catalogue import catalogue

FILE = Path(worker.__file__)
ISOLATED = [sys.executable, "-I", "-S"]
SETUP = f"""
import sys
sys.path.append({str(FILE.parents[2])!r})
from oneread.web import jobs, worker
import os, resource, socket, subprocess
jobs.gallery()
worker.confine()
"""


#: A kernel with numbers of every kind: some are rounded by their bits.
NUMBERS = """__global__ void k(const float* x, float* y, int vocab) {
    y[threadIdx.x] = x[threadIdx.x] * 0.1f + 1e-30f + 0x1.8p3f + 1.5 + 07 + 0xffu + 'a';
}
"""


def confined(code: str, text: str = "") -> str:
    """Return what code prints in a process that has been confined."""
    said = subprocess.run(
        [*ISOLATED, "-c", SETUP + code], input=text, capture_output=True, text=True, check=False
    )
    return said.stdout + said.stderr


def talk(text: bytes) -> tuple[bytes, bytes, int]:
    said = subprocess.run([*ISOLATED, str(FILE)], input=text, capture_output=True, check=False)
    return said.stdout, said.stderr, said.returncode


def test_worker_answers_one_request_and_ends() -> None:
    body = json.dumps({"kernels": [{"key": "relu"}], "rows": 1, "vocab": 32}).encode()
    out, err, status = talk(b"trace %d\n" % len(body) + body)
    assert (err, status) == (b"", 0)
    ready, head, answer = out.split(b"\n", 2)
    assert (ready, head.split()[:2]) == (b"ready", [b"200", b"json"])
    assert int(head.split()[2]) == len(answer)
    assert json.loads(answer)["runs"][0]["kernel"] == "relu"


def test_worker_without_a_job_ends_quietly() -> None:
    assert talk(b"") == (b"ready\n", b"", 0)


def test_worker_loads_the_standard_library_and_this_package_only() -> None:
    code = "print(sorted({m.partition('.')[0] for m in sys.modules} - sys.stdlib_module_names))"
    assert confined(code) == "['__main__', 'oneread']\n"


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/passwd')",
        "open('/etc/passwd', 'rb')",
        "open('relu.cu')",
        "open(worker.__file__ + '/../../../../../../../../../../etc/passwd')",
        "open(worker.__file__, 'a')",
        "open('/tmp/oneread-was-here', 'w')",
        "os.open('/tmp/oneread-was-here', os.O_WRONLY | os.O_CREAT)",
        "os.remove('/tmp/oneread-was-here')",
        "os.mkdir('/tmp/oneread-was-here')",
        "os.rename('/tmp/a', '/tmp/b')",
        "os.scandir('/')",
        "os.system('true')",
        "os.fork()",
        "os.kill(os.getppid(), 0)",
        "subprocess.run(['true'])",
        "socket.socket().connect(('127.0.0.1', 9))",
        "socket.getaddrinfo('localhost', 80)",
        "resource.setrlimit(resource.RLIMIT_CPU, (99, 99))",
        "import ctypes; ctypes.CDLL(None)",
    ],
)
def test_a_run_may_not(code: str) -> None:
    said = confined(f"try:\n    {code}\nexcept PermissionError as error:\n    print(error)\n")
    assert said.startswith("a run may not"), said
    assert not Path("/tmp/oneread-was-here").exists()


def test_a_run_may_read_a_file_and_not_empty_it() -> None:
    path = worker.__file__
    worker._forbid("open", (path, None, os.O_RDONLY | os.O_CLOEXEC))
    for flag in (os.O_TRUNC, os.O_CREAT, os.O_WRONLY, os.O_RDWR):
        with pytest.raises(PermissionError):
            worker._forbid("open", (path, None, flag))


def test_a_run_may_read_the_gallery_and_load_modules_late() -> None:
    assert confined(
        "import colorsys\nprint(len(jobs.gallery().path('relu').read_text()) > 99)"
    ) == ("True\n")


def test_no_run_lacks_what_was_taken_away() -> None:
    fields = ("rows", "vocab", "k", "block", "defines", "input")
    small = {"kernels": [{"text": NUMBERS}], "rows": 1, "vocab": 32}
    requests = [
        ("trace", {"kernels": [{"key": one["key"]}], **{name: one[name] for name in fields}})
        for one in catalogue()["kernels"]
    ]
    requests += [("trace", {**small, "input": pattern}) for pattern in PATTERNS]
    requests += [("trace", {**small, "schedule": order}) for order in (*ORDERS, "all", "random:7")]
    requests += [(job, small) for job in ("fix", "probe")]
    requests += [("export", small)] * (why_missing() is None)
    code = (
        "import json\n"
        "for job, request in json.loads(sys.stdin.readline()):\n"
        "    print(jobs.answer(job, json.dumps(request).encode()).status)\n"
    )
    assert confined(code, json.dumps(requests)).split() == ["200"] * len(requests)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process are Linux's")
def test_memory_of_a_run_has_an_end() -> None:
    code = "try:\n    bytearray(2 << 30)\nexcept MemoryError:\n    print('no more')"
    assert confined(code) == "no more\n"


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process are Linux's")
def test_limits_of_the_process_are_set() -> None:
    names = ("AS", "CORE", "CPU", "FSIZE", "NOFILE", "NPROC")
    code = f"print([resource.getrlimit(getattr(resource, 'RLIMIT_' + name)) for name in {names}])"
    wanted = (worker.MEMORY_BYTES, 0, worker.PROCESSOR_S, 0, worker.OPEN_FILES, 0)
    assert confined(code) == f"{[(most, most) for most in wanted]}\n"


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process are Linux's")
def test_run_that_wants_too_much_memory_is_an_answer() -> None:
    code = (
        "jobs.JOBS['trace'] = lambda job: bytearray(2 << 30)\n"
        'print(jobs.answer("trace", b\'{"kernels": [{"key": "relu"}]}\').body)\n'
    )
    said = json.loads(confined(code))
    assert said["error"]["kind"] == "limit"
    assert "more memory" in said["error"]["message"]


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process are Linux's")
def test_limits_that_are_lower_already_stay() -> None:
    setup = SETUP.replace(
        "worker.confine", "resource.setrlimit(resource.RLIMIT_CPU, (3, 4))\nworker.confine"
    )
    code = f"{setup}print(resource.getrlimit(resource.RLIMIT_CPU))"
    said = subprocess.run([*ISOLATED, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "(4, 4)\n"
