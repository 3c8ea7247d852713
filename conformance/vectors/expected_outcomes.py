"""Asks the reference model what may become of each frame of a vector.

The model is the only oracle: outcomes come from it for the text of the KIPs, with each newest version of ApiVersions
that a broker may have, and for each recorded release of Apache Kafka, where that differs.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from conformance.vectors.broker_vectors import Expectation, Outcomes, ReleaseRange, VectorStep
from conformance.vectors.frame_cutter import FrameCutter
from reference_model.broker.rules.connection_states import SERVING, TRANSITIONS, ConnectionEvent, ConnectionState
from reference_model.broker.rules.oracle import first_state, reactions
from reference_model.broker.rules.reaction import AnswerKind, Identity, NotModelled, Reaction, closed
from reference_model.broker.rules.request_parser import parse_header
from reference_model.broker.rules.sasl import CREDENTIALS, SaslConfiguration
from reference_model.profiles.known_apis import default_answers
from reference_model.profiles.listeners import CONTROLLER_LISTENERS
from reference_model.profiles.profile import (
    KIP_TEXT,
    KRAFT,
    NEWEST_RELEASE,
    RECORDED_RELEASES,
    Profile,
    profile_of,
    usual_quorum,
)
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION
from wire.exchange import Outcome

CLUSTER_ID = "reference-cluster-0000"
NODE_ID = 1
IDENTITY = Identity(cluster_id=CLUSTER_ID, node_id=NODE_ID)
"""The ids that a broker must have to be judged by vectors that name some; a runner may put its own in."""
AUTHENTICATION = SaslConfiguration(credentials=CREDENTIALS)
"""The user that a broker must know to be judged by vectors that authenticate."""
ProfileFor = Callable[[str], Profile]
"""Returns the profile of a broker on a listener."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentStep:
    """One step of a vector before its outcomes are known; the attributes are those of `VectorStep`."""

    connection: int
    listener: str
    writes: tuple[bytes, ...] = ()
    ends_stream: bool = False
    closes: bool = False


def with_newest_expectations(sent: Sequence[SentStep]) -> tuple[VectorStep, ...]:
    """Return steps with what may become of each of their frames on a broker that supports every version.

    It takes a tenth of the time, and is enough to try what a vector catches.

    Raises:
        NotModelled: the model does not cover one of the frames.
    """
    outcomes = _outcomes(sent, _kip_text(NEWEST_VERSION))
    return _steps(sent, [outcomes] * (NEWEST_VERSION + 1), ())


def with_expectations(sent: Sequence[SentStep]) -> tuple[VectorStep, ...]:
    """Return steps with what may become of each of their frames.

    Raises:
        NotModelled: the model does not cover one of the frames.
    """
    by_version = [_outcomes(sent, _kip_text(version)) for version in range(NEWEST_VERSION + 1)]
    older_text = [_outcomes(sent, _kip_text(version, names_range=False)) for version in range(FIRST_FLEXIBLE_VERSION)]
    for version, other in enumerate(older_text):
        # KIP-511 has brokers name their range from v3 on; before that a refusal may have an empty table.
        pairs = zip(by_version[version], other, strict=True)
        by_version[version] = [[_either(*each) for each in zip(*pair, strict=True)] for pair in pairs]
    return _steps(sent, by_version, _differences(sent, by_version))


def _steps(
    sent: Sequence[SentStep], by_version: Sequence[StepOutcomes], releases: Sequence[_Different]
) -> tuple[VectorStep, ...]:
    cutter = FrameCutter()
    steps = []
    for index, step in enumerate(sent):
        expected = tuple(
            Expectation(
                by_version=tuple(_visible(outcomes[index][number]) for outcomes in by_version),
                apache_kafka=tuple(_ranges(releases, index, number)),
            )
            for number in range(len(by_version[-1][index]))
        )
        steps.append(
            VectorStep(
                connection=step.connection,
                listener=step.listener,
                writes=step.writes,
                ends_stream=step.ends_stream,
                closes=step.closes,
                frames=cutter.frames(step.connection, b"".join(step.writes)),
                expected=expected,
            )
        )
    return tuple(steps)


def _either(one: Outcomes, other: Outcomes) -> Outcomes:
    return tuple(dict.fromkeys((*one, *other)))


def _kip_text(newest_version: int, *, names_range: bool = True) -> ProfileFor:
    def profile_for(listener: str) -> Profile:
        profile = profile_of(NEWEST_RELEASE, listener=listener, follows=KIP_TEXT)
        traits = dataclasses.replace(
            profile.traits, api_versions_max=newest_version, unsupported_names_range=names_range
        )
        return dataclasses.replace(profile, traits=traits)

    return profile_for


StepOutcomes = list[list[Outcomes]]
"""By step, the outcomes of each of its frames."""


def _outcomes(sent: Sequence[SentStep], profile_for: ProfileFor) -> StepOutcomes:
    connections: dict[int, _ModelledConnection] = {}
    found = []
    for step in sent:
        if step.connection not in connections:
            connections[step.connection] = _ModelledConnection(profile_for(step.listener))
        found.append([] if step.closes else list(connections[step.connection].outcomes_of(step)))
    return found


class _ModelledConnection:
    """Follows one connection through its states."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._state = first_state(profile)
        asks = profile.asks_for_authentication
        self._cutter = FrameCutter(profile.traits.sasl_frame_bytes_max) if asks else FrameCutter()

    def outcomes_of(self, step: SentStep) -> Iterator[Outcomes]:
        """Yield the outcomes of each frame that ends in a step, and one more if something else ends the connection."""
        for frame in self._cutter.frames(step.connection, b"".join(step.writes)):
            yield self._next(frame)
        if step.connection in self._cutter.refused and self._state is not ConnectionState.CLOSED:
            is_negative = self._cutter.unread(step.connection)[0] >= 0x80
            self._state = ConnectionState.CLOSED
            yield (closed("PROTOCOL.negative-size-refused" if is_negative else "PROTOCOL.oversize-refused"),)
        if step.ends_stream:
            is_cut = bool(self._cutter.unread(step.connection))
            clause = "PROTOCOL.partial-frame-waits" if is_cut else "PROTOCOL.half-close-answers-complete"
            was_closed = self._state is ConnectionState.CLOSED
            self._state = ConnectionState.CLOSED
            if not was_closed:
                yield (closed(clause),)

    def _next(self, frame: bytes) -> Outcomes:
        if self._state in (ConnectionState.CLOSED, ConnectionState.DEAD):
            return ()
        try:
            allowed = reactions(frame, self._profile, IDENTITY, state=self._state, authentication=AUTHENTICATION)
        except NotModelled:
            allowed = (self._of_other_api(frame),)
        self._state = TRANSITIONS[self._state, allowed[0].event]
        return allowed

    def _of_other_api(self, frame: bytes) -> Reaction:
        """Return the reaction to a request of another API that is served and well-formed.

        Raises:
            NotModelled: that is not known.
        """
        if self._state not in SERVING:
            raise NotModelled("it is about another API before authentication")
        header = parse_header(memoryview(frame), self._profile.traits)
        if (header.api_key, header.api_version) not in default_answers():
            raise NotModelled("no response of this API is known")
        return Reaction(
            clause="KIP-35.every-advertised-version-served",
            kind=AnswerKind.OTHER,
            response_version=header.api_version,
        )


@dataclass(frozen=True, slots=True)
class _Different:
    """A release whose outcomes differ from the KIPs'; None where they do not."""

    release: str
    outcomes: StepOutcomes | None


def _differences(sent: Sequence[SentStep], by_version: Sequence[StepOutcomes]) -> list[_Different]:
    """Compare each release with the text, oldest first; leave out releases that lack a listener or are not modelled."""
    listeners = {step.listener for step in sent}
    # The model says so of the end of the stream, and of a size that is refused after frames.
    is_ended = any(step.ends_stream for step in sent) or _is_refused(sent)
    found = []
    for release in RECORDED_RELEASES:
        if listeners & set(CONTROLLER_LISTENERS) and usual_quorum(release) != KRAFT:
            continue
        traits = profile_of(release).traits
        try:
            own = _outcomes(sent, functools.partial(_of_release, release))
        except NotModelled:
            continue
        if is_ended and traits.early_end_loses_answers:
            own = [[_or_lost(outcomes, may_hang=traits.early_end_may_hang) for outcomes in step] for step in own]
        text = by_version[min(traits.api_versions_max, NEWEST_VERSION)]
        found.append(_Different(release, None if _within(own, text) else own))
    return found


def _is_refused(sent: Sequence[SentStep]) -> bool:
    cutter = FrameCutter()
    for step in sent:
        cutter.frames(step.connection, b"".join(step.writes))
    return bool(cutter.refused)


def _or_lost(outcomes: Outcomes, *, may_hang: bool) -> Outcomes:
    """Return outcomes of a release that may lose its responses; see `Choice.ENDED_AFTER_FRAME`."""
    clause = "PROTOCOL.half-close-answers-complete"
    silent = Reaction(outcome=Outcome.SILENT, clause=clause)
    lost = (closed(clause), silent) if may_hang else (closed(clause),)
    return _either(outcomes, lost) if outcomes else ()


def _of_release(release: str, listener: str) -> Profile:
    return profile_of(release, listener=listener)


def _within(own: StepOutcomes, text: StepOutcomes) -> bool:
    """Return whether each outcome is among those that the text allows, and none is left to chance."""
    pairs = [pair for steps in zip(own, text, strict=True) for pair in zip(*steps, strict=False)]
    same_length = [*map(len, own)] == [*map(len, text)]
    return same_length and all(set(map(_key, mine)) <= set(map(_key, theirs)) for mine, theirs in pairs)


def _visible(outcomes: Outcomes) -> Outcomes:
    """Return outcomes without what cannot be seen from outside, each once."""

    def plain(reaction: Reaction) -> Reaction:
        ends = reaction.outcome is Outcome.ANSWER and reaction.event is ConnectionEvent.REFUSED
        event = ConnectionEvent.REFUSED if ends else None
        return dataclasses.replace(reaction, next_event=event, reason=None, unreadable="")

    return tuple(dict.fromkeys(map(plain, outcomes)))


def _key(reaction: Reaction) -> tuple[object, ...]:
    """Return what of a reaction can be seen from outside."""
    return (
        reaction.outcome,
        reaction.error_code,
        reaction.kind,
        reaction.response_version,
        reaction.listing,
        reaction.event is ConnectionEvent.REFUSED,
    )


def _ranges(releases: Sequence[_Different], index: int, number: int) -> Iterator[ReleaseRange]:
    """Yield the ranges of releases that differ in one frame, each as long as it can be."""
    current: tuple[str, str, Outcomes] | None = None
    for each in releases:
        frames = None if each.outcomes is None else each.outcomes[index]
        own = None if frames is None or number >= len(frames) else frames[number]
        if current is not None and own == current[2]:
            current = current[0], each.release, current[2]
            continue
        if current is not None:
            yield ReleaseRange(first=current[0], last=current[1], outcomes=_visible(current[2]))
        current = None if own is None else (each.release, each.release, own)
    if current is not None:
        yield ReleaseRange(first=current[0], last=current[1], outcomes=_visible(current[2]))


def is_closed(outcomes: Outcomes) -> bool:
    """Return whether nothing but a close is allowed."""
    return bool(outcomes) and all(each.outcome is Outcome.CLOSED for each in outcomes)
