"""CUDA C compiled to machine code by NVRTC: needs no GPU, no driver and no CUDA toolkit.

Knows no kernel and no array library. The library is loaded by `ctypes` when the first kernel is
compiled, from NVIDIA's Python packages or from where the system finds it.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from oneread.spec import BackendUnavailableError, KernelCompileError

__all__ = [
    "HEADERS",
    "TARGETS",
    "Cubin",
    "available",
    "compile_cubin",
    "find_library",
    "supported_targets",
    "version",
]

#: What every kernel is compiled for: Turing, Ampere, Ada, Hopper, Blackwell.
TARGETS: Final = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")

#: NVRTC has the functions of these headers, but neither the files nor their constants.
HEADERS: Final = {
    "math.h": (
        "#pragma once\n"
        "#define INFINITY __int_as_float(0x7f800000)\n"
        "#define NAN __int_as_float(0x7fffffff)\n"
    ),
    "float.h": (
        "#pragma once\n"
        "#define FLT_MAX 3.402823466e+38f\n"
        "#define FLT_MIN 1.175494351e-38f\n"
        "#define FLT_EPSILON 1.192092896e-07f\n"
    ),
}

#: Folders of NVIDIA's packages, and names of the library, the newest first.
_FOLDERS: Final = ("cu13/lib", "cuda_nvrtc/lib")
_NAMES: Final = ("libnvrtc.so.13", "libnvrtc.so.12")
_TOOLKIT: Final = "/usr/local/cuda/lib64"
_INSTALL: Final = "install it with: pip install oneread[sass]"
#: Where a toolkit or a package has its libraries.
_INSIDE: Final = ("", "lib64", "lib", "targets/*/lib", "nvidia/*/lib", "*/lib")


@dataclass(frozen=True, slots=True)
class Cubin:
    """Machine code of one source for one target.

    `code` is an ELF file that the driver loads; `log` is what the compiler said, often nothing.
    """

    code: bytes
    target: str
    log: str


def compile_cubin(
    source: str,
    target: str,
    *,
    name: str = "kernel.cu",
    defines: Mapping[str, int] | None = None,
    headers: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    instances: Sequence[str] = (),
    library: str | None = None,
) -> Cubin:
    """Compile a source for one target.

    Parameters
    ----------
    source : str
        CUDA C++17. Of headers, `HEADERS` are there.
    target : str
        ``sm_90`` and the like.
    name : str
        What the compiler calls the source in its messages.
    defines : mapping of str to int, optional
        Macros.
    headers : mapping of str to str, optional
        More headers, by the name that they are included with.
    options : sequence of str
        More of the compiler's options, for example ``-fmad=false``.
    instances : sequence of str
        Instances of templates that are wanted, such as ``ops::softmax<256>``.
    library : str, optional
        Path of another NVRTC, see `find_library`.

    Returns
    -------
    Cubin
        Machine code, with line numbers.

    Raises
    ------
    BackendUnavailableError
        When NVRTC is not there or does not know the target.
    KernelCompileError
        When it refuses the source; carries its log.
    """
    loaded = _library(library)
    if target not in supported_targets(library):
        raise BackendUnavailableError(
            f"got target {target!r}; NVRTC {'.'.join(map(str, version(library)))} compiles for "
            f"{', '.join(supported_targets(library))}"
        )
    macros = [f"-D{macro}={value}" for macro, value in (defines or {}).items()]
    words = [f"--gpu-architecture={target}", "--std=c++17", "-lineinfo", *macros, *options]
    program = _program(loaded, source, name, {**HEADERS, **(headers or {})})
    try:
        for instance in instances:
            _check(loaded, loaded.nvrtcAddNameExpression(program, instance.encode()))
        status = loaded.nvrtcCompileProgram(program, len(words), _strings(words))
        log = _text(loaded, program, "ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
        if status:
            first = log.partition("\n")[0] or _explain(loaded, status)
            raise KernelCompileError(f"{name} for {target}: {first}", log)
        return Cubin(_text(loaded, program, "CUBIN"), target, log)
    finally:
        loaded.nvrtcDestroyProgram(ctypes.byref(program))


def _program(
    loaded: ctypes.CDLL, source: str, name: str, headers: Mapping[str, str]
) -> ctypes.c_void_p:
    """Return a program of NVRTC, to be destroyed by who asks for it."""
    program = ctypes.c_void_p()
    texts, names = _strings(headers.values()), _strings(headers)
    status = loaded.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), name.encode(), len(headers), texts, names
    )
    _check(loaded, status)
    return program


def available() -> bool:
    """Return whether NVRTC is there."""
    try:
        _library()
    except BackendUnavailableError:
        return False
    return True


def version(library: str | None = None) -> tuple[int, int]:
    """Return the version of NVRTC, which is that of its CUDA; of another one by its path."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    loaded = _library(library)
    _check(loaded, loaded.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return major.value, minor.value


def supported_targets(library: str | None = None) -> tuple[str, ...]:
    """Return the targets that this NVRTC knows, the oldest first; of another one by its path."""
    count = ctypes.c_int()
    loaded = _library(library)
    _check(loaded, loaded.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    numbers = (ctypes.c_int * count.value)()
    _check(loaded, loaded.nvrtcGetSupportedArchs(numbers))
    return tuple(f"sm_{number}" for number in numbers)


def find_library(path: str) -> str:
    """Return the path of another NVRTC.

    Parameters
    ----------
    path : str
        The library itself; or a folder with it: of a toolkit, of NVIDIA's package, or one that
        packages were installed to.

    Returns
    -------
    str
        What other functions take as ``library``.

    Raises
    ------
    BackendUnavailableError
        When it is not there.
    """
    given = Path(path)
    found = [given] if given.is_file() else []
    for folder in _INSIDE:
        # The builtins' and the alternative's names have more words.
        found += (one for one in sorted(given.glob(f"{folder or '.'}/libnvrtc.so*")))
    if not found:
        raise BackendUnavailableError(f"{path}: no NVRTC in it, no libnvrtc.so")
    return str(found[0].resolve())


@cache
def _library(given: str | None = None) -> ctypes.CDLL:
    tried: list[str] = []
    for path in [given] if given else _candidates():
        try:
            # NVRTC looks for this one by its name; loaded before, it is found.
            for builtins in Path(path).parent.glob("libnvrtc-builtins.so*"):
                ctypes.CDLL(str(builtins))
            return ctypes.CDLL(path)
        except OSError as error:
            tried.append(str(error))
    raise BackendUnavailableError(f"NVRTC cannot be loaded ({'; '.join(tried)}); {_INSTALL}")


def _candidates() -> Iterator[str]:
    """Yield where the library may be, NVIDIA's packages before the system's own."""
    package = importlib.util.find_spec("nvidia")
    roots = list(package.submodule_search_locations or ()) if package else []
    for folder in _FOLDERS:
        for root in roots:
            for name in _NAMES:
                if (path := Path(root, folder, name)).exists():
                    yield str(path)
    yield from _NAMES
    for name in _NAMES:
        yield f"{_TOOLKIT}/{name}"


def _text(loaded: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    """Return the log or the machine code of a program."""
    size = ctypes.c_size_t()
    _check(loaded, getattr(loaded, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(loaded, getattr(loaded, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def _strings(words: Iterable[str]) -> ctypes.Array[ctypes.c_char_p]:
    encoded = [word.encode() for word in words]
    return (ctypes.c_char_p * len(encoded))(*encoded)


def _explain(loaded: ctypes.CDLL, status: int) -> str:
    explain = loaded.nvrtcGetErrorString
    explain.restype = ctypes.c_char_p
    said: bytes = explain(status)
    return said.decode()


def _check(loaded: ctypes.CDLL, status: int) -> None:
    if status:
        raise BackendUnavailableError(f"NVRTC failed: {_explain(loaded, status)}")
