"""The catalogue of the gallery is complete and agrees with itself."""

from __future__ import annotations

import numpy as np
import pytest

from oneread.bench.gallery import entries, truth
from oneread.bench.gallery.entries import Problem
from oneread.source.arithmetic import integer
from oneread.spec import ShapeError

KERNELS = entries.catalogue().kernels
SEQUENCES = entries.catalogue().sequences

#: Every kernel that the docs promise outside of the zoo.
NAMES = [
    "naive_softmax", "safe_softmax", "online_softmax", "top_k", "safe_softmax_topk",
    "online_softmax_topk", "safe_softmax_tiled", "online_softmax_tiled_racy",
    "online_softmax_tiled", "online_softmax_lane", "online_softmax_warp",
    "online_softmax_single_thread", "safe_softmax_shared", "online_partials", "online_merge",
    "relu", "fma_f32",
]  # fmt: skip
CLAUSES = {"any-shape", "barriers", "offsets", "special-values", "tunables"}

each_kernel = pytest.mark.parametrize("key", KERNELS)
each_entry = pytest.mark.parametrize("key", entries.all_keys())
each_use = pytest.mark.parametrize("use", ["trace", "bench"])


def scope(key: str, use: str) -> dict[str, int]:
    return Problem(4, 256).names() | entries.defines(key, use)


def test_all_names_are_there() -> None:
    assert [key for key in KERNELS if not key.startswith("zoo_")] == NAMES
    assert list(SEQUENCES) == ["safe_unfused", "online_unfused", "online_parallel"]


@each_kernel
def test_broken_clauses_are_known(key: str) -> None:
    assert set(KERNELS[key].breaks) <= CLAUSES


@each_kernel
def test_counts_are_given_for_every_buffer(key: str) -> None:
    kernel = KERNELS[key]
    roles = {buffer.name: buffer.role for buffer in kernel.buffers}
    assert set(kernel.loads) == {name for name, role in roles.items() if role == "input"}
    assert set(kernel.stores) == {name for name, role in roles.items() if role == "output"}
    assert set(kernel.stores) <= set(kernel.truth)


@each_use
@each_kernel
def test_every_number_is_one(key: str, use: str) -> None:
    kernel = KERNELS[key]
    texts = [kernel.exps, kernel.barriers or "0", *kernel.loads.values(), *kernel.stores.values()]
    assert min(integer(text, scope(key, use)) for text in texts) >= 0
    sizes = kernel.sizes(scope(key, use))
    assert sizes.grid >= 1
    assert 1 <= sizes.block <= 1024
    assert sizes.shared_bytes <= 48 * 1024


@each_use
@each_entry
def test_entry_can_be_planned(key: str, use: str) -> None:
    plan = entries.plan(key, Problem(4, 256), entries.defines(key, use))
    assert set(plan.roles) == set(plan.shapes)
    for step in plan.steps:
        assert all(name in plan.shapes for name in step.arguments if isinstance(name, str))
    assert set(truth.inputs(plan, "normal")) == set(plan.named("input"))


@pytest.mark.parametrize("key", SEQUENCES)
def test_sequence_reads_only_what_was_written_before(key: str) -> None:
    buffers = {buffer.name: buffer for buffer in SEQUENCES[key].buffers}
    written = {name for name, buffer in buffers.items() if buffer.role == "input"}
    for launch in SEQUENCES[key].launches:
        for buffer in KERNELS[launch.kernel].buffers:
            shared = buffers[launch.buffers[buffer.name]]
            assert shared.shape == buffer.shape
            if buffer.role == "output":
                written.add(shared.name)
            assert shared.name in written
    assert written == set(buffers)


def test_sequences_make_the_accesses_of_the_paper() -> None:
    # Section 4: five an element for safe softmax and then top-k, four for online softmax.
    for key, accesses in (("safe_unfused", 5), ("online_unfused", 4)):
        kernels = [KERNELS[launch.kernel] for launch in SEQUENCES[key].launches]
        whole = sum(int(kernel.loads["x"]) for kernel in kernels)
        assert whole + int(kernels[0].stores["y"]) == accesses


def test_limit_is_refused() -> None:
    with pytest.raises(ShapeError, match="safe_softmax_shared takes vocab up to 11000; got 11001"):
        entries.plan("safe_softmax_shared", Problem(1, 11001), {"TILE": 32})


def test_right_results_are_judged_right_and_wrong_ones_wrong() -> None:
    plan = entries.plan("safe_softmax", Problem(3, 50), {"TILE": 32})
    given = truth.inputs(plan, "nan")
    y = truth._softmax(given, plan).astype(np.float32)
    assert truth.judge(plan, "y", y, given).max_ulp <= 0.5
    y[1, 7] *= np.float32(1 + 1e-5)
    assert truth.judge(plan, "y", y, given).max_ulp > 8
    y[1, 7] = np.nan
    assert truth.judge(plan, "y", y, given).max_ulp == np.inf
    assert truth.judge(plan, "y", np.full_like(y, -12345), given).max_ulp == np.inf
