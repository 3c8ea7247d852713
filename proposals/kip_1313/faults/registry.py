"""The registry of planted faults of the broker that follows KIP-1313."""

from __future__ import annotations

from reference_model.faults.planted import Faults

FAULTS = Faults()
"""Every planted fault, by name."""

fault = FAULTS.planting
"""Registers the decorated subclass of `InstanceIdBroker` as a fault, by the clauses that it breaks."""
