"""Faults of clients with a broker that failed for a while.

They affect how clients use the broker afterwards, and what they report meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.client_errors import ClientError, ConnectionLost, Nonsense
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import OWN_RANGES
from reference_model.faults.clients.registry import fault
from wire.api_versions import ApiVersionsResponse
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.headers import NO_ERROR

_NAMED_BY_KIPS = (
    ErrorCode.NONE,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.REBOOTSTRAP_REQUIRED,
)

# KIP-35.client-asks-per-connection


class _NotAskingAgain(ModelClient):
    """Never asks a broker for its table again once that failed, and assumes it supports everything."""

    def give_up_asking(self, link: Link) -> None:
        """Remember that a broker is not to be asked any more."""
        self.notes["not asked", link.address] = True

    def negotiated_table(self, link: Link) -> Mapping[int, Range]:
        if ("not asked", link.address) in self.notes:
            return OWN_RANGES
        return super().negotiated_table(link)


@fault("KIP-35.client-asks-per-connection")
class BrokerThatSentNoTableIsNotAskedAgain(_NotAskingAgain):
    """Never asks a broker again that sent a table which cannot be decoded."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        try:
            return super().decoded_response(link, version, body)
        except DecodeError:
            if body.startswith(NO_ERROR):
                self.give_up_asking(link)
            raise


@fault("KIP-35.client-asks-per-connection")
class BrokerThatSentAnErrorIsNotAskedAgain(_NotAskingAgain):
    """Never asks a broker again that answered with an error of another kind than those that the KIPs name."""

    def raise_error(self, link: Link, error_code: int) -> None:
        if error_code not in _NAMED_BY_KIPS:
            self.give_up_asking(link)
        super().raise_error(link, error_code)


@fault("KIP-35.client-asks-per-connection")
class BrokerThatClosedIsAskedOnceMore(_NotAskingAgain):
    """Asks a broker that closed the connection on its request only until it has sent a table."""

    def negotiated_table(self, link: Link) -> Mapping[int, Range]:
        try:
            table = super().negotiated_table(link)
        except ConnectionLost:
            self.notes["closed", link.address] = True
            raise
        if ("closed", link.address) in self.notes:
            self.give_up_asking(link)
        return table


# KIP-35.client-reports-failure


class _ReportingAnEarlierResult(ModelClient):
    """Reports its last result again if a later operation fails in one way."""

    error: type[ClientError]

    def fetch_metadata(self, until_ms: int) -> str:
        try:
            self.notes["result"] = super().fetch_metadata(until_ms)
        except self.error:
            if "result" not in self.notes:
                raise
        return str(self.notes["result"])


@fault("KIP-35.client-reports-failure")
class LostConnectionAfterASuccessIsASuccess(_ReportingAnEarlierResult):
    """Reports its last result again if the connection is lost."""

    error = ConnectionLost


@fault("KIP-35.client-reports-failure")
class NonsenseAfterASuccessIsASuccess(_ReportingAnEarlierResult):
    """Reports its last result again if the broker's response cannot be understood."""

    error = Nonsense


@fault("KIP-35.client-reports-failure")
class SecondFailureInARowIsASuccess(ModelClient):
    """Reports success if an operation fails after one that failed."""

    def fetch_metadata(self, until_ms: int) -> str:
        try:
            result = super().fetch_metadata(until_ms)
        except ClientError:
            self.notes["failures"] = self.notes.get("failures", 0) + 1
            if self.notes["failures"] == 1:
                raise
            result = "0 nodes"
        self.notes["failures"] = 0
        return result
