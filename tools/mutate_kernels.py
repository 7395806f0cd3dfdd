"""Break each kernel of the gallery by one small change at a time, and see that the probe notices.

Without a barrier, without a guard, a tree that starts at half its height, an index that is off by
one. ``python tools/mutate_kernels.py [KEY ...]`` prints the mutants that no launch of the probe
shows a fault in; tests/trace/harmless_mutants.toml says of each why it is harmless. Standard
library only.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from oneread.source.catalogue import read_catalogue  # noqa: E402
from oneread.trace.case import Case  # noqa: E402
from oneread.trace.limits import Limits  # noqa: E402
from oneread.trace.planning import plan  # noqa: E402
from oneread.trace.probing import launched  # noqa: E402
from oneread.trace.repairs import closed  # noqa: E402
from oneread.trace.subject import Subject  # noqa: E402

BARRIER = re.compile(r"__sync(?:threads|warp)\(\);")
IF = re.compile(r"\bif (?=\()")
LEAVES = re.compile(r"\s*(?:return|continue|break)\b")
#: A loop that halves, and what it starts at.
TREE = re.compile(r"\bfor \(int (\w+) = ([^;]+); \1 > \d+; (?=\1 /= 2|\1 >>= 1|\1 = \(?\1)")
INDEX = re.compile(r"\b(\w+)(?=\[)")
#: A choice between a value and a constant that stands in for it.
CHOICE = re.compile(
    r"(?:(?<== )|(?<=return ))([\w+ ]+ (?:<|==) -?\w+) \? ([^:;]+) : ([^;,]+)(?=;|,)"
)
CONSTANT = re.compile(r"-?(?:[\d.]+f?|INFINITY)")
#: In front of these a name in brackets is no declaration of an array.
WORDS = frozenset(["return", "else", "case"])

#: What a launch of the probe needs is far below; a mutant that loops for ever is flagged by it.
LIMITS = Limits(steps=60_000)


class Mutant(NamedTuple):
    """A text with one change; `name` says which, in words that outlive a change elsewhere."""

    name: str
    text: str


def mutants(text: str) -> list[Mutant]:
    """Return every mutant of a kernel; those of one name get numbers."""
    found: list[Mutant] = []
    times: dict[str, int] = {}
    code = bare(text)
    for start, stop, new, kind in changes(code):
        line = code[code.rfind("\n", 0, start) + 1 : code.find("\n", stop)].strip()
        name = f"{kind} | {' '.join(line.split())}"
        times[name] = times.get(name, 0) + 1
        number = f" | {times[name]}" if times[name] > 1 else ""
        found.append(Mutant(name + number, text[:start] + new + text[stop:]))
    return found


def bare(text: str) -> str:
    """Return the text with blanks for comments, directives and assertions."""
    unwanted = re.compile(r"//[^\n]*|^#[^\n]*|^static_assert[^;]*;", re.MULTILINE)
    return unwanted.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def changes(code: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield where a change starts and stops, what comes there, and its kind."""
    for barrier in BARRIER.finditer(code):
        before = code[: barrier.start()].rstrip().rpartition("\n")[2].strip()
        yield *barrier.span(), ";", f"no barrier after {before}"
    for guard in IF.finditer(code):
        stop = closed(code, guard.end())
        leaves = LEAVES.match(code, stop) is not None
        yield guard.end(), stop, "(false)" if leaves else "(true)", "no guard"
    for choice in CHOICE.finditer(code):
        kept = [part for part in choice.groups()[1:] if not CONSTANT.fullmatch(part.strip())]
        if len(kept) == 1:
            yield *choice.span(), f"({kept[0]})", "no guard"
    for tree in TREE.finditer(code):
        yield *tree.span(2), f"({tree[2]}) / 2", "half the tree"
    for index in INDEX.finditer(code):
        if not is_declared(code, index.start()):
            stop = closed(code, index.end())
            inner = code[index.end() + 1 : stop - 1]
            yield index.end(), stop, f"[({inner}) + 1]", f"{index[1]}[{inner} + 1]"


def is_declared(code: str, start: int) -> bool:
    """Say whether a name with brackets declares an array: a type stands before it."""
    before = re.search(r"(\w+) +$", code[:start])
    return before is not None and before[1] not in WORDS


def survivors(key: str) -> tuple[int, list[str]]:
    """Return how many mutants a kernel has, and the names of those that no launch shows."""
    subject = Subject.of_gallery(key)
    cases = plan(subject, Case(limits=LIMITS)).launches
    clean = [case for case in cases if not launched(subject, case).refused]
    # Several warps and a tail show most of them: such a launch first.
    clean.sort(key=lambda case: (case.defines.get("TILE") != "64", case.vocab != 250))
    broken = mutants(subject.text)
    return len(broken), [one.name for one in broken if not is_flagged(subject, one.text, clean)]


def is_flagged(subject: Subject, text: str, cases: list[Case]) -> bool:
    """Say whether an error, a warning or a limit shows that something is wrong."""
    trial = subject.with_text(text)
    for case in cases:
        outcome = launched(trial, case)
        if outcome.refused:
            raise ValueError(f"a mutant of {subject.called} cannot be read: {outcome.refused}")
        if outcome.stopped or any(fault.severity != "note" for fault in outcome.faults):
            return True
    return False


def keys() -> list[str]:
    """Return the kernels that have no fault of their own."""
    return [key for key, entry in read_catalogue().kernels.items() if not entry.mended]


def main() -> int:
    """Print the mutants that no launch shows."""
    for key in sys.argv[1:] or keys():
        start = time.process_time()
        count, left = survivors(key)
        print(f"# {key}: {len(left)} of {count} left, {time.process_time() - start:.1f} s")
        print("".join(f"{name}\n" for name in left), end="", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
