"""What C++ says of a construct, seen in what a kernel stores: y[i] for i = 0, 1."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from oneread.trace import Run, run

HEAD = "__global__ void k(const float* x, float* y, int vocab) {"


class Case(NamedTuple):
    """Code of a kernel with `i` the thread, what stands before it, and what it stores."""

    code: str
    stored: tuple[float, float]
    outside: str = ""


def traced(code: str, outside: str = "") -> Run:
    text = f"{outside}\n{HEAD}\nint i = threadIdx.x;\n{code}\n}}\n"
    return run(text, rows=1, vocab=32, block=32, shared_bytes=128, truth={})


CASES = {
    "a chosen side holds a comma": Case("y[i] = i ? 1, 2 : 3;", (3, 2)),
    "the sign bit can be shifted into": Case("const int a = 1 << 31; y[i] = a;", (-(2.0**31),) * 2),
    "a template argument may compare": Case(
        "y[i] = f<8 == 8>() + f<1 << 2>() + f<(2 > 1)>();",
        (6, 6),
        "template <int N> __device__ int f() { return N; }",
    ),
    "a template default may shift": Case(
        "y[i] = f();", (4, 4), "template <int N = 1 << 2> __device__ int f() { return N; }"
    ),
    "a word may be an operator": Case("y[i] = (i or vocab) and not (i bitand 1);", (1, 0)),
    "a character may be octal": Case(r"y[i] = '\101' + '\0';", (65, 65)),
    "an overload behind the call is not seen": Case(
        "y[i] = f(2.7f);\n}\n__device__ float f(float a) { return a;",
        (2, 2),
        "__device__ int f(int a) { return a; }",
    ),
    "an overload that is announced before the call is seen": Case(
        "y[i] = f(2.7f) - 2.7f;\n}\n__device__ float f(float a) { return a;",
        (0, 0),
        "__device__ int f(int a) { return a; }\n__device__ float f(float);",
    ),
    "what is cast to void is not read": Case(
        "float v; (void)v; (void)x[i + 100000]; y[i] = 1;", (1, 1)
    ),
    "the left side of a comma is not read": Case("float v; y[i] = (v, 1.0f);", (1, 1)),
    "the size of a variable may be its value": Case("int a = sizeof a; y[i] = a;", (4, 4)),
    "const can be cast away by const_cast": Case(
        "auto p = const_cast<float*>(x); y[i] = 1;", (1, 1)
    ),
    "a pointer is a number by reinterpret_cast": Case(
        "size_t p = reinterpret_cast<size_t>(y + 1) - reinterpret_cast<size_t>(y); y[i] = p;",
        (4, 4),
    ),
    "auto* keeps const": Case("auto* p = x; y[i] = p[i] - x[i];", (0, 0)),
    "auto& keeps const": Case("auto& r = x[i]; y[i] = r - x[i];", (0, 0)),
    "a deduced type keeps const": Case(
        "y[i] = at(x, i) - at<const float>(x, i);",
        (0, 0),
        "template <typename T> __device__ T at(T* p, int i) { return p[i]; }",
    ),
    "a written template argument is not deduced": Case(
        "y[i] = larger<float>(2.5f, i);",
        (2.5, 2.5),
        "template <typename T> __device__ T larger(T a, T b) { return a > b ? a : b; }",
    ),
    "a type may be named twice": Case("using T = int; typedef int T; T a = 1; y[i] = a;", (1, 1)),
    "a const variable has an address": Case(
        "const float a = 1; const float* p = &a; y[i] = *p;", (1, 1)
    ),
    "a function overloads a built-in": Case(
        "y[i] = max(i, 1) + max(make_float2(5, 6), make_float2(7, 8)).x;",
        (6, 6),
        "__device__ float2 max(float2 a, float2 b) { return a; }",
    ),
    "a function replaces a built-in of its parameters": Case(
        "y[i] = fmaxf(1, 2);", (7, 7), "__device__ float fmaxf(float a, float b) { return 7; }"
    ),
    "a template that does not fit is no candidate": Case(
        "y[i] = f(1) + f(y);",
        (11, 11),
        "template <typename T> __device__ float f(T* a) { return 10; }\n"
        "__device__ float f(float a) { return a; }",
    ),
    "the template with fewer types is nearer": Case(
        "y[i] = f(1, 2) + f(1, 2.0f);",
        (3, 3),
        "template <typename T, typename U> __device__ int f(T a, U b) { return 2; }\n"
        "template <typename T> __device__ int f(T a, T b) { return 1; }",
    ),
    "braces fit a parameter of an overload": Case(
        "y[i] = f({1, 2});",
        (2, 2),
        "__device__ int f(int2 a) { return a.y; }\n__device__ int f(int a, int b) { return 0; }",
    ),
    "an array may lie in what a call returns": Case(
        "y[i] = f().a[i & 1];",
        (5, 6),
        "struct P { float a[2]; };\n__device__ P f() { P p; p.a[0] = 5; p.a[1] = 6; return p; }",
    ),
    "inner braces may be left out": Case(
        "int a[2][2] = {1, 2, 3, 4}, b[2][2] = {{1}, 3, 4}; float2 c[2] = {5, 6, 7};"
        "y[i] = a[1][i & 1] * 100 + b[1][i & 1] * 10 + c[i & 1].y;",
        (3 * 100 + 3 * 10 + 6, 4 * 100 + 4 * 10),
    ),
    "sizeof may begin a condition": Case("if (sizeof vocab == 4) y[i] = 1;", (1, 1)),
    "an enumerator may be unsigned": Case(
        "enum { M = 0xffffffff }; enum { A = -1, B = M }; y[i] = (M > 0) + (B - A == 4294967296);",
        (2, 2),
    ),
    "a __device__ constant is a constant": Case(
        "float a[N]; a[3] = 1; y[i] = a[3];", (1, 1), "__device__ constexpr int N = 4;"
    ),
    "shared memory may be declared outside of functions": Case(
        "s[i] = i; set(i); __syncthreads(); y[i] = s[31 - i] + t[31 - i];",
        (62, 60),
        "extern __shared__ float s[];\n__shared__ int t[32];\n"
        "__device__ void set(int i) { t[i] = i; }",
    ),
    "typedef may name several types": Case(
        "A a = 1; B b = &a; y[i] = *b;", (1, 1), "typedef float A, *B;"
    ),
    "a void function may return a call": Case(
        "h(y + i);",
        (3, 3),
        "__device__ void g(float* y) { *y = 3; }\n__device__ void h(float* y) { return g(y); }",
    ),
    "a pragma may be an operator": Case(
        'UNROLL for (int j = 0; j < 2; ++j) y[i] = j; _Pragma("unroll 4")',
        (1, 1),
        '#define UNROLL _Pragma("unroll")',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_code_has_the_meaning_of_cpp(name: str) -> None:
    case = CASES[name]
    found = traced(case.code, case.outside)
    assert tuple(found.outputs["y"][:2]) == case.stored
    assert not [fault for fault in found.faults if fault.severity == "error"]


@pytest.mark.parametrize(
    "code",
    [
        "int a = 5; { int a = a + 1; y[i] = a; }",
        "for (int j = 0; j < 2; ++j) { float v = j ? v : 0; y[i] = v; }",
        "const int c = 3; { const int c = c; y[i] = c; }",
    ],
)
def test_variable_in_its_own_initialiser_is_unset(code: str) -> None:
    assert "uninitialised-variable" in {fault.id for fault in traced(code).faults}


@pytest.mark.parametrize("before", ["", "__syncthreads();"])
def test_function_that_ends_without_its_value_is_reported(before: str) -> None:
    text = f"__device__ float f(float a) {{ {before} if (a < 20) return a; }}"
    (fault,) = traced("y[i] = f(i);", text).having("no-return")
    assert (fault.severity, fault.line, fault.lanes) == ("error", 1, 0xFFF00000)
    assert not traced("y[i] = f(i & 15);", text).having("no-return")
