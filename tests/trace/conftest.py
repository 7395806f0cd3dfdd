"""As much of JSON Schema as the trace file's schema uses; what it does not know is an error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from oneread.trace.tracefile import SCHEMA_FILE

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
WORDS = {"$schema", "$defs", "title", "description", "type"}


def errors(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "") -> Iterator[str]:
    """Yield what is wrong with a value."""
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or isinstance(value, bool)):
        yield f"{at}: {value!r:.40} is no {kind}"
        return
    for word, rule in schema.items():
        if word not in WORDS:
            yield from RULES[word](value, rule, schema, root, at)


def _ref(value: Any, rule: str, _: Any, root: Any, at: str) -> Iterator[str]:
    yield from errors(value, root["$defs"][rule.removeprefix("#/$defs/")], root, at)


def _const(value: Any, rule: Any, *rest: Any) -> Iterator[str]:
    if value != rule:
        yield f"{rest[-1]}: {value!r:.40} is not {rule!r}"


def _enum(value: Any, rule: list[Any], *rest: Any) -> Iterator[str]:
    if value not in rule:
        yield f"{rest[-1]}: {value!r:.40} is none of {rule}"


def _any_of(value: Any, rule: list[Any], _: Any, root: Any, at: str) -> Iterator[str]:
    found = [list(errors(value, one, root, at)) for one in rule]
    if all(found):
        yield from found[0]


def _required(value: Any, rule: list[str], *rest: Any) -> Iterator[str]:
    yield from (f"{rest[-1]}: {name} is missing" for name in rule if name not in value)


def _properties(value: Any, rule: dict[str, Any], _: Any, root: Any, at: str) -> Iterator[str]:
    for name in rule.keys() & value.keys():
        yield from errors(value[name], rule[name], root, f"{at}/{name}")


def _additional(value: Any, rule: Any, schema: Any, root: Any, at: str) -> Iterator[str]:
    for name in value.keys() - schema.get("properties", {}).keys():
        if rule is False:
            yield f"{at}: {name} is not known"
        else:
            yield from errors(value[name], rule, root, f"{at}/{name}")


def _items(value: Any, rule: Any, _: Any, root: Any, at: str) -> Iterator[str]:
    for place, one in enumerate(value):
        yield from errors(one, rule, root, f"{at}/{place}")


def _minimum(value: Any, rule: float, *rest: Any) -> Iterator[str]:
    if value < rule:
        yield f"{rest[-1]}: {value} is below {rule}"


def _fewest(value: Any, rule: int, *rest: Any) -> Iterator[str]:
    if len(value) < rule:
        yield f"{rest[-1]}: fewer than {rule}"


def _most(value: Any, rule: int, *rest: Any) -> Iterator[str]:
    if len(value) > rule:
        yield f"{rest[-1]}: more than {rule}"


RULES: dict[str, Any] = {
    "$ref": _ref,
    "const": _const,
    "enum": _enum,
    "anyOf": _any_of,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    "minimum": _minimum,
    "minItems": _fewest,
    "maxItems": _most,
}


@pytest.fixture(scope="session")
def schema_errors() -> Callable[[Any], list[str]]:
    """Return what says how a value differs from the trace file's schema."""
    schema = json.loads(SCHEMA_FILE.read_text("utf-8"))
    return lambda value: list(errors(value, schema, schema))
