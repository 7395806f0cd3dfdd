"""Advice is proved: what is changed still computes the same, and the code says what it saves."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from oneread.runtime import nvrtc
from oneread.sass import Build, Code, MachineCodeError, Program, analyse, open_code
from oneread.sass.advice.advising import Example, Proof, examples, prove
from oneread.sass.advice.changes import exponentials, quotients, ternaries
from oneread.sass.advice.edits import applied
from oneread.sass.read import nvdisasm
from oneread.source.catalogue import read_catalogue
from oneread.source.text import SourceText
from oneread.trace import Case
from oneread.trace.gallery import case_of
from oneread.trace.sources import Source

CATALOGUE = read_catalogue()
needs_tools = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)


@cache
def opened(key: str, fast_math: bool) -> Code:
    return open_code(key, Build("sm_86", fast_math))


@cache
def proofs(key: str, fast_math: bool) -> dict[str, Proof]:
    return {one.id: one for one in prove(opened(key, fast_math))}


@cache
def shown(key: str, fast_math: bool) -> dict[str, Example]:
    analysis = analyse(opened(key, fast_math).kernel())
    return {one.id: one for one in examples(analysis, Build("sm_86", fast_math))}


def saved(proof: Proof) -> float:
    assert proof.after is not None
    assert proof.before.each is not None
    assert proof.after.each is not None
    return proof.before.each - proof.after.each


@needs_tools
def test_fmaxf_takes_one_instruction_an_element_less() -> None:
    proof = proofs("online_softmax_single_thread", True)["ternary"]
    assert saved(proof) == 1.0
    assert proof.diff[0][1].startswith("const float m_new = fmaxf(m, v);")


@needs_tools
@pytest.mark.parametrize("key", ["online_softmax_single_thread", "online_softmax_warp"])
def test_reciprocal_leaves_no_division_in_a_loop(key: str) -> None:
    proof = proofs(key, False)["reciprocal"]
    assert proof.before.divisions_in_loops > 0
    assert proof.after is not None
    assert proof.after.divisions_in_loops == 0
    assert saved(proof) > 4


@needs_tools
def test_powers_of_two_fold_the_product_into_the_difference() -> None:
    # Two passes with an exponential an element: FADD and FMUL become one FFMA in each.
    assert saved(proofs("safe_softmax_tiled", True)["exp2"]) == 2.0


@needs_tools
def test_division_that_the_compiler_took_out_of_the_loop_is_left_alone() -> None:
    assert "reciprocal" not in proofs("online_softmax_lane", True)


@needs_tools
def test_change_that_the_compiler_refuses_is_shown_with_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(
        "__global__ void k(const float* x, float* y) {\n"
        "    const int fmaxf = 0;\n"
        "    y[fmaxf] = x[0] > x[1] ? x[0] : x[1];\n"
        "}\n"
    )
    (proof,) = prove(open_code(path))
    assert proof.after is None
    assert "k.cu(3): error" in proof.refusal


@needs_tools
def test_what_a_kernel_does_is_no_advice() -> None:
    assert shown("online_softmax_warp", True) == {}
    assert shown("safe_softmax_tiled", True).keys() == {"wide-loads"}
    assert shown("online_softmax", True).keys() == {"wide-loads", "one-rescale"}


@needs_tools
def test_kernels_of_the_gallery_show_code_and_times() -> None:
    example = shown("online_softmax", True)["wide-loads"]
    assert example.kernels == ("online_softmax_lane", "online_softmax_warp")
    assert (example.before.load_bytes, example.after.load_bytes) == (4, 16)
    by_shape = {(one.rows, one.vocab): one for one in example.took}
    assert by_shape[16384, 8192].after_us < by_shape[16384, 8192].before_us


def test_machine_code_alone_is_refused() -> None:
    program = Program("k", "sm_86", ())
    with pytest.raises(MachineCodeError, match="advice is for a source"):
        list(prove(Code("k.sass", (program,))))


def changeable() -> Iterator[tuple[str, str]]:
    """Yield kernels that are right, with a source that a kind of change is made in."""
    for key, entry in CATALOGUE.kernels.items():
        if entry.truth and not entry.mended:
            source = SourceText(f"{key}.cu", CATALOGUE.path(key).read_text("utf-8"))
            for find in (ternaries, quotients, exponentials):
                if edits := [edit for change in find(source) for edit in change.edits]:
                    yield key, applied(source, edits).text


@pytest.mark.parametrize(
    ("key", "text"), [*changeable()], ids=lambda value: value[:40].split("\n")[0]
)
def test_changed_kernel_computes_the_same(key: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / f"{key}.cu"
    path.write_text(text)
    case = case_of(CATALOGUE.kernels[key], Case(rows=2, vocab=250))
    run = Source(path, defines=case.defines, limits=case.limits).launch(case)
    assert run.worst() in (None, "note", "warning"), run.faults
