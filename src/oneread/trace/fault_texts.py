"""The catalogue of faults: severity, one-line title and text of each, by id.

Knows no machine. A fault carries its id and parameters only; whoever shows it asks here for words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

#: Severities, worst first. ``error``: undefined behaviour or a wrong result in this launch;
#: ``warning``: a hazard that this launch hides; ``note``: cost, or a fault of other launches.
SEVERITIES = ("error", "warning", "note")


class Message(NamedTuple):
    """What is known of one kind of fault."""

    severity: str
    title: str
    text: str


CATALOGUE: dict[str, Message] = {
    "race-warps": Message(
        "error",
        "race between warps",
        "{hazard} on {buffer}[{index}]: thread {first_thread} {first_verb} it in line {with_line}, "
        "thread {thread} {verb} it in line {line}, and no barrier lies between",
    ),
    "race-blocks": Message(
        "error",
        "race between blocks",
        "{hazard} on {buffer}[{index}]: block {first_block} {first_verb} it in line {with_line}, "
        "block {block} {verb} it in line {line}; nothing orders blocks of one launch",
    ),
    "race-warp": Message(
        "warning",
        "hazard within a warp",
        "{hazard} on {buffer}[{index}]: lane {first_lane} {first_verb} it in line {with_line}, "
        "lane {lane} {verb} it in line {line}; lanes of a warp need __syncwarp() between them",
    ),
    "race-lanes": Message(
        "warning",
        "lanes store to one address",
        "line {line}: lanes {first_lane} and {lane} store different values to {buffer}[{index}] "
        "at once; which one stays is not defined",
    ),
    "race-same-value": Message(
        "note",
        "same value stored twice",
        "threads {first_thread} and {thread} store the same value to {buffer}[{index}] with "
        "nothing between, lines {with_line} and {line}",
    ),
    "barrier-divergence": Message(
        "error",
        "barrier in a branch",
        "only {arrived} of {live} live threads of warp {warp} reach __syncthreads() in line {line}",
    ),
    "barrier-lines": Message(
        "error",
        "warps at different barriers",
        "warp {first_warp} waits at __syncthreads() in line {with_line} while warp {warp} waits at "
        "the one in line {line}",
    ),
    "barrier-exited": Message(
        "note",
        "barrier after some warps have left",
        "warps wait at __syncthreads() in line {line} that warp {warp} left the kernel without",
    ),
    "barrier-idle": Message(
        "note",
        "barrier that orders nothing",
        "no thread touched shared memory of another before and after __syncthreads() in line "
        "{line}; this launch does not need it",
    ),
    "syncwarp-absent": Message(
        "error",
        "lanes absent from __syncwarp",
        "__syncwarp() in line {line} names lanes {absent} that do not reach it",
    ),
    "shuffle-mask": Message(
        "error",
        "lane not named in its mask",
        "{name} in line {line} is reached by lanes {unnamed} that its mask {mask} does not name",
    ),
    "shuffle-absent": Message(
        "error",
        "lanes absent from a warp operation",
        "{name} in line {line} names lanes {absent} that do not reach it",
    ),
    "shuffle-inactive": Message(
        "error",
        "value taken from an inactive lane",
        "{name} in line {line}: lane {lane} takes the value of lane {source}, which is not there",
    ),
    "out-of-bounds": Message(
        "error",
        "access out of bounds",
        "{verb} {buffer}[{index}] in line {line}, outside its {count} elements (lanes {lanes})",
    ),
    "no-buffer": Message(
        "error",
        "access through a bad pointer",
        "{verb} address {address} in line {line}, where no buffer is (lanes {lanes})",
    ),
    "misaligned": Message(
        "error",
        "misaligned access",
        "{verb} {size} bytes of {buffer} in line {line} at byte {offset}, which {size} does not "
        "divide",
    ),
    "stray-row": Message(
        "warning",
        "access in another row",
        "block {block} {verb} {buffer}[{index}] in line {line}, which lies in row {row}; its own "
        "row is {own}",
    ),
    "uninitialised": Message(
        "error",
        "read before any write",
        "{buffer}[{index}] is read in line {line} before anything was stored there (lanes {lanes})",
    ),
    "uninitialised-variable": Message(
        "error",
        "variable used before it is set",
        "{variable} is used in line {line} before it has a value (lanes {lanes})",
    ),
    "overflow": Message(
        "error",
        "signed overflow",
        "{left} {operator} {right} does not fit into {type} in line {line} (lane {lane})",
    ),
    "division-by-zero": Message(
        "error", "integer division by zero", "{left} {operator} 0 in line {line} (lane {lane})"
    ),
    "shift-width": Message(
        "error",
        "shift by a bad width",
        "a {bits}-bit integer is shifted by {right} in line {line} (lane {lane})",
    ),
    "latent-overflow": Message(
        "note",
        "32-bit offset",
        "the product in line {line} has 32 bits and moves a pointer: it overflows once it reaches "
        "{limit}, whatever the size of the pointer",
    ),
    "bank-conflict": Message(
        "note",
        "shared-memory bank conflict",
        "{verb} {buffer} in line {line} takes {wavefronts} wavefronts where {ideal} would do",
    ),
    "uncoalesced": Message(
        "note",
        "scattered global access",
        "{verb} {buffer} in line {line} takes {sectors} sectors a request where {ideal} would do",
    ),
    "nan-made": Message(
        "warning",
        "NaN made of numbers",
        "{left} {operator} {right} in line {line} is NaN (lane {lane})",
    ),
    "wrong-result": Message(
        "error",
        "wrong result",
        "{buffer}[{index}] is {got}, the float64 {truth} gives {want}; {wrong} of {count} elements "
        "are wrong, by up to {error}",
    ),
    "unwritten": Message(
        "error",
        "output not written",
        "{unwritten} of {count} elements of {buffer} are never written, the first is [{index}]",
    ),
    "order-dependent": Message(
        "error",
        "result depends on the order of warps",
        "{buffer}[{index}] is {first} in order {first_schedule} and {second} in order "
        "{second_schedule}",
    ),
}


def text(identifier: str, parameters: Mapping[str, Any]) -> str:
    """Return the text of a fault."""
    return CATALOGUE[identifier].text.format_map(dict(parameters))
