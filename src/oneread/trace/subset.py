"""The subset of CUDA C that is traced, construct by construct, each with code that shows it.

The tests run each row and docs/tracer-subset.md is made from it; what is refused is in `refusals`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Accepted:
    """A construct that is traced. ``code`` stands in a kernel, ``outside`` at file level."""

    what: str
    code: str
    outside: str = ""


#: In the code, `const float* x`, `float* y`, `int* count` and `int vocab` are parameters.
ACCEPTED: Final = (
    Accepted(
        "numbers of 8 to 64 bits, `bool`, `float`; `double` too",
        "uint8_t a = 1; double b = a;",
    ),
    Accepted("fixed-width and `size_t` types", "int64_t a = 1; size_t b = a; uint32_t c = 2u;"),
    Accepted("vector types and `make_float4`", "float4 v = make_float4(1, 2, 3, 4); y[0] = v.w;"),
    Accepted(
        "decimal, hexadecimal, binary, float and character literals",
        "y[0] = 0x1p-3f + 0b11 + 'a' + 1'000;",
    ),
    Accepted("casts of C and C++", "size_t a = (size_t)vocab; float b = static_cast<float>(a);"),
    Accepted(
        "pointers cast to vectors",
        "const float4* v = reinterpret_cast<const float4*>(x); y[0] = v[0].x;",
    ),
    Accepted(
        "pointer arithmetic, `&`, `*`, `[]`",
        "const float* p = &x[1]; y[0] = *(p + 1); p += 2;",
    ),
    Accepted("integer and float operators", "int a = vocab % 7 << 2 | 1; y[0] = -a / 2.0f;"),
    Accepted("assignment operators, `++`, `--`", "int i = 0; i += 2; i <<= 1; y[i++] = 1; --i;"),
    Accepted(
        "`&&`, `||`, `?:` and the comma",
        "int i = 0, j; j = (i = 1, 2); y[0] = i && j || not i ? 1 : 2;",
    ),
    Accepted("`sizeof`, `alignof`", "int a = sizeof(float4) + alignof(double); a += sizeof a;"),
    Accepted("`if`, `else`", "if (vocab > 1) y[0] = 1; else y[0] = 2;"),
    Accepted("`if constexpr`", "if constexpr (sizeof(int) == 4) { y[0] = 1; }"),
    Accepted(
        "`for`, `while`, `do`",
        "for (int i = 0; i < 3; ++i) while (i) { --i; } do {} while (0);",
    ),
    Accepted("`break`, `continue`, `return`", "for (;;) { if (vocab) break; continue; } return;"),
    Accepted(
        "`__shared__` variables and arrays",
        "__shared__ float s[2][33], m; s[1][threadIdx.x] = m;",
    ),
    Accepted("`extern __shared__`", "extern __shared__ float dynamic[]; y[0] = dynamic[0];"),
    Accepted("shared memory outside of functions", "s[0] = 1;", "extern __shared__ float s[];"),
    Accepted(
        "local arrays, with values",
        "float a[2][2] = {1, 2, 3, 4}; int b[] = {1, 2, 3}; y[0] = a[1][b[0]];",
    ),
    Accepted(
        "`const`, `constexpr`, `volatile`, `__restrict__`",
        "constexpr int n = 4; const int m = n * 2; float a[m];",
    ),
    Accepted("`auto`", "auto a = x[0]; auto* p = x; y[0] = a + *p;"),
    Accepted("references", "float a = 1; float& b = a; const float& c = 2.0f; b = c;"),
    Accepted(
        "`typedef`, `using`",
        "typedef float real, *place; using index = int; real a = 1; place p = &a; index i = 2;",
    ),
    Accepted("`enum`", "enum { FIRST, SECOND = 4 }; int a[SECOND]; a[FIRST] = 1;"),
    Accepted(
        "structs by value, `__align__`, braces",
        "MD a = {x[0], 1.0f}; a = merge(a, MD{x[1], 1.0f}); y[0] = a.d;",
        (
            "struct __align__(8) MD { float m, d; };\n__device__ MD merge(MD a, MD b) { MD "
            "c; c.m = fmaxf(a.m, b.m); c.d = a.d; return c; }"
        ),
    ),
    Accepted(
        "structs that hold arrays, and arrays of structs",
        "Best b = {{1, 2}, 3}, c[2] = {{{4}}}; b = {}; c[1] = b; y[0] = c[0].values[0];",
        "struct Best { float values[2]; int count; };",
    ),
    Accepted(
        "structs by pointer and reference",
        "P p = {1, 2}; scale(p); grow(&p); y[0] = p.a;",
        (
            "struct P { float a; int b; };\n__device__ void scale(P& p) { p.a *= 2; }\n"
            "__device__ void grow(P* p) { p->b += 1; }"
        ),
    ),
    Accepted(
        "`__device__` functions, overloaded too",
        "y[0] = twice(x[0]) + twice(2);",
        (
            "__device__ __forceinline__ float twice(float a) { return 2 * a; }\n__device__ "
            "int twice(int a) { return 2 * a; }"
        ),
    ),
    Accepted(
        "templates of functions over types and integers",
        "y[0] = power<3>(x[0]) + larger(x[0], x[1]);",
        (
            "template <int N, typename T> __device__ T power(T a) { T b = 1; for (int i = "
            "0; i < N; ++i) b *= a; return b; }\ntemplate <typename T> __device__ T "
            "larger(T a, T b) { return a > b ? a : b; }"
        ),
    ),
    Accepted("`static_assert`", 'static_assert(sizeof(int) == 4, "four bytes");'),
    Accepted(
        "constants of the file",
        "y[0] = SCALE * LANES;",
        "__device__ constexpr float SCALE = 2.0f;\nstatic const int LANES = 32;",
    ),
    Accepted(
        "`threadIdx`, `blockIdx`, `blockDim`, `gridDim`, `warpSize`",
        "int i = blockIdx.x * blockDim.x + threadIdx.y % warpSize + gridDim.z;",
    ),
    Accepted(
        "`__syncthreads`, `__syncwarp`, fences",
        "__syncthreads(); __syncwarp(); __syncwarp(0xffu); __threadfence();",
    ),
    Accepted(
        "`__syncthreads_count`, `__syncthreads_and`, `__syncthreads_or`",
        "int a = __syncthreads_count(x[0] > 0); if (__syncthreads_or(a > 1)) y[0] = a;",
    ),
    Accepted(
        "shuffles with mask and width",
        (
            "float a = __shfl_xor_sync(0xffffffffu, x[0], 16); a += __shfl_down_sync(0xffu, "
            "a, 1, 8);"
        ),
    ),
    Accepted(
        "votes and reductions of a warp",
        (
            "unsigned a = __ballot_sync(~0u, vocab > 1); int b = __reduce_max_sync(a, "
            "vocab) + __any_sync(a, 1);"
        ),
    ),
    Accepted(
        "atomics",
        "atomicAdd(y, 1.0f); atomicMax(count, 3); int old = atomicCAS(count, 0, 1);",
    ),
    Accepted(
        "maths of float and double",
        (
            "y[0] = expf(x[0]) + __expf(x[1]) + rsqrtf(2) + max(vocab, 3) + fmaf(1, 2, 3) + "
            "erff(x[2]) + sinf(x[3]) + roundf(x[4]) + copysignf(1, x[5]) + __saturatef(x[6]);"
        ),
    ),
    Accepted("`isnan`, `isinf`, `isfinite`", "y[0] = isnan(x[0]) || isinf(x[0]) ? 0 : 1;"),
    Accepted(
        "bit casts and bit counts",
        (
            "int a = __float_as_int(x[0]); y[0] = __int_as_float(a + __popc(7) + __ffs(a) + "
            "__clz(a));"
        ),
    ),
    Accepted("loads and stores with cache hints", "__stcs(y, __ldg(x) + __ldcs(x + 1));"),
    Accepted(
        "`INFINITY`, `NAN`, `FLT_MAX`, `INT_MAX`, `std::numeric_limits`",
        "y[0] = -INFINITY + NAN + FLT_MAX + INT_MAX + std::numeric_limits<float>::infinity();",
    ),
    Accepted(
        "macros, conditions, includes of known headers",
        "y[0] = TWICE(WIDTH);",
        (
            "#include <math.h>\n#ifndef WIDTH\n#define WIDTH 4\n#endif\n#if defined(WIDTH) "
            "&& WIDTH > 2\n#define TWICE(a) ((a) * 2)\n#endif"
        ),
    ),
    Accepted(
        "`#pragma unroll`, and any other pragma, without effect",
        "\n#pragma unroll 4\nfor (int i = 0; i < 4; ++i) y[i] = 1;",
    ),
    Accepted(
        "attributes and hints, without effect",
        "[[maybe_unused]] int a = 1;",
        "__device__ __noinline__ int one() { return 1; }",
    ),
)
