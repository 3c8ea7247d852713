"""Faults of a client that never asks for versions.

What it sends is right with some releases only.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.model_client import ModelClient
from reference_model.faults.clients.registry import fault
from wire.api_keys import METADATA_KEY

# KIP-35.client-uses-overlap


@fault("KIP-35.client-uses-overlap")
class NewestVersionIsSentUnasked(ModelClient):
    """Never asks for versions, and sends one that brokers know only since 4.0."""

    def negotiated_table(self, link: Link) -> Mapping[int, Range]:
        return {METADATA_KEY: (13, 13)}


@fault("KIP-35.client-uses-overlap")
class FlexibleVersionIsSentUnasked(ModelClient):
    """Never asks for versions, and sends one that brokers know only since 2.4."""

    def negotiated_table(self, link: Link) -> Mapping[int, Range]:
        return {METADATA_KEY: (9, 9)}


@fault("KIP-35.client-uses-overlap")
class OldVersionIsSentUnasked(ModelClient):
    """Never asks for versions, and sends one that all brokers know but the oldest, 0.10.0."""

    def negotiated_table(self, link: Link) -> Mapping[int, Range]:
        return {METADATA_KEY: (2, 2)}
