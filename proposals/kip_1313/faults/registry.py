"""The registry of planted faults of the broker that follows KIP-1313."""

from __future__ import annotations

import functools

from reference_model.faults.planted import Fault, planting

FAULTS: dict[str, Fault] = {}
"""Every planted fault, by name."""

fault = functools.partial(planting, FAULTS)
"""Registers the decorated function as a fault, by the method of `InstanceIdBroker` that it replaces and the clauses it breaks."""
