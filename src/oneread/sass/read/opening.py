"""What a name stands for: a source, a cubin, a disassembler's text, a folder of Triton's.

Knows formats by their first bytes; knows no instruction.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from oneread.runtime import nvrtc
from oneread.sass.decode.decoding import decode
from oneread.sass.decode.instruction import Program, SourceLine
from oneread.sass.errors import MachineCodeError
from oneread.sass.read import nvdisasm
from oneread.sass.read.elf import is_elf, read_cubin, read_sections
from oneread.sass.read.headers import with_headers
from oneread.sass.read.listing import is_listing, read_listing
from oneread.source.catalogue import read_catalogue
from oneread.source.host import Skipped, device_code, find_kernels
from oneread.source.namespaces import qualified
from oneread.source.text import SourceText
from oneread.spec import KernelCompileError

#: Where a kernel is compiled for if nothing is said: the target of the SASS note.
DEFAULT_ARCH: Final = "sm_86"
SOURCES: Final = (".cu", ".cuh", ".cpp", ".h")
#: What a kernel's code may end with.
_LAST: Final = frozenset({"BPT", "BRA", "BRX", "CALL", "EXIT", "JMP", "KILL", "NOP", "RET"})
#: The first NVRTC known to mark spills in its code.
_MARKS_SPILLS: Final = (13, 2)
_FATBIN: Final = b"\x50\xed\x55\xba"
_LARGEST_BYTES: Final = 256 << 20


@dataclass(frozen=True)
class Build:
    """How a source is compiled.

    ``nvrtc`` is the path of another NVRTC than the usual one; ``instance`` is the instance of a
    template that is wanted, such as ``softmax<256>``; ``folders`` are where headers are looked for,
    besides those of ``-I`` among the options.
    """

    arch: str | None = None
    fast_math: bool = False
    options: Sequence[str] = ()
    defines: Mapping[str, int] = field(default_factory=dict)
    nvrtc: str | None = None
    instance: str = ""
    folders: Sequence[str] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the options as the compiler is given them."""
        return (*(("--use_fast_math",) if self.fast_math else ()), *self.options)


@dataclass(frozen=True)
class Code:
    """What was opened: kernels, and the source and the build that they come from, if any.

    ``skipped`` is what of the source was left out as host code.
    """

    name: str
    programs: tuple[Program, ...]
    source: SourceText | None = None
    build: Build | None = None
    skipped: tuple[Skipped, ...] = ()

    def kernel(self, name: str | None = None) -> Program:
        """Return a kernel by name, the only one if no name is given.

        Raises
        ------
        MachineCodeError
            When there is none of that name, or several and none is named.
        """
        names = [one.short_name for one in self.programs]
        plain = name and name.partition("<")[0].rpartition("::")[2]
        known = {name, plain}
        found = [one for one in self.programs if known & {None, one.name, one.short_name}]
        if len(found) == 1:
            return found[0]
        asked = f"no kernel {name!r}" if name and not found else f"{len(found)} kernels"
        raise MachineCodeError(
            f"{self.name} has {asked}; name one of these (--kernel): {', '.join(names)}"
        )


def open_code(name: str | os.PathLike[str], build: Build | None = None) -> Code:
    """Open what a name stands for.

    Parameters
    ----------
    name : str or path
        A key of the gallery, a ``.cu`` file, a cubin, saved text of ``nvdisasm`` or
        ``cuobjdump -sass``, or a folder of Triton's cache.
    build : Build, optional
        How a source is compiled; ``arch`` is also taken for text that does not say its target.

    Returns
    -------
    Code
        The kernels in it.

    Raises
    ------
    MachineCodeError
        When it is none of these, or damaged.
    BackendUnavailableError
        When a tool is missing that it takes; the message says how to get it.
    KernelCompileError
        When the compiler refuses the source.
    """
    text = os.fspath(name)
    path = Path(text)
    catalogue = read_catalogue()
    if text in catalogue.kernels and not path.exists():
        build = build or Build()
        entry = catalogue.kernels[text]
        build = replace(build, defines={**entry.bench_defines, **build.defines})
        source = catalogue.path(text)
        return compile_source(SourceText(source.name, source.read_text("utf-8")), build)
    if path.is_dir():
        return _folder(path)
    if not path.exists():
        close = difflib.get_close_matches(text, catalogue.kernels, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise MachineCodeError(f"{text!r} is no file and no key of the gallery{hint}")
    if path.stat().st_size > _LARGEST_BYTES:
        raise MachineCodeError(f"{text}: larger than {_LARGEST_BYTES >> 20} MiB")
    data = path.read_bytes()
    if path.suffix in SOURCES:
        build = replace(build or Build(), folders=(str(path.parent),))
        return compile_source(SourceText(path.name, _decoded(data, text)), build)
    return read_code(data, text, build.arch if build else None)


def is_machine_code(path: Path) -> bool:
    """Say whether a file is a cubin, or a disassembler's text."""
    if path.suffix in SOURCES:
        return False
    data = path.read_bytes()
    return is_elf(data) or is_listing(data.decode("utf-8", errors="replace"))


def read_code(data: bytes, name: str, arch: str | None = None) -> Code:
    """Read machine code from bytes: a cubin, or a disassembler's text.

    Parameters
    ----------
    data : bytes
        The content of a file, or what came on standard input.
    name : str
        What to call it.
    arch : str, optional
        The target, for text that does not say it.

    Returns
    -------
    Code
        The kernels in it.

    Raises
    ------
    MachineCodeError
        When it is neither, or damaged.
    BackendUnavailableError
        When it is a cubin and there is no ``nvdisasm``.
    """
    if is_elf(data):
        return Code(name, _disassembled(data, name))
    if data.startswith(_FATBIN):
        raise MachineCodeError(f"{name}: a fatbin; extract a cubin: cuobjdump -xelf all {name}")
    text = _decoded(data, name)
    if text.lstrip().startswith(("[", "{")) and "SchemaVersion" in text[:4096]:
        raise MachineCodeError(
            f"{name}: JSON of nvdisasm has no encodings; save its text: nvdisasm -c -gi -hex"
        )
    if not is_listing(text) and ".visible .entry" in text:
        raise MachineCodeError(f"{name}: PTX, no machine code; assemble it: ptxas -arch=sm_86")
    programs = tuple(decode(one) for one in read_listing(text, name, arch or ""))
    for program in programs:
        _refuse_cut(program, name)
    return Code(name, programs)


def _refuse_cut(program: Program, name: str) -> None:
    """Refuse a listing whose last instruction goes on, or that is left for what is not there."""
    last = program.instructions[-1]
    goes_on = last.opcode not in _LAST or (last.guard is not None and not last.never_runs)
    there = program.at.keys()
    leaves = any(set(one.targets) - there for one in program.instructions if one.opcode == "BRA")
    if goes_on or leaves:
        raise MachineCodeError(
            f"{name}: {program.short_name} is cut off after {last.address:#06x}: its code goes on"
        )


def compile_source(source: SourceText, build: Build) -> Code:
    """Compile a source, its host code left out.

    Parameters
    ----------
    source : SourceText
        CUDA C++.
    build : Build
        Target and options.

    Returns
    -------
    Code
        Its kernels.

    Raises
    ------
    BackendUnavailableError
        When NVRTC or ``nvdisasm`` is missing, or the target is not known.
    KernelCompileError
        When the compiler refuses it.
    MachineCodeError
        When there is no kernel in it.
    """
    build = replace(build, arch=build.arch or DEFAULT_ARCH)
    _refuse_unused(source, build)
    device = device_code(source)
    text, skipped, folders = with_headers(device, source.text, _folders(build))
    try:
        cubin = nvrtc.compile_cubin(
            text,
            build.arch or DEFAULT_ARCH,
            name=source.name,
            defines=build.defines,
            options=[*build.flags, *folders],
            instances=[qualified(source, build.instance)] if build.instance else (),
            library=build.nvrtc,
        )
    except KernelCompileError as error:
        missing = ", ".join(one.name for one in skipped if one.what == "include")
        if not missing:
            raise
        raise KernelCompileError(
            f"{error}; not found, and left out: {missing}", error.log
        ) from None
    if not read_sections(cubin.code, source.name).kernels:
        raise MachineCodeError(_why_nothing(source))
    marks_spills = nvrtc.version(build.nvrtc) >= _MARKS_SPILLS
    programs = tuple(
        replace(_with_name(one, source.name), marks_spills=marks_spills)
        for one in _disassembled(cubin.code, source.name)
    )
    return Code(source.name, programs, source, build, skipped)


def instance_of(kernel: str | None) -> str:
    """Return what `Build` is to be given for a kernel by name: an instance, or nothing."""
    return kernel if kernel and "<" in kernel else ""


def _folders(build: Build) -> list[str]:
    """Return where a source's own headers may lie."""
    given = [one.removeprefix("-I") for one in build.options if one.startswith("-I")]
    return [*build.folders, *filter(None, given)]


def _refuse_unused(source: SourceText, build: Build) -> None:
    """Refuse a macro that the source does not have; its own headers may have any."""
    unused = [one for one in build.defines if not re.search(rf"\b{one}\b", source.text)]
    if unused and not re.search(r'^\s*#\s*include\s*"', source.text, re.MULTILINE):
        raise MachineCodeError(f"{source.name} has no macro {', '.join(unused)}")


def _why_nothing(source: SourceText) -> str:
    """Return why no machine code came of a source."""
    templates = [one.name for one in find_kernels(source) if one.is_template]
    if not templates:
        return f"{source.name}: no kernel in it: no __global__ function with a body"
    many = "is a template" if len(templates) == 1 else "are templates"
    return (
        f"{source.name}: {', '.join(templates)} {many}, and no instance is asked for: "
        f"name one, as in --kernel '{templates[0]}<256>'"
    )


def _with_name(program: Program, name: str) -> Program:
    """Return a program whose lines name their source as it was given to the compiler.

    The compiler takes the name for one of a file in the current folder.
    """
    told = os.path.abspath(name)

    def named(line: SourceLine | None) -> SourceLine | None:
        if line is None:
            return None
        return SourceLine(name if line.file == told else line.file, line.line, named(line.call))

    instructions = tuple(replace(one, line=named(one.line)) for one in program.instructions)
    return replace(program, instructions=instructions)


def _disassembled(data: bytes, name: str) -> tuple[Program, ...]:
    cubin = read_cubin(data, name)
    listings = read_listing(nvdisasm.disassemble(data, name), name, cubin.arch)
    return tuple(
        decode(replace(one, resources=cubin.resources(one.name)))
        for one in listings
        if one.name in cubin.kernels
    )


def _folder(path: Path) -> Code:
    """Read the kernels that Triton keeps in a folder of its cache."""
    cubins = sorted(path.rglob("*.cubin"))
    if not cubins:
        raise MachineCodeError(f"{path}: no folder of Triton's cache: no .cubin in it")
    found: list[Program] = []
    for one in cubins:
        found += _disassembled(one.read_bytes(), one.name)
    return Code(str(path), tuple(found))


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise MachineCodeError(f"{name}: neither a cubin nor text in UTF-8") from None
