"""What the records of the textbook kernels say: whether a pass or an access less pays.

Knows kernels by their names and accesses in the table; prints nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from oneread.bench.cases import TEXTBOOK_SOFTMAX, TEXTBOOK_TOP_K, own_kernel
from oneread.bench.judge import row
from oneread.bench.ours import OURS
from oneread.bench.store import OK, Record
from oneread.bench.tables import markdown, short
from oneread.spec import OPS

#: What each algorithm is compared with: the one that everybody uses.
BASE: Final = {"softmax": "safe", "softmax_topk": "safe_unfused"}

#: Nearer together than this, two times count as equal: what two runs of one program differ by.
SAME: Final = 0.05

NOTHING: Final = "No run has been committed yet."

#: The records of one case, ours first.
Records: TypeAlias = Sequence[Record]

_KERNELS: Final = {kernel.name: kernel for spec in OPS.values() for kernel in spec.kernels}


class Pair(NamedTuple):
    """One algorithm instead of another."""

    op: str
    algorithm: str
    base: str


#: The questions of the page, in its order.
PAIRS: Final = (
    Pair("softmax", "online", "safe"),
    Pair("softmax", "two_pass", "safe"),
    Pair("softmax", "ours", "safe"),
    Pair("softmax_topk", "online_unfused", "safe_unfused"),
    Pair("softmax_topk", "safe_fused", "safe_unfused"),
    Pair("softmax_topk", "online_fused", "safe_unfused"),
    Pair("softmax_topk", "online_fused", "safe_fused"),
    Pair("softmax_topk", "ours", "safe_fused"),
)


def is_textbook(group: str) -> bool:
    """Return whether a group of cases compares the textbook kernels."""
    return group.startswith((TEXTBOOK_SOFTMAX, TEXTBOOK_TOP_K))


def blocks(cases: Sequence[Records]) -> dict[str, str]:
    """Return the blocks of the page about online softmax on a CPU, by their names.

    Parameters
    ----------
    cases : sequence of sequence of Record
        The records of each case of a run. Cases without textbook kernels are left out.

    Returns
    -------
    dict of str to str
        Markdown. A block without records says so.
    """
    own = [case for case in cases if is_textbook(case[0].group)]
    widest = [case for case in own if not case[0].environment]
    narrower = [case for case in own if case[0].environment]
    inputs = dict.fromkeys(map(_input, narrower))
    widths = [case for each in inputs for case in own if _input(case) == each]
    found = {
        "textbook_answer": [line for pair in PAIRS for line in _answer(pair, own)],
        "textbook_softmax": _section("softmax", widest) + _goals(widest),
        "textbook_topk": _section("softmax_topk", widest),
        "textbook_narrower": [line for op in BASE for line in (*_table(_of(op, widths)), "")],
    }
    return {name: "\n".join(lines).strip() or NOTHING for name, lines in found.items()}


def _input(case: Records) -> tuple[object, ...]:
    first = case[0]
    return first.op, first.shape, first.k, first.order


def _of(op: str, cases: Sequence[Records]) -> list[Records]:
    return [case for case in cases if case[0].op == op]


def speed(case: Records, contestant: str, base: str) -> float | None:
    """Return how many times as fast one contestant is as another.

    Parameters
    ----------
    case : sequence of Record
        The records of one case.
    contestant, base : str
        Names of contestants.

    Returns
    -------
    float or None
        Above 1 the first is faster. None when one of them was not timed.
    """
    times = {record.contestant: record.median_s for record in case if record.status == OK}
    first, second = times.get(contestant), times.get(base)
    return second / first if first and second else None


def _contestant(algorithm: str) -> str:
    return OURS if algorithm == "ours" else own_kernel(algorithm)


def _speeds(pair: Pair, cases: Sequence[Records]) -> list[float]:
    names = _contestant(pair.algorithm), _contestant(pair.base)
    found = (speed(case, *names) for case in _of(pair.op, cases))
    return [value for value in found if value is not None]


def _answer(pair: Pair, cases: Sequence[Records]) -> list[str]:
    """Return the sentence that answers whether one algorithm pays instead of another."""
    wide = [case for case in cases if not case[0].environment]
    kinds = {
        "in the caches": [case for case in wide if case[0].cache == "warm"],
        "beyond them": [case for case in wide if case[0].cache != "warm"],
        "one element at a time": [case for case in cases if case[0].isa == "scalar"],
    }
    parts = [
        f"{kind} it {_verb(speeds)}, {_spread(speeds)}"
        for kind, of in kinds.items()
        if (speeds := _speeds(pair, of))
    ]
    if not parts:
        return []
    accesses = _accesses(pair.base, pair.op) / _accesses(pair.algorithm, pair.op)
    names = f"- **`{pair.algorithm}` instead of `{pair.base}`:**"
    return [f"{names} {'; '.join(parts)}. By the accesses alone: {accesses:.2f}x."]


def _verb(speeds: Sequence[float]) -> str:
    middle = statistics.median(speeds)
    if abs(middle - 1) < SAME:
        return "changes little"
    return "saves time" if middle > 1 else "costs time"


def _spread(speeds: Sequence[float]) -> str:
    if len(speeds) == 1:
        return _range(speeds)
    return f"{statistics.median(speeds):.2f}x ({_range(speeds)})"


def _range(speeds: Sequence[float]) -> str:
    least, most = f"{min(speeds):.2f}x", f"{max(speeds):.2f}x"
    return least if least == most else f"{least} to {most}"


def _accesses(algorithm: str, op: str) -> int:
    """Return the accesses an element of an algorithm, as they are counted."""
    kernels = OPS[op].kernels
    named = [kernel for kernel in kernels if kernel.algorithm == algorithm]
    kernel = named[0] if named else kernels[0]
    return kernel.loads + kernel.stores


def _section(op: str, cases: Sequence[Records]) -> list[str]:
    """Return a table and a sentence for each contestant."""
    of = _of(op, cases)
    if not of:
        return []
    base = own_kernel(BASE[op])
    lines = [*_table(of), ""]
    for name in _names(of, base):
        found = (speed(case, name, base) for case in of)
        speeds = [value for value in found if value is not None]
        if not speeds:
            continue
        faster = sum(value > 1 + SAME for value in speeds)
        slower = sum(value < 1 - SAME for value in speeds)
        lines.append(
            f"- `{_label(name)}`: {_spread(speeds)} as fast as `{BASE[op]}`; "
            f"faster in {faster} of {len(speeds)} cases, slower in {slower}."
        )
    return lines


def _table(cases: Sequence[Records]) -> list[str]:
    """Return a table: the time of the base, and how many times as fast the others are.

    Of several instruction sets it shows our own kernels alone.
    """
    if not cases:
        return []
    op = cases[0][0].op
    base = own_kernel(BASE[op])
    several = len({case[0].isa for case in cases}) > 1
    names = [name for name in _names(cases, base) if name.startswith(OURS) or not several]
    counts = {base: 0, **dict.fromkeys(names, 0)}
    for record in (record for case in cases for record in case if record.kernel):
        kernel = _KERNELS[record.kernel["name"]] if record.kernel else None
        if kernel and record.contestant in counts:
            counts[record.contestant] = kernel.loads + kernel.stores
    head = ["case", f"`{BASE[op]}`, us", *(f"`{_label(name)}`" for name in names)]
    accesses = ["accesses an element", *(str(count or "") for count in counts.values())]
    alone = [f"{counts[base] / counts[name]:.2f}x" if counts[name] else "" for name in names]
    lines = [_line(case, base, names, several) for case in cases]
    return markdown([head, accesses, ["by the accesses alone", "", *alone], *lines])


def _line(case: Records, base: str, names: Sequence[str], several: bool) -> list[str]:
    first = case[0]
    label = short(first) + (", sorted" if first.order == "sorted" else "")
    times = {record.contestant: record.median_s for record in case}
    time = times.get(base)
    speeds = [speed(case, name, base) for name in names]
    return [
        f"{label}, {first.isa}" if several else label,
        f"{time * 1e6:.0f}" if time else "-",
        *(f"{value:.2f}x" if value else "-" for value in speeds),
    ]


def _names(cases: Sequence[Records], base: str) -> list[str]:
    """Return who was timed beside the base: the textbooks in their order, ours, the others."""
    found = dict.fromkeys(r.contestant for case in cases for r in case if r.status == OK)
    names = [name for name in found if name != base]
    return sorted(names, key=lambda name: (not name.startswith(OURS), name == OURS))


def _label(contestant: str) -> str:
    return "ours" if contestant == OURS else contestant.removeprefix(own_kernel(""))


def _goals(cases: Sequence[Records]) -> list[str]:
    """Return what became of the goals, and the cases that missed them."""
    verdicts = [(case[0], verdict) for case in cases for verdict in row(case).verdicts]
    judged = [(record, verdict) for record, verdict in verdicts if verdict.met is not None]
    if not judged:
        return []
    missed = [f"{verdict.reached} in {short(of)}" for of, verdict in judged if not verdict.met]
    text = f"- Goal, {judged[0][1].goal}: met in {len(judged) - len(missed)} of {len(judged)} cases"
    return [f"{text}; {', '.join(missed)}." if missed else f"{text}."]
