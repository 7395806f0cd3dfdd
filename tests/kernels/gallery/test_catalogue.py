"""The catalogue of the gallery is complete and agrees with itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oneread.bench.gallery import entries, truth
from oneread.bench.gallery.entries import Sizes
from oneread.spec import ShapeError

KERNELS: dict[str, dict[str, Any]] = entries.catalogue()["kernels"]
SEQUENCES: dict[str, dict[str, Any]] = entries.catalogue()["sequences"]

#: Every kernel that the docs promise outside of the zoo.
NAMES = [
    "naive_softmax", "safe_softmax", "online_softmax", "top_k", "safe_softmax_topk",
    "online_softmax_topk", "safe_softmax_tiled", "online_softmax_tiled_racy",
    "online_softmax_tiled", "online_softmax_lane", "online_softmax_warp",
    "online_softmax_single_thread", "safe_softmax_shared", "online_partials", "online_merge",
    "relu", "fma_f32",
]  # fmt: skip
FIELDS = {
    "title", "source", "args", "buffers", "truth", "grid", "block", "shared_bytes", "passes",
    "loads", "stores", "exps", "defines", "faults",
}  # fmt: skip
OPTIONAL = {"limits", "barriers", "breaks", "mended"}
CLAUSES = {"any-shape", "barriers", "offsets", "special-values", "tunables"}
FAULT_FIELDS = {"id", "rows", "vocab", "block", "input", "defines"}

each_kernel = pytest.mark.parametrize("key", KERNELS)
each_entry = pytest.mark.parametrize("key", entries.all_keys())
each_use = pytest.mark.parametrize("use", ["trace", "bench"])


def scope(key: str, use: str) -> dict[str, int]:
    return {"rows": 4, "vocab": 256, "k": 4, **KERNELS[key]["defines"][use]}


def test_all_names_are_there() -> None:
    assert [key for key in KERNELS if not key.startswith("zoo_")] == NAMES
    assert list(SEQUENCES) == ["safe_unfused", "online_unfused", "online_parallel"]


@each_kernel
def test_fields_are_known_and_complete(key: str) -> None:
    assert set(KERNELS[key]) - OPTIONAL == FIELDS
    assert set(KERNELS[key].get("breaks", ())) <= CLAUSES
    assert all(set(fault) <= FAULT_FIELDS for fault in KERNELS[key]["faults"])


@each_kernel
def test_counts_are_given_for_every_buffer(key: str) -> None:
    table = KERNELS[key]
    roles = {buffer["name"]: buffer["role"] for buffer in table["buffers"]}
    assert set(table["loads"]) == {name for name, role in roles.items() if role == "input"}
    assert set(table["stores"]) == {name for name, role in roles.items() if role == "output"}
    assert {name for name, role in roles.items() if role == "output"} <= set(table["truth"])


@each_use
@each_kernel
def test_every_number_is_one(key: str, use: str) -> None:
    table = KERNELS[key]
    texts = [table[f] for f in ("grid", "block", "shared_bytes", "exps")]
    texts += [*table["loads"].values(), *table["stores"].values(), table.get("barriers", "0")]
    numbers = [entries.number(text, scope(key, use)) for text in texts]
    assert min(numbers) >= 0
    grid, block, shared = numbers[:3]
    assert grid >= 1
    assert 1 <= block <= 1024
    assert shared <= 48 * 1024


@each_use
@each_entry
def test_entry_can_be_planned(key: str, use: str) -> None:
    plan = entries.plan(key, Sizes(4, 256), entries.defines(key, use))
    assert set(plan.roles) == set(plan.shapes)
    for step in plan.steps:
        assert all(name in plan.shapes for name in step.arguments if isinstance(name, str))
    assert set(truth.inputs(plan, "normal")) == {
        name for name, role in plan.roles.items() if role == "input"
    }


@pytest.mark.parametrize("key", SEQUENCES)
def test_sequence_gives_each_kernel_its_buffers(key: str) -> None:
    buffers = {buffer["name"]: buffer for buffer in SEQUENCES[key]["buffers"]}
    written: set[str] = {name for name, b in buffers.items() if b["role"] == "input"}
    for launch in SEQUENCES[key]["launches"]:
        kernel = KERNELS[launch["kernel"]]
        assert set(launch["buffers"]) == {buffer["name"] for buffer in kernel["buffers"]}
        for buffer in kernel["buffers"]:
            shared = buffers[launch["buffers"][buffer["name"]]]
            assert shared["shape"] == buffer["shape"]
            if buffer["role"] == "output":
                written.add(shared["name"])
            assert shared["name"] in written
    assert written == set(buffers)


def test_sequences_make_the_accesses_of_the_paper() -> None:
    # Section 4: five an element for safe softmax and then top-k, four for online softmax.
    for key, accesses in (("safe_unfused", 5), ("online_unfused", 4)):
        launches = [KERNELS[launch["kernel"]] for launch in SEQUENCES[key]["launches"]]
        whole = sum(int(kernel["loads"]["x"]) for kernel in launches)
        assert whole + int(launches[0]["stores"]["y"]) == accesses


def test_limit_is_refused() -> None:
    with pytest.raises(ShapeError, match="safe_softmax_shared takes vocab up to 11000; got 11001"):
        entries.plan("safe_softmax_shared", Sizes(1, 11001), {"TILE": 32})


@pytest.mark.parametrize(
    ("text", "value"),
    [("7 / 2", 3), ("7 % 4 + 2 * 3", 9), ("ceil_div(vocab, TILE)", 8), ("log2(TILE)", 5),
     ("min(rows, 2) - max(1, 3)", -1)],
)  # fmt: skip
def test_expressions_are_integers(text: str, value: int) -> None:
    assert entries.number(text, {"rows": 4, "vocab": 256, "TILE": 32}) == value


@pytest.mark.parametrize("text", ["__import__('os')", "1.5", "'a'", "rows ** 2", "TILE", "-rows"])
def test_other_expressions_are_refused(text: str) -> None:
    with pytest.raises(ShapeError):
        entries.number(text, {"rows": 4})


def test_right_results_are_judged_right_and_wrong_ones_wrong() -> None:
    plan = entries.plan("safe_softmax", Sizes(3, 50), {"TILE": 32})
    given = truth.inputs(plan, "nan")
    y = truth._softmax(given, plan).astype(np.float32)
    assert truth.judge(plan, "y", y, given).max_ulp <= 0.5
    y[1, 7] *= np.float32(1 + 1e-5)
    assert truth.judge(plan, "y", y, given).max_ulp > 8
    y[1, 7] = np.nan
    assert truth.judge(plan, "y", y, given).max_ulp == np.inf
    assert truth.judge(plan, "y", np.full_like(y, -12345), given).max_ulp == np.inf
