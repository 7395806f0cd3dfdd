"""`oneread compile`: the kernels of the ops compiled ahead of time, also without a GPU."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import typer

from oneread.cli._console import fail, say
from oneread.spec.words import plural

HELP = """Compile the kernels that the ops run on a GPU, and keep them on disk.

A first call then starts at once. It needs NVRTC, and neither a GPU nor a driver.
"""


def compile_(
    arch: Annotated[
        list[str] | None,
        typer.Option("--arch", help="For example sm_90; may be repeated. Default: the GPU here."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="float32 and bfloat16 alone, and rows that 16 bytes divide."),
    ] = False,
) -> None:
    """Fill the cache for each target."""
    from oneread.runtime import (
        cubins,
        cuda,
        cuda_gradient,
        cuda_merge,
        cuda_read,
        cuda_topk,
        nvrtc,
    )
    from oneread.spec import BackendUnavailableError

    for target in arch or [_here()]:
        if target not in nvrtc.TARGETS:
            raise fail(f"--arch is {target!r}; {', '.join(nvrtc.TARGETS)} is allowed")
        wanted = cuda_merge.ahead()
        for kind in (cuda, cuda_read, cuda_topk, cuda_gradient):
            wanted += kind.ahead(target, quick)
        start = time.perf_counter()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            waiting = [
                pool.submit(cubins.compiled, text, target, macros) for text, macros in wanted
            ]
            codes = [one.result() for one in waiting]
        took = time.perf_counter() - start
        size = sum(map(len, codes)) / 1e6
        say(f"{target}: {plural(len(codes), 'kernel')}, {size:.1f} MB, {took:.1f} s")
    where = cubins.folder()
    if not any(where.glob("*.cubin")):
        raise BackendUnavailableError(f"nothing could be kept in {where}: is it writable?")
    say(f"kept in {where}")


def _here() -> str:
    from oneread.runtime import driver
    from oneread.spec import BackendUnavailableError

    try:
        return driver.device(0).target
    except BackendUnavailableError as error:
        raise fail(f"there is no GPU to compile for ({error}): give --arch") from None
