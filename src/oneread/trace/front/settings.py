"""What a run of the front end is told: which kernel, which macros, how far to go.

Knows no text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a source may be before it is refused, each with a message that names it."""

    source_bytes: int = 65_536
    #: Brackets, blocks, operators and member accesses within each other.
    nesting: int = 200
    #: Macros within macros.
    macro_depth: int = 32
    #: Files that include files.
    include_depth: int = 32
    #: Files included.
    files: int = 100
    #: Tokens after macros are expanded.
    tokens: int = 100_000
    #: Errors that are shown of one file.
    errors: int = 20
    #: Functions made from templates.
    instances: int = 200


@dataclass(frozen=True, slots=True)
class Settings:
    """Options of a run.

    Parameters
    ----------
    kernel : str
        Name of the kernel, with template arguments where it needs some (``softmax<32>``); may be
        empty where the file has one kernel.
    defines : mapping of str to str
        Macros of the command line.
    folders : sequence of Path
        Where ``#include "file"`` is looked for.
    limits : Limits
        How large a source may be.
    """

    kernel: str = ""
    defines: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    folders: tuple[Path, ...] = ()
    limits: Limits = field(default_factory=Limits)
