"""What the type checker leaves: conversions as nodes, names resolved, constants folded."""

from __future__ import annotations

import pytest

from oneread.source.errors import SourceError
from oneread.source.text import SourceText
from oneread.trace import tree
from oneread.trace.front.program import load_program
from oneread.trace.front.settings import Settings
from oneread.trace.types import DOUBLE, FLOAT, INT, UINT, Pointer, Struct, common, make_struct

STRUCT = "struct MD { float m; float d; };\n"


def load(code: str, outside: str = "", kernel: str = "") -> tree.Program:
    parameters = "const float* x, float* y, int n, unsigned u, size_t z, char c, double w"
    text = f"{outside}\n__global__ void k({parameters}) {{ {code} }}\n"
    return load_program(SourceText("k.cu", text), Settings(kernel)).program


def show(node: tree.Expr) -> str:
    """Return an expression in brackets, with the type of each conversion and literal."""
    match node:
        case tree.Assign(target=target, value=value):
            return f"{show(target)} = {show(value)}"
        case tree.Update():
            when = "post" if node.postfix else "pre"
            operator = f"{node.operator}={node.compute}/{when}"
            return f"{show(node.target)} {operator} {show(node.value)}"
        case tree.Call(function=function, arguments=arguments):
            return f"{function.name}({', '.join(map(show, arguments))})"
        case tree.BuiltinCall(builtin=builtin, arguments=arguments):
            return f"{builtin.name}({', '.join(map(show, arguments))})"
        case tree.Construct(values=values) | tree.ArrayValue(values=values):
            return f"{node.type}{{{', '.join(map(show, values))}}}"
        case tree.Unary(operator=operator, value=value):
            return f"({operator} {show(value)})"
        case tree.Binary() | tree.Logical():
            return f"({show(node.left)} {node.operator} {show(node.right)})"
        case tree.Conditional():
            return f"({show(node.condition)} ? {show(node.then)} : {show(node.otherwise)})"
        case tree.Comma(left=left, right=right):
            return f"({show(left)}, {show(right)})"
        case tree.PointerAdd(pointer=pointer, index=index):
            return f"({show(pointer)} ptr+ {show(index)})"
        case tree.PointerDifference(left=left, right=right):
            return f"({show(left)} ptr- {show(right)})"
    return show_operand(node)


def show_operand(node: tree.Expr) -> str:
    match node:
        case tree.Literal(value=value):
            return f"{value}:{node.type}"
        case tree.VariableRef(variable=variable):
            return variable.name
        case tree.Special(name=name):
            return name
        case tree.Load(place=place):
            return f"(load {show(place)})"
        case tree.Convert(value=value):
            return f"({node.type} {show(value)})"
        case tree.Index(pointer=pointer, index=index):
            return f"{show(pointer)}[{show(index)}]"
        case tree.Deref(pointer=pointer):
            return f"*{show(pointer)}"
        case tree.Member(base=base, field=field):
            return f"{show(base)}.{field.name}"
        case tree.Extract(value=value, field=field):
            return f"{show(value)}!{field.name}"
        case tree.Decay(place=place):
            return f"(decay {show(place)})"
        case tree.AddressOf(place=place):
            return f"&{show(place)}"
        case tree.Temporary(value=value):
            return f"(temporary {show(value)})"
    raise AssertionError(node)


def last(program: tree.Program) -> str:
    statement = program.kernel.body.statements[-1]
    if isinstance(statement, tree.Declare):
        return "none" if statement.value is None else show(statement.value)
    assert isinstance(statement, tree.Evaluate)
    return show(statement.value)


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        # Conversions
        ("y[0] = n;", "(load y)[0:long] = (float (load n))"),
        ("float a = 1;", "1.0:float"),
        ("float a = 0.1;", f"{0.10000000149011612}:float"),
        ("int a = 2.9f;", "2:int"),
        ("int a = x[0];", "(int (load (load x)[0:long]))"),
        ("bool a = n;", "(bool (load n))"),
        ("n + u;", "((unsigned int (load n)) + (load u))"),
        ("n * z;", "((unsigned long (load n)) * (load z))"),
        ("c + c;", "((int (load c)) + (int (load c)))"),
        ("x[0] * 2;", "((load (load x)[0:long]) * 2.0:float)"),
        ("x[0] * 2.0;", "((double (load (load x)[0:long])) * 2.0:double)"),
        ("n < u;", "((unsigned int (load n)) < (load u))"),
        ("n && x;", "((bool (load n)) && (bool (load x)))"),
        ("!n;", "(! (bool (load n)))"),
        ("-c;", "(- (int (load c)))"),
        ("n ? 1 : x[0];", "((bool (load n)) ? 1.0:float : (load (load x)[0:long]))"),
        ("c << z;", "((int (load c)) << (load z))"),
        ("(size_t)n * 4;", "((unsigned long (load n)) * 4:unsigned long)"),
        ("blockIdx.x * n;", "(blockIdx.x * (unsigned int (load n)))"),
        ("int a = threadIdx.x;", "(int threadIdx.x)"),
        # Places and pointers
        ("x[n];", "(load x)[(long (load n))]"),
        ("x[u];", "(load x)[(long (load u))]"),
        ("const float* p = x + n;", "((load x) ptr+ (long (load n)))"),
        ("const float* p = x - n;", "((load x) ptr+ (- (long (load n))))"),
        ("&x[1] - x;", "(&(load x)[1:long] ptr- (load x))"),
        ("*y = 1;", "*(load y) = 1.0:float"),
        ("x += z;", "x +=const float*/pre (long (load z))"),
        ("y++;", "y +=float*/post 1:long"),
        ("float* p = nullptr;", "0:float*"),
        ("x == nullptr;", "((load x) == 0:const float*)"),
        ("float a[2][3]; a[1][2] = 1;", "(decay (decay a)[1:long])[2:long] = 1.0:float"),
        ("float4 v = reinterpret_cast<const float4*>(x)[n];",
         "(load (const float4* (load x))[(long (load n))])"),
        ("y[0] = make_float2(1, n).y;",
         "(load y)[0:long] = float2{1.0:float, (float (load n))}!y"),
        # Assignments
        ("n += x[0];", "n +=float/pre (load (load x)[0:long])"),
        ("c += 1;", "c +=int/pre 1:int"),
        ("c <<= z;", "c <<=int/pre (load z)"),
        ("n--;", "n -=int/post 1:int"),
        ("n = u = 1;", "n = (int u = 1:unsigned int)"),
        # Constants
        ("const int a = 3; int b[a * 2]; b[0] = a;", "(decay b)[0:long] = 3:int"),
        ("constexpr float a = 1.0f / 3; y[0] = a;",
         f"(load y)[0:long] = {0.3333333432674408}:float"),
        ("enum { A = 2, B }; n = B;", "n = 3:int"),
        ("n = sizeof(float4) / sizeof(float);", "n = 4:int"),
        ("n = -7 / 2 * 10 + -7 % 2;", "n = -31:int"),
        ("n = ~0u >> 4 == 0xfffffff;", "n = 1:int"),
        ("n = (unsigned char)300;", "n = 44:int"),
        ("n = 2147483647 + 1;", "n = (2147483647:int + 1:int)"),
        ("n = 1 / 0;", "n = (1:int / 0:int)"),
        ("y[0] = -INFINITY;", "(load y)[0:long] = -inf:float"),
        ("n = 0 && n / 0;", "n = 0:int"),
        # Built-ins
        ("max(n, u);", "max((unsigned int (load n)), (load u))"),
        ("max(x[0], 0.0f);", "fmaxf((load (load x)[0:long]), 0.0:float)"),
        ("exp(x[0]);", "expf((load (load x)[0:long]))"),
        ("exp(w);", "exp((load w))"),
        ("exp(n);", "exp((double (load n)))"),
        ("expf(n);", "expf((float (load n)))"),
        ("abs(n);", "abs((load n))"),
        ("__shfl_xor_sync(~0u, x[0], 1);",
         "__shfl_xor_sync(4294967295:unsigned int, (load (load x)[0:long]), 1:int, 32:int)"),
        ("__syncwarp();", "__syncwarp(4294967295:unsigned int)"),
        ("atomicAdd(y, 1);", "atomicAdd((load y), 1.0:float)"),
        ("y[0] = __ldg(x + 1);", "(load y)[0:long] = (load *((load x) ptr+ 1:long))"),
        ("__stcs(y, 2);", "*(load y) = 2.0:float"),
    ],
)  # fmt: skip
def test_expression_becomes(code: str, shown: str) -> None:
    assert last(load(code)) == shown


@pytest.mark.parametrize(
    ("code", "outside", "shown"),
    [
        ("MD a = {1}; a.d = 2;", STRUCT, "a.d = 2.0:float"),
        ("MD a = {1};", STRUCT, "MD{1.0:float, 0.0:float}"),
        ("f(1).d;", STRUCT + "__device__ MD f(float m) { return {m, 1}; }", "f(1.0:float)!d"),
        ("float a = 1; f(a);", "__device__ void f(float& b) { b = 2; }", "f(&a)"),
        ("f(n);", "__device__ void f(const float& b) {}", "f(&(temporary (float (load n))))"),
        ("f(1, 2);", "__device__ int f(float a, int b) { return b; }", "f(1.0:float, 2:int)"),
        ("f(n);", "__device__ int f(int a);\n__device__ int f(int a) { return a; }", "f((load n))"),
        ("f<3>(x);", "template <int N, class T> __device__ T f(const T* a) { return a[N]; }",
         "f<3, float>((load x))"),
        ("f(1);", "__device__ int f(float a) { return 1; }\n__device__ int f(int a) { return 2; }",
         "f(1:int)"),
        ("y[0] = A;", "static const float A = 2;", "(load y)[0:long] = 2.0:float"),
    ],
)  # fmt: skip
def test_expression_with_declarations_becomes(code: str, outside: str, shown: str) -> None:
    assert last(load(code, outside)) == shown


def storage(code: str) -> str:
    program = load(code, STRUCT)
    variables = {one.name: one for one in (*program.kernel.variables, *program.kernel.shared)}
    return variables["a"].storage.value


@pytest.mark.parametrize(
    ("code", "where"),
    [
        ("float a = 1;", "register"),
        ("MD a = {1, 2}; a.m = 3;", "register"),
        ("float a = 1; float* p = &a;", "local"),
        ("float a = 1; float& b = a; b = 2;", "local"),
        ("MD a = {1, 2}; float* p = &a.d;", "local"),
        ("float a[3];", "local"),
        ("__shared__ float a;", "shared"),
        ("extern __shared__ float a[];", "extern shared"),
    ],
)
def test_variable_lives_in(code: str, where: str) -> None:
    assert storage(code) == where


def test_reference_is_a_pointer_whose_uses_are_dereferenced() -> None:
    assert last(load("float a = 1; float& b = a; b = 2;")) == "*(load b) = 2.0:float"


def test_short_circuit_of_a_constant_leaves_the_other_side() -> None:
    assert last(load("1 && n;")) == "(bool (load n))"


def test_callees_come_before_callers_and_each_once() -> None:
    program = load(
        "f(1); g(1);",
        "__device__ int h(int a) { __shared__ int s; return s; }\n"
        "__device__ int g(int a) { return h(a); }\n__device__ int f(int a) { return g(a) + h(a); }",
    )
    assert [one.name for one in program.functions] == ["h", "g", "f", "k"]
    assert [one.name for one in program.shared] == ["s"]


def test_template_is_made_once_for_each_argument() -> None:
    outside = "template <int N> __device__ int f() { return N; }"
    program = load("f<1>(); f<2>(); f<1>();", outside)
    assert [one.name for one in program.functions] == ["f<1>", "f<2>", "k"]


def test_untaken_branch_of_if_constexpr_is_not_checked() -> None:
    program = load("if constexpr (sizeof(int) == 8) { nothing(); } n = 1;")
    assert len(program.kernel.body.statements) == 1


def test_kernel_template_takes_its_arguments_from_the_settings() -> None:
    text = "template <int N, typename T> __global__ void k(T* y) { y[0] = N; }"
    source = SourceText("k.cu", text)
    program = load_program(source, Settings("k<4, float>")).program
    assert program.kernel.name == "k<4, float>"
    assert program.kernel.parameters[0].type == Pointer(FLOAT)
    with pytest.raises(SourceError, match="is a template; name it"):
        load_program(source)


def test_launch_bounds_are_kept() -> None:
    text = "__global__ void __launch_bounds__(4 * 32, 2) k(float* y) {}"
    assert load_program(SourceText("k.cu", text)).program.kernel.max_threads == 128


@pytest.mark.parametrize(
    ("left", "right", "met"),
    [(INT, UINT, UINT), (INT, FLOAT, FLOAT), (FLOAT, DOUBLE, DOUBLE), (UINT, UINT, UINT)],
)
def test_numbers_meet_in(left: object, right: object, met: object) -> None:
    assert common(left, right) is met  # type: ignore[arg-type]


def test_struct_is_laid_out_as_in_c() -> None:
    made: Struct = make_struct("S", [("a", UINT, False), ("b", DOUBLE, False), ("c", INT, False)])
    assert [field.offset for field in made.fields] == [0, 8, 16]
    assert (made.size, made.align) == (24, 8)


def test_positions_are_those_of_the_source() -> None:
    text = "__global__ void k(float* y) {\n\ty[0] = 1 + y[1];\n}\n"
    (statement,) = load_program(SourceText("k.cu", text)).program.kernel.body.statements
    assert isinstance(statement, tree.Evaluate)
    assert isinstance(statement.value, tree.Assign)
    assert statement.position[1:3] == (2, 2)
    assert statement.value.position[1:3] == (2, 7)
    assert statement.value.value.position[1:3] == (2, 11)
