"""Planted faults of the KIP-1313 broker: each breaks exactly the clauses it names."""

from __future__ import annotations

from proposals.kip_1313.faults import changed_apis as changed_apis
from proposals.kip_1313.faults import client_ids as client_ids
from proposals.kip_1313.faults import instance_ids as instance_ids
from proposals.kip_1313.faults import on_listeners as on_listeners
from proposals.kip_1313.faults.registry import FAULTS as FAULTS
