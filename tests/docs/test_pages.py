"""The pages tell the truth: examples run, links lead somewhere, commands exist."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
import subprocess
import sysconfig
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def run_block(text: str, names: dict[str, Any], where: str, line: int) -> None:
    """Run a block in `names`: as a doctest when it has prompts, as a program otherwise."""
    if ">>> " not in text:
        exec(compile("\n" * (line - 1) + text, where, "exec"), names)
        return
    example = doctest.DocTestParser().get_doctest(text, names, where, where, line)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(example, out=report.append, clear_globs=False)
    names.update(example.globs)
    assert not report, "".join(report)


def test_examples_run(page: Path, markdown: ModuleType) -> None:
    names: dict[str, Any] = {}
    blocks = markdown.blocks(page.read_text("utf-8"))
    code = [block for block in blocks if block.language == "python"]
    if any("import torch" in block.text for block in code):
        pytest.importorskip("torch", reason="an example uses PyTorch")
    for block in code:
        run_block(block.text, names, page.name, block.line)


def test_no_block_is_empty(page: Path, markdown: ModuleType) -> None:
    empty = [
        block.line for block in markdown.blocks(page.read_text("utf-8")) if not block.text.strip()
    ]
    assert empty == []


def test_links_lead_to_files_and_headings(page: Path, markdown: ModuleType) -> None:
    for link in markdown.links(page.read_text("utf-8")):
        if link.startswith(("http://", "https://")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        if anchor:
            assert anchor in markdown.anchors(target.read_text("utf-8")), link


def test_every_page_can_be_reached(markdown: ModuleType) -> None:
    seen: set[Path] = set()
    todo = [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        links = markdown.links(page.read_text("utf-8"))
        todo += [(page.parent / link.partition("#")[0]).resolve() for link in links]
    assert set(ROOT.glob("docs/**/*.md")) <= seen


def check_make(words: list[str]) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert [word for word in words if "=" not in word and word not in targets] == []


@cache
def help_of(*names: str) -> str:
    program = shutil.which("oneread", path=sysconfig.get_path("scripts"))
    assert program, "the command oneread is installed"
    environment = {"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"}
    words = [program, *names, "--help"]
    said = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    return said.stdout


def check_oneread(words: list[str]) -> None:
    names = [word for word in words[:2] if word.isalpha()]
    told = help_of(*(names if words[0] in ("bench", "sass") else names[:1]))
    for option in (word.partition("=")[0] for word in words if word.startswith("--")):
        assert re.search(rf"{option}\b", told), option


def test_commands_exist(page: Path, markdown: ModuleType) -> None:
    for command in markdown.commands(page.read_text("utf-8")):
        words = [word for word in shlex.split(command) if not re.match(r"[A-Z_]+=", word)]
        if words[0] in (".venv/bin/oneread", ".venv/bin/python"):
            words[0] = words[0].removeprefix(".venv/bin/")
        if words[0] == "make":
            check_make(words[1:])
        elif words[0] == "oneread":
            check_oneread(words[1:])
        elif "/" in words[0]:
            assert words[0].startswith(".venv/bin/"), command
        else:
            assert words[0] in ("python", "bash"), command
        for word in words[1:]:
            if re.match(r"(examples|tools|\.ci)/", word):
                assert (ROOT / word).exists(), command


def test_files_in_commands_are_there_or_were_written_before(
    page: Path, markdown: ModuleType
) -> None:
    written: set[str] = set()
    for command in markdown.commands(page.read_text("utf-8")):
        words = shlex.split(command)
        made = {after for word, after in pairwise(words) if word in ("--out", "-o", "--html")}
        for word in words[1:]:
            if re.fullmatch(r"[\w./-]+\.(cu|npy|npz|jsonl?|sass|toml|md|html|safetensors)", word):
                assert word in written | made or (ROOT / word).is_file(), command
        written |= made


def test_demo_in_the_readme_is_the_committed_screen() -> None:
    lines = (ROOT / "benchmarks/results/demo.txt").read_text("utf-8").splitlines(keepends=True)
    screen = "".join(line for line in lines if not line.startswith("#"))
    assert "oneread" in screen
    assert f"```text\n{screen}```" in (ROOT / "README.md").read_text("utf-8")
