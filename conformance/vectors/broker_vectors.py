"""Vectors for brokers: what is sent, and what may become of each frame.

A vector is data: JSON in `vectors/`, which tests of any language read. `vectors/schema.json` describes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clauses.catalogue import Level
from conformance.corpus.entries import format_bytes, parse_bytes
from conformance.vectors.frame_cutter import FrameCutter
from reference_model.broker.rules.connection_states import ConnectionEvent
from reference_model.broker.rules.reaction import AnswerKind, Listing, Reaction
from reference_model.profiles.profile import release_order
from wire.error_codes import ErrorCode
from wire.exchange import Outcome

Outcomes = tuple[Reaction, ...]
"""The allowed outcomes of one frame; empty if nothing is read any more, because the connection is closed."""

LEVELS = (Level.MUST, Level.SHOULD, Level.MAY, Level.PIN)
"""The levels, the strictest first."""
ID_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRange:
    """Outcomes of a range of releases of Apache Kafka that differ from what the KIPs say.

    Attributes:
        first: the first release.
        last: the last one that was looked at.
        outcomes: the allowed outcomes.
    """

    first: str
    last: str
    outcomes: Outcomes

    def has(self, release: str) -> bool:
        """Return whether a release lies in the range."""
        return release_order(self.first) <= release_order(release) <= release_order(self.last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What may become of one frame.

    Attributes:
        by_version: the outcomes by the newest version of ApiVersions that the broker supports, as index.
        apache_kafka: where releases of Apache Kafka differ from that.
    """

    by_version: tuple[Outcomes, ...]
    apache_kafka: tuple[ReleaseRange, ...] = ()

    def outcomes(self, newest_version: int, release: str = "") -> Outcomes:
        """Return the outcomes for a broker that supports ApiVersions up to a version, or for a release of Kafka."""
        for each in self.apache_kafka if release else ():
            if each.has(release):
                return each.outcomes
        return self.by_version[min(newest_version, len(self.by_version) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorStep:
    """What is done on one connection, and what may come back.

    Attributes:
        connection: the connection's number; the first step with it opens it.
        listener: the security of the connection: a name of `reference_model.profiles.listeners`.
        writes: the bytes of each write; several show that TCP may cut frames anywhere.
        ends_stream: whether our side of the stream ends after the writes while the other stays open.
        closes: whether we close the connection; nothing else is done then.
        frames: the complete frames of the connection that end in this step, without their sizes.
        expected: what may become of each of these frames; one more if a size is refused or the stream ends.
    """

    connection: int
    listener: str
    writes: tuple[bytes, ...] = ()
    ends_stream: bool = False
    closes: bool = False
    frames: tuple[bytes, ...] = ()
    expected: tuple[Expectation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerVector:
    """One vector for brokers.

    Attributes:
        id: its name, which never changes: its main clause, and a hash of what is sent.
        clauses: the clauses that it is about, the main one first.
        level: the strictest level among them.
        sentence: what a correct broker does.
        malformed: whether some bytes do not follow the protocol.
        steps: what is done, in order.
    """

    id: str
    clauses: tuple[str, ...]
    level: Level
    sentence: str
    malformed: bool
    steps: tuple[VectorStep, ...]

    @property
    def is_single_request(self) -> bool:
        """Whether it is one frame with the sentinel after it, and so belongs to `requests.json`."""
        sent = [step for step in self.steps if not step.closes]
        return len(sent) == 1 and len(sent[0].frames) == 2 and len(sent[0].writes) == 1 and not sent[0].ends_stream

    @property
    def listeners(self) -> tuple[str, ...]:
        """The listeners that it needs."""
        return tuple(dict.fromkeys(step.listener for step in self.steps))


def input_hash(steps: Iterable[VectorStep]) -> str:
    """Return the hash of what a vector sends, which is part of its id."""
    digest = hashlib.sha256()
    for step in steps:
        digest.update(f"{step.connection} {step.listener} {step.ends_stream} {step.closes} ".encode())
        digest.update(b" ".join(write.hex().encode() for write in step.writes))
    return digest.hexdigest()[:ID_DIGITS]


def as_json(vector: BrokerVector) -> dict[str, Any]:
    """Return a vector as JSON values."""
    head = {
        "id": vector.id,
        "clauses": list(vector.clauses),
        "level": vector.level.value,
        "sentence": vector.sentence,
        "malformed": vector.malformed,
    }
    return {**head, "steps": [_step_as_json(step) for step in vector.steps]}


def _step_as_json(step: VectorStep) -> dict[str, Any]:
    values: dict[str, Any] = {"connection": step.connection, "listener": step.listener}
    if step.closes:
        return {**values, "close": True}
    values["send"] = [format_bytes(write).replace("\n", " ") for write in step.writes]
    if step.ends_stream:
        values["end_of_stream"] = True
    return {**values, "expect": [_expectation_as_json(each) for each in step.expected]}


def _expectation_as_json(expected: Expectation) -> dict[str, Any]:
    values: dict[str, Any] = {"kip_text": []}
    first = 0
    for version, outcomes in enumerate(expected.by_version):
        is_last = version == len(expected.by_version) - 1
        if is_last or expected.by_version[version + 1] != outcomes:
            entry = {"newest_version": [first, version], "outcomes": [_outcome_as_json(each) for each in outcomes]}
            values["kip_text"].append(entry)
            first = version + 1
    if expected.apache_kafka:
        values["apache_kafka"] = [
            {"releases": [each.first, each.last], "outcomes": [_outcome_as_json(own) for own in each.outcomes]}
            for each in expected.apache_kafka
        ]
    return values


def _outcome_as_json(reaction: Reaction) -> dict[str, Any]:
    values: dict[str, Any] = {"outcome": reaction.outcome.value, "clause": reaction.clause}
    if reaction.outcome is not Outcome.ANSWER:
        return values
    values |= {
        "to": reaction.kind.value,
        "layout": reaction.response_version,
        "error_code": int(reaction.error_code),
        "table": reaction.listing.value,
    }
    if reaction.before_authentication:
        values["before_authentication"] = True
    if reaction.event is ConnectionEvent.REFUSED:
        values["then"] = "closed"
    return values


def read_vector(values: Mapping[str, Any]) -> BrokerVector:
    """Return the vector in JSON values that follow the schema."""
    cutter = FrameCutter()
    steps = tuple(_read_step(each, cutter) for each in values["steps"])
    return BrokerVector(
        id=values["id"],
        clauses=tuple(values["clauses"]),
        level=Level(values["level"]),
        sentence=values["sentence"],
        malformed=values["malformed"],
        steps=steps,
    )


def _read_step(values: Mapping[str, Any], cutter: FrameCutter) -> VectorStep:
    connection, listener = values["connection"], values["listener"]
    if values.get("close"):
        return VectorStep(connection=connection, listener=listener, closes=True)
    writes = tuple(parse_bytes(each) for each in values["send"])
    return VectorStep(
        connection=connection,
        listener=listener,
        writes=writes,
        ends_stream=values.get("end_of_stream", False),
        frames=cutter.frames(connection, b"".join(writes)),
        expected=tuple(_read_expectation(each) for each in values["expect"]),
    )


def _read_expectation(values: Mapping[str, Any]) -> Expectation:
    by_version: list[Outcomes] = []
    for each in values["kip_text"]:
        first, last = each["newest_version"]
        by_version += [_read_outcomes(each["outcomes"])] * (last - first + 1)
    ranges = tuple(
        ReleaseRange(first=each["releases"][0], last=each["releases"][1], outcomes=_read_outcomes(each["outcomes"]))
        for each in values.get("apache_kafka", [])
    )
    return Expectation(by_version=tuple(by_version), apache_kafka=ranges)


def _read_outcomes(values: Sequence[Mapping[str, Any]]) -> Outcomes:
    return tuple(map(_read_outcome, values))


def _read_outcome(values: Mapping[str, Any]) -> Reaction:
    outcome = Outcome(values["outcome"])
    if outcome is not Outcome.ANSWER:
        return Reaction(outcome=outcome, clause=values["clause"])
    return Reaction(
        clause=values["clause"],
        error_code=ErrorCode(values["error_code"]),
        kind=AnswerKind(values["to"]),
        response_version=values["layout"],
        listing=Listing(values["table"]),
        before_authentication=values.get("before_authentication", False),
        next_event=ConnectionEvent.REFUSED if values.get("then") == "closed" else None,
    )
