"""The blocks of threads that the other tests here rest on: what waits is found, orders differ."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated import COMPILER, compiled, launch

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")


def run(
    body: str, folder: Path, order: int = 0, *, threads: int = 32, cluster: int = 1, blocks: int = 1
) -> Any:
    """Run the body of a kernel; return the numbers that it wrote to y."""
    text = f"__global__ void kernel(int* y, int* count) {{ {body} }}"
    (folder / "kernel.cu").write_text(text, encoding="utf-8")
    y, count = np.full(threads * blocks, -1, np.int32), np.zeros(1, np.int32)
    given = [ctypes.c_void_p(one.ctypes.data) for one in (y, count)]
    launch(compiled("kernel", (), cluster, folder), blocks, threads, given, order)
    return y


IN_TURN = "y[atomicAdd(count, 1)] = blockIdx.x * blockDim.x + threadIdx.x;"


def test_threads_run_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    up, down, other = (run(IN_TURN, tmp_path, order).tolist() for order in range(3))
    assert up == list(range(32))
    assert down == up[::-1]
    assert sorted(other) == up
    assert other not in (up, down)


def test_blocks_of_a_cluster_take_turns_in_that_order(tmp_path: Path) -> None:
    body = f"cluster_arrive(); cluster_wait(); {IN_TURN}"
    up, down = (
        list(dict.fromkeys(run(body, tmp_path, order, threads=4, cluster=3, blocks=6) // 4))
        for order in range(2)
    )
    assert up == [2, 0, 1, 5, 3, 4]  # the one that arrives last goes on at once
    assert down == [0, 2, 1, 3, 5, 4]


@pytest.mark.parametrize(
    ("body", "cluster", "said"),
    [
        ("if (threadIdx.x != 3) __shfl_sync(0xffffffffu, 1, 0);", 1, "all threads wait"),
        ("if (cluster_rank()) { cluster_arrive(); cluster_wait(); }", 2, "all threads wait"),
        ("__shfl_sync(0xfffffffeu, 1, 0);", 1, "a lane that its own mask leaves out"),
        ("if (threadIdx.x) __shfl_sync(0xfffffffeu, 1, 0);", 1, "a lane outside of its mask"),
    ],
    ids=["shuffle", "cluster", "mask", "source"],
)
def test_what_waits_for_ever_or_asks_the_wrong_lane_is_told(
    body: str, cluster: int, said: str, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match=said):
        run(body, tmp_path, cluster=cluster, blocks=cluster)


@pytest.mark.parametrize(
    "body",
    [
        "*remote(&held, 1 - cluster_rank()) = 1;",
        "cluster_arrive(); cluster_wait(); if (!cluster_rank()) *remote(&held, 1) = 1;",
    ],
    ids=["too early", "too late"],
)
def test_shared_memory_of_a_block_that_does_not_run_is_not_touched(
    body: str, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match="a block that has not begun or has ended"):
        run(f"__shared__ int held; {body}", tmp_path, cluster=2, blocks=2)


def test_blocks_of_a_cluster_see_what_others_wrote(tmp_path: Path) -> None:
    body = """
        __shared__ int held;
        cluster_arrive(); cluster_wait();
        if (threadIdx.x == 0) *remote(&held, (cluster_rank() + 1) % 3) = cluster_rank();
        cluster_arrive(); cluster_wait();
        y[blockIdx.x * 4 + threadIdx.x] = held;
    """
    for order in range(4):
        y = run(body, tmp_path, order, threads=4, cluster=3, blocks=3)
        assert y.tolist() == [2] * 4 + [0] * 4 + [1] * 4
