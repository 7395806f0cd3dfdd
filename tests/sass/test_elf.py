"""A cubin that is damaged is refused with a reason before any tool sees it."""

from __future__ import annotations

import struct

import pytest

from oneread.sass.errors import MachineCodeError
from oneread.sass.read.elf import read_cubin


def elf(*, machine: int = 190, flags: int = 0x560556, names: tuple[str, ...] = ()) -> bytes:
    """Return an ELF file with empty sections of these names."""
    table = b"\0" + b"".join(name.encode() + b"\0" for name in (*names, ".shstrtab"))
    places = [1 + sum(len(one) + 1 for one in names[:nth]) for nth in range(len(names) + 1)]
    heads = [(0,) * 10]
    heads += [(place, 1, 0, 0, 64, 0, 0, 0, 0, 0) for place in places[:-1]]
    heads.append((places[-1], 3, 0, 0, 64, len(table), 0, 0, 0, 0))
    head = bytearray(64)
    head[:9] = b"\x7fELF\x02\x01\x01\x33\x07"
    struct.pack_into("<H", head, 18, machine)
    struct.pack_into("<Q", head, 40, 64 + len(table))
    struct.pack_into("<I", head, 48, flags)
    struct.pack_into("<HHH", head, 58, 64, len(heads), len(heads) - 1)
    return bytes(head) + table + b"".join(struct.pack("<IIQQQQIIQQ", *one) for one in heads)


def test_kernels_and_target_are_read() -> None:
    cubin = read_cubin(elf(names=(".text.f", ".text.g", ".nv.info")))
    assert cubin.kernels == ("f", "g")
    assert cubin.arch == "sm_86"


@pytest.mark.parametrize("size", [4, 63, 64, 100, 250])
def test_cut_off_file_is_refused(size: int) -> None:
    data = elf(names=(".text.f",))
    assert size < len(data)
    with pytest.raises(MachineCodeError, match=r"k\.cubin: cut off"):
        read_cubin(data[:size], "k.cubin")


def test_section_beyond_the_end_is_refused() -> None:
    data = bytearray(elf(names=(".text.f",)))
    start = struct.unpack_from("<Q", data, 40)[0]
    struct.pack_into("<Q", data, start + 64 + 32, 1 << 20)
    with pytest.raises(MachineCodeError, match="a section ends at byte 1,048,640"):
        read_cubin(bytes(data))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "does not begin as an ELF file"),
        (b"MZ" + bytes(100), "does not begin as an ELF file"),
        (elf(machine=62, names=(".text",)), r"another machine \(62\)"),
        (elf(names=(".nv.info",)), "holds no machine code; was it stripped"),
    ],
)
def test_what_is_no_cubin_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(MachineCodeError, match=why):
        read_cubin(data)
