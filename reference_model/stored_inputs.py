"""What the reference model allows for a stored input: per frame the answers, and how the connection goes on."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reference_model.answers import response_for
from reference_model.connection_states import (
    TAKING_REQUESTS,
    TRANSITIONS,
    ConnectionEvent,
    ConnectionState,
)
from reference_model.oracle import first_state, reactions
from reference_model.profile import Profile
from reference_model.reaction import AnswerKind, Identity, NotModelled, Reaction
from wire.api_versions import ApiVersionsResponse
from wire.codec import decode, encode
from wire.errors import DecodeError, EncodeError
from wire.exchange import Outcome, Request
from wire.frames import SIZE_BYTES, FrameReader
from wire.headers import RequestHeader

SOCKET_REQUEST_MAX_BYTES = 104857600
CORRELATION_ID_BYTES = 4
_UNDECODABLE = "undecodable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """A stored input cut into what the target reads.

    Attributes:
        whole: the whole frames, each as a request.
        rest: bytes behind them that are no whole frame, as a request; None where there are none.
        refused: whether the rest is refused for its size alone; else the target waits for more of it.
    """

    whole: tuple[Request, ...]
    rest: Request | None = None
    refused: bool = False

    @property
    def all(self) -> tuple[Request, ...]:
        """Everything that is sent, what is no whole frame last."""
        return self.whole if self.rest is None else (*self.whole, self.rest)

    @property
    def waits(self) -> bool:
        """Whether the target waits for more: then only the end of our side of the stream ends the connection."""
        return self.rest is not None and not self.refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What the model allows for one stored input.

    Attributes:
        frames: what is sent.
        reactions: for each whole frame that the target still looks at, what it may do.
        losses: what else may become of all that is sent, since what stands behind the whole frames may cost the
            answers to them.
    """

    frames: Frames
    reactions: tuple[tuple[Reaction, ...], ...]
    losses: frozenset[Outcome] = frozenset()

    @property
    def ends_the_connection(self) -> bool:
        """Whether the target closes whatever it chooses: for a frame, for what follows them, or with our side."""
        last = self.reactions[-1] if self.reactions else ()
        is_served = any(reaction.event is ConnectionEvent.SERVED for reaction in last)
        return self.frames.rest is not None or bool(last and not is_served)

    @property
    def keeps_the_connection(self) -> bool:
        """Whether every frame is answered and leaves the connection as it was, whatever is chosen."""
        return (
            self.frames.rest is None
            and len(self.reactions) == len(self.frames.whole)
            and all(
                reaction.outcome is Outcome.ANSWER and reaction.event is ConnectionEvent.SERVED
                for allowed in self.reactions
                for reaction in allowed
            )
        )


@functools.lru_cache(maxsize=4096)
def cut_frames(data: bytes) -> Frames:
    """Cut a stored input the way a broker cuts it."""
    reader = FrameReader(max_frame_bytes=SOCKET_REQUEST_MAX_BYTES)
    reader.receive_data(data)
    whole = []
    refused = False
    while True:
        try:
            payload = reader.next_payload()
        except DecodeError:
            refused = True
            break
        if payload is None:
            break
        whole.append(_as_request(len(payload).to_bytes(SIZE_BYTES) + payload))
    rest = _as_request(reader.unread) if reader.unread else None
    return Frames(whole=tuple(whole), rest=rest, refused=refused)


def _as_request(data: bytes) -> Request:
    """Return bytes as a request; what is meant by them is what a broker reads in them first."""
    payload = data[SIZE_BYTES:]
    header = RequestHeader(
        request_api_key=int.from_bytes(payload[:2], signed=True),
        request_api_version=int.from_bytes(payload[2:4], signed=True),
        correlation_id=int.from_bytes(payload[4:8], signed=True),
    )
    return Request(data=data, header=header, broken="stored bytes")


def canonical(answer: ApiVersionsResponse, version: int) -> str:
    """Return a hash of an answer's bytes with what may differ between two good answers made the same.

    The throttle time and the features' epoch follow clock and log, and no source fixes the orders of tables.
    """
    same = dataclasses.replace(
        answer,
        throttle_time_ms=0,
        finalized_features_epoch=-1,
        api_keys=tuple(sorted(answer.api_keys, key=lambda entry: entry.api_key)),
        supported_features=tuple(sorted(answer.supported_features, key=lambda f: f.name)),
        finalized_features=tuple(sorted(answer.finalized_features, key=lambda f: f.name)),
        unknown_tagged_fields=(),
    )
    return hashlib.sha256(encode(same, version=version)).hexdigest()


@functools.lru_cache(maxsize=4096)
def canonical_body(body: bytes, version: int) -> str:
    """Return the canonical hash of an answer's body; targets give the same few ones all the time."""
    try:
        return canonical(decode(ApiVersionsResponse, body, version=version), version)
    except (DecodeError, EncodeError):
        return _UNDECODABLE


class StoredInputOracle:
    """The model of one release on one listener, asked about stored inputs.

    Attributes:
        profile: the release on the listener.
        served: where a connection stands that the target serves.
    """

    def __init__(self, profile: Profile, identity: Identity) -> None:
        """Ask for a target.

        Args:
            profile: the release on the listener.
            identity: who the target is.
        """
        self.profile = profile
        self._identity = identity
        asks = profile.asks_for_authentication
        self.served = ConnectionState.AUTHENTICATED if asks else ConnectionState.OPEN
        self._answers: dict[Reaction, str] = {}

    def allowed_for(self, data: bytes) -> Allowed:
        """Return everything that the target may do with a stored input, once it serves the connection.

        Raises:
            NotModelled: the model has no word on a frame of it.
        """
        frames = cut_frames(data)
        judged = []
        for request in frames.whole:
            allowed = self.reactions_to(request)
            judged.append(allowed)
            if not any(reaction.event is ConnectionEvent.SERVED for reaction in allowed):
                break
        return Allowed(frames=frames, reactions=tuple(judged), losses=self.losses(frames))

    def losses(self, frames: Frames) -> frozenset[Outcome]:
        """Return what may become of requests on a connection that is served, if their answers are lost.

        See `Choice.REFUSED_AFTER_FRAME`. The end after 1, 3, 5 or more bytes of a frame never lost an answer, nor did
        a complete frame that is refused for its contents.
        """
        ends_after_size = frames.rest is not None and len(frames.rest.data) == SIZE_BYTES
        return self.losses_at_an_early_end if frames.refused or ends_after_size else frozenset()

    @property
    def losses_at_an_early_end(self) -> frozenset[Outcome]:
        """What may become of complete requests on a served connection if our side ends directly after them.

        See `Choice.ENDED_AFTER_FRAME`.
        """
        traits = self.profile.traits
        if not traits.early_end_loses_answers:
            return frozenset()
        hangs = traits.early_end_may_hang
        return frozenset([Outcome.CLOSED, Outcome.SILENT] if hangs else [Outcome.CLOSED])

    def state_behind(self, requests: Iterable[Request]) -> ConnectionState:
        """Return where a new connection stands once the target did with requests what it prefers."""
        state = first_state(self.profile)
        for request in requests:
            if state in TAKING_REQUESTS:
                preferred = self._reactions(request, state)[0]
                state = TRANSITIONS[state, preferred.event]
        return state

    def reactions_to(
        self, request: Request, state: ConnectionState | None = None
    ) -> tuple[Reaction, ...]:
        """Return everything that the target may do with one whole frame.

        Args:
            request: the frame.
            state: where its connection stands; served, if not given.

        Raises:
            NotModelled: the model has no word on it, or it is about another API.
        """
        allowed = self._reactions(request, self.served if state is None else state)
        if any(reaction.kind is not AnswerKind.API_VERSIONS for reaction in allowed):
            raise NotModelled("it is about another API than ApiVersions")
        return allowed

    def _reactions(self, request: Request, state: ConnectionState) -> tuple[Reaction, ...]:
        payload = request.data[SIZE_BYTES:]
        return reactions(payload, self.profile, self._identity, state=state)

    def allows(self, request: Request, payload: bytes, allowed: Sequence[Reaction]) -> bool:
        """Tell whether an answer is one of those that are allowed.

        Args:
            request: what was sent.
            payload: the answer without its size prefix.
            allowed: what the model allows.
        """
        sent_id = request.data[SIZE_BYTES + 4 : SIZE_BYTES + 4 + CORRELATION_ID_BYTES]
        if payload[:CORRELATION_ID_BYTES] != sent_id:
            return False
        body = payload[CORRELATION_ID_BYTES:]
        return any(
            reaction.outcome is Outcome.ANSWER
            and canonical_body(body, reaction.layout) == self._canonical_answer(reaction)
            for reaction in allowed
        )

    def _canonical_answer(self, reaction: Reaction) -> str:
        known = self._answers.get(reaction)
        if known is None:
            known = canonical(response_for(reaction, self.profile), reaction.layout)
            self._answers[reaction] = known
        return known
