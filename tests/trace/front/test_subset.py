"""Every construct of the subset is taken; every one outside is refused once, by its name."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from oneread.source.errors import SourceError
from oneread.source.text import SourceText
from oneread.trace.builtins import CONSTANTS, FUNCTIONS, Builtin
from oneread.trace.front.program import load_program
from oneread.trace.front.settings import Settings
from oneread.trace.messages import MESSAGES
from oneread.trace.refusals import REFUSALS, REFUSED_NAMES, REFUSED_WORDS, Refusal
from oneread.trace.subset import ACCEPTED, Accepted
from oneread.trace.types import Pointer

ROOT = Path(__file__).resolve().parents[3]


def kernel(code: str, outside: str = "") -> SourceText:
    parameters = "const float* x, float* y, int* count, int vocab"
    return SourceText("k.cu", f"{outside}\n__global__ void k({parameters}) {{\n{code}\n}}\n")


@pytest.mark.parametrize("row", ACCEPTED, ids=lambda row: row.what)
def test_construct_is_taken(row: Accepted) -> None:
    loaded = load_program(kernel(row.code, row.outside))
    assert loaded.program.kernel.name == "k"
    assert not loaded.skipped


@pytest.mark.parametrize("row", REFUSALS.values(), ids=lambda row: row.what)
def test_construct_is_refused_by_name(row: Refusal) -> None:
    with pytest.raises(SourceError) as caught:
        load_program(kernel(row.code, row.outside))
    (error,) = caught.value.diagnostics
    assert (error.id, error.hint) == ("outside", "outside-hint")
    assert error.parameters["what"] == row.what
    assert row.instead in error.text(MESSAGES)


@pytest.mark.parametrize("row", REFUSALS.values(), ids=lambda row: row.what)
def test_refused_construct_does_not_hide_what_follows(row: Refusal) -> None:
    with pytest.raises(SourceError) as caught:
        load_program(kernel(f"{row.code}\ny[0] = nowhere;", row.outside))
    assert [one.id for one in caught.value.diagnostics] == ["outside", "unknown"]


@pytest.mark.parametrize("word", [*REFUSED_WORDS, *REFUSED_NAMES])
def test_refused_word_is_refused_where_it_stands(word: str) -> None:
    with pytest.raises(SourceError) as caught:
        load_program(kernel(f"    {word} (1);"))
    (error,) = caught.value.diagnostics
    assert error.id == "outside"
    assert error.position[1:3] == (3, 5)


@pytest.mark.parametrize("name", REFUSED_NAMES)
def test_refused_name_may_be_declared(name: str) -> None:
    load_program(kernel(f"float {name} = x[0]; for (int {name} = 16; {name}; ) y[0] = {name};"))


def test_refused_name_may_be_a_function_of_the_file() -> None:
    load_program(kernel("y[0] = clock();", "__device__ int clock() { return 1; }"))


def test_explicit_instantiation_changes_nothing() -> None:
    text = (
        "template <typename T> __device__ T f(T a) { return a; }\n"
        "template __device__ float f<float>(float);\ntemplate __device__ int f(int);"
    )
    load_program(kernel("y[0] = f(x[0]);", text))
    text = "template <int N> __global__ void k() {}\ntemplate __global__ void k<2>();"
    load_program(SourceText("k.cu", text), Settings("k<3>"))


def test_parser_refuses_what_stands_in_the_table_and_nothing_else() -> None:
    refused = {*REFUSED_WORDS.values(), *REFUSED_NAMES.values()}
    for path in (ROOT / "src/oneread/trace/front").glob("*.py"):
        refused |= set(re.findall(r'"((?:an?|#) [^"]+|recursion|inheritance)"', path.read_text()))
    assert REFUSALS.keys() <= refused
    called = set()
    for path in (ROOT / "src/oneread/trace/front").glob("*.py"):
        called |= set(re.findall(r'\boutside\(\s*"([^"]+)"', path.read_text("utf-8")))
    assert called <= REFUSALS.keys()


def call(name: str, builtin: Builtin) -> str:
    """Return a call with arguments of exactly the types that a built-in takes."""
    declared, names = "", []
    for at, kind in enumerate(builtin.parameters):
        if isinstance(kind, Pointer):
            declared += f"__shared__ {kind.target} s{at}[4]; "
            names.append(f"s{at}")
        else:
            names.append(f"({kind})1")
    return f"{declared}{name}({', '.join(names)});"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_built_in_is_chosen_by_its_types(name: str) -> None:
    for builtin in FUNCTIONS[name]:
        program = load_program(kernel(call(name, builtin))).program
        (statement,) = program.kernel.body.statements
        assert statement.value.builtin is builtin  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", CONSTANTS)
def test_constant_has_its_type_and_value(name: str) -> None:
    program = load_program(kernel(f"{name};")).program
    literal = program.kernel.body.statements[0].value  # type: ignore[attr-defined]
    kind, value = CONSTANTS[name]
    assert literal.type is kind
    assert literal.value == value or value != value


def test_page_of_the_subset_is_made_from_the_lists() -> None:
    spec = importlib.util.spec_from_file_location("subset_docs", ROOT / "tools/subset_docs.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert (ROOT / "docs/tracer-subset.md").read_text("utf-8") == tool.page()
