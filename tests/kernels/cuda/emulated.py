"""The CUDA kernels run on a CPU: the geometry and table of oneread.runtime.cuda, no GPU.

Each kernel is compiled with a C++ compiler for the launch that the table chose (emulated.cpp).
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
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
#: Not unique: libraries have variables of one name, which would become one, of different sizes.
_OPTIONS = (
    "-O1", "-std=c++17", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing",
    "-fno-gnu-unique", "-pthread", "-shared", "-fPIC", "-w",
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
    kernel: str, defines: tuple[tuple[str, int], ...], cluster: int = 1, folder: Path = FOLDER
) -> Function:
    """Compile a kernel for this CPU, each operation rounded by itself."""
    path = folder / f"{kernel}.cu"
    macros = [f"-D{name}={value}" for name, value in defines]
    macros += [f'-DSOURCE="{path}"', f"-DKERNEL={kernel}"]
    if array := _SHARED_ARRAY.search(path.read_text(encoding="utf-8")):
        macros += [f"-DDYNAMIC_TYPE={array[1]}", f"-DDYNAMIC={array[2]}"]
    library = kept() / f"{kernel}_{hashlib.sha256(repr(macros).encode()).hexdigest()[:16]}.so"
    words = [COMPILER, *_OPTIONS, *macros, "-I", folder, HERE / "emulated.cpp", "-o", library]
    subprocess.run([str(word) for word in words], check=True)
    run = ctypes.CDLL(str(library)).launch
    run.restype = ctypes.c_char_p
    run.argtypes = [ctypes.c_int] * 3 + [ctypes.c_void_p, ctypes.c_int]
    return Function(run, cluster)


@cache
def kept() -> Path:
    """Return a folder for libraries, of this process."""
    folder = tempfile.TemporaryDirectory(prefix=f"emulated-{os.getpid()}-")
    _folders.append(folder)
    return Path(folder.name)


_folders: list[Any] = []


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
