"""What Triton made of the kernels in `triton/kernels.py`, read from a folder of its cache."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from oneread.sass import Analysis, SassAssertion, analyse, assert_sass, open_code
from oneread.sass.read import nvdisasm
from oneread.sass.story.telling import tell
from oneread.sass.story.words import LANGUAGES, sentence

pytestmark = pytest.mark.skipif(
    not nvdisasm.available(), reason="nvdisasm is not installed: pip install oneread[sass]"
)

CACHE = Path(__file__).with_name("triton") / "cache"
SOURCE = CACHE.with_name("kernels.py").read_text("utf-8").splitlines()


@cache
def analysis(name: str) -> Analysis:
    return analyse(open_code(CACHE).kernel(name))


def test_folder_has_both_kernels() -> None:
    code = open_code(CACHE)
    assert {one.name for one in code.programs} == {"softmax_row", "online_logsumexp"}
    assert {one.arch for one in code.programs} == {"sm_86"}


@pytest.mark.parametrize("name", ["softmax_row", "online_logsumexp"])
def test_every_opcode_is_known_and_the_story_told(name: str) -> None:
    assert analysis(name).unknown == {}
    code = open_code(CACHE)
    assert all(section.statements for section in tell(code, analysis(name)))


def test_row_in_registers_is_reduced_by_shuffles() -> None:
    found = analysis("softmax_row")
    assert [(one.form, one.operations) for one in found.reductions] == [
        ("shuffle", ("max",)),
        ("shuffle", ("max",)),
        ("shuffle", ("sum",)),
        ("shuffle", ("sum",)),
    ]
    assert found.graph.loops == ()


def test_row_in_registers_takes_an_exponential_an_element() -> None:
    # 1024 columns of 128 lanes.
    assert [one.form for one in analysis("softmax_row").exponentials] == ["guarded"] * 8


def test_online_loop_carries_a_maximum_and_a_sum_for_each_column_of_a_lane() -> None:
    found = analysis("online_logsumexp")
    kinds = [(one.kind, bool(one.rescales)) for one in found.accumulators]
    assert sorted(kinds) == [("max", False)] * 8 + [("sum", True)] * 8
    assert {one.initial.text for one in found.accumulators if one.initial} == {"-1e+30", "0"}


def test_values_that_are_carried_alike_are_told_together() -> None:
    told = tell(open_code(CACHE), analysis("online_logsumexp"))
    carried = [
        sentence(one, language)
        for language in LANGUAGES
        for section in told
        if section.id == "accumulators"
        for one in section.statements
    ]
    assert len(carried) == 2 * len(LANGUAGES)
    assert re.match(r"Each of (R\d+, ){3}R\d+ and 4 more carries the running maximum", carried[0])
    assert re.match(r"(R\d+, ){3}R\d+ 외 4개의 각 register는", carried[2])


def test_loads_of_the_loop_are_those_of_its_line() -> None:
    (ladder,) = analysis("online_logsumexp").ladders
    assert [(rung.elements, rung.loop is not None) for rung in ladder.rungs] == [(8, True)]
    assert ladder.line is not None
    assert "tl.load" in SOURCE[ladder.line - 1]


def test_kernel_of_triton_can_be_asserted() -> None:
    checked = SassAssertion(analysis("online_logsumexp"))
    checked.no_spills().barriers(3).max_op("FMNMX").exp("guarded").mufu_per_element(2)
    with pytest.raises(AssertionError, match="24 exponentials are guarded, not fast"):
        assert_sass(CACHE, name="online_logsumexp").exp("fast")
