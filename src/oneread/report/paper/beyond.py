"""What the paper left out, drawn: memory, large k, the roof.

Knows records, no clock. A figure for which no machine has records is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from oneread.report.paper.axes import finish, vocab_axis
from oneread.report.paper.machines import (
    OURS,
    Case,
    Machine,
    best_peer,
    item_bytes,
    plain_rate,
    seconds,
)
from oneread.report.paper.style import Label, Line, colour, figure, headline, panel_title
from oneread.report.paper.wins import short

#: The ways of the figure of memory, from the top.
WAYS: Final = {
    "torch": Line("torch", "torch", "peer", "--", "D"),
    "numpy": Line("numpy", "NumPy", "naive", ":", "v"),
    OURS: Line(OURS, "oneread", "ours", "-", "s"),
}


def memory(machines: Sequence[Machine]) -> Figure | None:
    """Draw peak memory against tokens, up to where it runs out."""
    shown = [one for one in machines if any(f["points"] for f in one.facts("memory/"))]
    if not shown:
        return None
    columns = min(len(shown), 2)
    lines = -(-len(shown) // columns)
    made, panels = figure(3.6 * lines, nrows=lines, ncols=columns)
    headline(made, "Peak memory for the log-prob of a token and the entropy of each row")
    for axes, machine in zip(panels.flat, shown, strict=False):
        _memory_panel(axes, machine)
    for axes in panels.flat[len(shown) :]:
        axes.set_visible(False)
    return made


def _memory_panel(axes: Any, machine: Machine) -> None:
    facts = {fact["way"]: fact for fact in machine.facts("memory/") if fact["points"]}
    one = next(iter(facts.values()))
    title = f"{machine.short} · {one['vocab']:,} {one['dtype']}"
    memory_panel(axes, title, facts, list(WAYS.values()))


def memory_panel(
    axes: Any, title: str, facts: Mapping[str, Mapping[str, Any]], looks: Sequence[Line]
) -> None:
    """Draw peak memory against tokens of several ways.

    Parameters
    ----------
    axes : Axes
        Where.
    title : str
        What stands over it.
    facts : mapping of str to mapping
        By contestant: `points` of tokens and peak bytes, None where memory ran out; `vocab`,
        `dtype`, `limit_bytes` and `limit`, what runs out. A limit that is None is not drawn.
    looks : sequence of Line
        The ways, from the top.
    """
    one = next(iter(facts.values()))
    limit, each = one["limit_bytes"], one["vocab"] * item_bytes(one["dtype"])
    panel_title(axes, title)
    tokens = sorted({t for fact in facts.values() for t, _ in fact["points"]})
    axes.plot(tokens, [t * each for t in tokens], color=colour("roof"), linewidth=6, alpha=0.4)
    drawn = [look for look in looks if look.contestant in facts]
    top = max(peak or 0 for fact in facts.values() for _, peak in fact["points"])
    if limit is not None:
        top = limit * 1.75 ** len(drawn)
        axes.axhline(limit, color=colour("fails"), linewidth=1, linestyle=(0, (4, 2)))
        axes.annotate(
            f"{one['limit']}, {_bytes(limit)}", (tokens[0] / 4.5, limit), xytext=(0, -9),
            textcoords="offset points", fontsize=7, color=colour("fails"),
        )  # fmt: skip
    for place, look in enumerate(drawn):
        above = (limit or top) * 1.5 * 1.75**place
        _memory_line(axes, facts[look.contestant]["points"], above, look)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xlim(left=tokens[0] / 5)  # room for the names
    axes.set_xticks(tokens[::2], [short(t) for t in tokens[::2]])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: _bytes(y)))
    axes.set_ylim(top=top * 1.5)
    axes.set_xlabel("tokens, that is rows of logits; grey: the logits alone")
    axes.grid(axis="y")


def _memory_line(axes: Any, points: Sequence[Sequence[Any]], above: float, look: Line) -> None:
    """Draw one way, and a cross at the number of tokens for which memory was not enough."""
    fits = [(t, peak) for t, peak in points if peak is not None]
    tint = colour(look.role)
    if fits:
        axes.plot(
            *zip(*fits, strict=True), marker=look.mark, color=tint,
            markeredgecolor=colour("paper"),
        )  # fmt: skip
        axes.annotate(
            look.label, fits[0], xytext=(-7, 0), textcoords="offset points", ha="right",
            va="center", fontsize=8, color=tint,
            fontweight="bold" if look.role == "ours" else "normal",
        )  # fmt: skip
    for tokens, peak in points:
        if peak is None:
            start = fits[-1] if fits else (tokens, above)
            axes.plot([start[0], tokens], [start[1], above], color=tint, linestyle=":", lw=1.2)
            axes.plot(tokens, above, "X", color=tint, markersize=7, markeredgewidth=0)
            axes.annotate(
                f"{look.label}: out of memory at {short(tokens)} ", (tokens, above), ha="right",
                xytext=(-5, 0), textcoords="offset points", va="center", fontsize=7.5, color=tint,
            )  # fmt: skip


def _bytes(n: float) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if n >= size:
            return f"{n / size:.0f} {unit}"
    return f"{n / 1024:.0f} KiB"


def large_k(machines: Sequence[Machine]) -> Figure | None:
    """Draw the time of softmax and top-k as k grows to 1024, ours beside the best peer."""
    found = {
        (machine.short, rows): cases
        for machine in machines
        for rows in (4000, 64, 1)
        if len(cases := _by_k(machine, rows)) > 2
    }
    if not found:
        return None
    lines = -(-len(found) // 2)
    made, panels = figure(0.5 + 2.4 * lines, nrows=lines, ncols=2)
    headline(made, "Softmax and top-k of rows of 128,256, k up to 1024")
    labels = []
    for axes, ((name, rows), cases) in zip(panels.flat, found.items(), strict=False):
        panel_title(axes, f"{name} · {rows} row{'s' * (rows != 1)}")
        labels.append((axes, _k_lines(axes, cases)))
    for axes in panels.flat[len(found) :]:
        axes.set_visible(False)
    finish(made, labels)
    return made


def _by_k(machine: Machine, rows: int) -> dict[int, Case]:
    found = {
        case[0].k: case
        for case in machine.plain_cases()
        if (case[0].op, case[0].rows, case[0].vocab) == ("softmax_topk", rows, 128256)
        and case[0].dtype == "float32" and case[0].k and len(case) > 1
    }  # fmt: skip
    return {k: found[k] for k in sorted(found, key=lambda k: k or 0) if k}


def _k_lines(axes: Any, cases: dict[int, Case]) -> list[Label]:
    ours = {k: t * 1e6 for k, case in cases.items() if (t := seconds(case, OURS))}
    peers = {k: p.median_s * 1e6 for k, c in cases.items() if (p := best_peer(c)) and p.median_s}
    labels = []
    for name, points, role, mark in (
        ("best peer", peers, "peer", "D"), ("oneread", ours, "ours", "s")
    ):  # fmt: skip
        if points:
            axes.plot(
                list(points), list(points.values()), marker=mark, color=colour(role),
                linestyle="--" if role == "peer" else "-", markeredgecolor=colour("paper"),
            )  # fmt: skip
            labels.append(Label(name, points[max(points)], role))
    vocab_axis(axes, list(cases))
    axes.set_xlabel("k")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(axis="y")
    axes.set_ylabel("us")
    return labels


def roofline(machines: Sequence[Machine]) -> Figure | None:
    """Draw the rate of our production kernels and of the best peer under that of plain traffic."""
    wanted = [(4000, "float32"), (4000, "bfloat16"), (64, "float32"), (1, "float32")]
    found = [
        (machine, rows, dtype, cases)
        for machine in machines
        for rows, dtype in wanted
        if len(cases := _by_vocab(machine, rows, dtype)) > 2
    ]
    if not found:
        return None
    columns = 2
    lines = -(-len(found) // columns)
    made, panels = figure(0.5 + 2.4 * lines, nrows=lines, ncols=columns)
    headline(made, "Softmax under its roof: bytes that must move, over time")
    labels = []
    for axes, one in zip(panels.flat, found, strict=False):
        labels.append((axes, _rates(axes, *one)))
    for axes in panels.flat[len(found) :]:
        axes.set_visible(False)
    finish(made, labels)
    return made


def _by_vocab(machine: Machine, rows: int, dtype: str) -> dict[int, Case]:
    """Return the cases of softmax with so many rows; of two alike, that with more contestants."""
    found: dict[int, Case] = {}
    for case in machine.plain_cases():
        first = case[0]
        seen = (first.op, first.rows, first.dtype, first.memory)
        wanted = seen == ("softmax", rows, dtype, "out")
        if wanted and len(case) > len(found.get(first.vocab, ())):
            found[first.vocab] = case
    return dict(sorted(found.items()))


def _rates(
    axes: Any, machine: Machine, rows: int, dtype: str, cases: dict[int, Case]
) -> list[Label]:  # fmt: skip
    panel_title(axes, f"{machine.short} · {rows} row{'s' * (rows != 1)} · {dtype}")
    roof = {v: rate for v, case in cases.items() if (rate := plain_rate(case))}
    labels = []
    if roof:
        axes.fill_between(list(roof), list(roof.values()), color=colour("grid"), alpha=0.6, lw=0)
        axes.plot(list(roof), list(roof.values()), color=colour("roof"), linewidth=4, alpha=0.6)
        labels.append(Label("plain copy", roof[max(roof)], "muted"))
    for name, time, role, mark in (
        ("best peer", lambda case: getattr(best_peer(case), "median_s", None), "peer", "D"),
        ("oneread", lambda case: seconds(case, OURS), "ours", "s"),
    ):
        points = {v: case[0].bytes / t / 1e9 for v, case in cases.items() if (t := time(case))}
        if points:
            axes.plot(
                list(points), list(points.values()), marker=mark, color=colour(role),
                linestyle="--" if role == "peer" else "-", markeredgecolor=colour("paper"),
            )  # fmt: skip
            labels.append(Label(name, points[max(points)], role))
    vocab_axis(axes, list(cases))
    axes.set_ylim(bottom=0)
    unit, name = (1000, "TB/s") if axes.get_ylim()[1] >= 1000 else (1, "GB/s")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y / unit:g}"))
    axes.set_ylabel(name)
    return labels
