"""A launch gives the driver what it was made with, on the right GPU, and tells what went wrong."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from oneread.runtime import cuda, driver
from oneread.runtime.cpu import native
from oneread.spec import BackendUnavailableError, KernelRecord

HERE, ELSEWHERE = 11, 22
FUNCTION, STREAM = 0x77, 0x55


class Driver:
    """Stands for the driver: keeps what it is called with."""

    def __init__(self, numbers: int, status: int = 0, current: int = HERE) -> None:
        self.numbers, self.status = numbers, status
        self.contexts = [current]
        self.launches: list[dict[str, Any]] = []
        pointer = ctypes.POINTER(ctypes.c_void_p)
        launch = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p, pointer, pointer
        )
        context = ctypes.CFUNCTYPE(ctypes.c_int, pointer)
        push = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
        self.held = [
            launch(self._launch), context(self._current), push(self._push), context(self._pop),
        ]  # fmt: skip

    @property
    def addresses(self) -> tuple[int, ...]:
        return tuple([ctypes.cast(one, ctypes.c_void_p).value or 0 for one in self.held])

    def _launch(self, function: int, *given: Any) -> int:
        *sizes, stream, places, _ = given
        whole = [ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_longlong] * self.numbers]
        kinds = [*whole, ctypes.c_double, ctypes.c_void_p, ctypes.c_longlong * 8]
        values = [kind.from_address(places[i]) for i, kind in enumerate(kinds)]
        *plain, beside = values
        self.launches.append({
            "function": function, "sizes": sizes, "stream": stream, "context": self.contexts[-1],
            "arguments": [one.value or 0 for one in plain], "beside": list(beside),
        })  # fmt: skip
        return self.status

    def _current(self, place: Any) -> int:
        place[0] = self.contexts[-1]
        return 0

    def _push(self, context: int) -> int:
        self.contexts.append(context)
        return 0

    def _pop(self, place: Any) -> int:
        self.contexts.pop()
        return 0


def launch_of(there: Driver, monkeypatch: pytest.MonkeyPatch, **strides: Any) -> cuda.Launch:
    monkeypatch.setattr(driver, "addresses", lambda: there.addresses)
    device = driver.Device(3, "a GPU", "sm_90", 132, 1 << 17, HERE)
    function = driver.Function(FUNCTION, "softmax_row", device, 32, 0)
    record = KernelRecord("softmax_row", "sm_90", "float32", "rows", 0, 1, "none", device="cuda:3")
    return cuda.Launch(
        function, 7, 128, 1024, [10, 1000], record, "softmax of 10 rows of 1000", **strides
    )


def test_driver_gets_sizes_stream_and_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Driver(2)
    launch = launch_of(there, monkeypatch, strides=[1, 2, 3])
    launch(STREAM, 0x1000, 0x2000, 0.5, 0x3000, 0x4000, 0x5000)
    assert there.launches == [{
        "function": FUNCTION, "sizes": [7, 1, 1, 128, 1, 1, 1024], "stream": STREAM,
        "context": HERE, "arguments": [0x1000, 0x2000, 10, 1000, 0.5, 0x3000],
        "beside": [0x4000, 0x5000, 1, 2, 3, 0, 0, 0],
    }]  # fmt: skip


@pytest.mark.parametrize("current", [HERE, ELSEWHERE, 0])
def test_launch_goes_to_its_gpu_and_leaves_the_current_one(
    current: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Driver(2, current=current)
    launch_of(there, monkeypatch)(STREAM, 1, 2)
    assert [one["context"] for one in there.launches] == [HERE]
    assert there.contexts == [current]


def test_error_of_the_driver_names_kernel_shape_and_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    launch = launch_of(Driver(2, status=701), monkeypatch)
    monkeypatch.setattr(driver, "_explain", lambda status: f"error {status}")
    with pytest.raises(BackendUnavailableError) as raised:
        launch(STREAM, 1, 2)
    for part in ("softmax_row", "cuda:3 (a GPU)", "softmax of 10 rows of 1000", "error 701"):
        assert part in str(raised.value)


def test_launch_is_the_last_kernel_of_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    launch_of(Driver(2), monkeypatch)(STREAM, 1, 2)
    record = cuda.last_kernel()
    assert record is not None
    assert (record.name, record.device) == ("softmax_row", "cuda:3")
    assert native.last_kernel() is None


def test_too_many_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="more numbers"):
        launch_of(Driver(2), monkeypatch, strides=range(7))
