"""The pages of the documentation and the tool that reads them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Tools import each other by name, as where they are run; what is installed goes first.
sys.path.append(str(ROOT / "tools"))


@pytest.fixture(scope="session")
def markdown() -> ModuleType:
    """Return ``tools/markdown.py``."""
    spec = importlib.util.spec_from_file_location("markdown_tool", ROOT / "tools/markdown.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that takes `page` every page in turn."""
    if "page" in metafunc.fixturenames:
        pages = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
        names = [str(path.relative_to(ROOT)) for path in pages]
        metafunc.parametrize("page", pages, ids=names)
