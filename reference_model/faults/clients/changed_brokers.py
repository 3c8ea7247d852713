"""Faults against KIP-511's clause about the named range: of clients that take a broker's versions for settled after the first connection."""

from __future__ import annotations

from collections.abc import Callable

from reference_model.clients.model.client_connections import Link
from reference_model.clients.model.client_errors import NoCommonVersion
from reference_model.clients.model.model_client import ModelClient
from reference_model.faults.clients.registry import fault
from wire.api_versions import ApiVersionsResponse

CLAUSE = "KIP-511.client-uses-named-range"


@fault(ModelClient.decoded_response, CLAUSE)
def layout_of_the_first_table_is_kept(
    client: ModelClient,
    decide: Callable[[Link, int, bytes], ApiVersionsResponse],
    link: Link,
    version: int,
    body: bytes,
) -> ApiVersionsResponse:
    """Reads every table of a broker in the layout of its first one, so an upgraded or downgraded broker is lost."""
    if body[:2] != bytes(2):
        return decide(link, version, body)
    layouts: dict[object, int] = client.notes.setdefault("layouts", {})
    place = (link.address, link.is_authenticated)
    response = decide(link, layouts.get(place, version), body)
    layouts.setdefault(place, version)
    return response


@fault(ModelClient.version_after_refusal, CLAUSE)
def refusal_after_an_accepted_version_is_final(
    client: ModelClient,
    decide: Callable[[Link, int, bytes], int],
    link: Link,
    refused: int,
    response: bytes,
) -> int:
    """Gives a broker up that refuses the version with which it once sent its table."""
    if link.address == client.bootstrap:
        if client.cluster.nodes and "refused" not in client.notes:
            raise NoCommonVersion("the broker was downgraded")
        client.notes["refused"] = True
    return decide(link, refused, response)
