"""Values of every type in memory and registers, bytes included."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest

from oneread.trace import run


def traced(text: str, **case: Any) -> Any:
    outcome = run(text, **{"rows": 1, "vocab": 32, "block": 32, "truth": {}, **case})
    assert [str(fault) for fault in outcome.faults if fault.severity == "error"] == []
    return outcome


def kernel(body: str, output: str = "int") -> str:
    return (
        f"__global__ void k(const float* x, {output}* y, int n) {{ int i = threadIdx.x; {body} }}"
    )


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(int)3.9f", 3),
        ("(int)-3.9f", -3),
        ("(unsigned char)300", 44),
        ("(signed char)200", -56),
        ("(short)40000", -25536),
        ("(unsigned)-1 > 0", 1),
        ("-1 < 0u", 0),
        ("(int)(4294967295u + 1u)", 0),
        ("(int)sizeof(double) + (int)sizeof(float4)", 24),
        ("7 / -2 * 10 + 7 % -2", -29),
        ("-8 >> 1", -4),
        ("(bool)5 + true", 2),
        ("3 == 3 && 2 > 1 || 0", 1),
        ("__float_as_int(1.0f)", 0x3F800000),
        ("__popc(0xff00ffu)", 16),
        ("__clz(1)", 31),
        ("__ffs(8)", 4),
        ("max(-3, 2) + min(-3, 2)", -1),
        ("(int)(1ll << 40 >> 38)", 4),
        ("(int)1e20f", 2147483647),
        ("isnan(0.0f / 0.0f) + isinf(1.0f / 0.0f)", 2),
        ("(int)floorf(-1.5f) + (int)ceilf(1.2f) + (int)rintf(2.5f)", 2),
        ("(i, 4)", 4),
    ],
)
def test_value_of_an_expression(expression: str, value: int) -> None:
    assert traced(kernel(f"y[i] = {expression};")).outputs["y"] == [value] * 32


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("16777217", 16777216.0),
        ("0.1f + 0.2f", struct.unpack("f", struct.pack("f", 0.1 + 0.2))[0]),
        ("3.0e38f * 10.0f", math.inf),
        ("fmaf(2.0f, 3.0f, 4.0f)", 10.0),
        ("__int_as_float(0x7f800000)", math.inf),
        ("1.0 / 3.0", struct.unpack("f", struct.pack("f", 1 / 3))[0]),
        ("__fdividef(1.0f, 4.0f)", 0.25),
        ("exp2f(-3.0f) + log2f(8.0f)", 3.125),
        ("rsqrtf(4.0f) * sqrtf(9.0f)", 1.5),
        ("__expf(0.0f) + expf(-INFINITY)", 1.0),
        ("fabsf(-2.0f) + fminf(NAN, 1.0f)", 3.0),
    ],
)
def test_value_of_a_float_expression(expression: str, value: float) -> None:
    assert traced(kernel(f"y[i] = {expression};", "float")).outputs["y"] == [value] * 32


def test_bits_of_a_float_in_memory_are_read_as_an_integer() -> None:
    body = "y[i] = reinterpret_cast<const int*>(x)[i];"
    outcome = traced(kernel(body), data={"x": [1.0] * 32})
    assert outcome.outputs["y"] == [0x3F800000] * 32


def test_bytes_of_a_float_can_be_read_and_written() -> None:
    body = """
        float v[1] = {x[i]};
        unsigned char* b = reinterpret_cast<unsigned char*>(v);
        b[3] ^= 0x80;
        y[i] = v[0];
    """
    outcome = traced(kernel(body, "float"), data={"x": [2.5] * 32})
    assert outcome.outputs["y"] == [-2.5] * 32


def test_pattern_of_a_signalling_nan_keeps_its_bits_in_a_float_buffer() -> None:
    body = """
        __shared__ float a[32];
        int* bits = reinterpret_cast<int*>(a);
        bits[i] = 0x7f800001 + i;
        y[i] = bits[i];
    """
    assert traced(kernel(body)).outputs["y"] == [0x7F800001 + i for i in range(32)]


def test_doubles_and_64_bit_integers_have_their_width() -> None:
    body = "double d = 1.0 + 1e-12; long long l = 1ll << 40; y[i] = (d - 1.0) * 1e12 * (l >> 40);"
    (value,) = set(traced(kernel(body, "double")).outputs["y"])
    assert value == pytest.approx(1.0, abs=1e-3)


def test_struct_with_padding_is_stored_as_it_lies() -> None:
    text = """
    struct Mixed { char c; double d; short s[3]; float f; };
    __global__ void k(const float* x, int* y, int n) {
        __shared__ Mixed all[32];
        const int i = threadIdx.x;
        Mixed one;
        all[i].c = i; all[i].d = i * 0.5; all[i].s[1] = 2 * i; all[i].f = x[i];
        __syncwarp();
        y[i] = all[31 - i].c + (int)(2 * all[31 - i].d) + all[31 - i].s[1] + (int)sizeof(Mixed);
    }"""
    outcome = traced(text)
    assert outcome.outputs["y"] == [4 * (31 - i) + 32 for i in range(32)]


def test_structs_are_values_and_go_through_functions() -> None:
    text = """
    struct Pair { float m; int at; };
    __device__ Pair better(Pair a, const Pair& b) { return a.m >= b.m ? a : b; }
    __device__ void swap(Pair& a, Pair& b) { Pair t = a; a = b; b = t; }
    __global__ void k(const float* x, int* y, int n) {
        Pair a = {x[threadIdx.x], (int)threadIdx.x}, b = {0.0f, -1};
        swap(a, b);
        Pair c = better(a, b);
        y[threadIdx.x] = c.at;
    }"""
    data = {"x": [(-1.0) ** i for i in range(32)]}
    assert traced(text, data=data).outputs["y"] == [i if i % 2 == 0 else -1 for i in range(32)]


def test_arrays_of_two_dimensions_and_initialisers() -> None:
    body = "int a[2][3] = {{1, 2, 3}, {4}}; int t = 0; for (int r = 0; r < 2; r++)"
    body += "for (int c = 0; c < 3; c++) t = t * 10 + a[r][c]; y[i] = t;"
    assert traced(kernel(body)).outputs["y"] == [123400] * 32


def test_pointer_arithmetic_counts_elements() -> None:
    body = "const float* p = x + 4; p += i; --p; const float* q = &x[3];"
    body += "y[i] = (int)(p - q) + (p > x) + (*q == q[0]);"
    outcome = traced(kernel(body), vocab=64, arguments={"y": "32:out"})
    assert outcome.outputs["y"] == [i + 2 for i in range(32)]


def test_blocks_of_three_dimensions_number_their_threads_x_first() -> None:
    text = """__global__ void k(const float* x, int* y, int n) {
        const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        y[t] = 100 * threadIdx.z + 10 * threadIdx.y + threadIdx.x + blockIdx.y * 1000;
    }"""
    outcome = traced(text, vocab=24, block=(4, 3, 2))
    assert outcome.outputs["y"] == [
        100 * z + 10 * y + x for z in range(2) for y in range(3) for x in range(4)
    ]


def test_postfix_gives_the_old_value_and_prefix_the_new() -> None:
    body = "int a = 5; int b = a++ * 10 + a; int c = --a * 10 + a; y[i] = b * 100 + c;"
    assert traced(kernel(body)).outputs["y"] == [56 * 100 + 55] * 32


@pytest.mark.parametrize("base", ["float", "int", "unsigned", "long long", "double"])
def test_shared_arrays_of_every_type_keep_what_is_stored(base: str) -> None:
    body = f"__shared__ {base} a[32]; a[i] = i; __syncwarp(); y[i] = (int)a[(i + 1) % 32];"
    assert traced(kernel(body)).outputs["y"] == [(i + 1) % 32 for i in range(32)]


def test_dynamic_shared_memory_is_carved_by_type() -> None:
    text = """__global__ void k(const float* x, float* y, int n) {
        extern __shared__ unsigned char raw[];
        float* values = reinterpret_cast<float*>(raw);
        int* places = reinterpret_cast<int*>(raw + 32 * sizeof(float));
        const int i = threadIdx.x;
        values[i] = x[i];
        places[i] = 31 - i;
        __syncthreads();
        y[i] = values[places[i]];
    }"""
    outcome = traced(text, shared_bytes=256)
    assert outcome.outputs["y"] == list(reversed(outcome.inputs["x"]))
