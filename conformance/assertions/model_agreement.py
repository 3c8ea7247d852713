"""Checks whether a target's response is one that the reference model allows."""

from __future__ import annotations

from dataclasses import is_dataclass

from conformance.assertions.judging import decode_answer, payload_of, stable_part
from conformance.assertions.other_apis import decode_response, error_codes_in
from fixtures.artefacts.message_schemas import api_catalogue
from fixtures.under_test.broker import Broker
from reference_model.reaction import Listing
from reference_model.request_parser import FIRST_FLEXIBLE_AUTHENTICATE
from reference_model.state_machine import AnswerKind, Reaction, response_for
from wire.codec import decode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Exchange
from wire.fields import FieldType
from wire.frames import SIZE_BYTES
from wire.sasl import SaslHandshakeResponse

CORRELATION_ID_BYTES = 4
CORRELATION_ID_IN_REQUEST = slice(SIZE_BYTES + 4, SIZE_BYTES + 8)
ERROR_CODE_BYTES = 2


def is_answer_of(reaction: Reaction, sent: bytes, exchange: Exchange, broker: Broker) -> bool:
    """Return whether a response is the one that a reaction describes.

    Args:
        reaction: a reaction of outcome "answer".
        sent: the request's bytes, size prefix included.
        exchange: the exchange with the response.
        broker: the target.

    Raises:
        MalformedAnswer: the response does not decode.
    """
    payload = payload_of(exchange)
    if reaction.kind is AnswerKind.BARE_TOKEN:
        return payload == b""
    if payload[:CORRELATION_ID_BYTES] != sent[CORRELATION_ID_IN_REQUEST]:
        return False
    if reaction.kind is AnswerKind.API_VERSIONS:
        return _is_table_of(reaction, exchange, broker)
    if reaction.kind is AnswerKind.OTHER:
        return reaction.error_code is ErrorCode.NONE or refuses(exchange, reaction.error_code)
    if reaction.kind is AnswerKind.SASL_HANDSHAKE:
        return _is_handshake_of(reaction, payload, broker)
    flexible = reaction.layout >= FIRST_FLEXIBLE_AUTHENTICATE
    at = CORRELATION_ID_BYTES + (1 if flexible else 0)
    return payload[at : at + ERROR_CODE_BYTES] == reaction.error_code.to_bytes(ERROR_CODE_BYTES)


def _is_handshake_of(reaction: Reaction, payload: bytes, broker: Broker) -> bool:
    body = payload[CORRELATION_ID_BYTES:]
    try:
        answer = decode(SaslHandshakeResponse, body, version=reaction.layout)
    except DecodeError:
        return False
    if answer.error_code is not reaction.error_code:
        return False
    access = broker.running.sasl
    if reaction.listing is Listing.NOTHING:
        return answer.mechanisms == ()
    return access is None or set(answer.mechanisms) == set(access.mechanisms)


def refuses(exchange: Exchange, error_code: ErrorCode) -> bool:
    """Return whether a response of any API holds nothing but an error code, in the layout of its request.

    Lists are empty, or each of their entries carries the error code itself, as the groups of OffsetFetch v8 do. A
    response that has no error code of its own, such as Metadata's, has empty lists.
    """
    request = exchange.request
    api = api_catalogue().find(request.api_key, request.api_version)
    if api is None:
        return True
    try:
        _, answer = decode_response(exchange, api, request.api_version)
    except DecodeError:
        return False
    if set(error_codes_in(answer, request.api_version)) - {error_code}:
        return False
    lists = (
        getattr(answer, field.name) or ()
        for field in answer.FIELDS
        if request.api_version in field.versions and field.type is FieldType.ARRAY
    )
    return all(
        is_dataclass(entry) and any(error_codes_in(entry, request.api_version))
        for entries in lists
        for entry in entries
    )


def _is_table_of(reaction: Reaction, exchange: Exchange, broker: Broker) -> bool:
    answer = decode_answer(exchange, api_version=reaction.layout, exactly=True)
    expected = response_for(reaction, broker.profile)
    if answer.error_code is not expected.error_code:
        return False
    if not broker.profile.api_keys:
        # No table of this release and listener is recorded.
        return True
    epoch_sent, epoch_expected = (each.finalized_features_epoch >= 0 for each in (answer, expected))
    return epoch_sent == epoch_expected and stable_part(answer) == stable_part(expected)
