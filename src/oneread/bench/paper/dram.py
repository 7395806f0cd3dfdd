"""Bytes that the memory itself moved for an op, by hardware counters: never an assumed value.

Knows the ops by name. Run as a module it is the program that ncu looks at.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

import oneread
from oneread.bench import hardware
from oneread.bench.gallery import nvidia
from oneread.spec import OPS, BackendUnavailableError

Fact = dict[str, Any]

#: Ops with their arguments. The last one writes as much as it reads.
CALLS: Final[dict[str, dict[str, Any]]] = {
    "logsumexp": {},
    "read": {"entropy": True},
    "softmax_topk": {"k": 5},
    "softmax": {},
}
#: At least 1 GiB in each type: no cache holds a part of it that counts.
SHAPES: Final = {"float32": (4096, 128256), "bfloat16": (8192, 128256)}
_CPU_SHAPE: Final = (2048, 131072)
#: Between two ops, so that what ncu says can be told apart.
_MARKER: Final = "copy"
_SECONDS: Final = 120.0
_METRICS: Final = ("dram__bytes_read.sum", "dram__bytes_write.sum")


def measured(device: str) -> Fact:
    """Return the bytes of each op, or why they cannot be had here."""
    if device == "gpu":
        return _of_gpu()
    try:
        hardware.cache_misses(lambda: None)
    except BackendUnavailableError as error:
        return _not_supported(device, str(error))
    return _supported(device, "misses of the last cache, 64 bytes each", list(_of_cpu()))


def _of_cpu() -> Iterator[Fact]:
    x = np.empty(_CPU_SHAPE, np.float32)
    x[...] = np.random.default_rng(0).normal(0, 4, x.shape[1])
    for op, options in CALLS.items():
        given = {"out": np.empty_like(x)} if OPS[op].row_output else {}
        call = partial(getattr(oneread, op), threads=1, **options)
        call(x[:8])  # loads the native module
        misses = hardware.cache_misses(partial(call, x, **given))
        read = misses * hardware.LINE_BYTES
        yield {"op": op, "dtype": "float32", "input_bytes": x.nbytes, "read_bytes": read}


def _of_gpu() -> Fact:
    path = nvidia.find("ncu")
    if path is None:
        return _not_supported("gpu", "ncu, NVIDIA's profiler, is not there")
    options = ["--metrics", ",".join(_METRICS), "--profile-from-start", "off", "--csv"]
    options += ["--page", "raw", "--print-units", "base", "--cache-control", "all"]
    command = [path, *options, sys.executable, "-m", __name__]
    ran, text = nvidia.run(command, _SECONDS)
    try:
        found = parsed(text)
    except ValueError as error:
        said = [line for line in text.splitlines() if "ERR" in line or "==ERROR" in line]
        return _not_supported("gpu", said[-1] if said and not ran else str(error))
    return _supported("gpu", "dram__bytes_read.sum and dram__bytes_write.sum of ncu", found)


def parsed(text: str) -> list[Fact]:
    """Return the bytes of each op from what ncu and its program said.

    Raises
    ------
    ValueError
        When the launches cannot be told apart, or a counter has no number.
    """
    said = (line for line in text.splitlines() if line.startswith('{"op"'))
    calls = [json.loads(line) for line in said]
    groups = _groups(nvidia.counts(text))
    if not calls or len(groups) != len(calls):
        raise ValueError(f"{len(calls)} ops ran, ncu counted {len(groups)}")
    return [call | _summed(group) for call, group in zip(calls, groups, strict=True)]


def _groups(records: Sequence[Fact]) -> list[list[Fact]]:
    """Return the launches after each marker."""
    groups: list[list[Fact]] = []
    for record in records:
        if record["kernel"] == _MARKER:
            groups.append([])
        elif groups:
            groups[-1].append(record)
    return groups


def _summed(records: Sequence[Fact]) -> Fact:
    sums = {}
    for ours, theirs in (("read_bytes", "dram_read_bytes"), ("write_bytes", "dram_write_bytes")):
        values = [record[theirs] for record in records]
        if not values or None in values:
            raise ValueError(f"ncu gave no {theirs}")
        sums[ours] = sum(values)
    return {**sums, "kernels": [record["kernel"] for record in records]}


def _supported(device: str, how: str, found: list[Fact]) -> Fact:
    return {"device": device, "status": "ok", "reason": None, "how": how, "ops": found}


def _not_supported(device: str, reason: str) -> Fact:
    return {
        "device": device, "status": "not supported", "reason": reason[:200], "how": None, "ops": [],
    }  # fmt: skip


# The program that ncu looks at.


def _profiled() -> None:
    import torch

    from oneread.bench.gpu import launching, traffic

    defines = {"THREADS": 256, "VECTORS": 4}
    text = traffic.SOURCE.read_text("utf-8")
    mark = launching.loaded(traffic.SOURCE.name, text, _MARKER, defines, 0)
    small = torch.zeros(64, device="cuda")
    address = ctypes.c_void_p(small.data_ptr())
    for dtype, shape in SHAPES.items():
        x = torch.empty(shape, dtype=getattr(torch, dtype), device="cuda").normal_(0, 4)
        for op, options in CALLS.items():
            call = getattr(oneread, op)
            given = {"out": torch.empty_like(x)} if OPS[op].row_output else {}
            call(x, **options, **given)  # compiles and loads
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStart()
            stream = int(torch.cuda.current_stream().cuda_stream)
            mark(1, 256, 0, stream, (address, address, ctypes.c_longlong(1)))
            call(x, **options, **given)
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStop()
            line = {"op": op, "dtype": dtype, "input_bytes": x.nbytes}
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()
            del given
        del x


if __name__ == "__main__":
    _profiled()
