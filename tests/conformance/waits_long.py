"""A pytest plugin with which every target that several processes judge counts as far away."""

from __future__ import annotations

from conformance.engine import examples_ahead

examples_ahead.WORTH_AN_EXAMPLE_S = 1e-6
