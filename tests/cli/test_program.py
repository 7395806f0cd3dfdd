"""How the program starts and ends: version, help, signals, pipes, terminals."""

from __future__ import annotations

import os
import resource
import select
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from oneread.cli.main import app

PROGRAM = [sys.executable, "-m", "oneread"]
COMMANDS = ("read", "info", "demo", "ops")
MAXIMUM_START_S = 0.3


def sparse(path: Path, rows: int, vocab: int) -> Path:
    """Make a file of zeros that takes no room on the disk."""
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (rows, vocab)}
        )
        file.truncate(file.tell() + 4 * rows * vocab)
    return path


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    return kept | {"TERM": "xterm"} | changes


def on_terminal(*args: object, **changes: str) -> tuple[str, str, int]:
    """Run with standard error (and, for ``out="terminal"``, output) on a pseudo-terminal.

    Return what the terminal showed, standard output, and the status.
    """
    both = changes.pop("out", "") == "terminal"
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [*PROGRAM, *map(str, args)], stdin=subprocess.DEVNULL, stderr=theirs,
        stdout=theirs if both else subprocess.PIPE, env=environment(**changes),
    ) as process:  # fmt: skip
        os.close(theirs)
        shown, printed = b"", b""
        streams = [ours] + ([process.stdout.fileno()] if process.stdout else [])
        while streams:
            for stream in select.select(streams, [], [], 60)[0]:
                try:
                    part = os.read(stream, 1 << 16)
                except OSError:  # a terminal whose other side is closed
                    part = b""
                if not part:
                    streams.remove(stream)
                elif stream == ours:
                    shown += part
                else:
                    printed += part
        os.close(ours)
        return shown.decode(), printed.decode(), process.wait()


def test_version_is_printed() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout.startswith("oneread ")


def test_version_comes_quickly_and_without_arrays() -> None:
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*PROGRAM, "--version"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        # Processor time: what else runs on the machine is not the program's.
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert statistics.median(times) < MAXIMUM_START_S
    code = (
        "import sys, oneread.cli.main; print([m for m in ('numpy', 'torch') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout.strip() == "[]"


@pytest.mark.parametrize("args", [[], ["--help"], ["-h"]])
def test_help_lists_the_commands(args: list[str]) -> None:
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0
    assert all(f"\n  {command}" in result.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert "--json" in result.stdout


@pytest.mark.parametrize("args", [["nonsense"], ["--nonsense"], ["info", "--nonsense"]])
def test_wrong_usage_is_one_line_and_status_2(args: list[str]) -> None:
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 2
    assert result.stderr.startswith("oneread: error: ")
    assert result.stderr.count("\n") == 1


def test_completion_script_is_offered() -> None:
    said = subprocess.run(
        PROGRAM, capture_output=True, text=True, check=False,
        env=environment(_ONEREAD_COMPLETE="source_bash"),
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    assert "complete" in said.stdout


def test_completion_knows_the_commands() -> None:
    said = subprocess.run(
        PROGRAM, capture_output=True, text=True, check=False,
        env=environment(_ONEREAD_COMPLETE="complete_bash", COMP_WORDS="oneread ", COMP_CWORD="1"),
    )  # fmt: skip
    assert set(COMMANDS) <= set(said.stdout.split())


def test_closed_pipe_is_quiet(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((20_000, 8), np.float32))
    said = subprocess.run(
        f'"{sys.executable}" -m oneread read "{path}" --json | head -1',
        shell=True, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout.startswith('{"row": 0')
    assert said.stderr == ""


def test_pipe_closed_before_the_first_line_is_quiet(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((2, 8), np.float32))
    reader, writer = os.pipe()
    os.close(reader)
    said = subprocess.run(
        [*PROGRAM, "read", str(path), "--json"], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (said.returncode, said.stderr) == (141, b"")


def test_closed_standard_output_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((2, 8), np.float32))
    said = subprocess.run(
        f'"{sys.executable}" -m oneread read "{path}" --json >&-',
        shell=True, capture_output=True, check=False,
    )  # fmt: skip
    assert (said.returncode, said.stderr) == (0, b"")


def test_full_disk_is_one_line_and_status_1(tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((2, 8), np.float32))
    with open("/dev/full", "wb") as full:
        said = subprocess.run(
            [*PROGRAM, "read", str(path), "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert said.returncode == 1
    assert said.stderr.startswith(b"oneread: error: No space left")
    assert said.stderr.count(b"\n") == 1


#: The program with Ctrl-C heard: a shell's background job ignores it, and so does what that starts.
HEAR = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module('oneread', run_name='__main__', alter_sys=True)
"""
LISTENING = [sys.executable, "-c", HEAR]


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl_c", "terminate"]
)
def test_signal_leaves_quietly_and_without_files(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    path = sparse(tmp_path / "x.npy", 400_000, 50_000)
    with subprocess.Popen(
        [*LISTENING, "read", str(path), "--out", str(tmp_path / "out.jsonl")],
        stderr=subprocess.PIPE,
    ) as process:
        deadline = time.monotonic() + 30
        while not list(tmp_path.glob(".oneread-*")) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (status, b"")
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_bar_is_drawn_on_a_terminal_and_taken_off(tmp_path: Path) -> None:
    path = sparse(tmp_path / "x.npy", 2000, 50_000)
    shown, printed, status = on_terminal("read", path, "--json", "--top-k", 0)
    assert status == 0
    assert "% of 400.0 MB" in shown
    assert shown.endswith("\r\x1b[K")
    assert printed.count("\n") == 2000


def test_bar_of_a_small_file_is_not_drawn(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((2, 8), np.float32))
    shown, _, _ = on_terminal("read", path, "--json")
    assert shown == ""


def test_bar_is_not_drawn_on_a_dumb_terminal(tmp_path: Path) -> None:
    path = sparse(tmp_path / "x.npy", 2000, 50_000)
    shown, _, _ = on_terminal("read", path, "--json", "--top-k", 0, TERM="dumb")
    assert shown == ""


def test_colours_are_shown_on_a_terminal_only_and_not_against_the_wish() -> None:
    shown, _, _ = on_terminal("ops", out="terminal")
    assert "\x1b[1m" in shown
    shown, _, _ = on_terminal("ops", out="terminal", NO_COLOR="1")
    assert "\x1b" not in shown
    said = subprocess.run([*PROGRAM, "ops"], capture_output=True, check=True, env=environment())
    assert b"\x1b" not in said.stdout
