"""Requests with header v3 for targets that claim KIP-1313, and their responses.

KIP-1313 is a proposal.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from hypothesis import reject

from conformance.assertions.decoding import key_ranges, payload_of
from conformance.assertions.errors import MalformedAnswer, Unjudged
from conformance.assertions.other_apis import NoTableReadable, advertised_table
from fixtures.artefacts.schema_jars import api_catalogue
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from proposals.kip_1313.claims import claims_proposal, is_new
from proposals.kip_1313.messages import CHANGED_APIS, OFFSET_DELETE_KEY
from proposals.kip_1313.requests import InstanceIdRequest, sasl_authenticate, sasl_handshake
from strategies.api_versions import build_request
from strategies.minimal_requests import minimal_body
from wire.api_keys import (
    API_VERSIONS_KEY,
    DESCRIBE_CLUSTER_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    LIST_GROUPS_KEY,
    SASL_HANDSHAKE_KEY,
)
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest, ApiVersionsResponse
from wire.codec import decode, decode_prefix
from wire.described_messages import SASL_AUTHENTICATE
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Exchange, Request, encode_request
from wire.header_versions import INSTANCE_ID_REQUEST_HEADER, Layout
from wire.headers import InstanceIdHeader, ResponseHeader, read_error_code
from wire.message_schemas import error_codes_in
from wire.plain_header import PLAIN_CLIENT_ID, plain_header
from wire.sasl import plain_token

FURTHER_NEW_KEYS = (LIST_GROUPS_KEY, DESCRIBE_CLUSTER_KEY)
"""Further APIs that are requested in their new version: they only read, and their bodies are taken to be unchanged."""
OLD_VERSIONS = tuple(range(NEWEST_VERSION + 1))
OLD_APIS = (OFFSET_DELETE_KEY, GET_TELEMETRY_SUBSCRIPTIONS_KEY)
"""Further APIs that are requested with an older header. PushTelemetry is refused without an id in its body, whatever
the header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestWithHeader3:
    """A version of an API whose requests have header v3.

    Attributes:
        api_key: the API.
        api_version: the version.
        body: the body of a request.
        layout: the layout of request and response; None for ApiVersions.
    """

    api_key: int
    api_version: int
    body: bytes | ApiVersionsRequest
    layout: Layout | None


def claims_instance_ids(broker: Broker, *api_keys: int) -> bool:
    """Return whether a target claims KIP-1313, and lists a new version of some APIs.

    A target whose table does not decode claims nothing; other clauses judge that.

    Raises:
        HarnessError: the table could not be requested. This is not kept: the next property requests it again.
    """
    try:
        newest = _newest_listed(broker)
    except NoTableReadable:
        return False
    return claims_proposal(newest) and all(is_new(newest, api_key) for api_key in api_keys)


@functools.lru_cache(maxsize=8)
def _newest_listed(broker: Broker) -> dict[int, int]:
    """Return the newest listed version of each API."""
    return {entry.api_key: entry.max_version for entry in advertised_table(broker)}


@functools.lru_cache(maxsize=8)
def carriers(broker: Broker) -> tuple[RequestWithHeader3, ...]:
    """Return what a target lists in a version with header v3, as far as the suite can request it."""
    listed = _newest_listed(broker)
    requests = [
        RequestWithHeader3(api_key=key, api_version=1, body=minimal_body(api, 1), layout=api.layout(1))
        for key, api in CHANGED_APIS.items()
        if listed.get(key, 0) > 0
    ]
    if listed.get(API_VERSIONS_KEY, 0) > NEWEST_VERSION:
        usual = build_request(version=NEWEST_VERSION).body
        assert usual is not None
        requests.append(
            RequestWithHeader3(api_key=API_VERSIONS_KEY, api_version=NEWEST_VERSION + 1, body=usual, layout=None)
        )
    for key in FURTHER_NEW_KEYS:
        known = api_catalogue().versions_of(key)[-1]
        if listed.get(key) == known + 1:
            api = api_catalogue().find(key, known)
            assert api is not None
            layout = dataclasses.replace(api.layout(known), request_header_version=INSTANCE_ID_REQUEST_HEADER)
            requests.append(
                RequestWithHeader3(
                    api_key=key,
                    api_version=known + 1,
                    body=minimal_body(api, known),
                    layout=layout,
                )
            )
    return tuple(requests)


def with_id(
    broker: Broker,
    drawn: InstanceIdRequest,
    instance_id: UUID,
    *,
    api_key: int | None = None,
    api_version: int | None = None,
) -> Request:
    """Return a request with header v3; its API and version are the drawn ones unless others are given."""
    there = [each for each in carriers(broker) if api_key in (None, each.api_key)]
    if not there:
        raise HarnessError("the table can no longer be read, or lists no version with header v3")
    carrier = there[drawn.api % len(there)]
    header = InstanceIdHeader(
        request_api_key=carrier.api_key,
        request_api_version=carrier.api_version if api_version is None else api_version,
        correlation_id=drawn.correlation_id,
        client_id=drawn.client_id,
        client_instance_id=instance_id,
        unknown_tagged_fields=drawn.tags,
    )
    if carrier.layout is None:
        return encode_request(header, carrier.body, header_version=INSTANCE_ID_REQUEST_HEADER)
    return encode_request(header, carrier.body, layout=carrier.layout)


def without_id(broker: Broker, drawn: InstanceIdRequest) -> Request:
    """Return a request with an older header than v3.

    It is ApiVersions in a version of today, or the v0 of an API that has a new version.
    """
    further = [api_key for api_key in OLD_APIS if lists(broker, api_key)]
    number = drawn.api % (len(OLD_VERSIONS) + len(further))
    if number >= len(OLD_VERSIONS):
        return in_v0(further[number - len(OLD_VERSIONS)], drawn)
    return build_request(
        version=OLD_VERSIONS[number],
        correlation_id=drawn.correlation_id,
        client_id=drawn.client_id,
    )


def in_v0(api_key: int, drawn: InstanceIdRequest) -> Request:
    """Return the v0 of an API that the proposal changes."""
    api = CHANGED_APIS[api_key]
    header = plain_header(api_key, 0, drawn.correlation_id, client_id=drawn.client_id)
    return encode_request(header, minimal_body(api, 0), layout=api.layout(0))


def lists(broker: Broker, api_key: int) -> bool:
    """Return whether a target lists an API in any version."""
    return api_key in _newest_listed(broker)


def api_of_first(broker: Broker) -> int | None:
    """Return the API that must begin a connection with header v3, or None for any.

    Before authentication, only ApiVersions may begin a connection.
    """
    return API_VERSIONS_KEY if broker.asks_for_authentication else None


def login(broker: Broker, instance_id: UUID | None, *, client_id: str | None = PLAIN_CLIENT_ID) -> list[Request]:
    """Return the requests with which a connection authenticates on a listener with SASL.

    Args:
        broker: the listener.
        instance_id: the client instance id of all but SaslHandshake; None for older headers.
        client_id: the client id of the first request.
    """
    first = (
        build_request(version=0, client_id=client_id)
        if instance_id is None
        else with_id(broker, InstanceIdRequest(client_id=client_id), instance_id, api_key=API_VERSIONS_KEY)
    )
    return [first, sasl_handshake(), token_request(broker, instance_id)]


def ask_with_id(broker: Broker, drawn: InstanceIdRequest, instance_id: UUID, *, api_key: int) -> Exchange:
    """Return the exchange of one request with header v3.

    On a listener with SASL, the connection authenticates first, with the same id.

    Raises:
        UnsatisfiedAssumption: the authentication fails, which other clauses judge.
    """
    sent = with_id(broker, drawn, instance_id, api_key=api_key)
    if not broker.asks_for_authentication:
        return broker.exchange(sent)
    begin = login(broker, instance_id)
    with broker.connect(authenticate=False) as connection:
        exchanges = connection.converse_in_turn([*begin, sent])
    assume_logged_in(begin, exchanges)
    return exchanges[-1]


def assume_logged_in(begin: Sequence[Request], exchanges: Sequence[Exchange]) -> None:
    """Reject an example unless its connection authenticated, which other clauses judge.

    Args:
        begin: the requests of `login`; none if the listener needs none.
        exchanges: those of the connection, from the first on.
    """
    if begin and (len(exchanges) <= len(begin) or error_in(exchanges[len(begin) - 1]) is not ErrorCode.NONE):
        reject()


def in_allowed_order(first: InstanceIdRequest, later: Iterable[InstanceIdRequest]) -> list[InstanceIdRequest]:
    """Return later requests of a connection so that none lacks an id after one that has it, which would be refused."""
    if first.has_id:
        return [dataclasses.replace(each, has_id=True) for each in later]
    return sorted(later, key=lambda each: each.has_id)


def token_request(broker: Broker, instance_id: UUID | None) -> Request:
    """Return SaslAuthenticate with the token of PLAIN.

    Args:
        broker: the target, which has a listener with SASL.
        instance_id: the client instance id in header v3; None for the newest version with an older header.
    """
    access = broker.running.sasl
    assert access is not None
    token = plain_token(access.username, access.password)
    newest = SASL_AUTHENTICATE.valid_versions.last or 0
    if instance_id is None:
        return sasl_authenticate(token, newest)
    return sasl_authenticate(token, newest + 1, instance_id)


def error_in(exchange: Exchange) -> ErrorCode:
    """Return the error code of a response; one that does not decode has none, which other clauses judge.

    Raises:
        MalformedAnswer: there is no response.
    """
    payload, layout = payload_of(exchange), exchange.request.layout
    if layout is None:
        return ErrorCode(read_error_code(payload) or 0)
    try:
        message = message_in(exchange)
    except MalformedAnswer:
        return ErrorCode.NONE
    return next(iter(map(ErrorCode, error_codes_in(message, layout.version))), ErrorCode.NONE)


def message_in(exchange: Exchange) -> Any:
    """Return the message of a response of an API with a layout.

    Raises:
        MalformedAnswer: it does not decode.
    """
    payload, layout = payload_of(exchange), exchange.request.layout
    assert layout is not None
    try:
        _, body_at = decode_prefix(ResponseHeader, payload, version=layout.response_header_version)
        return decode(layout.response, payload[body_at:], version=layout.version)
    except DecodeError as error:
        raise MalformedAnswer(exchange, f"{layout.response.__name__} v{layout.version} does not decode") from error


def id_in(exchange: Exchange) -> UUID:
    """Return the client instance id in a response to GetTelemetrySubscriptions v0.

    Raises:
        MalformedAnswer: it does not decode.
    """
    instance_id: UUID = message_in(exchange).client_instance_id
    return instance_id


def newest_api_versions(broker: Broker) -> int:
    """Return the newest version of ApiVersions that a target lists."""
    return _newest_listed(broker)[API_VERSIONS_KEY]


def assert_served(exchanges: Iterable[Exchange]) -> None:
    """Fail unless every request got a response, and none INVALID_REQUEST."""
    for exchange in exchanges:
        error = error_in(exchange)
        assert error is not ErrorCode.INVALID_REQUEST, f"{_name(exchange)} is refused with {error!r}"


def assume_served(drawn: Sequence[InstanceIdRequest], exchanges: Sequence[Exchange]) -> None:
    """Reject an example unless every request is served, which other clauses judge.

    Raises:
        Unjudged: the text does not say what a broker does with header v3 if the first request had an older one.
        UnsatisfiedAssumption: another request is not served.
    """
    for each, exchange in zip(drawn, exchanges, strict=False):
        if exchange.payload is not None and error_in(exchange) is not ErrorCode.INVALID_REQUEST:
            continue
        if each.has_id and not drawn[0].has_id:
            raise Unjudged(
                f"{_name(exchange)} with header v3 is not served after a first request with an older header: "
                "the text of the proposal does not say whether it is"
            )
        reject()


def assert_refused(exchange: Exchange, why: str) -> None:
    """Fail unless a request got INVALID_REQUEST; `why` says what is wrong with it."""
    error = error_in(exchange)
    assert error is ErrorCode.INVALID_REQUEST, f"{_name(exchange)} {why}, and gets {error!r}"


def _name(exchange: Exchange) -> str:
    request = exchange.request
    return f"{api_catalogue().name_of(request.api_key)} v{request.api_version}"


def apis_without_instance_id(answer: ApiVersionsResponse) -> list[str]:
    """Return the listed APIs that have no version newer than those of today, and SaslHandshake if it has one."""
    names = []
    for api_key, (_, newest) in key_ranges(answer).items():
        known = api_catalogue().versions_of(api_key)
        is_newer = bool(known) and newest > known[-1]
        if known and is_newer == (api_key == SASL_HANDSHAKE_KEY):
            names.append(api_catalogue().name_of(api_key))
    return names
