"""Faults against KIP-35.client-waits-for-tls.

A client tries a connection without TLS, and then uses one with TLS.
"""

from __future__ import annotations

from contextlib import suppress

from reference_model.clients.model.client_connections import KnownBroker, Link
from reference_model.clients.model.client_errors import ClientError, ConnectionLost
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.network import HostPort, Unreachable
from reference_model.faults.clients.registry import fault
from wire.api_keys import API_VERSIONS_KEY
from wire.codec import encode
from wire.frames import encode_frame
from wire.headers import RequestHeader

WAITS_FOR_TLS = "KIP-35.client-waits-for-tls"


class _TriesWithoutTls(ModelClient):
    """Sends ApiVersions v0 unencrypted on a connection of its own before it opens one with TLS."""

    def is_tried(self, node: KnownBroker | None, address: HostPort) -> bool:
        raise NotImplementedError

    def opened_link(self, node: KnownBroker | None, address: HostPort) -> Link:
        if self.network.needs_tls and self.is_tried(node, address):
            with suppress(Unreachable):
                stream = self.network.open(address)
                header = RequestHeader(request_api_key=API_VERSIONS_KEY, request_api_version=0, correlation_id=0)
                stream.send(encode_frame(encode(header, version=1)))
                stream.close()
        return super().opened_link(node, address)


@fault(WAITS_FOR_TLS)
class FirstRequestIsNotEncrypted(_TriesWithoutTls):
    """Tries its first connection without TLS."""

    def is_tried(self, node: KnownBroker | None, address: HostPort) -> bool:
        return not self.opened


@fault(WAITS_FOR_TLS)
class LearntBrokersAreTriedWithoutTls(_TriesWithoutTls):
    """Tries each broker but the bootstrap server without TLS."""

    def is_tried(self, node: KnownBroker | None, address: HostPort) -> bool:
        return address != self.bootstrap


@fault(WAITS_FOR_TLS)
class LostConnectionsAreReplacedWithoutTls(_TriesWithoutTls):
    """Tries the first connection after a lost one without TLS."""

    def is_tried(self, node: KnownBroker | None, address: HostPort) -> bool:
        return bool(self.notes.pop("lost", False))

    def after_failure(self, error: ClientError) -> None:
        self.notes["lost"] = isinstance(error, ConnectionLost)
        super().after_failure(error)
