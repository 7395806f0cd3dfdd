"""What is outside the subset, by name, each with what to do instead.

The parser refuses by this table and no other, the tests try each row and docs/tracer-subset.md is
made from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Refusal:
    """A construct that is refused by its shape, by a keyword of C++ or by a name.

    ``words`` are refused wherever they stand, ``names`` where the file declares none of that name.
    ``code`` shows the construct in a kernel, ``outside`` what stands at file level then.
    """

    what: str
    instead: str
    words: str = ""
    names: str = ""
    code: str = ""
    outside: str = ""


_SOON: Final = "planned; until then "

_TABLE: Final = (
    Refusal(
        "switch",
        _SOON + "write if and else",
        words="switch",
        code="switch (vocab) { case 1: break; }",
    ),
    Refusal("goto", "use loops and conditions", words="goto", code="goto end;"),
    Refusal(
        "inline PTX",
        "use the intrinsic function for it",
        words="asm __asm__",
        code='asm("bar.sync 0;");',
    ),
    Refusal("printf", _SOON + "store to a buffer", names="printf", code='printf("%d", vocab);'),
    Refusal(
        "assert", "store to a buffer, or static_assert", names="assert", code="assert(vocab > 0);"
    ),
    Refusal("new", "use a local or shared array", words="new", code="float* a = new float[4];"),
    Refusal("delete", "use a local or shared array", words="delete", code="delete y;"),
    Refusal(
        "malloc",
        "use a local or shared array",
        names="malloc",
        code="float* a = (float*)malloc(4);",
    ),
    Refusal("free", "use a local or shared array", names="free", code="free(y);"),
    Refusal("memcpy", "write a loop", names="memcpy", code="memcpy(y, x, 4);"),
    Refusal("memset", "write a loop", names="memset", code="memset(y, 0, 4);"),
    Refusal("an exception", "return early", words="try throw", code="try { } catch (...) { }"),
    Refusal("a class", "use a struct", words="class", code="class A { };"),
    Refusal(
        "a union",
        "use __float_as_int and its kin",
        words="union",
        code="union A { int a; float b; };",
    ),
    Refusal(
        "a virtual function",
        "write a __device__ function",
        words="virtual",
        code="struct A { virtual void f(); };",
    ),
    Refusal(
        "dynamic_cast",
        "use static_cast",
        words="dynamic_cast",
        code="int* a = dynamic_cast<int*>(y);",
    ),
    Refusal("typeid", "name the type", words="typeid", code="typeid(vocab);"),
    Refusal(
        "decltype", "use auto or name the type", words="decltype", code="decltype(vocab) a = 1;"
    ),
    Refusal("this", "write a __device__ function", words="this", code="this->x = 1;"),
    Refusal(
        "an overloaded operator",
        "write a named function",
        words="operator",
        code="y[0] = operator+(1, 2);",
    ),
    Refusal(
        "half precision", _SOON + "use float", names="half half2 __half __half2", code="half a;"
    ),
    Refusal(
        "bfloat16",
        _SOON + "use float",
        names="__nv_bfloat16 __nv_bfloat162",
        code="__nv_bfloat16 a;",
    ),
    Refusal("dim3", "use its numbers one by one", names="dim3", code="dim3 a(1, 2);"),
    Refusal("CUB", _SOON + "write the reduction out", names="cub", code="cub::Sum s;"),
    Refusal(
        "cooperative groups",
        _SOON + "use __syncwarp and shuffles",
        names="cg cooperative_groups thread_block thread_block_tile this_thread_block this_grid "
        "tiled_partition coalesced_threads",
        code="cg::thread_block b;",
    ),
    Refusal("Thrust", "write a loop", names="thrust", code="thrust::plus p;"),
    Refusal("libcu++", "use CUDA's own functions", names="cuda", code="cuda::barrier b;"),
    Refusal("tensor cores", "write the product out", names="nvcuda wmma", code="nvcuda::wmma w;"),
    Refusal(
        "an asynchronous copy",
        "copy with plain loads and stores",
        names="__pipeline_memcpy_async",
        code="__pipeline_memcpy_async(y, x, 4);",
    ),
    Refusal(
        "a shuffle without a mask",
        "use __shfl_sync",
        names="__shfl __shfl_xor __shfl_down __shfl_up",
        code="y[0] = __shfl(x[0], 1);",
    ),
    Refusal(
        "a vote without a mask",
        "use __ballot_sync",
        names="__ballot __any __all",
        code="y[0] = __ballot(1);",
    ),
    Refusal("a texture", "use a pointer", names="tex1Dfetch", code="y[0] = tex1Dfetch(1, 2);"),
    Refusal(
        "a clock",
        "no simulator knows the time",
        names="clock64 clock __nanosleep",
        code="long long t = clock64();",
    ),
    Refusal(
        "the CUDA runtime", "call it from the host", names="cudaMalloc", code="cudaMalloc(0, 4);"
    ),
    Refusal("a lambda", "write a __device__ function", code="auto f = [&] { return vocab; };"),
    Refusal("a kernel launch", "launch from the command line", code="other<<<1, 32>>>(y);"),
    Refusal(
        "a pointer to a function or array", "use a plain pointer", code="float (*f)(float) = 0;"
    ),
    Refusal("a call through a pointer", "call by name", code="(y + 1)(2);"),
    Refusal("a member function", "write a __device__ function", code="float4 v; v.norm();"),
    Refusal("a label", "use loops and conditions", code="end: y[0] = 1;"),
    Refusal("a scoped enumeration", "use a plain enum", code="enum class E { A };"),
    Refusal("a string", "a kernel has no use for text", code='const char* s = "text";'),
    Refusal("a bit field", "use a whole member, and shifts", code="struct A { int a : 3; };"),
    Refusal(
        "inheritance", "repeat the members", code="struct A { int a; }; struct B : A { int b; };"
    ),
    Refusal("an access specifier", "leave it out", code="struct A { public: int a; };"),
    Refusal(
        "a member's default", "give all members where it is made", code="struct A { int a = 1; };"
    ),
    Refusal(
        "a declaration in a condition",
        "declare it in the line before",
        code="if (int a = vocab) y[0] = a;",
    ),
    Refusal(
        "a designated initialiser", "give the values in order", code="float2 a = {.x = 1, .y = 2};"
    ),
    Refusal("an rvalue reference", "use & or a value", code="float&& a = 1.0f;"),
    Refusal(
        "a cast to a reference",
        "cast a value or a pointer",
        code="int a = reinterpret_cast<int&>(y[0]);",
    ),
    Refusal("a static variable", "pass a pointer to the kernel", code="static int a = 1;"),
    Refusal(
        "a default argument",
        "give it at each call",
        code="y[0] = f(1);",
        outside="__device__ float f(float a, float b = 1) { return a + b; }",
    ),
    Refusal(
        "a constructor",
        "write a __device__ function or use braces",
        code="A a = {1};",
        outside="struct A { float a; __device__ A(float b) { a = b; } };",
    ),
    Refusal(
        "an operator of a struct",
        "write a __device__ function",
        code="A a = {1};",
        outside="struct A { float a; __device__ A operator+(A b) { return b; } };",
    ),
    Refusal(
        "a variable number of arguments",
        "name each one",
        code="y[0] = f(1);",
        outside="__device__ float f(float a, ...) { return a; }",
    ),
    Refusal(
        "a variadic template",
        "name each parameter",
        code="y[0] = f(1);",
        outside="template <typename... T> __device__ float f(T... a) { return 1; }",
    ),
    Refusal(
        "a template of a struct or variable",
        "name a type",
        code="A<float> a;",
        outside="template <typename T> struct A { T a; };",
    ),
    Refusal(
        "recursion",
        "write a loop",
        code="y[0] = f(1);",
        outside="__device__ float f(float a) { return a > 9 ? a : f(a + 1); }",
    ),
    Refusal(
        "# and ## in macros",
        "write the name out",
        code="y[0] = JOIN(1, 2);",
        outside="#define JOIN(a, b) a##b",
    ),
    Refusal(
        "a function that returns a reference or auto",
        "name a value's type",
        code="y[0] = f(1);",
        outside="__device__ auto f(float a) { return a; }",
    ),
    Refusal(
        "a local template",
        "move it out of the function",
        code="template <typename T> T f(T a) { return a; }",
    ),
    Refusal(
        "a member template",
        "write a __device__ function",
        code="struct A { template <typename T> T f(T a) { return a; } };",
    ),
    Refusal(
        "a pointer as a template parameter",
        "pass it as an argument",
        code="f<nullptr>();",
        outside="template <float* P> __device__ void f() {}",
    ),
    Refusal("a pointer to a reference", "use a pointer", code="float &*a = y;"),
    Refusal(
        "a name within a namespace or class",
        "only std:: before a known name is understood",
        code="y[0] = other::f(1);",
    ),
    Refusal(
        "a template specialisation",
        "use if constexpr",
        code="y[0] = f<int>(1);",
        outside=(
            "template <typename T> __device__ T f(T a) { return a; }\n"
            "template <> __device__ int f<int>(int a) { return 2 * a; }"
        ),
    ),
    Refusal(
        "a template template parameter",
        "use a type",
        code="f<1>();",
        outside="template <template <int> class T> __device__ void f() {}",
    ),
    Refusal(
        "a template within a template",
        "use one list",
        code="f<1>();",
        outside="template <int N> template <int M> __device__ void f() {}",
    ),
    Refusal(
        "a variable behind its struct",
        "declare it in a line of its own",
        code="struct A { int a; } b; b.a = 1;",
    ),
    Refusal(
        "an initialiser in a condition", "write it before", code="if (vocab = 1; vocab) y[0] = 1;"
    ),
    Refusal(
        "a member that is a reference or auto",
        "use a pointer or a value",
        code="struct A { float& a; };",
    ),
    Refusal(
        "a __constant__ variable",
        "pass a pointer to the kernel",
        code="y[0] = A[0];",
        outside="__constant__ float A[4];",
    ),
    Refusal(
        "a __device__ variable",
        "pass a pointer to the kernel",
        code="y[0] = A;",
        outside="__device__ float A;",
    ),
    Refusal(
        "a call in a constant",
        "use a macro or a template parameter",
        code="constexpr int n = f();",
        outside="constexpr __device__ int f() { return 4; }",
    ),
    Refusal(
        "a loop over a range",
        "write a loop with an index",
        code="float a[2] = {1, 2}; for (float v : a) y[0] += v;",
    ),
    Refusal("a structured binding", "name each member", code="float2 a = {1, 2}; auto [b, c] = a;"),
    Refusal("a function declared within a function", "declare it outside", code="float a();"),
    Refusal("an extern variable", "pass a pointer to the kernel", code="extern float a;"),
)

#: Every refusal by what it is called.
REFUSALS: Final = {one.what: one for one in _TABLE}

#: What a keyword gives away.
REFUSED_WORDS: Final = {word: one.what for one in _TABLE for word in one.words.split()}

#: What a name gives away that the file does not declare.
REFUSED_NAMES: Final = {name: one.what for one in _TABLE for name in one.names.split()}
