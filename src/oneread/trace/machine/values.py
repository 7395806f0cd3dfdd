"""What 32 lanes hold: the representation of values and masks, and how they are joined.

Knows no arithmetic and no memory. A value of all lanes of a warp is one of

- a scalar (`int`, `float`): the same in every lane;
- a `range` of 32 integers: equal steps from lane to lane, as thread numbers and addresses have;
- a `tuple` of 32 numbers;
- for `bool`, an `int` with one bit a lane, whatever the lanes hold;
- for a struct, a `list` with one such value a field.

None of them is ever changed in place, so that they can be shared. What an inactive lane holds is
of the right type and otherwise arbitrary.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple

#: Lanes of a warp.
WARP = 32

#: Every lane.
FULL = (1 << WARP) - 1

#: The bit of each lane.
BITS = tuple(1 << lane for lane in range(WARP))

#: Lane numbers.
LANES = range(WARP)

#: Masks kept with their lanes. A kernel has a handful; one that makes more starts anew.
_MASKS_KEPT = 4096


class Mask(NamedTuple):
    """A set of lanes, looked at in the ways that are needed."""

    size: int
    """Lanes in it."""
    lanes: tuple[int, ...]
    """Their numbers, in order."""
    first: int
    """The first lane in it."""
    stop: int
    """One more than the last lane in it."""
    solid: bool
    """Whether all lanes between are in it."""
    flags: tuple[bool, ...]
    """One truth value a lane."""


_masks: dict[int, Mask] = {}


def look(bits: int) -> Mask:
    """Return the mask with these bits."""
    mask = _masks.get(bits)
    if mask is None:
        if len(_masks) >= _MASKS_KEPT:
            _masks.clear()
        flags = tuple(bool(bits & bit) for bit in BITS)
        lanes = tuple(compress(LANES, flags))
        first, stop = (lanes[0], lanes[-1] + 1) if lanes else (0, 0)
        mask = Mask(len(lanes), lanes, first, stop, stop - first == len(lanes), flags)
        _masks[bits] = mask
    return mask


def spread(value: Any) -> Sequence[Any]:
    """Return a number's value in each lane."""
    return value if type(value) is tuple or type(value) is range else (value,) * WARP


def active(value: Any, bits: int) -> Sequence[Any]:
    """Return the values of the active lanes only, in order of lanes."""
    mask = look(bits)
    if type(value) is tuple or type(value) is range:
        if mask.solid:
            return value[mask.first : mask.stop]
        return tuple(compress(value, mask.flags))
    return (value,) * mask.size


def scatter(values: Sequence[Any], bits: int, filler: Any) -> tuple[Any, ...]:
    """Return 32 values of which the active lanes have these, in order, and the others `filler`."""
    mask = look(bits)
    if mask.solid:
        return (filler,) * mask.first + tuple(values) + (filler,) * (WARP - mask.stop)
    out = [filler] * WARP
    for lane, value in zip(mask.lanes, values, strict=True):
        out[lane] = value
    return tuple(out)


def uniform(value: Any, bits: int) -> Any:
    """Return the value that all active lanes share, or None if they differ."""
    if type(value) is tuple or type(value) is range:
        values = active(value, bits)
        head = values[0]
        return head if all(other == head for other in values) else None
    return value


def bits_of(flags: Any) -> int:
    """Return the mask of the lanes whose flag is true; `flags` may be any iterable of 32."""
    return sum(compress(BITS, flags))


def from_bits(bits: int) -> Any:
    """Return 0 or 1 a lane, as an integer value."""
    if bits == 0:
        return 0
    return 1 if bits == FULL else tuple(map(int, look(bits).flags))


def choose(bits: int, yes: Any, no: Any) -> Any:
    """Return `yes` in the lanes of the mask and `no` in the others: numbers or structs."""
    if bits == FULL or yes is no:
        return yes
    if bits == 0:
        return no
    if type(yes) is list:
        return [choose(bits, y, n) for y, n in zip(yes, no, strict=True)]
    mask = look(bits)
    ours, others = spread(yes), spread(no)
    if mask.solid:
        first, stop = mask.first, mask.stop
        return (*others[:first], *ours[first:stop], *others[stop:])
    return tuple([y if f else n for f, y, n in zip(mask.flags, ours, others, strict=True)])


def choose_bits(bits: int, yes: int, no: int) -> int:
    """Return `yes` in the lanes of the mask and `no` in the others: bool values."""
    return (yes & bits) | (no & ~bits)


def step_range(start: int, step: int) -> Any:
    """Return the integers `start + lane * step`."""
    return range(start, start + WARP * step, step) if step else start
