"""The story is complete in every language, and every sentence can be looked up."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from oneread.sass import Code, analyse
from oneread.sass.decode.instruction import Program, SourceLine
from oneread.sass.story.markdown import markdown
from oneread.sass.story.statements import Section, Statement
from oneread.sass.story.telling import tell
from oneread.sass.story.words import LANGUAGES, catalogue, citation, place, sentence
from oneread.source.text import SourceText

Assemble = Callable[..., Program]

SECTIONS = [
    "source",
    "guard",
    "accumulators",
    "maximum",
    "exponential",
    "sum",
    "shared",
    "unrolling",
    "normalisation",
    "limits",
]

#: The loop of an online softmax, with all that is told of one.
LOOP = """
S2R R0, SR_TID.X
ISETP.NE.AND P0, PT, R0, RZ, PT
@P0 EXIT
MOV R5, RZ
MOV R6, 0xff7fffff
loop: LDG.E R4, [R2.64]
FSETP.GT.FTZ.AND P1, PT, R6, R4, PT
FSEL R7, R6, R4, P1
FADD.FTZ R8, R6, -R7
FMUL.FTZ R8, R8, 1.4426950216293334961
MUFU.EX2 R8, R8
FADD.FTZ R9, R4, -R7
FMUL.FTZ R9, R9, 1.4426950216293334961
MUFU.EX2 R9, R9
FFMA.FTZ R5, R8, R5, R9
MOV R6, R7
IADD3 R2, P2, R2, 0x4, RZ
ISETP.NE.AND P1, PT, R2, R11, PT
@P1 BRA `(loop)
MUFU.RCP R7, R5
FMUL.FTZ R9, R9, R7
STG.E [R2.64], R9
EXIT
"""


@pytest.fixture
def program(assemble: Assemble) -> Program:
    return assemble(LOOP)


def story(program: Program) -> list[Section]:
    return tell(Code("text", (program,)), analyse(program))


def statements(program: Program) -> Iterator[Statement]:
    for section in story(program):
        yield from section.statements


def test_sections_are_those_of_the_note(program: Program) -> None:
    assert [section.id for section in story(program)] == SECTIONS
    assert all(section.statements for section in story(program))


def test_what_an_online_softmax_does_is_told(program: Program) -> None:
    told = {one.id for one in statements(program)}
    assert told >= {
        "guard",
        "max-register-from",
        "rescaled-sum-register-from",
        "maximum",
        "maximum-nan",
        "exponential-fast",
        "sum-fused",
        "shared-none",
        "division-fast",
    }


def test_initial_values_are_named(program: Program) -> None:
    initial = {one.id: one.gaps.get("initial") for one in statements(program)}
    assert initial["max-register-from"] == "-FLT_MAX"
    assert initial["rescaled-sum-register-from"] == "0"


def test_every_sentence_about_something_cites_it(program: Program) -> None:
    about_nothing = {"built", "size", "size-cold", "resources"}
    for one in statements(program):
        if one.id not in about_nothing and not one.id.endswith("-none"):
            assert one.cites, one.id


def test_citation_says_how_many_more_there_are(program: Program) -> None:
    cited = citation(program.instructions, "en")
    assert cited == "0x0000, 0x0010, 0x0020, 0x0030 and 19 more"
    assert citation((), "en") == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_sentence_with_the_same_gaps(language: str) -> None:
    english, other = catalogue("en"), catalogue(language)
    for table in english:
        assert english[table].keys() == other[table].keys()
    for key, text in english["sentences"].items():
        assert gaps(other["sentences"][key]) == gaps(text), key


def gaps(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("language", LANGUAGES)
def test_markdown_has_ten_numbered_sections(program: Program, language: str) -> None:
    text = markdown(Code("text", (program,)), "kernel", story(program), language)
    assert re.findall(r"^## (\d+)\. ", text, re.MULTILINE) == [str(n) for n in range(1, 11)]
    assert "/*0060*/ FSETP.GT.FTZ.AND P1, PT, R6, R4, PT ;" in text
    assert "{" not in text


def test_korean_sentences_end_politely() -> None:
    for key, text in catalogue("ko")["sentences"].items():
        last = re.sub(r"\(.*?\)|: .*", "", text.rstrip(".").split(". ")[-1])
        assert last.endswith("니다"), key


def test_sentences_are_filled(program: Program) -> None:
    for one in statements(program):
        for language in LANGUAGES:
            assert sentence(one, language)


@pytest.mark.parametrize(("count", "said"), [(1, "1 addition in"), (2, "2 additions in")])
def test_one_is_told_without_a_plural(count: int, said: str) -> None:
    plain = Statement("sum-plain", {"loop": ("0x0010",), "count": count})
    assert said in sentence(plain, "en")
    assert f"덧셈 {count}개" in sentence(plain, "ko")


def test_other_functions_of_mufu_are_named(assemble: Assemble) -> None:
    text = "MUFU.RSQ R1, R2\nMUFU.RSQ R3, R1\nMUFU.ODD R4, R3\nSTG.E [R20.64], R4\nEXIT"
    program = assemble(text)
    told = [sentence(one, "en") for one in statements(program) if one.id == "function"]
    assert told == [
        "MUFU.RSQ takes a reciprocal square root, 2 times.",
        "MUFU.ODD takes another function, 1 time.",
    ]


def test_quotient_in_double_precision_is_not_nothing(assemble: Assemble) -> None:
    program = assemble("MUFU.RCP64H R1, R3\nSTG.E [R20.64], R1\nEXIT")
    assert "division-none" not in {one.id for one in statements(program)}


def test_note_shows_the_kernel_and_nothing_behind_it(program: Program) -> None:
    kernel = "template <int N>\n__global__ void kernel(float* y) {\n    if (N) { *y = 1; }\n}\n"
    source = SourceText("k.cu", f"int before;\n{kernel}int main() {{}}\n")
    code = Code("k.cu", (program,), source)
    text = markdown(code, "kernel", tell(code, analyse(program)))
    shown = text[text.index("```cuda") :].split("```")[1]
    assert shown.splitlines()[1:] == kernel.splitlines()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ATOMS.MAX.S32 RZ, [R4], R2", ["shared", "atomic-shared", "maximum-by"]),
        ("RED.E.ADD.STRONG.GPU [R2], R5", ["shared-none", "atomic-global"]),
        ("LDGSTS.E.BYPASS.128 [R2], [R14.64]", ["shared", "copy"]),
        ("BAR.SYNC 0x0", ["shared-barriers"]),
        ("ISETP.GT.AND P0, PT, R1, R2, PT\nSEL R4, R1, R2, P0", ["shared-none", "maximum-integer"]),
    ],
)
def test_what_touches_memory_by_itself_is_told(
    assemble: Assemble, text: str, told: list[str]
) -> None:
    found = {one.id for one in statements(assemble(f"{text}\nSTG.E [R20.64], R4\nEXIT"))}
    assert found >= set(told)
    assert ("shared-none" in found) == ("shared-none" in told)
    assert ("maximum-none" in found) != any(one.startswith("maximum") for one in told)


def test_loop_that_gathers_by_atomics_carries_something(assemble: Assemble) -> None:
    text = "loop: ATOMS.ADD RZ, [R6.X4], R7\n@P0 BRA `(loop)\nEXIT"
    found = [one for one in statements(assemble(text)) if one.id == "gathered"]
    assert [one.gaps["what"] for one in found] == ["ADD", "ADD"]
    assert "accumulators-none" not in {one.id for one in statements(assemble(text))}


@pytest.mark.parametrize(
    ("where", "english", "korean"),
    [
        ("R8", "R8 carries", "R8은"),
        ("R2", "R2 carries", "R2는"),
        ("R2, R3", "R2, R3 carry", "R3은"),
    ],
)
def test_words_agree_with_what_fills_the_gap(where: str, english: str, korean: str) -> None:
    told = Statement("max-register", {"loop": ("0x0010",), "where": where})
    assert english in sentence(told, "en")
    assert korean in sentence(told, "ko")
    each = Statement("max-register", {"loop": ("0x0010",), "where": ("R2", "R3")})
    assert "Each of R2, R3 carries" in sentence(each, "en")


def test_line_of_an_instruction_is_one_of_the_kernels_own_file(assemble: Assemble) -> None:
    (one, _) = assemble("FADD R1, R2, R3\nEXIT").instructions
    call = SourceLine("k.cu", 7)
    assert place(replace(one, line=SourceLine("lib.h", 201, call)), "en") == "line 7"
    assert place(replace(one, line=SourceLine("k.cu", 3, call)), "ko") == "source 3행"
