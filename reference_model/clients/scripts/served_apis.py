"""APIs that scripted brokers serve to clients, today's and those of proposals."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from proposals import merged
from reference_model.clients.scripts.script import Table
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION
from wire.described_messages import CLUSTER_APIS
from wire.described_messages import SASL_APIS as SASL_APIS_OF_TODAY
from wire.message_schemas import Api

CLIENT_APIS: Mapping[int, Api] = {**CLUSTER_APIS, **merged("client_apis")}
"""The APIs of an authenticated client, by key."""
SASL_APIS: Mapping[int, Api] = {**SASL_APIS_OF_TODAY, **merged("sasl_apis")}
"""The APIs by which a client authenticates, by key."""
API_VERSIONS_HEADERS: Mapping[int, int] = merged("api_versions_headers")
"""Maps versions of ApiVersions after the newest one to their request headers."""
NEWEST_SERVED = max((NEWEST_VERSION, *API_VERSIONS_HEADERS))
"""The newest version of ApiVersions that a script may have served."""


def served_table(table: Table, newest_version: int) -> Table:
    """Return the table that a broker writes: one that says nothing else of ApiVersions lists what it supports."""
    own = set(table.ranges_of(API_VERSIONS_KEY))
    if newest_version == NEWEST_VERSION or own != {(0, NEWEST_VERSION)}:
        return table
    changed = (*table.changed, (API_VERSIONS_KEY, 0, newest_version))
    return dataclasses.replace(table, changed=changed)
