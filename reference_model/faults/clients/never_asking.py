"""Faults of a client that never asks for versions: what it sends is right with some releases only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.model_client import ModelClient
from reference_model.faults.clients.registry import fault
from wire.api_keys import METADATA_KEY

TableFor = Callable[[Link], Mapping[int, Range]]


# KIP-35.client-uses-overlap


@fault(ModelClient.negotiated_table, "KIP-35.client-uses-overlap")
def newest_version_is_sent_unasked(
    client: ModelClient, decide: TableFor, link: Link
) -> Mapping[int, Range]:
    """Never asks for versions, and sends one that brokers know only since 4.0."""
    return {METADATA_KEY: (13, 13)}


@fault(ModelClient.negotiated_table, "KIP-35.client-uses-overlap")
def flexible_version_is_sent_unasked(
    client: ModelClient, decide: TableFor, link: Link
) -> Mapping[int, Range]:
    """Never asks for versions, and sends one that brokers know only since 2.4."""
    return {METADATA_KEY: (9, 9)}


@fault(ModelClient.negotiated_table, "KIP-35.client-uses-overlap")
def old_version_is_sent_unasked(
    client: ModelClient, decide: TableFor, link: Link
) -> Mapping[int, Range]:
    """Never asks for versions, and sends one that all brokers know but the oldest, 0.10.0."""
    return {METADATA_KEY: (2, 2)}
