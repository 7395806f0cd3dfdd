"""What parameters get: usual names, constness, what is said, and what is left in doubt."""

from __future__ import annotations

import pytest

from oneread.trace import UsageError, run
from oneread.trace.arguments import Argument, Parameter, bind

NAMES = {"rows": 3, "vocab": 10, "k": 2, "TILE": 4}


def pointer(name: str, const: bool = False) -> Parameter:
    return Parameter(name, True, const, True)


def size(name: str) -> Parameter:
    return Parameter(name, False, False, False)


def bound(*parameters: Parameter, **given: str) -> dict[str, Argument]:
    return {one.name: one for one in bind(parameters, given, NAMES, "normal")}


def test_pointer_to_const_is_an_input_and_any_other_an_output() -> None:
    got = bound(pointer("x", const=True), pointer("y"), size("N"))
    assert (got["x"].role, got["x"].size, got["x"].pattern) == ("input", 30, "normal")
    assert (got["y"].role, got["y"].size, got["y"].pattern) == ("output", 30, None)
    assert got["N"].size == 10


@pytest.mark.parametrize(
    ("name", "value"),
    [("rows", 3), ("M", 3), ("B", 3), ("vocab", 10), ("cols", 10), ("K", 2), ("T", 10)],
)
def test_sizes_have_usual_names(name: str, value: int) -> None:
    assert bound(pointer("x", const=True), size(name))[name].size == value


def test_outputs_of_a_row_and_of_k_have_usual_names() -> None:
    got = bound(pointer("x", const=True), pointer("values"), pointer("lse"), size("n"), size("k"))
    assert (got["values"].size, got["lse"].size) == (6, 3)


def test_argument_that_is_said_counts() -> None:
    got = bound(pointer("a", const=True), size("n"), a="rows*TILE:large", n="rows*vocab")
    assert (got["a"].size, got["a"].pattern, got["n"].size) == (12, "large", 30)


def test_buffer_that_is_read_and_written_can_be_said() -> None:
    got = bound(pointer("x"), size("n"), x="rows*vocab:inout:ramp")
    assert (got["x"].role, got["x"].pattern) == ("inout", "ramp")


def test_doubt_is_an_error_with_the_guess_to_pass_back() -> None:
    with pytest.raises(UsageError) as doubt:
        bound(pointer("x", const=True), pointer("y"), size("N"), size("C"))
    assert doubt.value.remedy["arguments"]["N"] == "rows"
    assert doubt.value.remedy["arguments"]["C"] == "vocab"
    got = bound(pointer("x", const=True), pointer("y"), size("N"), size("C"), N="rows", C="vocab")
    assert (got["N"].size, got["C"].size) == (3, 10)


def test_unusual_name_is_a_doubt() -> None:
    with pytest.raises(UsageError, match="banana"):
        bound(pointer("x", const=True), size("banana"))


def test_kernel_without_a_pointer_to_const_is_a_doubt() -> None:
    with pytest.raises(UsageError, match=r"arguments=\{'x': 'rows"):
        bound(pointer("x"), pointer("y"), size("n"))


def test_number_with_a_fraction_is_a_doubt_unless_said() -> None:
    scale = Parameter("scale", False, False, True)
    with pytest.raises(UsageError, match=r"'scale': '1\.0'"):
        bound(pointer("x", const=True), scale)
    assert bound(pointer("x", const=True), scale, scale="0.5")["scale"].size == 0.5


def test_parameter_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UsageError, match="'z'"):
        bound(pointer("x", const=True), z="1")


def test_pattern_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UsageError, match="normal"):
        bound(pointer("x", const=True), x="rows:odd")


def test_block_is_taken_from_the_macro_that_names_it() -> None:
    text = """#define THREADS 96
    __global__ void k(const float* x, float* y, int n) {
        for (int i = threadIdx.x; i < n; i += THREADS) y[i] = x[i];
    }"""
    assert run(text, rows=1, truth={}).block == (96, 1, 1)
    assert run(text, rows=1, truth={}, defines={"THREADS": 32}).block == (32, 1, 1)


@pytest.mark.parametrize(
    ("head", "defines"),
    [
        ("constexpr int THREADS = 64;", {}),
        ("#define WARPS 2\n#define THREADS (32 * WARPS)", {}),
        ("#ifndef THREADS\n#define THREADS 128\n#endif", {"THREADS": "0x40"}),
        ("#ifndef THREADS\n#define THREADS 128\n#endif", {"THREADS": "(64)"}),
        ("#if 1\n#define THREADS 64\n#else\n#define THREADS 32\n#endif", {}),
        ("#define THREADS 64\n/*\n#define THREADS 32\n*/", {}),
    ],
)
def test_block_is_what_the_source_means_by_its_name(head: str, defines: dict[str, str]) -> None:
    body = "__shared__ float s[THREADS]; s[threadIdx.x] = 1; y[threadIdx.x] = s[threadIdx.x];"
    text = f"{head}\n__global__ void k(float* y) {{ {body} }}"
    outcome = run(text, rows=1, truth={}, defines=defines, arguments={"y": "64:inout:zeros"})
    assert outcome.block == (64, 1, 1)
    assert not outcome.faults


def test_data_of_the_wrong_length_is_an_error() -> None:
    text = "__global__ void k(const float* x, float* y, int n) { y[0] = x[0]; }"
    with pytest.raises(UsageError, match="given: 2"):
        run(text, rows=1, vocab=4, data={"x": [1.0, 2.0]})


def test_struct_by_value_is_refused() -> None:
    text = "struct P { int n; };\n__global__ void k(const float* x, float* y, P p) { y[0] = p.n; }"
    with pytest.raises(UsageError, match="p is a P; a launch gives numbers and pointers only"):
        run(text, rows=1, vocab=4)


def test_integers_are_columns_unless_zeros_are_asked_for() -> None:
    text = "__global__ void k(const int* i, float* y, int n) { y[threadIdx.x] = i[threadIdx.x]; }"
    case = {"rows": 1, "vocab": 4, "block": 4, "truth": {}}
    assert run(text, **case).outputs["y"] == [0, 1, 2, 3]
    assert run(text, arguments={"i": "vocab:zeros"}, **case).outputs["y"] == [0, 0, 0, 0]


def test_input_that_follows_from_the_logits_holds_its_truth() -> None:
    head = "__global__ void k(const float* x, const float* m, float* y, int n) {"
    text = f"{head} y[threadIdx.x] = x[threadIdx.x] - m[0]; }}"
    case = {"rows": 1, "vocab": 4, "block": 4, "arguments": {"m": "rows:normal"}}
    got = run(text, truth={"m": "maximum"}, **case)
    assert got.inputs["m"] == [max(got.inputs["x"])]
    assert max(got.outputs["y"]) == 0
    late = text.replace("const float* x, const float* m", "const float* m, const float* x")
    with pytest.raises(UsageError, match="m follows from logits"):
        run(late, truth={"m": "maximum"}, **case)


SCALED = "__global__ void k({kind} a, float* y) {{ y[threadIdx.x] = {value}; }}"


def of_scalar(kind: str, value: str, said: str | float) -> set[float]:
    outcome = run(
        SCALED.format(kind=kind, value=value),
        rows=1,
        vocab=32,
        block=32,
        truth={},
        arguments={"a": said, "y": "32:inout:zeros"},
    )
    return set(outcome.outputs["y"])


def test_bool_argument_holds_in_every_lane() -> None:
    assert of_scalar("bool", "a ? 1 : 2", "1") == {1}
    assert of_scalar("bool", "a ? 1 : 2", "5") == {1}
    assert of_scalar("bool", "a ? 1 : 2", "0") == {2}


def test_float_argument_is_rounded_to_its_type() -> None:
    assert of_scalar("float", "a == 0.1f", "0.1") == {1}
    assert of_scalar("double", "a == 0.1", "0.1") == {1}
    assert of_scalar("float", "isinf(a)", "1e39") == {1}


@pytest.mark.parametrize(
    ("kind", "said"),
    [("int", "5000000000"), ("unsigned", "0-5"), ("signed char", 128), ("int", 1.5)],
)
def test_integer_argument_that_its_type_cannot_hold_is_an_error(kind: str, said: float) -> None:
    with pytest.raises(UsageError, match=f"a is {kind}"):
        of_scalar(kind, "a", said)
    assert of_scalar(kind, "a", 100) == {100}


@pytest.mark.parametrize("grid", ["N", "(N)", "blocks"])
def test_of_two_sizes_of_like_names_the_rows_are_those_that_the_file_launches_blocks_of(
    grid: str,
) -> None:
    text = (
        "__global__ void k(float* y, const float* x, int N, int C) {\n"
        "    for (int i = threadIdx.x; i < C; i += blockDim.x)\n"
        "        y[blockIdx.x * C + i] = x[blockIdx.x * C + i];\n}\n"
        f"void go(int N, int C) {{ const int blocks = N; k<<<{grid}, 64>>>(y, x, N, C); }}\n"
    )
    outcome = run(text, rows=3, vocab=70)
    assert {one.name: one.size for one in outcome.arguments if one.role == "scalar"} == {
        "N": 3, "C": 70,
    }  # fmt: skip
    assert outcome.grid == (3, 1, 1)


@pytest.mark.parametrize(
    ("passed", "sizes"),
    [
        ("rows, dim, dim", {"tokens": 3, "stride": 70, "dim": 70}),
        ("batch, 512, dim", {"tokens": 3, "stride": 512, "dim": 70}),
    ],
)
def test_unusual_names_of_sizes_mean_what_the_file_passes(
    passed: str, sizes: dict[str, int]
) -> None:
    text = (
        "__global__ void k(const float* x, float* y, int tokens, int stride, int dim) {\n"
        "    if (blockIdx.x < tokens && threadIdx.x < dim) y[blockIdx.x * dim + threadIdx.x] = 1;\n"
        f"}}\nvoid go() {{ k<<<4, 64>>>(x, y, {passed}); }}\n"
    )
    outcome = run(text, rows=3, vocab=70)
    scalars = [one for one in outcome.arguments if one.role == "scalar"]
    assert {one.name: one.size for one in scalars} == sizes
