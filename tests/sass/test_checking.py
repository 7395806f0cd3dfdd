"""Lines that a note quotes are found in the builds that they come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneread.runtime import nvrtc
from oneread.sass import Build, MachineCodeError, analyse, open_code
from oneread.sass.checking import (
    Checked,
    Quote,
    Tried,
    check_note,
    find_quotes,
    find_sources,
)
from oneread.sass.decode.decoding import decode
from oneread.sass.read import nvdisasm
from oneread.sass.read.listing import ListedInstruction, Listing
from oneread.sass.story.markdown import markdown
from oneread.sass.story.telling import tell
from oneread.sass.summary import summarise
from oneread.spec import KernelCompileError

needs_tools = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)

NOTE = Path(__file__).with_name("note.md").read_text("utf-8")


def test_quotes_are_known_by_their_opcodes_in_any_language() -> None:
    text = """SASS 초반:
/*0040*/ @P0 EXIT ;
이건 다음 조건입니다: if (x) return;
    LDG.E R18, [R2.64] ;        /* 0x0000 */
FADD.FTZ ...
R11 = running max m
MAXIMUM = 3;
`MUFU.EX2 R16,R16.reuse ;`
@P0 EXIT ;
"""
    assert [(one.text, one.line, one.is_elided) for one in find_quotes(text)] == [
        ("@P0 EXIT", 2, False),
        ("LDG.E R18, [R2.64]", 4, False),
        ("FADD.FTZ ...", 5, True),
        ("MUFU.EX2 R16, R16", 8, False),
    ]


def test_kernels_of_a_note_end_with_their_braces() -> None:
    text = (
        'Before {\nextern "C" __global__ void f() { if (1) { } }\nafter }\n__global__ void g() {}'
    )
    assert list(find_sources(text)) == [
        'extern "C" __global__ void f() { if (1) { } }',
        "__global__ void g() {}",
    ]


def test_kernel_that_is_cut_off_is_none() -> None:
    assert list(find_sources("__global__ void f() { if (1) {")) == []
    assert list(find_sources("__global__ void f()")) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Nothing to see.", "note: quotes no line of machine code"),
        ("EXIT ;", "note: has no kernel in it; give its source"),
    ],
)
def test_note_with_nothing_to_check_is_refused(text: str, why: str) -> None:
    with pytest.raises(MachineCodeError, match=why):
        check_note(text, [])


@needs_tools
def test_note_was_made_for_sm_86_or_sm_89_with_fast_maths() -> None:
    builds = [Build(arch, fast) for arch in ("sm_80", "sm_86", "sm_89") for fast in (True, False)]
    checked = check_note(NOTE, builds)
    assert checked.best == (Build("sm_86", True), Build("sm_89", True))
    assert checked.missing == ()
    assert sum(not one.is_elided for one in checked.quotes) == 22


@needs_tools
def test_line_that_no_build_has_is_missing() -> None:
    changed = NOTE.replace("MUFU.RCP R7, R21 ;", "MUFU.RCP R7, R99 ;")
    checked = check_note(changed, [Build("sm_86", True)])
    assert [one.text for one in checked.missing] == ["MUFU.RCP R7, R99"]


@needs_tools
def test_source_can_be_given_apart() -> None:
    source = 'extern "C" __global__ void f(float* y) { y[threadIdx.x] = 1; }'
    checked = check_note("MUFU.EX2 R2, R5 ;\nEXIT ;\n", [Build("sm_86")], source)
    assert [one.text for one in checked.missing] == ["MUFU.EX2 R2, R5"]


@needs_tools
@pytest.mark.parametrize("key", ["online_softmax", "online_softmax_warp", "top_k"])
def test_note_of_a_kernel_with_macros_and_helpers_is_checked_by_itself(key: str) -> None:
    build = Build("sm_86")
    code = open_code(key, build)
    text = markdown(code, key, tell(code, analyse(code.kernel())))
    checked = check_note(text, [build])
    assert checked.quotes
    assert checked.missing == ()


@needs_tools
def test_note_without_its_helpers_says_what_helps() -> None:
    text = f"{NOTE.partition('```cuda')[0]}__global__ void k(float* y) {{ y[0] = helper(); }}\n"
    with pytest.raises(KernelCompileError, match="--source"):
        check_note(text + "EXIT ;\n", [Build("sm_86")])


def test_build_with_more_whole_lines_goes_before_one_with_more_patterns() -> None:
    line, pattern, other = (Quote(text, 1, "..." in text) for text in ("EXIT", "F...", "M..."))
    tried = [
        Tried(Build(arch), "13.5", frozenset(found), EMPTY, frozenset())
        for arch, found in (("sm_80", {pattern, other}), ("sm_86", {line}))
    ]
    checked = Checked((line, pattern, other), tuple(tried))
    assert [build.arch for build in checked.best] == ["sm_86"]


EMPTY = summarise(analyse(decode(Listing("k", "sm_86", [ListedInstruction(0, "EXIT")], {}))))
