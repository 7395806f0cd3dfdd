"""Memory that an op must not touch, made so that touching it ends the process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from oneread.spec import FLOAT_DTYPES, OPS

#: Rows of two pages of memory, of which the second cannot be read.
CODE = """
import ctypes, json, mmap
import ml_dtypes, numpy as np, oneread

page = mmap.PAGESIZE
memory = mmap.mmap(-1, 2 * page)
x = np.frombuffer(memory, np.dtype({dtype!r})).reshape(1, -1)
vocab = x.size // 2
x[0, :vocab] = np.arange(vocab) % 97
start = x.ctypes.data + page
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start), ctypes.c_size_t(page), 0) == 0

options = {{"k": 3}} if {op!r} in ("top_k", "softmax_topk") else {{}}
op = getattr(oneread, {op!r})
equal = []
for step in (1, 2):
    for cut in (0, 1, 5, 16, 33):
        length = vocab // step - cut
        row = x[:, ::step]
        got = op(row, lengths=np.array([length]), **options)
        alone = op(row[:, :length].copy(), **options)
        pairs = zip(got, alone) if isinstance(got, tuple) else [(got, alone)]
        pairs = [(a, b) for a, b in pairs if a is not None]
        equal += [np.array_equal(a[..., :length] if a.ndim > 1 else a, b) for a, b in pairs]
print(json.dumps(all(equal)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="protects pages in Linux's way")
@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("op", OPS)
def test_columns_beyond_lengths_are_never_read(
    op: str, dtype: str, fresh: Callable[..., Any]
) -> None:
    assert fresh(CODE.format(op=op, dtype=dtype)) is True
