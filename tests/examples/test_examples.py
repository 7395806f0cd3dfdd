"""The examples run at small sizes, and both ways of each give the same."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the examples are PyTorch's")
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="memory is asked of Linux"
)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NUMBER = r"(-?\d+\.\d+)"
MEASURED = re.compile(rf"^(?:before|after) +{NUMBER} ms +{NUMBER} MiB$", re.MULTILINE)


def said_by(name: str, *options: str) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), "--vocab", "1000", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("policy_gradient.py", ["--sequences", "2", "--length", "5", "--width", "8"]),
        ("distill.py", ["--positions", "8", "--top-k", "5"]),
    ],
)
def test_step_before_and_after_has_one_loss(name: str, options: list[str]) -> None:
    said = said_by(name, *options)
    assert len(MEASURED.findall(said)) == 2
    found = re.search(rf"loss +{NUMBER} and {NUMBER}", said)
    assert found
    before, after = map(float, found.groups())
    assert abs(before - after) <= 2e-6  # in units of what is printed


def test_generated_tokens_are_the_same_before_and_after() -> None:
    said = said_by("generate.py", "--rows", "3", "--count", "4", "--top-k", "5")
    assert len(MEASURED.findall(said)) == 2
    assert "12 of 1000, 100% the same" in said
