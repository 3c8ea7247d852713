"""Planted faults of the broker that follows KIP-1313: each breaks exactly the clauses that it names.

There is one module per subject. `reference_model.faults.planted` defines what a fault is.
"""

from proposals.kip_1313.faults import client_ids, headers, messages
from proposals.kip_1313.faults.registry import FAULTS

__all__ = ["FAULTS", "client_ids", "headers", "messages"]
