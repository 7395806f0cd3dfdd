"""The gallery's pages are what the catalogue and the kernels give, and the course is complete."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from oneread.bench.gallery import entries
from oneread.source.catalogue import gallery_folder
from oneread.trace.gallery import run_kernel

ROOT = Path(__file__).resolve().parents[2]
KERNELS = entries.catalogue().kernels
FAULTS = [key for key in KERNELS if key.startswith("zoo_") and KERNELS[key].mended]
GALLERY, ZOO = ROOT / "docs/gallery.md", ROOT / "docs/fault-zoo.md"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return ``tools/gallery_docs.py``, asked to check."""
    spec = importlib.util.spec_from_file_location("gallery_docs", ROOT / "tools/gallery_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sys, "argv", ["gallery_docs.py", "--check"])
    return module


def test_pages_are_made_from_the_gallery(tool: ModuleType) -> None:
    assert tool.main() == 0


def test_changed_page_is_found_and_mended(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = [tmp_path / page.name for page in tool.PAGES]
    for page, copy in zip(tool.PAGES, copies, strict=True):
        shutil.copy(page, copy)
    right = copies[1].read_text("utf-8")
    copies[1].write_text(right.replace("+    __syncthreads();", "-    __syncthreads();"), "utf-8")
    monkeypatch.setattr(tool, "PAGES", tuple(copies))
    assert tool.main() == 1
    monkeypatch.setattr(sys, "argv", ["gallery_docs.py"])
    assert tool.main() == 0
    assert copies[1].read_text("utf-8") == right


def test_every_kernel_is_in_the_tables() -> None:
    page = GALLERY.read_text("utf-8")
    shown = set(re.findall(r"^\| \[`(\w+)`\]", page, re.MULTILINE))
    assert shown == {k for k in KERNELS if not k.startswith("zoo_") or KERNELS[k].mended}
    assert all(f"| `{key}` |" in page for key in entries.catalogue().sequences)


def test_every_field_of_the_catalogue_is_explained() -> None:
    page = GALLERY.read_text("utf-8").partition("## The catalogue")[2]
    table = tomllib.loads((gallery_folder() / "gallery.toml").read_text("utf-8"))
    fields = {name for kernel in table["kernels"].values() for name in kernel} - {"defines"}
    assert [name for name in fields if f"`{name}`" not in page] == []
    truths = {name for kernel in KERNELS.values() for name in kernel.truth.values()}
    assert [name for name in truths if f"`{name}`" not in page] == []


def test_every_clause_that_is_broken_is_in_the_contract() -> None:
    contract = GALLERY.read_text("utf-8").partition("## The contract")[2]
    broken = {clause for kernel in KERNELS.values() for clause in kernel.breaks}
    assert [clause for clause in broken if f"(*{clause}*)" not in contract] == []


@pytest.mark.parametrize("key", FAULTS)
def test_fault_has_task_hint_proof_and_fix(key: str) -> None:
    page = ZOO.read_text("utf-8")
    number = FAULTS.index(key) + 1
    section = page.partition(f"\n## {number}. ")[2].partition("\n## ")[0]
    parts = (
        f"Find it in [`{key}.cu`]", "<details><summary>Hint</summary>", f"### Proof of {number}",
        f"gallery:proof {key} ", f"### Fix of {number}", f"gallery:fix {key} ",
    )  # fmt: skip
    places = [section.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("key", FAULTS)
def test_proof_names_every_error_and_warning_of_its_launches(tool: ModuleType, key: str) -> None:
    said = tool.proof(key).partition("It finds ")[2].removesuffix(".").split("; then ")
    launches = list(dict.fromkeys(tool.command(key, fault) for fault in KERNELS[key].faults))
    assert len(said) == len(launches)
    for fault in KERNELS[key].faults:
        shown = said[launches.index(tool.command(key, fault))]
        found = run_kernel(key, tool.launch(fault)).faults
        serious = {f"`{one.id}`" for one in found if one.severity != "note"}
        assert serious <= set(re.findall(r"`[\w-]+`", shown))
        assert ("warning" in shown) == any(one.severity == "warning" for one in found)


@pytest.mark.parametrize("key", FAULTS)
def test_fix_brings_the_headers_that_it_needs(tool: ModuleType, key: str) -> None:
    ours, twins = (
        set(re.findall(r"#include .*", entries.source(one))) for one in (key, KERNELS[key].mended)
    )
    changed = tool.fix(key).splitlines()
    assert [line for line in twins - ours if f"+{line}" not in changed] == []


@pytest.mark.parametrize("key", FAULTS)
def test_fix_changes_a_few_lines(tool: ModuleType, key: str) -> None:
    changed = [line for line in tool.fix(key).splitlines() if re.match(r"[+-] ", line)]
    assert 1 <= len(changed) <= 9
