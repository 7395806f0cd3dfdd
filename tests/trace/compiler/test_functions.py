"""Built-in functions that kernels of other ops need, called from source."""

from __future__ import annotations

import math

import numpy as np
import pytest

from oneread.trace import run

VALUES = [-2.5, -0.5, -0.0, 0.25, 0.5, 1.5, 3.0, math.inf]


def called(expression: str) -> list[float]:
    text = f"""__global__ void k(const float* x, float* y) {{
        float v = x[threadIdx.x]; y[threadIdx.x] = {expression};
    }}"""
    data = {"x": VALUES}
    outcome = run(text, rows=1, vocab=len(VALUES), block=len(VALUES), truth={}, data=data)
    return outcome.outputs["y"]


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("erff(v)", [math.erf(v) for v in VALUES]),
        ("sinf(v)", [math.sin(v) if math.isfinite(v) else math.nan for v in VALUES]),
        ("cos(v)", [math.cos(v) if math.isfinite(v) else math.nan for v in VALUES]),
        ("roundf(v)", [-3, -1, -0.0, 0, 1, 2, 3, math.inf]),
        ("copysignf(2.0f, v)", [math.copysign(2, v) for v in VALUES]),
        ("__saturatef(v)", [0, 0, 0, 0.25, 0.5, 1, 1, 1]),
        ("__saturatef(v * NAN)", [0.0] * 8),
        ("umax(threadIdx.x, 5u)", [5, 5, 5, 5, 5, 5, 6, 7]),
        ("umin(threadIdx.x, 2u)", [0, 1, 2, 2, 2, 2, 2, 2]),
        ("__brev(threadIdx.x) >> 29", [0, 4, 2, 6, 1, 5, 3, 7]),
    ],
)
def test_function_gives_the_nearest_float(expression: str, want: list[float]) -> None:
    assert np.array_equal(called(expression), np.float32(want), equal_nan=True)
