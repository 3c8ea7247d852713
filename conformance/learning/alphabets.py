"""Letters and alphabets of the learner.

Letters are named inputs of a connection. Learning sends words, which are sequences of letters.

A letter is one write in most cases. Its bytes are the same in every word, so its response can be recognised by its
correlation id, which no other letter has.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count

from fixtures.client.connection import Connection
from reference_model.broker.rules.reaction import AnswerKind, Identity
from reference_model.broker.rules.request_parser import READABLE_BODIES
from strategies.api_versions import build_request
from strategies.broken_requests import build_with_null_name
from strategies.field_values import Software
from strategies.odd_frames import build_short_frame, build_with_size
from strategies.odd_requests import build_mixed
from strategies.other_apis import build_bare_request
from wire.api_keys import (
    API_VERSIONS_KEY,
    BROKER_HEARTBEAT_KEY,
    ENVELOPE_KEY,
    LIST_GROUPS_KEY,
    METADATA_KEY,
    SASL_AUTHENTICATE_KEY,
    SASL_HANDSHAKE_KEY,
    VOTE_KEY,
)
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.exchange import Exchange, Request
from wire.frames import SOCKET_REQUEST_MAX_BYTES
from wire.header_versions import PLAIN_REQUEST_HEADER
from wire.headers import CLIENT_ID_OFFSET
from wire.primitives import INT16_MAX, INT16_MIN, INT32_MAX, TaggedField
from wire.sasl import (
    FIRST_FLEXIBLE_AUTHENTICATE,
    PLAIN,
    authenticate_request,
    bare_token,
    handshake_request,
    plain_token,
)

SMALL, LARGE = "small", "large"
"""With the small alphabet learning takes seconds; the large one contains it."""
SIZES = (SMALL, LARGE)
FIRST_CORRELATION_ID = 1000
ODD_TAG = TaggedField(tag=9, data=b"odd")
OTHER_CLUSTER = "another-cluster"
UNASSIGNED_KEY = 9999


class Sending(enum.Enum):
    """How a letter is sent."""

    ONE_WRITE = "in one write"
    IN_PIECES = "in two writes with a pause"
    WITH_SENTINEL = "followed by a sentinel"
    """For frames that some releases ignore: the response to the sentinel shows it, so that nothing is waited for."""
    THEN_END = "followed by the end of our side of the stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One named input.

    Attributes:
        name: its name.
        requests: the frames that it consists of; usually one.
        kind: the kind of message that a response to it is.
        sending: how it is sent.
        cut: after how many bytes the first of two writes ends.
    """

    name: str
    requests: tuple[Request, ...]
    kind: AnswerKind = AnswerKind.API_VERSIONS
    sending: Sending = Sending.ONE_WRITE
    cut: int = 0

    def send(self, connection: Connection) -> tuple[Exchange, ...]:
        """Send the letter on a connection, and return what became of each of its frames."""
        if self.sending is Sending.WITH_SENTINEL:
            return (connection.exchange(self.requests[0]),)
        if self.sending is Sending.THEN_END:
            return connection.end_stream(self.requests)
        cuts = (self.cut,) if self.sending is Sending.IN_PIECES else ()
        return connection.converse(self.requests, cuts=cuts)


Alphabet = Mapping[str, Letter]
"""The letters that words consist of, by name, in the order in which they are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterFacts:
    """What the letters for a listener depend on.

    Attributes:
        newest: the highest version of ApiVersions that the target serves and a schema describes.
        highest: the highest version that it serves.
        identity: its ids; without them no letter has the right ones.
        username: the user that the listener accepts.
        password: that user's password.
        is_encrypted: whether the listener speaks TLS, where our side of the stream cannot end alone.
    """

    newest: int
    highest: int
    identity: Identity
    username: str = "nobody"
    password: str = "nothing"
    is_encrypted: bool = False

    @property
    def right_token(self) -> bytes:
        """The token of PLAIN that the listener accepts."""
        return plain_token(self.username, self.password)

    @property
    def wrong_token(self) -> bytes:
        """A token of PLAIN with a wrong password."""
        return plain_token(self.username, f"{self.password}?")


def alphabet_of(size: str, facts: LetterFacts) -> Alphabet:
    """Return the alphabet of one of `SIZES` for a listener."""
    writer = _Writer(facts)
    letters = [*writer.small()]
    if size == LARGE:
        letters += writer.more()
    return {letter.name: letter for letter in letters if _is_described(letter, facts.highest)}


def _is_described(letter: Letter, highest: int) -> bool:
    """Return whether schemas describe every served version that the requests of a letter use."""
    return not any(
        each.api_key == API_VERSIONS_KEY and NEWEST_VERSION < each.api_version <= highest for each in letter.requests
    )


class _Writer:
    """Writes the letters for one listener, each with a correlation id of its own."""

    def __init__(self, facts: LetterFacts) -> None:
        self._facts = facts
        self._correlation_ids = count(FIRST_CORRELATION_ID)

    def small(self) -> Iterable[Letter]:
        """Write the letters of the small alphabet."""
        newest = self._facts.newest
        yield self._versions("v0", version=0)
        yield self._versions("v2", version=2)
        yield self._versions("v3", version=3)
        yield self._versions("newest", version=newest)
        yield self._versions("newest+1", version=min(self._facts.highest + 1, INT16_MAX))
        yield self._versions("v99", version=99)
        yield self._versions("v-1", version=-1)
        yield self._versions("v0 null client id", version=0, client_id=None)
        yield self._versions("v3 tags", version=3, header_tags=(ODD_TAG,), body_tags=(ODD_TAG,))
        yield self._old_header("v3 old header", version=3)
        yield self._versions("v3 cut body", version=3, body=b"\x05ab", broken="cut body")
        yield self._versions("v3 illegal name", version=3, software=Software("a b", "1"))
        cluster_id, node_id = self._facts.identity.cluster_id, self._facts.identity.node_id
        if cluster_id is not None and node_id is not None:
            yield self._ids("right ids", cluster_id, node_id)
            # If the target's own are not known, the model allows two responses to wrong ids.
            yield self._ids("wrong ids", OTHER_CLUSTER, 1)
        yield self._ids("half the ids", OTHER_CLUSTER, -1)
        yield self._handshake("handshake v0", version=0)
        yield self._handshake("handshake v1", version=1)
        yield self._handshake("handshake v2", version=2)
        yield self._handshake("handshake unknown mechanism", version=1, mechanism="NONE")
        yield self._bare("bare token", self._facts.right_token)
        yield self._bare("wrong bare token", self._facts.wrong_token)
        yield self._wrapped("token", self._facts.right_token)
        yield self._wrapped("wrong token", self._facts.wrong_token)
        yield self._other("Metadata", METADATA_KEY)
        yield self._other("Metadata v99", METADATA_KEY, version=99)
        yield self._other("ListGroups", LIST_GROUPS_KEY)
        yield self._other("unassigned API", UNASSIGNED_KEY, body=b"")
        yield self._frame("short frame", 6)
        yield self._size("negative size", -1)

    def more(self) -> Iterable[Letter]:
        """Write the letters that only the large alphabet has."""
        yield from self._more_of_api_versions()
        yield from self._more_sasl()
        yield from self._more_apis()
        yield from self._more_frames()

    def _more_of_api_versions(self) -> Iterable[Letter]:
        yield self._versions("v1", version=1)
        yield self._versions("v4", version=4)
        yield self._versions("v5", version=5)
        yield self._versions("v259", version=0x103)
        yield self._versions("v32767", version=INT16_MAX)
        yield self._versions("v-32768", version=INT16_MIN)
        yield self._versions("v99 empty body", version=99, body=b"")
        yield self._versions("v0 long client id", version=0, client_id="c" * 300)
        yield self._versions("v0 empty client id", version=0, client_id="")
        yield self._versions("v0 trailing bytes", version=0, trailing=b"\0\1")
        yield self._versions("v3 trailing bytes", version=3, trailing=b"\0\1")
        yield self._versions("v3 null client id", version=3, client_id=None)
        yield self._versions("v3 header tag", version=3, header_tags=(ODD_TAG,))
        yield self._versions("v3 body tag", version=3, body_tags=(ODD_TAG,))
        yield self._versions("v3 empty name", version=3, software=Software("", "1"))
        yield self._versions("v3 illegal version", version=3, software=Software("a", "-1"))
        null_name = self._numbered(build_with_null_name, version=3, field="client_software_name")
        yield Letter(name="v3 null name", requests=(null_name,))
        yield self._versions("v3 empty body", version=3, body=b"", broken="empty body")
        yield self._old_header("v0 new header", version=0, header_version=2)
        cluster_id, node_id = self._facts.identity.cluster_id, self._facts.identity.node_id
        if cluster_id is not None and node_id is not None:
            yield self._ids("right cluster, wrong node", cluster_id, node_id + 1)
            yield self._ids("right cluster alone", cluster_id, -1)
            yield self._ids("right node alone", None, node_id)
        yield self._ids("empty cluster alone", "", -1)
        yield self._ids("node -2 alone", None, -2)

    def _more_sasl(self) -> Iterable[Letter]:
        facts = self._facts
        yield self._handshake("handshake v-1", version=-1)
        yield self._handshake("handshake lower case", version=1, mechanism=PLAIN.lower())
        yield self._handshake("handshake v0 unknown mechanism", version=0, mechanism="NONE")
        yield self._other(
            "handshake null mechanism",
            SASL_HANDSHAKE_KEY,
            version=1,
            body=b"\xff\xff",
            kind=AnswerKind.SASL_HANDSHAKE,
        )
        yield self._wrapped("token v1", facts.right_token, version=1)
        yield self._wrapped("token v2", facts.right_token, version=FIRST_FLEXIBLE_AUTHENTICATE)
        yield self._wrapped("wrong token v2", facts.wrong_token, version=2)
        yield self._wrapped("empty token", b"")
        yield self._other(
            "null token",
            SASL_AUTHENTICATE_KEY,
            body=b"\xff\xff\xff\xff",
            kind=AnswerKind.SASL_AUTHENTICATE,
        )

    def _more_apis(self) -> Iterable[Letter]:
        yield self._other("Metadata v-1", METADATA_KEY, version=-1)
        yield self._other("ListGroups v99", LIST_GROUPS_KEY, version=99)
        yield self._other("Vote", VOTE_KEY)
        yield self._other("Envelope", ENVELOPE_KEY)
        yield self._other("BrokerHeartbeat", BROKER_HEARTBEAT_KEY)
        yield self._other("API -1", -1, body=b"")

    def _more_frames(self) -> Iterable[Letter]:
        v3 = self._versions("v3 in two pieces", version=3)
        cut = len(v3.requests[0].data) // 2
        yield replace(v3, sending=Sending.IN_PIECES, cut=cut)
        (first,) = self._versions("", version=0).requests
        (second,) = self._versions("", version=3).requests
        # After SaslHandshake v0 it is an empty token; 0.10 and others ignore it, so a sentinel follows.
        yield self._frame("empty frame", 0)
        yield self._frame("frame of one byte", 1)
        yield self._frame("header without client id", CLIENT_ID_OFFSET, correlation_id=first.correlation_id)
        yield self._size("size above the limit", SOCKET_REQUEST_MAX_BYTES + 1)
        yield self._size("largest size", INT32_MAX)
        if not self._facts.is_encrypted:
            # Over TLS some releases look at a request that came together with another one only later.
            yield Letter(name="v0 and v3 in one write", requests=(first, second))
            half = replace(first, data=first.data[: len(first.data) // 2], broken="half a frame")
            yield Letter(name="half of v0, then the end", requests=(half,), sending=Sending.THEN_END)

    def _numbered(self, build: Callable[..., Request], **values: object) -> Request:
        return build(correlation_id=next(self._correlation_ids), **values)

    def _versions(self, name: str, **values: object) -> Letter:
        return Letter(name=name, requests=(self._numbered(build_request, **values),))

    def _ids(self, name: str, cluster_id: str | None, node_id: int) -> Letter:
        return self._versions(name, version=5, cluster_id=cluster_id, node_id=node_id)

    def _old_header(self, name: str, *, version: int, header_version: int = PLAIN_REQUEST_HEADER) -> Letter:
        request = self._numbered(
            build_mixed,
            version=version,
            header_version=header_version,
            body_version=version,
            body=ApiVersionsRequest(client_software_name="a", client_software_version="1"),
        )
        return Letter(name=name, requests=(request,))

    def _handshake(self, name: str, *, version: int, mechanism: str = PLAIN) -> Letter:
        request = self._numbered(handshake_request, version=version, mechanism=mechanism)
        return Letter(name=name, requests=(request,), kind=AnswerKind.SASL_HANDSHAKE)

    def _bare(self, name: str, token: bytes) -> Letter:
        return Letter(name=name, requests=(bare_token(token),), kind=AnswerKind.BARE_TOKEN)

    def _wrapped(self, name: str, token: bytes, *, version: int = 0) -> Letter:
        request = self._numbered(authenticate_request, token=token, version=version)
        return Letter(name=name, requests=(request,), kind=AnswerKind.SASL_AUTHENTICATE)

    def _other(
        self,
        name: str,
        api_key: int,
        *,
        version: int = 0,
        body: bytes | None = None,
        kind: AnswerKind = AnswerKind.OTHER,
    ) -> Letter:
        content = READABLE_BODIES[api_key, 0] if body is None else body
        request = self._numbered(build_bare_request, api_key=api_key, api_version=version, body=content, broken="")
        return Letter(name=name, requests=(request,), kind=kind)

    def _frame(self, name: str, kept: int, **values: int) -> Letter:
        """Write a complete frame without a complete header, which some releases ignore."""
        request = build_short_frame(0, kept, **values)
        return Letter(name=name, requests=(request,), sending=Sending.WITH_SENTINEL)

    def _size(self, name: str, size: int) -> Letter:
        return Letter(name=name, requests=(build_with_size(size, sent_bytes=0),))
