"""The native module: which code it runs and with how many threads."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import oneread
from oneread import BackendUnavailableError, DtypeError, KernelRecord, ShapeError
from oneread.runtime import cpu

KNOWN_ISAS = ("x86-64-v4", "x86-64-v3", "x86-64-v2", "aarch64", "scalar")


def run(code: str, **variables: str) -> str:
    """Return what a fresh interpreter prints, errors of ours included."""
    lines = [f"    {line}" for line in code.splitlines()]
    code = "\n".join(
        ["import numpy as np", "try:", "    import oneread", *lines,
         "except Exception as error:", "    print(type(error).__name__, error)"]
    )  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if "ONEREAD" not in name}
    command = [sys.executable, "-c", code]
    environment.update(variables)
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return done.stdout.strip()


RAN = "oneread.softmax(np.zeros((2, 3), 'f4'))\nprint(oneread.last_kernel().isa)"


@pytest.mark.parametrize("isa", cpu.native.supported_isas())
def test_forced_instruction_set_is_the_one_that_ran(isa: str) -> None:
    assert run(RAN, ONEREAD_ISA=isa) == isa


@pytest.mark.parametrize("value", ["", "  "])
def test_empty_instruction_set_is_the_best(value: str) -> None:
    assert run(RAN, ONEREAD_ISA=value) == cpu.native.supported_isas()[0]


def test_unknown_instruction_set_is_an_error_that_names_all() -> None:
    said = run(RAN, ONEREAD_ISA="sse9")
    assert said.startswith("BackendUnavailableError")
    for word in ("ONEREAD_ISA", "sse9", *cpu.native.supported_isas()):
        assert word in said


def test_instruction_set_of_another_machine_is_an_error() -> None:
    other = "aarch64" if platform.machine() in ("x86_64", "AMD64") else "x86-64-v3"
    said = run(RAN, ONEREAD_ISA=other)
    assert said.startswith("BackendUnavailableError")
    assert other in said


def test_instruction_sets_are_known_names_best_first() -> None:
    compiled, supported = cpu.native.compiled_isas(), cpu.native.supported_isas()
    assert set(supported) <= set(compiled) <= set(KNOWN_ISAS)
    assert supported
    assert sorted(supported, key=KNOWN_ISAS.index) == list(supported)


def test_import_survives_a_bad_variable_until_an_op_is_used() -> None:
    assert run("print('fine')", ONEREAD_ISA="sse9", ONEREAD_THREADS="many") == "fine"


# Threads


def test_threads_variable_is_the_default() -> None:
    assert run("print(oneread.get_threads())", ONEREAD_THREADS="3") == "3"
    assert run("print(oneread.get_threads())", ONEREAD_THREADS="") == str(
        cpu.native.available_threads()
    )


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5", "\u0663", "x" * 5000])
def test_bad_threads_variable_is_an_error_that_names_it(value: str) -> None:
    said = run("print(oneread.get_threads())", ONEREAD_THREADS=value, PYTHONIOENCODING="utf-8")
    assert said.startswith("BackendUnavailableError")
    assert "ONEREAD_THREADS" in said
    assert len(said) < 200


@pytest.mark.parametrize("value", ["257", "9" * 5000, str(2**31), "0" * 5000 + "999"])
def test_more_than_256_threads_in_the_variable_are_256(value: str) -> None:
    assert run("print(oneread.get_threads())", ONEREAD_THREADS=value) == "256"


@pytest.mark.parametrize("n", [257, 2**31, 10**12, 1 << 20_000], ids=int.bit_length)
def test_more_than_256_threads_are_256(n: int) -> None:
    before = oneread.get_threads()
    try:
        oneread.set_threads(n)
        assert oneread.get_threads() == 256
    finally:
        oneread.set_threads(before)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(oneread.softmax(x, threads=n), oneread.softmax(x))


def test_threads_are_set_for_the_process_and_reset() -> None:
    before = oneread.get_threads()
    try:
        oneread.set_threads(np.int64(before + 1))
        assert oneread.get_threads() == before + 1
        seen: list[int] = []
        other = threading.Thread(target=lambda: seen.append(oneread.get_threads()))
        other.start()
        other.join()
        assert seen == [before + 1]
        oneread.set_threads(None)
        assert oneread.get_threads() == cpu.native.available_threads()
    finally:
        oneread.set_threads(before)


@pytest.mark.parametrize("n", [0, -1])
def test_threads_below_1_are_refused(n: int) -> None:
    with pytest.raises(ShapeError, match=f"threads is {n}"):
        oneread.set_threads(n)


@pytest.mark.parametrize("n", [True, 1.0, "2"])
def test_threads_of_another_type_are_refused(n: Any) -> None:
    with pytest.raises(DtypeError, match="threads is"):
        oneread.set_threads(n)


def test_available_threads_do_not_exceed_the_affinity() -> None:
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("this system has no affinity")
    assert 1 <= cpu.native.available_threads() <= len(os.sched_getaffinity(0))


# last_kernel


def test_nothing_ran_in_a_new_thread() -> None:
    oneread.softmax(np.zeros(3))
    seen: list[KernelRecord | None] = []
    other = threading.Thread(target=lambda: seen.append(oneread.last_kernel()))
    other.start()
    other.join()
    assert seen == [None]


def test_last_kernel_says_what_ran() -> None:
    oneread.logsumexp(np.zeros((2, 3), np.float16), threads=1)
    record = oneread.last_kernel()
    assert record is not None
    assert (record.name, record.dtype, record.threads) == ("lazy_logsumexp", "float16", 1)
    assert record.isa in KNOWN_ISAS
    assert (record.stores, record.device) == ("none", "cpu")


def test_a_missing_native_module_says_what_to_do() -> None:
    said = run("import sys\nsys.modules['oneread.runtime._native'] = None\noneread.softmax([1.0])")
    assert said.startswith("BackendUnavailableError")
    assert "reinstall oneread" in said


def test_first_calls_of_many_threads_at_once() -> None:
    code = """
import threading
x = np.random.default_rng(0).normal(size=(50, 999)).astype(np.float32)
barrier, results = threading.Barrier(16), []
def go():
    barrier.wait()
    results.append(oneread.softmax(x).tobytes() + oneread.top_k(x, 3).indices.tobytes())
threads = [threading.Thread(target=go) for _ in range(16)]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(results), len(set(results)))
"""
    assert run(code) == "16 1"


def test_error_names_are_ours() -> None:
    assert issubclass(BackendUnavailableError, oneread.OneReadError)
