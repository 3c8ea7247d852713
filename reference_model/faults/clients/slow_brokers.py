"""Faults against KIP-35's clause about brokers that answer late, in another order, or never."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from reference_model.clients.model.client_connections import Link
from reference_model.clients.model.client_errors import (
    Aborted,
    BrokerError,
    ClientError,
    ConnectionLost,
)
from reference_model.clients.model.model_client import ModelClient
from reference_model.faults.clients.registry import fault
from wire.api_keys import API_VERSIONS_KEY
from wire.codec import encode
from wire.frames import encode_frame
from wire.headers import PLAIN_REQUEST_HEADER, RequestHeader, read_correlation_id

CLAUSE = "KIP-35.client-survives-old-broker"
LONG_PAUSE_MS = 1200
"""Longer than any pause of a broker with which a client has to work."""
ASKS_AGAIN_AFTER_MS = 1500
SHORT_PAUSE_MS = 45

NextFrame = Callable[[Link], bytes]


def _wait_for_bytes(client: ModelClient, link: Link) -> None:
    """Wait until a frame begins on a connection, as long as for a complete one."""
    if not link.reader.unread:
        link.reader.receive_data(link.stream.receive(client.patience_ms(link)))


@fault(ModelClient.next_frame, CLAUSE)
def response_after_seconds_aborts(client: ModelClient, decide: NextFrame, link: Link) -> bytes:
    """Forgets a request after a second, and aborts the process if its response comes later."""
    began_ms = client.network.now_ms
    _wait_for_bytes(client, link)
    if link.reader.unread and client.network.now_ms - began_ms > LONG_PAUSE_MS:
        raise Aborted
    return decide(link)


@fault(ModelClient.next_frame, CLAUSE)
def pause_inside_a_frame_ends_the_client(
    client: ModelClient, decide: NextFrame, link: Link
) -> bytes:
    """Fails for good after a frame that came with a pause of seconds inside."""
    if "dead" in client.notes:
        raise BrokerError("the client's thread has ended")
    _wait_for_bytes(client, link)
    began_ms = client.network.now_ms
    frame = decide(link)
    if client.network.now_ms - began_ms > LONG_PAUSE_MS:
        client.notes["dead"] = True
        raise BrokerError("the client's thread ends")
    return frame


@fault(ModelClient.next_frame, CLAUSE)
def swapped_responses_abort(client: ModelClient, decide: NextFrame, link: Link) -> bytes:
    """Asks in v0 as well if no response comes, and aborts the process if that request is answered first."""
    until_ms = client.until_ms
    client.until_ms = min(until_ms, client.network.now_ms + ASKS_AGAIN_AFTER_MS)
    try:
        return decide(link)
    except ConnectionLost:
        if link.table is not None or client.network.now_ms >= until_ms:
            raise
    finally:
        client.until_ms = until_ms
    again = RequestHeader(
        request_api_key=API_VERSIONS_KEY,
        request_api_version=0,
        correlation_id=link.last_correlation_id + 1,
        client_id=None,
    )
    link.stream.send(encode_frame(encode(again, version=PLAIN_REQUEST_HEADER)))
    frames = [decide(link), decide(link)]
    if read_correlation_id(frames[0]) == again.correlation_id:
        raise Aborted
    return frames[0]


@fault(ModelClient.backoff_ms, CLAUSE)
def lost_connections_are_opened_again_before_the_pause(
    client: ModelClient, decide: Callable[[ClientError, int], int], error: ClientError, attempt: int
) -> int:
    """Opens a lost connection again at once, without an end, and pauses for a moment only before it asks there."""
    if not isinstance(error, ConnectionLost) or client.cluster.nodes:
        return decide(error, attempt)
    with suppress(ClientError):
        client.link_to(None)
    return SHORT_PAUSE_MS


@fault(ModelClient.backoff_ms, CLAUSE)
def lost_connections_are_opened_again_after_20_ms(
    client: ModelClient, decide: Callable[[ClientError, int], int], error: ClientError, attempt: int
) -> int:
    """Opens a lost connection again after a pause that is too short to be repeated for ever."""
    return 20 if isinstance(error, ConnectionLost) else decide(error, attempt)
