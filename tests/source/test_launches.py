"""Launches in host code: what stands between the marks, with what is known put in."""

from __future__ import annotations

import time

import pytest

from oneread.source.launches import HostLaunch, find_launches
from oneread.source.text import SourceText


def launched(body: str, head: str = "") -> list[HostLaunch]:
    text = f"{head}\nvoid host(float* x, int n, int runtime) {{\n{body}\n}}\n"
    return find_launches(SourceText("a.cu", text), "k")


def one(body: str, head: str = "") -> HostLaunch:
    (found,) = launched(body, head)
    return found


def test_launch_has_line_arguments_and_words() -> None:
    found = one("k<<<rows, 2 * T, 0, stream>>>(x, y + 1, f(n, 3));")
    assert found.line == 3
    assert found.written == ("rows", "2 * T", "0", "stream")
    assert found.arguments == ("x", "y + 1", "f(n, 3)")


def test_numbers_stay_numbers_whatever_their_base_and_suffix() -> None:
    found = one("k<<<1'024, 0x40u, 4ul>>>(x);")
    assert (found.grid, found.block, found.shared_bytes) == (("1024",), ("64",), "4")


def test_shared_bytes_that_are_left_out_are_0() -> None:
    assert one("k<<<1, 32>>>(x);").shared_bytes == "0"


@pytest.mark.parametrize(
    "body",
    [
        "k<<<1, dim3(32, 4)>>>(x);",
        "k<<<1, {32, 4}>>>(x);",
        "dim3 block(32, 4); k<<<1, block>>>(x);",
        "dim3 block{32, 4}; k<<<1, block>>>(x);",
        "const dim3 block = dim3(32, 4); k<<<1, block>>>(x);",
        "dim3 block = {32, 4}; k<<<1, block>>>(x);",
    ],
)
def test_block_may_have_axes(body: str) -> None:
    assert one(body).block == ("32", "4")


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("", "const int threads = 64; "),
        ("", "int other = 1, threads = 64; "),
        ("", "int threads{64}; "),
        ("constexpr int threads = 64;", ""),
        ("static const unsigned threads = 64u;", ""),
        ("enum { rest = 3, threads = 64 };", ""),
    ],
)
def test_variable_that_is_set_once_is_its_value(head: str, body: str) -> None:
    assert one(f"{body}k<<<1, threads>>>(x);", head).block == ("64",)


@pytest.mark.parametrize(
    "body",
    [
        "int threads = 64; if (n > 9) threads = 128; ",
        "for (int threads = 32; threads < 99; threads *= 2) ",
        "int threads = 64; ask(&threads); ",
        "int threads; ",
        "dim3 threads(64); threads.x = 32; ",
    ],
)
def test_variable_that_changes_stays_a_name(body: str) -> None:
    assert one(f"{body}k<<<1, threads>>>(x);", "int threads = 9;").block == ("threads",)


def test_parameter_of_the_host_hides_the_constant_of_the_file() -> None:
    assert one("k<<<1, runtime>>>(x);", "const int runtime = 3;").block == ("runtime",)


def test_name_that_is_passed_to_the_kernel_stays() -> None:
    found = one("const int cols = 512; k<<<1, 32, cols * sizeof(float)>>>(x, cols);")
    assert found.shared_bytes == "cols * 4"


def test_casts_and_sizes_of_types_are_put_in() -> None:
    found = one("k<<<(unsigned int)n, static_cast<int>(n), std::min(n, 2) * sizeof(float4)>>>(x);")
    assert (found.grid, found.block) == (("n",), ("( n )",))
    assert found.shared_bytes == "min ( n , 2 ) * 16"


def test_template_arguments_are_kept() -> None:
    assert one("k<float, 256><<<1, 256>>>(x);").template == ("float", "256")
    found = one("const int wide = 256; k<wide, TILE><<<1, 256>>>(x);")
    assert found.template == ("256", "TILE")
    assert one("k<<<1, 256>>>(x);").template == ()


def test_launches_of_other_kernels_are_left_out() -> None:
    found = launched("other<<<1, 2>>>(x); k<<<3, 4>>>(x); kk<<<5, 6>>>(x);")
    assert [launch.grid for launch in found] == [("3",)]


def test_variables_made_of_each_other_end() -> None:
    assert "a" in one("int a = b + b, b = a + a; k<<<1, a>>>(x);").block[0]


@pytest.mark.parametrize("text", ["k<<<", "k<<<1, ", "k<<<1, 2>>>", "k<<<>>>()", "k<<<(1, 2>>>(x)"])
def test_launch_that_does_not_end_is_no_crash(text: str) -> None:
    assert len(find_launches(SourceText("a.cu", f"void f() {{ {text}"), "k")) <= 1


def test_many_launches_end_soon() -> None:
    start = time.process_time()
    find_launches(SourceText("a.cu", "void f() { int b = 1; " + "k<<<b,b" * 5000), "k")
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("before", "zeroed"),
    [
        ("cudaMemset(y, 0, 4 * n);", True),
        ("cudaMemsetAsync((void*)y, 0, n * sizeof(float), stream);", True),
        ("CHECK(cudaMemset(y, 0, n));", True),
        ("cudaMemset(y, 0xff, n);", False),
        ("cudaMemset(y + 1, 0, n);", False),
        ("cudaMemset(x, 0, n);", False),
        ("cudaMemset(y, 0, n); cudaMemcpy(y, data, n, cudaMemcpyHostToDevice);", False),
        ("cudaMemcpy(y, data, n, cudaMemcpyHostToDevice); cudaMemset(y, 0, n);", True),
        ("cudaMemset(y", False),
        ("", False),
    ],
)
def test_buffer_is_zeroed_where_that_is_the_last_that_the_host_does_to_it(
    before: str, zeroed: bool
) -> None:
    assert one(f"{before} k<<<1, 32>>>(0, y, n);").zeroed[1] is zeroed


@pytest.mark.parametrize(
    ("body", "grid"),
    [
        ("dim3 b(32, 4); k<<<(n + b.y - 1) / b.y, b>>>(x, n);", "( n + (4) - 1 ) / (4)"),
        ("const dim3 b = dim3(64); k<<<n / b.x + b.z, b>>>(x, n);", "n / (64) + (1)"),
        ("dim3 b(64); b.x = 3; k<<<n / b.x, b>>>(x, n);", "n / b . x"),
        ("k<<<n / p.x, 4>>>(x, n);", "n / p . x"),
    ],
)
def test_part_of_a_dim3_that_is_set_once_is_its_number(body: str, grid: str) -> None:
    assert one(body).grid == (grid,)
