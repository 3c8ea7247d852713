"""Registry of the KIP-1313 broker's planted faults and the clauses they break."""

from __future__ import annotations

from reference_model.faults.planted import Faults

FAULTS = Faults()
"""Every planted fault, by name."""
fault = FAULTS.planting
"""Registers the decorated subclass of `InstanceIdBroker` as a fault, by the clauses that it breaks; see
`reference_model.faults.planted`."""

CLIENT_ID = "KIP-1313.client-id-from-first-request"
LAYOUT = "KIP-1313.header-v3-layout"
FIRST_ID = "KIP-1313.first-id-not-zero"
CONSTANT = "KIP-1313.id-constant-on-connection"
OLD_HEADERS = "KIP-1313.old-headers-still-served"
EVERY_API = "KIP-1313.every-api-but-sasl-handshake"
OFFSET_DELETE = "KIP-1313.offset-delete-v1"
TELEMETRY = "KIP-1313.telemetry-v1"
OLD_AND_NEW = "KIP-1313.telemetry-old-and-new"
DISCOVERY = "KIP-1313.discovery-survives"
