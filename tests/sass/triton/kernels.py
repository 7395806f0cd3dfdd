"""Two kernels in Triton, and how `cache` beside this file was made of them, without a GPU.

``python kernels.py`` with Triton (3.9.0 was used) compiles them for sm_86 and keeps of each what
is told here: machine code, metadata, and the first form. Paths of the machine are left out.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = Path(__file__).resolve().parent
KEPT = (".cubin", ".json", ".ttir")


@triton.jit
def softmax_row(y, x, vocab, BLOCK: tl.constexpr):  # noqa: N803
    """Softmax of a row that fits in the registers of a block."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < vocab
    v = tl.load(x + row * vocab + columns, mask=inside, other=-float("inf"))
    power = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * vocab + columns, power / tl.sum(power, axis=0), mask=inside)


@triton.jit
def online_logsumexp(y, x, vocab, BLOCK: tl.constexpr):  # noqa: N803
    """Logarithm of a row's sum of exponentials: maximum and sum online, a lane for itself."""
    row = tl.program_id(0)
    m = tl.full((BLOCK,), -1e30, tl.float32)
    d = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, vocab, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        v = tl.load(x + row * vocab + columns, mask=columns < vocab, other=-float("inf"))
        m_new = tl.maximum(m, v)
        d = d * tl.exp(m - m_new) + tl.exp(v - m_new)
        m = m_new
    m_row = tl.max(m, axis=0)
    tl.store(y + row, m_row + tl.log(tl.sum(d * tl.exp(m - m_row), axis=0)))


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    triton.knobs.cache.dir = str(folder)
    types = {"y": "*fp32", "x": "*fp32", "vocab": "i32", "BLOCK": "constexpr"}
    for kernel in (softmax_row, online_logsumexp):
        source = ASTSource(kernel, signature=types, constexprs={"BLOCK": 1024})
        triton.compile(source, target=GPUTarget("cuda", 86, 32), options={"num_warps": 4})
    shutil.rmtree(HERE / "cache", ignore_errors=True)
    for path in folder.rglob("*"):
        if path.suffix in KEPT and not path.name.startswith("__grp__"):
            target = HERE / "cache" / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".json":
                table = json.loads(path.read_text())
                del table["extern_libs"]
                target.write_text(json.dumps(table, indent=1) + "\n")
            else:
                shutil.copy(path, target)
    shutil.rmtree(folder)
