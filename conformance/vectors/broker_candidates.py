"""What vectors for brokers may be made of.

That is what pinned examples, the corpus and drawn examples send.

Each example of a property is run on the reference broker in memory, and what it sends is kept. So what is pinned once
is a candidate, and nothing is written down twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hypothesis.errors import UnsatisfiedAssumption

from clauses.catalogue import catalogue
from conformance.assertions.clause_ids import SAME_TABLE_AT_EVERY_VERSION
from conformance.assertions.contradictions import is_of_model
from conformance.assertions.errors import JudgedElsewhere
from conformance.corpus.entries import format_bytes, load_corpus
from conformance.mutation.properties import Property, Values, holds
from conformance.mutation.subjects import Subject
from conformance.vectors.broker_check import REFUSED_AS_UNLISTED, strictest
from conformance.vectors.broker_vectors import BrokerVector, Expectation, VectorStep, input_hash
from conformance.vectors.expected_outcomes import SentStep, with_expectations, with_newest_expectations
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from reference_model.broker.rules.reaction import AnswerKind, NotModelled
from reference_model.broker.rules.sasl import CREDENTIALS
from reference_model.profiles.known_apis import known_apis
from reference_model.profiles.listeners import PLAINTEXT, SASL_LISTENERS, SASL_PLAINTEXT
from strategies.broken_requests import UNASSIGNED_KEYS
from strategies.hypothesis_adapter import StopDrawing
from wire.api_keys import SASL_AUTHENTICATE_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.exchange import Outcome, Step, probe_request
from wire.frames import encode_frame
from wire.headers import read_request_start
from wire.read_only import READ_ONLY
from wire.sasl import authenticate_request, handshake_request, plain_token
from wire.sentinel import sentinel_for

MAX_STEPS = 56
"""Enough for a connection of fifty requests in turn, which some faults need."""
MAX_BYTES = 150_000
MAX_WRITTEN = 6_000
"""The longest text of the bytes of one vector, with its long runs abbreviated."""
_HARMLESS = {*READ_ONLY, SASL_AUTHENTICATE_KEY}
_NO_CORRELATION_ID = 0
NEWEST_AUTHENTICATE = 2
"""The newest version of SaslAuthenticate."""
DRAWN_SEED = 0
MIN_HEADER_BYTES = 8
"""API key, version and correlation id, with which every request header begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What a vector may be made of.

    Attributes:
        clauses: the clauses that its sources are about.
        sentence: what a correct broker does.
        malformed: whether it is about bytes that do not follow the protocol.
        sent: what is sent.
        steps: the same with the outcomes of a broker that supports every version.
    """

    clauses: tuple[str, ...]
    sentence: str
    malformed: bool
    sent: tuple[SentStep, ...]
    steps: tuple[VectorStep, ...]

    @property
    def cost(self) -> tuple[int, int]:
        """What it costs its readers: connections and frames first, then bytes."""
        frames = sum(len(step.frames) + 1 for step in self.steps)
        return frames, sum(len(write) for step in self.sent for write in step.writes)

    @property
    def is_on_plaintext(self) -> bool:
        """Whether it needs a plaintext listener alone, which every broker under test has."""
        return all(step.listener == PLAINTEXT for step in self.sent)

    def as_vector(self, *, complete: bool = False) -> BrokerVector:
        """Return the vector; `complete` adds the outcomes of older versions and of the releases of Apache Kafka."""
        steps = with_expectations(self.sent) if complete else self.steps
        own = [clause for clause in self.clauses if not is_of_model(clause)] or list(_clauses_of(steps)) or self.clauses
        levels = {clause: catalogue()[clause].level for clause in own}
        ordered = sorted(own, key=lambda clause: levels[clause] is not strictest([*levels.values()]))
        return BrokerVector(
            id=f"{ordered[0]}-{input_hash(steps)}",
            clauses=tuple(ordered),
            level=levels[ordered[0]],
            sentence=self.sentence,
            malformed=self.malformed,
            steps=steps,
        )


def _clauses_of(steps: Iterable[VectorStep]) -> tuple[str, ...]:
    """Return the clauses that the outcomes of the first frame follow from."""
    found = (
        reaction.clause
        for step in steps
        for expected in step.expected
        for reaction in expected.by_version[-1]
        if not is_of_model(reaction.clause)
    )
    return tuple(dict.fromkeys(found))[:1]


def candidate(clauses: Sequence[str], sentence: str, sent: Sequence[SentStep], *, malformed: bool) -> Candidate | None:
    """Return a candidate; None if the model does not cover it, or if it does harm, or is too long."""
    size = sum(len(write) for step in sent for write in step.writes)
    if not size or size > MAX_BYTES or len(sent) > MAX_STEPS:
        return None
    if sum(len(format_bytes(write)) for step in sent for write in step.writes) > MAX_WRITTEN:
        return None
    try:
        sent = _with_sentinels(sent)
        steps = with_newest_expectations(sent)
    except (NotModelled, KeyError):
        return None
    if not _is_harmless(steps):
        return None
    return Candidate(
        clauses=tuple(clauses), sentence=sentence, malformed=malformed, sent=tuple(sent), steps=tuple(steps)
    )


def _is_harmless(steps: Iterable[VectorStep]) -> bool:
    """Return whether no frame can change anything on any broker; a token, or one without a header, cannot."""
    return all(_changes_nothing(*each) for step in steps for each in zip(step.frames, step.expected, strict=False))


def _changes_nothing(frame: bytes, expected: Expectation) -> bool:
    is_token = any(reaction.kind is AnswerKind.BARE_TOKEN for reaction in expected.by_version[-1])
    key = read_request_start(frame).api_key
    return is_token or len(frame) < MIN_HEADER_BYTES or key < 0 or key in _HARMLESS or key in UNASSIGNED_KEYS


def _with_sentinels(sent: Sequence[SentStep]) -> list[SentStep]:
    """Add a sentinel to each connection that is open at the end, unless the last frame is one already.

    Raises:
        NotModelled: the model does not cover one of the frames.
    """
    result = list(sent)
    last_states = {step.connection: step for step in with_newest_expectations(sent)}
    for number, last in last_states.items():
        own = [step for step in sent if step.connection == number]
        if any(step.ends_stream or step.closes for step in own) or _is_over(own):
            continue
        sentinel = _sentinel_after(own)
        if sentinel is not None and not (last.frames and last.frames[-1] == sentinel[4:]):
            result.append(SentStep(connection=number, listener=last.listener, writes=(sentinel,)))
    return result


def _is_over(sent: Sequence[SentStep]) -> bool:
    steps = with_newest_expectations(sent)
    outcomes = [expected.by_version[-1] for step in steps for expected in step.expected]
    return any(not each or each[0].outcome in (Outcome.CLOSED, Outcome.SILENT) for each in outcomes)


def _sentinel_after(sent: Sequence[SentStep]) -> bytes | None:
    """Return what a broker answers on this connection; None if it awaits a token."""
    for before in (False, True):
        data = sentinel_for(_NO_CORRELATION_ID, before_authentication=before).data
        steps = with_newest_expectations([*sent, dataclasses.replace(sent[-1], writes=(data,), ends_stream=False)])
        outcomes = steps[-1].expected[-1].by_version[-1] if steps[-1].expected else ()
        if outcomes and outcomes[0].outcome is Outcome.ANSWER and not outcomes[0].error_code:
            return data
        if sent[0].listener not in SASL_LISTENERS:
            break
    return None


def from_steps(steps: Sequence[Step]) -> tuple[SentStep, ...] | None:
    """Return what an example sent; None if a vector cannot express it."""
    sent = []
    for step in steps:
        if step.tls:
            return None
        if step.pause_s:
            continue
        sent.append(
            SentStep(
                connection=step.connection,
                listener=step.listener,
                writes=step.pieces,
                ends_stream=step.end_of_stream,
                closes=step.closes,
            )
        )
    # A close at the end is what every player does.
    while sent and sent[-1].closes:
        sent.pop()
    return tuple(sent)


def of_example(judged: Property, broker: Broker, values: Values) -> Iterator[Candidate]:
    """Yield what an example sends, as a whole and connection by connection."""
    try:
        holds(judged, broker, values)
    except (UnsatisfiedAssumption, AssertionError, HarnessError):
        return
    sent = from_steps(tuple(broker.journal))
    if sent is None:
        return
    numbers = list(dict.fromkeys(step.connection for step in sent))
    parts = [[dataclasses.replace(s, connection=0) for s in sent if s.connection == number] for number in numbers]
    malformed = any(mark.name == "malformed" for mark in judged.marks)
    for part in [sent, *parts] if len(parts) > 1 else [sent]:
        found = candidate(judged.clauses, sentence_of(judged), part, malformed=malformed)
        if found is not None:
            yield found


def sentence_of(judged: Property) -> str:
    """Return the sentence of a property."""
    return " ".join((judged.body.__doc__ or "").strip().partition("\n")[0].split())


def pinned_candidates(subject: Subject) -> Iterator[Candidate]:
    """Yield what the pinned examples of every property send, and what properties send that go through a list."""
    for judged in subject.properties().values():
        if judged.is_deep:
            continue
        for listener in subject.listeners(judged):
            broker = subject.at("", listener)
            assert isinstance(broker, Broker)
            for values in judged.pinned if judged.is_drawn else ({},):
                yield from of_example(judged, broker, values)


def drawn_candidates(subject: Subject, fault: str, *, most: int = 2) -> Iterator[Candidate]:
    """Yield what the first drawn examples send that show a fault of a broker which nothing pinned catches.

    The examples are drawn with a fixed seed, so they are the same each time.

    Args:
        subject: the model of a broker.
        fault: the planted fault.
        most: how many examples of each property are enough.
    """
    breaks = set(subject.faults[fault].breaks)
    for judged in subject.properties().values():
        if not breaks & set(judged.clauses) or judged.is_deep or not judged.is_drawn:
            continue
        for listener in subject.listeners(judged):
            failing = _failing_examples(judged, subject, fault, listener, most)
            plain = subject.at("", listener)
            assert isinstance(plain, Broker)
            for values in failing:
                yield from of_example(judged, plain, values)


def _failing_examples(judged: Property, subject: Subject, fault: str, listener: str, most: int) -> list[Values]:
    found: list[Values] = []
    plain, faulty = subject.at("", listener), subject.at(fault, listener)

    def take(values: Values) -> None:
        try:
            is_right = holds(judged, plain, values)
            fails = is_right and not holds(judged, faulty, values)
        except (JudgedElsewhere, HarnessError):
            return
        if fails:
            found.append(values)
        if len(found) == most:
            raise StopDrawing

    judged.draw(take, seed=DRAWN_SEED, count=judged.max_examples)
    return found


def stored_candidates() -> Iterator[Candidate]:
    """Yield the entries of the corpus, each on a connection of its own."""
    for entry in load_corpus():
        found = candidate_of_bytes("MODEL.agrees-with-reference", "", entry.data)
        if found is not None:
            yield dataclasses.replace(found, sentence=sentence_of_outcomes(found.steps))


def sentence_of_outcomes(steps: Sequence[VectorStep]) -> str:
    """Return the statement of the clause of a vector's first outcome that is another one than the table, if any is."""
    clauses = [each.by_version[-1][0].clause for step in steps for each in step.expected if each.by_version[-1]]
    other = next((each for each in clauses if each != SAME_TABLE_AT_EVERY_VERSION), SAME_TABLE_AT_EVERY_VERSION)
    return catalogue()[other].statement


def candidate_of_bytes(clause: str, sentence: str, data: bytes) -> Candidate | None:
    """Return a candidate that sends bytes on a connection, and ends the stream if they end inside a frame.

    None if a vector cannot have them, as in `candidate`, or if they ask for what the models do not list but other
    brokers may.
    """
    sent = [SentStep(connection=0, listener=PLAINTEXT, writes=(data,))]
    found = candidate((clause,), sentence, sent, malformed=False)
    if found is not None and any(_is_listed_by_others(*each) for each in _frames_of(found)):
        return None
    if found is None or not _awaits_more(found):
        return found
    return candidate((clause,), sentence, [dataclasses.replace(sent[0], ends_stream=True)], malformed=True)


def _frames_of(found: Candidate) -> Iterator[tuple[bytes, Expectation]]:
    return (each for step in found.steps for each in zip(step.frames, step.expected, strict=False))


def _is_listed_by_others(frame: bytes, expected: Expectation) -> bool:
    is_refused = any(each.clause == REFUSED_AS_UNLISTED for each in expected.by_version[-1])
    return is_refused and read_request_start(frame).api_key in known_apis()


def _awaits_more(found: Candidate) -> bool:
    (first, *_) = found.steps
    data = b"".join(first.writes)
    return sum(4 + len(frame) for frame in first.frames) < len(data) and len(first.frames) == len(first.expected)


def login_candidates() -> Iterator[Candidate]:
    """Yield a login by PLAIN in each version of its requests, with a request for the table after it."""
    clauses = ("PROTOCOL.listed-sasl-versions-log-in", "KIP-35.table-before-authentication")
    token = plain_token(CREDENTIALS.username, CREDENTIALS.password)
    ways = {
        "SaslHandshake v0 and a bare token": (handshake_request(version=0).data, encode_frame(token)),
        **{
            f"SaslHandshake v1 and SaslAuthenticate v{version}": (
                handshake_request(version=1).data,
                authenticate_request(token, version=version).data,
            )
            for version in range(NEWEST_AUTHENTICATE + 1)
        },
    }
    table = probe_request(0).data
    for how, frames in ways.items():
        writes = [(probe_request(FIRST_FLEXIBLE_VERSION).data,), *((frame,) for frame in frames), (table,), (table,)]
        sent = [SentStep(connection=0, listener=SASL_PLAINTEXT, writes=each) for each in writes]
        found = candidate(clauses, f"A client logs in with {how}, and is served then.", sent, malformed=False)
        if found is not None:
            yield found


def merged(candidates: Iterable[Candidate]) -> Mapping[str, Candidate]:
    """Return each input once, with the clauses of all its sources and the first sentence, by its hash."""
    found: dict[str, Candidate] = {}
    for each in candidates:
        key = input_hash(each.steps)
        if key in found:
            clauses = tuple(dict.fromkeys((*found[key].clauses, *each.clauses)))
            found[key] = dataclasses.replace(found[key], clauses=clauses)
        else:
            found[key] = each
    return found
