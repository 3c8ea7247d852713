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

_PROPOSED: Mapping[int, Api] = merged("apis")
_OTHERS = {key: api for key, api in _PROPOSED.items() if key not in {*SASL_APIS_OF_TODAY, API_VERSIONS_KEY}}

CLIENT_APIS: Mapping[int, Api] = {**CLUSTER_APIS, **_OTHERS}
"""The APIs of an authenticated client, by key; ApiVersions is none of them."""
SASL_APIS: Mapping[int, Api] = {key: _PROPOSED.get(key, api) for key, api in SASL_APIS_OF_TODAY.items()}
"""The APIs by which a client authenticates, by key."""
API_VERSIONS_HEADERS: Mapping[int, int] = {
    version: api.request_header_version(version)
    for api in (_PROPOSED[key] for key in _PROPOSED.keys() & {API_VERSIONS_KEY})
    for version in range(NEWEST_VERSION + 1, (api.valid_versions.last or 0) + 1)
}
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
