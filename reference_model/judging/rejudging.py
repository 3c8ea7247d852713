"""Judges recorded exchanges again with the current oracle.

It decides whether the oracle allows what the target did.

Only the record is available. Where it says too little, an exchange is judged leniently or not at all:

- On a SASL listener only the first exchange of an example is judged. Later ones depend on how far the
  authentication got.
- A closed or silent connection is judged only if the example has no other exchange, because another exchange may
  have caused it. It is not judged on TLS listeners, because the request may have been sent without TLS.
- A property of a controller's listener may have sent its requests to the plain listener, to compare the two.
- The stream may have ended directly after a request. Only the clause about that case reveals it. Some releases lose
  the response then.
- Bytes that are not exactly one complete frame of ApiVersions are not judged.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reference_model.broker.rules.oracle import first_state
from reference_model.broker.rules.reaction import Identity, NotModelled, Reaction
from reference_model.judging.agreement import Agreement
from reference_model.judging.outcome_texts import in_words
from reference_model.judging.stored_inputs import StoredInputOracle, cut_frames
from reference_model.profiles.listeners import CONTROLLER_LISTENERS, PLAINTEXT, TLS_LISTENERS
from reference_model.profiles.profile import profile_of_target
from wire.exchange import Exchange, Outcome, Request
from wire.frames import SIZE_BYTES, encode_frame

END_OF_STREAM = "PROTOCOL.half-close-answers-complete"
"""The clause whose examples end our side of the stream after complete requests."""
_NOT_ANSWERED = (Outcome.CLOSED, Outcome.SILENT, Outcome.IGNORED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedExchange:
    """One exchange as recorded in a run.

    Attributes:
        step: its index in the example, from 0.
        sent: the bytes that were sent.
        outcome: the outcome of the request.
        received: the bytes that were received, size prefix included; None if there were none.
    """

    step: int
    sent: bytes
    outcome: str
    received: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DisallowedExchange:
    """An exchange that the current oracle does not allow.

    Attributes:
        exchange: the recorded exchange.
        allowed: the allowed reactions, in words.
    """

    exchange: RecordedExchange
    allowed: str


@functools.lru_cache(maxsize=512)
def oracles_for(target: str, implementation: str, release: str, listener: str) -> tuple[StoredInputOracle, ...]:
    """Return the oracles of all listeners that the record may come from; at least one has to allow it.

    A run does not record the target's cluster and node id, so the oracles allow both results of the cluster check.

    Args:
        target: the target's id.
        implementation: one of `IMPLEMENTATIONS_WITH_PROFILE`; for others not even the version table is known.
        release: its release.
        listener: the listener's name.
    """
    listeners = (listener, PLAINTEXT) if listener in CONTROLLER_LISTENERS else (listener,)
    return tuple(
        StoredInputOracle(profile_of_target(target, implementation, release, listener=each), Identity())
        for each in listeners
    )


def differences(
    oracles: Sequence[StoredInputOracle], exchanges: Sequence[RecordedExchange], *, clause: str
) -> Iterator[DisallowedExchange]:
    """Yield the exchanges of one example that no oracle allows."""
    by_oracle = [{each.exchange.step: each for each in _differences(oracle, exchanges, clause)} for oracle in oracles]
    own, *others = by_oracle
    yield from (each for step, each in own.items() if all(step in other for other in others))


def _differences(
    oracle: StoredInputOracle, exchanges: Sequence[RecordedExchange], clause: str
) -> Iterator[DisallowedExchange]:
    losses = oracle.losses_at_an_early_end if clause == END_OF_STREAM else frozenset()
    asks = oracle.profile.asks_for_authentication
    for exchange in exchanges[:1] if asks else exchanges:
        is_answer = exchange.outcome == Outcome.ANSWER
        ends_alone = len(exchanges) == 1 and oracle.profile.listener not in TLS_LISTENERS
        if exchange.outcome in losses or not (is_answer or ends_alone):
            continue
        request = _single_request(exchange.sent)
        if request is None:
            continue
        allowed = _allowed(oracle, request)
        if allowed and not _follows(oracle.agreement, request, exchange, allowed):
            yield DisallowedExchange(exchange=exchange, allowed=in_words(allowed))


def _single_request(sent: bytes) -> Request | None:
    frames = cut_frames(sent)
    return frames.complete[0] if len(frames.all) == len(frames.complete) == 1 else None


def _allowed(oracle: StoredInputOracle, request: Request) -> tuple[Reaction, ...]:
    """Return all allowed reactions, authenticated or not; empty if the request is not modelled."""
    try:
        allowed = oracle.reactions_to(request)
        if oracle.profile.asks_for_authentication:
            allowed += oracle.reactions_to(request, first_state(oracle.profile))
    except NotModelled:
        return ()
    return allowed


def _follows(
    agreement: Agreement,
    request: Request,
    recorded: RecordedExchange,
    allowed: Sequence[Reaction],
) -> bool:
    payload = None
    if recorded.received is not None and recorded.outcome not in _NOT_ANSWERED:
        payload = recorded.received[SIZE_BYTES:]
        if recorded.received != encode_frame(payload):
            return False
    seen = Exchange(request=request, outcome=Outcome(recorded.outcome), payload=payload)
    return agreement.matching(seen, allowed) is not None
