"""Faults of clients that report a false success, or that never return.

They fail to return to their application.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.client_errors import (
    BrokerError,
    ClientError,
    ConnectionLost,
    NoCommonVersion,
)
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import OWN_RANGES
from reference_model.faults.clients.registry import fault
from wire.api_keys import SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, ApiVersionsResponse
from wire.error_codes import ErrorCode
from wire.headers import CORRELATION_ID_BYTES

FOR_EVER_MS = 24 * 60 * 60 * 1000
ONCE_A_SECOND_MS = 1000
NOTHING_FETCHED = "0 nodes"
_OTHER_ERRORS = (
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.REBOOTSTRAP_REQUIRED,
)

Ids = tuple[str | None, int]


# KIP-35.client-reports-failure


@fault("KIP-35.client-reports-failure")
class LostConnectionIsASuccess(ModelClient):
    """Reports success if it got no response until its time was over."""

    def fetch_metadata(self, until_ms: int) -> str:
        try:
            return super().fetch_metadata(until_ms)
        except ConnectionLost:
            return NOTHING_FETCHED


@fault("KIP-35.client-reports-failure", "KIP-35.client-uses-overlap")
class MissingVersionIsASuccess(ModelClient):
    """Reports success, with nothing in it, if it shares no version with the broker."""

    def fetch_metadata(self, until_ms: int) -> str:
        try:
            return super().fetch_metadata(until_ms)
        except NoCommonVersion:
            return NOTHING_FETCHED


@fault("KIP-35.client-reports-failure", "KIP-511.client-errors-on-42")
class FailedAuthenticationIsASuccess(ModelClient):
    """Reports success if a connection with SASL could not be authenticated."""

    def fetch_metadata(self, until_ms: int) -> str:
        try:
            return super().fetch_metadata(until_ms)
        except ClientError:
            if self.credentials is None:
                raise
            return NOTHING_FETCHED


class _LoggingIn(ModelClient):
    """Reports success after some failures of SASL."""

    def is_overlooked(self, error: ClientError, api_key: int) -> bool:
        """Return whether a step of SASL that failed is taken for a success of the operation."""
        raise NotImplementedError

    def sasl_step(self, link: Link, api_key: int, **fields: Any) -> None:
        try:
            super().sasl_step(link, api_key, **fields)
        except ClientError as error:
            self.notes["overlooked"] = self.is_overlooked(error, api_key)
            raise

    def fetch_metadata(self, until_ms: int) -> str:
        try:
            return super().fetch_metadata(until_ms)
        except ClientError:
            if self.notes.get("overlooked"):
                return NOTHING_FETCHED
            raise


@fault("KIP-35.client-reports-failure")
class WrongPasswordIsASuccess(_LoggingIn):
    """Reports success if SaslAuthenticate was answered with an error."""

    def is_overlooked(self, error: ClientError, api_key: int) -> bool:
        return api_key == SASL_AUTHENTICATE_KEY and isinstance(error, BrokerError)


@fault("KIP-35.client-reports-failure")
class UnknownMechanismIsASuccess(_LoggingIn):
    """Reports success if SaslHandshake was answered with an error."""

    def is_overlooked(self, error: ClientError, api_key: int) -> bool:
        return api_key == SASL_HANDSHAKE_KEY and isinstance(error, BrokerError)


@fault("KIP-35.client-reports-failure")
class CloseAfterTheTokenIsASuccess(_LoggingIn):
    """Reports success if the broker closed the connection in place of a response to the token."""

    def is_overlooked(self, error: ClientError, api_key: int) -> bool:
        return api_key == SASL_AUTHENTICATE_KEY and isinstance(error, ConnectionLost)


# KIP-35.client-survives-nonsense


@fault("KIP-35.client-survives-nonsense")
class CorrelationIdsAreNotCompared(ModelClient):
    """Takes every response for that to its latest request."""

    def next_frame(self, link: Link) -> bytes:
        frame = super().next_frame(link)
        return link.last_correlation_id.to_bytes(CORRELATION_ID_BYTES) + frame[CORRELATION_ID_BYTES:]


# KIP-35.client-survives-old-broker


# A client that waits for a silent node does not bootstrap again either.
@fault(
    *("KIP-35.client-survives-old-broker", "KIP-35.client-survives-nonsense"),
    breaks_rarely=("KIP-1242.rebootstraps-on-129",),
)
class SilenceIsWaitedOut(ModelClient):
    """Waits on if the broker stays silent, so that only its driver's own watchdog ends it."""

    def next_frame(self, link: Link) -> bytes:
        try:
            return super().next_frame(link)
        except ConnectionLost:
            if link.stream.receive(0) == b"":
                self.network.wait(FOR_EVER_MS)
            raise


@fault("KIP-35.client-survives-old-broker", "KIP-35.client-survives-nonsense")
class LostConnectionsAreTriedAgainForEver(ModelClient):
    """Connects again once a second and never returns, so that only its driver's own watchdog ends it."""

    def fetch_metadata(self, until_ms: int) -> str:
        while True:
            try:
                return super().fetch_metadata(until_ms)
            except ConnectionLost:
                self.network.wait(ONCE_A_SECOND_MS)


# KIP-35.client-uses-overlap


@fault("KIP-35.client-uses-overlap")
class EmptyTableListsEverything(ModelClient):
    """Takes a table without entries for that of a broker that supports all it knows."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        return super().ranges_in(link, response) if response.api_keys else OWN_RANGES


# KIP-511.client-ignores-table-of-35


@fault("KIP-511.client-ignores-table-of-35")
class OtherErrorsAreOverlooked(ModelClient):
    """Looks for the errors that KIP-511 and KIP-1242 name, and uses the table that comes with any other one."""

    def error_code_of(self, link: Link, version: int, response: bytes) -> int:
        error_code = super().error_code_of(link, version, response)
        return error_code if error_code in _OTHER_ERRORS else ErrorCode.NONE


# KIP-511.client-reads-fixed-header


class _AskingAgain(ModelClient):
    """Asks in v0 after a table in a flexible version."""

    def asked_again_in_v0(self, link: Link, response: ApiVersionsResponse, version: int) -> ApiVersionsResponse:
        if version < FIRST_FLEXIBLE_VERSION or response.error_code is not ErrorCode.NONE:
            return response
        body = self.body_of(link, 0, self.api_versions_response(link, 0))
        return super().decoded_response(link, 0, body)


@fault("KIP-511.client-reads-fixed-header")
class FlexibleTableIsAskedForAgain(_AskingAgain):
    """Asks in v0 after each table in a flexible version, which it cannot read."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        return self.asked_again_in_v0(link, super().decoded_response(link, version, body), version)


@fault("KIP-511.client-reads-fixed-header")
class FlexibleTableOfANodeIsAskedForAgain(_AskingAgain):
    """Does the same on connections to discovered nodes alone."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        response = super().decoded_response(link, version, body)
        if link.node is None:
            return response
        return self.asked_again_in_v0(link, response, version)


# KIP-511.client-begins-with-newest


@fault("KIP-511.client-begins-with-newest")
class OneRefusalIsForAllBrokers(ModelClient):
    """Begins with v0 everywhere and for good, once any broker has refused a version."""

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        vars(self)["first_version"] = lambda _: 0
        return super().version_after_refusal(link, refused, named)


# KIP-1242.then-sends-both


@fault("KIP-1242.then-sends-both", "KIP-1242.misrouted-cluster-recovers")
class FirstClusterIdIsKept(ModelClient):
    """Sends the id of the first cluster for good, whatever newer metadata says."""

    def expected_ids(self, link: Link) -> Ids:
        cluster_id, node_id = super().expected_ids(link)
        if cluster_id is None:
            return cluster_id, node_id
        kept: Any = self.notes.setdefault("cluster id", cluster_id)
        return kept, node_id


@fault("KIP-1242.then-sends-both")
class FirstNodeIdsAreKept(ModelClient):
    """Sends the node id that an address had first, whatever newer metadata says."""

    def expected_ids(self, link: Link) -> Ids:
        cluster_id, node_id = super().expected_ids(link)
        if cluster_id is None:
            return cluster_id, node_id
        kept: Any = self.notes.setdefault(("node id", link.address), node_id)
        return cluster_id, kept
