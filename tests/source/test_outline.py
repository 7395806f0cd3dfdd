"""Declarations of a file, found by their braces."""

from __future__ import annotations

import pytest

from oneread.source.messages import MESSAGES
from oneread.source.outline import Piece, outline, reached
from oneread.source.text import SourceText
from oneread.source.tokens import Token, tokenize


def pieces(text: str) -> tuple[list[Piece], list[Token]]:
    tokens = tokenize(SourceText("a", text))
    found, problems = outline(tokens)
    assert not problems
    return found, tokens


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("__global__ void k(int a) { }", "kernel", "k"),
        ('extern "C" __global__ void __launch_bounds__(32) k() { }', "kernel", "k"),
        ("template <int N = (3), class T> __global__ void k(T* a) { }", "kernel", "k"),
        ("__device__ __forceinline__ float f(float a);", "device", "f"),
        ("__host__ __device__ float f() { return 1; }", "device", "f"),
        ("template <> __device__ int f<int, (3 > 2)>(int a) { return a; }", "device", "f"),
        ("int main() { return 0; }", "host", "main"),
        ("std::vector<int> f(int a = 3) { if (a) { } }", "host", "f"),
        ("struct __align__(8) MD { float m; float f() { return m; } };", "type", "MD"),
        ("enum { A, B = 2 };", "type", "enum"),
        ("typedef struct { float m; } MD;", "alias", "struct"),
        ("using real = float;", "alias", "using"),
        ("namespace cg = cooperative_groups;", "alias", "cg"),
        ("static const int N = 4;", "value", "N"),
        ("__constant__ float table[4] = {1, 2};", "value", "table"),
        ('static_assert(sizeof(int) == 4, "text");', "assert", "static_assert"),
    ],
)
def test_declaration_is_found(text: str, kind: str, name: str) -> None:
    (piece,), tokens = pieces(text)
    assert (piece.kind, piece.start, piece.stop) == (kind, 0, len(tokens) - 1)
    if kind not in ("alias", "type"):
        assert piece.name == name


def test_blocks_of_namespaces_and_linkage_are_looked_through() -> None:
    text = 'namespace a { namespace { extern "C" { __global__ void k() { } } } int f() { } }'
    found, _ = pieces(text)
    assert [(one.kind, one.name) for one in found] == [("kernel", "k"), ("host", "f")]


def test_declarations_follow_each_other() -> None:
    text = "int a;; struct S { int b; } c;\nint f() { } __global__ void k() { { } }\nint d;"
    found, _ = pieces(text)
    assert [one.kind for one in found] == ["value", "type", "host", "kernel", "value"]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("int f() {\n  if (a) {\n}\nint b;\n", [("bracket-open", 2, 10)]),
        ("int f() {\n  if (a) {\n  }\n", [("bracket-open", 1, 9)]),
        ("int f() { } }\nint g() { }", [("bracket-lost", 1, 13)]),
        ("namespace a {\nint b;", [("bracket-open", 1, 13)]),
        ("void f() {\n__global__ void k() { }", [("bracket-open", 1, 10)]),
    ],
)
def test_brace_without_partner_is_found(text: str, places: list[tuple[str, int, int]]) -> None:
    _, problems = outline(tokenize(SourceText("a", text)))
    assert [(one.id, *one.position[1:3]) for one in problems] == places
    assert all(one.text(MESSAGES) for one in problems)


def test_kernel_behind_an_open_brace_is_still_found() -> None:
    found, _ = outline(tokenize(SourceText("a", "void f() { if (a) {\n__global__ void k() { }")))
    assert [one.name for one in found] == ["f", "k"]


@pytest.mark.parametrize(
    "kernel",
    [
        "__global__ void k(int a) { }",
        'extern "C" __global__ void k(int a) { }',
        "template <int N, class T = int> static __global__ void k(T a) { }",
    ],
)
def test_words_before_a_kernel_are_no_part_of_it(kernel: str) -> None:
    text = "Stable (no overflows), it's said. \n\nFor x < y:\n"
    found, tokens = pieces(text + kernel)
    assert [(one.kind, one.name) for one in found] == [("text", ""), ("kernel", "k")]
    assert tokens[found[1].start].text == kernel.split(maxsplit=1)[0]


def test_reached_is_what_is_named_and_what_that_names() -> None:
    text = (
        "struct A { int a; }; struct B { int b; }; const int N = 1, M = 2; enum { E, F };\n"
        "__device__ int g(A a) { return M; } __device__ int h() { return 0; }\n"
        "__global__ void k() { g(E); } __global__ void j() { h(); } static_assert(1);"
    )
    found, tokens = pieces(text)
    keep = reached(found, tokens, "k")
    assert [one.name or one.kind for one in found if one.start in keep] == [
        "A", "N", "enum", "g", "k", "static_assert",
    ]  # fmt: skip


def test_assertion_counts_unless_it_names_what_the_kernel_does_not_reach() -> None:
    text = (
        "struct MD { float m; }; constexpr int OTHER = 2, OURS = 1; enum { A, B };\n"
        "static_assert(OTHER == 2); static_assert(sizeof(MD) == 4); static_assert(B == 1);\n"
        "static_assert(sizeof(int) == 4); static_assert(C == 3); constexpr int C = 3;\n"
        "__global__ void k() { int a = A; }"
    )
    found, tokens = pieces(text)
    keep = reached(found, tokens, "k")
    kept = [tokens[one.start + 2].text for one in found if one.start in keep]
    assert kept == ["A", "B", "sizeof", "k"]
