"""The figures of the paper, and its claims beside what was measured, drawn from machines.

Knows records, no clock. A figure for which no machine has records is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from oneread.bench.paper.figures import K_VOCAB, KS, ROWS, K
from oneread.report.paper.axes import TICKS, finish, times_axis, vocab_axis
from oneread.report.paper.claims import TIMED, Speedup
from oneread.report.paper.machines import (
    OURS,
    Case,
    Machine,
    plain_rate,
    ratio,
    seconds,
)
from oneread.report.paper.style import MACHINES, Label, Line, colour, figure, headline, panel_title
from oneread.report.paper.tables import judged

SOFTMAX_LINES: Final = (
    Line("naive", "naive", "naive", ":", "v"),
    Line("online", "online", "online", "-", "o"),
    Line(OURS, "oneread", "ours", "-", "s"),
    Line("torch out=", "torch", "peer", "--", "D"),
)
TOP_K_LINES: Final = (
    Line("online_unfused", "online, then top-k", "online", ":", "v"),
    Line("safe_fused", "safe, fused", "safe", "-", "^"),
    Line("online_fused", "online, fused", "online", "-", "o"),
    Line(OURS, "oneread", "ours", "-", "s"),
    Line("torch", "torch", "peer", "--", "D"),
)


def softmax(machines: Sequence[Machine]) -> Figure | None:
    """Draw how many times as fast as safe softmax each algorithm is, over V."""
    return _relative(
        machines, "softmax", None, "safe", SOFTMAX_LINES,
        "Softmax: how many times as fast as the safe algorithm",
    )  # fmt: skip


def softmax_topk(machines: Sequence[Machine]) -> Figure | None:
    """Draw the same for the largest K, beside safe softmax and then top-k."""
    return _relative(
        machines, "softmax_topk", K, "safe_unfused", TOP_K_LINES,
        f"Softmax and top-{K}: how many times as fast as safe softmax, then top-k",
    )  # fmt: skip


def _relative(
    machines: Sequence[Machine], op: str, k: int | None, base: str, lines: Sequence[Line],
    title: str,
) -> Figure | None:  # fmt: skip
    shown = [one for one in machines if any(one.of_paper(op, rows, k) for rows in ROWS)]
    if not shown:
        return None
    made, panels = figure(0.5 + 2.6 * len(shown), nrows=len(shown), ncols=len(ROWS))
    headline(made, title)
    labels = []
    for machine, row in zip(shown, panels, strict=True):
        for rows, axes in zip(ROWS, row, strict=True):
            cases = machine.of_paper(op, rows, k)
            if not cases:
                axes.set_axis_off()
                continue
            panel_title(axes, f"{machine.short} · {rows} rows")
            labels.append((axes, _speeds(axes, cases, base, lines, _said(op, k, rows, base))))
    finish(made, labels)
    return made


def _speeds(
    axes: Any, cases: dict[int, Case], base: str, lines: Sequence[Line], said: Sequence[Speedup]
) -> list[Label]:
    """Draw the lines of a panel, and the roof; return what is to be written at their ends."""
    labels = [Label("1 = safe", 1.0, "safe")]
    axes.axhline(1, color=colour("safe"), linewidth=1)
    roof = {
        vocab: time * rate * 1e9 / case[0].bytes
        for vocab, case in cases.items()
        if (rate := plain_rate(case)) and (time := seconds(case, base))
    }
    top = max([1.0, *(claim.least for claim in said)])
    for line in lines:
        points = {v: x for v, case in cases.items() if (x := ratio(case, base, line.contestant))}
        if points:
            axes.plot(
                list(points), list(points.values()), line.dash, marker=line.mark,
                color=colour(line.role), markeredgecolor=colour("paper"), markeredgewidth=0.6,
            )  # fmt: skip
            labels.append(Label(line.label, points[max(points)], line.role))
            top = max(top, *points.values())
    if roof:
        axes.plot(list(roof), list(roof.values()), color=colour("roof"), linewidth=5, alpha=0.45)
    for claim in said:
        _mark(axes, claim)
    vocab_axis(axes, list(cases))
    times_axis(axes, top)
    if roof and roof[max(roof)] <= axes.get_ylim()[1]:
        labels.append(Label("plain traffic", roof[max(roof)], "muted"))
    return labels


def _said(op: str, k: int | None, rows: int, base: str) -> list[Speedup]:
    """Return the claims that a panel is about."""
    return [
        claim for claim in TIMED
        if isinstance(claim, Speedup) and (claim.op, claim.rows, claim.k) == (op, rows, k)
        and claim.slow == base and "online" in claim.fast
    ]  # fmt: skip


def _mark(axes: Any, claim: Speedup) -> None:
    """Mark what the paper says: its number, over the lengths that it is for."""
    end = claim.vocab if claim.only else 100_000
    axes.plot(
        [claim.vocab, end], [claim.least] * 2, color=colour("ink"), linewidth=1.1,
        marker="*" if claim.only else "|", markersize=7, linestyle=(0, (1, 1.5)),
    )  # fmt: skip
    axes.annotate(
        f"the paper: {claim.figure}", (claim.vocab, claim.least), textcoords="offset points",
        xytext=(0, 6), ha="center" if claim.only else "left", fontsize=7, color=colour("ink"),
        bbox={"facecolor": colour("paper"), "linewidth": 0, "pad": 0.6, "alpha": 0.75},
    )  # fmt: skip


def table_of_k(machines: Sequence[Machine]) -> Figure | None:
    """Draw what fusing with online softmax brings as k grows, beside the paper's numbers."""
    says = {c.k or 0: c.least for c in TIMED if isinstance(c, Speedup) and c.key == f"k{c.k}"}
    shown = [one for one in machines if _gains(one)]
    if not shown:
        return None
    made, ((axes,),) = figure(2.9, ncols=1)
    headline(made, f"What fusing brings falls with K: 4000 rows of {K_VOCAB:,}")
    places = {k: i for i, k in enumerate(KS)}
    count = len(shown) + 1
    width = 0.8 / count
    for number, machine in enumerate([None, *shown]):
        gains = says if machine is None else _gains(machine)
        x = [places[k] + (number - (count - 1) / 2) * width for k in gains]
        role = "roof" if machine is None else MACHINES[(number - 1) % 3].role
        axes.bar(x, list(gains.values()), width * 0.9, color=colour(role))
        for at, value in zip(x, gains.values(), strict=True):
            axes.annotate(
                f"{value:.1f}x", (at, value), ha="center", va="bottom", fontsize=7, xytext=(0, 2),
                textcoords="offset points",
            )  # fmt: skip
    axes.axhline(1, color=colour("muted"), linewidth=0.8)
    axes.set_xticks(list(places.values()), [f"K = {k}" for k in places])
    axes.set_ylabel("times as fast as safe,\nthen top-k")
    axes.margins(y=0.1)
    axes.grid(axis="y")
    looks = [(f"■ {one.short}", MACHINES[i % 3].role) for i, one in enumerate(shown)]
    _named(axes, [("■ the paper, V100", "muted"), *looks], 0)
    return made


def _gains(machine: Machine) -> dict[int, float]:
    cases = {k: machine.of_paper("softmax_topk", ROWS[0], k).get(K_VOCAB) for k in KS}
    return {
        k: value
        for k, case in cases.items()
        if case and (value := ratio(case, "safe_unfused", "online_fused"))
    }


def claims(machines: Sequence[Machine]) -> Figure | None:
    """Draw the paper's number of each claim about time beside what machines measured."""
    machines = judged(machines)
    found = {
        claim: {one: finding for one in machines if (finding := claim.judge(one)).ratios}
        for claim in TIMED
        if isinstance(claim, Speedup)
    }
    shown = {claim: of for claim, of in found.items() if of}
    if not shown:
        return None
    made, ((axes,),) = figure(0.9 + 0.34 * len(shown), ncols=1)
    headline(made, "What the paper said, what was measured")
    for y, (claim, of) in enumerate(shown.items()):
        said = [claim.least, claim.most or claim.least]
        axes.plot(
            said, [y, y], marker="|", color=colour("ink"), markersize=15, markeredgewidth=2, lw=1
        )  # fmt: skip
        for number, machine in enumerate(machines):
            if machine in of:
                ratios, shift = of[machine].ratios, 0.16 * (2 * number - len(machines) + 1)
                look = MACHINES[number % 3]
                axes.plot(
                    [min(ratios), max(ratios)], [y + shift] * 2, color=colour(look.role),
                    linewidth=3, alpha=0.5, solid_capstyle="round",
                )  # fmt: skip
                middle = sorted(ratios)[len(ratios) // 2]
                axes.plot(middle, y + shift, look.mark, color=colour(look.role), markersize=5.5)
    _claims_axis(axes, machines, list(shown))
    return made


def _claims_axis(axes: Any, machines: Sequence[Machine], shown: Sequence[Speedup]) -> None:
    axes.set_xscale("log")
    axes.set_yticks(range(len(shown)), [claim.said for claim in shown], color=colour("ink"))
    axes.set_ylim(len(shown) - 0.4, -0.9)
    low, high = axes.get_xlim()
    ticks = [tick for tick in TICKS if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}x" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="x")
    axes.axvline(1, color=colour("muted"), linewidth=0.8)
    axes.set_xlabel("times as fast; bars: range over the lengths of the claim, mark: middle")
    words = [("| the paper, V100", "ink")]
    for number, machine in enumerate(machines):
        look = MACHINES[number % 3]
        words.append((f"{look.sign} {machine.short}", look.role))
    _named(axes, words, -0.45)  # the first above the claims' names


def _named(axes: Any, words: Sequence[tuple[str, str]], left: float) -> None:
    """Write names in the colours of their roles above axes, each behind the last."""
    last: Any = None
    for text, role in words:
        x, beside, gap = (1, last, 10) if last else (left, "axes fraction", 0)
        last = axes.annotate(
            text, (x, 1.02), xycoords=(beside, "axes fraction"), xytext=(gap, 0),
            textcoords="offset points", fontsize=8, color=colour(role),
        )  # fmt: skip
