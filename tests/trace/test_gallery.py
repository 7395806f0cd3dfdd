"""The kernels of the gallery: counts as the catalogue says, faults that it lists and no others."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import oneread
from oneread.trace import Case, Run, Source, run
from oneread.trace.arguments import integer

FOLDER = Path(oneread.__file__).parent / "kernels" / "gallery"
CATALOGUE: dict[str, Any] = tomllib.loads((FOLDER / "gallery.toml").read_text())["kernels"]

#: Inputs that a kernel computes its output from, where they are outputs of the kernel before.
CHAINED = {"online_merge"}
ALONE = [name for name in CATALOGUE if name not in CHAINED]


def arguments(entry: dict[str, Any], pattern: str) -> dict[str, str]:
    given = {}
    for buffer in entry["buffers"]:
        size = "*".join(f"({part})" for part in buffer["shape"]).replace("(rows)", "rows")
        size = size.replace("(vocab)", "vocab").replace("(k)", "k")
        role = pattern if buffer["role"] == "input" else "out"
        given[buffer["name"]] = f"{size}:{role}"
    return {**given, **{name: name for name in ("rows", "vocab", "k") if name in entry["args"]}}


@cache
def source(name: str) -> Path:
    return FOLDER / f"{name}.cu"


def asked(name: str, **settings: Any) -> dict[str, Any]:
    entry = CATALOGUE[name]
    defines = {**entry["defines"]["trace"], **settings.pop("defines", {})}
    launch = {
        "k": min(4, settings.get("vocab", 256)),
        "grid": entry["grid"],
        "block": entry["block"],
        "shared_bytes": entry["shared_bytes"],
        "arguments": arguments(entry, settings.get("input", "normal")),
        "truth": entry["truth"],
    }
    return {**launch, **settings, "defines": defines}


def launched(name: str, **settings: Any) -> Run:
    return run(source(name), **asked(name, **settings))


def names(entry: dict[str, Any], rows: int = 4, vocab: int = 256, k: int = 4) -> dict[str, int]:
    return {**entry["defines"]["trace"], "rows": rows, "vocab": vocab, "k": k}


@pytest.mark.parametrize("name", ALONE)
def test_loads_and_stores_of_every_element_are_those_of_the_catalogue(name: str) -> None:
    entry, outcome = CATALOGUE[name], launched(name)
    for kind in ("loads", "stores"):
        for buffer, times in entry.get(kind, {}).items():
            want = integer(str(times), names(entry))
            spread = getattr(outcome.counts.buffers[buffer], kind)
            assert (spread.min, spread.max) == (want, want), (kind, buffer)


@pytest.mark.parametrize("name", ALONE)
def test_exponentials_and_barriers_are_those_of_the_catalogue(name: str) -> None:
    entry, outcome = CATALOGUE[name], launched(name)
    named = names(entry)
    blocks = integer(entry["grid"], named)
    assert outcome.counts.lane_exps == 4 * integer(entry["exps"], named)
    if "barriers" in entry:
        assert outcome.counts.barriers == blocks * integer(entry["barriers"], named)


def listed() -> Iterator[Any]:
    for name in ALONE:
        for fault in CATALOGUE[name]["faults"]:
            settings = {key: value for key, value in fault.items() if key != "id"}
            yield pytest.param(name, fault["id"], settings, id=f"{name}-{fault['id']}")


@pytest.mark.parametrize(("name", "identifier", "settings"), list(listed()))
def test_fault_of_the_catalogue_is_found(
    name: str, identifier: str, settings: dict[str, Any]
) -> None:
    if identifier == "order-dependent":
        settings = asked(name, **settings)
        found = Source(source(name), defines=settings["defines"]).explore(Case(**settings)).fault
        assert found is not None
        assert found.id == identifier
    else:
        assert identifier in {fault.id for fault in launched(name, **settings).faults}


@pytest.mark.parametrize("pattern", ["normal", "inf-first-tile", "large", "all-inf", "nan"])
@pytest.mark.parametrize("vocab", [256, 250, 31, 1])
@pytest.mark.parametrize("name", [n for n in ALONE if not CATALOGUE[n].get("breaks")])
def test_kernel_that_breaks_no_clause_is_clean(name: str, vocab: int, pattern: str) -> None:
    outcome = launched(name, vocab=vocab, input=pattern)
    assert [f"{f.id}: {f}" for f in outcome.faults if f.severity != "note"] == []
    assert outcome.result
