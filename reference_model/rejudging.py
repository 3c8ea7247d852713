"""Judges recorded exchanges again: may a target of this release do what it did?

Only what was recorded is looked at, so the judgement is careful where the record does not say enough:

- of an example with several exchanges on a SASL listener only the first is judged, as later ones depend on how far
  the authentication got;
- that a connection ended or fell silent is judged where it is all that the example did, as another exchange may
  have ended it, and not on TLS listeners, as it may have been sent in the clear;
- what a property of the controller's listener did may have been done on the plain one, to compare the two;
- behind a request the stream may have ended early, which only the clause that is about it says, and a release may lose
  the answer then;
- what is not exactly one whole frame of ApiVersions is left out.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reference_model.listeners import CONTROLLER, PLAINTEXT, TLS_LISTENERS
from reference_model.oracle import reactions
from reference_model.profile import APACHE_KAFKA, KIP_TEXT, KRAFT, Profile, profile_of
from reference_model.reaction import AnswerKind, Identity, NotModelled, Reaction
from reference_model.stored_inputs import StoredInputOracle, cut_frames
from wire.exchange import Outcome, Request
from wire.frames import SIZE_BYTES

REFERENCE = "reference"
JUDGED_IMPLEMENTATIONS = (APACHE_KAFKA, REFERENCE)
"""Implementations that have a profile of their own; of others the table itself is not known."""
_ZOOKEEPER = "zookeeper"
END_OF_STREAM = "PROTOCOL.half-close-answers-complete"
"""The clause whose examples end our side of the stream behind whole requests."""
_NOT_ANSWERED = (Outcome.CLOSED, Outcome.SILENT, Outcome.IGNORED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedExchange:
    """One exchange as a run kept it.

    Attributes:
        step: its place in the example, from 0.
        sent: what was sent.
        outcome: what became of it.
        received: what came, size prefix included; None where nothing did.
    """

    step: int
    sent: bytes
    outcome: str
    received: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An exchange that the oracle of today does not allow.

    Attributes:
        exchange: what was recorded.
        allowed: what is allowed, in words.
    """

    exchange: RecordedExchange
    allowed: str


@functools.lru_cache(maxsize=512)
def oracles_for(
    target: str, implementation: str, release: str, listener: str
) -> tuple[StoredInputOracle, ...]:
    """Return the oracles of which one has to allow what is recorded: those of the listeners that it may be from.

    A run does not say who the target is in its cluster, so they allow what either answer to its ids would be.

    Args:
        target: the target's id, which ends in "-zookeeper" where a release that has both runs with it.
        implementation: one of `JUDGED_IMPLEMENTATIONS`.
        release: its release.
        listener: the listener's name.
    """
    runs_kraft = bool(profile_of(release, quorum=KRAFT).api_keys)
    quorum = _ZOOKEEPER if target.endswith(f"-{_ZOOKEEPER}") or not runs_kraft else KRAFT
    follows = KIP_TEXT if implementation == REFERENCE else APACHE_KAFKA
    listeners = (CONTROLLER, PLAINTEXT) if listener == CONTROLLER else (listener,)
    return tuple(
        StoredInputOracle(
            profile_of(release, quorum=quorum, listener=each, follows=follows), Identity()
        )
        for each in listeners
    )


def differences(
    oracles: Sequence[StoredInputOracle], exchanges: Sequence[RecordedExchange], *, clause: str
) -> Iterator[Difference]:
    """Give the exchanges of one example that no oracle allows.

    Args:
        oracles: as `oracles_for` gives them.
        exchanges: all exchanges of the example, in order.
        clause: what the example was about.
    """
    found = [
        {each.exchange.step: each for each in _differences(oracle, exchanges, clause)}
        for oracle in oracles
    ]
    own, *others = found
    yield from (each for step, each in own.items() if all(step in other for other in others))


def _differences(
    oracle: StoredInputOracle, exchanges: Sequence[RecordedExchange], clause: str
) -> Iterator[Difference]:
    losses = oracle.losses_at_an_early_end if clause == END_OF_STREAM else frozenset()
    asks = oracle.profile.asks_for_authentication
    for exchange in exchanges[:1] if asks else exchanges:
        is_answer = exchange.outcome == Outcome.ANSWER
        ends_alone = len(exchanges) == 1 and oracle.profile.listener not in TLS_LISTENERS
        if exchange.outcome in losses or not (is_answer or ends_alone):
            continue
        request = _single_request(exchange.sent)
        allowed = () if request is None else _allowed(oracle, request)
        if request is not None and allowed and not _follows(oracle, request, exchange, allowed):
            words = " or ".join(dict.fromkeys(map(str, allowed)))
            yield Difference(exchange=exchange, allowed=words)


def _single_request(sent: bytes) -> Request | None:
    frames = cut_frames(sent)
    return frames.whole[0] if len(frames.all) == len(frames.whole) == 1 else None


def _allowed(oracle: StoredInputOracle, request: Request) -> tuple[Reaction, ...]:
    """Everything that is allowed, authenticated or not; nothing where the model has no word on it."""
    try:
        allowed = oracle.reactions_to(request)
        if oracle.profile.asks_for_authentication:
            allowed += _before_authentication(oracle.profile, request)
    except NotModelled:
        return ()
    return allowed


def _before_authentication(profile: Profile, request: Request) -> tuple[Reaction, ...]:
    allowed = reactions(request.data[SIZE_BYTES:], profile, Identity())
    if any(reaction.kind is not AnswerKind.API_VERSIONS for reaction in allowed):
        raise NotModelled("it is about another API than ApiVersions")
    return allowed


def _follows(
    oracle: StoredInputOracle,
    request: Request,
    exchange: RecordedExchange,
    allowed: Sequence[Reaction],
) -> bool:
    if exchange.received is None or exchange.outcome in _NOT_ANSWERED:
        return any(reaction.outcome == exchange.outcome for reaction in allowed)
    size = int.from_bytes(exchange.received[:SIZE_BYTES])
    payload = exchange.received[SIZE_BYTES:]
    return size == len(payload) and oracle.allows(request, payload, allowed)
