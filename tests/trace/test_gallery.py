"""The kernels of the gallery: counts as the catalogue says, faults that it lists and no others."""

from __future__ import annotations

from typing import Any

import pytest

from oneread.source.arithmetic import integer
from oneread.source.catalogue import read_catalogue
from oneread.source.errors import SourceError
from oneread.trace import Case, Source
from oneread.trace.gallery import case_of, run_kernel, run_sequence

CATALOGUE = read_catalogue()
KERNELS = CATALOGUE.kernels


def names(name: str) -> dict[str, int]:
    case = case_of(KERNELS[name])
    return {**KERNELS[name].trace_defines, "rows": case.rows, "vocab": case.vocab, "k": case.k}


def problems(outcome: Any) -> list[str]:
    return [f"{fault.id}: {fault}" for fault in outcome.faults if fault.severity != "note"]


@pytest.mark.parametrize("name", KERNELS)
def test_loads_and_stores_of_every_element_are_those_of_the_catalogue(name: str) -> None:
    outcome = run_kernel(name)
    for kind in ("loads", "stores"):
        for buffer, times in getattr(KERNELS[name], kind).items():
            want = integer(times, names(name))
            spread = getattr(outcome.counts.buffers[buffer], kind)
            assert (spread.min, spread.max) == (want, want), (kind, buffer)


@pytest.mark.parametrize("name", KERNELS)
def test_exponentials_and_barriers_are_those_of_the_catalogue(name: str) -> None:
    entry, outcome, named = KERNELS[name], run_kernel(name), names(name)
    assert outcome.counts.lane_exps == named["rows"] * integer(entry.exps, named)
    if entry.barriers is not None:
        blocks = integer(entry.grid, named)
        assert outcome.counts.barriers == blocks * integer(entry.barriers, named)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param(name, fault, id=f"{name}-{fault.id}-{place}")
        for name in KERNELS
        for place, fault in enumerate(KERNELS[name].faults)
    ],
)
def test_fault_of_the_catalogue_is_found(name: str, fault: Any) -> None:
    case = Case(
        rows=fault.rows or 4,
        vocab=fault.vocab or 256,
        block=fault.block,
        input=fault.input or "normal",
        defines={key: str(value) for key, value in (fault.defines or {}).items()},
    )
    if fault.id == "order-dependent":
        case = case_of(KERNELS[name], case)
        found = Source(CATALOGUE.path(name), defines=case.defines).explore(case).fault
        assert found is not None
        assert found.id == fault.id
    else:
        assert fault.id in {one.id for one in run_kernel(name, case).faults}


@pytest.mark.parametrize("pattern", ["normal", "inf-first-tile", "large", "all-inf", "nan"])
@pytest.mark.parametrize("vocab", [256, 250, 31, 1])
@pytest.mark.parametrize("name", [name for name in KERNELS if not KERNELS[name].breaks])
def test_kernel_that_breaks_no_clause_is_clean(name: str, vocab: int, pattern: str) -> None:
    outcome = run_kernel(name, Case(vocab=vocab, input=pattern))
    assert problems(outcome) == []
    assert outcome.result


@pytest.mark.parametrize("schedule", ["reverse", "random:5", "switch:5"])
@pytest.mark.parametrize("name", [name for name in KERNELS if not KERNELS[name].breaks])
def test_order_of_warps_does_not_matter(name: str, schedule: str) -> None:
    tunables = KERNELS[name].trace_defines
    wide = {"TILE": "64"} if "TILE" in tunables else {}
    assert problems(run_kernel(name, Case(schedule=schedule, defines=wide))) == []


@pytest.mark.parametrize("vocab", [256, 250, 1])
@pytest.mark.parametrize("key", CATALOGUE.sequences)
def test_sequence_is_clean_and_right(key: str, vocab: int) -> None:
    runs = run_sequence(key, Case(vocab=vocab))
    assert [problem for run in runs for problem in problems(run)] == []
    assert runs[-1].result


def test_sequence_takes_the_numbers_that_it_is_given() -> None:
    x = [float(place % 7) for place in range(4 * 32)]
    runs = run_sequence("safe_unfused", Case(vocab=32, data={"x": x}))
    assert runs[0].inputs["x"] == x
    assert runs[1].inputs["x"] == runs[0].outputs["y"]
    assert runs[1].outputs["indices"][:2] == [6, 13]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param(name, fault, id=f"{name}-{fault.id}-{place}")
        for name in KERNELS
        for place, fault in enumerate(KERNELS[name].faults)
        if KERNELS[name].mended and fault.block is None
    ],
)
def test_mended_kernel_is_clean_where_the_faulty_one_is_not(name: str, fault: Any) -> None:
    defines = {key: str(value) for key, value in (fault.defines or {}).items()}
    mended = KERNELS[name].mended
    case = Case(
        rows=fault.rows or 4,
        vocab=fault.vocab or 256,
        input=fault.input or "normal",
        defines=defines,
    )
    refuses = "48" in defines.values() and "static_assert" in CATALOGUE.path(mended).read_text()
    if refuses:
        with pytest.raises(SourceError, match="power of two"):
            run_kernel(mended, case)
    else:
        assert problems(run_kernel(mended, case)) == []


def test_limit_of_k_follows_any_integer_that_c_knows() -> None:
    outcome = run_kernel("top_k", Case(defines={"K_MAX": "(0x4)"}))
    assert {one.name: one.size for one in outcome.arguments}["k"] == 4
