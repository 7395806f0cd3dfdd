"""Names of a package are loaded when they are used, and once."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from oneread._lazy import lazy


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("lazily")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    find, names = lazy(module.__name__, {"colorsys": ("rgb_to_hsv",), "decimal": ("Decimal",)})
    module.__dict__.update(__getattr__=find, __dir__=names)
    return module


def test_name_is_found_in_its_home_and_kept(package: ModuleType) -> None:
    assert "rgb_to_hsv" not in vars(package)
    found = package.rgb_to_hsv
    assert found is sys.modules["colorsys"].rgb_to_hsv
    assert vars(package)["rgb_to_hsv"] is found


def test_names_are_listed_before_they_are_loaded(package: ModuleType) -> None:
    assert {"rgb_to_hsv", "Decimal"} <= set(dir(package))


def test_unknown_name_is_an_attribute_error_of_the_package(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match="module 'lazily' has no attribute 'nothing'"):
        package.nothing  # noqa: B018
