"""Claims hold for the builds that they hold for, and a mistaken claim is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from oneread.runtime import nvrtc
from oneread.sass import Build, MachineCodeError, analyse
from oneread.sass.checking import Checked, check_note
from oneread.sass.claims import read_claims
from oneread.sass.decode.instruction import Program
from oneread.sass.read import nvdisasm
from oneread.sass.summary import summarise

needs_tools = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)

HERE = Path(__file__).parent
NOTE = (HERE / "note.md").read_text("utf-8")
CLAIMS = read_claims((HERE / "claims.toml").read_text("utf-8"))
BUILDS = [Build(arch, fast) for fast in (True, False) for arch in nvrtc.TARGETS]
OLD = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90")
#: Claims by their number that fail, for fast and for default maths, on old and on new targets.
FAILING = {
    (True, True): {5, 12},
    (True, False): {5, 9, 10, 12},
    (False, True): {5, 6, 9, 10, 11, 12, 13},
    (False, False): {5, 6, 7, 9, 10, 11, 12, 13},
}
#: Claims that hold where the line that is quoted for them is another one.
OTHERWISE = {
    ("sm_75", True): {9},
    **{(arch, False): {4, 7} for arch in OLD},
    **{(arch, False): {4} for arch in ("sm_100", "sm_120")},
}
#: Seconds of the processor that all builds of a note may take, so that 2 cores need no more.
LIMIT_S = 60


@cache
def checked() -> tuple[Checked, float]:
    """Check the note for all targets and maths; return what came of it and how long it took."""
    start = sum(os.times()[:4])  # ours and that of the disassembler, which is a child
    found = check_note(NOTE, BUILDS)
    return found, sum(os.times()[:4]) - start


@needs_tools
@pytest.mark.parametrize("build", BUILDS, ids=lambda build: f"{build.arch}-{build.fast_math}")
def test_claims_of_the_note_hold_where_they_do(build: Build) -> None:
    (tried,) = [one for one in checked()[0].tried if one.build == build]
    verdicts = {number: tried.verdict(one) for number, one in enumerate(CLAIMS, 1)}
    failing = {number for number, verdict in verdicts.items() if verdict == "fails"}
    assert failing == FAILING[build.fast_math, build.arch in OLD]
    otherwise = {number for number, verdict in verdicts.items() if verdict == "otherwise"}
    assert otherwise == OTHERWISE.get((build.arch, build.fast_math), set())


@needs_tools
def test_note_is_checked_for_all_builds_within_a_minute() -> None:
    found, took = checked()
    assert len(found.tried) == len(BUILDS)
    assert len(CLAIMS) == 13
    assert took < LIMIT_S


@needs_tools
@pytest.mark.parametrize("arch", ["sm_100", "sm_120"])
def test_new_targets_unroll_the_first_pass_to_eight(arch: str) -> None:
    (tried,) = [one for one in checked()[0].tried if one.build == Build(arch, True)]
    first, second = tried.summary.ladders
    assert first.endswith(": 8L 4 2 1")
    assert second.endswith(": 16L 8 4 1L")
    assert (tried.summary.first_pass, tried.summary.first_trip) == ((8, 4, 2, 1), 8)


def test_word_stands_for_an_entry_without_its_count(assemble: Callable[..., Program]) -> None:
    found = summarise(analyse(assemble("FMNMX R0, R1, R2, !PT\nSTG.E [R2.64], R0\nEXIT")))
    assert found.maximum == ("1 FMNMX",)
    text = '[[claims]]\nsentence = "s"\nexpect.maximum = {}\n'
    for expected, holds in (('"FMNMX"', True), ('"MNMX"', False), ('["1 FMNMX"]', True)):
        (claim,) = read_claims(text.format(expected))
        assert claim.failing(found) == (() if holds else ("maximum",))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = ", "claims: Invalid value"),
        ("x = 1", r"claims: has no \[\[claims\]\]"),
        ('[[claims]]\nsentence = "s"', "claims, claim 1: has to have sentence, expect, perhaps"),
        ('[[claims]]\nsentence = "s"\nexpect = 1', "claim 1: expect is no table of properties"),
        (
            '[[claims]]\nsentence = "s"\nexpect.colour = 1',
            "claims, claim 1: no property 'colour'; there are accumulators, barriers",
        ),
    ],
)
def test_mistaken_claims_are_refused(text: str, why: str) -> None:
    with pytest.raises(MachineCodeError, match=why):
        read_claims(text)
