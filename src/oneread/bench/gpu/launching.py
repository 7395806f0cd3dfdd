"""Kernels of files of this package, launched on memory and streams that PyTorch owns.

Knows no kernel.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from oneread.runtime import cubins, driver

#: Addresses as `ctypes.c_void_p`, numbers as what the kernel declares.
Arguments = tuple[Any, ...]


def loaded(
    name: str, text: str, kernel: str, defines: Mapping[str, int], device: int
) -> Callable[[int, int, int, int, Arguments], None]:
    """Return what launches a kernel, compiled and loaded at the first call for it.

    Parameters
    ----------
    name, text : str
        Of the source.
    kernel : str
        Which of its kernels.
    defines : mapping of str to int
        Macros.
    device : int
        Number of the GPU.

    Returns
    -------
    callable
        Takes blocks, threads of a block, bytes of dynamic shared memory, the driver's number of
        a stream, and the arguments.
    """
    return _loaded(name, text, kernel, tuple(sorted(defines.items())), device)


@cache
def _loaded(
    name: str, text: str, kernel: str, defines: tuple[tuple[str, int], ...], device: int
) -> Callable[[int, int, int, int, Arguments], None]:
    where = driver.device(device)
    code = cubins.compiled(cubins.Source(name, text, {}), where.target, dict(defines))
    function = driver.load(where, code, kernel)
    size = ctypes.c_uint
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, *[size] * 7, *[ctypes.c_void_p] * 3
    )  # fmt: skip
    start = prototype(driver.addresses()[0])

    def launch(blocks: int, threads: int, shared: int, stream: int, arguments: Arguments) -> None:
        held = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        status = start(
            function.handle, blocks, 1, 1, threads, 1, 1, shared, stream, held, None
        )  # fmt: skip
        driver.check_launch(status, function, f"{blocks} blocks")

    return launch
