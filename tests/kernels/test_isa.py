"""Each instruction set: forced, it is the one that runs, and its numbers are within the bounds."""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from oneread import BackendUnavailableError
from oneread.runtime import cpu
from oneread.spec import OPS

SUPPORTED = cpu.native.supported_isas()
X86 = ("x86-64-v4", "x86-64-v3", "x86-64-v2")
FOREIGN = "aarch64" if platform.machine() in ("x86_64", "AMD64") else "x86-64-v3"

#: Every op is judged on every family of inputs; what ran is looked at after each call.
CONFORMS = """
import ml_dtypes, oneread
from oneread.testing import assert_conforms
def judged(op):
    ran, failures = set(), []
    def implementation(x, **options):
        result = getattr(oneread, op)(x, **options)
        if x.size:
            ran.add((oneread.last_kernel().isa, oneread.last_kernel().dtype))
        return result
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        try:
            assert_conforms(implementation, op, dtype=dtype, rows=3)
        except AssertionError as error:
            failures.append(str(error))
    return sorted(ran), failures
import json
print(json.dumps({op: judged(op) for op in oneread.spec.OPS}))
"""

#: Columns that an op names do not depend on the instruction set, special rows included.
COLUMNS = """
import hashlib, json, numpy as np, oneread
from oneread.testing import FAMILIES
digest = hashlib.sha256()
for name, family in FAMILIES.items():
    for dtype in ("float32", "float64", "float16"):
        x = family(4, 40_003, dtype)
        if not x.shape[1]:
            continue
        k, select = min(50, x.shape[1]), np.zeros(4, np.int64)
        best = oneread.read(x, top_k=k, select=select, rank=True, argmax=True)
        for columns in (best.indices, best.rank, best.argmax, oneread.top_k(x, k).indices):
            digest.update(columns.tobytes())
print(json.dumps([oneread.last_kernel().isa, digest.hexdigest()]))
"""

RAN = """
import json, numpy, oneread
oneread.softmax(numpy.zeros(3, "f4"))
print(json.dumps(oneread.last_kernel().isa))
"""

REFUSED = """
import json, oneread
try:
    oneread.softmax([1.0])
except oneread.BackendUnavailableError as error:
    print(json.dumps(str(error)))
"""


@pytest.fixture(scope="module")
def judged(fresh: Callable[..., Any]) -> Callable[[str], Any]:
    """Return a function that judges all ops under an instruction set, once."""
    return cache(lambda isa: fresh(CONFORMS, ONEREAD_ISA=isa))


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("isa", SUPPORTED)
def test_forced_isa_runs_and_is_within_the_bounds(
    isa: str, op: str, judged: Callable[[str], Any]
) -> None:
    ran, failures = judged(isa)[op]
    assert not failures, "\n".join(failures)
    assert ran == [[isa, name] for name in ("bfloat16", "float16", "float32", "float64")]


def test_columns_are_the_same_under_every_isa(fresh: Callable[..., Any]) -> None:
    said = [fresh(COLUMNS, ONEREAD_ISA=isa) for isa in SUPPORTED]
    assert [isa for isa, _ in said] == list(SUPPORTED)
    assert len({digest for _, digest in said}) == 1


@pytest.mark.parametrize("value", ["", " ", f" {SUPPORTED[-1]} "])
def test_empty_isa_is_automatic_and_spaces_do_not_count(
    value: str, fresh: Callable[..., Any]
) -> None:
    assert fresh(RAN, ONEREAD_ISA=value) == (value.strip() or SUPPORTED[0])


def test_best_isa_runs_by_default(fresh: Callable[..., Any]) -> None:
    assert fresh(RAN) == SUPPORTED[0]


@pytest.mark.parametrize("name", ["quantum", "X86-64-V2", "native", FOREIGN])
def test_isa_that_is_not_in_the_build_is_an_error(name: str, fresh: Callable[..., Any]) -> None:
    message = fresh(REFUSED, ONEREAD_ISA=name)
    for word in ("ONEREAD_ISA", repr(name), *SUPPORTED, "unset"):
        assert word in message


def test_isa_that_the_machine_lacks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lesser:
        """A machine that can run only the last instruction set of the build."""

        supported_isas = staticmethod(lambda: SUPPORTED[-1:])
        compiled_isas = staticmethod(cpu.native.compiled_isas)

        @staticmethod
        def set_isa(name: str) -> None:
            raise ValueError(f"this machine cannot run {name}")

    monkeypatch.setattr(cpu, "native", Lesser)
    with pytest.raises(BackendUnavailableError, match=r"ONEREAD_ISA.*can run") as refused:
        cpu._use_isa(SUPPORTED[0])
    assert "cannot run" in str(refused.value.__cause__)


def test_scalar_is_there_for_those_who_ask_and_comes_last() -> None:
    assert cpu.native.compiled_isas()[-1] == SUPPORTED[-1] == "scalar"
    assert len(SUPPORTED) > 1


def test_isa_is_known_by_the_names_in_the_docs() -> None:
    assert set(cpu.native.compiled_isas()) <= {*X86, "aarch64", "scalar"}
    assert set(SUPPORTED) <= set(cpu.native.compiled_isas())
    assert cpu.native.isa() in SUPPORTED
