"""How many elements buffers have, as the kernel's own indices say it."""

from __future__ import annotations

import pytest

from oneread.trace import Source, run
from oneread.trace.rows import row_shapes

HEAD = "__global__ void f(const float* x, const float* a, float* y, int rows, int n, int k)"
NORM = f"""{HEAD} {{
    const int row = blockIdx.x;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[(size_t)row * n + i] = x[row * n + i] * SOME;
}}"""


def shapes(some: str) -> dict[str, str]:
    text = NORM.replace("SOME", some)
    return row_shapes(Source(text).loaded.program, {"rows": "rows", "n": "vocab", "k": "k"})


@pytest.mark.parametrize(
    ("some", "shape"),
    [
        ("a[i]", "vocab"),
        ("a[i + 0]", "vocab"),
        ("*(a + i)", "vocab"),
        ("a[(row * n + i) % n]", "vocab"),
        ("a[row]", "rows"),
        ("a[blockIdx.x]", "rows"),
        ("a[row * n]", "rows*vocab"),
        ("a[row * k]", "rows*k"),
        ("a[i] * a[row * n + i]", "rows*vocab"),
        ("a[0]", None),
        ("a[i] * a[row]", None),
        ("a[i + row]", None),
        ("a[threadIdx.x]", None),
        ("a[i] * *a", None),
    ],
)
def test_indices_say_what_a_buffer_holds(some: str, shape: str | None) -> None:
    found = shapes(some)
    assert found.get("a") == shape
    assert (found["x"], found["y"]) == ("rows*vocab", "rows*vocab")


def test_row_that_is_found_by_moving_a_pointer_is_one_of_many() -> None:
    text = f"""{HEAD} {{
        const float* x_row = x + (size_t)blockIdx.x * n;
        y += blockIdx.x * n;
        for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x_row[i] + a[i];
    }}"""
    found = row_shapes(Source(text).loaded.program, {"n": "vocab"})
    assert found == {"x": "rows*vocab", "y": "rows*vocab", "a": "vocab"}


def test_kernel_of_one_row_says_nothing() -> None:
    text = f"{HEAD} {{ for (int i = threadIdx.x; i < n; i += 32) y[i] = x[i] + a[i]; }}"
    assert row_shapes(Source(text).loaded.program, {"n": "vocab"}) == {}


LAYER_NORM = """__global__ void layer_norm(const float* x, const float* w, float* y, float* mu,
                                          int hidden) {
    const int row = blockIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < hidden; i++) sum += x[row * hidden + i];
    if (threadIdx.x == 0) mu[row] = sum / hidden;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x)
        y[row * hidden + i] = (x[row * hidden + i] - sum / hidden) * w[i];
}"""


def test_weights_of_a_layer_norm_are_a_row_and_what_it_keeps_is_a_number_a_row() -> None:
    outcome = run(LAYER_NORM, rows=3, vocab=40)
    got = {one.name: (one.shape, one.size) for one in outcome.arguments}
    assert got["w"] == ("vocab", 40)
    assert got["mu"] == ("rows", 3)
    assert (got["x"], got["y"]) == (("rows*vocab", 120), ("rows*vocab", 120))
    assert [fault for fault in outcome.faults if fault.severity == "error"] == []


@pytest.mark.parametrize("name", ["gamma", "beta", "bias", "weight"])
def test_usual_name_of_weights_counts_where_indices_say_nothing(name: str) -> None:
    text = f"""__device__ float at(const float* a, int i) {{ return a[i]; }}
    __global__ void k(const float* x, const float* {name}, float* y, int n) {{
        for (int i = threadIdx.x; i < n; i += 32) y[i] = x[i] * at({name}, i);
    }}"""
    got = {one.name: one.shape for one in run(text, rows=2, vocab=64, truth={}).arguments}
    assert got == {"x": "rows*vocab", name: "vocab", "y": "rows*vocab", "n": "vocab"}


def test_index_counts_more_than_a_usual_name() -> None:
    text = NORM.replace("SOME", "bias[row * n + i]").replace("const float* a", "const float* bias")
    got = {one.name: one.shape for one in run(text, rows=2, vocab=64, truth={}).arguments}
    assert got["bias"] == "rows*vocab"


def test_softmax_of_logits_and_a_bias_is_not_taken_for_that_of_the_logits() -> None:
    text = """__global__ void softmax_bias(const float* x, const float* bias, float* y, int n) {
        const float* x_row = x + blockIdx.x * n;
        float d = 0.0f;
        for (int i = 0; i < n; i++) d += expf(x_row[i] + bias[i]);
        for (int i = threadIdx.x; i < n; i += 32)
            y[blockIdx.x * n + i] = expf(x_row[i] + bias[i]) / d;
    }"""
    for rows in (1, 3):
        outcome = run(text, rows=rows, vocab=32, block=32)
        assert outcome.result == []
        assert [fault.id for fault in outcome.faults if fault.severity != "note"] == []


def test_pattern_of_a_row_of_weights_is_that_of_one_row() -> None:
    text = NORM.replace("SOME", "a[i]").replace("const float* a", "const float* w")
    text = text.replace(" * w[i]", " * a[i]").replace("const float* w", "const float* a")
    outcome = run(text, rows=4, vocab=64, input="ramp", arguments={"k": 1}, truth={})
    assert outcome.inputs["a"] == [i / 8 for i in range(64)]


HEADS = "const float* a, float* c, int n"
FLAT = f"""__global__ void k({HEADS}) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i];
}}"""
TOP = """__global__ void k(const float* x, float* values, int rows, int vocab) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    for (int j = 0; j < 7; j++) values[row * 7 + j] = x[row * vocab + j];
}"""
BINS = """__global__ void k(const float* x, int* bins, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) atomicAdd(&bins[0], 1);
    for (int i = threadIdx.x; i < 64; i += blockDim.x) atomicAdd(&bins[i], 1);
}"""
TRANSPOSE = """__global__ void k(const float* in, float* out, int rows, int cols) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < cols && y < rows) out[x * rows + y] = in[y * cols + x];
}
void go() { k<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(a, b, rows, cols); }"""
PRODUCT = """__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
    float s = 0;
    for (int t = 0; t < K; t++) s += A[r * K + t] * B[t * N + c];
    C[r * N + c] = s;
}
void go() { k<<<dim3(N / 16, M / 16), dim3(16, 16)>>>(A, B, C, M, N, K); }"""


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (FLAT, {"a": "vocab", "c": "vocab"}),
        (TOP, {"x": "rows*vocab", "values": "rows*7"}),
        (TRANSPOSE, {"in": "rows*vocab", "out": "vocab*rows"}),
        (PRODUCT, {"A": "rows*k", "B": "k*vocab", "C": "rows*vocab"}),
    ],
)
def test_correct_kernel_of_another_form_has_no_fault(text: str, sizes: dict[str, str]) -> None:
    outcome = run(text, rows=32, vocab=64, k=48, truth={})
    assert {one.name: one.shape for one in outcome.arguments if one.role != "scalar"} == sizes
    assert [str(one) for one in outcome.faults if one.severity != "note"] == []


def test_loop_up_to_a_constant_says_the_size_and_another_index_does_not() -> None:
    text = BINS.replace("if (t < n) atomicAdd(&bins[0], 1);", "if (t < n && x[t] > 0) t++;")
    assert row_shapes(Source(text).loaded.program, {"n": "vocab"}) == {"x": "vocab", "bins": "64"}
    assert "bins" not in row_shapes(Source(BINS).loaded.program, {"n": "vocab"})


PARTS = """__global__ void k(const float* x, float* part, int n) {
    if (threadIdx.x == 0) part[blockIdx.x] = x[blockIdx.x];
}"""


def test_end_of_a_buffer_whose_size_is_a_guess_may_be_left_out() -> None:
    (fault,) = run(PARTS, grid=3).having("unwritten")
    assert fault.severity == "note"
    assert "that part has rows*vocab elements is a guess" in str(fault)
    (said,) = run(PARTS, grid=3, arguments={"part": "rows:out"}).having("unwritten")
    assert said.severity == "warning"
    assert "guess" not in str(said)


def test_hole_in_a_buffer_whose_size_is_a_guess_is_a_warning() -> None:
    (fault,) = run(PARTS.replace("[blockIdx.x] =", "[blockIdx.x * 2] ="), grid=3).having(
        "unwritten"
    )
    assert fault.severity == "warning"


def test_fault_in_a_buffer_whose_size_is_a_guess_says_so() -> None:
    text = PARTS.replace("part[blockIdx.x]", "part[blockIdx.x + rows * n]")
    text = text.replace("int n", "int rows, int n")
    (fault,) = run(text, grid=2).having("out-of-bounds")
    assert fault.severity == "error"
    assert fault.parameters["guess"] == "part=rows*vocab:out"
