"""NVIDIA's own tools: what compute-sanitizer and ncu say of a program that launches kernels.

Knows no kernel but by name.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

Record = dict[str, Any]

CHECKERS: Final = ("memcheck", "racecheck", "initcheck", "synccheck")

#: What ncu counts, and our names for it.
METRICS: Final = {
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "global_load_requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "global_load_sectors",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": "global_store_requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "global_store_sectors",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "shared_load_wavefronts",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "shared_store_wavefronts",
    "dram__bytes_read.sum": "dram_read_bytes",
    "dram__bytes_write.sum": "dram_write_bytes",
}

#: Where the tools are when they are not on the path.
_HOMES: Final = (Path("/usr/local/cuda/bin"), Path("/opt/nvidia/nsight-compute"))

_MESSAGE = re.compile(r"^========= (?=\S)(.*)$")
_DETAIL = re.compile(r"^=========\s*(.*)$")
_LINE = re.compile(r"\.cu:(\d+)")
_LAUNCHED = re.compile(r'^\{"record": "launched".*\}$')
_SEVERITIES = {"error": "error", "warning": "warning", "info": "note"}
_NOISE = ("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "LEAK SUMMARY", "Target")


def find(tool: str) -> str | None:
    """Return the path of a tool, or None."""
    found = shutil.which(tool)
    if found:
        return found
    places = [place for home in _HOMES for place in (home / tool, *home.glob(f"*/{tool}"))]
    return next((str(place) for place in places if place.is_file()), None)


def sanitized(
    checker: str, program: Sequence[str], names: Sequence[str], timeout_s: float
) -> tuple[list[Record], str]:
    """Run a program under one checker of compute-sanitizer.

    Parameters
    ----------
    checker : str
        One of `CHECKERS`.
    program : sequence of str
        The command.
    names : sequence of str
        Kernels that messages may be about.
    timeout_s : float
        When it is given up.

    Returns
    -------
    list of dict
        A record for the tool, then one for each different message.
    str
        All that it said.
    """
    path = find("compute-sanitizer")
    if path is None:
        return [_tool(checker, False, "compute-sanitizer is not there")], ""
    # One kernel that goes wrong must not end the program.
    options = ["--tool", checker, "--destroy-on-device-error", "kernel", "--print-limit", "2000"]
    ran, text = run([path, *options, *program], timeout_s)
    return [_tool(checker, ran, _last_words(text)), *messages(checker, text, names)], text


def messages(checker: str, text: str, names: Sequence[str]) -> list[Record]:
    """Return what compute-sanitizer said of each launch, each message once with its count.

    The program prints a record ``launched`` after each launch; what was said before belongs to it.
    """
    return [
        {**record, **launch}
        for said, launch in _launches(text)
        for record in _messages(checker, said, names)
    ]


def _launches(text: str) -> Iterator[tuple[str, Record]]:
    """Yield what was said until each launch was over, and its use and length; then the rest."""
    said: list[str] = []
    for line in text.splitlines():
        if _LAUNCHED.match(line):
            yield "\n".join(said), _launch(json.loads(line))
            said = []
        else:
            said.append(line)
    yield "\n".join(said), {}


def _launch(record: Record) -> Record:
    return {name: record[name] for name in ("use", "vocab")}


def _messages(checker: str, text: str, names: Sequence[str]) -> list[Record]:
    found: dict[tuple[Any, ...], Record] = {}
    for block in _blocks(text):
        title = re.sub(r"0x[0-9a-f]+|\d+", "#", block[0]).strip()
        whole = "\n".join(block)
        kernel = next((n for n in sorted(names, key=len, reverse=True) if n in whole), None)
        if kernel is None or title.startswith(_NOISE):
            continue
        lines = sorted({int(number) for number in _LINE.findall(whole)})
        severity = _SEVERITIES.get(title.partition(":")[0].strip().lower(), "error")
        key = (kernel, re.sub(r"#[,.() #xA-Za-z]*$", "", title), tuple(lines), severity)
        record = found.setdefault(
            key,
            {
                "record": "sanitizer",
                "tool": checker,
                "kernel": kernel,
                "severity": severity,
                "message": block[0].strip(),
                "lines": lines,
                "count": 0,
            },
        )
        record["count"] += 1
    return list(found.values())


def _blocks(text: str) -> Iterator[list[str]]:
    """Yield each message with its details."""
    block: list[str] = []
    for line in text.splitlines():
        if message := _MESSAGE.match(line):
            if block:
                yield block
            block = [message[1]]
        elif (detail := _DETAIL.match(line)) and block:
            block.append(detail[1])
    if block:
        yield block


def profiled(program: Sequence[str], timeout_s: float) -> tuple[list[Record], str]:
    """Run a program under ncu; return a record for the tool, then one for each launch."""
    path = find("ncu")
    if path is None:
        return [_tool("ncu", False, "ncu is not there")], ""
    options = ["--metrics", ",".join(METRICS), "--clock-control", "none", "--csv", "--page", "raw"]
    options += ["--print-units", "base", "--target-processes", "all"]
    ran, text = run([path, *options, *program], timeout_s)
    launches = launched(counts(text), text)
    return [_tool("ncu", ran and bool(launches), _last_words(text)), *launches], text


def launched(records: Sequence[Record], text: str) -> list[Record]:
    """Return the records with the use and length that the program printed of each launch.

    None of them when it printed of other launches: nobody could say which is which.
    """
    printed = [json.loads(line) for line in text.splitlines() if _LAUNCHED.match(line)]
    if [r["kernel"] for r in records] != [one["entry"] for one in printed]:
        return []
    return [r | _launch(one) for r, one in zip(records, printed, strict=True)]


def counts(text: str) -> list[Record]:
    """Return what ncu counted, a record for each launch in order."""
    lines = text.splitlines()
    heads = [i for i, line in enumerate(lines) if line.startswith('"ID"')]
    if not heads:
        return []
    rows = csv.DictReader(io.StringIO("\n".join(lines[heads[0] :])))
    found = []
    for row in rows:
        if not (row.get("ID") or "").strip().isdigit():
            continue  # the row of units
        numbers = {ours: _number(row.get(theirs)) for theirs, ours in METRICS.items()}
        found.append(
            {
                "record": "ncu",
                "kernel": row["Kernel Name"].partition("(")[0],
                "grid": row.get("Grid Size"),
                "block": row.get("Block Size"),
                **numbers,
            }
        )
    return found


def _number(text: str | None) -> int | None:
    digits = (text or "").replace(",", "")
    try:
        return round(float(digits))
    except ValueError:
        return None


def _tool(name: str, ran: bool, said: str) -> Record:
    return {"record": "tool", "tool": name, "ran": ran, "said": said}


def _last_words(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-3:])[-400:]


def run(command: Sequence[str], timeout_s: float) -> tuple[bool, str]:
    """Return whether a program ended by itself without an error of its own, and what it said."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # the tools start the program as their child: all end together
    )
    try:
        said, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
        return False, f"{said}\ngiven up after {timeout_s:.0f} s"
    return process.returncode == 0, said
