"""Assertions about CUDA C kernels, for other people's tests: `assert_kernel`, `assert_sass`.

Needs neither a GPU nor pytest itself, and is no entry point of it: a plugin that is loaded in every
run of pytest would cost what nobody asked for. With ``pytest_plugins = ["oneread.pytest_plugin"]``
in a ``conftest.py``, tests have the fixture ``assert_sass``. Knows the tracer and the explainer of
machine code by their front doors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from oneread.sass import Build, Code, SassAssertion, analyse, open_code
from oneread.source.text import split_lines
from oneread.trace import Case, Fault, Launched, Run, open_kernel
from oneread.trace.opening import refuse_unused

__all__ = ["AssertSass", "KernelAssertion", "assert_kernel"]


def assert_kernel(
    kernel: str | os.PathLike[str],
    *,
    name: str | None = None,
    folders: Iterable[str | os.PathLike[str]] = (),
    **case: Any,
) -> KernelAssertion:
    """Run a kernel on the CPU and return what can be asserted of it.

    Parameters
    ----------
    kernel : str or path
        A file with CUDA C, or a key of the gallery.
    name : str, optional
        Which kernel of the file, with template arguments where it needs some.
    folders : iterable of str or path
        Where ``#include "file"`` is looked for.
    **case
        Fields of `oneread.trace.Case`: rows, vocab, k, defines, grid, block, shared_bytes,
        arguments, input, data, schedule (``"all"`` compares several), truth, limits.

    Returns
    -------
    KernelAssertion
        Its methods raise AssertionError, and return it again.

    Raises
    ------
    SourceError
        When the text cannot be read.
    UsageError
        When the kernel cannot be launched like this, or a macro is one that no text names.
    LimitError
        When the run meets a limit.

    Examples
    --------
    >>> from oneread.pytest_plugin import assert_kernel
    >>> checked = assert_kernel("online_softmax", rows=4, vocab=256)
    >>> checked.reads_per_element(x=2).writes_per_element(y=1).no_faults().is_right()
    <KernelAssertion of online_softmax>
    >>> assert_kernel("zoo_reused_scratch").no_races()
    Traceback (most recent call last):
    AssertionError: zoo_reused_scratch: race between warps ...
    """
    if "defines" in case:
        case["defines"] = {macro: str(value) for macro, value in case["defines"].items()}
    opened, launch = open_kernel(kernel, name, [Path(one) for one in folders]), Case(**case)
    refuse_unused([opened], launch)
    return KernelAssertion(opened.launch(launch))


class KernelAssertion:
    """A kernel, or a sequence, that has run; each method asserts one thing of all its launches."""

    def __init__(self, launches: Sequence[Launched]) -> None:
        self._launches = launches
        self._name = launches[0].name

    def __repr__(self) -> str:
        return f"<KernelAssertion of {self._name}>"

    @property
    def runs(self) -> list[Run]:
        """What happened, a run a launch."""
        return [one.run for one in self._launches]

    def reads_per_element(self, **buffers: int) -> KernelAssertion:
        """Assert how often every element of these buffers is loaded."""
        __tracebackhide__ = True
        return self._touched("loads", "read", "read", buffers)

    def writes_per_element(self, **buffers: int) -> KernelAssertion:
        """Assert how often every element of these buffers is stored to."""
        __tracebackhide__ = True
        return self._touched("stores", "write", "written", buffers)

    def barriers(self, count: int) -> KernelAssertion:
        """Assert how many barriers blocks pass, all blocks together."""
        __tracebackhide__ = True
        got = sum(run.counts.barriers for run in self.runs)
        return self._that(got == count, f"blocks pass {got} barriers, not {count}")

    def no_races(self) -> KernelAssertion:
        """Assert that no two threads meet in memory without order, within a warp neither."""
        __tracebackhide__ = True
        return self._without(lambda fault: "race" in fault.id and fault.severity != "note")

    def no_faults(self, fail_on: str = "error") -> KernelAssertion:
        """Assert that there is no fault: no error, or no ``warning`` or ``note`` either."""
        __tracebackhide__ = True
        from oneread.trace.messages import SEVERITIES

        worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
        return self._without(lambda fault: fault.severity in worst)

    def is_right(self) -> KernelAssertion:
        """Assert that what the outputs mean is known, and that all are as float64 has them."""
        __tracebackhide__ = True
        self._that(
            bool(self.runs[-1].result), "what its outputs should be is not known: pass truth"
        )
        return self._without(lambda fault: fault.id in {"wrong-result", "unwritten"})

    def _touched(self, kind: str, verb: str, word: str, buffers: dict[str, int]) -> KernelAssertion:
        __tracebackhide__ = True
        # A sequence has names of its own: its kernels may call two buffers x.
        ours = [
            (one.buffer(parameter), parameter, one.run)
            for one in self._launches
            for parameter in one.run.counts.buffers
        ]
        known = ", ".join(dict.fromkeys(name for name, _, _ in ours))
        for name, want in buffers.items():
            found = [(parameter, run) for called, parameter, run in ours if called == name]
            self._that(bool(found), f"there is no buffer {name}; there are {known}")
            spreads = [getattr(run.counts.buffers[parameter], kind) for parameter, run in found]
            fewest, most = sum(one.min for one in spreads), sum(one.max for one in spreads)
            times = f"{fewest}" if fewest == most else f"{fewest} to {most}"
            lines = ", ".join(
                f"line {line.line}: {line.elements}"
                for parameter, run in found
                for line in run.counts.lines
                if line.buffer == parameter and line.kind in {"atomic", verb}
            )
            self._that(
                fewest == most == want,
                f"an element of {name} is {word} {times} times, not {want} (elements {lines})",
            )
        return self

    def _without(self, wanted: Callable[[Fault], bool]) -> KernelAssertion:
        __tracebackhide__ = True
        for one in self._launches:
            for fault in filter(wanted, one.run.faults):
                self._that(False, f"{fault.title}\n{_shown(one, fault)}")
        return self

    def _that(self, holds: bool, otherwise: str) -> KernelAssertion:
        __tracebackhide__ = True
        if not holds:
            raise AssertionError(f"{self._name}: {otherwise}")
        return self


def _shown(one: Launched, fault: Fault) -> str:
    """Return a fault in words, with its lines."""
    lines = split_lines(one.source.text)
    concerned = sorted({fault.line, fault.with_line or fault.line} & set(range(1, len(lines) + 1)))
    said = [f"  {fault}"]
    said += [f"  {one.source.name}:{line}: {lines[line - 1].strip()}" for line in concerned]
    if fault.repair is not None:
        said.append(f"  known repair: {fault.repair.kind} {fault.repair.parameters}")
    return "\n".join(said)


class AssertSass:
    """`oneread.sass.assert_sass`, which compiles a file once for each build.

    Tests get it as the fixture ``assert_sass``, which lives as long as the session.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[Code, dict[str, SassAssertion]]] = {}

    def __call__(
        self,
        kernel: str | os.PathLike[str],
        arch: str | None = None,
        *,
        fast_math: bool = False,
        options: Sequence[str] = (),
        defines: Mapping[str, int] | None = None,
        name: str | None = None,
    ) -> SassAssertion:
        """Return what can be asserted of a kernel's machine code, as `oneread.sass.assert_sass`."""
        macros = dict(defines or {})
        path = Path(kernel)
        # A file may be written anew between two tests.
        content = path.read_bytes() if path.is_file() else b""
        key = (os.fspath(kernel), content, arch, fast_math, *options, *sorted(macros.items()))
        if key not in self._known:
            build = Build(arch, fast_math, tuple(options), macros)
            self._known[key] = open_code(kernel, build), {}
        code, asserted = self._known[key]
        program = code.kernel(name)
        if program.name not in asserted:
            asserted[program.name] = SassAssertion(analyse(program))
        return asserted[program.name]


def pytest_configure(config: Any) -> None:
    """Give tests the fixture; pytest calls this where it loads the module as a plugin."""

    def fixture() -> AssertSass:
        """`oneread.sass.assert_sass`, which compiles a file once for each build."""
        return AssertSass()

    fixtures: Any = ModuleType("oneread fixtures")
    make = import_module("pytest").fixture(scope="session", name="assert_sass")
    fixtures.assert_sass = make(fixture)
    config.pluginmanager.register(fixtures)
