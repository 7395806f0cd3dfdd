"""The claims of Milakov & Gimelshein (2018), as data, and the verdicts that records give.

Knows what the paper says; every number of ours comes from a record, and so does every verdict.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from oneread.report.paper.machines import Case, Machine, plain_rate, ratio, record, seconds
from oneread.spec import OPS

HOLDS: Final = "holds"
PART: Final = "holds in part"
FAILS: Final = "fails"
NOT_HERE: Final = "not measured here"

#: Part of its number at which a figure counts as reached: what two runs of one program differ by.
SLACK: Final = 0.95
#: Nearer together than this, two times count as equal.
SAME: Final = 0.05
#: Between these shares of plain traffic's rate, memory is what takes the time.
_BOUND: Final = (0.8, 1.2)

RULE: Final = (
    "A speed-up holds where it is reached, to 95 %, at every point of the claim; it holds in part "
    "where it is reached at some points, or where at every point at least half of the gain is "
    "there (1.15x of 1.3x, 3x of 5x); else it fails. Times are medians of contestants that took "
    "turns."
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What records say of a claim: the verdict, the number measured, and a sentence why."""

    verdict: str
    measured: str
    why: str
    ratios: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Speedup:
    """A claim about time: one kernel instead of another, at some lengths of a row."""

    key: str
    said: str
    figure: str
    op: str
    rows: int
    slow: str
    fast: str
    least: float
    vocab: int
    """The shortest row, or the only one."""
    k: int | None = None
    only: bool = False
    """Whether the claim is for rows of that length alone."""
    most: float | None = None
    """The upper end, where the paper gives a range."""

    def judge(self, machine: Machine) -> Finding:
        """Return what the records of a machine say of it."""
        points = {
            vocab: (case, value)
            for vocab, case in machine.of_paper(self.op, self.rows, self.k).items()
            if (vocab == self.vocab if self.only else vocab >= self.vocab)
            and (value := ratio(case, self.slow, self.fast)) is not None
        }
        if not points:
            return Finding(NOT_HERE, "-", "no run with these kernels")
        ratios = tuple(value for _, value in points.values())
        longest = max(points)
        why = self._why(points[longest][0])
        return Finding(speed_verdict(ratios, self.least), _span(points), why, ratios)

    def _why(self, case: Case) -> str:
        """Say what the accesses of both come to, beside plain traffic of the same bytes."""
        plain, size = plain_rate(case), case[0].rows * case[0].vocab * 4
        times = [seconds(case, name) for name in (self.slow, self.fast)]
        counts = [accesses(self.op, name) for name in (self.slow, self.fast)]
        if plain is None or None in times:
            return "plain traffic was not timed beside them"
        rates = [n * size / t / 1e9 for n, t in zip(counts, times, strict=True) if t]
        names = [_NAMES.get(name, name) for name in (self.slow, self.fast)]
        return (
            f"At V = {case[0].vocab}, {names[0]} makes {counts[0]} accesses an element, "
            f"{_rate(rates[0])}; {names[1]} {counts[1]}, {_rate(rates[1])}; "
            f"plain traffic reaches {_rate(plain)}: {_bound(*(rate / plain for rate in rates))}."
        )


def speed_verdict(ratios: Sequence[float], least: float) -> str:
    """Return the verdict on a speed-up, by `RULE`."""
    reached = [value >= SLACK * least for value in ratios]
    if all(reached):
        return HOLDS
    if any(reached) or min(ratios) >= 1 + (least - 1) / 2:
        return PART
    return FAILS


def _bound(slow: float, fast: float) -> str:
    """Say what takes the time, from the shares of plain traffic's rate."""
    low, high = _BOUND
    if slow > high:
        cached = "caches serve a part of the accesses of the first"
        if fast > high:
            return "caches serve a part of the accesses of both, so one that is saved was cheap"
        if fast < low:
            return f"{cached}, and the second does not keep the memory busy"
        return f"{cached}, so those that are saved were cheap"
    if fast < low:
        if slow < low:
            return "neither keeps the memory busy, so arithmetic and latency take the time"
        return "the second does not keep the memory busy, its arithmetic takes longer"
    if slow < low:
        return "the first does not keep the memory busy, so more than accesses is saved"
    return "memory takes the time of both, so it follows the accesses"


_NAMES: Final = {
    "safe_unfused": "safe softmax and then top-k",
    "online_unfused": "online softmax and then top-k",
    "safe_fused": "fused safe softmax",
    "online_fused": "fused online softmax",
}


def _rate(gbs: float) -> str:
    return f"{gbs / 1000:.1f} TB/s" if gbs >= 1000 else f"{gbs:.0f} GB/s"


def _span(points: dict[int, tuple[Case, float]]) -> str:
    """Return the ratios of some lengths in a few words."""
    values = [value for _, value in points.values()]
    if len(values) == 1:
        return f"{values[0]:.2f}x"
    middle = statistics.median(values)
    return f"{middle:.2f}x ({min(values):.2f}x to {max(values):.2f}x)"


def accesses(op: str, algorithm: str) -> int:
    """Return the accesses an element that the table of ops has for an algorithm."""
    (kernel,) = (one for one in OPS[op].kernels if one.algorithm == algorithm)
    return kernel.loads + kernel.stores


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The claim that the step from naive to online softmax makes results better."""

    key: str
    said: str
    figure: str

    def judge(self, machine: Machine) -> Finding:
        """Return what the checks before the timing found, and what became of large logits."""
        errors = [
            (first.max_ulp, second.max_ulp)
            for rows in (4000, 10)
            for case in machine.of_paper("softmax", rows).values()
            if (first := record(case, "naive")) and (second := record(case, "online"))
            and first.max_ulp is not None and second.max_ulp is not None
        ]  # fmt: skip
        if not errors:
            return Finding(NOT_HERE, "-", "no run with these kernels")
        better = sum(online <= naive for naive, online in errors)
        naive, online = (max(column) for column in zip(*errors, strict=True))
        measured = (
            f"{naive:.0f} ulp naive, {online:.0f} online; no worse in {better} of {len(errors)}"
        )
        far = machine.fact("accuracy")
        why = "The largest distance from float64 of each input that was timed"
        if far is not None:
            lost = [far[name]["rows_lost"] for name in ("naive", "online")]
            why += (
                f"; with {far['offset']} added to the logits, naive loses {lost[0]} of "
                f"{far['rows']} rows to overflow, online {lost[1]}"
            )
        overflow = lost[0] > lost[1] if far is not None else better > 0
        verdict = HOLDS if better == len(errors) and overflow else PART if overflow else FAILS
        return Finding(verdict, measured, f"{why}.")


@dataclass(frozen=True, slots=True)
class Related:
    """The claim that methods which make softmax smaller gain as softmax does."""

    key: str
    said: str
    figure: str

    def judge(self, machine: Machine) -> Finding:
        """Return what was gained where logits are made by such methods' products."""
        fact = machine.fact("related")
        if fact is None:
            return Finding(NOT_HERE, "-", "no run has timed their steps")
        ratios = tuple(fact["ratios"].values())
        shares = [f"{name} {share:.0%}" for name, share in fact["product"].items()]
        gained = [ratio > 1 + SAME for ratio in ratios]
        return Finding(
            HOLDS if all(gained) else PART if any(gained) else FAILS,
            ", ".join(f"{name} {value:.2f}x" for name, value in fact["ratios"].items()),
            "Logits made, and then read by online softmax instead of safe, with top-k where it is "
            "asked for. Making them is what both do, and of the time with safe softmax: "
            f"{', '.join(shares)}.",
            ratios,
        )


@dataclass(frozen=True, slots=True)
class Counted:
    """A claim that needs no clock: a fact, which is the same on every machine."""

    key: str
    said: str
    figure: str
    facts: tuple[str, ...]
    judged: Callable[..., Finding]

    def judge(self, machines: Sequence[Machine]) -> Finding:
        """Return what the facts say, of the first machine that has them all."""
        for machine in machines:
            found = [machine.fact(key) for key in self.facts]
            if None not in found:
                return self.judged(*found)
        return Finding(NOT_HERE, "-", "no run has counted it")


Fact = dict[str, Any]


def _accesses(*expected: int) -> Callable[..., Finding]:
    def judged(*facts: Fact) -> Finding:
        counts = [fact["loads"] + fact["stores"] for fact in facts]
        right = [abs(count - n) < 0.01 for count, n in zip(counts, expected, strict=True)]
        verdict = HOLDS if all(right) else PART if any(right) else FAILS
        measured = ", ".join(f"{count:.2f}".rstrip("0").rstrip(".") for count in counts)
        algorithms = [str(fact["algorithm"]) for fact in facts]
        names = "; ".join(_NAMES.get(name, name) for name in algorithms)
        return Finding(
            verdict, measured,
            f"Loads and stores of {names}, counted in the build of the kernels that counts them.",
        )  # fmt: skip

    return judged


def _bounds(fact: Fact) -> Finding:
    verdict = HOLDS if not fact["outside"] else FAILS
    return Finding(
        verdict,
        f"outside of it {fact['outside']} of {fact['steps']} times",
        "One term of the sum is exp(0) and none is larger; seen after each element of rows of all "
        "families of inputs, and by a property test.",
    )


def _range(fact: Fact, stall: Fact) -> Finding:
    held, stands = fact["finite"], stall["plain"] < stall["terms"]
    verdict = FAILS if not held else PART if stands else HOLDS
    return Finding(
        verdict,
        f"a merged d of {fact['d']:.1e} is finite; a plain sum of {stall['terms']:,} ones is "
        f"{stall['plain']:,.0f}",
        "The range holds, but a plain float32 sum stands still at 2^24 = 16,777,216, where adding "
        f"1 rounds to nothing; sums in blocks do not: ours gives {stall['ours']:,.0f}.",
    )


def _operations(fact: Fact) -> Finding:
    names = dict.fromkeys((*fact["safe"], *fact["online"]))
    more = {name: fact["online"].get(name, 0) - fact["safe"].get(name, 0) for name in names}
    added = {name: n for name, n in more.items() if n}
    total, without = sum(added.values()), sum(n for name, n in added.items() if name != "subtract")
    verdict = HOLDS if total == 2 else PART if without == 2 else FAILS
    told = ", ".join(f"{n} {name}" for name, n in added.items())
    sums = [sum(fact[name].values()) for name in ("safe", "online")]
    return Finding(
        verdict,
        f"{total} more: {told}",
        f"{sums[1]} operations instead of {sums[0]}, counted in the lines of Algorithms 2 and 3; "
        "two where the subtraction inside an exponential counts as a part of it.",
    )


_TOP_K: Final[dict[str, Any]] = {
    "op": "softmax_topk",
    "slow": "safe_unfused",
    "fast": "online_fused",
}
_AT_25000: Final[dict[str, Any]] = {"rows": 4000, "vocab": 25000, "only": True}


def _table(k: int, least: float) -> Speedup:
    said = f"Fused online softmax and top-k, K = {k}, 4000 rows of 25,000"
    return Speedup(f"k{k}", said, f"{least:g}x", least=least, k=k, **_AT_25000, **_TOP_K)


#: Claims about time, each with a verdict for every machine.
TIMED: Final[tuple[Speedup | Accuracy | Related, ...]] = (
    Speedup(
        "online-4000", "Online softmax instead of safe, 4000 rows, from V = 4000", "1.3x",
        "softmax", 4000, "safe", "online", 1.3, 4000,
    ),
    Speedup(
        "online-10", "Online softmax instead of safe, 10 rows, from V = 1000", "1.15x",
        "softmax", 10, "safe", "online", 1.15, 1000,
    ),
    Speedup(
        "cost-4000", "Online softmax instead of naive costs no time, 4000 rows", "1.0x",
        "softmax", 4000, "naive", "online", 1.0, 10,
    ),
    Speedup(
        "cost-10", "Online softmax instead of naive costs no time, 10 rows", "1.0x",
        "softmax", 10, "naive", "online", 1.0, 10,
    ),
    Accuracy("accuracy", "Online softmax is more accurate than naive", "better"),
    _table(5, 5.0),
    Speedup(
        "fusion", "Of which fusion, with safe softmax", "2.5x", "softmax_topk", slow="safe_unfused",
        fast="safe_fused", least=2.5, k=5, **_AT_25000,
    ),
    Speedup(
        "online", "Of which online softmax, both fused", "2x", "softmax_topk", slow="safe_fused",
        fast="online_fused", least=2.0, k=5, **_AT_25000,
    ),
    Speedup(
        "fused-10", "Fused online softmax and top-k, K = 5, 10 rows, from V = 1000", "1.5x to 2.5x",
        rows=10, least=1.5, most=2.5, vocab=1000, k=5, **_TOP_K,
    ),
    _table(10, 3.5),
    _table(15, 2.0),
    _table(30, 1.4),
    Related("related", "The gains carry over to related methods", "yes"),
)  # fmt: skip

#: Claims that need no clock, with one verdict.
COUNTED: Final = (
    Counted(
        "accesses", "Accesses an element: naive, safe, online softmax", "3, 4, 3",
        tuple(f"accesses/softmax/{name}" for name in ("naive", "safe", "online")),
        _accesses(3, 4, 3),
    ),
    Counted(
        "accesses-topk",
        "With top-k: safe and online apart, safe and online fused", "5, 4, 2, 1",
        tuple(
            f"accesses/softmax_topk/{name}"
            for name in ("safe_unfused", "online_unfused", "safe_fused", "online_fused")
        ),
        _accesses(5, 4, 2, 1),
    ),
    Counted("bounds", "1 <= d_j <= j after each element", "always", ("bounds",), _bounds),
    Counted(
        "range", "32 bits hold d of up to 1.7e37 terms", "1.7e37", ("range", "stall"), _range
    ),
    Counted(
        "operations", "Online softmax takes two operations more an element", "2", ("operations",),
        _operations,
    ),
)  # fmt: skip


__all__ = [
    "COUNTED", "FAILS", "HOLDS", "NOT_HERE", "PART", "RULE", "TIMED", "Accuracy", "Counted",
    "Finding", "Related", "Speedup", "accesses", "speed_verdict",
]  # fmt: skip
