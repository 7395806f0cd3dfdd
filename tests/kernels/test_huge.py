"""More than 2^31 columns, more than 2^31 elements between rows, more than 65,535 rows.

The arrays are larger than they cost: memory that is never written, files with holes, and rows that
share their memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import oneread
from oneread.spec import OPS
from oneread.testing import assert_close_to_truth, max_ulp_error, ulp

Array = NDArray[Any]
Everything = Callable[..., Any]

BEYOND_32_BITS = 2**31

each_op = pytest.mark.parametrize("op", OPS)

#: A row of 2^31 + 5 columns, five of them not 0: the first one, one on either side of 2^31, the
#: last one.
ROW = """
import json, math, re, time, numpy as np, oneread
def peak():
    status = open("/proc/self/status").read()
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", status)[1])
V = 2**31 + 5
x = np.zeros((1, V), np.float16)
special = {0: 5.0, 2**31 - 1: 7.0, 2**31: 9.0, 2**31 + 2: 8.0, 2**31 + 4: 10.0}
for column, logit in special.items():
    x[0, column] = logit
d = math.fsum([V - len(special), *map(math.exp, special.values())])
oneread.softmax(np.zeros((64, 4096), np.float32))
before = peak()
"""

READ_ROW = (
    ROW
    + """
select = [[2**31 + 4, 2**31, 2**31 + 2, 2**31 - 1, 0, 2**31 + 1, 1, 2**31 + 3]]
best = oneread.read(x, top_k=3, select=select, rank=True, argmax=True, threads=THREADS)
record = oneread.last_kernel()
print(json.dumps({
    "lse": float(best.lse[0]), "truth": math.log(d), "max": float(best.max[0]),
    "argmax": int(best.argmax[0]), "indices": best.indices[0].tolist(),
    "values": best.values[0].tolist(), "rank": best.rank[0].tolist(),
    "selected": best.selected[0].tolist(),
    "logits": [float(x[0, c]) for c in select[0]],
    "ran": [record.name, record.layout, record.spans], "grown": peak() - before,
}))
"""
)

OTHER_OPS = (
    ROW
    + """
lse = oneread.logsumexp(x)
top = oneread.top_k(x, 4)
x.shape = (V, 1)
prob = oneread.softmax_topk(x, 2, axis=0, return_lse=True)
print(json.dumps({
    "lse": [float(lse[0]), float(prob.lse[0])], "truth": math.log(d),
    "indices": [top.indices[0].tolist(), prob.indices[:, 0].tolist()],
    "values": top.values[0].tolist(), "probs": prob.values[:, 0].tolist(),
    "truths": [math.exp(10) / d, math.exp(9) / d], "grown": peak() - before,
}))
"""
)

#: A gradient of 2^20 makes those of zeros numbers of float16. It alone takes memory, 4 GiB.
GRADIENT_OF_ROW = (
    ROW
    + """
import torch, oneread.torch
leaf = torch.from_numpy(x).requires_grad_()
oneread.torch.logsumexp(leaf, dtype=torch.float32).backward(torch.full((1,), 2.0**20))
dx = leaf.grad[0]
near = sorted({c for s in special for c in range(max(0, s - 9), min(V, s + 9))})
print(json.dumps({
    "got": dx[near].tolist(), "want": [2**20 * math.exp(float(x[0, c])) / d for c in near],
    "others": dx[99::9973].unique().tolist(), "ran": oneread.last_kernel().name,
    "grown": peak() - before,
}))
"""
)


def test_row_of_more_than_2_to_the_31_columns_is_read(fresh: Callable[..., Any]) -> None:
    said = fresh(READ_ROW.replace("THREADS", "2"))
    assert max_ulp_error(np.float32(said["lse"]), said["truth"]) <= OPS["read"].max_ulp
    assert (said["max"], said["argmax"]) == (10.0, 2**31 + 4)
    assert said["indices"] == [2**31 + 4, 2**31, 2**31 + 2]
    assert said["values"] == [10.0, 9.0, 8.0]
    # Zeros come after the five, by column: 2^31 + 1 has 2^31 - 2 of them before it.
    assert said["rank"] == [0, 1, 2, 3, 4, 2**31 + 3, 5, 2**31 + 4]
    truth = np.subtract(said["logits"], said["truth"])
    assert max_ulp_error(np.float32(said["selected"]), truth) <= OPS["read"].max_ulp
    assert said["ran"] == ["lazy_read", "rows", 33]
    assert said["grown"] < 64 << 20


def test_other_ops_of_more_than_2_to_the_31_columns(fresh: Callable[..., Any]) -> None:
    said = fresh(OTHER_OPS)
    assert max_ulp_error(np.float32(said["lse"]), said["truth"]) <= OPS["logsumexp"].max_ulp
    assert said["indices"][0] == [2**31 + 4, 2**31, 2**31 + 2, 2**31 - 1]
    assert said["indices"][1] == [2**31 + 4, 2**31]
    assert said["values"] == [10.0, 9.0, 8.0, 7.0]
    error = max_ulp_error(np.float32(said["probs"]), np.array(said["truths"]))
    assert error <= OPS["softmax_topk"].max_ulp
    assert said["grown"] < 64 << 20


def test_gradient_of_more_than_2_to_the_31_columns(fresh: Callable[..., Any]) -> None:
    # pytorch/pytorch#103501
    pytest.importorskip("torch", reason="gradients are of PyTorch's tensors")
    if os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 6 << 30:
        pytest.skip("needs 6 GiB of memory")
    said = fresh(GRADIENT_OF_ROW)
    assert (np.abs(np.subtract(said["got"], said["want"])) <= ulp(said["want"], "float16")).all()
    assert len(said["others"]) == 1
    assert said["others"][0] == said["got"][1]
    assert said["ran"] == "logits_gradient"
    assert said["grown"] < 5 << 30


@pytest.fixture
def far_apart(tmp_path: Path) -> Callable[[str, str], Array]:
    """Return a function that makes three rows, or columns, more than 2^31 elements apart.

    They lie in a file that is a hole but for the numbers themselves.
    """
    step = BEYOND_32_BITS + 3

    def make(name: str, layout: str) -> Array:
        memory = np.memmap(tmp_path / name, np.float16, "w+", shape=(2 * step + 4096,))
        rows = np.ndarray((3, 1000), np.float16, memory, strides=(2 * step, 2))
        columns = np.ndarray((1000, 3), np.float16, memory, strides=(2, 2 * step))
        return rows if layout == "rows" else columns

    return make


@pytest.mark.parametrize("layout", ["rows", "staged"])
@each_op
def test_offsets_beyond_2_to_the_31_elements(
    op: str, layout: str, far_apart: Callable[[str, str], Array], everything: Everything
) -> None:
    x = far_apart("x", layout)
    x[...] = np.random.default_rng(0).normal(0, 4, x.shape)
    expected = everything(op, np.ascontiguousarray(x))
    out = {"out": far_apart("y", layout)} if OPS[op].row_output else {}
    got = everything(op, x, **out)
    assert oneread.last_kernel().layout == layout
    for one, other in zip(fields(got), fields(expected), strict=True):
        assert np.array_equal(one, other)


def fields(result: Any) -> list[Array]:
    return [f for f in (result if isinstance(result, tuple) else (result,)) if f is not None]


@each_op
def test_more_than_65_535_rows(op: str, everything: Everything) -> None:
    x = np.random.default_rng(0).normal(0, 4, (70_001, 11)).astype(np.float32)
    for rows, layout in ((x, "rows"), (np.asfortranarray(x), "staged")):
        got = everything(op, rows, threads=2)
        assert oneread.last_kernel().layout == layout
        options: dict[str, Any] = {}
        if op in ("top_k", "softmax_topk"):
            options = {"k": 7} | ({"return_lse": True} if op == "softmax_topk" else {})
        elif op == "read":
            options = {"top_k": 7, "select": np.tile([0, 5, 10], (len(x), 1)), "rank": True}
            options |= {"argmax": True, "entropy": True, "sum_p2": True}
        assert_close_to_truth(got, x, op, **options)


def test_more_than_2_to_the_31_rows_are_planned() -> None:
    x = np.broadcast_to(np.float32([1.0, 2.0]), (BEYOND_32_BITS + 1, 2))
    said = oneread.explain(x, "logsumexp")
    assert said.shape == x.shape
    assert said.read_bytes == 8 * len(x)


@pytest.mark.parametrize("op", ["top_k", "softmax_topk"])
def test_index_type_that_cannot_hold_the_last_column_is_refused(op: str) -> None:
    x = np.broadcast_to(np.float16(0), (1, BEYOND_32_BITS + 5))
    with pytest.raises(oneread.ShapeError, match=r"int32.*2147483647.*2147483652"):
        getattr(oneread, op)(x, 1, index_dtype="int32")
    just = x[:, :BEYOND_32_BITS]
    for wide, name in ((just, "int32"), (x, "uint32"), (x, np.int64)):
        assert oneread.explain(wide, op, k=1, index_dtype=name).op == op
    with pytest.raises(oneread.ShapeError, match="2147483647"):
        oneread.explain(x[:, : BEYOND_32_BITS + 1], op, k=1, index_dtype="int32")


def test_k_beyond_32_bits_is_compared_with_the_row() -> None:
    x = np.broadcast_to(np.float16(0), (1, BEYOND_32_BITS + 5))
    with pytest.raises(oneread.ShapeError, match=r"4294967297.*2147483653"):
        oneread.top_k(x, 2**32 + 1)


def test_lengths_beyond_32_bits_are_compared_with_the_row() -> None:
    x = np.broadcast_to(np.float16(0), (1, BEYOND_32_BITS + 5))
    with pytest.raises(oneread.ShapeError, match="2147483653"):
        oneread.logsumexp(x, lengths=[BEYOND_32_BITS + 6])
    assert oneread.logsumexp(x, lengths=[1])[0] == 0
