"""Faults against KIP-35's clause about nonsense, one per odd form of response."""

from __future__ import annotations

from contextlib import suppress

from reference_model.clients.model.client_connections import KnownBroker, Link
from reference_model.clients.model.client_errors import Aborted, Hung
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.network import HostPort, Unreachable
from reference_model.faults.clients.registry import fault
from wire.api_versions import ApiVersionsResponse
from wire.errors import BufferUnderflow, DuplicateTag
from wire.headers import NO_ERROR

CLAUSE = "KIP-35.client-survives-nonsense"
ONE_DAY_MS = 24 * 60 * 60 * 1000
EARLY_MS = 5


@fault(CLAUSE)
class LongThrottleTimeHangsTheProcess(ModelClient):
    """Sleeps for a throttle time of days, in a call that its application cannot end."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        response = super().decoded_response(link, version, body)
        if response.throttle_time_ms > ONE_DAY_MS:
            raise Hung
        return response


@fault(CLAUSE)
class NegativeThrottleTimeAborts(ModelClient):
    """Aborts the process in a timer that takes no negative time."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        response = super().decoded_response(link, version, body)
        if response.throttle_time_ms < 0:
            raise Aborted
        return response


@fault(CLAUSE)
class DuplicateTagAborts(ModelClient):
    """Aborts the process if a tag comes twice."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        try:
            return super().decoded_response(link, version, body)
        except DuplicateTag as error:
            raise Aborted from error


@fault(CLAUSE)
class OverlongTaggedFieldAborts(ModelClient):
    """Aborts the process if a tagged field claims gigabytes."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        try:
            return super().decoded_response(link, version, body)
        except BufferUnderflow as error:
            if b"\xff\xff\xff\xff\x0f" in body[-16:]:
                raise Aborted from error
            raise


@fault(CLAUSE)
class NegativeCountAborts(ModelClient):
    """Makes room for a negative number of entries, and aborts the process."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        if body.startswith((NO_ERROR + b"\xff\xff\xff\xff\x0f", NO_ERROR + b"\xff\xff\xff\xfe")):
            raise Aborted
        return super().decoded_response(link, version, body)


@fault(CLAUSE)
class SecondResponseAborts(ModelClient):
    """Aborts the process if a response comes for which no request waits."""

    def next_frame(self, link: Link) -> bytes:
        frame = super().next_frame(link)
        if link.reader.unread:
            raise Aborted
        return frame


@fault(CLAUSE)
class ResponseBeforeTheRequestAborts(ModelClient):
    """Aborts the process if the broker speaks first."""

    def opened_link(self, node: KnownBroker | None, address: HostPort) -> Link:
        link = super().opened_link(node, address)
        with suppress(Unreachable):
            if link.number == 0 and link.stream.receive(EARLY_MS):
                raise Aborted
        return link


@fault(CLAUSE)
class FeatureThatIsListedTwiceAborts(ModelClient):
    """Aborts the process if a finalized feature is listed twice."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        response = super().decoded_response(link, version, body)
        names = [each.name for each in response.finalized_features]
        if len(set(names)) < len(names):
            raise Aborted
        return response
