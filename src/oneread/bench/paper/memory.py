"""Peak memory against tokens: log-probability of a token and entropy of each row, in several ways.

Knows the ways, and of ours only how it is called. Run as a module it measures one way in a process
of its own, on one device, and hands a line for each number of tokens to its parent. Memory that
runs out is an answer, not an error.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

import oneread

Fact = dict[str, Any]

#: A vocabulary of today's language models.
VOCAB: Final = 128256
#: The ways, by device. NumPy's is there where PyTorch is not.
WAYS: Final = {"cpu": ("torch", "numpy", "oneread"), "gpu": ("torch", "oneread")}
#: What a process may take on a CPU, so that nobody's machine is driven out of memory.
LIMITS: Final = {True: 1 << 29, False: 4 << 30}
_FIRST_TOKENS: Final = {"cpu": 64, "gpu": 4096}
_MOST_TOKENS: Final = 1 << 22
_SECONDS: Final = 300


def measured(device: str, way: str, quick: bool) -> Fact:
    """Measure one way in a process of its own.

    Parameters
    ----------
    device : str
        ``cpu`` or ``gpu``.
    way : str
        One of `WAYS`.
    quick : bool
        Whether the limit on a CPU is the small one.

    Returns
    -------
    dict
        `points` have tokens and peak bytes, the logits among them; None where memory ran out.
        Without points, `reason` says why.
    """
    words = [sys.executable, "-m", __name__, device, way, str(int(quick))]
    told = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
    fact: Fact = {"device": device, "way": way, "vocab": VOCAB, "limit_bytes": None, "points": []}
    for line in told.stdout.splitlines():
        found = json.loads(line)
        if isinstance(found, list):
            fact["points"].append(found)
        else:
            fact |= found
    if told.returncode and not fact["points"]:
        last = told.stderr.strip().splitlines()[-1:] or ["it ended without a word"]
        fact["reason"] = last[0][:200]
    return fact


# In a process of its own, whose memory is that of one way.


def _torch(torch: Any, x: Any, column: Any) -> Any:
    """Return both as people write it: in float32, as losses are computed."""
    logp = x.float().log_softmax(-1)
    chosen = logp.gather(-1, column[:, None])[:, 0]
    return chosen, -(logp.exp() * logp).sum(-1)


def _numpy(x: Any, column: Any) -> Any:
    logp = x - x.max(axis=-1, keepdims=True)
    logp -= np.log(np.exp(logp).sum(axis=-1, keepdims=True))
    chosen = np.take_along_axis(logp, column[:, None], axis=-1)[:, 0]
    return chosen, -(np.exp(logp) * logp).sum(axis=-1)


def _ours(x: Any, column: Any) -> Any:
    read = oneread.read(x, select=column, entropy=True)
    return read.selected, read.entropy


def _tokens(device: str) -> Iterator[int]:
    tokens = _FIRST_TOKENS[device]
    while tokens <= _MOST_TOKENS:
        yield tokens
        tokens *= 2


def _tell(line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _on_cpu(way: str, limit: int) -> None:
    """Measure by what Linux says of this process, which may take so much and no more."""
    make, call = _cpu_way(way)
    call(*make(2))  # libraries, threads and their stacks
    before = _status("VmRSS")
    _restrict(limit)
    _tell({"dtype": "float32", "limit_bytes": limit, "limit": "a limit on the process"})
    for tokens in _tokens("cpu"):
        try:
            call(*make(tokens))
        except (MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and "memory" not in str(error):
                raise
            _tell([tokens, None])
            return
        # Tokens go up, so the highest so far is that of this call.
        _tell([tokens, _status("VmHWM") - before])


def _cpu_way(way: str) -> tuple[Callable[[int], Any], Callable[..., Any]]:
    def make(tokens: int) -> Any:
        x = np.empty((tokens, VOCAB), np.float32)
        x[...] = np.random.default_rng(0).normal(0, 4, VOCAB)
        return x, np.arange(tokens)

    if way == "torch":
        import torch

        return make, lambda x, c: _torch(torch, torch.from_numpy(x), torch.from_numpy(c))
    return make, _ours if way == "oneread" else _numpy


def _restrict(limit: int) -> None:
    import resource

    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (_status("VmData") + limit, most))


def _status(field: str) -> int:
    with open("/proc/self/status", encoding="ascii") as status:
        found = re.search(rf"{field}:\s+(\d+) kB", status.read())
    assert found is not None
    return int(found[1]) * 1024


def _on_gpu(way: str) -> None:
    """Measure by what PyTorch's allocator has handed out; both ways get their memory from it."""
    import torch

    def call(x: Any, column: Any) -> Any:
        return _ours(x, column) if way == "oneread" else _torch(torch, x, column)

    total = torch.cuda.get_device_properties(0).total_memory
    _tell({"dtype": "bfloat16", "limit_bytes": total, "limit": "the memory of the GPU"})
    for tokens in _tokens("gpu"):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        try:
            x = torch.empty(tokens, VOCAB, dtype=torch.bfloat16, device="cuda").normal_(0, 4)
            column = torch.arange(tokens, device="cuda") % VOCAB
            call(x, column)
            torch.cuda.synchronize()
        except torch.cuda.OutOfMemoryError:
            _tell([tokens, None])
            return
        _tell([tokens, torch.cuda.max_memory_allocated()])
        del x, column


if __name__ == "__main__":
    _device, _way, _quick = sys.argv[1:]
    if _device == "gpu":
        _on_gpu(_way)
    else:
        _on_cpu(_way, LIMITS[bool(int(_quick))])
