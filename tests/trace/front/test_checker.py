"""What has no meaning is refused where it stands, in the words that are written down here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from oneread.source.errors import SourceError
from oneread.source.text import SourceText
from oneread.trace.front.program import load_program
from oneread.trace.front.settings import Settings
from oneread.trace.messages import MESSAGES

ROOT = Path(__file__).resolve().parents[3]


class Case(NamedTuple):
    """Code at file level and in a kernel, and the messages that follow."""

    outside: str
    code: str
    messages: list[str]


def cases() -> list[Case]:
    blocks = (Path(__file__).parent / "refused.txt").read_text("utf-8").split("\n\n")[1:]
    found = []
    for block in blocks:
        marked: dict[str, list[str]] = {"@": [], "+": [], "=": []}
        for line in block.splitlines():
            marked[line[0]].append(line[2:])
        found.append(Case("\n".join(marked["@"]), "\n".join(marked["+"]), marked["="]))
    return found


def messages(text: str, kernel: str = "k") -> list[str]:
    with pytest.raises(SourceError) as caught:
        load_program(SourceText("k.cu", text), Settings(kernel))
    return [
        f"{one.position.line}:{one.position.column}: {one.text(MESSAGES)}"
        for one in caught.value.diagnostics
    ]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.code)
def test_code_is_refused_where_it_stands(case: Case) -> None:
    head = "__global__ void k(const float* x, float* y, int n) {"
    assert messages(f"{case.outside}\n{head}\n{case.code}\n}}") == case.messages


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("", "1:1: the file has several kernels; name one: one, two"),
        ("tow", "1:1: there is no kernel 'tow' in this file; did you mean 'two'?"),
        ("three", "1:1: there is no kernel 'three' in this file; it has one, two"),
        ("one<2>", "1:29: template 'one' has 0 parameters, not 1"),
        ("two", "1:71: kernel 'two' is a template; name it with arguments: two<...>"),
        ("two<int>", "1:2: template argument 'N' is a number"),
        ("two<3", "1:3: expected '>', but the file ends"),
        ("two<x>", "1:2: 'x' is not declared (declare it, or define a macro x)"),
    ],
)
def test_kernel_that_cannot_be_chosen_is_refused(kernel: str, said: str) -> None:
    text = "__global__ void             one() {} template <int N> __global__ void two() {}"
    assert messages(text, kernel) == [said]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "__global__ void k(int* y) {}\n__global__ void k(float* y) {}",
            "2:1: there is a second kernel 'k'; which one is meant cannot be said",
        ),
        (
            "const int N = 1;\nconst int N = 2;\n__global__ void k(int* y) { y[0] = N; }",
            "2:11: 'N' is declared twice in this scope",
        ),
        (
            "struct S { int a; };\nstruct S { int b; };\n__global__ void k(S* y) {}",
            "2:8: 'S' is declared twice in this scope",
        ),
    ],
)
def test_name_that_is_there_twice_is_refused(text: str, said: str) -> None:
    assert messages(text) == [said]


@pytest.mark.parametrize(
    "used", ["cg::thread_block b = cg::this_thread_block();", "auto b = this_thread_block();"]
)
def test_cooperative_groups_by_any_name_are_one_clear_error(used: str) -> None:
    head = "using namespace cooperative_groups;\nnamespace cg = cooperative_groups;\n"
    (said,) = messages(f"{head}__global__ void k(float* y) {{\n{used}\n}}")
    assert "cooperative groups is outside the subset" in said
    load_program(SourceText("k.cu", f"{head}__global__ void k(float* y) {{ y[0] = 1; }}"))


def test_parameter_of_a_kernel_needs_a_name() -> None:
    (said,) = messages("__global__ void k(float* y, int) {}")
    assert said == "1:32: a kernel's parameter needs a name, by which it is given its argument"


#: Calls that take the id of a message among their first arguments.
NAMING = {"error", "fatal", "problem", "Diagnostic", "pointed", "add", "grammar", "mends"}


def named_in(tree: ast.AST) -> Iterator[str]:
    """Yield the ids of messages that a module names where one is made or chosen."""
    for node in ast.walk(tree):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            parts = [*node.args[:3], *(k.value for k in node.keywords if k.arg == "hint")]
            parts = parts if name in NAMING else []
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in {
            "message",
            "hint",
        }:
            parts = [node.value]
        for part in parts:
            chosen = [part.body, part.orelse] if isinstance(part, ast.IfExp) else [part]
            yield from (one.value for one in chosen if isinstance(one, ast.Constant))


def ids() -> set[str]:
    found: set[str] = set()
    for folder in ("source", "trace/front"):
        for path in (ROOT / "src/oneread" / folder).glob("*.py"):
            found |= set(named_in(ast.parse(path.read_text("utf-8"))))
    return found


def test_every_message_is_made_somewhere() -> None:
    assert set(MESSAGES) - ids() == set()


def test_every_error_has_its_message() -> None:
    pattern = r'(?:\berror|fatal|problem|Diagnostic|grammar|mends)\(\s*"([a-z-]+)"'
    for folder in ("source", "trace/front"):
        for path in (ROOT / "src/oneread" / folder).glob("*.py"):
            assert set(re.findall(pattern, path.read_text("utf-8"))) <= set(MESSAGES), path
