"""Makes a cluster's brokers look like brokers of another release to clients.

Only versions are imitated.

ApiVersions is answered as the release answers it, with the versions that it shares with the cluster. What the release
refuses is not passed on. In its place the broker gets a plain ApiVersions request, so that the refusal comes in its
turn among the responses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reference_model.broker.rules.api_versions import reactions_of_broker
from reference_model.broker.rules.reaction import Identity, Reaction
from reference_model.broker.rules.responses import response_for
from reference_model.profiles.cut_tables import cut_entries
from reference_model.profiles.java_requests import is_sent_by_clients
from reference_model.profiles.profile import RECORDED_RELEASES, profile_of
from reference_model.profiles.version_tables import ranges_of
from upgrade.prediction.releases import Release
from upgrade.watching.request_head import RequestHead
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    NEWEST_VERSION,
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from wire.codec import decode, decode_prefix, encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, encode_frame
from wire.header_versions import request_header_version
from wire.headers import CORRELATION_ID_BYTES, RequestHeader
from wire.plain_header import plain_header

_UNKNOWN = Identity()


class Rehearsal:
    """One release, rehearsed on a broker.

    Attributes:
        not_shared: the APIs of clients that both list and of which they serve no version in common, once a client has
            asked: what a client does with them on the release cannot be rehearsed on this broker.
    """

    def __init__(self, release: Release, newest: int) -> None:
        """Rehearse a release on a broker that serves ApiVersions up to a version, `newest`."""
        self._release = release
        self._newest = min(newest, NEWEST_VERSION)
        self.not_shared: frozenset[int] = frozenset()

    def substitute(self, head: RequestHead) -> bytes | None:
        """Return the frame that replaces a request; None to pass it on. The head gets what makes the response."""
        if head.api_key != API_VERSIONS_KEY:
            if self._release.serves(head.api_key, head.api_version):
                return None
            return _closing(head)
        payload = head.data[SIZE_BYTES:]
        reaction = reactions_of_broker(payload, self._release.profile, _UNKNOWN)[0]
        if reaction.outcome is not Outcome.ANSWER:
            return _closing(head)
        if reaction.error_code is not ErrorCode.NONE:
            head.answer = self._refusal(reaction)
            return _in_version(head, 0)
        asked = min(head.api_version, self._newest)
        head.answer = self._table(reaction, asked)
        return None if asked == head.api_version else _in_version(head, asked)

    def _refusal(self, reaction: Reaction) -> Callable[[bytes], bytes | None]:
        body = response_for(reaction, self._release.profile)

        def answer(payload: bytes) -> bytes:
            return payload[:CORRELATION_ID_BYTES] + encode(body, version=reaction.response_version)

        return answer

    def _table(self, reaction: Reaction, asked: int) -> Callable[[bytes], bytes | None]:
        def answer(payload: bytes) -> bytes | None:
            try:
                listed = decode(ApiVersionsResponse, payload[CORRELATION_ID_BYTES:], version=asked)
            except DecodeError:
                return payload
            self.not_shared = frozenset(each.api_key for each in listed.api_keys if self._shares_none(each))
            body = encode(self._shared(listed), version=reaction.response_version)
            return payload[:CORRELATION_ID_BYTES] + body

        return answer

    def _shared(self, listed: ApiVersionsResponse) -> ApiVersionsResponse:
        """Return the versions that broker and release both list; features only if the release has some."""
        own = self._release.profile.own_range
        listed = replace(listed, unknown_tagged_fields=(), tag_order=())
        if not self._release.profile.supported_features:
            listed = replace(listed, supported_features=(), finalized_features=(), finalized_features_epoch=-1)
        cut = cut_entries(listed.api_keys, ranges_of(self._release.profile.api_keys))
        return replace(listed, api_keys=tuple(own if each.api_key == API_VERSIONS_KEY else each for each in cut))

    def _shares_none(self, listed: ApiVersion) -> bool:
        served = self._release.served(listed.api_key)
        if served is None:
            return False
        is_apart = listed.max_version < served.lowest or served.highest < listed.min_version
        return is_apart and _is_sent_by_clients(listed.api_key, up_to=min(listed.max_version, served.highest))


def _is_sent_by_clients(api_key: int, *, up_to: int) -> bool:
    """Return whether clients send an API in versions up to `up_to`.

    An example of an API that they do not send: before 3.0 only brokers sent WriteTxnMarkers.
    """
    until = [
        release
        for release in RECORDED_RELEASES
        if any(each.api_key == api_key and each.max_version <= up_to for each in profile_of(release).api_keys)
    ]
    return is_sent_by_clients(api_key, until=until[-1] if until else "")


def _close(payload: bytes) -> None:
    """Close the connection in place of a response."""


def _closing(head: RequestHead) -> bytes:
    """Mark a request whose connection is closed in place of a response; later requests are not read."""
    head.answer, head.is_last = _close, True
    return _in_version(head, 0)


def _in_version(head: RequestHead, version: int) -> bytes:
    """Return an ApiVersions request with the correlation id, the client id and the software of another request."""
    header = plain_header(API_VERSIONS_KEY, version, head.correlation_id, client_id=head.client_name)
    header_version = request_header_version(API_VERSIONS_KEY, version)
    body = ApiVersionsRequest()
    if version >= FIRST_FLEXIBLE_VERSION:
        payload = head.data[SIZE_BYTES:]
        _, at = decode_prefix(RequestHeader, payload, version=header_version)
        body = decode(ApiVersionsRequest, payload[at:], version=head.api_version)
    return encode_frame(encode(header, version=header_version) + encode(body, version=version))
