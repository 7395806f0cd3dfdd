"""Write the records of a trace file as TypeScript, from the schema.

Knows the few words of JSON Schema that `trace.schema.json` uses; any other one is an error.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = ROOT / "src" / "oneread" / "trace" / "trace.schema.json"
TARGET = ROOT / "src" / "oneread" / "web" / "player" / "src" / "schema.ts"

HEAD = (
    "/** Records of a trace file. Made from `trace.schema.json` by `tools/player_types.py`; "
    "not edited. */\n"
)

#: Words that restrict a value beyond what a type of TypeScript can say.
_UNSAID = {"minimum", "minItems", "maxItems"}
_KNOWN = _UNSAID | {
    "$defs", "$ref", "$schema", "additionalProperties", "anyOf", "const", "description", "enum",
    "items", "properties", "required", "title", "type",
}  # fmt: skip
_PLAIN = {"integer": "number", "number": "number", "string": "string", "null": "null"}
_WIDTH = 100

Schema = dict[str, Any]


def types(schema: Schema) -> str:
    """Return the module that declares what a schema describes."""
    out = [HEAD]
    for name, one in schema["$defs"].items():
        out.append(_declaration(_named(name), one))
    root = {key: value for key, value in schema.items() if key != "$defs"}
    out.append(_declaration("Trace", root))
    return "\n".join(out)


def _named(name: str) -> str:
    # `Number` is a name of the language already.
    return "Num" if name == "number" else name[0].upper() + name[1:]


def _declaration(name: str, one: Schema) -> str:
    comment = "".join(line + "\n" for line in _comment(one, ""))
    if "properties" in one:
        return f"{comment}export interface {name} {_type(one, '')}\n"
    return f"{comment}export type {name} = {_type(one, '')};\n"


def _type(one: Schema, indent: str) -> str:
    unknown = set(one) - _KNOWN
    if unknown:
        raise ValueError(f"no word for {', '.join(sorted(unknown))}")
    if "$ref" in one:
        return _named(one["$ref"].removeprefix("#/$defs/"))
    if "anyOf" in one:
        return " | ".join(_type(part, indent) for part in one["anyOf"])
    if "const" in one:
        return json.dumps(one["const"])
    if "enum" in one:
        return " | ".join(map(json.dumps, one["enum"]))
    if one["type"] == "array":
        inner, several = _type(one["items"], indent), {"anyOf", "enum"} & set(one["items"])
        return f"({inner})[]" if several else f"{inner}[]"
    if one["type"] == "object":
        return _object(one, indent)
    return _PLAIN[one["type"]]


def _object(one: Schema, indent: str) -> str:
    if "properties" not in one:
        others = one.get("additionalProperties", True)
        return f"Record<string, {'unknown' if others is True else _type(others, indent)}>"
    if one.get("additionalProperties") is not False:
        raise ValueError("an object with properties closes its list of them")
    inner = indent + "  "
    lines = ["{"]
    for name, part in one["properties"].items():
        lines += _comment(part, inner)
        mark = "" if name in one.get("required", ()) else "?"
        lines.append(f"{inner}{name}{mark}: {_type(part, inner)};")
    return "\n".join([*lines, indent + "}"])


def _comment(one: Schema, indent: str) -> Iterator[str]:
    text = one.get("description")
    if not text:
        return
    short = f"{indent}/** {text} */"
    if len(short) <= _WIDTH:
        yield short
        return
    yield f"{indent}/**"
    yield from textwrap.wrap(
        text, _WIDTH, initial_indent=f"{indent} * ", subsequent_indent=f"{indent} * "
    )
    yield f"{indent} */"


def main() -> int:
    """Write the file, or with `--check` say whether it is fresh."""
    wanted = types(json.loads(SCHEMA.read_text(encoding="utf-8")))
    if sys.argv[1:] == ["--check"]:
        fresh = TARGET.is_file() and TARGET.read_text(encoding="utf-8") == wanted
        if not fresh:
            print(f"{TARGET} is not what {SCHEMA.name} says; run python tools/player_types.py")
        return 0 if fresh else 1
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
