"""A cubin's sections: which kernels it holds, for which target, and what each takes.

Reads the ELF file by itself, so that a damaged one is refused with a reason before any tool sees
it. Knows no instruction.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from oneread.sass.decode.instruction import Resources
from oneread.sass.errors import MachineCodeError

_MAGIC: Final = b"\x7fELF"
_HEADER_BYTES: Final = 64
_CUDA: Final = 190  # e_machine
_NO_BITS: Final = 8  # sh_type of a section without content
_SYMBOLS: Final = 2  # sh_type of the symbol table

#: Attributes of a kernel, by their number and the form of their value: a word for a symbol, or a
#: byte in the attribute's own head.
_REGISTERS: Final = (0x2F, 4)
_FRAME: Final = (0x11, 4)
_BARRIERS: Final = (0x4C, 2)


class Section(NamedTuple):
    """A section; ``size`` counts without ``content`` too."""

    name: str
    type: int
    flags: int
    size: int
    info: int
    content: bytes


@dataclass(frozen=True)
class Cubin:
    """The sections of a cubin."""

    arch: str
    sections: tuple[Section, ...]

    @property
    def kernels(self) -> tuple[str, ...]:
        """Return the names of its kernels."""
        return tuple(
            one.name.removeprefix(".text.")
            for one in self.sections
            if one.name.startswith(".text.")
        )

    def resources(self, kernel: str) -> Resources:
        """Return what a kernel takes.

        Parameters
        ----------
        kernel : str
            Its name as the file has it.

        Returns
        -------
        Resources
            Registers a thread, bytes of shared memory a block without the dynamic ones, bytes of
            local memory a thread, barriers a block.
        """
        by_name = {one.name: one for one in self.sections}
        text = by_name.get(f".text.{kernel}")
        if text is None:
            return Resources()
        shared = by_name.get(f".nv.shared.{kernel}")
        attributes = dict(self._attributes(kernel))
        return Resources(
            registers=attributes.get(_REGISTERS, text.info >> 24 or None),
            shared_bytes=shared.size if shared else 0,
            local_bytes=attributes.get(_FRAME, 0),
            barriers=attributes.get(_BARRIERS, text.flags >> 20 & 0x7F),
        )

    def _attributes(self, kernel: str) -> Iterator[tuple[tuple[int, int], int]]:
        """Yield the attributes of a kernel: those of the file about its symbol, and its own."""
        names = self._symbols()
        for key, _, value in self._info(".nv.info"):
            if len(value) == 8:
                symbol, number = struct.unpack("<II", value)
                if symbol < len(names) and names[symbol] == kernel:
                    yield key, number
        for key, head, value in self._info(f".nv.info.{kernel}"):
            if not value:
                yield key, head & 0xFF

    def _info(self, name: str) -> Iterator[tuple[tuple[int, int], int, bytes]]:
        """Yield the attributes in a section: number and form, the head's value, what follows."""
        info = next((one.content for one in self.sections if one.name == name), b"")
        at = 0
        while at + 4 <= len(info):
            form, kind, head = struct.unpack_from("<BBH", info, at)
            size = head if form == 4 else 0
            yield (kind, form), head, info[at + 4 : at + 4 + size]
            at += 4 + size

    def _symbols(self) -> list[str]:
        table = next((one.content for one in self.sections if one.type == _SYMBOLS), b"")
        strings = next((one.content for one in self.sections if one.name == ".strtab"), b"")
        places = (struct.unpack_from("<I", table, at)[0] for at in range(0, len(table) - 23, 24))
        return [_string(strings, place) for place in places]


def is_elf(data: bytes) -> bool:
    """Say whether a file begins as an ELF file does."""
    return data.startswith(_MAGIC)


def read_cubin(data: bytes, name: str = "cubin") -> Cubin:
    """Read the sections of a cubin.

    Parameters
    ----------
    data : bytes
        The file.
    name : str
        What to call it where it is refused.

    Returns
    -------
    Cubin
        Its sections.

    Raises
    ------
    MachineCodeError
        When it is no cubin, is cut off, or holds no kernel.
    """
    found = read_sections(data, name)
    if not found.kernels:
        raise MachineCodeError(f"{name}: holds no machine code; was it stripped?")
    return found


def read_sections(data: bytes, name: str = "cubin") -> Cubin:
    """Read the sections of a cubin that may hold no kernel."""
    if not is_elf(data):
        raise MachineCodeError(f"{name}: no cubin: it does not begin as an ELF file")
    if len(data) < _HEADER_BYTES:
        raise MachineCodeError(f"{name}: cut off within its header, after {len(data)} bytes")
    machine, flags = struct.unpack_from("<H", data, 18)[0], struct.unpack_from("<I", data, 48)[0]
    if data[4] != 2 or machine != _CUDA:
        raise MachineCodeError(f"{name}: an ELF file for another machine ({machine}), no cubin")
    sections = tuple(_sections(data, name))
    # The ninth byte is the version of the flags: since 8, the target has moved up a byte.
    number = flags >> 8 & 0xFFFF if data[8] >= 8 else flags & 0xFF
    return Cubin(f"sm_{number}", sections)


def _sections(data: bytes, name: str) -> Iterator[Section]:
    start = struct.unpack_from("<Q", data, 40)[0]
    size, count, names = struct.unpack_from("<HHH", data, 58)
    end = start + size * count
    if size < 64 or end > len(data) or names >= count:
        raise MachineCodeError(
            f"{name}: cut off: its table of sections ends at byte {end:,}, "
            f"the file at {len(data):,}"
        )
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, start + size * nth) for nth in range(count)]
    for head in heads:
        if head[1] != _NO_BITS and head[4] + head[5] > len(data):
            raise MachineCodeError(
                f"{name}: cut off: a section ends at byte {head[4] + head[5]:,}, "
                f"the file at {len(data):,}"
            )
    strings = data[heads[names][4] : heads[names][4] + heads[names][5]]
    for place, kind, flags, _, offset, length, _, info, _, _ in heads:
        content = b"" if kind == _NO_BITS else data[offset : offset + length]
        yield Section(_string(strings, place), kind, flags, length, info, content)


def _string(table: bytes, place: int) -> str:
    end = table.find(b"\0", place)
    return table[place : end if end >= 0 else None].decode("utf-8", "replace")
