"""Plays vectors to a broker, and judges it by nothing but the vectors.

It needs a way to open byte streams, so it serves sockets and brokers in memory alike. It uses neither pytest nor
Hypothesis.
"""

from __future__ import annotations

import contextlib
import functools
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clauses.catalogue import Clause, Level, catalogue
from conformance.vectors.broker_vectors import LEVELS, BrokerVector, Expectation, Outcomes, VectorStep
from conformance.vectors.differences import what_differs
from conformance.vectors.expected_outcomes import is_closed
from fixtures.client.transport import Transport
from reference_model.broker.rules.connection_states import ConnectionEvent
from reference_model.broker.rules.reaction import AnswerKind
from reference_model.judging.agreement import Agreement
from reference_model.judging.table_rules import table_faults
from reference_model.profiles.listeners import SASL_LISTENERS
from reference_model.profiles.profile import (
    KIP_TEXT,
    NEWEST_RELEASE,
    RECORDED_RELEASES,
    Profile,
    profile_of,
    with_own_table,
)
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersion, ApiVersionsResponse
from wire.codec import decode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Exchange, Outcome, Request, probe_request
from wire.frames import FrameReader, encode_frame
from wire.headers import CORRELATION_ID_BYTES, RequestHeader, RequestStart, read_error_code, read_request_start

Open = Callable[[str], Transport]
"""Opens a byte stream to a listener of the broker."""

READ_BYTES = 65536
ANSWER_TIMEOUT_S = 5.0
"""How long a response, or the end of the stream, is waited for."""
PIECE_PAUSE_S = 0.02
"""How long nothing is written between two writes of a step, so that the broker reads them one by one."""
REFUSED_AS_UNLISTED = "PROTOCOL.unknown-api-refused"
"""The clause of an outcome that a broker has only if it does not list what was asked for."""
_OF_LISTED_APIS = (AnswerKind.OTHER, AnswerKind.SASL_HANDSHAKE, AnswerKind.SASL_AUTHENTICATE)
"""What answers requests that a broker must list before it has to serve them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """What a broker did other than a vector allows.

    Attributes:
        vector: the vector's id.
        clause: the clause that it breaks, as far as the vector tells.
        level: the level of that clause.
        sentence: what was allowed and what was seen.
        sent: the frame, its size included.
        received: what came for it, its size included; empty if nothing did.
    """

    vector: str
    clause: str
    level: Level
    sentence: str
    sent: bytes
    received: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTable:
    """What a listener of a broker says about itself before it is judged.

    Attributes:
        response: its response in the newest version that can be read; None if none can.
        version: that version.
        newest_version: the newest version of ApiVersions that it supports.
    """

    response: ApiVersionsResponse | None
    version: int
    newest_version: int


class _VectorStream:
    """One connection: what was read, and whether it has ended."""

    def __init__(self, transport: Transport, timeout_s: float) -> None:
        self.transport = transport
        self.ended = False
        self.problem = ""
        self._timeout_s = timeout_s
        self._reader = FrameReader()

    def write(self, writes: Sequence[bytes]) -> None:
        # A broker may close before it has read everything: what it did shows when we read.
        with contextlib.suppress(OSError):
            for number, data in enumerate(writes):
                if number:
                    self._take_in(PIECE_PAUSE_S)
                self.transport.settimeout(self._timeout_s)
                self.transport.sendall(data)

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.transport.shutdown(socket.SHUT_WR)

    def next_frame(self) -> bytes | None:
        """Return the next frame without its size; None at the end of the stream, or if nothing comes."""
        while True:
            try:
                frame = self._reader.next_payload()
            except DecodeError as error:
                self.problem = str(error)
                return None
            if frame is not None or self.ended or not self._take_in(self._timeout_s):
                return frame

    def is_over(self) -> bool:
        """Return whether the broker closes the connection, and sends nothing more."""
        return self.next_frame() is None and self.ended

    def _take_in(self, timeout_s: float) -> bool:
        """Read once; return False if nothing came in time."""
        try:
            self.transport.settimeout(timeout_s)
            data = self.transport.recv(READ_BYTES)
        except TimeoutError:
            return False
        except OSError:
            data = b""
        self.ended = not data
        self._reader.receive_data(data)
        return True


class BrokerCheck:
    """Plays vectors to one broker.

    Attributes:
        tables: what each listener said about itself, by its name.
    """

    def __init__(self, open_stream: Open, *, release: str = "", timeout_s: float = ANSWER_TIMEOUT_S) -> None:
        """Nothing is sent yet.

        Args:
            open_stream: opens a stream to a listener.
            release: the release of Apache Kafka that the broker is judged as; empty for the text of the KIPs.
            timeout_s: how long a response is waited for.
        """
        self._open = open_stream
        self._release = release
        self._timeout_s = timeout_s
        self._agreements: dict[str, Agreement] = {}
        self.tables: dict[str, OwnTable] = {}

    def table_of(self, listener: str) -> OwnTable:
        """Ask a listener for its table once, in the newest version that can be read."""
        if listener not in self.tables:
            self.tables[listener] = self._asked(listener)
        return self.tables[listener]

    def _asked(self, listener: str) -> OwnTable:
        for version in range(NEWEST_VERSION, -1, -1):
            response = self._response(listener, version)
            if response is not None and response.error_code is ErrorCode.NONE:
                own = response.range_of(API_VERSIONS_KEY)
                newest = version if own is None else min(max(own.max_version, version), NEWEST_VERSION)
                return OwnTable(response=response, version=version, newest_version=newest)
        return OwnTable(response=None, version=0, newest_version=0)

    def _response(self, listener: str, version: int) -> ApiVersionsResponse | None:
        with contextlib.closing(self._open(listener)) as transport:
            stream = _VectorStream(transport, self._timeout_s)
            stream.write([probe_request(version).data])
            frame = stream.next_frame()
        try:
            return None if frame is None else decode(ApiVersionsResponse, frame[CORRELATION_ID_BYTES:], version=version)
        except DecodeError:
            return None

    def _agreement(self, listener: str) -> Agreement:
        if listener not in self._agreements:
            table = self.table_of(listener).response
            profile: Profile = profile_of(NEWEST_RELEASE, listener=listener, follows=KIP_TEXT)
            self._agreements[listener] = Agreement(profile if table is None else with_own_table(profile, table))
        return self._agreements[listener]

    def has_the_table_for(self, vector: BrokerVector) -> bool:
        """Return whether a broker lists the versions of other APIs that a vector expects to be served, and no others.

        The vectors are about such brokers: others need not serve what they do not list, and serve what a vector expects
        to be refused. One whose table cannot be read is judged.
        """
        for step in vector.steps:
            if not step.frames:
                continue
            own_table = self.table_of(step.listener)
            for frame, expected in zip(step.frames, step.expected, strict=False):
                needs = _needs_listed(step, expected.outcomes(own_table.newest_version, self._release))
                if own_table.response is None or needs is None:
                    continue
                if needs != _lists(own_table.response.api_keys, read_request_start(frame)):
                    return False
        return True

    def check(self, vector: BrokerVector) -> Disagreement | None:
        """Play a vector; return the first frame that the broker treats in a way that it does not allow."""
        streams: dict[int, _VectorStream] = {}
        epochs: list[int] = []
        try:
            for step in vector.steps:
                if step.connection not in streams:
                    self.table_of(step.listener)
                    streams[step.connection] = _VectorStream(self._open(step.listener), self._timeout_s)
                found = self._check_step(vector, step, streams[step.connection], epochs)
                if found is not None:
                    return found
        finally:
            for stream in streams.values():
                stream.transport.close()
        return None

    def _check_step(
        self, vector: BrokerVector, step: VectorStep, stream: _VectorStream, epochs: list[int]
    ) -> Disagreement | None:
        if step.closes:
            stream.transport.close()
            return None
        stream.write(step.writes)
        if step.ends_stream:
            stream.end()
        newest = self.table_of(step.listener).newest_version
        for number, expected in enumerate(step.expected):
            outcomes = expected.outcomes(newest, self._release)
            if not outcomes:
                continue
            frame = step.frames[number] if number < len(step.frames) else b"".join(step.writes)[:READ_BYTES]
            exchange = _exchange(frame, stream, outcomes)
            found = self._judge(vector, step, exchange, outcomes, expected, stream)
            found = found or self._judge_response(vector, exchange, epochs)
            if found is not None:
                return found
        return None

    def _judge(
        self,
        vector: BrokerVector,
        step: VectorStep,
        exchange: Exchange,
        outcomes: Outcomes,
        expected: Expectation,
        stream: _VectorStream,
    ) -> Disagreement | None:
        agreement = self._agreement(step.listener)
        matched = agreement.matching(exchange, outcomes)
        if matched is not None:
            must_close = matched.outcome is Outcome.ANSWER and matched.event is ConnectionEvent.REFUSED
            if not must_close or stream.is_over():
                return None
        clause, level = _broken(vector, exchange, outcomes)
        if matched is None and not self._release and level is not Level.PIN:
            asked = RequestStart(exchange.request.api_key, exchange.request.api_version, 0)
            alike = _alike(self.table_of(step.listener), step.listener, asked)
            pinned = _pinned_by_a_release(agreement, exchange, outcomes, expected, alike)
            clause, level = (clause, level) if pinned is None else (pinned.id, pinned.level)
        return Disagreement(
            vector=vector.id,
            clause=clause,
            level=level,
            sentence=what_differs(exchange, outcomes, agreement, stays_open=matched is not None),
            sent=exchange.request.data,
            received=exchange.received,
        )

    def _judge_response(self, vector: BrokerVector, exchange: Exchange, epochs: list[int]) -> Disagreement | None:
        """Judge a response by the rules that hold of any; `epochs` are those of the responses before it."""
        payload = exchange.payload
        if payload is None or exchange.request.api_key != API_VERSIONS_KEY:
            return None
        is_refusal = read_error_code(payload) == ErrorCode.UNSUPPORTED_VERSION
        version = 0 if is_refusal else exchange.request.api_version
        broken, epoch = _broken_rules(payload[CORRELATION_ID_BYTES:], version)
        fell = f"the epoch fell from {epochs[-1]} to {epoch}" if epochs and 0 <= epoch < epochs[-1] else ""
        epochs += [epoch] if epoch >= 0 else []
        for clause, what in (*broken, *([("FEATURES.epoch-monotone", fell)] if fell else [])):
            return Disagreement(
                vector=vector.id,
                clause=clause,
                level=catalogue()[clause].level,
                sentence=what,
                sent=exchange.request.data,
                received=exchange.received,
            )
        return None


def _broken(vector: BrokerVector, exchange: Exchange, outcomes: Outcomes) -> tuple[str, Level]:
    """Return the clause that a broker breaks which does otherwise than the outcomes, and its level."""
    own = catalogue()[outcomes[0].clause]
    is_pinned = own.level is Level.PIN and keeps_the_least(exchange, outcomes)
    if is_pinned or _is_next_to_its_own(own.id, vector):
        return own.id, own.level
    return vector.clauses[0], vector.level


def _alike(own: OwnTable, listener: str, asked: RequestStart) -> Sequence[str]:
    """Return the releases with a broker's newest version of ApiVersions that list what is asked for if the broker does.

    Others say nothing about it.
    """
    profiles = {each: profile_of(each, listener=listener) for each in RECORDED_RELEASES}
    table = own.response
    return [
        release
        for release, profile in profiles.items()
        if profile.own_range.max_version == own.newest_version
        and (table is None or _lists(profile.api_keys, asked) == _lists(table.api_keys, asked))
    ]


def _lists(table: Sequence[ApiVersion], asked: RequestStart) -> bool:
    """Return whether a table has the version of the API that a request asks for."""
    return any(
        each.api_key == asked.api_key and each.min_version <= asked.api_version <= each.max_version for each in table
    )


def _pinned_by_a_release(
    agreement: Agreement, exchange: Exchange, outcomes: Outcomes, expected: Expectation, alike: Sequence[str]
) -> Clause | None:
    """Return the PIN by which some release of Apache Kafka does the same as a broker; None if there is none.

    It is about what the release does, or about the close that others do in its place.

    Args:
        agreement: compares with outcomes.
        exchange: what became of the frame.
        outcomes: what the text of the KIPs allows.
        expected: what it allows, and where releases differ.
        alike: the releases that say something about the broker; see `_alike`.
    """
    for each in expected.apache_kafka:
        if not any(map(each.has, alike)):
            continue
        matched = agreement.matching(exchange, each.outcomes)
        if matched is None:
            continue
        for outcome in (matched, *(outcomes[:1] if is_closed(outcomes) else ())):
            clause = catalogue()[outcome.clause]
            if clause.level is Level.PIN:
                return clause
    return None


def _is_next_to_its_own(clause: str, vector: BrokerVector) -> bool:
    """Return whether a frame whose outcome is a clause's only stands next to another one, which the vector is about."""
    outcomes = (each for step in vector.steps for expected in step.expected for each in expected.by_version[-1])
    return clause not in vector.clauses and any(each.clause in vector.clauses for each in outcomes)


def _needs_listed(step: VectorStep, outcomes: Outcomes) -> bool | None:
    """Return whether a broker must list what a frame asks for, or must not; None if that does not matter.

    A listener with SASL refuses what it lists as well, before a client has authenticated.
    """
    if any(each.kind in _OF_LISTED_APIS for each in outcomes):
        return True
    is_refused = any(each.clause == REFUSED_AS_UNLISTED for each in outcomes)
    return False if is_refused and step.listener not in SASL_LISTENERS else None


@functools.lru_cache(maxsize=4096)
def _broken_rules(body: bytes, version: int) -> tuple[tuple[tuple[str, str], ...], int]:
    """Return the rules that a body breaks, and the epoch of its features; cached, because brokers repeat themselves."""
    try:
        response = decode(ApiVersionsResponse, body, version=version)
    except (DecodeError, KeyError):
        return (), -1
    return tuple(table_faults(response, version)), response.finalized_features_epoch


def _exchange(frame: bytes, stream: _VectorStream, outcomes: Outcomes) -> Exchange:
    """Return what became of a frame."""
    start = read_request_start(frame)
    header = RequestHeader(
        request_api_key=start.api_key, request_api_version=start.api_version, correlation_id=start.correlation_id
    )
    request = Request(data=encode_frame(frame), header=header)
    if all(each.outcome is Outcome.IGNORED for each in outcomes):
        # What comes next belongs to the frame after it, whose correlation id shows it.
        return Exchange(request=request, outcome=Outcome.IGNORED, usable=True)
    payload = stream.next_frame()
    if payload is not None:
        return Exchange(request=request, outcome=Outcome.ANSWER, payload=payload, usable=True)
    outcome = Outcome.CLOSED if stream.ended else Outcome.SILENT
    if outcome is Outcome.SILENT and any(each.outcome is Outcome.IGNORED for each in outcomes):
        outcome = Outcome.IGNORED
    return Exchange(request=request, outcome=outcome)


def keeps_the_least(exchange: Exchange, outcomes: Outcomes) -> bool:
    """Return whether a broker that differs from a pinned outcome keeps what the sources say at least.

    A frame that cannot be read, for which a close is pinned, must not be served: it may be refused in any way. A
    refusal must have its error code; its layout and its table are pinned.
    """
    error_code = None if exchange.payload is None else read_error_code(exchange.payload)
    if is_closed(outcomes):
        return exchange.outcome is Outcome.CLOSED or error_code not in (None, ErrorCode.NONE)
    return error_code is not None and any(error_code == each.error_code for each in outcomes)


def strictest(levels: Sequence[Level]) -> Level:
    """Return the strictest of some levels."""
    return min(levels, key=LEVELS.index)
