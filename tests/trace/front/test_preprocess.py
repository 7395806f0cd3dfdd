"""Macros, conditions and includes, as C has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneread.source.errors import SourceError
from oneread.source.text import SourceText
from oneread.trace.front.preprocess import Preprocessor
from oneread.trace.front.program import load_program
from oneread.trace.front.report import Report
from oneread.trace.front.settings import Limits, Settings
from oneread.trace.messages import MESSAGES


def run(text: str, settings: Settings | None = None) -> tuple[str, Report]:
    settings = settings or Settings()
    report = Report(settings.limits)
    tokens = Preprocessor(settings, report).run(SourceText("k.cu", text))
    return " ".join(token.text for token in tokens[:-1]), report


def expanded(text: str, **defines: str) -> str:
    shown, report = run(text, Settings(defines=defines))
    assert not report.diagnostics
    return shown


def errors(text: str, settings: Settings | None = None) -> list[str]:
    try:
        _, report = run(text, settings)
    except SourceError as stopped:
        return [one.text(MESSAGES) for one in stopped.diagnostics]
    return [f"{one.position.line}: {one.text(MESSAGES)}" for one in report.diagnostics]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("#define A 1\nA B", "1 B"),
        ("#define A B\n#define B A\nA B", "A B"),
        ("#define A A + 1\nA", "A + 1"),
        ("#define F(a, b) a - b\nF(1, (2, 3))", "1 - ( 2 , 3 )"),
        ("#define F(a) a a\nF(F(1))", "1 1 1 1"),
        ("#define F(a) [a]\nF F (\n1) F()", "F [ 1 ] [ ]"),
        ("#define F() 1\nF()", "1"),
        ("#define F(a, ...) f(a, __VA_ARGS__)\nF(1, 2, 3)", "f ( 1 , 2 , 3 )"),
        ("#define F (1)\nF", "( 1 )"),
        ("#define A 1\n#undef A\nA", "A"),
        ("#define A 1 \\\n + 2\nA", "1 + 2"),
        ("#define A // nothing\nA;", ";"),
        ("#ifdef A\n1\n#else\n2\n#endif", "2"),
        ("#define A\n#ifndef A\n1\n#elif defined(A) && 1\n2\n#else\n3\n#endif", "2"),
        ("#if 0\n#if 1\n1\n#endif\n#else\n2\n#endif", "2"),
        ("#define N 0\n#if N ? 8 / N : 1\n1\n#endif", "1"),
        ("#if 1 || 1 << 99\n1\n#endif", "1"),
        ("#if not 0 and (0 or 1)\n1\n#endif", "1"),
        ('#define U _Pragma("unroll")\nU for (;;) _Pragma("x") _Pragma', "for ( ; ; ) _Pragma"),
        ("#if 0\ndon't \" mind\n#endif\n1", "1"),
        ("#if 0\n#nonsense\n#if ((\n#endif\n#endif\n1", "1"),
        ("#define N 4\n#if N * 2 == 8 && !(N % 2) && -N < 0 && (N ? 1 : 0)\n1\n#endif", "1"),
        ("#if X || defined Y\n1\n#endif\n2", "2"),
        ("#if 1 || 1 / 0\n1\n#endif", "1"),
        ("#if __CUDA_ARCH__ >= 700 && defined(__CUDACC__)\n1\n#endif", "1"),
        ("#pragma unroll\n1", "1"),
        ("# \n1", "1"),
        ("#include <math.h>\n#include <cuda_runtime.h>\n1", "1"),
    ],
)
def test_text_becomes(text: str, shown: str) -> None:
    assert expanded(text) == shown


def test_command_line_has_the_last_word() -> None:
    assert expanded("#define A 1\nA", A="2 + 3") == "2 + 3"
    assert expanded("#ifndef A\n#define A 1\n#endif\nA", A="2") == "2"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#if 1\n", "1: this #if has no #endif"),
        ("#endif\n", "1: this #endif has no #if"),
        ("#if 1\n#else\n#else\n#endif", "3: #else after #else"),
        ("#if 1 +\n#endif", "1: this condition is not integer arithmetic"),
        ("#if 1 / 0\n#endif", "1: this condition divides by zero"),
        ("#if 1.5\n#endif", "1: this condition is not integer arithmetic"),
        ("#error no such thing\n", "1: #error no such thing"),
        ("#define\n", "1: the name of a macro should stand here"),
        ("#define F(a,\n", "1: the parameters of macro 'F' should be names with commas between"),
        ("#define F(a) a\nF(1, 2)", "2: macro 'F' takes 1 argument, not 2"),
        ("#define F(a) a\nF(1", "2: the arguments of macro 'F' are never closed; ')' is missing"),
        ("#includ <x>\n", "1: there is no directive #includ (did you mean #include?)"),
        ("#include x\n", '1: #include takes "file" or <file>'),
        ("/* open", "1: this comment is never closed; '*/' is missing"),
    ],
)
def test_error_is_said(text: str, said: str) -> None:
    assert errors(text) == [said]


def test_errors_of_several_directives_are_all_said() -> None:
    assert len(errors("#if (\n#endif\n#error a\n#nonsense\n#define 1\n")) == 4


def test_own_file_is_included_from_the_given_folder(tmp_path: Path) -> None:
    (tmp_path / "tile.h").write_text("#pragma once\n#define TILE 64\nint tile;\n")
    text = '#include "tile.h"\n#include "tile.h"\nTILE'
    assert run(text, Settings(folders=(tmp_path,)))[0] == "int tile ; 64"


def test_file_outside_of_the_folders_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.h").write_text("int secret;")
    inner = tmp_path / "inner"
    inner.mkdir()
    settings = Settings(folders=(inner,))
    report = Report(settings.limits)
    preprocessor = Preprocessor(settings, report)
    tokens = preprocessor.run(SourceText("k.cu", '#include "../secret.h"\n'))
    assert len(tokens) == 1
    assert preprocessor.unknown_headers == [("../secret.h", 1)]


def test_file_that_includes_itself_stops_at_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text('#include "a.h"\n')
    (said,) = errors('#include "a.h"\n', Settings(folders=(tmp_path,)))
    assert said.endswith("include 'a.h' is more than 32 files deep (include_depth)")


def test_file_that_includes_itself_twice_stops_at_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text('#include "a.h"\n#include "a.h"\n')
    said = errors('#include "a.h"\n', Settings(folders=(tmp_path,)))
    assert "more than 100 files are included (files)" in said


def test_macros_that_double_stop_at_the_limit() -> None:
    lines = ["#define A0 1 1"] + [f"#define A{n} A{n - 1} A{n - 1}" for n in range(1, 30)]
    assert errors("\n".join([*lines, "A29"])) == [
        "macros make more than 100,000 tokens of this file (tokens)"
    ]


def test_macros_nested_too_deep_are_refused() -> None:
    lines = ["#define A0 1"] + [f"#define A{n} A{n - 1}" for n in range(1, 40)]
    assert errors("\n".join([*lines, "A39"])) == [
        "41: macro 'A7' is expanded more than 32 macros deep (macro_depth)"
    ]


def test_limit_is_a_setting() -> None:
    lines = ["#define A0 1"] + [f"#define A{n} A{n - 1}" for n in range(1, 40)]
    settings = Settings(limits=Limits(macro_depth=50))
    assert errors("\n".join([*lines, "A39"]), settings) == []


def test_macros_that_are_whole_numbers_are_told() -> None:
    text = (
        "#ifndef TILE\n#define TILE 128\n#endif\n#define HALF (TILE / 2)\n#define WORD float\n"
        "#define F(a) a\n#define SCALE 1.5f\n#define EMPTY\n__global__ void k() {}\n"
    )
    source = SourceText("k.cu", text)
    assert load_program(source).macros == {"TILE": 128, "HALF": 64}
    assert load_program(source, Settings(defines={"TILE": "32"})).macros["HALF"] == 16


def test_argument_of_a_macro_stays_where_it_is_written() -> None:
    text = (
        "#define BOTH(a, b) y[0] = a; y[1] = (b)\n#define TWICE(a) (2 * (a))\n"
        "__global__ void k(float* y) { BOTH(aa, TWICE(bb)); y[0] = cc; }\n"
    )
    with pytest.raises(SourceError) as caught:
        load_program(SourceText("k.cu", text))
    line = text.splitlines()[2]
    found = [one.position for one in caught.value.diagnostics]
    assert [line[at.column - 1 :][: at.length] for at in found] == ["aa", "bb", "cc"]


def test_macro_without_parameters_that_joins_is_refused() -> None:
    assert errors("#define A 1 ## 2\nA") == [
        "2: # and ## in macros is outside the subset of CUDA C that is traced (write the name out)"
    ]


def test_macros_that_double_one_another_are_refused_though_nothing_uses_them() -> None:
    lines = ["#define A0 1 1"] + [f"#define A{n} A{n - 1} A{n - 1}" for n in range(1, 14)]
    lines += [f"#define X{n} A13" for n in range(200)]
    text = "\n".join([*lines, "__global__ void k() {}"])
    with pytest.raises(SourceError, match="macros make more than 100,000 tokens of this file"):
        load_program(SourceText("k.cu", text))


def test_command_line_has_the_last_word_over_undef_too() -> None:
    text = "#ifdef TILE\n#undef TILE\n#endif\n#define TILE 64\nTILE"
    assert expanded(text) == "64"
    assert expanded(text, TILE="32") == "32"


def test_constants_that_the_kernel_reaches_are_told() -> None:
    text = (
        "constexpr int THREADS = 64, OTHER = 2;\nconst float HALF = 0.5f;\nenum { LANES = 32 };\n"
        "constexpr int UNUSED = 3;\n"
        "__global__ void k(float* y) { y[THREADS] = HALF * LANES; }\n"
    )
    assert load_program(SourceText("k.cu", text)).constants == {
        "THREADS": 64,
        "OTHER": 2,
        "LANES": 32,
    }
