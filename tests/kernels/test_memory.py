"""Memory: an op needs its outputs, 1 MiB of scratch a thread, and nothing that grows with x.

Measured as the peak resident size of a process of its own, beyond that of the arrays it was given.
Not by `ru_maxrss`, which a child inherits from the process that started it.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneread
from oneread.spec import OPS

MIB = 1 << 20
SCRATCH_BYTES = MIB
#: What the interpreter and the allocator may add meanwhile; huge pages come in 2 MiB.
SLACK_BYTES = 8 * MIB
#: What Python may allocate for one call, beside outputs.
PYTHON_BYTES = 64 << 10
THREADS = 2
MANY_THREADS = 64

linux = pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from Linux's /proc")

#: Runs calls one after the other, those with small outputs first, since a peak never falls. All ops
#: run on little data before: the libraries, the threads and their stacks are there then.
MEASURE = """
import json, re, numpy as np, oneread
def peak():
    status = open("/proc/self/status").read()
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", status)[1])
def filled(shape, dtype):
    row = (np.arange(shape[-1]) * 7919 % 1021 / 8).astype(dtype)
    x = np.empty(shape, dtype)
    x[...] = row
    return x
def touched(x):
    x[...] = 0
    return x
oneread.set_threads({threads})
oneread.read(np.ones((64, 4096), "f4"), top_k=5, entropy=True)
oneread.softmax(np.ones((64, 4096), "f4"))
{setup}
given = {{id(a) for a in (x, y)}}
before, report = peak(), []
for call in {calls!r}:
    result = eval(call)
    made = result if isinstance(result, tuple) else (result,)
    made = sum(a.nbytes for a in made if a is not None and id(a) not in given)
    record = oneread.last_kernel()
    report.append([call, peak() - before, made, record.layout, record.threads])
    del result
print(json.dumps(report))
"""

C_ORDER = "x = filled((200, 250_000), 'f4'); y = touched(np.empty(x.shape, 'f4'))"
F_ORDER = "x = filled((200, 250_000), 'f4').T; y = touched(np.empty(x.shape[::-1], 'f4').T)"
INT8 = "x = filled((50, 1_000_000), 'i1'); y = touched(np.empty(x.shape, 'f4'))"
INT64 = "x = filled((100, 250_000), 'i8'); y = touched(np.empty(x.shape, 'f8'))"
FLOAT16 = "x = filled((50, 1_000_000), 'f2'); y = touched(np.empty(x.shape, 'f4'))"
MANY_ROWS = "x = filled((500_000, 100), 'f4'); y = x"
MANY_COLUMNS = "x = filled((100, 500_000), 'f4').T; y = x"

SMALL = (
    "oneread.logsumexp(x{0})",
    "oneread.top_k(x, 5{0})",
    "oneread.softmax_topk(x, 5{0}, return_lse=True)",
    "oneread.read(x{0}, top_k=5, select=3, rank=True, entropy=True, sum_p2=True, argmax=True)",
)


def check(fresh: Callable[..., Any], setup: str, calls: dict[str, str]) -> None:
    """Fail unless each call keeps to its outputs and scratch, and runs with the layout named."""
    code = MEASURE.format(setup=setup, calls=list(calls), threads=THREADS)
    # Without this the allocator keeps freed arrays of up to 32 MiB, and the next ones come on top.
    said = fresh(code, MALLOC_MMAP_THRESHOLD_=str(MIB // 8))
    most = 0
    for call, grown, outputs, layout, threads in said:
        most = max(most, outputs)
        assert grown <= most + THREADS * SCRATCH_BYTES + SLACK_BYTES, call
        assert (layout, threads) == (calls[call], THREADS), call
    assert len(said) == len(calls)


def small(layout: str, *options: str) -> dict[str, str]:
    return {call.format(option): layout for option in options for call in SMALL}


@linux
def test_contiguous_rows_need_no_memory_beyond_the_outputs(fresh: Callable[..., Any]) -> None:
    rows = {
        "oneread.softmax(x, out=y)": "rows",
        "oneread.log_softmax(x, out=y)": "rows",
        "oneread.softmax(x, out=y, temperature=0.5)": "rows",
        "oneread.softmax(x, out=y, lengths=np.arange(200) * 1200)": "rows",
        "oneread.softmax(x, axis=None, out=y)": "rows",
        "oneread.top_k(x, 3000, kernel='radix')": "rows",
        "oneread.softmax(x, axis=0, out=y)": "staged",
        "oneread.log_softmax(x, axis=0, out=y)": "staged",
        "oneread.softmax(x, out=x)": "rows",
        "oneread.softmax(x, axis=0, out=x)": "staged",
    }
    check(fresh, C_ORDER, small("rows", "", ", lengths=np.arange(200) * 1200") | rows)


@linux
def test_where_is_not_materialised(fresh: Callable[..., Any]) -> None:
    masks = ", where=np.arange(250_000) % 3 > 0", ", where=np.ones((200, 1), '?')"
    rows = {f"oneread.{op}(x, out=y{masks[0]})": "staged" for op in ("softmax", "log_softmax")}
    rows[f"oneread.softmax(x, out=y{masks[1]})"] = "staged"
    check(fresh, C_ORDER, small("staged", masks[0]) | rows)


@linux
def test_transposed_rows_are_not_copied(fresh: Callable[..., Any]) -> None:
    rows = {
        "oneread.softmax(x, out=y)": "staged",
        "oneread.log_softmax(x, out=y)": "staged",
        "oneread.softmax(x, axis=0, out=y)": "rows",
        "oneread.softmax(x, out=x)": "staged",
    }
    check(fresh, F_ORDER, small("staged", "") | rows)


@linux
@pytest.mark.parametrize(
    ("setup", "dtype", "layout"),
    [(INT8, "'f4'", "staged"), (INT64, "'f8'", "staged"), (FLOAT16, "'f4'", "rows")],
    ids=["int8", "int64", "float16 to float32"],
)
def test_input_is_not_converted_as_a_whole(
    setup: str, dtype: str, layout: str, fresh: Callable[..., Any]
) -> None:
    rows = {f"oneread.{op}(x, out=y, dtype={dtype})": "staged" for op in ("softmax", "log_softmax")}
    check(fresh, setup, small(layout, "") | rows)


@linux
@pytest.mark.parametrize(
    ("setup", "layout"), [(MANY_ROWS, "rows"), (MANY_COLUMNS, "staged")], ids=["x", "x.T"]
)
def test_many_rows_need_nothing_beyond_their_outputs(
    setup: str, layout: str, fresh: Callable[..., Any]
) -> None:
    check(fresh, setup, small(layout, "") | {"oneread.softmax(x)": layout})


#: The peak of the address space shows scratch to the byte, in use or not. Rows that share their
#: memory take none.
SCRATCH = """
import json, re, numpy as np, oneread
def size():
    return 1024 * int(re.search(r"VmPeak:\\s+(\\d+)", open("/proc/self/status").read())[1])
def repeated(rows, vocab):
    row = (np.arange(vocab) * 7919 % 1021 / 8).astype({dtype!r})
    return np.broadcast_to(row, (rows, vocab))
oneread.set_threads({threads})
x, short = repeated({rows}, 1_100_003), repeated({rows}, 40_000)
y, select = np.ones(short.shape, short.dtype), np.full(({rows}, 1), 3)
oneread.logsumexp(y)
before, report = size(), []
for call in {calls!r}:
    eval(call)
    report.append([call, size() - before, oneread.last_kernel().threads])
print(json.dumps(report))
"""


@linux
@pytest.mark.parametrize("rows", [2 * MANY_THREADS, 2 * MANY_THREADS - 1], ids=["rows", "spans"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_scratch_is_at_most_1_mib_a_thread(
    dtype: str, rows: int, fresh: Callable[..., Any]
) -> None:
    calls = [
        "oneread.softmax(short, out=y)",
        "oneread.softmax(short[:, ::-1], out=y)",
        "oneread.log_softmax(short[:, ::-1], out=y)",
        "oneread.logsumexp(x)",
        "oneread.read(x, top_k=2000, select=select, rank=True, entropy=True, argmax=True)",
        "oneread.read(x[:, ::2], top_k=2000, select=select, rank=True, entropy=True)",
    ]
    said = fresh(SCRATCH.format(dtype=dtype, rows=rows, threads=MANY_THREADS, calls=calls))
    outputs = 3 * rows * 2000 * 8 + MIB
    for call, grown, threads in said:
        assert threads == MANY_THREADS
        assert grown <= MANY_THREADS * SCRATCH_BYTES + outputs, call
    # The measure sees scratch at all: the maxima of a row of 1,100,003 are 256 KiB a thread.
    assert said[-1][1] >= MANY_THREADS * MIB // 4


def traced(call: Callable[[], Any]) -> int:
    """Return how many bytes Python and NumPy allocate at most during a call."""
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"where": np.arange(20_000) % 3 > 0},
        {"where": np.arange(20)[:, None] % 2 == 0},
        {"lengths": 9_000},
        {"temperature": 0.5},
        {"axis": 0},
    ],
    ids=["", "mask of a row", "mask of a column", "lengths", "temperature", "axis"],
)
@pytest.mark.parametrize("kind", ["x", "x.T", "int8", "float16", "foreign"])
def test_python_allocates_the_outputs_only(kind: str, options: dict[str, Any], op: str) -> None:
    x = np.random.default_rng(0).normal(0, 4, (20, 20_000)).astype(np.float32)
    x = {
        "x": x, "x.T": np.asfortranarray(x), "int8": x.astype(np.int8),
        "float16": x.astype(np.float16), "foreign": x.astype(">f4"),
    }[kind]  # fmt: skip
    if op not in ("softmax", "log_softmax", "logsumexp"):
        options = {**options} | ({"k": 5} if "top_k" in op or "topk" in op else {"top_k": 5})
    run = getattr(oneread, op)
    result = run(x, **options)
    fields = [f for f in (result if isinstance(result, tuple) else (result,)) if f is not None]
    own = sum(field.nbytes for field in fields)
    assert traced(lambda: run(x, **options)) <= own + PYTHON_BYTES
    again = 0 if OPS[op].row_output else own
    assert traced(lambda: run(x, **options, out=result)) <= again + PYTHON_BYTES
