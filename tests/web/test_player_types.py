"""The records of the page are those of the trace file's schema."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """Return ``tools/player_types.py``."""
    spec = importlib.util.spec_from_file_location("player_types", ROOT / "tools/player_types.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_committed_file_is_fresh(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["player_types.py", "--check"])
    assert tool.main() == 0


def test_stale_file_is_found(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stale = tmp_path / "schema.ts"
    stale.write_text(tool.TARGET.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    monkeypatch.setattr(tool, "TARGET", stale)
    monkeypatch.setattr("sys.argv", ["player_types.py", "--check"])
    assert tool.main() == 1


def test_word_that_has_no_translation_is_refused(tool: ModuleType) -> None:
    with pytest.raises(ValueError, match="no word for pattern"):
        tool.types({"$defs": {"name": {"type": "string", "pattern": "a+"}}, "type": "null"})


def test_array_of_two_types_has_parentheses(tool: ModuleType) -> None:
    either = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    text = tool.types({"$defs": {"one": {"type": "array", "items": either}}, "type": "null"})
    assert "export type One = (number | null)[];" in text


def test_property_that_is_not_required_is_optional(tool: ModuleType) -> None:
    one = {
        "type": "object",
        "additionalProperties": False,
        "required": ["a"],
        "properties": {"a": {"type": "string"}, "b": {"type": "boolean", "enum": [True]}},
    }
    text = tool.types({"$defs": {"one": one}, "type": "null"})
    assert "a: string;" in text
    assert "b?: true;" in text
