"""What the machine code of the gallery does, for seven targets and both kinds of maths.

All kernels are compiled as one source, so that a target takes one run of each tool.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from oneread.runtime import nvrtc
from oneread.sass import Analysis, Build, analyse, compile_source
from oneread.sass.read import nvdisasm
from oneread.source.arithmetic import integer
from oneread.source.catalogue import read_catalogue
from oneread.source.text import SourceText

pytestmark = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)

CATALOGUE = read_catalogue()
EXPECTED: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("gallery.toml").read_text("utf-8")
)
MODES = [True, False]
#: Kernels whose exponentials are not those of loops over x alone.
NOT_BY_LOOPS = {"online_merge", "online_softmax_lane"}


def whole_gallery() -> SourceText:
    """Return the gallery as one source, each kernel with its macros in a namespace of its own."""
    pieces = []
    for key, entry in CATALOGUE.kernels.items():
        macros = entry.bench_defines
        pieces += [f"#define {name} {value}" for name, value in macros.items()]
        text = CATALOGUE.path(key).read_text("utf-8")
        includes = [line for line in text.splitlines() if line.startswith("#include")]
        rest = [line for line in text.splitlines() if not line.startswith("#include")]
        pieces += [*includes, f"namespace of_{key} {{", *rest, "}"]
        pieces += [f"#undef {name}" for name in macros]
    return SourceText("gallery.cu", "\n".join(pieces))


@cache
def analyses(target: str, fast_math: bool) -> dict[str, Analysis]:
    code = compile_source(whole_gallery(), Build(target, fast_math))
    return {program.name: analyse(program) for program in code.programs}


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
    def test_accumulators_are_found(self, target: str, fast_math: bool) -> None:
        for key, analysis in analyses(target, fast_math).items():
            assert accumulators(analysis) == set(EXPECTED[key]["accumulators"]), key

    def test_reductions_are_found(self, target: str, fast_math: bool) -> None:
        for key, analysis in analyses(target, fast_math).items():
            found = [f"{one.form} {'+'.join(one.operations)}" for one in analysis.reductions]
            assert list(dict.fromkeys(found)) == EXPECTED[key]["reductions"], key

    def test_exponentials_are_those_of_the_maths(self, target: str, fast_math: bool) -> None:
        for key, analysis in analyses(target, fast_math).items():
            forms = {one.form for one in analysis.exponentials}
            has_any = CATALOGUE.kernels[key].exps != "0"
            assert forms == ({"fast" if fast_math else "libm"} if has_any else set()), key

    def test_divisions_are_those_of_the_maths(self, target: str, fast_math: bool) -> None:
        names = {"float": "fast" if fast_math else "division", "integer": "integer"}
        for key, analysis in analyses(target, fast_math).items():
            expected = {names[one] for one in EXPECTED[key]["divides"]}
            assert {one.form for one in analysis.divisions} == expected, key

    def test_maxima_are_taken_as_the_source_says(self, target: str, fast_math: bool) -> None:
        single = analyses(target, fast_math)["online_softmax_single_thread"]
        assert {one.form for one in single.choices} == {"FSETP+FSEL"}
        three = "FMNMX3" if target == "sm_100" else "FMNMX"
        safe = analyses(target, fast_math)["safe_softmax"]
        assert {one.form for one in safe.choices} == {"FMNMX", three}

    def test_local_memory_is_used_for_lists_alone(self, target: str, fast_math: bool) -> None:
        for key, analysis in analyses(target, fast_math).items():
            is_local = any(one.space == "local" for one in analysis.accesses)
            assert is_local == EXPECTED[key].get("local", False), key

    def test_widest_load_is_that_of_the_source(self, target: str, fast_math: bool) -> None:
        for key, analysis in analyses(target, fast_math).items():
            widths = [one.lane_bytes for one in analysis.accesses if one.space == "global"]
            assert max(widths) == EXPECTED[key].get("load_bytes", 4), key

    def test_every_opcode_is_known(self, target: str, fast_math: bool) -> None:
        for key, analysis in analyses(target, fast_math).items():
            assert analysis.unknown == {}, key

    def test_loads_an_element_are_those_that_the_tracer_counts(
        self, target: str, fast_math: bool
    ) -> None:
        for key, analysis in analyses(target, fast_math).items():
            entry = CATALOGUE.kernels[key]
            loads = [one for one in analysis.ladders if one.space == "global" and not one.is_store]
            lines = {one.line for one in loads}
            if analysis.graph.loops and key != "online_merge":
                assert len(lines) == integer(entry.loads["x"], {}), key

    def test_exponentials_an_element_are_those_that_the_tracer_counts(
        self, target: str, fast_math: bool
    ) -> None:
        for key, analysis in analyses(target, fast_math).items():
            if key in NOT_BY_LOOPS:
                continue
            # Spans as long as can be, so that merging them adds nothing to an element.
            names = {**CATALOGUE.kernels[key].bench_defines, "k": 1, "SPAN": 1 << 30}
            exps = [
                integer(CATALOGUE.kernels[key].exps, {**names, "rows": 1, "vocab": vocab})
                for vocab in (1 << 20, 1 << 21)
            ]
            expected = (exps[1] - exps[0]) / (1 << 20)
            widest = [
                max((rung for rung in one.rungs if rung.loop), key=lambda rung: rung.elements)
                for one in analysis.ladders
                if not one.is_store
            ]
            found = sum(exponentials_each(analysis, rung.loop) for rung in widest)
            assert found == EXPECTED[key].get("exps", expected), key


def exponentials_each(analysis: Analysis, loop: Any) -> float:
    """Return the exponentials an element of a loop."""
    (work,) = [one for one in analysis.works if one.loop == loop]
    powers = {one.power.index for one in analysis.exponentials}
    return sum(one.index in powers for one in work.instructions) / work.elements
