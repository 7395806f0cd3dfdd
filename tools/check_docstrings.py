"""Validate the docstrings of all public names by numpydoc's rules.

Public is what ``__all__`` of a public module names, and the public methods of such classes. Needs
the installed package and numpydoc.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from types import FunctionType

from numpydoc.validate import validate

MODULES = (
    "oneread", "oneread.spec", "oneread.related", "oneread.testing", "oneread.trace",
    "oneread.pytest_plugin",
    *((f"oneread.torch{name}" for name in ("", ".trl", ".vllm", ".sglang"))
      if importlib.util.find_spec("torch") else ()),
)  # fmt: skip

#: Rules that are not ours, and why.
IGNORED = {
    "ES01": "an extended summary is only for what the summary leaves open",
    "EX01": "tests/docs asks for examples",
    "GL01": "summaries begin on the line of the quotes",
    "PR06": "an array of integers is not an int",
    "RT03": "a named return value needs no second description",
    "SA01": "sections are only those that apply",
    "SA04": "a name in See Also says enough",
}
IN_CLASSES = {
    "PR01": "fields of a result are documented where they stand",
    "SS05": "a class is named, not commanded",
}
IN_METHODS = {
    "PR01": "an option that an op has too is documented there",
    "PR03": "and may be mentioned in a group",
    "PR04": "without its type",
    "RT01": "a summary that says what is returned needs no section",
}


def public() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the name of each public thing once, with the rules that are not for its kind."""
    seen = set()
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in module.__all__:
            thing = getattr(module, name)
            if id(thing) in seen:
                continue
            seen.add(id(thing))
            if inspect.isfunction(thing):
                # by its home: oneread.kernels is a function, and a folder of sources
                yield f"{thing.__module__}.{name}", {}
            elif inspect.isclass(thing):
                yield f"{module_name}.{name}", IN_CLASSES
                for method in methods(thing):
                    yield f"{module_name}.{name}.{method}", IN_METHODS


def methods(owner: type) -> Iterator[str]:
    """Yield the public methods and properties that a class defines itself."""
    for name, member in vars(owner).items():
        function = getattr(member, "__func__", member)  # of a class or static method
        if not name.startswith("_") and isinstance(function, FunctionType | property):
            yield name


def main() -> int:
    """Print what is wrong; 1 when something is."""
    found = [
        f"{name}: {code} {message}"
        for name, ignored in public()
        for code, message in validate(name)["errors"]
        if code not in IGNORED and code not in ignored
    ]
    print("\n".join(found) if found else "docstrings: all public names are in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
