"""What importing loads and costs, each seen in a fresh interpreter."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

#: Libraries that may be installed and must not be loaded before they are asked for.
HEAVY = ("torch", "cupy", "jax", "cuda", "scipy", "ml_dtypes", "typer", "rich")
MAXIMUM_MS = 30.0
RUNS = 9


def run(code: str) -> str:
    """Return what a fresh interpreter prints, outside of the checkout."""
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd="/").stdout


def loaded_by(code: str) -> set[str]:
    """Return the top-level modules that some code adds to those of a bare interpreter."""
    added = "import sys, json\nbefore = set(sys.modules)\n" + code + "\n"
    added += "print(json.dumps(sorted({m.split('.')[0] for m in set(sys.modules) - before})))"
    return set(json.loads(run(added)))


def test_import_loads_no_array_library_but_numpy() -> None:
    assert not loaded_by("import oneread") & set(HEAVY)


def test_using_an_op_loads_no_array_library_but_numpy() -> None:
    code = "import numpy, oneread\noneread.softmax(numpy.zeros(3, 'f4'))\noneread.State"
    assert not loaded_by(code) & set(HEAVY)


def test_spec_loads_the_standard_library_only() -> None:
    added = loaded_by("import oneread.spec")
    assert added - set(sys.stdlib_module_names) == {"oneread"}


def test_tracer_loads_the_standard_library_only() -> None:
    added = loaded_by("from oneread.trace import *\nimport oneread.source")
    assert added - set(sys.stdlib_module_names) == {"oneread"}


def test_every_public_name_resolves() -> None:
    code = "import oneread\nfor name in oneread.__all__: getattr(oneread, name)\nprint('all')"
    assert run(code) == "all\n"


def test_unknown_name_is_an_attribute_error() -> None:
    code = "import oneread\ntry:\n    oneread.nothing\nexcept AttributeError as e:\n    print(e)"
    assert "nothing" in run(code)


@pytest.mark.alone
def test_import_costs_less_than_30_ms_over_numpy(slowness: Callable[[], float]) -> None:
    # All ops included. Processor time of this thread, not wall time: what else runs, NumPy's own
    # threads among it, is not our cost.
    code = (
        "import time, numpy\nstart = time.thread_time()\nimport oneread\n"
        "[getattr(oneread, name) for name in oneread.__all__]\n"
        "print((time.thread_time() - start) * 1e3)"
    )
    times = [float(run(code)) for _ in range(RUNS)]
    assert min(times) < MAXIMUM_MS * slowness(), times  # what else runs only adds


@pytest.mark.alone
def test_importing_the_tracer_is_cheap_and_loads_it_when_it_is_used(
    slowness: Callable[[], float],
) -> None:
    code = (
        "import time, sys, oneread\nstart = time.thread_time()\nimport oneread.trace\n"
        "cost = (time.thread_time() - start) * 1e3\n"
        "assert 'oneread.trace.running' not in sys.modules\noneread.trace.run\nprint(cost)"
    )
    times = [float(run(code)) for _ in range(RUNS)]
    assert min(times) < MAXIMUM_MS * slowness(), times  # what else runs only adds


def test_what_a_worker_of_the_page_needs_is_the_standard_library_only() -> None:
    added = loaded_by("import oneread.web.jobs, oneread.web.worker")
    assert added - set(sys.stdlib_module_names) == {"oneread"}
