"""Oracle for stored inputs, based on the reference model.

It returns the allowed reactions to each frame, and the connection's fate.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

from reference_model.broker.rules.connection_states import (
    TAKING_REQUESTS,
    TRANSITIONS,
    ConnectionEvent,
    ConnectionState,
)
from reference_model.broker.rules.oracle import first_state, reactions
from reference_model.broker.rules.reaction import AnswerKind, Identity, NotModelled, Reaction
from reference_model.judging.agreement import Agreement
from reference_model.profiles.profile import Profile
from wire.errors import DecodeError
from wire.exchange import Outcome, Request
from wire.frames import SIZE_BYTES, SOCKET_REQUEST_MAX_BYTES, FrameReader
from wire.headers import RequestHeader, read_request_start


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """A stored input, split into frames as the target reads them.

    Attributes:
        complete: the complete frames, each as a request.
        rest: the bytes after them that form no complete frame, as a request; None if there are none.
        size_is_refused: whether the rest is refused for its size alone; otherwise the target waits for more bytes.
    """

    complete: tuple[Request, ...]
    rest: Request | None = None
    size_is_refused: bool = False

    @property
    def all(self) -> tuple[Request, ...]:
        """All requests in order; an incomplete frame comes last."""
        return self.complete if self.rest is None else (*self.complete, self.rest)

    @property
    def awaits_more(self) -> bool:
        """Whether the target waits for more bytes, so that only the end of our stream ends the connection."""
        return self.rest is not None and not self.size_is_refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What the model allows for one stored input.

    Attributes:
        frames: the input, split into frames.
        reactions: the allowed reactions to each complete frame that the target still processes.
        losses: further allowed outcomes of the complete input, because the bytes after the complete frames may
            make the target lose its responses to them.
    """

    frames: Frames
    reactions: tuple[tuple[Reaction, ...], ...]
    losses: frozenset[Outcome] = frozenset()

    @property
    def ends_the_connection(self) -> bool:
        """Whether the connection ends in every allowed case: after a frame, for the rest, or with our stream."""
        last = self.reactions[-1] if self.reactions else ()
        is_served = any(reaction.event is ConnectionEvent.SERVED for reaction in last)
        return self.frames.rest is not None or bool(last and not is_served)

    @property
    def keeps_the_connection(self) -> bool:
        """Whether every allowed reaction answers its frame and leaves the connection in its state."""
        return (
            self.frames.rest is None
            and len(self.reactions) == len(self.frames.complete)
            and all(
                reaction.outcome is Outcome.ANSWER and reaction.event is ConnectionEvent.SERVED
                for allowed in self.reactions
                for reaction in allowed
            )
        )


@functools.lru_cache(maxsize=4096)
def cut_frames(data: bytes) -> Frames:
    """Split a stored input into frames as a broker does."""
    reader = FrameReader(max_frame_bytes=SOCKET_REQUEST_MAX_BYTES)
    reader.receive_data(data)
    complete = []
    size_is_refused = False
    while True:
        try:
            payload = reader.next_payload()
        except DecodeError:
            size_is_refused = True
            break
        if payload is None:
            break
        complete.append(_as_request(len(payload).to_bytes(SIZE_BYTES) + payload))
    rest = _as_request(reader.unread) if reader.unread else None
    return Frames(complete=tuple(complete), rest=rest, size_is_refused=size_is_refused)


def _as_request(data: bytes) -> Request:
    """Return bytes as a request whose header holds the numbers that a broker reads first."""
    start = read_request_start(data[SIZE_BYTES:])
    header = RequestHeader(
        request_api_key=start.api_key,
        request_api_version=start.api_version,
        correlation_id=start.correlation_id,
    )
    return Request(data=data, header=header, broken="stored bytes")


class StoredInputOracle:
    """The oracle for stored inputs, for one release on one listener.

    Attributes:
        profile: the release on the listener.
        agreement: decides whether a response is allowed.
        served: the state of a connection on which the target serves requests.
    """

    def __init__(self, profile: Profile, identity: Identity) -> None:
        """Create the oracle for one target."""
        self.profile = profile
        self.agreement = Agreement(profile)
        self._identity = identity
        asks = profile.asks_for_authentication
        self.served = ConnectionState.AUTHENTICATED if asks else ConnectionState.OPEN

    def allowed_for(self, data: bytes) -> Allowed:
        """Return what the target may do with a stored input on a connection that it serves.

        Raises:
            NotModelled: the model does not cover one of its frames.
        """
        frames = cut_frames(data)
        judged = []
        for request in frames.complete:
            allowed = self.reactions_to(request)
            judged.append(allowed)
            if not any(reaction.event is ConnectionEvent.SERVED for reaction in allowed):
                break
        return Allowed(frames=frames, reactions=tuple(judged), losses=self.losses(frames))

    def losses(self, frames: Frames) -> frozenset[Outcome]:
        """Return the outcomes of requests on a served connection if the target may lose its responses to them.

        See `Choice.REFUSED_AFTER_FRAME`. An end after 1, 3, 5 or more bytes of a frame never lost a response, and
        neither did a complete frame that is refused for its content.
        """
        ends_after_size = frames.rest is not None and len(frames.rest.data) == SIZE_BYTES
        return self.losses_at_an_early_end if frames.size_is_refused or ends_after_size else frozenset()

    @property
    def losses_at_an_early_end(self) -> frozenset[Outcome]:
        """Outcomes of complete requests on a served connection if our stream ends directly after them.

        See `Choice.ENDED_AFTER_FRAME`.
        """
        traits = self.profile.traits
        if not traits.early_end_loses_answers:
            return frozenset()
        hangs = traits.early_end_may_hang
        return frozenset([Outcome.CLOSED, Outcome.SILENT] if hangs else [Outcome.CLOSED])

    def state_after(self, requests: Iterable[Request]) -> ConnectionState:
        """Return the state of a new connection after the preferred reaction to each of the requests."""
        state = first_state(self.profile)
        for request in requests:
            if state in TAKING_REQUESTS:
                preferred = self._reactions(request, state)[0]
                state = TRANSITIONS[state, preferred.event]
        return state

    def reactions_to(self, request: Request, state: ConnectionState | None = None) -> tuple[Reaction, ...]:
        """Return all allowed reactions to one complete frame, on a connection that is `served` if no state is given.

        Raises:
            NotModelled: the model does not cover the frame, or it is for an API other than ApiVersions.
        """
        allowed = self._reactions(request, self.served if state is None else state)
        if any(reaction.kind is not AnswerKind.API_VERSIONS for reaction in allowed):
            raise NotModelled("it is about another API than ApiVersions")
        return allowed

    def _reactions(self, request: Request, state: ConnectionState) -> tuple[Reaction, ...]:
        payload = request.data[SIZE_BYTES:]
        return reactions(payload, self.profile, self._identity, state=state)
