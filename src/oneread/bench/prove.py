"""What the kernels of an op read, write and keep, counted and measured on this machine.

Knows the ops by the table, never how one works. Run as a module it measures one kernel in a process
of its own and hands the record to its parent.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

import numpy as np

import oneread
from oneread.bench import hardware
from oneread.runtime import cpu
from oneread.spec import OPS, BackendUnavailableError, KernelSpec, ShapeError

#: What is counted: long rows of float32. Few, since a counted op is about 100 times slower.
COUNTED_SHAPE: Final = (4, 100_000)
#: What is measured: more than caches hold, and enough to tell the arrays from all else.
MEASURED_SHAPE: Final = (128, 250_000)
#: Longest row that the kernel `sort` takes.
_SHORT: Final = 4096
_K: Final = 5
_SECONDS: Final = 300


class Accesses(NamedTuple):
    """Loads and stores an element of the rows."""

    x_loads: float
    x_stores: float
    y_loads: float
    y_stores: float
    scratch_loads: float
    scratch_stores: float
    reads: float
    """Bytes of x that loads bring into a modelled cache of 32 KiB, over the bytes of x."""


@dataclass(frozen=True, slots=True)
class Proof:
    """One kernel: what was counted, and what was measured or why it could not be.

    A number that could not be measured is None, with its reason in the text beside it.
    """

    op: str
    kernel: str
    source: str
    claim: dict[str, int]
    """Reads, loads and stores an element in the table."""
    accesses: Accesses
    arrays_bytes: int
    """Input and outputs of the measured call."""
    peak_bytes: int | None
    """Most that the process grew by with them, and all that the op needs beside."""
    memory: str
    miss_bytes: int | None
    """Cache lines that the processor counted as missed in its last cache, in bytes."""
    hardware: str


def prove(op: str | None = None) -> Iterator[Proof]:
    """Yield the proof for the default kernel of each op, or for all kernels of one.

    Parameters
    ----------
    op : str, optional
        Name of the op.

    Yields
    ------
    Proof
        Each as soon as it is there, in the order of the table.

    Raises
    ------
    ShapeError
        If there is no such op.
    """
    if op is not None and op not in OPS:
        raise ShapeError(f"op is {op!r}; {', '.join(OPS)} is allowed")
    for spec in OPS.values():
        for kernel in spec.kernels[:1] if op is None else spec.kernels:
            if op in (None, spec.name):
                yield _proof(kernel)


def count(kernel: KernelSpec) -> Accesses:
    """Return the accesses of a kernel, from the counted build of the same source.

    Parameters
    ----------
    kernel : KernelSpec
        A row of the table.

    Returns
    -------
    Accesses
        An element, for 4 rows of 100,000 float32 columns (4,096 for the kernel that sorts).
    """
    x = _logits(kernel, COUNTED_SHAPE)
    *elements, fetched = cpu.native.count(_call(kernel, x))[1:]
    return Accesses._make([*(n / x.size for n in elements), fetched / x.nbytes])


def _proof(kernel: KernelSpec) -> Proof:
    told = subprocess.run(
        [sys.executable, "-m", __name__, kernel.op, kernel.algorithm],
        capture_output=True, text=True, timeout=_SECONDS, check=False,
    )  # fmt: skip
    if told.returncode:
        raise BackendUnavailableError(f"{kernel.name} failed in its process: {told.stderr[-500:]}")
    claim = {"reads": kernel.reads, "loads": kernel.loads, "stores": kernel.stores}
    measured = json.loads(told.stdout)
    return Proof(kernel.op, kernel.name, kernel.source, claim, count(kernel), **measured)


def as_record(proof: Proof) -> dict[str, Any]:
    """Return a proof as plain data.

    Parameters
    ----------
    proof : Proof
        What `prove` yields.

    Returns
    -------
    dict
        Its fields by name, ready for JSON.
    """
    return asdict(proof) | {"accesses": proof.accesses._asdict()}


def _logits(kernel: KernelSpec, shape: tuple[int, int]) -> Any:
    rows, vocab = shape
    if kernel.algorithm == "sort":
        rows, vocab = rows * vocab // _SHORT, _SHORT
    x = np.empty((rows, vocab), np.float32)
    x[...] = np.random.default_rng(0).normal(0, 4, vocab)
    return x


def _call(kernel: KernelSpec, x: Any, **options: Any) -> Callable[[], Any]:
    own: dict[str, dict[str, Any]] = {
        "top_k": {"k": _K}, "softmax_topk": {"k": _K}, "read": {"top_k": _K, "entropy": True},
    }  # fmt: skip
    options = {"kernel": kernel.algorithm, **own.get(kernel.op, {}), **options}
    return lambda: getattr(oneread, kernel.op)(x, **options)


# In a process of its own, whose memory is that of one kernel.


def measure(kernel: KernelSpec) -> dict[str, Any]:
    """Run a kernel once and return what this process needed for it, and what missed its caches.

    Parameters
    ----------
    kernel : KernelSpec
        A row of the table.

    Returns
    -------
    dict
        Fields of `Proof`.
    """
    _call(kernel, _logits(kernel, (64, 4096)))()  # libraries, threads and their stacks
    before = _resident("VmRSS")
    x = _logits(kernel, MEASURED_SHAPE)
    result = _call(kernel, x)()
    peak = _resident("VmHWM")
    made = result if isinstance(result, tuple) else (result,)
    arrays = x.nbytes + sum(a.nbytes for a in made if a is not None)
    told: dict[str, Any] = {"arrays_bytes": arrays, "peak_bytes": None, "memory": ""}
    if before is None or peak is None:
        told["memory"] = "the peak is read from Linux's /proc/self/status"
    else:
        told["peak_bytes"] = peak - before
    return told | _missed(_call(kernel, x, threads=1))


def _missed(call: Callable[[], Any]) -> dict[str, Any]:
    try:
        misses = hardware.cache_misses(call)
    except BackendUnavailableError as error:
        return {"miss_bytes": None, "hardware": str(error)}
    return {"miss_bytes": misses * hardware.LINE_BYTES, "hardware": ""}


def _resident(field: str) -> int | None:
    """Return a size of this process in bytes; None where the system does not tell."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            found = re.search(rf"{field}:\s+(\d+) kB", status.read())
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


if __name__ == "__main__":
    _op, _algorithm = sys.argv[1:]
    (_kernel,) = (k for k in OPS[_op].kernels if k.algorithm == _algorithm)
    sys.stdout.write(json.dumps(measure(_kernel)))
