"""What the paper says that needs no clock, found out: counts, bounds, range and accuracy.

Each function returns one fact as plain values, ready for JSON; the same on every machine but for
what it says of the ops. Facts are found out on the CPU.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import oneread
from oneread import reference
from oneread.bench.prove import count
from oneread.reference import paper
from oneread.spec import OPS, KernelSpec
from oneread.testing import FAMILIES, max_ulp_error

Fact = dict[str, Any]

#: The most terms that the paper says a sum in 32 bits holds.
MOST_TERMS: Final = 1.7e37
#: From here on 1 is half of what float32 tells apart, and a plain sum stands still.
STALL: Final = 1 << 24

_BOUND_ROWS, _BOUND_VOCAB = 12, 200
_ACCURATE_SHAPE: Final = (16, 25000)


def facts() -> dict[str, Callable[[], Fact]]:
    """Return what finds out each fact, by its key."""
    counted = {
        f"accesses/{kernel.op}/{kernel.algorithm}": partial(accesses, kernel)
        for op in ("softmax", "softmax_topk")
        for kernel in OPS[op].kernels
    }
    return {
        **counted,
        "operations": operations,
        "bounds": bounds,
        "range": storage,
        "stall": stall,
        "accuracy": accuracy,
    }


def accesses(kernel: KernelSpec) -> Fact:
    """Count the loads and stores an element of a kernel, in the build that counts them."""
    found = count(kernel)
    loads = found.x_loads + found.y_loads + found.scratch_loads
    stores = found.x_stores + found.y_stores + found.scratch_stores
    return {"op": kernel.op, "algorithm": kernel.algorithm, "loads": loads, "stores": stores}


def operations() -> Fact:
    """Count the operations an element in the lines of Algorithms 2 and 3."""
    return {
        "safe": dict(_counted(paper.safe)),
        "online": dict(_counted(paper.online)),
    }


#: What operators and functions of the algorithms are called.
_OPERATIONS: Final = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply",
    "max": "maximum", "_exp": "exponential", "_over": "divide",
}  # fmt: skip


def _counted(algorithm: Callable[..., Any]) -> Counter[str]:
    """Count the operations inside the loops over the row, each of which runs once an element."""
    found: Counter[str] = Counter()
    tree = ast.parse(inspect.getsource(algorithm))
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.ListComp)]
    for node in (inner for loop in loops for inner in ast.walk(loop)):
        if isinstance(node, ast.BinOp | ast.AugAssign):
            found[_OPERATIONS[type(node.op)]] += 1
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found[_OPERATIONS[node.func.id]] += 1
    return found


def bounds() -> Fact:
    """Look at d_j after each element of rows of all kinds: whether 1 <= d_j <= j."""
    steps = outside = 0
    largest = 0.0
    for row in _finite_rows():
        for j, (_, d) in enumerate(paper.normalizers(row), 1):
            steps += 1
            outside += not 1 <= d <= j
            largest = max(largest, d / j)
    return {"steps": steps, "outside": outside, "largest_share_of_j": largest}


def _finite_rows() -> Iterator[list[float]]:
    """Yield rows of each family that begin with a number: before one, d has no bound."""
    for family in FAMILIES.values():
        for row in family(_BOUND_ROWS, _BOUND_VOCAB).astype(np.float64):
            if row.size and np.isfinite(row[0]) and not (np.isnan(row) | (row == np.inf)).any():
                yield row.tolist()


def storage() -> Fact:
    """Merge sums in float32 until one stands for more terms than the paper names."""
    d, terms = np.float32(1), 1
    while terms < MOST_TERMS:
        d, terms = np.float32(d + d), 2 * terms  # equal maxima: equation 4 adds the sums
    return {"terms": float(terms), "d": float(d), "finite": bool(np.isfinite(d))}


def stall() -> Fact:
    """Sum equal logits one by one in float32, past the number at which such a sum stands still."""
    vocab = STALL + 4096
    plain = np.add.accumulate(np.ones(vocab, np.float32))[-1]
    ours = np.exp(np.float64(oneread.logsumexp(np.zeros(vocab, np.float32))))
    return {"terms": vocab, "plain": float(plain), "ours": float(ours)}


def accuracy() -> Fact:
    """Compare naive and online softmax with float64, near 0 and where exp(x) overflows."""
    x = np.random.default_rng(0).normal(0, 4, _ACCURATE_SHAPE).astype(np.float32)
    found: Fact = {}
    for algorithm in ("naive", "online"):
        y = oneread.softmax(x, kernel=algorithm)
        far = oneread.softmax(x + np.float32(100), kernel=algorithm)
        found[algorithm] = {
            "max_ulp": _ulp(y, x),
            "rows_lost": int((~np.isfinite(far)).any(axis=-1).sum()),
        }
    return {"rows": x.shape[0], "offset": 100, **found}


def _ulp(y: NDArray[Any], x: NDArray[Any]) -> float:
    truth = np.asarray(reference.softmax(x))
    normal = truth >= np.finfo(np.float32).tiny
    return max_ulp_error(y[normal], truth[normal])
