"""Write the generated parts of the pages of the gallery from its files.

``--check`` says whether the pages still have what the catalogue and the kernels give. A generated
part stands between lines ``<!-- gallery:NAME ARGUMENT -->`` and ``<!-- gallery:end -->``.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import gallery_beside as beside
import pages

from oneread.bench.gallery import entries, tables
from oneread.source.catalogue import ExpectedFault, KernelEntry
from oneread.source.measured import measured_folder
from oneread.trace import Case
from oneread.trace.gallery import run_kernel

ROOT = Path(__file__).resolve().parents[1]
PAGES = tuple(
    ROOT / "docs" / name for name in ("gallery.md", "fault-zoo.md", "gallery-on-a-gpu.md")
)
FOLDER = "../src/oneread/kernels/gallery"
BLOCK = re.compile(r"(<!-- gallery:(\w+) ?(\w*) -->\n).*?(<!-- gallery:end -->)", re.DOTALL)

#: What `oneread trace` takes where a fault of the catalogue says nothing else.
USUAL = {"rows": (None, 4), "vocab": (None, 256), "input": ("", "normal"), "block": (None,)}


def each(numbers: Mapping[str, str]) -> str:
    """Return loads or stores of each buffer, an element."""
    return ", ".join(f"{number} of {name}" for name, number in numbers.items())


def link(key: str) -> str:
    """Return the key of a kernel as a link to its file."""
    return f"[`{key}`]({FOLDER}/{key}.cu)"


def table_of_kernels(_: str) -> str:
    """Return the kernels outside of the zoo, with their counts."""
    head = ["kernel", "source", "loads", "stores", "exponentials a row", "barriers a block"]
    return tables.markdown(
        head,
        (
            [link(k.key), k.source, each(k.loads), each(k.stores), f"`{k.exps}`", f"`{k.barriers}`"]
            for k in entries.catalogue().kernels.values()
            if not k.key.startswith("zoo_")
        ),
    )


def table_of_sequences(_: str) -> str:
    """Return the sequences of kernels."""
    return tables.markdown(
        ["sequence", "launches", "source"],
        (
            [f"`{s.key}`", ", then ".join(f"`{one.kernel}`" for one in s.launches), s.source]
            for s in entries.catalogue().sequences.values()
        ),
    )


def table_of_faults(_: str) -> str:
    """Return the kernels with a fault, and the clauses that they break."""
    return tables.markdown(
        ["kernel", "mended in", "clauses broken", "what the tracer finds"],
        (
            [link(k.key), link(k.mended), ", ".join(k.breaks), ", ".join(identifiers(k))]
            for k in entries.catalogue().kernels.values()
            if k.mended
        ),
    )


def identifiers(kernel: KernelEntry) -> list[str]:
    """Return what the tracer calls the faults of a kernel, each once."""
    return list(dict.fromkeys(f"`{fault.id}`" for fault in kernel.faults))


def command(key: str, fault: ExpectedFault) -> str:
    """Return the command that shows a fault."""
    words = [f"oneread trace {key}"]
    asked = {"rows": fault.rows, "vocab": fault.vocab, "input": fault.input, "block": fault.block}
    words += [f"--{name} {value}" for name, value in asked.items() if value not in USUAL[name]]
    words += [f"--define {macro}={value}" for macro, value in (fault.defines or {}).items()]
    return " ".join(words)


def proof(key: str) -> str:
    """Return the commands that show the faults of a kernel, and what each finds."""
    found: dict[str, list[ExpectedFault]] = {}
    for fault in entries.catalogue().kernels[key].faults:
        found.setdefault(command(key, fault), []).append(fault)
    shown = "\n".join(f"$ {line}" for line in found)
    what = "; then ".join(by_severity(key, faults) for faults in found.values())
    return f"```console\n{shown}\n```\n\nIt finds {what}."


def launch(fault: ExpectedFault) -> Case:
    """Return the launch of `command`."""
    usual = Case()
    return Case(
        rows=fault.rows or usual.rows,
        vocab=fault.vocab or usual.vocab,
        block=fault.block,
        input=fault.input or usual.input,
        defines={macro: str(value) for macro, value in (fault.defines or {}).items()},
    )


def by_severity(key: str, faults: list[ExpectedFault]) -> str:
    """Return what the tracer finds in one launch, worst first, as far as the catalogue lists it."""
    listed = [one.id for one in faults]
    found: dict[str, dict[str, None]] = {}
    for fault in run_kernel(key, launch(faults[0])).faults:
        if fault.id in listed:
            found.setdefault(fault.severity, {})[f"`{fault.id}`"] = None
    parts = [f"the {one}{'s' * (len(ids) > 1)} {', '.join(ids)}" for one, ids in found.items()]
    return " and ".join(parts)


def fix(key: str) -> str:
    """Return how the twin differs, and the command that runs it."""
    kernel = entries.catalogue().kernels[key]
    twin = kernel.mended
    before, after = (code(entries.source(k), key, twin) for k in (key, twin))
    lines = [
        line
        for line in difflib.unified_diff(before, after, n=1, lineterm="")
        if not line.startswith(("---", "+++", "@@"))
    ]
    run = command(twin, kernel.faults[0])
    return "\n".join(["```diff", *lines, "```", "", "```console", f"$ {run}", "```"])


def code(text: str, key: str, twin: str) -> list[str]:
    """Return the lines of a kernel below its head comment, its name left open."""
    body = text.partition("\n\n")[2]
    return body.replace(twin, "NAME").replace(key, "NAME").splitlines()


PARTS: dict[str, Callable[[str], str]] = {
    "kernels": table_of_kernels,
    "sequences": table_of_sequences,
    "faults": table_of_faults,
    "proof": proof,
    "fix": fix,
    "measured": lambda name: tables.part(name, measured_folder()),
    "beside": lambda name: beside.PARTS[name](name),
}


def filled(page: str) -> str:
    """Return a page with its generated parts made anew."""
    return BLOCK.sub(lambda part: f"{part[1]}\n{PARTS[part[2]](part[3])}\n\n{part[4]}", page)


def main() -> int:
    """Write the pages, or check them."""
    about = __doc__.partition("\n")[0]
    return pages.write_or_check(about, PAGES, filled, "the gallery gives", "tools/gallery_docs.py")


if __name__ == "__main__":
    sys.exit(main())
