"""NVIDIA's disassembler: where it is found, and a cubin's text from it.

It comes with the package `nvidia-cuda-nvdisasm`, with a CUDA toolkit, and with Triton. Knows no
instruction.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from oneread.sass.errors import MachineCodeError
from oneread.spec import BackendUnavailableError

#: In NVIDIA's packages and in Triton's.
_PLACES: Final = (
    ("nvidia", "cu13/bin/nvdisasm"),
    ("triton", "backends/nvidia/bin/nvdisasm"),
)
_TOOLKIT: Final = "/usr/local/cuda/bin/nvdisasm"
_INSTALL: Final = "install it with: pip install oneread[sass]"
#: What is printed: code only, lines with calls, encodings.
_OPTIONS: Final = ("-c", "-gi", "-hex")
_SECONDS: Final = 120


def disassemble(cubin: bytes, name: str = "cubin") -> str:
    """Return the text of a cubin.

    Parameters
    ----------
    cubin : bytes
        The ELF file.
    name : str
        What to call it where it is refused.

    Returns
    -------
    str
        Instructions, encodings and source lines as ``nvdisasm`` prints them.

    Raises
    ------
    BackendUnavailableError
        When there is no ``nvdisasm``.
    MachineCodeError
        When it refuses the cubin; the message is its own.
    """
    return run(cubin, _OPTIONS, name)


def run(cubin: bytes, options: tuple[str, ...], name: str = "cubin") -> str:
    """Return what ``nvdisasm`` prints for a cubin with these options."""
    with tempfile.TemporaryDirectory(prefix="oneread-") as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        done = subprocess.run(
            [find(), *options, str(path)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    if done.returncode:
        said = done.stderr.strip().splitlines() or done.stdout.strip().splitlines()
        why = said[0].replace(str(path), name) if said else f"exit status {done.returncode}"
        raise MachineCodeError(f"{name}: nvdisasm {version()} refuses it: {why}")
    return done.stdout


@cache
def find() -> str:
    """Return the path of ``nvdisasm``.

    Raises
    ------
    BackendUnavailableError
        When there is none.
    """
    for path in _candidates():
        if os.access(path, os.X_OK):
            return path
    raise BackendUnavailableError(f"nvdisasm is not there; {_INSTALL}")


def available() -> bool:
    """Return whether there is an ``nvdisasm``."""
    try:
        find()
    except BackendUnavailableError:
        return False
    return True


@cache
def version() -> str:
    """Return its version, for example ``13.2.51``."""
    said = subprocess.run(
        [find(), "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False
    ).stdout
    found = re.search(r"V(\d+(?:\.\d+)+)", said)
    return found[1] if found else "of an unknown version"


def _candidates() -> Iterator[str]:
    """Yield where it may be, NVIDIA's package before the system's own."""
    for package, place in _PLACES:
        spec = importlib.util.find_spec(package)
        for root in (spec.submodule_search_locations or ()) if spec else ():
            yield str(Path(root, place))
    if found := shutil.which("nvdisasm"):
        yield found
    yield _TOOLKIT
