"""A pytest plugin that leaves a secondary listener no time for drawn examples."""

from __future__ import annotations

from conformance.engine import example_limits

example_limits.SECONDARY_BUDGET_S = 0
