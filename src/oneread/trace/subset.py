"""The subset of CUDA C that is traced: what is taken, what is refused, and what to do instead.

The parser refuses by this list, the tests try each row, and docs/tracer-subset.md is made from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Accepted:
    """A construct that is traced. ``code`` stands in a kernel, or at file level if `outside`."""

    what: str
    code: str
    outside: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A construct that is refused: by its first word, or by its shape in ``code``."""

    what: str
    instead: str
    code: str = ""
    outside: str = ""


#: In the example code: `const float* x`, `float* y`, `int* count` and `int vocab` are parameters.
ACCEPTED: Final = (
    Accepted("numbers of 8 to 64 bits, `bool`, `float`; `double` too", "uint8_t a = 1; double b = a;"),
    Accepted("fixed-width and `size_t` types", "int64_t a = 1; size_t b = a; uint32_t c = 2u;"),
    Accepted("vector types and `make_float4`", "float4 v = make_float4(1, 2, 3, 4); y[0] = v.w;"),
    Accepted("decimal, hexadecimal, binary, float and character literals", "y[0] = 0x1p-3f + 0b11 + 'a' + 1'000;"),
    Accepted("casts of C and C++", "size_t a = (size_t)vocab; float b = static_cast<float>(a);"),
    Accepted("pointers cast to vectors", "const float4* v = reinterpret_cast<const float4*>(x); y[0] = v[0].x;"),
    Accepted("pointer arithmetic, `&`, `*`, `[]`", "const float* p = &x[1]; y[0] = *(p + 1); p += 2;"),
    Accepted("integer and float operators", "int a = vocab % 7 << 2 | 1; y[0] = -a / 2.0f;"),
    Accepted("assignment operators, `++`, `--`", "int i = 0; i += 2; i <<= 1; y[i++] = 1; --i;"),
    Accepted("`&&`, `||`, `?:` and the comma", "int i = 0, j; j = (i = 1, 2); y[0] = i && j || !i ? 1 : 2;"),
    Accepted("`sizeof`, `alignof`", "int a = sizeof(float4) + sizeof a + alignof(double);"),
    Accepted("`if`, `else`", "if (vocab > 1) y[0] = 1; else y[0] = 2;"),
    Accepted("`if constexpr`", "if constexpr (sizeof(int) == 4) { y[0] = 1; }"),
    Accepted("`for`, `while`, `do`", "for (int i = 0; i < 3; ++i) while (i) { --i; } do {} while (0);"),
    Accepted("`break`, `continue`, `return`", "for (;;) { if (vocab) break; continue; } return;"),
    Accepted("`__shared__` variables and arrays", "__shared__ float s[2][33], m; s[1][threadIdx.x] = m;"),
    Accepted("`extern __shared__`", "extern __shared__ float dynamic[]; y[0] = dynamic[0];"),
    Accepted("local arrays, with values", "float a[4] = {1, 2}; int b[] = {1, 2, 3}; y[0] = a[b[0]];"),
    Accepted("`const`, `constexpr`, `volatile`, `__restrict__`", "constexpr int n = 4; const int m = n * 2; float a[m];"),
    Accepted("`auto`", "auto a = x[0]; const auto* p = x; y[0] = a + *p;"),
    Accepted("references", "float a = 1; float& b = a; const float& c = 2.0f; b = c;"),
    Accepted("`typedef`, `using`", "typedef float real; using index = int; real a = 1; index i = 2;"),
    Accepted("`enum`", "enum { FIRST, SECOND = 4 }; int a[SECOND]; a[FIRST] = 1;"),
    Accepted("structs by value, `__align__`, braces", "MD a = {x[0], 1.0f}; a = merge(a, MD{x[1], 1.0f}); y[0] = a.d;",
             "struct __align__(8) MD { float m, d; };\n__device__ MD merge(MD a, MD b) { MD c; c.m = fmaxf(a.m, b.m); c.d = a.d; return c; }"),
    Accepted("structs by pointer and reference", "P p = {1, 2}; scale(p); grow(&p); y[0] = p.a;",
             "struct P { float a; int b; };\n__device__ void scale(P& p) { p.a *= 2; }\n__device__ void grow(P* p) { p->b += 1; }"),
    Accepted("`__device__` functions, overloaded too", "y[0] = twice(x[0]) + twice(2);",
             "__device__ __forceinline__ float twice(float a) { return 2 * a; }\n__device__ int twice(int a) { return 2 * a; }"),
    Accepted("templates of functions over types and integers", "y[0] = power<3>(x[0]) + larger(x[0], x[1]);",
             "template <int N, typename T> __device__ T power(T a) { T b = 1; for (int i = 0; i < N; ++i) b *= a; return b; }\ntemplate <typename T> __device__ T larger(T a, T b) { return a > b ? a : b; }"),
    Accepted("`static_assert`", "static_assert(sizeof(int) == 4, \"four bytes\");"),
    Accepted("constants of the file", "y[0] = SCALE * LANES;", "constexpr float SCALE = 2.0f;\nstatic const int LANES = 32;"),
    Accepted("`threadIdx`, `blockIdx`, `blockDim`, `gridDim`, `warpSize`", "int i = blockIdx.x * blockDim.x + threadIdx.y % warpSize + gridDim.z;"),
    Accepted("`__syncthreads`, `__syncwarp`, fences", "__syncthreads(); __syncwarp(); __syncwarp(0xffu); __threadfence();"),
    Accepted("shuffles with mask and width", "float a = __shfl_xor_sync(0xffffffffu, x[0], 16); a += __shfl_down_sync(0xffu, a, 1, 8);"),
    Accepted("votes and reductions of a warp", "unsigned a = __ballot_sync(~0u, vocab > 1); int b = __reduce_max_sync(a, vocab) + __any_sync(a, b);"),
    Accepted("atomics", "atomicAdd(y, 1.0f); atomicMax(count, 3); int old = atomicCAS(count, 0, 1);"),
    Accepted("maths of float and double", "y[0] = expf(x[0]) + __expf(x[1]) + rsqrtf(2) + max(vocab, 3) + fmaf(1, 2, 3);"),
    Accepted("`isnan`, `isinf`, `isfinite`", "y[0] = isnan(x[0]) || isinf(x[0]) ? 0 : 1;"),
    Accepted("bit casts and bit counts", "int a = __float_as_int(x[0]); y[0] = __int_as_float(a + __popc(7) + __ffs(a) + __clz(a));"),
    Accepted("loads and stores with cache hints", "__stcs(y, __ldg(x) + __ldcs(x + 1));"),
    Accepted("`INFINITY`, `NAN`, `FLT_MAX`, `INT_MAX`, `std::numeric_limits`", "y[0] = -INFINITY + NAN + FLT_MAX + INT_MAX + std::numeric_limits<float>::infinity();"),
    Accepted("macros, conditions, includes of known headers", "y[0] = TWICE(WIDTH);",
             "#include <math.h>\n#ifndef WIDTH\n#define WIDTH 4\n#endif\n#if defined(WIDTH) && WIDTH > 2\n#define TWICE(a) ((a) * 2)\n#endif"),
    Accepted("`#pragma unroll`, and any other pragma, without effect", "\n#pragma unroll 4\nfor (int i = 0; i < 4; ++i) y[i] = 1;"),
    Accepted("attributes and hints, without effect", "[[maybe_unused]] int a = 1;", "__device__ __noinline__ int one() { return 1; }"),
)  # fmt: skip

_SOON: Final = "planned; until then "

#: Words that give away a construct outside the subset.
REFUSED_WORDS: Final[dict[str, Refusal]] = {
    "switch": Refusal("switch", _SOON + "write if and else", "switch (vocab) { case 1: break; }"),
    "goto": Refusal("goto", "use loops and conditions", "goto end; end: ;"),
    "asm": Refusal("inline PTX", "use the intrinsic function for it", 'asm("bar.sync 0;");'),
    "__asm__": Refusal("inline PTX", "use the intrinsic function for it", '__asm__("bar.sync 0;");'),
    "printf": Refusal("printf", _SOON + "store to a buffer", 'printf("%d", vocab);'),
    "assert": Refusal("assert", "store to a buffer, or static_assert", "assert(vocab > 0);"),
    "new": Refusal("new", "use a local or shared array", "float* a = new float[4];"),
    "delete": Refusal("delete", "use a local or shared array", "delete y;"),
    "malloc": Refusal("malloc", "use a local or shared array", "float* a = (float*)malloc(4);"),
    "free": Refusal("free", "use a local or shared array", "free(y);"),
    "memcpy": Refusal("memcpy", "write a loop", "memcpy(y, x, 4);"),
    "memset": Refusal("memset", "write a loop", "memset(y, 0, 4);"),
    "try": Refusal("an exception", "return early", "try { } catch (...) { }"),
    "throw": Refusal("an exception", "return early", "throw 1;"),
    "class": Refusal("a class", "use a struct", "class A { };"),
    "union": Refusal("a union", "use __float_as_int and its kin", "union A { int a; float b; };"),
    "virtual": Refusal("a virtual function", "write a __device__ function"),
    "dynamic_cast": Refusal("dynamic_cast", "use static_cast", "int* a = dynamic_cast<int*>(y);"),
    "typeid": Refusal("typeid", "name the type", "typeid(vocab);"),
    "decltype": Refusal("decltype", "use auto or name the type", "decltype(vocab) a = 1;"),
    "this": Refusal("this", "write a __device__ function", "this->x = 1;"),
    "operator": Refusal("an overloaded operator", "write a named function"),
    "concept": Refusal("a concept", "use a plain template"),
    "requires": Refusal("a requirement", "use static_assert"),
    "co_await": Refusal("a coroutine", "write a loop"),
    "half": Refusal("half precision", _SOON + "use float", "half a;"),
    "half2": Refusal("half precision", _SOON + "use float", "half2 a;"),
    "__half": Refusal("half precision", _SOON + "use float", "__half a;"),
    "__half2": Refusal("half precision", _SOON + "use float", "__half2 a;"),
    "__nv_bfloat16": Refusal("bfloat16", _SOON + "use float", "__nv_bfloat16 a;"),
    "__nv_bfloat162": Refusal("bfloat16", _SOON + "use float", "__nv_bfloat162 a;"),
    "dim3": Refusal("dim3", "use its numbers one by one", "dim3 a(1, 2);"),
    "cub": Refusal("CUB", _SOON + "write the reduction out", "cub::Sum s;"),
    "cg": Refusal("cooperative groups", _SOON + "use __syncwarp and shuffles", "cg::thread_block b;"),
    "cooperative_groups": Refusal(
        "cooperative groups", _SOON + "use __syncwarp and shuffles", "cooperative_groups::thread_block b;"
    ),
    "thrust": Refusal("Thrust", "write a loop", "thrust::plus p;"),
    "cuda": Refusal("libcu++", "use CUDA's own functions", "cuda::barrier b;"),
    "nvcuda": Refusal("tensor cores", "write the product out", "nvcuda::wmma w;"),
    "wmma": Refusal("tensor cores", "write the product out", "wmma::fragment w;"),
    "__pipeline_memcpy_async": Refusal(
        "an asynchronous copy", "copy with plain loads and stores", "__pipeline_memcpy_async(y, x, 4);"
    ),
    "__shfl": Refusal("a shuffle without a mask", "use __shfl_sync", "y[0] = __shfl(x[0], 1);"),
    "__shfl_xor": Refusal("a shuffle without a mask", "use __shfl_xor_sync", "y[0] = __shfl_xor(x[0], 1);"),
    "__shfl_down": Refusal("a shuffle without a mask", "use __shfl_down_sync", "y[0] = __shfl_down(x[0], 1);"),
    "__shfl_up": Refusal("a shuffle without a mask", "use __shfl_up_sync", "y[0] = __shfl_up(x[0], 1);"),
    "__ballot": Refusal("a vote without a mask", "use __ballot_sync", "y[0] = __ballot(1);"),
    "__any": Refusal("a vote without a mask", "use __any_sync", "y[0] = __any(1);"),
    "__all": Refusal("a vote without a mask", "use __all_sync", "y[0] = __all(1);"),
    "tex1Dfetch": Refusal("a texture", "use a pointer", "y[0] = tex1Dfetch(1, 2);"),
    "clock64": Refusal("a clock", "no simulator knows the time", "long long t = clock64();"),
    "clock": Refusal("a clock", "no simulator knows the time", "int t = clock();"),
    "__nanosleep": Refusal("a clock", "no simulator knows the time", "__nanosleep(8);"),
    "cudaMalloc": Refusal("the CUDA runtime", "call it from the host", "cudaMalloc(0, 4);"),
}  # fmt: skip

#: Constructs that are refused by their shape.
REFUSED_SHAPES: Final = (
    Refusal("a lambda", "write a __device__ function", "auto f = [](int a) { return a; };"),
    Refusal("a kernel launch", "launch from the command line", "other<<<1, 32>>>(y);"),
    Refusal("a pointer to a function or array", "use a plain pointer", "float (*f)(float) = 0;"),
    Refusal("a call through a pointer", "call by name", "y[0](1);"),
    Refusal("a member function", "write a __device__ function", "float4 v; v.norm();"),
    Refusal("a label", "use loops and conditions", "end: y[0] = 1;"),
    Refusal("a scoped enumeration", "use a plain enum", "enum class E { A };"),
    Refusal("a string", "a kernel has no use for text", 'const char* s = "text";'),
    Refusal("a bit field", "use a whole member, and shifts", "struct A { int a : 3; };"),
    Refusal("inheritance", "repeat the members", "struct A { int a; }; struct B : A { int b; };"),
    Refusal("an access specifier", "leave it out", "struct A { public: int a; };"),
    Refusal("a member's default", "give all members where it is made", "struct A { int a = 1; };"),
    Refusal("a declaration in a condition", "declare it in the line before", "if (int a = vocab) y[0] = a;"),
    Refusal("a designated initialiser", "give the values in order", "float2 a = {.x = 1, .y = 2};"),
    Refusal("an rvalue reference", "use & or a value", "float&& a = 1.0f;"),
    Refusal("a cast to a reference", "cast a value or a pointer", "int a = reinterpret_cast<int&>(y[0]);"),
    Refusal("static variables", "pass a pointer to the kernel", "static int a = 1;"),
    Refusal("a default argument", "give it at each call", "y[0] = f(1);",
            "__device__ float f(float a, float b = 1) { return a + b; }"),
    Refusal("a constructor", "write a __device__ function or use braces", "A a = {1};",
            "struct A { float a; __device__ A(float b) { a = b; } };"),
    Refusal("an operator of a struct", "write a __device__ function", "A a = {1};",
            "struct A { float a; __device__ A operator+(A b) { return b; } };"),
    Refusal("a variable number of arguments", "name each one", "y[0] = f(1);",
            "__device__ float f(float a, ...) { return a; }"),
    Refusal("a variadic template", "name each parameter", "y[0] = f(1);",
            "template <typename... T> __device__ float f(T... a) { return 1; }"),
    Refusal("a template of a struct or variable", "name a type", "A<float> a;",
            "template <typename T> struct A { T a; };"),
    Refusal("recursion", "write a loop", "y[0] = f(1);",
            "__device__ float f(float a) { return a > 9 ? a : f(a + 1); }"),
    Refusal("`#` and `##` in macros", "write the name out", "y[0] = JOIN(1, 2);", "#define JOIN(a, b) a##b"),
)  # fmt: skip
