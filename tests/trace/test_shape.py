"""Grid, block and shared bytes: as said, as the file launches the kernel, or as the docs guess."""

from __future__ import annotations

import pytest

from oneread.source.errors import SourceError
from oneread.trace import Case, Source, UsageError, run
from oneread.trace.basis import basis
from oneread.trace.case import extent
from oneread.trace.planning import plan
from oneread.trace.shape import shape_of
from oneread.trace.subject import Subject

BOUNDED = """__global__ void k(const float* x, float* y, int rows, int n) {
    extern __shared__ float s[];
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[row * n + i] = x[row * n + i];
}
"""
#: A block a row, as many as the file's own problem has.
UNBOUNDED = """__global__ void k(const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[blockIdx.x * n + i] = x[blockIdx.x * n + i];
}
"""

Sizes = tuple[tuple[int, int, int], tuple[int, int, int], int]


def sizes(text: str, case: Case | None = None, kernel: str | None = None) -> Sizes:
    case = case or Case(rows=6, vocab=100)
    loaded = Source(text, kernel, case.defines).loaded
    shape, names = shape_of(loaded, case), case.names(loaded)
    grid, block, (shared, *_) = (
        extent(part.value, names) for part in (shape.grid, shape.block, shape.shared_bytes)
    )
    return grid, block, shared


def test_launch_of_the_file_is_read() -> None:
    host = "int main() { k<<<128, dim3(32, 4), 4096>>>(x, y, 128, 1000); }"
    assert sizes(BOUNDED + host) == ((128, 1, 1), (32, 4, 1), 4096)


def test_macros_constants_and_variables_of_the_host_have_their_values() -> None:
    head = "#define WARPS 2\n#define THREADS (32 * WARPS)\n"
    host = "void f(int rows) { dim3 block(THREADS); k<<<rows, block, 2 * THREADS * 4>>>(); }"
    assert sizes(head + BOUNDED + host) == ((6, 1, 1), (64, 1, 1), 512)
    more = Case(rows=6, defines={"WARPS": "4"})
    assert sizes(head + BOUNDED + host, more)[1:] == ((128, 1, 1), 1024)


def test_name_that_is_passed_is_what_the_parameter_is() -> None:
    host = (
        "void f() { int r = 640, c = 512; k<<<(r + 3) / 4, 64, c * sizeof(float)>>>(x, y, r, c); }"
    )
    assert sizes(BOUNDED + host) == ((2, 1, 1), (64, 1, 1), 400)


def test_number_of_blocks_that_is_that_of_the_rows_follows_the_rows() -> None:
    host = "int main() { k<<<128, 256>>>(x, y, 1024); }"
    assert sizes(UNBOUNDED + host)[:2] == ((6, 1, 1), (256, 1, 1))


def test_kernel_that_never_asks_for_its_block_has_the_blocks_of_the_file() -> None:
    text = "__global__ void k(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 1; }\n"
    assert sizes(text + "int main() { k<<<1, 96>>>(y, 9); }")[:2] == ((1, 1, 1), (96, 1, 1))


def test_number_of_its_block_beside_a_column_is_no_bound() -> None:
    causal = UNBOUNDED.replace("i < n;", "i <= blockIdx.x && i < n;")
    assert sizes(causal + "int main() { k<<<128, 64>>>(x, y, 9); }")[0] == (6, 1, 1)


def test_what_is_said_comes_first() -> None:
    host = "int main() { k<<<128, 256, 4096>>>(x, y, 128, 1000); }"
    said = Case(rows=6, grid="rows", block=32, shared_bytes=8)
    assert sizes(BOUNDED + host, said) == ((6, 1, 1), (32, 1, 1), 8)


def test_value_that_only_the_host_knows_is_guessed() -> None:
    host = "void f(int t) { k<<<blocks(), t, size>>>(x, y, 4); }"
    assert sizes(UNBOUNDED + host) == ((6, 1, 1), (128, 1, 1), 512)
    with pytest.raises(UsageError, match="nothing says how its threads lie"):
        sizes(BOUNDED + host)


def test_launch_that_is_none_for_these_sizes_is_not_read() -> None:
    host = "void f(int n) { k<<<n / 256, 64>>>(x, y, n); }"
    assert sizes(UNBOUNDED + host, Case(rows=6, vocab=512))[0] == (2, 1, 1)
    assert sizes(UNBOUNDED + host, Case(rows=6, vocab=100))[0] == (6, 1, 1)


def test_launch_in_a_branch_that_is_left_out_does_not_count() -> None:
    host = "void f() {\n#ifdef FAST\nk<<<6, 32>>>(x);\n#else\nk<<<6, 64>>>(x);\n#endif\n}"
    assert sizes(UNBOUNDED + host)[1] == (64, 1, 1)
    assert sizes(UNBOUNDED + host, Case(defines={"FAST": "1"}))[1] == (32, 1, 1)


def test_template_is_launched_as_for_its_arguments() -> None:
    text = "template <int T> " + UNBOUNDED
    host = "void f() { k<32><<<6, 32>>>(x); k<64><<<6, 64>>>(x); k<T><<<6, T>>>(x); }"
    assert sizes(text + host, kernel="k<64>")[1] == (64, 1, 1)
    assert sizes(text + host, kernel="k<128>")[1] == (128, 1, 1)
    host = "void f() { k<FEW><<<6, FEW>>>(x); k<WIDE><<<6, WIDE>>>(x); }"
    host = f"const int WIDE = 96;\n#define FEW 32\n{host}"
    assert sizes(text + host, kernel="k<96>")[1] == (96, 1, 1)
    assert sizes(text + host, kernel="k< 32 >")[1] == (32, 1, 1)


def test_macro_that_the_text_never_names_changes_no_block() -> None:
    assert sizes(UNBOUNDED, Case(defines={"THREADS": "32"}))[1] == (128, 1, 1)


def test_probe_keeps_the_block_of_the_file() -> None:
    host = "int main() { k<<<128, 64>>>(x, y, 9); }"
    assert "threads" not in plan(Subject(UNBOUNDED + host)).factors
    assert "threads" in plan(Subject(UNBOUNDED)).factors


def test_probe_varies_the_tile_that_the_launch_of_the_file_is_made_of() -> None:
    head = "#define TILE 64\n"
    assert (
        "tile" in plan(Subject(f"{head}{UNBOUNDED}void f() {{ k<<<9, 2 * TILE>>>(x); }}")).factors
    )
    assert "tile" not in plan(Subject(f"{head}{UNBOUNDED}void f() {{ k<<<9, 64>>>(x); }}")).factors


def test_basis_tells_what_was_read_and_what_guessed() -> None:
    host = "void f(int t) { k<<<128, t>>>(x, y, 9); }"
    found = basis(Source(UNBOUNDED + host).loaded, Case(arguments={"n": "vocab"}))
    told = [(one.name, one.value, one.origin, one.source) for one in found.items]
    assert told == [
        ("block", "128", "guessed", "t"),
        ("grid", "rows", "guessed", "128"),
        ("x", "rows*vocab", "guessed", ""),
        ("y", "rows*vocab", "guessed", ""),
    ]


def test_nothing_is_told_of_a_kernel_of_the_gallery() -> None:
    subject = Subject.of_gallery("online_softmax")
    case = subject.complete(Case())
    assert basis(subject.source(case).loaded, case).items == ()


def test_two_blocks_in_one_declaration_are_read() -> None:
    text = """__global__ void k(const float* x, float* y, int rows, int n) {
        int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;
        if (i < n && j < rows) y[j * n + i] = x[j * n + i];
    }
    void go() {
        dim3 grid((n + 15) / 16, (rows + 7) / 8), block(16, 8);
        k<<<grid, block>>>(x, y, rows, n);
    }"""
    outcome = run(text, rows=9, vocab=33, truth={})
    assert (outcome.grid, outcome.block) == ((3, 2, 1), (16, 8, 1))


SCALED = """__global__ void k(const float* x, float* y, int n, float eps, float a, int passes) {
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[blockIdx.x * n + i] = x[blockIdx.x * n + i] * a + eps * passes;
}
void go() { k<<<4, 64>>>(x, y, n, 1e-5f, -2.0f, 3); }
"""


def test_numbers_that_a_launch_passes_are_read() -> None:
    outcome = run(SCALED, truth={})
    scalars = {one.name: one.size for one in outcome.arguments if one.role == "scalar"}
    assert scalars == {"n": 256, "eps": 1e-5, "a": -2.0, "passes": 3}
    said = run(SCALED, truth={}, arguments={"eps": 0.5}).arguments
    assert {one.name: one.size for one in said}["eps"] == 0.5


def test_what_only_a_run_of_the_host_would_know_is_asked_for() -> None:
    with pytest.raises(UsageError, match="eps may be any number"):
        run(SCALED.replace("1e-5f", "eps()"))


TEMPLATE = """namespace ops {
template <typename T, int WIDTH>
__global__ void twice(const T* x, T* y, int n) {
    for (int i = threadIdx.x; i < n; i += WIDTH) y[blockIdx.x * n + i] = 2 * x[blockIdx.x * n + i];
}
}
void go() { constexpr int WIDTH = 64; ops::twice<float, WIDTH><<<rows, WIDTH>>>(x, y, n); }
"""


@pytest.mark.parametrize("kernel", [None, "twice", "ops::twice", "ops::twice<float, 64>"])
def test_template_arguments_are_those_of_the_launch(kernel: str | None) -> None:
    outcome = run(TEMPLATE, kernel, truth={})
    assert outcome.block == (64, 1, 1)
    assert [str(one) for one in outcome.faults if one.severity != "note"] == []


def test_template_argument_that_the_text_does_not_say_is_asked_for() -> None:
    with pytest.raises(SourceError, match="is a template; name it with arguments"):
        run(TEMPLATE.replace("constexpr int WIDTH = 64", "int WIDTH = width()"))


@pytest.mark.parametrize(
    ("loops", "threads"),
    [
        ("for (int i = threadIdx.x; i < n; i += 32) y[i] = x[i];", 32),
        ("const int t = threadIdx.x; for (int i = t; i < n; i += 2 * 32) y[i] = x[i];", 64),
        ("unsigned i = threadIdx.x; while (i < n) { y[i] = x[i]; i += STEP; }", 96),
        ("for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i];", 128),
        ("for (int i = threadIdx.x % 32; i < n; i += 32) y[i] = x[i];", 128),
        ("int i = threadIdx.x; i += 32; for (i += 64; i < n; i += 32) y[i] = x[i];", 128),
    ],
)
def test_block_is_guessed_by_loops_that_step_from_thread_to_thread(
    loops: str, threads: int
) -> None:
    text = f"#define STEP 96\n__global__ void k(const float* x, float* y, int n) {{ {loops} }}\n"
    assert sizes(text)[1] == (threads, 1, 1)


def test_probe_keeps_the_block_that_the_loops_say() -> None:
    text = (
        "__global__ void k(const float* x, float* y, int n) {\n"
        "    for (int i = threadIdx.x; i < n; i += 32) y[i] = x[i];\n}\n"
    )
    assert "threads" not in plan(Subject(text)).factors
    assert "threads" in plan(Subject(text.replace("i += 32", "i += blockDim.x"))).factors
