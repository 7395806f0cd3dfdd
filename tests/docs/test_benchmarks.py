"""The tables of the pages are what the committed records give."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_tables_are_made_from_the_committed_records() -> None:
    said = subprocess.run(
        [sys.executable, "tools/bench_docs.py", "--check"], cwd=ROOT, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stdout + said.stderr


def test_both_pages_have_tables() -> None:
    for page in ("README.md", "docs/benchmarks.md"):
        text = (ROOT / page).read_text("utf-8")
        block = text.partition("<!-- bench:summary -->")[2].partition("<!-- bench:end -->")[0]
        assert "| softmax |" in block, page
