"""Conversations: sequences of actions on several connections to one listener.

A Hypothesis state machine generates them. It runs while the example is drawn and talks to no broker, so a
property receives a plain tuple of actions. That tuple can be printed, pinned by `@example`, judged and replayed
like any other value. Hypothesis shrinks it by removing steps.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    get_state_machine_test,
    initialize,
    precondition,
    rule,
)

from strategies.api_versions import api_versions_requests
from strategies.broken_requests import malformed_requests, mutated_requests
from strategies.broken_sasl_steps import broken_sasl_steps
from strategies.cluster_ids import requests_with_cluster_ids
from strategies.field_values import (
    correlation_ids,
    illegal_software_texts,
    legal_software,
    legal_software_texts,
    plain_client_ids,
    software,
    unknown_tagged_fields,
)
from strategies.hypothesis_adapter import body_of
from strategies.odd_frames import frames_with_negative_size, frames_with_small_size, partial_frames
from strategies.other_apis import bare_requests, whole_requests
from strategies.weights import one_branch
from wire.exchange import Request
from wire.primitives import INT16_MAX, INT16_MIN, NO_TAGS, write_raw_tagged_fields
from wire.sasl import FIRST_FLEXIBLE_AUTHENTICATE, PLAIN

MAX_CONNECTIONS = 3
STEPS = 7
MAX_PIPELINED = 3
MAX_MIXED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Handshake:
    """A SaslHandshake request."""

    version: int = 1
    mechanism: str = PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainToken:
    """A token of the PLAIN mechanism; the player of the conversation fills in the password.

    Attributes:
        wrapped: whether it is sent in a SaslAuthenticate request, as required after SaslHandshake v1.
        right: whether it contains the right password.
        version: the version of SaslAuthenticate, if it is wrapped.
        tags: the tag section of its header and body, in v2.
    """

    wrapped: bool = True
    right: bool = True
    version: int = 0
    tags: bytes = NO_TAGS


Message = Request | Handshake | PlainToken


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """Messages sent on one connection in a single write.

    Attributes:
        connection: number of the connection; a new number opens a connection.
        messages: the messages to write.
        ends: whether our side of the stream ends after them.
    """

    connection: int = 0
    messages: tuple[Message, ...]
    ends: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconnect:
    """The close of one connection and the opening of a new one under its number."""

    connection: int = 0


Action = Say | Reconnect
Conversation = tuple[Action, ...]


def _requests() -> st.SearchStrategy[Request]:
    """ApiVersions requests in any version, with legal and illegal names."""
    return (
        api_versions_requests(
            versions=st.integers(0, 6) | st.integers(INT16_MIN, INT16_MAX),
            correlation_ids=correlation_ids(),
            client_ids=plain_client_ids(),
            software=legal_software() | software(legal_software_texts() | illegal_software_texts()),
        )
        | requests_with_cluster_ids()
    )


def _broken() -> st.SearchStrategy[Request]:
    return st.one_of(
        malformed_requests(),
        mutated_requests(),
        one_branch(frames_with_negative_size()),
        one_branch(frames_with_small_size()),
    )


def _handshakes() -> st.SearchStrategy[Handshake]:
    return st.builds(
        Handshake,
        version=st.sampled_from((0, 1, 1, 2, -1)),
        mechanism=st.sampled_from((PLAIN, PLAIN, PLAIN, "", "plain")),
    )


def _tokens() -> st.SearchStrategy[PlainToken]:
    tags = st.just(NO_TAGS) | unknown_tagged_fields().map(write_raw_tagged_fields)
    return st.builds(
        PlainToken,
        wrapped=st.booleans(),
        right=st.booleans(),
        version=st.integers(0, FIRST_FLEXIBLE_AUTHENTICATE),
        tags=tags,
    )


class ConversationWriter(RuleBasedStateMachine):
    """A state machine that records a conversation; each rule is one step.

    Attributes:
        written: the conversation so far.
    """

    connections = Bundle("connections")
    handshaken = Bundle("handshaken")

    def __init__(self) -> None:
        super().__init__()
        self.written: list[Action] = []
        self._opened = 0

    @initialize(target=connections)
    def begin(self) -> int:
        """Open the first connection."""
        return self._open()

    @precondition(lambda self: self._opened < MAX_CONNECTIONS)
    @rule(target=connections)
    def connect(self) -> int:
        """Open another connection in addition to the existing ones."""
        return self._open()

    @rule(connection=connections, request=_requests())
    def ask(self, connection: int, request: Request) -> None:
        """Send one ApiVersions request."""
        self._say(connection, request)

    @rule(
        connection=connections,
        requests=st.lists(_requests(), min_size=2, max_size=MAX_PIPELINED),
        broken=st.none() | _broken(),
        following=st.integers(0, MAX_PIPELINED),
    )
    def ask_many(self, connection: int, requests: list[Request], broken: Request | None, following: int) -> None:
        """Send pipelined requests, sometimes with a broken one before, among or after them."""
        if broken is not None:
            requests = [*requests[:-following], broken, *requests[-following:]] if following else [*requests, broken]
        self._say(connection, *requests)

    @rule(
        connection=connections,
        messages=st.lists(
            one_branch(_requests()) | whole_requests() | _handshakes() | _tokens(),
            min_size=2,
            max_size=MAX_MIXED,
        ),
    )
    def mix(self, connection: int, messages: list[Message]) -> None:
        """Send requests of several APIs and steps of SASL in one write, in any order."""
        self._say(connection, *messages)

    @rule(connection=connections, request=_broken())
    def break_off(self, connection: int, request: Request) -> None:
        """Send a broken request."""
        self._say(connection, request)

    @rule(connection=connections, request=whole_requests() | bare_requests())
    def ask_another_api(self, connection: int, request: Request) -> None:
        """Send a request of another API: one that every broker serves, or one with any key."""
        self._say(connection, request)

    @rule(target=handshaken, connection=connections, step=_handshakes())
    def handshake(self, connection: int, step: Handshake) -> int:
        """Send a SaslHandshake request, the first step of SASL."""
        self._say(connection, step)
        return connection

    @rule(connection=handshaken, step=_tokens())
    def give_token(self, connection: int, step: PlainToken) -> None:
        """Send a token, the second step of SASL, in the form the handshake announced or in the other."""
        self._say(connection, step)

    @rule(connection=connections, handshake=st.none() | _handshakes(), step=broken_sasl_steps())
    def break_authentication(self, connection: int, handshake: Handshake | None, step: Request) -> None:
        """Send a step of SASL that is wrong, sometimes in one write with the right step before it."""
        self._say(connection, *(() if handshake is None else (handshake,)), step)

    @rule(connection=connections, version=st.sampled_from((0, 1)), together=st.booleans())
    def authenticate(self, connection: int, version: int, together: bool) -> None:
        """Perform both steps of SASL, in two writes or in one."""
        steps = (Handshake(version=version), PlainToken(wrapped=version > 0))
        if together:
            self._say(connection, *steps)
        else:
            for step in steps:
                self._say(connection, step)

    @rule(
        connection=connections,
        requests=st.lists(_requests(), min_size=1, max_size=MAX_PIPELINED),
        part=st.none() | partial_frames(),
    )
    def end_stream(self, connection: int, requests: list[Request], part: Request | None) -> None:
        """Send requests and end our side of the stream, sometimes in the middle of another request."""
        messages = (*requests, *(() if part is None else (part,)))
        self.written.append(Say(connection=connection, messages=messages, ends=True))

    @rule(connection=connections)
    def reconnect(self, connection: int) -> None:
        """Replace a connection with a new one."""
        self.written.append(Reconnect(connection=connection))

    def _open(self) -> int:
        self._opened += 1
        return self._opened - 1

    def _say(self, connection: int, *messages: Message) -> None:
        self.written.append(Say(connection=connection, messages=messages))


_LOOP = get_state_machine_test(ConversationWriter, settings=settings(stateful_step_count=STEPS))
"""Hypothesis' own loop over the rules, which can run on the data of an example while it is drawn."""


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    """Conversations of a few steps on up to three connections at a time."""
    body_of(_LOOP)(draw(st.data()))
    writer: ConversationWriter = draw(st.runner())
    return tuple(writer.written)
