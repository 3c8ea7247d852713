"""The worth of the vectors: how many planted faults they catch.

They are tried in memory, with nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.mutation.subjects import SUBJECTS, Subject, broker_with
from conformance.vectors.broker_check import BrokerCheck, Open
from conformance.vectors.broker_vectors import BrokerVector
from conformance.vectors.choice_vectors import CHOICES, is_missed_by
from conformance.vectors.play_vectors import PlayCandidate, is_failed_by
from fixtures.client.transport import Transport
from fixtures.under_test.in_memory import InMemoryTarget, InMemoryTransport
from reference_model.broker.model.stages import Stage
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import MODEL
from reference_model.faults.broker import DEFECTS
from reference_model.faults.clients import FAULTS
from reference_model.profiles.profile import NEWEST_RELEASE, REFERENCE

_STAGES: Mapping[Stage, str] = {
    Stage.TLS: "only a TLS handshake shows it",
    Stage.METRIC: "only metrics show it",
    Stage.LOG: "only the request log shows it",
    Stage.RESET: "only a reset of a connection brings it about, which TCP may lose",
}
_OTHER_API = "only requests of other APIs show it, most of which change something, or the content of their responses"
_PAUSE = "only a pause, or what the broker does to clients above their quota, shows it"
_SEVERAL = "only many connections at the same time, or in a row, show it"
_COMPARED = "only a comparison of two listeners shows it"
_NODES = "only a comparison of two nodes shows it"
_SCRAM = "only an authentication by SCRAM shows it"
NOT_EXPRESSIBLE_CLAUSES: Mapping[str, str] = {
    "PROTOCOL.no-response-to-acks-0": _OTHER_API,
    "KIP-35.served-is-listed": _OTHER_API,
    "KIP-35.every-advertised-version-served": _OTHER_API,
    "KIP-35.advertised-version-supported": _OTHER_API,
    "KIP-35.throttle-time": _PAUSE,
    "PROTOCOL.idle-connection-kept": _PAUSE,
    "FEATURES.levels-follow": "only finalizing features, which changes the cluster, shows it",
    "FEATURES.listed-on-every-listener": _COMPARED,
    "FEATURES.same-levels-at-one-epoch": _COMPARED,
    "KIP-35.nothing-before-tls": _STAGES[Stage.TLS],
    "KIP-511.name-attached-to-connection": _STAGES[Stage.METRIC],
    "KIP-511.request-log": _STAGES[Stage.LOG],
}
"""Why no vector catches a planted defect that breaks a clause, if none does."""
_LONG = "only requests of tens of thousands of bytes show it"
NOT_EXPRESSIBLE_BROKER: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "a-client-that-does-not-read-stops-the-others",
            "a-connection-that-spoke-late-is-closed",
            "a-connection-that-spoke-late-is-not-served",
            "a-silent-connection-stops-those-after-it",
            "every-fiftieth-response-has-an-older-epoch",
            "thirty-malformed-requests-close-new-connections",
            "thirty-malformed-requests-silence-new-connections",
            "unused-connections-stop-the-others",
        ),
        _SEVERAL,
    ),
    **dict.fromkeys(
        (
            "a-refusal-names-a-group",
            "offsets-in-transactions-are-refused-in-the-newest-version",
            "old-levels-refuse-old-offsets-in-transactions",
            "old-levels-refuse-one-version-too-many",
            "old-writes-in-transactions-close",
            "what-the-level-forbids-closes",
            "writes-of-transaction-v2-are-refused-although-it-is-on",
            "group-lists-end-before-their-tags",
            "group-lists-for-an-empty-client-id-are-refused",
            "groups-are-listed-behind-the-handshake",
            "metadata-without-a-client-id-closes",
            "produce-is-acknowledged-after-the-next-request",
            "removed-apis-get-an-error-first",
            "responses-to-tagged-headers-have-the-older-header",
            "tags-in-the-body-of-metadata-close-the-connection",
            "tags-in-the-body-shorten-described-clusters",
            "topics-are-created-before-authentication",
            "unlisted-apis-are-closed-on-after-the-handshake",
        ),
        _OTHER_API,
    ),
    **dict.fromkeys(
        (
            "the-second-node-forgets-the-levels",
            "the-second-node-is-ahead-at-the-same-epoch",
            "the-second-node-lists-lower-levels",
        ),
        _NODES,
    ),
    **dict.fromkeys(("flexible-tables-are-shorter-behind-scram", "unknown-versions-are-invalid-behind-scram"), _SCRAM),
    **dict.fromkeys(
        (
            "a-thousand-tags-close-the-connection",
            "half-of-the-frame-limit-holds-before-authentication",
            "many-tags-empty-the-table",
            "ten-thousand-and-one-tags-are-taken-later",
        ),
        _LONG,
    ),
    "slow-frames-cost-the-connection": _PAUSE,
    "the-controller-hides-a-finalized-feature": _COMPARED,
}
"""The same by the defect's name."""
NOT_EXPRESSIBLE_CLIENT: Mapping[str, str] = {"KIP-35.client-waits-for-tls": _STAGES[Stage.TLS]}
"""Why no play or choice catches a fault of a client that breaks a clause, if none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorScore:
    """What vectors catch of one model's planted faults.

    Attributes:
        model: the model.
        caught: the first vector that catches each fault, by the fault's name.
        missed: faults that vectors could express, and do not catch.
        not_expressible: why a vector cannot express a fault, by its name.
    """

    model: str
    caught: Mapping[str, str]
    missed: Sequence[str]
    not_expressible: Mapping[str, str]

    @property
    def share(self) -> float:
        """The share of the faults that a vector can express which vectors catch."""
        return len(self.caught) / max(len(self.caught) + len(self.missed), 1)

    def as_json(self) -> dict[str, Any]:
        """Return the score as JSON values."""
        return {
            "planted": len(self.caught) + len(self.missed) + len(self.not_expressible),
            "caught": len(self.caught),
            "share_of_expressible": round(self.share, 4),
            "missed": list(self.missed),
            "not_expressible": dict(self.not_expressible),
        }


def broker_in_memory(defect: str, *, release: str = NEWEST_RELEASE) -> Open:
    """Return what opens streams to a reference broker in memory, with a planted defect unless its name is empty."""
    running = broker_with(defect, release=release).running
    assert isinstance(running, InMemoryTarget)

    def open_stream(listener: str) -> Transport:
        return InMemoryTransport(running.served[listener].connect())

    return open_stream


def why_not_expressible(defect: str) -> str:
    """Return why vectors cannot express what shows a planted defect of a broker; empty if they can."""
    reasons = (NOT_EXPRESSIBLE_CLAUSES.get(clause, "") for clause in DEFECTS[defect].breaks)
    by_stage = _STAGES.get(DEFECTS[defect].tampering.stage, "")
    return NOT_EXPRESSIBLE_BROKER.get(defect, by_stage or next(filter(None, reasons), ""))


def score_of_brokers(vectors: Sequence[BrokerVector], names: Sequence[str] = tuple(DEFECTS)) -> VectorScore:
    """Play all vectors to a reference broker with each planted defect, until one catches it."""

    def catcher(name: str) -> str:
        check = BrokerCheck(broker_in_memory(name))
        near = sorted(vectors, key=lambda vector: not set(vector.clauses) & set(DEFECTS[name].breaks))
        return next((vector.id for vector in near if check.check(vector) is not None), "")

    def reason(name: str) -> str:
        return why_not_expressible(name)

    return _score(SUBJECTS[REFERENCE], names, catcher, reason)


def own_faults() -> tuple[str, ...]:
    """Return the planted faults of clients but for those of proposals, about which vectors say nothing."""
    return tuple(name for name, fault in FAULTS.items() if not fault.model.__module__.startswith("proposals."))


def score_of_clients(plays: Sequence[PlayCandidate], names: Sequence[str] | None = None) -> VectorScore:
    """Let the model client with each planted fault make the choices and play the plays, until one catches it."""

    def catcher(name: str) -> str:
        model = FAULTS.model(name, ModelClient)
        near = sorted(plays, key=lambda play: not set(play.judged.clauses) & set(FAULTS[name].breaks))
        choice = next((each.id for each in CHOICES if is_missed_by(each, model)), "")
        return choice or next((play.id for play in near if is_failed_by(play, name)), "")

    def reason(name: str) -> str:
        return next(
            (NOT_EXPRESSIBLE_CLIENT[clause] for clause in FAULTS[name].breaks if clause in NOT_EXPRESSIBLE_CLIENT), ""
        )

    return _score(SUBJECTS[MODEL], own_faults() if names is None else names, catcher, reason)


def _score(
    subject: Subject, names: Sequence[str], catcher: Callable[[str], str], reason: Callable[[str], str]
) -> VectorScore:
    caught, missed, not_expressible = {}, [], {}
    for name in names:
        found, why = catcher(name), reason(name)
        if found:
            caught[name] = found
        elif why:
            not_expressible[name] = why
        else:
            missed.append(name)
    return VectorScore(model=subject.name, caught=caught, missed=missed, not_expressible=not_expressible)
