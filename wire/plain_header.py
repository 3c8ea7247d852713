"""Header and body of plain requests: those that are not about header or body."""

from __future__ import annotations

from uuid import UUID

from wire.api_versions import ApiVersionsRequest
from wire.headers import RequestHeader

PLAIN_INSTANCE_ID = UUID(int=0x0123456789ABCDEF0123456789ABCDEF)
"""The client instance id of every request with header v3 that is not about its id."""
PLAIN_CLIENT_ID = "kafka-conformance"
"""The client id of every request that is not about client ids."""
PLAIN_SOFTWARE_VERSION = "0.1.0"
"""The version that plain requests name: not that of the suite, so that every release of it sends the same bytes."""
PLAIN_CORRELATION_ID = 7
"""Not 0, which a target might send whatever the request has."""
PLAIN_BODY = ApiVersionsRequest(client_software_name=PLAIN_CLIENT_ID, client_software_version=PLAIN_SOFTWARE_VERSION)
"""The body of every ApiVersions request that is not about its body."""


def plain_header(
    api_key: int,
    api_version: int,
    correlation_id: int = PLAIN_CORRELATION_ID,
    *,
    client_id: str | None = PLAIN_CLIENT_ID,
) -> RequestHeader:
    """Return the header of a request that is not about its header."""
    return RequestHeader(
        request_api_key=api_key,
        request_api_version=api_version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
