"""The build backend: scikit-build-core, with the page built before anything is packed.

Knows the hooks of PEP 517 and PEP 660; how the page is built is `page.py`'s.
"""

from __future__ import annotations

from typing import Any

import page
from scikit_build_core import build as native

Settings = dict[str, Any] | None

prepare_metadata_for_build_wheel = native.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = native.prepare_metadata_for_build_editable


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    """Return what a source distribution needs."""
    return [*native.get_requires_for_build_sdist(config_settings), *page.requires()]


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Return what a wheel needs."""
    return [*native.get_requires_for_build_wheel(config_settings), *page.requires()]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """Return what an editable installation needs."""
    return [*native.get_requires_for_build_editable(config_settings), *page.requires()]


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Build a source distribution, the page in it."""
    page.make()
    return native.build_sdist(sdist_directory, config_settings)


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel, the page in it."""
    page.make()
    return native.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build what an editable installation installs; the page stays in the checkout."""
    page.make()
    return native.build_editable(wheel_directory, config_settings, metadata_directory)
