"""Outputs: what a target does with a letter, in a few exact words.

The words are comparable between targets.

Bytes that may differ between two correct responses are left out: tables are compared with the target's own first one,
throttle times and epochs are ignored. "closed" and "silent" end a word: nothing that follows can change.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from conformance.learning.alphabets import Letter, Sending
from reference_model.broker.rules.reaction import AnswerKind
from reference_model.judging.same_response import StablePart, stable_part_of_body
from reports.machines.machine import AND_THEN, CLOSED, ends_word
from reports.wording.escaping import printable
from wire import primitives
from wire.api_keys import API_VERSIONS_KEY, LIST_GROUPS_KEY, METADATA_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION, ApiVersionsResponse
from wire.codec import decode
from wire.described_messages import SASL_HANDSHAKE
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Exchange
from wire.frames import SIZE_BYTES
from wire.headers import CORRELATION_ID_BYTES, correlation_id_bytes
from wire.sasl import FIRST_FLEXIBLE_AUTHENTICATE

_STARTING_UP = (14, 15)
"""Errors of ListGroups while the coordinator loads; whether a broker is still loading is no state of a connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstraction:
    """Turns what a target does into outputs.

    Attributes:
        plain: the stable part of the target's response to a plain request on a new connection, by version.
        mechanisms: the SASL mechanisms that the listener offers.
        knows_ids: whether the ids of the target are known; if not, the model names no broker in Metadata.
    """

    plain: Mapping[int, StablePart] = field(default_factory=dict)
    mechanisms: frozenset[str] = frozenset()
    knows_ids: bool = True

    def output(self, letter: Letter, exchanges: Sequence[Exchange]) -> str:
        """Return the output for a letter: what became of each of its frames, up to the end of the connection."""
        outputs: list[str] = []
        for exchange in exchanges:
            outputs.append(self._output(letter, exchange))
            if ends_word(outputs[-1]):
                break
        return AND_THEN.join(outputs)

    def _output(self, letter: Letter, exchange: Exchange) -> str:
        if exchange.framing_error is not None:
            return f"bytes that are no frame{AND_THEN}{CLOSED}"
        if exchange.payload is None:
            return exchange.outcome.value
        text = self._response(letter, exchange, exchange.payload)
        # Of a letter with a sentinel it is known at once whether the connection is still served.
        ends = letter.sending is Sending.WITH_SENTINEL and not exchange.usable
        return f"{text}{AND_THEN}{CLOSED}" if ends else text

    def _response(self, letter: Letter, exchange: Exchange, payload: bytes) -> str:
        if letter.kind is AnswerKind.BARE_TOKEN and not payload:
            return "token taken"
        sent = exchange.request.data[SIZE_BYTES:]
        if payload[:CORRELATION_ID_BYTES] != correlation_id_bytes(sent):
            return "a response to another request"
        body = payload[CORRELATION_ID_BYTES:]
        try:
            return _READERS[letter.kind](self, exchange, body)
        except DecodeError:
            return "undecodable response"

    def api_versions(self, exchange: Exchange, body: bytes) -> str:
        """Describe a response to ApiVersions by its error code, layout and table."""
        version, part = _layout_of(body, exchange.request.api_version)
        tags = ", unknown tags" if _has_unknown_tags(body, version) else ""
        return f"{_name(part.error_code)} v{version} {self._table(part, version)}{tags}"

    def _table(self, part: StablePart, version: int) -> str:
        own = self.plain.get(version)
        entries = part.api_keys
        if not entries:
            return "empty"
        if [key for key, *_ in entries] == [API_VERSIONS_KEY]:
            return "itself"
        if own is None or entries != own.api_keys:
            return f"other table {_digest(entries)}"
        if part[2:] == own[2:] or version < FIRST_FLEXIBLE_VERSION:
            return "full"
        return f"full, other features {_digest(part[2:])}"

    def handshake(self, exchange: Exchange, body: bytes) -> str:
        """Describe a response to SaslHandshake by its error code and mechanisms."""
        version = min(max(exchange.request.api_version, 0), 1)
        response = decode(SASL_HANDSHAKE.response, body, version=version)
        listed = frozenset(response.mechanisms)
        names = printable(",".join(sorted(listed)))
        text = "all" if listed == self.mechanisms else names or "none"
        return f"{_name(response.error_code)} lists {text}"

    def authenticate(self, exchange: Exchange, body: bytes) -> str:
        """Describe a response to SaslAuthenticate by its error code."""
        is_flexible = exchange.request.api_version >= FIRST_FLEXIBLE_AUTHENTICATE
        code, _ = primitives.read_int16(memoryview(body), 1 if is_flexible else 0)
        return _name(code)

    def other(self, exchange: Exchange, body: bytes) -> str:
        """Describe a response of another API by what its beginning says."""
        data, key = memoryview(body), exchange.request.api_key
        if key == METADATA_KEY:
            brokers, _ = primitives.read_int32(data, 0)
            return "answered" if brokers or not self.knows_ids else "answered without brokers"
        if key == LIST_GROUPS_KEY:
            code, _ = primitives.read_int16(data, 0)
            return "answered" if code in (0, *_STARTING_UP) else _name(code)
        return "answered"


_READERS: Mapping[AnswerKind, Callable[[Abstraction, Exchange, bytes], str]] = {
    AnswerKind.API_VERSIONS: Abstraction.api_versions,
    AnswerKind.SASL_HANDSHAKE: Abstraction.handshake,
    AnswerKind.SASL_AUTHENTICATE: Abstraction.authenticate,
    AnswerKind.BARE_TOKEN: lambda *_: "answered",
    AnswerKind.OTHER: Abstraction.other,
}


def _layout_of(body: bytes, requested: int) -> tuple[int, StablePart]:
    """Return the version in whose layout a response is, that of the request first.

    Raises:
        DecodeError: it is in none.
    """
    own = (requested,) if 0 <= requested <= NEWEST_VERSION else ()
    *others, last = dict.fromkeys((*own, 0, 1, FIRST_FLEXIBLE_VERSION))
    for version in others:
        try:
            return version, stable_part_of_body(body, version)
        except DecodeError:
            continue
    return last, stable_part_of_body(body, last)


@lru_cache(maxsize=4096)
def _has_unknown_tags(body: bytes, version: int) -> bool:
    """Return whether a response, or an entry of its table, has tagged fields that its version does not describe."""
    if version < FIRST_FLEXIBLE_VERSION:
        return False
    response = decode(ApiVersionsResponse, body, version=version)
    entries = any(entry.unknown_tagged_fields for entry in response.api_keys)
    return entries or bool(response.unknown_tagged_fields)


def _name(code: int) -> str:
    return ErrorCode(code).name


def _digest(value: object) -> str:
    return f"{zlib.crc32(repr(value).encode()):08x}"
