"""Every kernel of the gallery keeps the contract of docs/gallery.md, but for what it breaks."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from oneread.bench.gallery import entries
from oneread.runtime.nvrtc import HEADERS
from oneread.source.catalogue import gallery_folder

KERNELS = entries.catalogue().kernels
SIGNATURE = re.compile(
    r'^extern "C" __global__ void\s+(?:__launch_bounds__\(([^)]*)\)\s+)?(\w+)\(([^)]*)\)',
    re.MULTILINE,
)
TYPES = {"float32": "float", "int32": "int"}
HEAD = ("Algorithm", "Passes", "Accesses", "Budget", "Launch")
SIZES = ("rows", "vocab", "k")

each_kernel = pytest.mark.parametrize("key", KERNELS)


class Parameter(NamedTuple):
    name: str
    type: str
    is_pointer: bool
    is_const: bool


def text_of(key: str) -> str:
    return entries.source(key)


def code_of(key: str) -> str:
    """Return a kernel without comments."""
    return re.sub(r"//.*", "", text_of(key))


def parameters(key: str) -> list[Parameter]:
    match = SIGNATURE.search(code_of(key))
    assert match
    found = []
    for text in match[3].replace("__restrict__", "").split(","):
        words = text.replace("*", " * ").split()
        found.append(
            Parameter(
                words[-1], next(w for w in words if w != "const"), "*" in words, "const" in words
            )
        )
    return found


def test_each_file_has_its_table_and_each_table_its_file() -> None:
    assert {path.stem for path in gallery_folder().glob("*.cu")} == set(KERNELS)


@each_kernel
def test_one_kernel_of_the_name_of_the_file(key: str) -> None:
    assert code_of(key).count("__global__") == 1
    match = SIGNATURE.search(code_of(key))
    assert match
    assert match[2] == key


@each_kernel
def test_block_is_bounded_unless_a_fault_leaves_it_open(key: str) -> None:
    match = SIGNATURE.search(code_of(key))
    assert match
    assert match[1] == KERNELS[key].block or "tunables" in KERNELS[key].breaks


@each_kernel
def test_arguments_are_those_of_the_catalogue(key: str) -> None:
    assert [parameter.name for parameter in parameters(key)] == list(KERNELS[key].args)


@each_kernel
def test_inputs_come_first_then_outputs_then_sizes(key: str) -> None:
    buffers = {buffer.name: buffer for buffer in KERNELS[key].buffers}
    order = [
        SIZES.index(p.name) + 2 if not p.is_pointer else 0 if p.is_const else 1
        for p in parameters(key)
    ]
    assert order == sorted(order)
    for parameter in parameters(key):
        if parameter.is_pointer:
            buffer = buffers[parameter.name]
            assert parameter.type == TYPES[buffer.type]
            assert parameter.is_const == (buffer.role == "input")
        else:
            assert parameter.type == "int"


@each_kernel
def test_offsets_have_64_bits_unless_that_is_the_fault(key: str) -> None:
    products = re.findall(
        r"(\(size_t\))?(?:blockIdx\.x|\brow|\brows) \* (?:vocab|k|spans|TILE)\b", code_of(key)
    )
    assert products or not {"x_row", "x_span"} & set(re.findall(r"\w+", code_of(key)))
    assert all(products) == ("offsets" not in KERNELS[key].breaks)


@each_kernel
def test_tunables_have_a_default_and_an_assertion(key: str) -> None:
    code = code_of(key)
    blocks = dict(re.findall(r"#ifndef (\w+)\n#define \1 (\d+)\s*\n#endif", code))
    assert set(re.findall(r"#define (\w+)", code)) == set(blocks)
    for defines in (KERNELS[key].trace_defines, KERNELS[key].bench_defines):
        assert set(defines) == set(blocks)
    asserted = set(re.findall(r"\w+", " ".join(re.findall(r"static_assert\(([^;]*);", code))))
    missing = set(blocks) - asserted
    assert not missing or "tunables" in KERNELS[key].breaks


@each_kernel
def test_headers_are_allowed_and_used(key: str) -> None:
    code = code_of(key)
    included = re.findall(r"#include <([^>]*)>", code)
    assert code.count("#include") == len(included)
    assert set(included) <= set(HEADERS)
    assert ("math.h" in included) == ("INFINITY" in code)
    assert ("float.h" in included) == ("FLT_MAX" in code)


@each_kernel
def test_no_host_code_and_no_double(key: str) -> None:
    words = set(re.findall(r"\w+", code_of(key)))
    assert not words & {"main", "printf", "malloc", "free", "std", "double", "dim3", "template"}
    assert not [word for word in words if re.match(r"cuda[A-Z]", word)]
    assert "<<<" not in text_of(key)


@each_kernel
def test_head_comment_says_what_the_contract_asks(key: str) -> None:
    head = text_of(key).partition("\n\n")[0].splitlines()
    assert all(line.startswith("//") for line in head)
    assert re.match(r"// [A-Z].*[.:]", head[0])
    found = re.findall(r"^// (\w+)  ", "\n".join(head), re.MULTILINE)
    assert [name for name in found if name in HEAD] == list(HEAD)


@each_kernel
def test_head_comment_counts_what_the_catalogue_counts(key: str) -> None:
    passes = re.search(r"^// Passes\s+(\d+)", text_of(key), re.MULTILINE)
    loads = re.search(r"^// Accesses\s+(\d+) loads?", text_of(key), re.MULTILINE)
    assert passes
    assert loads
    assert int(passes[1]) == KERNELS[key].passes
    first = KERNELS[key].loads
    told = sum(map(int, first.values())) if set(first) == {"a", "b", "c"} else int(first["x"])
    assert int(loads[1]) == told


@each_kernel
def test_each_barrier_says_who_wrote_and_who_reads(key: str) -> None:
    for line in text_of(key).splitlines():
        if re.search(r"__sync(threads|warp)\(\);", line):
            assert re.search(r"// (wrote|read): .*; (reads|writes): |// orders nothing", line), line


@each_kernel
def test_kernels_are_short_and_narrow(key: str) -> None:
    lines = text_of(key).splitlines()
    assert len(lines) <= 120
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("key", [key for key in KERNELS if KERNELS[key].mended])
def test_fault_has_its_fix_beside_it(key: str) -> None:
    kernel, twin = KERNELS[key], KERNELS[KERNELS[key].mended]
    assert not twin.mended
    assert not twin.breaks
    assert kernel.faults
    assert kernel.breaks
    same = "args buffers truth grid block loads stores trace_defines bench_defines"
    for field in same.split():
        assert getattr(kernel, field) == getattr(twin, field)


def test_zoo_has_eight_faults() -> None:
    zoo = [key for key in KERNELS if key.startswith("zoo_")]
    faults = [key for key in zoo if KERNELS[key].mended]
    assert len(faults) == 8
    assert sorted(zoo) == sorted([*faults, *(f"{key}_fixed" for key in faults)])
