"""The CUDA kernels run on a CPU: the geometry and table of oneread.runtime.cuda, no GPU.

Each kernel is compiled with a C++ compiler for the launch that the table chose (emulated.cpp), and
kept in build/emulated for other processes and for the next run, until a source changes.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from oneread.runtime import cuda
from oneread.runtime.tuning import FOLDER

COMPILER = shutil.which("g++") or shutil.which("clang++")
HERE = Path(__file__).parent
#: A target whose kernels may do all that the emulation knows.
TARGET = "sm_90"
KEPT = HERE.parents[2] / "build/emulated"
#: Not unique: libraries have variables of one name, which would become one, of different sizes.
#: Not fortified: longjmp goes from one stack to another.
_OPTIONS = (
    "-O1", "-std=c++17", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing",
    "-fno-gnu-unique", "-U_FORTIFY_SOURCE", "-pthread", "-fPIC", "-w",
)  # fmt: skip
_SHARED_ARRAY = re.compile(r"extern __shared__ (?:__align__\(\d+\) )?(\w+(?: \w+)*) (\w+)\[\];")


class Device(NamedTuple):
    """Stands for a GPU."""

    index: int = 0
    target: str = TARGET


class Beside(ctypes.Structure):
    """What kernels/cuda/beside.cuh has by this name."""

    _fields_ = (
        ("where", ctypes.c_void_p),
        ("lengths", ctypes.c_void_p),
        ("strides", ctypes.c_longlong * 6),
    )


class Function(NamedTuple):
    """A kernel that is loaded."""

    run: Any
    cluster: int


class Launch:
    """Stands for what puts a kernel into a stream: runs it at once."""

    order = 0

    def __init__(
        self, function: Function, grid: int, block: int, dynamic_bytes: int, numbers: list[int],
        record: Any, what: str, strides: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self.function, self.grid, self.block, self.what = function, grid, block, what
        self.numbers, self.strides = numbers, (ctypes.c_longlong * 6)(*strides)

    def __call__(
        self, stream: int, x: int, y: int, temperature: float = 1.0, temperatures: int = 0,
        where: int = 0, lengths: int = 0,
    ) -> None:  # fmt: skip
        held = [ctypes.c_void_p(x), ctypes.c_void_p(y), *map(ctypes.c_longlong, self.numbers)]
        held += [ctypes.c_double(temperature), ctypes.c_void_p(temperatures)]
        held.append(Beside(where, lengths, self.strides))
        launch(self.function, self.grid, self.block, held, type(self).order)


def launch(function: Function, grid: int, block: int, arguments: list[Any], order: int = 0) -> None:
    """Run a kernel with arguments of ctypes; `order` is that of its threads (emulated.cpp)."""
    places = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(one) for one in arguments])
    failure = function.run(grid, block, function.cluster, places, order)
    assert failure is None, failure.decode()


@cache
def compiled(
    kernel: str, defines: tuple[tuple[str, int], ...] = (), cluster: int = 1, folder: Path = FOLDER
) -> Function:
    """Compile a kernel for this CPU, each operation rounded by itself."""
    path = folder / f"{kernel}.cu"
    text = path.read_text(encoding="utf-8")
    macros = [f"-D{name}={value}" for name, value in defines]
    macros += [f'-DSOURCE="{path}"', f"-DKERNEL={kernel}"]
    if array := _SHARED_ARRAY.search(text):
        macros += [f"-DDYNAMIC_TYPE={array[1]}", f"-DDYNAMIC={array[2]}"]
    name = hashlib.sha256(repr([text, macros]).encode()).hexdigest()[:16]
    library = kept() / f"{kernel}_{name}.so"
    if not library.exists():
        build(["-shared", *macros, "-I", FOLDER, HERE / "emulated.cpp", threads()], library)
    run = ctypes.CDLL(str(library)).launch
    run.restype = ctypes.c_char_p
    run.argtypes = [ctypes.c_int] * 3 + [ctypes.c_void_p, ctypes.c_int]
    return Function(run, cluster)


@cache
def kept() -> Path:
    """Return where what is made of the sources as they are now is kept; forget what was before."""
    sources = [*sorted(FOLDER.glob("*.cu*")), *sorted(HERE.glob("*.?pp"))]
    version = subprocess.run([COMPILER, "--version"], capture_output=True, check=True).stdout
    told = b"".join([version, repr(_OPTIONS).encode(), *(path.read_bytes() for path in sources)])
    place = KEPT / hashlib.sha256(told).hexdigest()[:16]
    for other in KEPT.glob("*"):
        if other != place:
            shutil.rmtree(other, ignore_errors=True)
    place.mkdir(parents=True, exist_ok=True)
    return place


@cache
def threads() -> Path:
    """Return gpu.cpp compiled, which is the same for all kernels."""
    made = kept() / "gpu.o"
    if not made.exists():
        build(["-c", HERE / "gpu.cpp"], made)
    return made


def build(words: list[Any], made: Path) -> None:
    """Compile to a file that appears whole, since other processes look for it, too."""
    part = made.with_name(f"{made.name}.{os.getpid()}")
    words = [COMPILER, *_OPTIONS, *words, "-o", part]
    subprocess.run([str(word) for word in words], check=True)
    part.replace(made)


def loaded(
    device: int, kernel: str, defines: tuple[tuple[str, int], ...], dynamic_bytes: int, cluster: int
) -> Function:
    """Stand for what compiles and loads a kernel on a GPU."""
    return compiled(kernel, defines, cluster)


@pytest.fixture
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let oneread.runtime.cuda run its launches on the CPU; memory is that of NumPy arrays."""
    cuda.prepared.cache_clear()
    monkeypatch.setattr(cuda.driver, "device", Device)
    monkeypatch.setattr(cuda, "_loaded", loaded)
    monkeypatch.setattr(cuda, "Launch", Launch)
    yield
    cuda.prepared.cache_clear()
