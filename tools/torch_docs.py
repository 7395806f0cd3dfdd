"""Write what the pages say of `oneread.torch` from the newest runs of tools/run_torch.py.

Of each device the newest of ``benchmarks/results/torch-*.jsonl`` is taken. ``--check`` says whether
docs/trainer.md, docs/sampler.md and README.md still have what the records give; figures, which need
Matplotlib, are not looked at then. The pages hold the text between ``<!-- torch:NAME -->`` and
``<!-- torch:end -->``. The block `unrecorded`, figures of a GPU of which no record is kept, goes
when there is a run of a GPU.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pages

from oneread.bench.store import ABSENT, OK
from oneread.bench.tables import markdown

Record = dict[str, Any]

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "docs/trainer.md", ROOT / "docs/sampler.md", ROOT / "README.md")
FOLDER = ROOT / "benchmarks/results"
IMAGES = ROOT / "docs/images"
BLOCK = re.compile(r"(<!-- torch:(\w+) -->\n)(.*?)(<!-- torch:end -->)", re.DOTALL)
UNRECORDED = "unrecorded"
SAMPLER, CALL = "sampler", "call"
#: What the figure of a page shows.
FIGURES = {
    "trainer": "Peak memory of a training step against tokens, PyTorch's way and ours",
    "sampler": "Peak memory for top log-probs against tokens, PyTorch's way and ours",
}
OURS, TORCH = "oneread", "torch"


@dataclass(frozen=True)
class Run:
    """The records of one file."""

    file: str
    header: Record
    records: tuple[Record, ...]

    @classmethod
    def of(cls, path: Path) -> Run:
        """Read a file."""
        header, *records = map(json.loads, path.read_text("utf-8").splitlines())
        return cls(path.name, header, tuple(records))

    @property
    def machine(self) -> str:
        """What it was measured on."""
        machine = self.header["machine"]
        return str(machine.get("gpu") or machine["cpu"])

    @cached_property
    def steps(self) -> dict[tuple[str, int, int], dict[str, Record]]:
        """The records of each step by way."""
        found: dict[tuple[str, int, int], dict[str, Record]] = {}
        for one in self.records:
            if one["record"] == "step":
                key = (one["step"], one["rows"], one["vocab"])
                found.setdefault(key, {})[one["way"]] = one
        return found

    def group(self, wanted: bool, *groups: str) -> list[dict[str, Record]]:
        """Return the steps that are of some groups, or those that are of none of them."""
        keys = self._keys(*groups)
        return [step for key, step in self.steps.items() if (key in keys) == wanted]

    def memory(self, page: str) -> dict[str, dict[str, Record]]:
        """Return, by step and way of a page's figure, what a panel of memory is drawn from."""
        of_sampler = {step for step, _, _ in self._keys(SAMPLER)}
        found: dict[str, dict[str, Record]] = {}
        for one in self.records:
            if one["record"] == "memory" and (one["step"] in of_sampler) == (page == SAMPLER):
                new = {**one, "points": [], "limit": "the memory of the GPU"}
                fact = found.setdefault(one["step"], {}).setdefault(one["way"], new)
                fact["points"].append([one["tokens"], one["peak_bytes"]])
        return found

    def _keys(self, *groups: str) -> list[tuple[str, int, int]]:
        return [
            key for key, step in self.steps.items()
            if next(iter(step.values()))["group"] in groups
        ]  # fmt: skip


def runs() -> list[Run]:
    """Return the newest run of each device, that of the GPU first."""
    found = sorted(map(Run.of, FOLDER.glob("torch-*.jsonl")), key=lambda run: run.header["date"])
    newest = {run.header["device"]: run for run in found}
    return [newest[device] for device in ("cuda", "cpu") if device in newest]


def texts(found: Sequence[Run]) -> dict[str, str]:
    """Return the text of each block by its name."""
    return {
        "trainer": "\n\n".join([*map(_trainer, found), _image("trainer")]),
        "sampler": "\n\n".join([*map(_sampler, found), _image("sampler")]),
        "summary": "\n\n".join(map(_summary, found)),
    }


def _image(name: str) -> str:
    return f"![{FIGURES[name]}](images/torch-{name}.svg)"


def _trainer(run: Run) -> str:
    parts = [_facts(run), _steps(run.group(False, SAMPLER, CALL))]
    if calls := run.group(True, CALL):
        parts += ["Calls so small that their own cost is what counts:", _calls(calls)]
    remarks = _absent(run)
    return "\n\n".join(parts + ([remarks] if remarks else []))


def _sampler(run: Run) -> str:
    return "\n\n".join([_facts(run), _steps(run.group(True, SAMPLER))])


def _facts(run: Run) -> str:
    header = run.header
    threads = f", {header['threads']} threads" if "threads" in header else ""
    return (
        f"{run.machine}{threads}, PyTorch {header['libraries']['torch']}, {header['date'][:10]}, "
        f"by `{header['command']}` (`benchmarks/results/{run.file}`):"
    )


def _steps(steps: Sequence[dict[str, Record]]) -> str:
    lines = [["step", "way", "ms", "MiB more", "of rate", "torch / way"]]
    for step in steps:
        shown = [one for one in step.values() if one["status"] != ABSENT]
        for i, one in enumerate(shown):
            size = f"{_shape(one)}, {one['input_bytes'] / 2**20:.0f} MiB"
            name = f"{one['step']}, {size}" if i == 0 else ""
            lines.append([name, f"`{one['way']}`", _ms(one), _mib(one), _share(one),
                          _ratio(one, step)])  # fmt: skip
    head, rule, *rest = markdown(lines)
    return "\n".join([head, rule.replace("---:", "---", 1), *rest])  # ways to the left


def _calls(steps: Sequence[dict[str, Record]]) -> str:
    lines = [["call", "oneread, us", "torch, us", "torch / oneread"]]
    for step in steps:
        ours, torch = step[OURS], step[TORCH]
        lines.append([f"{ours['step']}, {_shape(ours)}", _us(ours), _us(torch), _ratio(ours, step)])
    return "\n".join(markdown(lines))


def _absent(run: Run) -> str:
    """Say who was not there, and why a way has no time."""
    found = {
        f"- `{one['way']}`, {one['status']}: {one['reason']}": None
        for step in run.steps.values() for one in step.values() if one["status"] != OK
    }  # fmt: skip
    return "\n".join(found)


def _summary(run: Run) -> str:
    """Return a few steps: ours beside PyTorch's function."""
    lines = [["step", "PyTorch", "oneread", "PyTorch / oneread", "memory beyond what is there"]]
    for step in run.group(False, CALL, "whole rows"):
        ours, torch = step[OURS], step[TORCH]
        if "temperature" in ours["step"] and ours["group"] != SAMPLER:
            continue
        lines.append([
            f"{ours['step']}, {_shape(ours)}", f"{_ms(torch)} ms", f"{_ms(ours)} ms",
            _ratio(ours, step), f"{_mib(ours)} MiB, PyTorch {_mib(torch)} MiB",
        ])  # fmt: skip
    return f"{_facts(run)}\n\n" + "\n".join(markdown(lines))


def _shape(one: Record) -> str:
    return f"{one['rows']:,} x {one['vocab']:,} {one['dtype']}"


def _ms(one: Record) -> str:
    if not one["times"]:
        return str(one["status"])
    ms = one["times"]["median_s"] * 1e3
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.3g}"


def _us(one: Record) -> str:
    return f"{one['times']['median_s'] * 1e6:.1f}" if one["times"] else str(one["status"])


def _mib(one: Record) -> str:
    held = one["extra_bytes"]
    if held is None:
        return ""
    return f"{held / 2**20:.0f}" if held >= 10 << 20 else f"{max(held, 0) / 2**20:.1f}"


def _share(one: Record) -> str:
    return "" if one["share"] is None else f"{one['share']:.0%}"


def _ratio(one: Record, step: dict[str, Record]) -> str:
    torch = step.get(TORCH)
    if not (torch and torch["times"] and one["times"]):
        return ""
    return f"{torch['times']['median_s'] / one['times']['median_s']:.2f}x"


def filled(page: str, found: Sequence[Run] | None = None) -> str:
    """Return a page with its blocks made anew."""
    found = runs() if found is None else found
    made = texts(found)
    on_gpu = any(run.header["device"] == "cuda" for run in found)

    def block(part: re.Match[str]) -> str:
        if part[2] == UNRECORDED:
            return part[1] + ("" if on_gpu else part[3]) + part[4]
        return f"{part[1]}\n{made[part[2]]}\n\n{part[4]}"

    return BLOCK.sub(block, page)


def draw(found: Sequence[Run]) -> None:
    """Write the figures as vectors: a line of panels for each run."""
    from oneread.report.paper.beyond import memory_panel
    from oneread.report.paper.style import Line, figure, headline, look, svg

    looks = [
        Line(TORCH, "PyTorch", "peer", "--", "D"),
        Line(OURS, "oneread", "ours", "-", "s"),
        Line(f"{OURS}, overwrite_logits", "in place", "safe", "-", "^"),
    ]
    for name, title in FIGURES.items():
        panels = [list(run.memory(name).items()) for run in found]
        columns = max(map(len, panels), default=0)
        if not columns:
            continue
        with look():
            made, axes = figure(3.3 * len(found) + 0.3, nrows=len(found), ncols=columns)
            headline(made, title)
            for line, run, held in zip(axes, found, panels, strict=True):
                for place in line[len(held) :]:
                    place.set_visible(False)
                for place, (step, facts) in zip(line, held, strict=False):
                    dtype = next(iter(facts.values()))["dtype"]
                    memory_panel(place, f"{step}\n{run.machine}, {dtype}", facts, looks)
            (IMAGES / f"torch-{name}.svg").write_text(svg(made), "utf-8")


def main() -> int:
    """Write the pages and figures, or check the pages."""
    if "--check" not in sys.argv[1:]:
        draw(runs())
    about = __doc__.partition("\n")[0]
    return pages.write_or_check(about, PAGES, filled, "the records give", "tools/torch_docs.py")


if __name__ == "__main__":
    sys.exit(main())
