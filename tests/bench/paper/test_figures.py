"""The paper's figures as cases, on a CPU and on a GPU."""

from __future__ import annotations

import pytest

from oneread.bench.cases import Case, table
from oneread.bench.gpu.cases import GALLERY
from oneread.bench.paper import cpu_cases, figures, gpu_cases, run
from oneread.spec import OPS

VOCABS = [10, 100, 1000, 4000, 10000, 25000, 50000, 100000]
TABLES = {"cpu": cpu_cases.CASES, "gpu": gpu_cases.CASES}


def of(cases: dict[str, Case], group: str, rows: int) -> list[Case]:
    return [case for case in cases.values() if case.group == group and case.rows == rows]


@pytest.mark.parametrize("device", TABLES)
@pytest.mark.parametrize("rows", [4000, 10])
def test_softmax_has_every_length_of_the_figures(device: str, rows: int) -> None:
    cases = of(TABLES[device], figures.SOFTMAX, rows)
    assert [case.vocab for case in cases] == VOCABS
    assert {case.dtype for case in cases} == {"float32"}


@pytest.mark.parametrize("device", TABLES)
def test_top_k_has_every_length_for_5_and_the_table_of_k(device: str) -> None:
    large, small = (of(TABLES[device], figures.TOP_K, rows) for rows in (4000, 10))
    assert [case.vocab for case in small] == VOCABS
    assert {dict(case.options)["k"] for case in small} == {5}
    assert [dict(case.options)["k"] for case in large if case.vocab == 25000] == [5, 10, 15, 30]
    assert sorted({case.vocab for case in large}) == VOCABS


def test_the_papers_algorithms_take_part_under_the_same_names() -> None:
    for op, entries in GALLERY.items():
        textbook = {kernel.algorithm for kernel in OPS[op].kernels if kernel.textbook}
        assert set(entries) == textbook - {"two_pass"}
        for cases in TABLES.values():
            for case in cases.values():
                if case.group.startswith("paper") and case.op == op:
                    assert set(entries) <= set(case.kernels)


@pytest.mark.parametrize("device", TABLES)
def test_what_is_beyond_has_16_bits_large_k_long_rows_and_one_row(device: str) -> None:
    beyond = [case for case in TABLES[device].values() if case.group.startswith("beyond")]
    assert {case.dtype for case in beyond} == {"float32", "bfloat16"}
    assert max(dict(case.options).get("k", 0) for case in beyond) == 1024
    assert max(case.vocab for case in beyond) == 262144
    assert min(case.rows for case in beyond) == 1
    assert all(case.peers is None or len(case.peers) > 1 for case in beyond)


@pytest.mark.parametrize("device", TABLES)
def test_quick_run_has_a_point_of_every_claim(device: str) -> None:
    quick = {case.name for case in TABLES[device].values() if case.quick}
    assert {f"paper softmax_topk/4000x25000/k{k}" for k in (5, 10, 15, 30)} <= quick
    assert {"paper softmax/4000x4000", "paper softmax/10x1000"} <= quick


@pytest.mark.parametrize("device", TABLES)
def test_processes_find_the_cases_by_their_module(device: str) -> None:
    assert table(run._TABLES[device]) is TABLES[device]
    assert all(case.device == device for case in TABLES[device].values())


def test_inputs_on_a_gpu_are_of_16_bytes_in_whole() -> None:
    assert all(case.input_bytes % 16 == 0 for case in gpu_cases.CASES.values())
