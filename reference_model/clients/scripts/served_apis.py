"""What scripted brokers serve to clients: what they serve today, and what proposals add."""

from __future__ import annotations

from collections.abc import Mapping

from proposals import merged
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
