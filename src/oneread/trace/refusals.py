"""What is outside the subset, by name, each with what to do instead.

The parser refuses by this list, the tests try each row and docs/tracer-subset.md is made from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Refusal:
    """A construct that is refused: by a word of ``words``, or by its shape.

    ``code`` shows it in a kernel, ``outside`` what stands at file level then.
    """

    what: str
    instead: str
    words: str = ""
    code: str = ""
    outside: str = ""


_SOON: Final = "planned; until then "

REFUSALS: Final = (
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
    Refusal("printf", _SOON + "store to a buffer", words="printf", code='printf("%d", vocab);'),
    Refusal(
        "assert", "store to a buffer, or static_assert", words="assert", code="assert(vocab > 0);"
    ),
    Refusal("new", "use a local or shared array", words="new", code="float* a = new float[4];"),
    Refusal("delete", "use a local or shared array", words="delete", code="delete y;"),
    Refusal(
        "malloc",
        "use a local or shared array",
        words="malloc",
        code="float* a = (float*)malloc(4);",
    ),
    Refusal("free", "use a local or shared array", words="free", code="free(y);"),
    Refusal("memcpy", "write a loop", words="memcpy", code="memcpy(y, x, 4);"),
    Refusal("memset", "write a loop", words="memset", code="memset(y, 0, 4);"),
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
        "half precision", _SOON + "use float", words="half half2 __half __half2", code="half a;"
    ),
    Refusal(
        "bfloat16",
        _SOON + "use float",
        words="__nv_bfloat16 __nv_bfloat162",
        code="__nv_bfloat16 a;",
    ),
    Refusal("dim3", "use its numbers one by one", words="dim3", code="dim3 a(1, 2);"),
    Refusal("CUB", _SOON + "write the reduction out", words="cub", code="cub::Sum s;"),
    Refusal(
        "cooperative groups",
        _SOON + "use __syncwarp and shuffles",
        words="cg cooperative_groups",
        code="cg::thread_block b;",
    ),
    Refusal("Thrust", "write a loop", words="thrust", code="thrust::plus p;"),
    Refusal("libcu++", "use CUDA's own functions", words="cuda", code="cuda::barrier b;"),
    Refusal("tensor cores", "write the product out", words="nvcuda wmma", code="nvcuda::wmma w;"),
    Refusal(
        "an asynchronous copy",
        "copy with plain loads and stores",
        words="__pipeline_memcpy_async",
        code="__pipeline_memcpy_async(y, x, 4);",
    ),
    Refusal(
        "a shuffle without a mask",
        "use __shfl_sync",
        words="__shfl __shfl_xor __shfl_down __shfl_up",
        code="y[0] = __shfl(x[0], 1);",
    ),
    Refusal(
        "a vote without a mask",
        "use __ballot_sync",
        words="__ballot __any __all",
        code="y[0] = __ballot(1);",
    ),
    Refusal("a texture", "use a pointer", words="tex1Dfetch", code="y[0] = tex1Dfetch(1, 2);"),
    Refusal(
        "a clock",
        "no simulator knows the time",
        words="clock64 clock __nanosleep",
        code="long long t = clock64();",
    ),
    Refusal(
        "the CUDA runtime", "call it from the host", words="cudaMalloc", code="cudaMalloc(0, 4);"
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
)

#: The construct that a word gives away.
REFUSED_WORDS: Final = {word: refusal for refusal in REFUSALS for word in refusal.words.split()}
