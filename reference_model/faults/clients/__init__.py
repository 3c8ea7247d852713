"""Planted faults of the model client, to show that the suite detects them.

They imitate what real clients do wrong.

There is one module per source of clauses. `planted.py` defines what a fault is.
"""

from proposals import provided
from reference_model.faults.clients import (
    bodies_and_tags,
    changed_brokers,
    features,
    finalized_features,
    frames_and_tables,
    healed_brokers,
    kip_035,
    kip_097,
    kip_511,
    kip_1242,
    late_tables,
    leaks,
    never_asking,
    newer_brokers,
    nonsense,
    old_fallbacks,
    older_versions,
    protocol,
    rebootstraps,
    refused_names,
    removed_versions,
    slow_brokers,
    success,
    throttled,
    tls,
    twin_keys,
)
from reference_model.faults.clients.registry import FAULTS
from reference_model.faults.planted import Fault

for _ in provided("client_faults"):
    """A proposal adds its own to `FAULTS`."""

__all__ = ["FAULTS", "Fault"]
