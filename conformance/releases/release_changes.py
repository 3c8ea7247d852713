"""Finds differences between releases that the profiles do not predict.

It sends the same bytes to each release.

On a listener that requires authentication, inputs are sent on authenticated connections and at each stage before
authentication.

A response is reduced to its error code, its layout, the kind of table it lists, the feature fields it carries, and
what happens to the connection. The tables themselves differ between any two releases and are not compared.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from conformance.corpus.entries import CorpusEntry
from fixtures.under_test.broker import Broker
from reference_model.broker.rules.connection_states import (
    SERVING,
    TAKING_REQUESTS,
    TRANSITIONS,
    ConnectionEvent,
    ConnectionState,
)
from reference_model.broker.rules.reaction import NotModelled, Reaction
from reference_model.broker.rules.responses import response_for
from reference_model.judging.stored_inputs import Frames, StoredInputOracle, cut_frames
from reports.grid.change_log import Change
from reports.run.frame_rows import layout_of_answer
from strategies.any_requests import any_requests
from strategies.broken_requests import frames_with_wrong_size
from strategies.hypothesis_adapter import draw
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import ApiVersion, ApiVersionsResponse
from wire.codec import decode
from wire.errors import DecodeError
from wire.exchange import Exchange, Outcome, Request, probe_request
from wire.headers import CORRELATION_ID_BYTES
from wire.sasl import handshake_request

CLOSED = str(Outcome.CLOSED.value)

Observation = tuple[str, ...]
"""The outcome of each frame, in words."""


SEED = 20261121
"""Fixed, so that two comparisons of releases are about the same bytes."""
COUNT = 300
"""How many inputs are drawn unless a caller asks for another number."""
ANY_INPUTS = any_requests() | frames_with_wrong_size()


@dataclass(frozen=True, slots=True)
class ProfilePrediction:
    """What the profile of a release predicts for an input.

    Attributes:
        allowed: for each frame, every allowed outcome, in words.
        clauses: the clauses that the prediction is based on.
        losses: further allowed outcomes of any frame, because responses may be lost.
    """

    allowed: tuple[frozenset[str], ...]
    clauses: frozenset[str]
    losses: frozenset[str] = frozenset()

    def covers(self, seen: Observation) -> bool:
        """Return whether an observation is predicted."""
        return len(seen) == len(self.allowed) and all(
            word in allowed or word in self.losses for word, allowed in zip(seen, self.allowed, strict=True)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The result of one input on one release.

    Attributes:
        observation: what was observed.
        prediction: what the profile predicts.
    """

    observation: Observation
    prediction: ProfilePrediction

    @property
    def is_predicted(self) -> bool:
        """Whether the profile predicts the observation."""
        return self.prediction.covers(self.observation)


Release = Mapping[str, Seen]
"""The result of each input on one release, by the input's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionStage:
    """The state of a connection when an input is sent on it.

    Attributes:
        name: the state in words, shown after the listener's name; empty if the target serves the connection.
        sent_before: the requests that are sent on the connection first, instead of authentication.
    """

    name: str = ""
    sent_before: tuple[Request, ...] = ()

    def on(self, listener: str) -> str:
        """Return the name of this state on a listener, such as "sasl_plaintext, before authentication"."""
        return f"{listener}, {self.name}" if self.name else listener


SERVED = ConnectionStage()
BEFORE_AUTHENTICATION = (
    ConnectionStage(name="before authentication"),
    ConnectionStage(name="after one ApiVersions", sent_before=(probe_request(0),)),
    ConnectionStage(name="after SaslHandshake v1", sent_before=(handshake_request(),)),
)


def stages_of(broker: Broker) -> tuple[ConnectionStage, ...]:
    """Return the states that connections of a listener pass through."""
    return (SERVED, *BEFORE_AUTHENTICATION) if broker.asks_for_authentication else (SERVED,)


class Observer:
    """Sends inputs to one listener of one release, and queries its profile about them.

    Attributes:
        left_out: names of the inputs that could not be compared, by reason.
    """

    def __init__(self, broker: Broker, stage: ConnectionStage = SERVED) -> None:
        """Request the target's version table, with which its responses are compared.

        Inputs are sent on connections in the state `stage`.
        """
        self.left_out: dict[str, list[str]] = {}
        self._broker = broker
        self._stage = stage
        self._oracle = StoredInputOracle(broker.profile, broker.identity)
        self._state = self._oracle.state_after(stage.sent_before) if stage.name else self._oracle.served
        self._own_table: frozenset[ApiVersion] = frozenset()
        with broker.connect() as connection:
            (answer,) = connection.converse([probe_request(0)])
        if answer.payload is not None:
            self._own_table = frozenset(_decoded(answer.payload, 0).api_keys)

    def observe(self, entries: Iterable[CorpusEntry]) -> Release:
        """Send every input that can be compared on the listener, each on a connection of its own."""
        seen = {}
        for entry in entries:
            frames = cut_frames(entry.data)
            try:
                prediction = self._prediction(frames)
            except NotModelled as error:
                self.left_out.setdefault(str(error), []).append(entry.name)
                continue
            observation = self._observation(frames)
            seen[entry.name] = Seen(observation=observation, prediction=prediction)
            self._broker.begin_example()
        return seen

    def _observation(self, frames: Frames) -> Observation:
        with self._broker.connect(authenticate=not self._stage.name) as connection:
            connection.converse_in_turn(self._stage.sent_before)
            if frames.awaits_more:
                return tuple(map(self._words, connection.end_stream(frames.all)))
            if len(frames.all) > 1 or frames.size_is_refused:
                return tuple(map(self._words, connection.converse(frames.all)))
            exchange = connection.exchange(frames.complete[0])
        if exchange.payload is None:
            return (self._words(exchange),)
        return (self._words(exchange) + (", kept" if exchange.usable else ", closed"),)

    def _words(self, exchange: Exchange) -> str:
        if exchange.payload is None:
            return exchange.outcome.value
        payload = exchange.payload
        version = exchange.request.api_version
        # A version that the release does not support gets a v0 response, whatever the error.
        served = 0 <= version <= self._oracle.profile.traits.api_versions_max
        layout = layout_of_answer(payload, version if served else 0)
        try:
            answer = _decoded(payload, layout)
        except DecodeError:
            return "undecodable response"
        return _words_of(answer, layout, self._own_table)

    def _prediction(self, frames: Frames) -> ProfilePrediction:
        """Return what the profile predicts.

        Raises:
            NotModelled: the model does not cover the input, or its prediction cannot be compared with observations.
        """
        if self._state not in TAKING_REQUESTS:
            raise NotModelled("the release does not allow a connection to reach this state")
        if frames.awaits_more and self._broker.speaks_tls:
            raise NotModelled("TLS cannot end only one side of the stream")
        single = len(frames.complete) == 1 and frames.rest is None
        allowed: list[frozenset[str]] = []
        clauses: set[str] = set()
        states, may_be_closed = {self._state}, False
        for request in frames.complete:
            words = {CLOSED} if may_be_closed else set()
            next_states: set[ConnectionState] = set()
            for state in states:
                possible = self._oracle.reactions_to(request, state)
                if not single and any(each.outcome is Outcome.IGNORED for each in possible):
                    raise NotModelled("one of several frames is ignored, so responses cannot be assigned to requests")
                clauses.update(each.clause for each in possible)
                words.update(self._predicted_words(each, single=single) for each in possible)
                next_states.update(TRANSITIONS[state, each.event] for each in possible)
            allowed.append(frozenset(words))
            states = next_states & set(TAKING_REQUESTS)
            may_be_closed = may_be_closed or next_states != states
        if frames.rest is not None:
            allowed.append(frozenset([CLOSED]))
        lost = self._oracle.losses(frames) if self._state in SERVING else ()
        losses = frozenset(outcome.value for outcome in lost)
        return ProfilePrediction(tuple(allowed), frozenset(clauses), losses)

    def _predicted_words(self, reaction: Reaction, *, single: bool) -> str:
        if reaction.outcome is not Outcome.ANSWER:
            return reaction.outcome.value
        profile = self._oracle.profile
        table = frozenset(profile.api_keys)
        words = _words_of(response_for(reaction, profile), reaction.response_version, table)
        kept = ", closed" if reaction.event is ConnectionEvent.REFUSED else ", kept"
        return words + kept if single else words


@functools.lru_cache(maxsize=4096)
def _decoded_body(body: bytes, layout: int) -> ApiVersionsResponse:
    return decode(ApiVersionsResponse, body, version=layout)


def _decoded(payload: bytes, layout: int) -> ApiVersionsResponse:
    return _decoded_body(payload[CORRELATION_ID_BYTES:], layout)


def _words_of(answer: ApiVersionsResponse, layout: int, own_table: frozenset[ApiVersion]) -> str:
    """Describe a response, with its table and features in general terms."""
    keys = [entry.api_key for entry in answer.api_keys]
    if not keys:
        listing = "nothing"
    elif frozenset(answer.api_keys) == own_table:
        listing = "everything"
    elif keys == [API_VERSIONS_KEY]:
        listing = "itself"
    else:
        listing = "another table"
    named = {
        "supported features": answer.supported_features,
        "epoch": answer.finalized_features_epoch >= 0,
        "finalized features": answer.finalized_features,
        "zk migration": answer.zk_migration_ready,
    }
    carried = [name for name, value in named.items() if value]
    more = f" with {', '.join(carried)}" if carried else ""
    return f"{answer.error_code.name} in v{layout} listing {listing}{more}"


def changes_between(
    releases: Sequence[tuple[str, Release]], inputs: Mapping[str, CorpusEntry], listener: str
) -> Iterator[Change]:
    """Yield the differences between adjacent releases; inputs with the same change form one group.

    Args:
        releases: the releases with their results, oldest first.
        inputs: the inputs by name.
        listener: the listener that the inputs were sent to, and the connection state there.
    """
    for (before, old), (after, new) in pairwise(releases):
        groups: dict[tuple[str, str, tuple[str, ...], bool], list[CorpusEntry]] = {}
        for name in old.keys() & new.keys():
            for key in _difference(old[name], new[name]):
                groups.setdefault(key, []).append(inputs[name])
        for (was, became, clauses, predicted), entries in sorted(groups.items()):
            shortest = min(entries, key=lambda entry: (len(entry.data), entry.name))
            yield Change(
                listener=listener,
                before=before,
                since=after,
                was=was,
                became=became,
                clauses=clauses,
                predicted=predicted,
                inputs=len(entries),
                example=shortest.name,
                shortest=shortest.data.hex(),
            )


def _difference(old: Seen, new: Seen) -> Iterator[tuple[str, str, tuple[str, ...], bool]]:
    predicted = old.is_predicted and new.is_predicted
    change_is_predicted = not any(
        one & other for one, other in zip(old.prediction.allowed, new.prediction.allowed, strict=False)
    )
    if old.observation != new.observation:
        if predicted and old.prediction.covers(new.observation) and new.prediction.covers(old.observation):
            # The model allows both observations in both releases, so the difference is chance.
            return
    elif predicted or not change_is_predicted:
        return
    clauses = tuple(sorted(old.prediction.clauses | new.prediction.clauses))
    pairs = zip(old.observation, new.observation, strict=True)
    for was, became in dict.fromkeys(pairs):
        # Report only the frames that are treated differently; all of them if a predicted change did not happen.
        if was != became or old.observation == new.observation:
            yield was, became, clauses, predicted


def generated_inputs(count: int, seed: int) -> tuple[CorpusEntry, ...]:
    """Draw inputs; the same count and seed always produce the same inputs."""
    drawn: dict[bytes, CorpusEntry] = {}

    def collect(values: Mapping[str, Request]) -> None:
        sent = values["sent"]
        entry = CorpusEntry(name=f"drawn-{len(drawn) + 1}", origin=f"drawn with seed {seed}", data=sent.data)
        drawn.setdefault(sent.data, entry)

    draw({"sent": ANY_INPUTS}, collect, seed=seed, count=count)
    return tuple(drawn.values())
