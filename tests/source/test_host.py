"""Kernels and signatures; host code blanked with every line where it was."""

from __future__ import annotations

from oneread.source.host import Parameter, device_code, find_kernels, in_one_line
from oneread.source.text import SourceText

FILE = """#include <cstdio>
#include <math.h>
struct MD { float m; };
std::vector<int> sizes;
static const int N = 3;
__device__ float f(float a) { return a; }
template <int T> __global__ void __launch_bounds__(T)
k(const float* __restrict__ x, float y[], int n, const int* const* p, unsigned long, MD md) {
  y[0] = f(x[0]);
}
#ifdef X
int helper(int a) {
#else
int helper(float a) {
#endif
  return 1; }
int main() {
\tk<32><<<1, 32>>>(a, b, 3);
  std::string s = R"(}})"; return 0;
}
__global__ void other();
__global__ void other() { }
"""


def test_signature_has_types_and_names() -> None:
    kernel, other = find_kernels(SourceText("a", FILE))
    assert (kernel.name, kernel.line, kernel.is_template) == ("k", 7, True)
    assert kernel.parameters == (
        Parameter("const float* __restrict__", "x"),
        Parameter("float[]", "y"),
        Parameter("int", "n"),
        Parameter("const int* const*", "p"),
        Parameter("unsigned long", ""),
        Parameter("MD", "md"),
    )
    assert (other.name, other.line, other.parameters) == ("other", 22, ())


def test_const_pointer_is_an_input() -> None:
    kernel, _ = find_kernels(SourceText("a", FILE))
    assert [one.is_input for one in kernel.parameters] == [True, False, False, True, False, False]
    assert [one.is_pointer for one in kernel.parameters] == [True, True, False, True, False, False]


def test_host_code_becomes_spaces_and_lines_stay() -> None:
    code = device_code(SourceText("a", FILE))
    lines, kept = FILE.split("\n"), code.text.split("\n")
    assert [len(line) for line in kept] == [len(line) for line in lines]
    blank = [number for number, line in enumerate(kept, 1) if not line.strip()]
    assert blank == [1, 4, 12, 14, 16, 17, 18, 19, 20, 23]
    assert all(kept[n - 1] == lines[n - 1] for n in range(1, 24) if n not in blank)


def test_what_the_kernel_does_not_reach_is_blanked_too() -> None:
    code = device_code(SourceText("a", FILE), "other")
    assert " ".join(code.text.split()) == (
        "#include <math.h> #ifdef X #else #endif __global__ void other(); "
        "__global__ void other() { }"
    )


def test_left_out_code_is_listed_in_one_line() -> None:
    code = device_code(SourceText("a", FILE))
    assert in_one_line(code.skipped) == (
        "left out: include cstdio (line 1), variable sizes (line 4), "
        "host function helper (line 12), host function main (line 17), launch of k (line 18)"
    )


def test_nothing_left_out_is_nothing_to_say() -> None:
    assert in_one_line(device_code(SourceText("a", "__global__ void k() { }")).skipped) == ""
