"""The reductions of the CUDA kernels, read and run by the tracer, are right in float64's eyes.

The headers are those that NVRTC compiles, with the plain C that ptx.cuh has for its PTX.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from oneread.runtime.tuning import FOLDER
from oneread.trace import Run, run

# Each thread merges its own columns one by one, then with the others; all tell what came out.
KERNEL = """
#define PLAIN_C
#define ELEMENT 0
#define VECTOR_BYTES 16
#define TEMPERATURE 1
#define ENTROPY 1
#define SUM_P2 1
#include "moments.cuh"

__global__ void reduce(const float* x, float* m, float* r, float* s1, float* s2, int vocab,
                       double temperature) {
    const Scale scale = scale_of(temperature, nullptr, 0);
    Running own = Running{-infinity(), 0};
    Moments more = {-infinity()};
    for (int i = threadIdx.x; i < vocab; i += blockDim.x) {
        Moments one = {-infinity()};
        one.m = x[i];
        more = merge(more, one, scale);
        own = merge(own, Running{x[i], 0}, scale);
    }
#ifdef BLOCK_WARPS
    __shared__ Running scratch[BLOCK_WARPS];
    __shared__ Moments room[BLOCK_WARPS];
    const Running all = merge_warps<BLOCK_WARPS>(own, scale, scratch);
    more = merge_warps<BLOCK_WARPS>(more, scale, room);
#else
    const Running all = merge_lanes<ROW_LANES>(own, scale);
    more = merge_lanes<ROW_LANES>(more, scale);
#endif
    m[threadIdx.x] = all.m;
    r[threadIdx.x] = all.m == more.m || all.m != all.m ? all.r : -1;
    if (!(fabsf(more.sum[0] - all.r) <= 1e-6f * all.r + 1e-37f)) r[threadIdx.x] = -2;
    s1[threadIdx.x] = more.sum[S1];
    s2[threadIdx.x] = more.sum[S2];
}
"""
INF = math.inf


class Sums(NamedTuple):
    """What is known of a row: see moments.cuh."""

    m: float
    r: float
    s1: float
    s2: float


def truth(x: Sequence[float], temperature: float) -> Sums:
    m = max(x)
    rest = list(x)
    rest.remove(m)
    t = [(value - m) / temperature for value in rest if value > -INF]
    e = [math.exp(one) for one in t]
    return Sums(
        m, math.fsum(e), math.fsum(map(math.prod, zip(t, e, strict=True))),
        math.fsum(one * one for one in e),
    )  # fmt: skip


def reduced(x: Sequence[float], shared_by: str, temperature: float, schedule: str) -> Run:
    macro, count = shared_by.split("=")
    threads = 32 * int(count) if macro == "BLOCK_WARPS" else 32
    return run(
        KERNEL, "reduce", rows=1, vocab=len(x), block=threads, data={"x": x}, truth={},
        defines={macro: count}, folders=[FOLDER], schedule=schedule,
        arguments={"temperature": temperature} | dict.fromkeys(Sums._fields, threads),
    )  # fmt: skip


ROWS: dict[str, list[float]] = {
    "spread": [math.sin(3.0 * i) * 9 for i in range(150)],
    "equal": [2.5] * 150,
    "rising": [0.25 * i for i in range(150)],
    "one likely": [-40.0 if i != 77 else 30.0 for i in range(150)],
    "masked but one": [-INF if i != 140 else 1.5 for i in range(150)],
    "masked in most lanes": [float(i) if i % 32 == 5 else -INF for i in range(150)],
    "far apart": [3e38 if i % 50 == 7 else -3e38 for i in range(150)],
    "large": [1e5 + i % 7 for i in range(150)],
}


@pytest.mark.parametrize("schedule", ["in-order", "reverse"])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("shared_by", ["ROW_LANES=4", "ROW_LANES=32", "BLOCK_WARPS=3"])
@pytest.mark.parametrize("name", ROWS)
def test_lanes_and_warps_bring_a_row_together(
    name: str, shared_by: str, temperature: float, schedule: str
) -> None:
    x = [struct.unpack("f", struct.pack("f", value))[0] for value in ROWS[name]]
    got = reduced(x, shared_by, temperature, schedule)
    assert not got.faults
    lanes = 4 if shared_by == "ROW_LANES=4" else len(got.outputs["m"])
    for first in range(0, len(got.outputs["m"]), lanes):
        threads = range(first, first + lanes)
        own = [x[i] for i in range(len(x)) if i % len(got.outputs["m"]) in threads]
        want = truth(own, temperature) if max(own) > -INF else NOTHING
        # What the difference to the next column loses by rounding, its power has lost as well.
        gap = sorted(own)[-2] - want.m
        assert_all_are(got, threads, want, abs(gap) / temperature if abs(gap) < 1e3 else 0.0)


def test_nan_and_infinity_are_the_maximum() -> None:
    for special in (math.nan, INF):
        x = [*ROWS["spread"][:40], special, *ROWS["spread"][41:]]
        for shared_by in ("ROW_LANES=32", "BLOCK_WARPS=3"):
            m = reduced(x, shared_by, 1.0, "in-order").outputs["m"]
            assert {str(value) for value in m} == {str(special)}


#: Of columns that are all masked.
NOTHING = Sums(-INF, 0.0, 0.0, 0.0)


def assert_all_are(got: Run, threads: range, want: Sums, gap: float) -> None:
    for name, true in want._asdict().items():
        values = {got.outputs[name][thread] for thread in threads}
        assert len(values) == 1, "lanes differ"
        (value,) = values
        if name == "m" or math.isinf(true):
            assert value == true
        else:
            unit = 2.0 ** (math.frexp(max(abs(true), 2.0**-120))[1] - 24)  # of float32
            assert abs(value - true) <= (8 + gap) * unit, (name, value, true)
