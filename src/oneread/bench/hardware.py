"""Hardware counters of this process, where the kernel of the system lets us read them.

Knows no op. A counter that cannot be read is an error with its reason, never a number.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import struct
import sys
from collections.abc import Callable
from typing import Final

from oneread.spec import BackendUnavailableError

#: Bytes that a miss brings in: a line of every x86-64 and most aarch64 machines.
LINE_BYTES: Final = 64

_SYSCALL: Final = {"x86_64": 298, "aarch64": 241}  # perf_event_open
_HARDWARE, _CACHE_MISSES = 0, 3  # PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES
_DISABLED, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 0, 1 << 5, 1 << 6
_ENABLED_AND_RUNNING = 3  # PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING
_ENABLE, _DISABLE = 0x2400, 0x2401  # PERF_EVENT_IOC_ENABLE, _DISABLE
_ATTRIBUTE_BYTES: Final = 64  # PERF_ATTR_SIZE_VER0

_REASONS: Final = {
    errno.ENOENT: "this machine has no such counter; virtual ones often lack it",
    errno.ENOSYS: "the system has no perf_event_open",
    errno.EOPNOTSUPP: "the processor does not support it",
}


def cache_misses(call: Callable[[], object]) -> int:
    """Return how often a call missed the last cache that the processor counts, in this thread.

    Parameters
    ----------
    call : callable
        Called once.

    Returns
    -------
    int
        Misses, outside of the system's kernel.

    Raises
    ------
    BackendUnavailableError
        If the counter cannot be read here; the message says why.
    """
    counter = _opened()
    try:
        fcntl.ioctl(counter, _ENABLE, 0)
        call()
        fcntl.ioctl(counter, _DISABLE, 0)
        value, enabled, running = struct.unpack("QQQ", os.read(counter, 24))
    finally:
        os.close(counter)
    if not running:
        raise BackendUnavailableError("the counter never ran: others hold all of the processor's")
    return int(value * enabled / running)


def _opened() -> int:
    """Return a file descriptor of the counter, stopped."""
    number = _SYSCALL.get(platform.machine())
    if sys.platform != "linux" or number is None:
        raise BackendUnavailableError("perf_event_open is known for Linux on x86-64 and aarch64")
    flags = _DISABLED | _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR
    attribute = struct.pack(
        "IIQQQQQ", _HARDWARE, _ATTRIBUTE_BYTES, _CACHE_MISSES, 0, 0, _ENABLED_AND_RUNNING, flags
    ).ljust(_ATTRIBUTE_BYTES, b"\0")
    system = ctypes.CDLL(None, use_errno=True)
    counter = int(system.syscall(number, attribute, 0, -1, -1, 0))
    if counter < 0:
        raise BackendUnavailableError(_reason(ctypes.get_errno()))
    return counter


def _reason(error: int) -> str:
    if error in (errno.EACCES, errno.EPERM):
        return f"perf_event_open is not permitted{_paranoia()}"
    return _REASONS.get(error, f"perf_event_open failed: {os.strerror(error)}")


def _paranoia() -> str:
    try:
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as setting:
            return f" (kernel.perf_event_paranoid is {setting.read().strip()})"
    except OSError:
        return ""
