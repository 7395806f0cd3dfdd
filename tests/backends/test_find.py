"""Which backend is asked, and that no library is imported for it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from oneread.backends import find, numpy_


def run(code: str) -> str:
    """Return what a fresh interpreter prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_arrays_lists_and_unknown_things_belong_to_numpy() -> None:
    for x in (np.zeros(3), [1.0], 1.0, object()):
        assert find.find(x) is numpy_


def test_tensors_belong_to_torch() -> None:
    torch = pytest.importorskip("torch", reason="finds a tensor")
    assert find.find(torch.zeros(2)).NAME == "torch"
    assert find.by_name("torch") is find.find(torch.zeros(2))


def test_no_library_is_imported_by_an_op() -> None:
    code = (
        "import sys, numpy as np, oneread\n"
        "x = np.zeros((2, 3), np.float32)\n"
        "oneread.softmax([1, 2]); oneread.read(x, top_k=2); oneread.State.of(x).pack()\n"
        "oneread.explain(x); oneread.warm('softmax', (2, 3), 'bfloat16')\n"
        "print(sorted({'torch', 'cupy', 'jax', 'ml_dtypes'} & set(sys.modules)))"
    )
    assert run(code) == "[]"


def test_a_library_is_known_only_once_somebody_has_imported_it() -> None:
    code = (
        "import oneread\nfrom oneread.backends import find\n"
        "print(find.by_name('numpy').NAME, find.by_name('torch'), find.by_name('cupy'))"
    )
    assert run(code) == "numpy None None"


def test_torch_may_be_imported_after_an_op() -> None:
    pytest.importorskip("torch", reason="imports it after an op")
    code = (
        "import numpy as np, oneread\noneread.softmax(np.zeros(2))\nimport torch\n"
        "print(type(oneread.softmax(torch.zeros(2))).__name__)"
    )
    assert run(code) == "Tensor"


def test_half_imported_library_is_not_asked() -> None:
    code = (
        "import sys, types\nsys.modules['torch'] = types.ModuleType('torch')\n"
        "import oneread\nprint(oneread.softmax([0.0, 0.0]))"
    )
    assert run(code) == "[0.5 0.5]"


def test_state_of_a_library_that_is_not_imported_says_so() -> None:
    torch = pytest.importorskip("torch", reason="makes a state of a tensor")
    import oneread

    data = oneread.State.of(torch.zeros(4)).pack()
    code = (
        f"import oneread\nstate = oneread.State.unpack({data!r})\n"
        "try:\n    state.lse\nexcept oneread.BackendUnavailableError as error:\n    print(error)"
    )
    assert "import torch first" in run(code)
