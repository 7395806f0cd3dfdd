"""Headers of a source that NVRTC does not have: ours in one line each, or those of a toolkit.

What is put in place of an include stands on its line, so that line numbers stay. Knows names of
headers; knows no kernel.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from oneread.runtime import nvrtc
from oneread.source.host import DeviceCode, Skipped

_INTEGERS: Final = " ".join(
    f"typedef {sign}{word} {'u' if sign else ''}int{bits}_t;"
    for bits, word in ((8, "char"), (16, "short"), (32, "int"), (64, "long long"))
    for sign in ("", "unsigned ")
).replace("typedef char int8_t", "typedef signed char int8_t")
_RANGES: Final = (
    "constexpr int INT_MAX = 0x7fffffff, INT_MIN = -INT_MAX - 1; "
    "constexpr unsigned UINT_MAX = 0xffffffffu;"
)
#: What stands in for a header; nothing for those whose content NVRTC has by itself.
_INSTEAD: Final = {
    "cmath": "#include <math.h>",
    "cfloat": "#include <float.h>",
    "stdint.h": _INTEGERS,
    "cstdint": _INTEGERS,
    "limits.h": _RANGES,
    "climits": _RANGES,
    **dict.fromkeys(
        (
            "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_functions.h",
            "device_launch_parameters.h", "vector_functions.h", "vector_types.h", "stddef.h",
            "cstddef", "stdbool.h",
        ),
        "",
    ),
}  # fmt: skip
_INCLUDE: Final = re.compile(r'^(\s*)#\s*include\s*[<"]([^>"]+)[>"].*$', re.MULTILINE)
#: nvcc begins every source with CUDA's own header, which has this one in it.
_ALWAYS: Final = "--pre-include=math.h"
_TOOLKIT: Final = "/usr/local/cuda/include"


def with_headers(
    device: DeviceCode, text: str, own: Sequence[str] = ()
) -> tuple[str, tuple[Skipped, ...], list[str]]:
    """Return a source whose includes NVRTC can follow.

    Parameters
    ----------
    device : DeviceCode
        The source without its host code.
    text : str
        The source as it was.
    own : sequence of str
        Folders that the source's own headers may lie in.

    Returns
    -------
    str
        The source to compile.
    tuple of Skipped
        What is left out still.
    list of str
        Options that say where its headers lie, and which is always there.
    """
    lines = device.text.split("\n")
    original = text.split("\n")
    skipped, folders = [], []
    for one in device.skipped:
        folder = _folder_of(one.name, own) if one.what == "include" else None
        if folder is None:
            skipped.append(one)
        else:
            lines[one.line - 1] = original[one.line - 1]
            folders += folder
    seen: set[str] = set()
    compiled = _INCLUDE.sub(lambda found: _instead(found, seen), "\n".join(lines))
    options = [_ALWAYS, *(f"-I{folder}" for folder in dict.fromkeys(folders))]
    return compiled, tuple(skipped), options


def _instead(found: re.Match[str], seen: set[str]) -> str:
    """Return what stands in for an include; a second one brings nothing more."""
    text = _INSTEAD.get(found[2])
    if text is None:
        return found[0]
    is_new = text not in seen
    seen.add(text)
    return found[1] + text if is_new else ""


def _folder_of(header: str, own: Sequence[str]) -> list[str] | None:
    """Return the folders that a header and what it includes are in, None if it is nowhere."""
    if header in nvrtc.HEADERS:
        return []
    if any(Path(one, header).is_file() for one in own):
        return [*own]
    folders = include_folders()
    return list(folders) if any(Path(one, header).is_file() for one in folders) else None


@cache
def include_folders() -> tuple[str, ...]:
    """Return where headers of CUDA lie: in NVIDIA's packages, or in a toolkit."""
    spec = importlib.util.find_spec("nvidia")
    roots = (
        [Path(root, "cu13/include") for root in spec.submodule_search_locations or ()]
        if (spec)
        else []
    )
    return tuple(_existing([*roots, Path(_TOOLKIT)]))


def _existing(roots: Iterable[Path]) -> Iterable[str]:
    for root in roots:
        yield from (str(path) for path in (root, root / "cccl") if path.is_dir())
