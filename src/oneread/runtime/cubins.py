"""Compiled kernels, kept on disk by what went into them.

Knows no kernel. A file is found by the hash of source, headers, macros, options, target and
compiler version, and holds the hash of its own contents before them: whatever is cut short or
changed is compiled again. Files appear whole, by renaming, so processes may compile at once. A
folder that cannot be written or read costs a compilation, never an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from oneread.runtime import nvrtc

__all__ = ["CACHE_VARIABLE", "Source", "compiled", "folder"]

CACHE_VARIABLE: Final = "ONEREAD_CACHE"
_HASH_BYTES: Final = hashlib.sha256().digest_size
#: Counts the changes of what is not hashed: how this module calls the compiler.
_FORMAT: Final = b"1"


class Source:
    """The text of a kernel and of the headers that it may include."""

    def __init__(self, name: str, text: str, headers: Mapping[str, str]) -> None:
        self.name = name
        self.text = text
        self.headers = dict(headers)
        parts = [name, text, *(part for item in sorted(headers.items()) for part in item)]
        self.digest = hashlib.sha256("\0".join(parts).encode()).digest()


def folder() -> Path:
    """Return where compiled kernels are kept.

    ``ONEREAD_CACHE`` names it; else it is ``oneread`` in the user's folder for caches.
    """
    if named := os.environ.get(CACHE_VARIABLE, "").strip():
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME", "").strip()
    return Path(home or Path.home() / ".cache") / "oneread"


def compiled(
    source: Source, target: str, defines: Mapping[str, int], options: Sequence[str] = ()
) -> bytes:
    """Return the machine code of a source, compiled if it is not there.

    Raises
    ------
    BackendUnavailableError
        When NVRTC is not there or does not know the target.
    KernelCompileError
        When it refuses the source; carries its log.
    """
    path = folder() / f"{_key(source, target, defines, options)}.cubin"
    code = _read(path)
    if code is None:
        code = nvrtc.compile_cubin(
            source.text,
            target,
            name=source.name,
            defines=defines,
            headers=source.headers,
            options=options,
        ).code
        _write(path, code)
    return code


def _key(source: Source, target: str, defines: Mapping[str, int], options: Sequence[str]) -> str:
    said = repr((target, sorted(defines.items()), list(options), nvrtc.version()))
    return hashlib.sha256(_FORMAT + source.digest + said.encode()).hexdigest()


def _read(path: Path) -> bytes | None:
    try:
        held = path.read_bytes()
    except OSError:
        return None
    said, code = held[:_HASH_BYTES], held[_HASH_BYTES:]
    return code if code and hashlib.sha256(code).digest() == said else None


def _write(path: Path, code: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        place, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    except OSError:
        return
    try:
        with os.fdopen(place, "wb") as file:
            file.write(hashlib.sha256(code).digest() + code)
        os.replace(name, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
