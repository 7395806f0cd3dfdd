"""Let pytest run every n-th test alone: ``ONEREAD_SHARD=2/8 pytest -p pytest_shard``, from 1.

Knows nothing of the tests. For machines where pytest-xdist is not installed.
"""

from __future__ import annotations

import os

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what other shards run, after all other selections."""
    number, count = map(int, os.environ["ONEREAD_SHARD"].split("/"))
    if not 1 <= number <= count:
        raise pytest.UsageError(f"ONEREAD_SHARD is {number}/{count}; 1/{count} is the first")
    own = items[number - 1 :: count]
    kept = set(own)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = own
