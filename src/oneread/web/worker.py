"""A process that does one job: what a page asks for runs here, and nothing else does.

Started as a program of its own, `python -I -S worker.py`: the standard library and this package are
all that it can import. It reads a line ``job bytes`` and the request, answers with a line
``status kind bytes`` and the answer, and ends. Knows no server.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

#: Memory of a run, beyond what the engine's own limits allow.
MEMORY_BYTES = 1 << 30

#: Processor time of a run: the server's clock ends it sooner, unless the server is gone.
PROCESSOR_S = 6

#: Files that may be open: the three streams, and one that is read.
OPEN_FILES = 16

#: What may be read: this package (its gallery, its page, modules that are loaded late) and Python.
READABLE = tuple(
    f"{os.path.realpath(folder)}{os.sep}"
    for folder in (Path(__file__).resolve().parents[1], Path(os.__file__).parent)
)

#: What of the flags of a file that is opened makes it more than read.
CHANGING = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC

#: Kinds of events, by their first word, that no run has a need for; all else is made of these.
FORBIDDEN = frozenset(["ctypes", "fcntl", "mmap", "os", "pty", "resource", "shutil", "signal"])
FORBIDDEN |= {"socket", "sqlite3", "subprocess", "syslog"}


def confine() -> None:
    """Take from this process what a run has no need for."""
    if sys.platform == "linux":
        import resource

        for what, most in (
            (resource.RLIMIT_AS, MEMORY_BYTES),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_CPU, PROCESSOR_S),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_NOFILE, OPEN_FILES),
            (resource.RLIMIT_NPROC, 0),
        ):
            known = resource.getrlimit(what)[1]
            least = most if known == resource.RLIM_INFINITY else min(most, known)
            resource.setrlimit(what, (least, least))
    sys.addaudithook(_forbid)


def _forbid(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse to touch anything; the engine never tries, and this makes it certain."""
    if event == "open":
        path, _, flags = arguments
        reads = isinstance(flags, int) and flags & CHANGING == os.O_RDONLY
        if not (reads and isinstance(path, str) and os.path.realpath(path).startswith(READABLE)):
            raise PermissionError(f"a run may not open {path!r}")
    elif event.partition(".")[0] in FORBIDDEN and event != "os.listdir":  # how modules are found
        raise PermissionError(f"a run may not do {event}")


def main() -> None:
    """Do one job, or end when nobody has one."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what is printed by mistake is no answer
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # nobody hears an answer once the server is gone

    from oneread.web import jobs  # before anything is taken away, and before there is a job

    jobs.gallery()
    confine()
    answers.write(b"ready\n")
    answers.flush()
    name, _, length = requests.readline().decode().partition(" ")
    if not length:
        return
    answer = jobs.answer(name, requests.read(int(length)))
    body = answer.body.encode()
    answers.write(f"{answer.status} {answer.kind} {len(body)}\n".encode() + body)
    answers.flush()


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    main()
