"""Hypothesis without a deadline: a shared machine may stop a test for longer than one."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("reference", deadline=None)
settings.load_profile("reference")
