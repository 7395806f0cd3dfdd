"""A runner builds each kernel once, from the text that it was told to build."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from oneread.bench.gallery import entries
from oneread.bench.gallery.entries import Problem
from oneread.bench.gallery.runner import Runner


@pytest.mark.parametrize("rolled", [False, True])
def test_loops_are_kept_where_it_is_asked(rolled: bool) -> None:
    built: list[tuple[Any, ...]] = []
    gpu: Any = SimpleNamespace(build=lambda *given: built.append(given))
    runner = Runner(gpu, "-fmad=false", rolled=rolled)
    (step,) = entries.plan("online_softmax", Problem(4, 256), {"TILE": 32}).steps
    runner.kernel(step)
    runner.kernel(step)
    ((text, name, defines, *options),) = built
    assert (name, defines, options) == ("online_softmax", {"TILE": 32}, ["-fmad=false"])
    source = entries.source("online_softmax")
    assert source.count("for (") > 1
    assert text.count('_Pragma("unroll 1") for (') == (source.count("for (") if rolled else 0)
    assert text.replace('_Pragma("unroll 1") ', "") == source
