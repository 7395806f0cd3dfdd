"""What a page can show before anything has run: kernels, words, inputs, limits, measured speed.

Knows the catalogue of the gallery and its records; runs nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any, Final

from oneread import __version__
from oneread.source.arithmetic import integer
from oneread.source.catalogue import Catalogue, KernelEntry, SequenceEntry, read_catalogue
from oneread.source.measured import Rate, rates
from oneread.trace.case import Case
from oneread.trace.exploring import ORDERS
from oneread.trace.front.settings import Limits as SourceLimits
from oneread.trace.inputs import PATTERNS
from oneread.trace.messages import FAULTS
from oneread.trace.opening import ALL_ORDERS
from oneread.web.asked import LIMITS, MOST_KERNELS, MOST_WATCHES

#: Wall clock of a request, after which its worker is ended.
DEADLINE_S: Final = 5.0

#: Bytes of a request: the numbers of the largest input, each of 17 digits, and a source.
MOST_BODY_BYTES: Final = 2_000_000

#: Kernels that follow the paper and are written for speed.
_OURS: Final = frozenset(["online_softmax_lane", "online_softmax_warp"])


def catalogue(only: Collection[str] | None = None) -> dict[str, Any]:
    """Return what the page asks for first.

    Parameters
    ----------
    only : collection of str, optional
        Keys of the kernels and sequences to tell of, with those that they lead to; all of them if
        left out.

    Returns
    -------
    dict
        That can be written as JSON.
    """
    gallery = read_catalogue()
    wanted = {*gallery.kernels, *gallery.sequences} if only is None else _related(gallery, only)
    measured: dict[str, list[Rate]] = {}
    for rate in rates():
        measured.setdefault(rate.entry, []).append(rate)
    return {
        "version": __version__,
        "kernels": [
            _kernel(gallery, entry, measured.get(key, []))
            for key, entry in gallery.kernels.items()
            if key in wanted
        ],
        "sequences": [
            _sequence(entry) for key, entry in gallery.sequences.items() if key in wanted
        ],
        "messages": {
            key: {"title": one.title, "text": one.text, "severity": one.severity}
            for key, one in FAULTS.items()
        },
        "inputs": list(PATTERNS),
        "schedules": [*ORDERS, ALL_ORDERS],
        "limits": _limits(),
    }


def _related(gallery: Catalogue, keys: Collection[str]) -> set[str]:
    """Return keys with the kernels of sequences and those without the faults of others."""
    found = set(keys)
    for key in found & gallery.sequences.keys():
        found |= {launch.kernel for launch in gallery.sequences[key].launches}
    return found | {gallery.kernels[key].mended for key in found & gallery.kernels.keys()}


def _limits() -> dict[str, float]:
    source = SourceLimits()
    engine = {name: value for name, value in asdict(LIMITS).items() if name != "seconds"}
    return {
        **engine,
        "seconds": DEADLINE_S,
        "source_bytes": source.source_bytes,
        "body_bytes": MOST_BODY_BYTES,
        "kernels": MOST_KERNELS,
        "watches": MOST_WATCHES,
    }


def _kernel(gallery: Catalogue, entry: KernelEntry, measured: list[Rate]) -> dict[str, Any]:
    """Return a kernel with the launch that shows it best: of a faulty one, its first fault."""
    usual, fault = Case(), entry.faults[0] if entry.mended else None
    defines = {**entry.trace_defines, **(fault.defines or {} if fault else {})}
    names = {"rows": usual.rows, "vocab": usual.vocab, "k": usual.k, **defines}
    limit = entry.limits.get("k")
    return {
        "key": entry.key,
        "title": entry.title,
        "source": entry.source,
        "text": gallery.path(entry.key).read_text("utf-8"),
        "group": _group(entry),
        "fault_of": entry.mended or None,
        "defines": defines,
        "rows": (fault and fault.rows) or usual.rows,
        "vocab": (fault and fault.vocab) or usual.vocab,
        "k": usual.k if limit is None else min(usual.k, integer(limit, names)),
        "block": str(fault.block) if fault and fault.block else entry.block,
        "input": (fault and fault.input) or usual.input,
        "faults": [asdict(one) for one in entry.faults],
        "measured": [_measured(rate) for rate in measured],
    }


def _group(entry: KernelEntry) -> str:
    if entry.key in _OURS:
        return "ours"
    starts: Mapping[str, str] = {
        "the fault zoo": "zoo",
        "the two-kernel page": "tiled",
        "Milakov": "paper",
    }
    return next((name for start, name in starts.items() if entry.source.startswith(start)), "other")


def _sequence(entry: SequenceEntry) -> dict[str, Any]:
    kernels = [launch.kernel for launch in entry.launches]
    return {"key": entry.key, "title": entry.title, "kernels": kernels}


def _measured(rate: Rate) -> dict[str, Any]:
    return {
        "device": rate.device,
        "date": rate.date,
        "shape": rate.shape,
        "rows": rate.rows,
        "vocab": rate.vocab,
        "us": rate.microseconds,
        "gb_per_s": rate.gigabytes_a_second,
        "share_of_copy": rate.share_of_copy,
    }
