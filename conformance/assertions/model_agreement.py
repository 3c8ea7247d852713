"""Assertions that a target does what the reference model allows.

They send one request, or hold a conversation with the target and the model in parallel.

The message schemas are those from Kafka's jars.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from hypothesis import reject

from conformance.assertions.contradictions import Deviation
from conformance.assertions.decoding import decode_answer
from fixtures.artefacts.schema_jars import api_catalogue, catalogue_of
from fixtures.client.connection import Connection
from fixtures.errors import NoCredentials
from fixtures.under_test.broker import Broker
from reference_model.broker.rules.connection_states import (
    SERVING,
    TAKING_REQUESTS,
    TRANSITIONS,
    ConnectionState,
)
from reference_model.broker.rules.oracle import NO_CREDENTIALS, first_state, reactions
from reference_model.broker.rules.reaction import AnswerKind, NotModelled, Reaction, closed
from reference_model.broker.rules.sasl import Credentials, SaslConfiguration
from reference_model.judging.agreement import Agreement
from reference_model.judging.outcome_texts import difference, summary_of
from reference_model.judging.stored_inputs import cut_frames
from reference_model.profiles.profile import Profile
from strategies.api_versions import build_request
from strategies.conversations import Conversation, Handshake, Message, PlainToken, Reconnect, Say
from strategies.odd_frames import is_cut_short
from wire.exchange import Exchange, Outcome, Request
from wire.frames import SIZE_BYTES, SOCKET_REQUEST_MAX_BYTES, read_size
from wire.message_schemas import Api
from wire.sasl import PLAIN, authenticate_request, bare_token, handshake_request, plain_token

NOBODYS_TOKEN = b"\0nobody\0nothing"
UNANSWERED = (Outcome.SILENT, Outcome.IGNORED)
FINAL_MESSAGES: dict[ConnectionState, Message] = {
    ConnectionState.OPEN: build_request(version=0),
    ConnectionState.AUTHENTICATED: build_request(version=0),
    ConnectionState.BEFORE_HANDSHAKE: build_request(version=0),
    ConnectionState.API_VERSIONS_SERVED: Handshake(version=0),
    ConnectionState.BARE_TOKENS: PlainToken(wrapped=False),
    ConnectionState.WRAPPED_TOKENS: PlainToken(),
}
"""The final message for each connection state; a connection in that state has to answer it."""


def find_api(api_key: int, api_version: int) -> Api | None:
    """Return the registry's schemas of an API in a version, or None; the jars are read only when this is called."""
    return api_catalogue().find(api_key, api_version)


@functools.lru_cache(maxsize=8)
def model_of(broker: Broker) -> Profile:
    """Return the profile that a target is compared with.

    A target of another implementation has a table of its own, which replaces that of the release: a table that differs
    would hide every other difference. Other clauses judge whether the table is the same in every version.
    """
    return broker.profile if broker.pin_is_binding else broker.with_own_table(broker.profile)


def agreement_of(broker: Broker) -> Agreement:
    """Return the comparison of a target with its model."""

    def find_own_api(api_key: int, api_version: int) -> Api | None:
        return catalogue_of(broker.target).find(api_key, api_version)

    offered = broker.running.offered_mechanisms or None
    return Agreement(model_of(broker), mechanisms=offered, find_api=find_own_api)


def assert_allowed(
    exchange: Exchange,
    allowed: Sequence[Reaction],
    agreement: Agreement,
    *,
    is_kept: bool | None = None,
) -> Reaction:
    """Return the allowed reaction that the target's treatment of a request matches; fail if there is none.

    Args:
        exchange: the request, and what became of it.
        allowed: the reactions that the model allows.
        agreement: the comparison with the model.
        is_kept: whether the connection still served requests after a response; None if that was not seen.

    Raises:
        MalformedAnswer: a response to ApiVersions does not decode in the allowed layout.
        Deviation: the target did something else that the model does not allow.
    """
    reaction = agreement.matching(exchange, allowed, is_kept=is_kept)
    if reaction is None:
        _assert_decodable(exchange, allowed)
        fields = agreement.what_differs(exchange, allowed)
        what = f"; {', '.join(fields)} differ" if fields else ""
        details = "".join(f"\n{field}: {words}" for field, words in fields.items())
        raise Deviation(exchange, f"{difference(exchange, allowed)}{what}{details}")
    return reaction


def _assert_decodable(exchange: Exchange, allowed: Sequence[Reaction]) -> None:
    for reaction in allowed:
        is_table = reaction.kind is AnswerKind.API_VERSIONS and reaction.outcome is Outcome.ANSWER
        if is_table and exchange.payload is not None:
            decode_answer(exchange, api_version=reaction.response_version, exactly=True)


@dataclass(slots=True)
class _OpenConnection:
    """An open connection to the target, the stack that closes it, and its state according to the model."""

    connection: Connection
    closing: ExitStack
    state: ConnectionState


class ConversationRunner:
    """Runs one conversation; a context manager that closes the connections it opened."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._opened: dict[int, _OpenConnection] = {}
        self._judged = 0
        self._profile = model_of(broker)
        self._agreement = agreement_of(broker)
        access = broker.running.sasl
        offered = broker.running.offered_mechanisms
        self._authentication = replace(NO_CREDENTIALS, mechanisms=offered) if offered else NO_CREDENTIALS
        self._right_token = self._wrong_token = NOBODYS_TOKEN
        if access is not None:
            self._authentication = SaslConfiguration(
                credentials=Credentials(username=access.username, password=access.password),
                mechanisms=access.mechanisms,
            )
            self._right_token = plain_token(access.username, access.password)
            self._wrong_token = plain_token(access.username, f"{access.password}?")

    def __enter__(self) -> ConversationRunner:
        return self

    def __exit__(self, *_: object) -> None:
        for number in tuple(self._opened):
            self._close(number)

    def play(self, conversation: Conversation) -> None:
        """Perform every action, then check that every connection that has to be alive still is.

        A conversation that the model does not cover at all is rejected: the final check alone is no evidence.

        Raises:
            AssertionError: the target did something that the model does not allow.
        """
        for action in conversation:
            if isinstance(action, Reconnect):
                self._close(action.connection)
            else:
                self._say(action)
        judged = self._judged
        for number, opened in tuple(self._opened.items()):
            if opened.state in FINAL_MESSAGES:
                self._say(Say(connection=number, messages=(FINAL_MESSAGES[opened.state],)))
        if not judged:
            reject()

    def _close(self, number: int) -> None:
        opened = self._opened.pop(number, None)
        if opened is not None:
            opened.closing.close()

    def _connection(self, number: int) -> _OpenConnection:
        if number not in self._opened:
            closing = ExitStack()
            connection = closing.enter_context(self._broker.connect(authenticate=False))
            self._opened[number] = _OpenConnection(connection, closing, first_state(self._profile))
        return self._opened[number]

    def _request(self, message: Message) -> Request:
        if isinstance(message, Handshake):
            if self._broker.asks_for_authentication and not self._broker.running.offered_mechanisms:
                raise NoCredentials("the mechanisms that the listener offers are not known")
            return handshake_request(version=message.version, mechanism=message.mechanism)
        if isinstance(message, PlainToken):
            if self._broker.asks_for_authentication:
                self._broker.running.credentials_for(PLAIN)
            token = self._right_token if message.right else self._wrong_token
            if not message.wrapped:
                return bare_token(token)
            return authenticate_request(token, version=message.version, tags=message.tags)
        return message

    def _say(self, action: Say) -> None:
        opened = self._connection(action.connection)
        if opened.state not in TAKING_REQUESTS or (action.ends and self._broker.speaks_tls):
            return
        requests = as_read([self._request(message) for message in action.messages])
        states = self._states_before(requests, opened.state)
        # Before the rest of a frame has come, or the end of the stream, nothing happens.
        waits = not action.ends and is_unfinished(requests[-1])
        if states is None or waits:
            return
        # A hang would cost a silence bound each time.
        serves = any(state in SERVING for state in states)
        if serves and self._may_hang(requests, ends=action.ends):
            return
        if states[0] not in SERVING and self._hides(requests):
            return
        exchanges = opened.connection.end_stream(requests) if action.ends else opened.connection.converse(requests)
        # Responses were lost only after a refused size, or if our side ended directly after a complete frame or size.
        ends_early = action.ends and ends_at_a_read(requests[-1])
        may_lose = (
            self._profile.traits.early_end_loses_answers
            and serves
            and (ends_early or any(has_refused_size(each.data) for each in requests))
        )
        opened.state = self._follow(opened.state, exchanges, may_lose=may_lose)
        self._judged += 1
        if action.ends:
            assert has_ended(exchanges), "the target keeps the connection open after our side of it has ended"
            opened.state = ConnectionState.CLOSED
        elif opened.state is ConnectionState.CLOSED and not has_ended(exchanges):
            (following,) = opened.connection.converse([build_request(version=0)])
            assert following.outcome is Outcome.CLOSED, (
                f"the model expects a closed connection; {summary_of(following)}"
            )

    def _may_hang(self, requests: list[Request], *, ends: bool) -> bool:
        """Return whether an end in the same write may leave requests neither answered nor closed."""
        ends_early = ends or (len(requests) > 1 and any(has_refused_size(each.data) for each in requests))
        return self._profile.traits.early_end_may_hang and ends_early

    def _hides(self, requests: list[Request]) -> bool:
        """Return whether the target may see only the first of these before authentication, until more comes."""
        is_secured = self._broker.speaks_tls and self._broker.asks_for_authentication
        return self._profile.traits.tls_hides_requests and is_secured and len(requests) > 1

    def _states_before(self, requests: list[Request], state: ConnectionState) -> tuple[ConnectionState, ...] | None:
        """Return the connection's state before each request that is still processed.

        Return None if the model does not cover one of the requests.

        Requests that get neither a response nor a close are excluded, because each would cost a silence bound.
        `MODEL.agrees-with-reference` judges them, with a sentinel after those that are ignored.
        """
        states = []
        try:
            for request in requests:
                states.append(state)
                allowed = self._allowed(request, state)
                if not allowed:
                    break
                if any(reaction.outcome in UNANSWERED for reaction in allowed):
                    return None
                state = TRANSITIONS[state, allowed[0].event]
                if state not in TAKING_REQUESTS:
                    break
        except NotModelled:
            return None
        return tuple(states)

    def _allowed(self, request: Request, state: ConnectionState) -> tuple[Reaction, ...]:
        """Return what the model allows for a frame; nothing for an incomplete one."""
        payload = request.data[SIZE_BYTES:]
        if has_refused_size(request.data):
            return (closed("PROTOCOL.negative-size-refused"),)
        if not is_whole(request):
            return ()
        return reactions(
            payload,
            self._profile,
            self._broker.identity,
            state=state,
            authentication=self._authentication,
        )

    def _follow(self, state: ConnectionState, exchanges: tuple[Exchange, ...], *, may_lose: bool) -> ConnectionState:
        """Compare the exchanges with the model, and return the connection's new state."""
        answered = deque(exchange for exchange in exchanges if exchange.payload is not None)
        for exchange in exchanges:
            if state not in TAKING_REQUESTS:
                break
            allowed = self._allowed(exchange.request, state)
            if not allowed:
                break
            if may_lose and not answered:
                return ConnectionState.CLOSED
            reaction = self._matching(allowed, exchange.request, answered, exchanges)
            state = TRANSITIONS[state, reaction.event]
        assert not answered, f"{len(answered)} more responses than the model allows"
        return state

    def _matching(
        self,
        allowed: tuple[Reaction, ...],
        sent: Request,
        answered: deque[Exchange],
        exchanges: tuple[Exchange, ...],
    ) -> Reaction:
        """Return the reaction that the target chose, and remove its response from `answered`."""
        if not answered:
            # Whether the target closed the connection is checked after the last request.
            for reaction in allowed:
                if reaction.outcome is not Outcome.ANSWER:
                    return reaction
        seen = replace(answered[0] if answered else exchanges[-1], request=sent)
        reaction = assert_allowed(seen, allowed, self._agreement)
        answered.popleft()
        return reaction


def as_read(requests: Sequence[Request]) -> list[Request]:
    """Return requests as a broker reads them: after a size prefix below the payload, the next frame begins early."""
    if not any(map(is_cut_short, requests)):
        return list(requests)
    return list(cut_frames(b"".join(request.data for request in requests)).all)


def has_refused_size(frame: bytes) -> bool:
    """Return whether a frame's size is refused in every state: it is negative, or above the largest limit."""
    if len(frame) < SIZE_BYTES:
        return False
    return not 0 <= read_size(frame) <= SOCKET_REQUEST_MAX_BYTES


def is_unfinished(request: Request) -> bool:
    """Return whether a broker waits for the rest of a frame."""
    return not is_whole(request) and not has_refused_size(request.data)


def ends_at_a_read(request: Request) -> bool:
    """Return whether a broker has read everything it waits for: a size, or the frame after it."""
    return len(request.data) == SIZE_BYTES or is_whole(request)


def is_whole(request: Request) -> bool:
    """Return whether a request has all the bytes that its frame announces."""
    return len(request.data) >= SIZE_BYTES and read_size(request.data) <= len(request.data) - SIZE_BYTES


def has_ended(exchanges: tuple[Exchange, ...]) -> bool:
    """Return whether the target was seen closing the connection after the last of some pipelined requests."""
    last = exchanges[-1]
    return last.outcome is Outcome.CLOSED or (last.outcome is Outcome.ANSWER and not last.usable)
