"""The build backend is scikit-build-core's, with the page made before anything is packed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOOKS = ("sdist", "wheel", "editable")

#: All of PEP 517 and PEP 660.
NAMES = {f"build_{one}" for one in HOOKS} | {f"get_requires_for_build_{one}" for one in HOOKS}
NAMES |= {f"prepare_metadata_for_build_{one}" for one in HOOKS if one != "sdist"}


@pytest.fixture
def done() -> list[Any]:
    """Return what was done, in order."""
    return []


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, done: list[Any]) -> ModuleType:
    """Return the backend between a page and a scikit-build-core that note what they are asked."""

    def noted(name: str, result: Any) -> Any:
        return lambda *arguments: done.append((name, *arguments)) or result

    results = {name: ["native"] if name.startswith("get_") else f"{name}.out" for name in NAMES}
    native = {name: noted(name, result) for name, result in results.items()}
    page = SimpleNamespace(make=noted("page", None), requires=lambda: ["node"])
    build = SimpleNamespace(build=SimpleNamespace(**native))
    monkeypatch.setitem(sys.modules, "page", page)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "scikit_build_core", build)  # type: ignore[arg-type]
    spec = importlib.util.spec_from_file_location("backend", ROOT / "tools/build/backend.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_hook_is_there(backend: ModuleType) -> None:
    assert {name for name in NAMES if callable(getattr(backend, name, None))} == NAMES


@pytest.mark.parametrize("hook", HOOKS)
def test_page_is_made_before_anything_is_packed(
    backend: ModuleType, done: list[Any], hook: str
) -> None:
    rest = [] if hook == "sdist" else ["metadata"]
    name = f"build_{hook}"
    assert getattr(backend, name)("folder", {"a": "b"}, *rest) == f"{name}.out"
    assert done == [("page",), (name, "folder", {"a": "b"}, *rest)]


@pytest.mark.parametrize("hook", HOOKS)
def test_page_may_need_more_than_the_module(
    backend: ModuleType, done: list[Any], hook: str
) -> None:
    name = f"get_requires_for_build_{hook}"
    assert getattr(backend, name)({"a": "b"}) == ["native", "node"]
    assert done == [(name, {"a": "b"})]


@pytest.mark.parametrize("hook", ["wheel", "editable"])
def test_metadata_needs_no_page(backend: ModuleType, done: list[Any], hook: str) -> None:
    getattr(backend, f"prepare_metadata_for_build_{hook}")("folder")
    assert done == [(f"prepare_metadata_for_build_{hook}", "folder")]
