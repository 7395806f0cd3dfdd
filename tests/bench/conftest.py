"""Records and peers made up for the tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from oneread.bench.cases import CASES, Case
from oneread.bench.store import Record

MakeRecord = Callable[..., Record]


@pytest.fixture
def make_record() -> MakeRecord:
    """Return what makes a record of a case: ours unless told otherwise, 1 ms long."""

    def make(
        case: str | Case = "softmax/4000x1000",
        contestant: str = "oneread",
        median_s: float | None = 1e-3,
        **others: Any,
    ) -> Record:
        of = case if isinstance(case, Case) else CASES[case]
        spread = {"p25_s": median_s and 0.9 * median_s, "p75_s": median_s and 1.1 * median_s}
        status = {"status": "ok", "n": 5} if median_s else {"status": "absent"}
        plain: dict[str, Any] = {
            "case": of.name, "contestant": contestant, "group": of.group, "op": of.op,
            "shape": of.shape, "rows": of.rows, "vocab": of.vocab, "axis": of.axis,
            "dtype": of.dtype, "k": None, "order": of.order, "memory": of.memory,
            "arrays": of.arrays, "environment": dict(of.environment), "isa": "x86-64-v4",
            "library": contestant.partition(" ")[0].rstrip(","), "version": "1",
            "median_s": median_s,
            **status, **spread,
        }  # fmt: skip
        return Record(**{**plain, **others})

    return make
