"""Faults against KIP-35's clause about slow brokers.

Such brokers answer late, in another order, or never.
"""

from __future__ import annotations

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
from wire.header_versions import PLAIN_REQUEST_HEADER
from wire.headers import RequestHeader, read_correlation_id

CLAUSE = "KIP-35.client-survives-old-broker"
LONG_PAUSE_MS = 1200
"""Longer than any pause of a broker with which a client has to work."""
ASKS_AGAIN_AFTER_MS = 1500
SHORT_PAUSE_MS = 45


def _wait_for_bytes(client: ModelClient, link: Link) -> None:
    """Wait until a frame begins on a connection, as long as for a complete one."""
    if not link.reader.unread:
        link.reader.receive_data(link.stream.receive(client.patience_ms(link)))


@fault(CLAUSE)
class ResponseAfterSecondsAborts(ModelClient):
    """Forgets a request after a second, and aborts the process if its response comes later."""

    def next_frame(self, link: Link) -> bytes:
        began_ms = self.network.now_ms
        _wait_for_bytes(self, link)
        if link.reader.unread and self.network.now_ms - began_ms > LONG_PAUSE_MS:
            raise Aborted
        return super().next_frame(link)


@fault(CLAUSE)
class PauseInsideAFrameEndsTheClient(ModelClient):
    """Fails for good after a frame that came with a pause of seconds inside."""

    def next_frame(self, link: Link) -> bytes:
        if "dead" in self.notes:
            raise BrokerError("the client's thread has ended")
        _wait_for_bytes(self, link)
        began_ms = self.network.now_ms
        frame = super().next_frame(link)
        if self.network.now_ms - began_ms > LONG_PAUSE_MS:
            self.notes["dead"] = True
            raise BrokerError("the client's thread ends")
        return frame


@fault(CLAUSE)
class SwappedResponsesAbort(ModelClient):
    """Asks in v0 as well if no response comes, and aborts the process if that request is answered first."""

    def next_frame(self, link: Link) -> bytes:
        until_ms = self.until_ms
        self.until_ms = min(until_ms, self.network.now_ms + ASKS_AGAIN_AFTER_MS)
        try:
            return super().next_frame(link)
        except ConnectionLost:
            if link.table is not None or self.network.now_ms >= until_ms:
                raise
        finally:
            self.until_ms = until_ms
        again = RequestHeader(
            request_api_key=API_VERSIONS_KEY,
            request_api_version=0,
            correlation_id=link.last_correlation_id + 1,
            client_id=None,
        )
        link.stream.send(encode_frame(encode(again, version=PLAIN_REQUEST_HEADER)))
        frames = [super().next_frame(link), super().next_frame(link)]
        if read_correlation_id(frames[0]) == again.correlation_id:
            raise Aborted
        return frames[0]


@fault(CLAUSE)
class LostConnectionsAreOpenedAgainBeforeThePause(ModelClient):
    """Opens a lost connection again at once, without an end, and pauses for a moment only before it asks there."""

    def backoff_ms(self, error: ClientError, attempt: int) -> int:
        if not isinstance(error, ConnectionLost) or self.cluster.nodes:
            return super().backoff_ms(error, attempt)
        with suppress(ClientError):
            self.link_to(None)
        return SHORT_PAUSE_MS


@fault(CLAUSE)
class LostConnectionsAreOpenedAgainAfter20Ms(ModelClient):
    """Opens a lost connection again after a pause that is too short to be repeated for ever."""

    def backoff_ms(self, error: ClientError, attempt: int) -> int:
        return 20 if isinstance(error, ConnectionLost) else super().backoff_ms(error, attempt)
