"""The arithmetic of the CUDA kernels is right for every family of input, shown without a GPU.

The headers are compiled for the CPU. What only a GPU has (its exp2, its warps) is stood in for;
tests/ops/test_cuda.py runs the kernels themselves.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oneread.runtime.tuning import ELEMENTS, FOLDER
from oneread.testing import assert_conforms

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")

HOST = Path(__file__).with_name("host.cpp")

#: Parts that a row is cut into, so that some parts see masked columns alone.
PARTS = 7


@pytest.fixture(scope="module", params=ELEMENTS)
def rows(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return an element type and what computes one row of it, without a temperature and with."""
    number, _ = ELEMENTS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, [compiled(folder, number, temperature) for temperature in (0, 1)]


def compiled(folder: Path, element: int, temperature: int) -> Callable[..., None]:
    """Compile the arithmetic, each operation rounded by itself but where the source fuses two."""
    library = folder / f"row{temperature}.so"
    words = [COMPILER, "-O1", "-std=c++17", "-ffp-contract=off", "-shared", "-fPIC", "-w"]
    words += [f"-DELEMENT={element}", f"-DTEMPERATURE={temperature}", "-DVECTOR_BYTES=16"]
    subprocess.run([*map(str, words), "-I", FOLDER, HOST, "-o", library], check=True)
    row: Callable[..., None] = ctypes.CDLL(str(library)).row
    return row


def implementation(rows: list[Callable[..., None]], log: bool) -> Callable[..., Any]:
    def run(x: Any, axis: int = -1, temperature: Any = None) -> Any:
        logits = np.ascontiguousarray(np.moveaxis(x, axis, -1))
        y = np.empty_like(logits)
        given = np.broadcast_to(1.0 if temperature is None else temperature, logits.shape[:-1])
        for place in np.ndindex(logits.shape[:-1]):
            rows[temperature is not None](
                ctypes.c_void_p(logits[place].ctypes.data),
                ctypes.c_void_p(y[place].ctypes.data),
                ctypes.c_long(logits.shape[-1]),
                ctypes.c_double(given[place]),
                int(log),
                PARTS,
            )
        return np.moveaxis(y, -1, axis)

    return run


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
def test_every_family_is_close_to_the_truth(rows: Any, op: str) -> None:
    dtype, functions = rows
    assert_conforms(
        implementation(functions, op == "log_softmax"), op, dtype=dtype,
        without=("where", "lengths"),
    )  # fmt: skip
