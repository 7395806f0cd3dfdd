"""Graphs, clocks and traffic of a real GPU."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from oneread.bench.cases import Case
from oneread.bench.gpu.sets import Sets

torch = pytest.importorskip("torch", reason="the arrays are PyTorch's")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU"),
]

CASE = Case("test", "softmax", (64, 5000), device="gpu", timed="graph")


@pytest.fixture(scope="module")
def machine() -> Any:
    from oneread.bench.gpu.device import TorchGpu

    return TorchGpu()


def test_graph_does_again_what_was_captured(machine: Any) -> None:
    x = torch.zeros(1000, device=machine.where)
    replay = machine.captured([partial(x.add_, 1.0)] * 3)
    assert float(x.sum()) == 0.0
    replay()
    assert float(x.sum()) == 3000.0


def test_capture_that_fails_leaves_the_gpu_as_it_was(machine: Any) -> None:
    x = torch.ones(10, device=machine.where)
    with pytest.raises(RuntimeError):
        machine.captured([x.sum().item])
    assert float(x.sum()) == 10.0
    machine.captured([partial(x.mul_, 2.0)])()
    assert float(x.sum()) == 20.0


def test_clocks_agree_about_a_long_job(machine: Any) -> None:
    x = torch.zeros(1 << 28, device=machine.where)
    job = partial(x.add_, 1.0)
    job()
    clocks = machine.elapsed_s, machine.wall_s
    # Other processes may have the GPU meanwhile, for milliseconds at a time.
    elapsed, wall = (min(clock(job) for _ in range(20)) for clock in clocks)
    assert 0 < elapsed < 1.5 * wall
    assert wall < elapsed + 1e-3


@pytest.mark.parametrize("copied", [True, False])
def test_traffic_is_what_it_says(machine: Any, copied: bool) -> None:
    from oneread.bench.gpu import traffic

    sets = Sets.of(CASE, machine.where, keep=copied, count=2)
    jobs = traffic.jobs(sets, copied, machine.stream, machine.index)
    assert len(jobs) == len(traffic.LAUNCHES) + copied
    for name, job in jobs.items():
        if copied:
            sets.y[1].zero_()
        job(1)
        torch.cuda.synchronize()
        assert not copied or torch.equal(sets.x[1], sets.y[1]), name
        machine.captured([partial(job, 0), partial(job, 1)])()
