"""Decision whether a target's treatment of a request is allowed by the model.

The treatment must be one of the reactions that the model allows.

The properties, the replay of stored inputs and the judging of recorded exchanges all use it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import is_dataclass

from reference_model.broker.rules.connection_states import ConnectionEvent
from reference_model.broker.rules.reaction import AnswerKind, Listing, Reaction
from reference_model.broker.rules.responses import response_for
from reference_model.judging.same_response import StablePart, differing_fields, stable_part, stable_part_of_body
from reference_model.profiles.profile import Profile
from wire.codec import decode
from wire.described_messages import SASL_HANDSHAKE
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Exchange, Outcome
from wire.fields import FieldType
from wire.frames import SIZE_BYTES
from wire.headers import CORRELATION_ID_BYTES, ERROR_CODE_BYTES, correlation_id_bytes
from wire.message_schemas import Api, error_codes_in
from wire.sasl import FIRST_FLEXIBLE_AUTHENTICATE

FindApi = Callable[[int, int], Api | None]
"""Returns the schemas of an API key and version, or None."""


def _no_schema(_api_key: int, _api_version: int) -> None:
    return None


class Agreement:
    """Compares what one target does with what the model allows."""

    def __init__(
        self,
        profile: Profile,
        *,
        mechanisms: Collection[str] | None = None,
        find_api: FindApi = _no_schema,
    ) -> None:
        """Remember the target.

        Args:
            profile: the release on the listener.
            mechanisms: the SASL mechanisms that the listener offers; None if unknown.
            find_api: finds the schemas of other APIs; refusals of an API without schemas are not checked.
        """
        self._profile = profile
        self._mechanisms = mechanisms
        self._find_api = find_api
        self._expected: dict[Reaction, StablePart] = {}

    def matching(
        self, exchange: Exchange, allowed: Sequence[Reaction], *, is_kept: bool | None = None
    ) -> Reaction | None:
        """Return the first allowed reaction that the target's treatment of a request matches, or None.

        Args:
            exchange: the request, and what became of it.
            allowed: the reactions that the model allows.
            is_kept: whether the connection still served requests after a response; None if that was not seen.
        """
        return next((each for each in allowed if self._matches(each, exchange, is_kept)), None)

    def _matches(self, reaction: Reaction, exchange: Exchange, is_kept: bool | None) -> bool:
        if exchange.payload is None or reaction.outcome is not Outcome.ANSWER:
            return exchange.payload is None and exchange.outcome is reaction.outcome
        keeps = reaction.event is not ConnectionEvent.REFUSED
        return is_kept in (None, keeps) and self._is_response_of(reaction, exchange, exchange.payload)

    def _is_response_of(self, reaction: Reaction, exchange: Exchange, payload: bytes) -> bool:
        if reaction.kind is AnswerKind.BARE_TOKEN:
            return payload == b""
        sent = exchange.request.data[SIZE_BYTES:]
        if payload[:CORRELATION_ID_BYTES] != correlation_id_bytes(sent):
            return False
        body = payload[CORRELATION_ID_BYTES:]
        try:
            if reaction.kind is AnswerKind.API_VERSIONS:
                return self._is_table_of(reaction, body)
            if reaction.kind is AnswerKind.SASL_HANDSHAKE:
                return self._is_handshake_of(reaction, body)
        except DecodeError:
            return False
        if reaction.kind is AnswerKind.OTHER:
            return reaction.error_code is ErrorCode.NONE or refuses(exchange, reaction.error_code, self._find_api)
        at = 1 if reaction.response_version >= FIRST_FLEXIBLE_AUTHENTICATE else 0
        return body[at : at + ERROR_CODE_BYTES] == reaction.error_code.to_bytes(ERROR_CODE_BYTES)

    def _is_table_of(self, reaction: Reaction, body: bytes) -> bool:
        if reaction not in self._expected:
            self._expected[reaction] = stable_part(response_for(reaction, self._profile))
        seen, expected = (
            stable_part_of_body(body, reaction.response_version),
            self._expected[reaction],
        )
        if not self._profile.api_keys:
            # No table of this release and listener is recorded.
            return seen.error_code is expected.error_code
        return seen == expected

    def what_differs(self, exchange: Exchange, allowed: Sequence[Reaction]) -> dict[str, str]:
        """Return the fields in which a decodable table differs from that of the preferred reaction; else nothing."""
        reaction = allowed[0]
        is_table = reaction.kind is AnswerKind.API_VERSIONS and reaction.outcome is Outcome.ANSWER
        if exchange.payload is None or not is_table or not self._profile.api_keys:
            return {}
        try:
            body = exchange.payload[CORRELATION_ID_BYTES:]
            seen = stable_part_of_body(body, reaction.response_version)
        except DecodeError:
            return {}
        return differing_fields(seen, stable_part(response_for(reaction, self._profile)))

    def _is_handshake_of(self, reaction: Reaction, body: bytes) -> bool:
        response = decode(SASL_HANDSHAKE.response, body, version=reaction.response_version)
        if response.error_code is not reaction.error_code:
            return False
        if reaction.listing is Listing.NOTHING:
            return not response.mechanisms
        return self._mechanisms is None or set(response.mechanisms) == set(self._mechanisms)


def refuses(exchange: Exchange, error_code: ErrorCode, find_api: FindApi) -> bool:
    """Return whether a response of any API holds nothing but an error code, in the layout of its request.

    Lists are empty, or each of their entries carries the error code itself, as the groups of OffsetFetch v8 do. A
    response that has no error code of its own, such as Metadata's, has empty lists.
    """
    version = exchange.request.api_version
    api = find_api(exchange.request.api_key, version)
    if api is None:
        return True
    try:
        _, response = api.decode_response(exchange.payload or b"", version)
    except DecodeError:
        return False
    if set(error_codes_in(response, version)) - {error_code}:
        return False
    lists = (
        getattr(response, field.name) or ()
        for field in response.FIELDS
        if version in field.versions and field.type is FieldType.ARRAY
    )
    return all(is_dataclass(entry) and any(error_codes_in(entry, version)) for entries in lists for entry in entries)
