"""What the machine code of the gallery does, for seven targets and both kinds of maths.

Assertions as other people's tests would make them, and facts against what is written by hand.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oneread.runtime import nvrtc
from oneread.sass import Analysis, SassAssertion
from oneread.sass.read import nvdisasm
from oneread.source.arithmetic import integer
from oneread.source.catalogue import read_catalogue

pytestmark = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)

CATALOGUE = read_catalogue()
EXPECTED: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("gallery.toml").read_text("utf-8")
)
MODES = [True, False]


@pytest.fixture
def analyses(
    of_gallery: Callable[..., SassAssertion], target: str, fast_math: bool
) -> dict[str, Analysis]:
    """Return what is known of each kernel for one build."""
    return {key: of_gallery(key, target, fast_math).analysis for key in CATALOGUE.kernels}


def accumulators(analysis: Analysis) -> set[str]:
    return {
        one.kind + ("*" if one.rescales else "") + ("@shared" if one.is_shared else "")
        for one in analysis.accumulators
    }


def test_expectations_are_about_the_whole_gallery() -> None:
    assert EXPECTED.keys() == CATALOGUE.kernels.keys()


@pytest.mark.parametrize("fast_math", MODES)
@pytest.mark.parametrize("target", nvrtc.TARGETS)
class TestGallery:
    def test_accumulators_are_found(self, analyses: dict[str, Analysis]) -> None:
        for key, analysis in analyses.items():
            assert accumulators(analysis) == set(EXPECTED[key]["accumulators"]), key

    def test_reductions_are_found(self, analyses: dict[str, Analysis]) -> None:
        for key, analysis in analyses.items():
            found = [f"{one.form} {'+'.join(one.operations)}" for one in analysis.reductions]
            assert list(dict.fromkeys(found)) == EXPECTED[key]["reductions"], key

    def test_exponentials_are_those_of_the_maths(
        self, analyses: dict[str, Analysis], fast_math: bool
    ) -> None:
        for key, analysis in analyses.items():
            forms = {one.form for one in analysis.exponentials}
            has_any = CATALOGUE.kernels[key].exps != "0"
            assert forms == ({"fast" if fast_math else "libm"} if has_any else set()), key

    def test_divisions_are_those_of_the_maths(
        self, analyses: dict[str, Analysis], fast_math: bool
    ) -> None:
        names = {"float": "fast" if fast_math else "division", "integer": "integer"}
        for key, analysis in analyses.items():
            expected = {names[one] for one in EXPECTED[key]["divides"]}
            assert {one.form for one in analysis.divisions} == expected, key

    def test_assertions_hold(
        self, of_gallery: Callable[..., SassAssertion], target: str, fast_math: bool
    ) -> None:
        usual = ["FMNMX", "FMNMX3"] if target == "sm_100" else ["FMNMX"]
        for key, expected in EXPECTED.items():
            entry = CATALOGUE.kernels[key]
            block = integer(entry.block, entry.bench_defines)
            checked = of_gallery(key, target, fast_math)
            checked.vector_load(expected.get("load_bytes", 4)).registers(64)
            checked.blocks_per_sm(512 // block, block)
            checked.mufu_per_element(expected["mufu"][not fast_math])
            checked.no_spills()
            local = any(one.space == "local" for one in checked.analysis.accesses)
            assert local == expected.get("local", False), key
            if "no shared memory" in CATALOGUE.path(key).read_text("utf-8"):
                checked.no_shared().barriers(0)
            if entry.exps != "0":
                checked.exp("fast" if fast_math else "libm")
            if fast_math:
                checked.no_slow_division()
            if forms := expected.get("max_op", usual):
                checked.max_op(*forms)

    def test_assertions_of_what_is_not_so_fail(
        self, of_gallery: Callable[..., SassAssertion], target: str, fast_math: bool
    ) -> None:
        checked = of_gallery("top_k", target, fast_math)
        for claim in (
            checked.no_shared,
            lambda: checked.barriers(0),
            lambda: checked.vector_load(16),
            lambda: checked.exp("fast"),
            lambda: checked.max_op("FMNMX"),
            lambda: checked.registers(8),
        ):
            with pytest.raises(AssertionError, match=f"top_k for {target}"):
                claim()

    def test_maxima_are_taken_as_the_source_says(
        self, analyses: dict[str, Analysis], target: str
    ) -> None:
        single = analyses["online_softmax_single_thread"]
        assert {one.form for one in single.choices} == {"FSETP+FSEL"}
        three = "FMNMX3" if target == "sm_100" else "FMNMX"
        safe = analyses["safe_softmax"]
        assert {one.form for one in safe.choices} == {"FMNMX", three}

    def test_every_opcode_is_known(self, analyses: dict[str, Analysis]) -> None:
        for key, analysis in analyses.items():
            assert analysis.unknown == {}, key
