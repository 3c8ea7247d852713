"""Planted faults of the broker that follows KIP-1313: each breaks exactly the clauses that it names."""

from __future__ import annotations

from proposals.kip_1313.faults import changed_apis as changed_apis
from proposals.kip_1313.faults import client_ids as client_ids
from proposals.kip_1313.faults import instance_ids as instance_ids
from proposals.kip_1313.faults import on_listeners as on_listeners
from proposals.kip_1313.faults.registry import FAULTS as FAULTS
