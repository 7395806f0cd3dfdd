"""Claims hold for the builds that they hold for, and a mistaken claim is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from oneread.runtime import nvrtc
from oneread.sass import Build, MachineCodeError, analyse, compile_source
from oneread.sass.checking import PRELUDE, find_sources
from oneread.sass.claims import read_claims
from oneread.sass.decode.instruction import Program
from oneread.sass.read import nvdisasm
from oneread.sass.summary import Summary, summarise
from oneread.source.text import SourceText

needs_tools = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)

HERE = Path(__file__).parent
CLAIMS = read_claims((HERE / "claims.toml").read_text("utf-8"))
OLD = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90")
#: Claims by their number that fail, for fast and for default maths, on old and on new targets.
FAILING = {
    (True, True): {5, 13},
    (True, False): {5, 11, 13},
    (False, True): {5, 6, 11, 12, 13},
    (False, False): {5, 6, 7, 11, 12, 13},
}


@cache
def summary(arch: str, fast_math: bool) -> Summary:
    (kernel,) = find_sources((HERE / "note.md").read_text("utf-8"))
    code = compile_source(SourceText("note.cu", PRELUDE + kernel), Build(arch, fast_math))
    return summarise(analyse(code.kernel()))


@needs_tools
@pytest.mark.parametrize("fast_math", [True, False])
@pytest.mark.parametrize("arch", nvrtc.TARGETS)
def test_claims_of_the_note_hold_where_they_do(arch: str, fast_math: bool) -> None:
    found = summary(arch, fast_math)
    failing = {number for number, one in enumerate(CLAIMS, 1) if not one.holds(found)}
    assert failing == FAILING[fast_math, arch in OLD]


@needs_tools
@pytest.mark.parametrize("arch", ["sm_100", "sm_120"])
def test_new_targets_unroll_the_first_pass_to_eight(arch: str) -> None:
    first, second = summary(arch, True).ladders
    assert first.endswith(": 8L 4 2 1")
    assert second.endswith(": 16L 8 4 1L")


def test_word_stands_for_an_entry_without_its_count(assemble: Callable[..., Program]) -> None:
    found = summarise(analyse(assemble("FMNMX R0, R1, R2, !PT\nSTG.E [R2.64], R0\nEXIT")))
    assert found.maximum == ("1 FMNMX",)
    text = '[[claims]]\nsentence = "s"\nproperty = "maximum"\nexpected = {}\n'
    for expected, holds in (('"FMNMX"', True), ('"MNMX"', False), ('["1 FMNMX"]', True)):
        (claim,) = read_claims(text.format(expected))
        assert claim.holds(found) == holds


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = ", "claims: Invalid value"),
        ("x = 1", r"claims: has no \[\[claims\]\]"),
        ('[[claims]]\nsentence = "s"', "claims, claim 1: has to have sentence, property, expected"),
        (
            '[[claims]]\nsentence = "s"\nproperty = "colour"\nexpected = 1',
            "claims, claim 1: no property 'colour'; there are accumulators, barriers",
        ),
    ],
)
def test_mistaken_claims_are_refused(text: str, why: str) -> None:
    with pytest.raises(MachineCodeError, match=why):
        read_claims(text)
