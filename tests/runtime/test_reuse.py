"""Memory of large results: lent again when the last array in it is gone, and never before."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import oneread
from oneread.runtime import cpu, reuse

MIB = 1 << 20
SHAPE = (8, 1 << 20)  # 32 MiB of float32


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    gc.collect()
    reuse.forget()
    yield
    reuse.forget()


@pytest.fixture
def x() -> Any:
    return np.random.default_rng(0).standard_normal(SHAPE, np.float32)


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def results(x: Any) -> dict[str, Any]:
    """Return calls that make a result as long as their input."""
    y = np.full_like(x, 0.5)
    return {
        "softmax": lambda: oneread.softmax(x),
        "log_softmax": lambda: oneread.log_softmax(x),
        "masked": lambda: oneread.softmax(x, lengths=np.full(len(x), 9)),
        "another type": lambda: oneread.softmax(x.astype(np.float16), dtype="float32"),
        "gradient": lambda: cpu_gradient(y, x),
    }


def cpu_gradient(y: Any, grad: Any) -> Any:
    from oneread.ops._gradient import softmax_backward

    return softmax_backward(y, grad, log=False)


@pytest.mark.parametrize("call", results(np.zeros((1, 1), np.float32)))
def test_memory_of_a_result_that_is_gone_is_that_of_the_next(call: str, x: Any) -> None:
    make = results(x)[call]
    first = make()
    place, bits = address(first), first.tobytes()
    second = make()
    assert address(second) != place
    del first
    third = make()
    assert address(third) == place
    assert third.tobytes() == bits == second.tobytes()


PARTS: dict[str, Callable[[Any], Any]] = {
    "a row": lambda y: y[0],
    "columns backward": lambda y: y[:, ::-3],
    "transposed": lambda y: y.T,
    "flat": lambda y: y.reshape(-1),
    "other numbers": lambda y: y.view(np.int32)[1:],
    "a memoryview": lambda y: np.asarray(memoryview(y)),
}


@pytest.mark.parametrize("part", PARTS)
def test_memory_is_not_lent_while_a_part_of_it_is_held(part: str, x: Any) -> None:
    y = oneread.softmax(x)
    held = PARTS[part](y)
    before, place = held.copy(), address(y)
    del y
    assert address(oneread.softmax(-x)) != place
    assert (held == before).all()
    del held
    assert address(oneread.softmax(x)) == place


def test_tensors_hold_the_memory_of_their_results(x: Any) -> None:
    torch = pytest.importorskip("torch")
    t = torch.from_numpy(x).requires_grad_()
    y = oneread.softmax(t)
    place = y.data_ptr()
    row, expected = y.detach()[3], y.detach()[3].clone()
    y.sum().backward()
    del y
    other = oneread.softmax(-t.detach())
    assert other.data_ptr() != place
    assert torch.equal(row, expected)
    grad = t.grad.data_ptr()
    del row, other
    t.grad = None
    kept = {oneread.softmax(t.detach()).data_ptr() for _ in range(2)}
    assert kept <= {place, grad} or cpu.native.kept_bytes() >= x.nbytes


def test_results_that_live_together_share_no_memory() -> None:
    order = random.Random(3)
    columns = [(1 << 22) + (order.randrange(3) << 20) for _ in range(40)]
    held: dict[int, Any] = {}
    for n in columns:
        y = oneread.softmax(np.zeros((2, n), np.float32))
        for other in held.values():
            assert not np.may_share_memory(y, other)
        held[id(y)] = y
        if len(held) > 4:
            held.pop(order.choice(list(held)))
        del y


def test_small_results_have_memory_of_their_own() -> None:
    y = oneread.softmax(np.zeros((8, 1000), np.float32))
    assert y.base is None
    assert y.flags.owndata
    del y
    assert cpu.native.kept_bytes() == 0


def test_results_are_writable_and_lie_as_the_input(x: Any) -> None:
    turned = x.reshape(8, 1024, 1024).transpose(2, 0, 1)
    for _ in range(2):
        y = oneread.softmax(turned)
        assert y.strides == turned.strides
        assert y.flags.writeable
        assert type(y) is np.ndarray
        assert y.tobytes() == oneread.softmax(np.ascontiguousarray(turned)).tobytes()


def test_what_is_kept_stays_within_the_limit(x: Any) -> None:
    before = cpu.native.keep_at_most(80 * MIB)
    try:
        held = [oneread.softmax(x) for _ in range(4)]
        assert cpu.native.kept_bytes() == 0
        held.clear()
        assert cpu.native.kept_bytes() == 64 * MIB
    finally:
        cpu.native.keep_at_most(before)


def test_tracemalloc_counts_results_as_it_counts_other_arrays(x: Any) -> None:
    for _ in range(2):  # new memory, and the same again
        tracemalloc.start()
        y = oneread.softmax(x)
        held, _ = tracemalloc.get_traced_memory()
        del y
        gone, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert x.nbytes <= held - gone < x.nbytes + MIB


def test_explanation_knows_whose_memory_the_result_gets() -> None:
    x = np.zeros((700, 25_000), np.float32)
    for stores in ("regular", "streaming"):
        plan = oneread.explain(x, "softmax")
        oneread.softmax(x)
        assert plan.stores == oneread.last_kernel().stores == stores
    assert "is memory of an earlier result" in str(oneread.explain(x, "softmax"))


def test_threads_that_make_and_drop_results_get_their_own(x: Any) -> None:
    expected = {i: oneread.softmax(x * i).tobytes() for i in range(1, 4)}
    wrong: list[int] = []

    def work(i: int) -> None:
        mine = x * i
        for _ in range(12):
            y = oneread.softmax(mine, threads=1)
            if y.tobytes() != expected[i]:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


SCRIPT = """
import numpy as np, oneread
from oneread.runtime import cpu
x = np.zeros((8, 1 << 20), "f4")
y = oneread.softmax(x)
own = bool(y.flags.owndata)
del y
print(own, cpu.native.kept_bytes() >> 20)
"""


def said(keep: str) -> str:
    """Return what a process says of a result and of what is kept after it."""
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"ONEREAD_KEEP_MB": keep}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return (ran.stdout or ran.stderr.splitlines()[-1]).strip()


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        ("", "False 32"),
        ("32", "False 32"),
        ("31", "False 0"),
        ("0", "True 0"),
        ("9" * 5000, "False 32"),
    ],
    ids=["unset", "as much", "less", "nothing", "without end"],
)
def test_environment_says_how_much_is_kept(keep: str, expected: str) -> None:
    assert said(keep) == expected


@pytest.mark.parametrize("keep", ["-1", "1.5", "much", "٣"])
def test_limit_that_is_no_number_is_refused(keep: str) -> None:
    assert said(keep).endswith(
        f"ONEREAD_KEEP_MB is {keep!r}; a whole number of MiB, 0 or more, is allowed"
    )


HELD = """
import atexit, builtins, threading, time, numpy as np, oneread
made = lambda: oneread.softmax(np.zeros((8, 1 << 20), "f4"))
builtins.held = made()
atexit.register(lambda y: None, made())
threading.Thread(target=lambda y: time.sleep(60), args=(made(),), daemon=True).start()
"""


def test_results_may_be_held_to_the_end_of_the_process() -> None:
    ran = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_memory_that_cannot_be_had_is_numpys_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(n_bytes: int) -> Any:
        raise MemoryError

    monkeypatch.setattr(cpu.native, "LentMemory", none)
    y = oneread.softmax(np.zeros(SHAPE, np.float32))
    assert y.flags.owndata
