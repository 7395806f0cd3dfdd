"""Addresses of a warp's lanes to bytes of buffers, with bounds, alignment and rows checked.

Knows no value and no hazard. What lies outside every buffer is reported and left out, so that a
run goes on behind a fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from oneread.trace.machine.access import Access
from oneread.trace.machine.integers import ends
from oneread.trace.machine.memory import ORIGINS, Buffer, Shape
from oneread.trace.machine.sites import Site
from oneread.trace.machine.values import BITS, active, look
from oneread.trace.machine.warp import Warp

if TYPE_CHECKING:
    from oneread.trace.machine.device import Device


def resolve(
    device: Device, warp: Warp, site: Site, address: Any, shape: Shape, kind: str
) -> list[Access]:
    """Return the accesses of one request: one a buffer, mostly just one."""
    together = type(address) is int
    wanted = range(address, address + 1) if together else _tidy(active(address, warp.mask))
    low, high = ends(wanted)
    together = together or low == high
    buffer = site.buffer
    if buffer is None or buffer.space == "local" or not _inside(buffer, low, high, shape.size):
        buffer = find(device, warp, low)
    if (
        buffer is None
        or not _inside(buffer, low, high, shape.size)
        or not _aligned(wanted, shape.align)
        or (buffer.space == "local" and not _own(buffer, wanted, warp.mask, shape.size))
    ):
        return _one_by_one(device, warp, site, address, shape, kind)
    offsets = _less(wanted[:1] if together else wanted, buffer.base)
    if shape.grain < buffer.unit or not buffer.unit or buffer.untyped:
        buffer.admit(offsets, shape)
    access = Access(warp, site, kind, device.step, buffer, warp.mask)
    access.touch(offsets, shape.size, together)
    if buffer.width:
        device.report.stray(access)
    return [access]


def find(device: Device, warp: Warp, address: int) -> Buffer | None:
    """Return the buffer at or near an address, or None where no space is."""
    if address >= ORIGINS["global"] // 2:
        return device.spaces["global"].find(address)
    if address >= ORIGINS["local"] // 2:
        return warp.locals.find(address)
    if address >= ORIGINS["shared"] // 2:
        return device.spaces["shared"].find(address)
    return None


def _inside(buffer: Buffer, low: int, high: int, size: int) -> bool:
    return buffer.base <= low and high + size <= buffer.base + buffer.size


def _own(buffer: Buffer, wanted: Sequence[int], bits: int, size: int) -> bool:
    """Return whether each lane stays in its own part of a local buffer."""
    part, mask = buffer.lane_bytes, look(bits)
    if type(wanted) is range and wanted.step == part and mask.solid:
        rest = wanted.start - buffer.base - mask.first * part
        return 0 <= rest <= part - size
    if len(wanted) < mask.size:
        return False  # one address for several lanes: at most one of them owns it
    rests = [at - buffer.base - lane * part for lane, at in zip(mask.lanes, wanted, strict=True)]
    return min(rests) >= 0 and max(rests) <= part - size


def _aligned(wanted: Sequence[int], align: int) -> bool:
    if align == 1:
        return True
    if type(wanted) is range:
        return not (wanted.start % align or (len(wanted) > 1 and wanted.step % align))
    return not any(address % align for address in wanted)


def _tidy(wanted: Sequence[int]) -> Sequence[int]:
    """Return addresses with equal steps as a range, however they were computed."""
    if type(wanted) is range or len(wanted) < 2:
        return wanted
    step = wanted[1] - wanted[0]
    if step and wanted[-1] - wanted[0] == step * (len(wanted) - 1):
        even = range(wanted[0], wanted[0] + step * len(wanted), step)
        if tuple(even) == wanted:
            return even
    return wanted


def _less(wanted: Sequence[int], base: int) -> Sequence[int]:
    if type(wanted) is range:
        return range(wanted.start - base, wanted.stop - base, wanted.step)
    return [address - base for address in wanted]


def _one_by_one(
    device: Device, warp: Warp, site: Site, address: Any, shape: Shape, kind: str
) -> list[Access]:
    """Resolve lane by lane: several buffers, local memory, bad addresses."""
    good: dict[int, tuple[Buffer, list[int], list[int]]] = {}
    outside: dict[int, tuple[Buffer | None, list[int], int]] = {}
    skewed: list[int] = []
    lanes = look(warp.mask).lanes
    for lane, at in zip(lanes, active(address, warp.mask), strict=True):
        buffer = find(device, warp, at)
        if buffer is None or not _lane_inside(buffer, lane, at, shape.size):
            key = buffer.base if buffer is not None else 0
            outside.setdefault(key, (buffer, [], at))[1].append(lane)
        elif at % shape.align:
            skewed.append(lane)
            first_skewed = (buffer, at - buffer.base)
        else:
            entry = good.setdefault(buffer.base, (buffer, [], []))
            entry[1].append(lane)
            entry[2].append(at - buffer.base)
    for buffer, bad, at in outside.values():
        device.report.outside(warp, site, device.step, buffer, _bits(bad), at)
    if skewed:
        buffer, offset = first_skewed
        device.report.misaligned(warp, site, device.step, buffer, _bits(skewed), offset, shape.size)
    return [
        _access(device, warp, site, shape, kind, buffer, _bits(ours), offsets)
        for buffer, ours, offsets in good.values()
    ]


def _access(
    device: Device,
    warp: Warp,
    site: Site,
    shape: Shape,
    kind: str,
    buffer: Buffer,
    bits: int,
    offsets: list[int],
) -> Access:
    buffer.admit(offsets, shape)
    access = Access(warp, site, kind, device.step, buffer, bits)
    together = len(set(offsets)) == 1
    access.touch(offsets[:1] if together else _tidy(tuple(offsets)), shape.size, together)
    if buffer.width:
        device.report.stray(access)
    return access


def _lane_inside(buffer: Buffer, lane: int, address: int, size: int) -> bool:
    """Return whether a lane's bytes lie in the buffer, in its own part of a local one."""
    if buffer.space != "local":
        return _inside(buffer, address, address, size)
    start = buffer.base + lane * buffer.lane_bytes
    return start <= address and address + size <= start + buffer.lane_bytes


def _bits(lanes: Sequence[int]) -> int:
    return sum(BITS[lane] for lane in lanes)
