"""Registers read and written are those that `nvdisasm -plr` names, over the gallery."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from oneread.runtime import nvrtc
from oneread.sass.decode.decoding import decode
from oneread.sass.decode.instruction import Instruction, Register
from oneread.sass.read import nvdisasm
from oneread.sass.read.listing import read_listing
from oneread.source.catalogue import read_catalogue

pytestmark = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)

BANKS = {"GPR": "R", "UGPR": "UR", "PRED": "P", "UPRED": "UP"}
Named = tuple[frozenset[str], frozenset[str]]


def table(cubin: bytes) -> Iterator[tuple[str, int, Named]]:
    """Yield kernel and address of each instruction, and what nvdisasm says it writes and reads."""
    kernel = ""
    banks: list[str] = []
    columns: list[list[tuple[str, int]]] = []
    for line in nvdisasm.run(cubin, ("-c", "-plr", "-lrm", "wide")).splitlines():
        if section := re.match(r"\.text\.([^\s:]+):", line):
            kernel = section[1]
        code, slashes, shown = line.partition("// |")
        if not slashes:
            continue
        cells = shown.split("|")[:-1]
        if any(cell.strip() in BANKS for cell in cells):
            banks = [BANKS.get(cell.strip(), "") for cell in cells]
        elif any(cell.strip().startswith("#") for cell in cells):
            columns = [
                [(found[0], found.end() - 1) for found in re.finditer(r"\d+", cell)]
                for cell in cells
            ]
        elif found := re.match(r"\s+/\*([0-9a-f]{4,})\*/", code):
            yield kernel, int(found[1], 16), named(cells, banks, columns)


def named(cells: list[str], banks: list[str], columns: list[list[tuple[str, int]]]) -> Named:
    writes, reads = set(), set()
    for cell, bank, places in zip(cells, banks, columns, strict=True):
        for number, place in places:
            mark = cell[place : place + 1]
            if bank and mark in ("^", "x"):
                writes.add(f"{bank}{number}")
            if bank and mark in ("v", "x"):
                reads.add(f"{bank}{number}")
    return frozenset(writes), frozenset(reads)


def differences(cubin: bytes, target: str) -> list[str]:
    """Return the instructions about which nvdisasm says something else."""
    listings = read_listing(nvdisasm.disassemble(cubin), arch=target)
    programs = {listing.name: decode(listing) for listing in listings}
    found = []
    for kernel, address, named_there in table(cubin):
        program = programs[kernel]
        one = program.at[address]
        if one.opcode == "CALL":
            continue  # nvdisasm counts all that the callee may change
        said = named_there
        mine = visible(one.writes), visible(one.reads)
        if one.opcode in ("P2R", "R2P"):  # it leaves out the predicates of the mask
            mine = without_predicates(mine[0]), without_predicates(mine[1])
            said = without_predicates(said[0]), without_predicates(said[1])
        hidden = descriptor(one, program.target, said[1] - mine[1])
        if mine != (said[0], said[1] - hidden):
            found.append(f"{one.text}: {said} differs from {mine}")
    return found


def visible(registers: frozenset[Register]) -> frozenset[str]:
    # nvdisasm has no column for convergence barriers.
    return frozenset(str(one) for one in registers if one.bank != "B")


def without_predicates(names: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in names if not name.startswith("P"))


def descriptor(one: Instruction, target: int, more: frozenset[str]) -> frozenset[str]:
    """Return a pair of a warp's registers that sm_80 to sm_89 use without printing it."""
    is_memory = any(operand.kind == "address" for operand in one.operands)
    return more if is_memory and 80 <= target < 90 and len(more) == 2 else frozenset()


def test_table_of_nvdisasm_is_read() -> None:
    source = 'extern "C" __global__ void f(float* y) { y[threadIdx.x] += 1; }'
    rows = [said for _, _, said in table(nvrtc.compile_cubin(source, "sm_90").code)]
    assert any(writes for writes, _ in rows)
    assert any(reads for _, reads in rows)


@pytest.mark.parametrize("target", nvrtc.TARGETS)
def test_registers_of_many_instructions_are_those_of_nvdisasm(target: str) -> None:
    source = Path(__file__).with_name("instructions.cu").read_text("utf-8")
    assert differences(nvrtc.compile_cubin(source, target).code, target) == []


@pytest.mark.parametrize("target", ["sm_75", "sm_86", "sm_90", "sm_100", "sm_120"])
def test_registers_of_a_softmax_are_those_of_nvdisasm(target: str) -> None:
    kernel = "online_softmax_topk"
    catalogue = read_catalogue()
    entry = catalogue.kernels[kernel]
    text = catalogue.path(kernel).read_text("utf-8")
    cubin = nvrtc.compile_cubin(text, target, defines=entry.bench_defines).code
    assert differences(cubin, target) == []
