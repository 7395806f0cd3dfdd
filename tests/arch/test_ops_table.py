"""One line of sight: whatever the table of ops names exists everywhere else under that name.

That each kernel runs is seen in tests/kernels/test_coverage.py.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import oneread
import oneread.reference
from oneread.spec import OPS, KernelSpec, OpSpec

ROOT = Path(__file__).resolve().parents[2]
KERNELS = [kernel for spec in OPS.values() for kernel in spec.kernels]

each_op = pytest.mark.parametrize("spec", OPS.values(), ids=list(OPS))
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@each_op
def test_op_has_a_reference(spec: OpSpec) -> None:
    assert callable(getattr(oneread.reference, spec.name))


@each_op
def test_op_is_public(spec: OpSpec) -> None:
    assert spec.name in oneread.__all__
    assert callable(getattr(oneread, spec.name))


@each_op
def test_op_has_tests(spec: OpSpec) -> None:
    # Besides those over the whole table, of accuracy, bite, types, arguments.
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests/ops").glob("test_*.py")]
    assert any(f"oneread.{spec.name}(" in text for text in tests)


@each_op
def test_op_is_in_the_docs(spec: OpSpec) -> None:
    row = re.search(rf"^\| `{spec.name}\(.*$", text_of("docs/index.md"), re.MULTILINE)
    assert row, "a row in the table of docs/index.md"
    assert re.search(rf"^\| `{spec.name}\(", text_of("README.md"), re.MULTILINE)


@each_op
def test_bound_in_the_docs_is_that_of_the_table(spec: OpSpec) -> None:
    row = re.search(rf"^\| `{spec.name}` \| (\d+).*$", text_of("docs/accuracy.md"), re.MULTILINE)
    assert row, "a row in docs/accuracy.md"
    assert int(row[1]) == spec.max_ulp
    for output, bound in spec.wider:
        assert re.search(rf"\b{bound} for [^;]*\b{output}\b", row[0])


@each_kernel
def test_kernel_is_in_the_docs(kernel: KernelSpec) -> None:
    cells = f'| `{kernel.name}` | `{kernel.op}` | `"{kernel.algorithm}"` |'
    row = f"{cells} {kernel.reads} | {kernel.loads}, {kernel.stores} |"
    assert row in text_of("docs/forcing-a-kernel.md")


@each_kernel
def test_kernel_is_named_after_algorithm_and_op(kernel: KernelSpec) -> None:
    assert kernel.name == f"{kernel.algorithm}_{kernel.op}"
