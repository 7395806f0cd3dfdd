"""An instruction set in place of the one in use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oneread.runtime import cpu


@pytest.fixture
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Make an instruction set the one in use, and the former one again."""
    before = cpu.native.isa()
    if request.param not in cpu.native.supported_isas():
        pytest.skip(f"this machine cannot run {request.param}")
    cpu.native.set_isa(request.param)
    yield request.param
    cpu.native.set_isa(before)
