"""Every kernel of the gallery compiles for every target, without a GPU, within its budget."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

import pytest

from oneread.bench.gallery import entries
from oneread.runtime import nvrtc
from oneread.spec import KernelCompileError

KERNELS = entries.catalogue().kernels

pytestmark = pytest.mark.skipif(
    not nvrtc.available(), reason="NVRTC is not installed: pip install oneread[sass]"
)

REGISTERS = 0x2F  # EIATTR_REGCOUNT of .nv.info: an index of a function, and its registers
SIZED = 4  # EIFMT_SVAL: an entry with a length of its own


def registers(cubin: bytes) -> int:
    """Return the registers of the function of a cubin that has the most."""
    return max(
        struct.unpack_from("<I", entry, 4)[0]
        for attribute, entry in notes(section(cubin, ".nv.info"))
        if attribute == REGISTERS
    )


def section(cubin: bytes, name: str) -> bytes:
    """Return a section of a 64-bit ELF file."""
    (table,) = struct.unpack_from("<Q", cubin, 40)
    size, count, of_names = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + i * size) for i in range(count)]
    names = headers[of_names][4]
    for header in headers:
        start = names + header[0]
        if cubin[start : cubin.index(b"\0", start)].decode() == name:
            return cubin[header[4] : header[4] + header[5]]
    raise LookupError(name)


def notes(info: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place < len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, place)
        size = size if form == SIZED else 0
        yield attribute, info[place + 4 : place + 4 + size]
        place += 4 + size


@pytest.mark.parametrize("key", KERNELS)
def test_compiles_for_every_target_within_its_registers(key: str) -> None:
    text = entries.source(key)
    budget = re.search(r"^// Budget\s+(\d+) registers", text, re.MULTILINE)
    assert budget
    for target in nvrtc.TARGETS:
        cubin = nvrtc.compile_cubin(
            text, target, name=f"{key}.cu", defines=entries.defines(key, "trace")
        )
        assert cubin.log == ""
        assert 0 < registers(cubin.code) <= int(budget[1]), target


@pytest.mark.parametrize("key", [key for key in KERNELS if KERNELS[key].bench_defines])
def test_compiles_with_the_defines_of_the_benchmark_and_with_its_own(key: str) -> None:
    for defines in (entries.defines(key, "bench"), {}):
        nvrtc.compile_cubin(entries.source(key), "sm_90", defines=defines)


@pytest.mark.parametrize("key", [k for k in KERNELS if "static_assert(TILE" in entries.source(k)])
def test_block_that_is_too_large_is_refused(key: str) -> None:
    with pytest.raises(KernelCompileError, match=r"1024|power of two"):
        nvrtc.compile_cubin(entries.source(key), "sm_90", defines={"TILE": 2048})
