"""Facts of the machine are numbers and words, never names of hosts."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from oneread.runtime import machine

linux = pytest.mark.skipif(platform.system() != "Linux", reason="/proc and /sys are Linux's")


def test_processor_has_a_name() -> None:
    assert machine.cpu_name() not in ("", platform.node())


def test_cores_are_those_of_this_process() -> None:
    assert 1 <= machine.cores() <= (os.cpu_count() or 1)


@linux
def test_memory_in_bytes() -> None:
    total, free = machine.memory_bytes(), machine.memory_bytes("MemAvailable")
    assert total is not None
    assert free is not None
    assert 1 << 20 < free < total
    assert machine.memory_bytes("NoSuchLine") is None


def test_caches_of_a_processor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kinds = (("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2048K"))
    for i, texts in enumerate((*kinds, ("3", "Unified", "480M"), ("4", "Unified", ""))):
        folder = tmp_path / "cache" / f"index{i}"
        folder.mkdir(parents=True)
        for name, text in zip(("level", "type", "size"), texts, strict=True):
            (folder / name).write_text(text + "\n", "ascii")
    monkeypatch.setattr(machine, "_CPU", tmp_path)
    assert machine.caches() == {"L1d": 48 << 10, "L2": 2 << 20, "L3": 480 << 20}
    assert machine.governor() is None


def test_machine_that_tells_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "_CPU", tmp_path / "nothing")
    assert machine.caches() == {}
    assert machine.governor() is None


@linux
def test_huge_pages_are_one_word() -> None:
    assert machine.huge_pages() in ("always", "madvise", "never", None)
