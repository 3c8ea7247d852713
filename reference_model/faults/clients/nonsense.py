"""Faults against KIP-35's clause about responses that make no sense: one for each odd form that a response may have."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from reference_model.clients.model.client_connections import Link, Node
from reference_model.clients.model.client_errors import Aborted, Hung
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.network import Address, Unreachable
from reference_model.faults.clients.registry import fault
from wire.api_versions import ApiVersionsResponse
from wire.errors import BufferUnderflow, DuplicateTag

CLAUSE = "KIP-35.client-survives-nonsense"
NO_ERROR = bytes(2)
ONE_DAY_MS = 24 * 60 * 60 * 1000
EARLY_MS = 5

Decoded = Callable[[Link, int, bytes], ApiVersionsResponse]


@fault(ModelClient.decoded_response, CLAUSE)
def long_throttle_time_hangs_the_process(
    client: ModelClient, decide: Decoded, link: Link, version: int, body: bytes
) -> ApiVersionsResponse:
    """Sleeps for a throttle time of days, in a call that its application cannot end."""
    response = decide(link, version, body)
    if response.throttle_time_ms > ONE_DAY_MS:
        raise Hung
    return response


@fault(ModelClient.decoded_response, CLAUSE)
def negative_throttle_time_aborts(
    client: ModelClient, decide: Decoded, link: Link, version: int, body: bytes
) -> ApiVersionsResponse:
    """Aborts the process in a timer that takes no negative time."""
    response = decide(link, version, body)
    if response.throttle_time_ms < 0:
        raise Aborted
    return response


@fault(ModelClient.decoded_response, CLAUSE)
def duplicate_tag_aborts(
    client: ModelClient, decide: Decoded, link: Link, version: int, body: bytes
) -> ApiVersionsResponse:
    """Aborts the process if a tag comes twice."""
    try:
        return decide(link, version, body)
    except DuplicateTag as error:
        raise Aborted from error


@fault(ModelClient.decoded_response, CLAUSE)
def overlong_tagged_field_aborts(
    client: ModelClient, decide: Decoded, link: Link, version: int, body: bytes
) -> ApiVersionsResponse:
    """Aborts the process if a tagged field claims gigabytes."""
    try:
        return decide(link, version, body)
    except BufferUnderflow as error:
        if b"\xff\xff\xff\xff\x0f" in body[-16:]:
            raise Aborted from error
        raise


@fault(ModelClient.decoded_response, CLAUSE)
def negative_count_aborts(
    client: ModelClient, decide: Decoded, link: Link, version: int, body: bytes
) -> ApiVersionsResponse:
    """Makes room for a negative number of entries, and aborts the process."""
    if body.startswith((NO_ERROR + b"\xff\xff\xff\xff\x0f", NO_ERROR + b"\xff\xff\xff\xfe")):
        raise Aborted
    return decide(link, version, body)


@fault(ModelClient.next_frame, CLAUSE)
def second_response_aborts(
    client: ModelClient, decide: Callable[[Link], bytes], link: Link
) -> bytes:
    """Aborts the process if a response comes for which no request waits."""
    frame = decide(link)
    if link.reader.unread:
        raise Aborted
    return frame


@fault(ModelClient.opened_link, CLAUSE)
def response_before_the_request_aborts(
    client: ModelClient,
    decide: Callable[[Node | None, Address], Link],
    node: Node | None,
    address: Address,
) -> Link:
    """Aborts the process if the broker speaks first."""
    link = decide(node, address)
    with suppress(Unreachable):
        if link.number == 0 and link.stream.receive(EARLY_MS):
            raise Aborted
    return link
