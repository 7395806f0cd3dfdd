"""Sorting rows by integer keys gives the order of the CPU's top-k, shown with tensors on a CPU."""

from __future__ import annotations

import numpy as np
import pytest

import oneread

torch = pytest.importorskip("torch", reason="tensors are PyTorch's")

from oneread.backends.torch_order import first_columns  # noqa: E402
from oneread.ops import _device_sort  # noqa: E402

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_columns_come_in_the_order_of_the_cpu(dtype: str) -> None:
    rng = np.random.default_rng(0)
    special = rng.choice([NAN, -NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 6e-8], (3, 5000))
    for numbers in (special, rng.normal(size=(3, 5000)), np.full((3, 5000), -INF)):
        x = torch.from_numpy(numbers).to(getattr(torch, dtype))
        want = oneread.top_k(x, 4000)
        got = first_columns(x, 4000)
        assert torch.equal(got, want.indices)


def test_rows_are_sorted_some_at_a_time() -> None:
    assert _device_sort.rows_at_once(10, 100) == 10
    assert _device_sort.rows_at_once(4000, 128_256) == 130
    assert _device_sort.rows_at_once(4, 1 << 30) == 1
