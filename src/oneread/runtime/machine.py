"""Facts of this machine, as far as Linux tells them: processor, caches, memory, load.

Knows nothing of the package. No name of the machine and no path is among them.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_CPU: Final = Path("/sys/devices/system/cpu/cpu0")
_UNITS: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def cpu_name() -> str:
    """Return what the processor calls itself."""
    names = list(_fields("/proc/cpuinfo", "model name"))
    return names[0] if names else platform.processor() or "unknown"


def cores() -> int:
    """Return how many processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def caches() -> dict[str, int]:
    """Return the size in bytes of each cache that the first processor uses, by name: L1d, L2."""
    found = {}
    for folder in sorted((_CPU / "cache").glob("index*")):
        level, kind, size = (_text(folder / name) for name in ("level", "type", "size"))
        if size and size[-1] in _UNITS and kind != "Instruction":
            suffix = "d" if kind == "Data" and level == "1" else ""
            found[f"L{level}{suffix}"] = int(size[:-1]) * _UNITS[size[-1]]
    return found


def memory_bytes(which: str = "MemTotal") -> int | None:
    """Return a line of the system's account of memory, in bytes; None where it has none."""
    sizes = [int(text.split()[0]) * 1024 for text in _fields("/proc/meminfo", which)]
    return sizes[0] if sizes else None


def governor() -> str | None:
    """Return how the clock of the first processor is governed, where that can be read."""
    return _text(_CPU / "cpufreq/scaling_governor")


def huge_pages() -> str | None:
    """Return when memory comes in huge pages: always, madvise or never."""
    text = _text(Path("/sys/kernel/mm/transparent_hugepage/enabled")) or ""
    return text.partition("[")[2].partition("]")[0] or None


def load_average() -> float | None:
    """Return how many processes wanted to run in the last minute."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None


def _fields(path: str, name: str) -> Iterator[str]:
    """Yield what stands behind a name in a file of lines ``name : text``."""
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                head, _, text = line.partition(":")
                if head.strip() == name:
                    yield text.strip()
    except OSError:
        return
