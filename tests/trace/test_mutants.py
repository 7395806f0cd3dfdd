"""Kernels of the gallery broken on purpose: the probe shows a fault in each, or it is harmless."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from oneread.source.catalogue import read_catalogue

ROOT = Path(__file__).resolve().parents[2]
HARMLESS = tomllib.loads((Path(__file__).parent / "harmless_mutants.toml").read_text("utf-8"))
KERNELS = [key for key, entry in read_catalogue().kernels.items() if not entry.mended]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    path = ROOT / "tools/mutate_kernels.py"
    spec = importlib.util.spec_from_file_location("mutate_kernels", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("key", KERNELS)
def test_every_mutant_is_flagged_or_known_to_be_harmless(tool: ModuleType, key: str) -> None:
    count, left = tool.survivors(key)
    assert count
    assert left == [one["mutant"] for one in HARMLESS.get(key, [])]


def test_every_harmless_mutant_has_its_reason() -> None:
    assert set(HARMLESS) <= set(KERNELS)
    assert all(one["reason"].strip() for ones in HARMLESS.values() for one in ones)


KERNEL = """\
__global__ void k(const float* x, float* y, int n) {
    __shared__ float a[32];
    // if (1) __syncthreads(); a[0]
    a[threadIdx.x] = i < n ? x[b[1]] : 0.0f;
    __syncthreads();
    for (int s = 32 / 2; s > 0; s /= 2) {
        if (i >= n) return;
        if (i < s) y[i] = a[0];
    }
}
"""


def test_each_barrier_guard_tree_and_index_is_changed_once(tool: ModuleType) -> None:
    names = [one.name.split(" | ")[0] for one in tool.mutants(KERNEL)]
    assert names == [
        "no barrier after a[threadIdx.x] = i < n ? x[b[1]] : 0.0f;",
        "no guard",
        "no guard",
        "no guard",
        "half the tree",
        "a[threadIdx.x + 1]",
        "x[b[1] + 1]",
        "b[1 + 1]",
        "y[i + 1]",
        "a[0 + 1]",
    ]


@pytest.mark.parametrize(
    ("place", "old", "new"),
    [
        (0, "    __syncthreads();\n    for", "    ;\n    for"),
        (1, "if (i >= n) return;", "if (false) return;"),
        (2, "if (i < s) y", "if (true) y"),
        (3, "i < n ? x[b[1]] : 0.0f;", "(x[b[1]]);"),
        (4, "s = 32 / 2;", "s = (32 / 2) / 2;"),
        (6, "x[b[1]]", "x[(b[1]) + 1]"),
    ],
)
def test_change_is_made_where_it_says(tool: ModuleType, place: int, old: str, new: str) -> None:
    assert old in KERNEL
    assert tool.mutants(KERNEL)[place].text == KERNEL.replace(old, new)
