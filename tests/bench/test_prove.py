"""What `oneread prove` says of a kernel: counted accesses, memory, cache misses or a reason."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from oneread import BackendUnavailableError, ShapeError
from oneread.bench import hardware, prove
from oneread.spec import OPS

KERNELS = {kernel.name: kernel for spec in OPS.values() for kernel in spec.kernels}

linux = pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from Linux's /proc")


@pytest.mark.parametrize("name", KERNELS)
def test_counted_accesses_are_the_claim(name: str) -> None:
    kernel = KERNELS[name]
    counted = prove.count(kernel)
    loads = counted.x_loads + counted.y_loads + counted.scratch_loads
    stores = counted.x_stores + counted.y_stores + counted.scratch_stores
    # Maxima of blocks: as the table says, half an access of each kind at most.
    assert kernel.loads <= loads <= kernel.loads + 0.5
    assert kernel.stores <= stores <= kernel.stores + 0.5
    assert round(counted.reads, 1) == kernel.reads


@linux
def test_proof_of_one_op_has_all_of_its_kernels() -> None:
    proofs = list(prove.prove("top_k"))
    assert [proof.kernel for proof in proofs] == [kernel.name for kernel in OPS["top_k"].kernels]
    for proof in proofs:
        assert proof.peak_bytes is not None
        # Within what the allocator keeps of the run before.
        assert abs(proof.peak_bytes - proof.arrays_bytes) <= 16 << 20
        assert proof.memory == ""
        assert (proof.miss_bytes is None) == bool(proof.hardware)
        record = prove.as_record(proof)
        assert record["accesses"]["x_loads"] == proof.accesses.x_loads
        claim = KERNELS[proof.kernel]
        assert record["claim"] == {
            "reads": claim.reads, "loads": claim.loads, "stores": claim.stores,
        }  # fmt: skip


def test_unknown_op_is_refused() -> None:
    with pytest.raises(ShapeError, match="op is 'median'; softmax,"):
        next(prove.prove("median"))


def test_size_that_the_system_does_not_tell_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert prove._resident("VmNothing") is None
    monkeypatch.setattr(prove, "MEASURED_SHAPE", (2, 1000))
    monkeypatch.setattr(prove, "_resident", lambda field: None)
    told = prove.measure(KERNELS["lazy_logsumexp"])
    assert told["peak_bytes"] is None
    assert "/proc" in told["memory"]


def test_cache_misses_are_counted() -> None:
    x = np.ones(1 << 20, np.float32)
    try:
        misses = hardware.cache_misses(x.sum)
    except BackendUnavailableError as error:
        pytest.skip(f"no counter on this machine: {error}")
    assert misses >= 0


def failing(error: int) -> Callable[..., Any]:
    class System:
        """A C library whose system call fails."""

        @staticmethod
        def syscall(*arguments: object) -> int:
            return -1

    return lambda *names, **options: System


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (errno.EACCES, "not permitted"),
        (errno.EPERM, "not permitted"),
        (errno.ENOENT, "no such counter"),
        (errno.ENOSYS, "no perf_event_open"),
        (errno.EOPNOTSUPP, "does not support"),
        (errno.EMFILE, os.strerror(errno.EMFILE)),
    ],
)
@linux
def test_counter_that_cannot_be_had_says_why(
    error: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hardware.ctypes, "CDLL", failing(error))
    monkeypatch.setattr(hardware.ctypes, "get_errno", lambda: error)
    with pytest.raises(BackendUnavailableError, match=reason):
        hardware.cache_misses(lambda: None)


def test_counter_of_another_system_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware.platform, "machine", lambda: "riscv64")
    with pytest.raises(BackendUnavailableError, match="Linux on x86-64 and aarch64"):
        hardware.cache_misses(lambda: None)
