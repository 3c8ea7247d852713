"""One connection to a scripted broker.

Requests go in and writes come out, each with its time.

Responses have the order of the requests, so a delayed one holds back those after it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.clients.scripts.answer_bytes import answer_bytes
from reference_model.clients.scripts.reading import (
    MIN_REQUEST_BYTES,
    read_message,
    read_request,
)
from reference_model.clients.scripts.recording import SeenConnection, SeenRequest
from reference_model.clients.scripts.sasl_steps import SaslSteps
from reference_model.clients.scripts.script import (
    EMPTY,
    ERROR_AFTER_MS,
    HEALTHY,
    Answer,
    ConnectionScript,
    Table,
)
from reference_model.clients.scripts.served_apis import CLIENT_APIS, NEWEST_SERVED, served_table
from reference_model.clients.scripts.transaction_steps import TRANSACTION_STEPS, transaction_response
from wire.api_keys import API_VERSIONS_KEY, METADATA_KEY, SASL_AUTHENTICATE_KEY
from wire.api_versions import ApiVersionsRequest
from wire.described_messages import (
    CLUSTER_APIS,
    FIRST_METADATA_WITH_AN_ERROR,
    NodeAddress,
    cluster_response,
)
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.frames import FrameReader, encode_frame
from wire.message_schemas import Api
from wire.sasl import BARE_TOKEN

Address = tuple[str, int]
"""Host and port."""
MAX_REQUEST_BYTES = 128 << 10
"""No client begins with a request of this size; a larger size prefix is something else than a request."""
MAX_UNREADABLE_BYTES = 64
MAX_READ = 2_000
"""How many requests of a connection are read. The fastest loop of a real client was 309 in a second, for which a
loop is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """What a scripted broker does next on a connection.

    Attributes:
        data: the bytes to write; may be empty.
        delay_ms: how long to wait before that, counted from the connection's write before, or from the bytes that
            caused this one if they came later.
        then: what happens to the connection after it.
    """

    data: bytes = b""
    delay_ms: int = 0
    then: Literal["stay", "close", "reset"] = "stay"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A request, and what became of it.

    Attributes:
        request: the request, without its response.
        connection: its connection.
        pieces: the bytes of the response, each with the time at which they are written; those of a response that is
            held back are added later.
        is_unknown: whether the connection is closed because no scripted broker can answer the request.
    """

    request: SeenRequest
    connection: ScriptedConnection
    pieces: list[tuple[int, bytes]]
    is_unknown: bool

    def seen_until(self, end_ms: int) -> SeenRequest:
        """Return the request with the bytes that were written before the end of the play and of its connection."""
        closed_ms = self.connection.seen.closed_ms
        until_ms = end_ms if closed_ms is None else min(end_ms, closed_ms)
        written = [(at_ms, data) for at_ms, data in self.pieces if at_ms <= until_ms]
        last_ms = written[-1][0] if written else self.request.responded_ms
        return dataclasses.replace(
            self.request,
            response=b"".join(data for _, data in written),
            # It waited for another response besides, if it came later than the script's own delays.
            answered_ms=last_ms if last_ms > self.request.responded_ms else None,
        )


class ScriptedConnection:
    """One connection to a scripted broker.

    Attributes:
        seen: what is recorded of it; if the broker ends it after a delay, `closed_ms` may lie in the future.
        opening: what the broker does as soon as it is open.
    """

    def __init__(
        self,
        script: ConnectionScript,
        seen: SeenConnection,
        *,
        addresses: Mapping[int, Address],
        needs_sasl: bool,
        serves_transactions: bool,
        see: Callable[[Answered], None],
        closed: Callable[[], None],
    ) -> None:
        """Start without requests; only `ScriptedCluster.connect` does this."""
        self.seen = seen
        self.opening: list[Write] = []
        self._script = script
        self._addresses = addresses
        self._see = see
        self._closed = closed
        self._serves_transactions = serves_transactions
        self._newest_version = min(script.newest_version, NEWEST_SERVED)
        self._reader = FrameReader(max_frame_bytes=MAX_REQUEST_BYTES)
        self._table: Table | None = None
        self._reads = 0
        self._answers = 0
        self._others = 0
        self._writes_until_ms = seen.opened_ms
        self._is_silent = script.on_open == "silence"
        self._sasl = SaslSteps(needed=needs_sasl, refusal=script.refused_login)
        self._held: tuple[list[Write], list[tuple[int, bytes]]] | None = None
        if script.unasked is not None and script.on_open == "serve":
            frame = answer_bytes(script.unasked, api_version=0, correlation_id=0)
            self.opening = _in_pieces(frame, script.unasked)
            self._schedule(self.opening, seen.opened_ms)
        if script.on_open == "close":
            self.opening = [Write(then="close")]
            self._ends("broker", seen.opened_ms)

    @property
    def state(self) -> tuple[int, Table | None, ConnectionState]:
        """What decides about the next response: the answer that is next, the table that holds, and SASL's state.

        Connections of one script that are in the same state answer equal requests equally until they end.
        """
        return min(self._answers, len(self._script.answers) - 1), self._table, self._sasl.state

    def receive_data(self, data: bytes, now_ms: int) -> list[Write]:
        """Take bytes of the client, and return what the broker does about them."""
        writes: list[Write] = []
        if self._is_read(now_ms):
            self._reader.receive_data(data)
        try:
            while self._is_read(now_ms) and (payload := self._reader.next_payload()) is not None:
                if len(payload) < MIN_REQUEST_BYTES and not self._sasl.token_is_bare:
                    writes += self._refuse_bytes(encode_frame(payload), now_ms)
                else:
                    writes += self._answer(payload, now_ms)
        except DecodeError:
            writes += self._refuse_bytes(self._reader.unread, now_ms)
        self._reads += 1
        return writes

    def receive_before_tls(self, data: bytes, now_ms: int) -> list[Write]:
        """Take unencrypted bytes that come before the end of the TLS handshake.

        Return what the broker does: it closes the connection.
        """
        self.seen = dataclasses.replace(self.seen, is_before_tls=True)
        return self._refuse_bytes(data, now_ms)

    def client_closed(self, now_ms: int, *, was_reset: bool = False) -> None:
        """Note that the client has closed or reset the connection, and forget unread bytes.

        The note is not made if the broker closed it before.
        """
        self._closed()
        self._reader = FrameReader(max_frame_bytes=MAX_REQUEST_BYTES)
        self._ends("client", now_ms, was_reset=was_reset)

    def seen_until(self, end_ms: int) -> SeenConnection:
        """Return what is recorded of the connection if the play ends at this time."""
        closed_ms = self.seen.closed_ms
        if closed_ms is None or closed_ms <= end_ms:
            return self.seen
        return dataclasses.replace(self.seen, closed_ms=None, closed_by="", was_reset=False)

    def _is_read(self, now_ms: int) -> bool:
        """Whether the broker still takes requests from the connection."""
        seen = self.seen
        is_open = seen.closed_ms is None or now_ms < seen.closed_ms
        return is_open and not seen.unreadable and seen.requests < MAX_READ

    def _ends(self, by: Literal["client", "broker"], at_ms: int, *, was_reset: bool = False) -> None:
        if self.seen.closed_ms is None or at_ms < self.seen.closed_ms:
            self.seen = dataclasses.replace(self.seen, closed_ms=at_ms, closed_by=by, was_reset=was_reset)

    def _refuse_bytes(self, data: bytes, now_ms: int) -> list[Write]:
        """Close the connection because of bytes that are no request."""
        self.seen = dataclasses.replace(self.seen, unreadable=data[:MAX_UNREADABLE_BYTES])
        writes = [] if self._is_mute else [Write(then="close")]
        self._schedule(writes, now_ms)
        return writes

    @property
    def _is_mute(self) -> bool:
        """Whether nothing more is answered: the connection is silent, or its end is already decided."""
        return self._is_silent or self.seen.closed_ms is not None

    def _schedule(self, writes: list[Write], now_ms: int) -> list[tuple[int, bytes]]:
        """Return the bytes of the writes, each with its time, and note whether the last one ends the connection."""
        at_ms = max(self._writes_until_ms, now_ms)
        pieces = []
        for write in writes:
            at_ms += write.delay_ms
            pieces.append((at_ms, write.data))
            if write.then != "stay":
                self._ends("broker", at_ms, was_reset=write.then == "reset")
        self._writes_until_ms = at_ms
        return pieces

    def _answer(self, payload: bytes, now_ms: int) -> list[Write]:
        request = read_request(payload, connection=self.seen.number, at_ms=now_ms)
        request = dataclasses.replace(request, read=self._reads)
        if self._sasl.token_is_bare:
            request = dataclasses.replace(
                request,
                tags_descend=False,
                api_key=SASL_AUTHENTICATE_KEY,
                api_version=BARE_TOKEN,
                correlation_id=0,
                client_id=None,
                body=None,
                problem="",
            )
        self.seen = dataclasses.replace(
            self.seen,
            requests=self.seen.requests + 1,
            api_versions_requests=self.seen.api_versions_requests + request.is_about_versions,
        )
        writes: list[Write] = []
        is_unknown = False
        if self._is_mute:
            request = dataclasses.replace(request, is_served=False)
        elif request.is_about_versions:
            request, writes = self._answer_api_versions(request)
        elif self._sasl.token_is_bare:
            # After SaslHandshake v0 a frame is a token without a header; PLAIN needs a single one.
            self._sasl.take_token()
            refusal = [Write(then="close")]
            writes = refusal if self._sasl.is_refused else [Write(data=encode_frame(b""))]
        elif (api := self._api_of(request)) is not None:
            request, writes = self._answer_other(request, api, payload)
        else:
            is_unknown = self._sasl.is_over and self._lists(request) and request.api_version >= 0
            request = dataclasses.replace(request, is_served=False)
            writes = [Write(then="close")]
        return self._write(request, writes, now_ms, is_unknown=is_unknown)

    def _write(self, request: SeenRequest, writes: list[Write], now_ms: int, *, is_unknown: bool) -> list[Write]:
        """Record a request; return its writes, and after them those of the one before, if they were held back."""
        held, self._held = self._held, None
        is_held = request.answer is not None and request.answer.held_back and not self._is_mute
        pieces = [] if is_held else self._schedule(writes, now_ms)
        self._see(Answered(request=request, connection=self, pieces=pieces, is_unknown=is_unknown))
        if is_held:
            self._held, writes = (writes, pieces), []
        if held is not None:
            late_writes, late_pieces = held
            late_pieces += self._schedule(late_writes, now_ms)
            writes = [*writes, *late_writes]
        return writes

    def _answer_api_versions(self, request: SeenRequest) -> tuple[SeenRequest, list[Write]]:
        refusal = self._refusal(request.api_version)
        late = self._sasl.answer_to_late_versions(None if refusal is None else 0)
        refusal = refusal if late is None else late
        answer = self._next_answer(request) if refusal is None else refusal
        request = dataclasses.replace(request, answer=answer, is_served=refusal is None)
        if answer.action == "silence":
            # Responses come in the order of the requests, so nothing can follow the missing one.
            self._is_silent = True
            return request, []
        if answer.action != "answer":
            return request, [Write(delay_ms=answer.delay_ms, then=answer.action)]
        frame = answer_bytes(answer, api_version=request.api_version, correlation_id=request.correlation_id)
        if answer.gives_table:
            self._table = answer.table
            self._sasl.give_table(answer.table)
        return request, _in_pieces(frame, answer)

    def _refusal(self, version: int) -> Answer | None:
        """Return what a version of ApiVersions gets that the broker does not support; None if it supports it."""
        ranges: Sequence[tuple[int, int]] = [(0, self._newest_version)]
        if not _lies_in(ranges, version):
            if self._script.refusal is not None:
                return self._script.refusal
        else:
            # A connection whose table does not list ApiVersions can still ask for it.
            ranges = (self._table and self._table.ranges_of(API_VERSIONS_KEY)) or ranges
            if _lies_in(ranges, version):
                return None
        own = tuple((API_VERSIONS_KEY, low, high) for low, high in ranges)
        return Answer(
            error_code=int(ErrorCode.UNSUPPORTED_VERSION),
            table=Table(base="empty", before=own),
            layout=0,
        )

    def _next_answer(self, request: SeenRequest) -> Answer:
        answer = self._script.answer(self._answers)
        self._answers += 1
        if request.api_version < answer.from_version:
            answer = Answer()
        error = self._error_of_ids(request.body)
        if answer.gives_table and error is not ErrorCode.NONE:
            return Answer(error_code=int(error), table=EMPTY, delay_ms=ERROR_AFTER_MS)
        table = served_table(answer.table, self._newest_version)
        return dataclasses.replace(answer, table=table)

    def _error_of_ids(self, body: ApiVersionsRequest | None) -> ErrorCode:
        """Return what a broker that follows KIP-1242 says to the ids of a request."""
        if body is None or (body.cluster_id is None and body.node_id == -1):
            return ErrorCode.NONE
        if body.cluster_id is None or body.node_id == -1:
            return ErrorCode.INVALID_REQUEST
        own = (self._script.cluster_id, self._script.id_of(self.seen.node))
        is_own = (body.cluster_id, body.node_id) == own
        return ErrorCode.NONE if is_own else ErrorCode.REBOOTSTRAP_REQUIRED

    def _answer_other(self, request: SeenRequest, api: Api, payload: bytes) -> tuple[SeenRequest, list[Write]]:
        try:
            _, message = read_message(api, payload, request.api_version)
        except DecodeError:
            return dataclasses.replace(request, is_served=False), [Write(then="close")]
        if request.api_key in CLUSTER_APIS:
            response = self._describe_cluster(api, message, request.api_version)
        elif request.api_key in TRANSACTION_STEPS:
            response = transaction_response(api, message)
        elif self._sasl.is_over:
            response = api.response()
        else:
            response = self._sasl.take_step(api, request.api_version)
        if response is None:
            return request, [Write(then="close")]
        self._others += 1
        closes_after = self._script.closes_after
        is_last = closes_after is not None and self._others >= closes_after
        closes = is_last or self._sasl.is_refused
        payload = api.response_payload(response, request.api_version, request.correlation_id)
        return request, [Write(data=encode_frame(payload), then="close" if closes else "stay")]

    def _api_of(self, request: SeenRequest) -> Api | None:
        """Return the API of a request that is answered at this point; None if its connection is closed instead."""
        key = request.api_key
        apis = {**CLIENT_APIS, **TRANSACTION_STEPS} if self._serves_transactions else CLIENT_APIS
        api = apis.get(key) if self._sasl.is_over else self._sasl.api_of(key)
        is_known = api is not None and request.api_version in api.valid_versions
        return api if is_known and self._lists(request) else None

    def _lists(self, request: SeenRequest) -> bool:
        """Return whether the latest table of the connection lists a request.

        Before the first table, use the table that comes next.

        What a broker serves does not depend on whether it was asked.
        """
        table = self._table
        if table is None:
            next_answer = self._script.answer(self._answers)
            table = next_answer.table if next_answer.gives_table else HEALTHY
        return _lies_in(table.ranges_of(request.api_key), request.api_version)

    def _describe_cluster(self, api: Api, message: Any, api_version: int) -> Any:
        error_code = self._script.metadata_error
        if error_code and api.api_key == METADATA_KEY and api_version >= FIRST_METADATA_WITH_AN_ERROR:
            return api.response(error_code=error_code)
        nodes: list[NodeAddress] = [
            (self._script.id_of(index), host, port) for index, (host, port) in self._addresses.items()
        ]
        last_id, _, _ = nodes[-1]
        leader_id = last_id if self._serves_transactions else None
        return cluster_response(api, message, nodes=nodes, cluster_id=self._script.cluster_id, leader_id=leader_id)


def _lies_in(ranges: Sequence[tuple[int, int]], version: int) -> bool:
    return any(low <= version <= high for low, high in ranges)


def _in_pieces(frame: bytes, answer: Answer) -> list[Write]:
    """Cut a frame into the pieces of an answer; the last one carries what happens then."""
    count = max(1, min(answer.pieces, len(frame)))
    cuts = [len(frame) * index // count for index in range(count + 1)]
    return [
        Write(
            data=frame[begin:end],
            delay_ms=answer.delay_ms,
            then=answer.then if end == len(frame) else "stay",
        )
        for begin, end in pairwise(cuts)
    ]
