"""Every example in a docstring runs and gives what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import oneread

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(oneread.__path__, "oneread.")
    if not module.name.endswith(("._native", "__main__"))
)


@pytest.mark.parametrize("name", ["oneread", *MODULES])
def test_examples_of_module(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name not in ("cupy", "torch", "triton"):
            raise
        pytest.skip(f"the module is for {missing.name}, which is not installed")
    failed, _ = doctest.testmod(module, optionflags=OPTIONS)
    assert failed == 0


#: What does something; results, records and errors are seen in the examples of these.
ACTIVE = [name for name in oneread.__all__ if name[0].islower()] + ["State"]


@pytest.mark.parametrize("name", ACTIVE)
def test_public_function_or_class_has_an_example(name: str) -> None:
    assert ">>> " in (getattr(oneread, name).__doc__ or "")
