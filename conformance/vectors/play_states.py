"""What brokers do in a play, as bytes that a player writes without a codec.

A connection is a list of states. A state has the reply to each request and names the state after it. The scripted
connection itself is asked in every state that requests lead to, so a player in any language does what it does.

A frame is text: hexadecimal, in which `{id}` stands for the correlation id of the request, `{id+1}` for the number
after it, and `{port0}`, `{port1}` and so on for the ports of the nodes; each has four bytes.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from reference_model.broker.rules.connection_states import SERVING, ConnectionState
from reference_model.clients.rules.moves import ENDS_FROM_VERSION
from reference_model.clients.rules.read_response import ReadResponse, ResponseKind, read_response
from reference_model.clients.scripts.answer_bytes import answer_bytes
from reference_model.clients.scripts.recording import SeenRequest
from reference_model.clients.scripts.script import HEALTHY, Answer, ConnectionScript, Script, Table
from reference_model.clients.scripts.scripted_cluster import HEALTHY_CONNECTION, ScriptedCluster
from reference_model.clients.scripts.scripted_connection import ScriptedConnection, Write
from reference_model.profiles.listeners import PLAINTEXT
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_VERSION_WITH_CLUSTER_CHECK, NEWEST_VERSION, NO_NODE, ApiVersionsRequest
from wire.codec import encode
from wire.described_messages import DESCRIBE_CLUSTER, METADATA, SASL_APIS
from wire.exchange import encode_request
from wire.frames import encode_frame
from wire.message_schemas import Api
from wire.plain_header import plain_header

Values = dict[str, Any]
"""JSON values: of a reply, a state or a connection."""
State = tuple[int, Table | None, ConnectionState]
HOST = "127.0.0.1"
CORRELATION_ID = 0x5C0FFEE1
"""A number that no frame has elsewhere, like those of `FIRST_PORT` and the ports after it."""
FIRST_PORT = 48_879
NUMBER_BYTES = 4
LATER_MS = 60_000
"""Time between two requests, so that every delay is over."""
UNKNOWN_VERSION = 32_767
OTHER_APIS = (METADATA, DESCRIBE_CLUSTER)
"""What clients ask a broker of a play for, apart from ApiVersions and SASL. No topic exists."""
_BARE_TOKEN = encode_frame(b"\0user\0password")
_NO_IDS = (None, NO_NODE)


def play_nodes(script: Script) -> list[list[Values]]:
    """Return what happens on the connections to each node, by their order; the last one of a node repeats."""
    return [
        [connection_values(script, node, each) for each in own.connections] for node, own in enumerate(script.nodes)
    ]


def healed_nodes(script: Script) -> list[Values]:
    """Return what happens on connections to each node after the script has healed; empty if it never does."""
    if script.heals_after_ms is None:
        return []
    return [connection_values(script, node, HEALTHY_CONNECTION) for node, _ in enumerate(script.nodes)]


def connection_values(script: Script, node: int, connection: ConnectionScript) -> Values:
    """Return what happens on a connection.

    Args:
        script: the play.
        node: the index of the node.
        connection: what the script says of the connection.
    """
    values: Values = {}
    if connection.closes_after is not None:
        values["closes_after"] = connection.closes_after
    if connection.on_open != "serve":
        return {
            **values,
            "opening": {"then": {"close": "close", "silence": "silence"}[connection.on_open]},
            "states": [],
        }
    if connection.unasked is not None:
        values["opening"] = _written(
            connection.unasked, answer_bytes(connection.unasked, api_version=0, correlation_id=0)
        )
    # A version of a proposal must not change a vector.
    known = dataclasses.replace(connection, newest_version=min(connection.newest_version, NEWEST_VERSION))
    return {**values, "states": _Asked(script, node, known).states()}


class _Asked:
    """A scripted connection that is asked everything, in every state."""

    def __init__(self, script: Script, node: int, connection: ConnectionScript) -> None:
        nodes = [dataclasses.replace(each, connections=(connection,)) for each in script.nodes]
        self._script = dataclasses.replace(script, nodes=tuple(nodes), heals_after_ms=None)
        self._connection = connection
        self._node = node
        self._paths: dict[State, tuple[bytes, ...]] = {}
        """The requests that lead to each state."""

    def states(self) -> list[Values]:
        """Return the states, the first one first."""
        _, start = self._opened(self._script, ())
        self._paths[start.state] = ()
        states: list[Values] = []
        while len(states) < len(self._paths):
            states.append(self._state([*self._paths][len(states)]))
        return _without_equal(states)

    def _opened(self, script: Script, requests: Sequence[bytes]) -> tuple[ScriptedCluster, ScriptedConnection]:
        addresses = [(HOST, FIRST_PORT + index) for index, _ in enumerate(script.nodes)]
        cluster = ScriptedCluster(script, addresses)
        connection = cluster.connect(self._node, 0)
        for number, request in enumerate(requests):
            connection.receive_data(request, number * LATER_MS)
        return cluster, connection

    def _state(self, state: State) -> Values:
        *_, sasl = state
        if sasl is ConnectionState.BARE_TOKENS:
            return {"replies": [self._reply_of_others(state, _BARE_TOKEN)]}
        values: Values = {"replies": [*self._about_versions(state), *self._of_sasl(state)]}
        if sasl in SERVING:
            table = self._served(state)
            values["others"] = [each for each in self._others() if _is_listed(table, each)]
        return values

    def _served(self, state: State) -> Table:
        """Return the table by which other APIs are served: the last one, or before it the one that comes next."""
        number, table, _ = state
        answer = self._connection.answer(number)
        return table or (answer.table if answer.gives_table else HEALTHY)

    def _about_versions(self, state: State) -> Iterator[Values]:
        replies = [
            (version, {**endings, **reply})
            for version in range(NEWEST_VERSION + 1)
            for endings, reply in self._by_ids(state, version)
        ]
        unknown = self._reply(state, UNKNOWN_VERSION, _NO_IDS)
        for versions, reply in _merged(replies):
            if reply != unknown:
                yield {"api": API_VERSIONS_KEY, "versions": versions, **reply}
        yield {"api": API_VERSIONS_KEY, **unknown}

    def _by_ids(self, state: State, version: int) -> Iterator[tuple[Values, Values]]:
        """Yield how a request with the ids of KIP-1242 ends, and its reply."""
        if version < FIRST_VERSION_WITH_CLUSTER_CHECK:
            yield {}, self._reply(state, version, _NO_IDS)
            return
        cluster_id, node_id = self._connection.cluster_id, self._connection.id_of(self._node)
        ids = [self._connection.id_of(index) for index, _ in enumerate(self._script.nodes)]
        right, one_of_two, wrong = (
            self._reply(state, version, given) for given in (_NO_IDS, (None, node_id), (cluster_id, node_id + 1))
        )
        if right == wrong:
            yield {}, right
            return
        yield {"ends_with": [_ending(version, *_NO_IDS), _ending(version, cluster_id, node_id)]}, right
        only_node = [_ending(version, None, each) for each in ids]
        yield {"ends_with": [*only_node, _ending(version, cluster_id, NO_NODE)]}, one_of_two
        yield {}, wrong

    def _reply(self, state: State, version: int, ids: tuple[str | None, int]) -> Values:
        """Return the reply to an ApiVersions request, with what is judged after it."""
        cluster_id, node_id = ids
        header = plain_header(API_VERSIONS_KEY, version, CORRELATION_ID)
        data = encode_request(header, ApiVersionsRequest(cluster_id=cluster_id, node_id=node_id)).data
        path = (*self._paths[state], data)
        cluster, connection = self._opened(self._script, path)
        *_, request = cluster.recording(duration_ms=len(path) * LATER_MS).requests
        answer = request.answer
        assert answer is not None
        if answer.action != "answer":
            delay = {"delay_ms": answer.delay_ms} if answer.delay_ms else {}
            return {**delay, "then": answer.action}
        # A response that is held back is written after the next one.
        frame = answer_bytes(answer, api_version=version, correlation_id=CORRELATION_ID)
        request = dataclasses.replace(request, response=frame)
        return {**_written(answer, frame), **self._after(connection, path), **_judged(request)}

    def _after(self, connection: ScriptedConnection, path: tuple[bytes, ...]) -> Values:
        """Return the state after a request, unless the connection has ended."""
        if connection.seen.closed_ms is not None:
            return {}
        self._paths.setdefault(connection.state, path)
        return {"state": [*self._paths].index(connection.state)}

    def _of_sasl(self, state: State) -> Iterator[Values]:
        yield from _by_api(SASL_APIS.values(), lambda data: self._reply_of_others(state, data))

    def _reply_of_others(self, state: State, data: bytes) -> Values:
        """Return the reply to a request of SASL; closed without a byte if it is not the one that comes next."""
        path = (*self._paths[state], data)
        _, connection = self._opened(self._script, self._paths[state])
        # A response that was held back follows.
        write, *_ = connection.receive_data(data, len(path) * LATER_MS)
        return {**_sent(write), **self._after(connection, path)}

    def _others(self) -> list[Values]:
        """Return the replies to other APIs, one for each version, whatever the table lists."""
        serving = dataclasses.replace(
            self._connection, newest_version=NEWEST_VERSION, answers=(Answer(),), closes_after=None
        )
        nodes = [dataclasses.replace(each, connections=(serving,)) for each in self._script.nodes]
        script = dataclasses.replace(self._script, nodes=tuple(nodes), listener=PLAINTEXT)

        def reply(data: bytes) -> Values:
            _, connection = self._opened(script, ())
            (write,) = connection.receive_data(data, LATER_MS)
            return _sent(write)

        return [*_by_api(OTHER_APIS, reply)]


def _without_equal(states: Sequence[Values]) -> list[Values]:
    """Return the states that differ in any reply to any requests; a state is not named where it stays.

    States are taken for equal at first, and distinguished as soon as they, or states that they lead to, differ.
    """
    kinds: list[int] = [0 for _ in states]
    while True:
        known: dict[str, int] = {}
        named = [json.dumps(_with_states(each, kinds.__getitem__)) for each in states]
        later = [known.setdefault(f"{kind} {text}", len(known)) for kind, text in zip(kinds, named, strict=True)]
        if later == kinds:
            break
        kinds = later
    first_of = {kind: index for index, kind in reversed([*enumerate(kinds)])}
    return [
        _with_states(states[index], {number: other for number, other in enumerate(kinds) if other != kind}.get)
        for kind, index in sorted(first_of.items())
    ]


def _with_states(state: Values, name: Callable[[int], int | None]) -> Values:
    """Return a state in which the states that follow have other names; None leaves it out."""
    replies = []
    for reply in state["replies"]:
        following = name(reply["state"]) if "state" in reply else None
        others = {key: value for key, value in reply.items() if key != "state"}
        replies.append(others if following is None else {**others, "state": following})
    return {**state, "replies": replies}


def _by_api(apis: Iterable[Api], reply: Any) -> Iterator[Values]:
    """Yield the reply to each version of some APIs, without those that are just closed on."""
    for api in apis:
        first, last = api.valid_versions.first, api.valid_versions.last
        assert last is not None
        versions = range(first, last + 1)
        requests = ((each, api.plain_request(each, correlation_id=CORRELATION_ID).data) for each in versions)
        replies = [(version, reply(data)) for version, data in requests]
        for merged, values in _merged(replies):
            if values != {"then": "close"}:
                yield {"api": api.api_key, "versions": merged, **values}


def _merged(replies: Iterable[tuple[int, Values]]) -> Iterator[tuple[list[int], Values]]:
    """Yield the first and the last version of each run of equal replies."""
    for values, run in groupby(replies, key=itemgetter(1)):
        versions = [version for version, _ in run]
        yield [versions[0], versions[-1]], values


def _ending(version: int, cluster_id: str | None, node_id: int) -> str:
    """Return the bytes of a request after the names: both ids, and no tags."""
    without_names = encode(ApiVersionsRequest(cluster_id=cluster_id, node_id=node_id), version=version)
    return without_names[2:].hex()


def _written(answer: Answer, frame: bytes) -> Values:
    """Return how an answer is written; what is as usual is left out."""
    values = {
        "send": frame_text(frame),
        "pieces": answer.pieces,
        "delay_ms": answer.delay_ms,
        "held_back": answer.held_back,
        "then": answer.then,
    }
    usual = Answer()
    return {key: value for key, value in values.items() if key == "send" or value != getattr(usual, key)}


def _sent(write: Write) -> Values:
    values = {"send": frame_text(write.data)} if write.data else {}
    return values if write.then == "stay" else {**values, "then": write.then}


def frame_text(data: bytes) -> str:
    """Return a frame as hexadecimal with names for the numbers that only a player knows."""
    ports = {f"{{port{index}}}": FIRST_PORT + index for index in range(2)}
    text = data.hex()
    for name, number in {"{id}": CORRELATION_ID, "{id+1}": CORRELATION_ID + 1, **ports}.items():
        text = text.replace(number.to_bytes(NUMBER_BYTES).hex(), name)
    return text


def _judged(request: SeenRequest) -> Values:
    """Return what a client may send after a response, for what holds in every play."""
    read, version = read_response(request), request.api_version
    if read.kind is ResponseKind.TABLE:
        return {"table": [[key, low, high] for key, ranges in read.ranges.items() for low, high in ranges]}
    if read.kind is ResponseKind.REFUSAL and version > 0:
        return {"again": _lower_versions(read, version)}
    error = read.error_code if read.kind is ResponseKind.ERROR else None
    first = None if error is None else ENDS_FROM_VERSION.get(error)
    return {"leave": True} if first is not None and version >= first else {}


def _lower_versions(read: ReadResponse, refused: int) -> list[int]:
    """Return the versions that may follow a refused one."""
    named = read.lower_versions(refused)
    # No source says what follows a range that makes no sense.
    is_nonsense = read.names_range and not named
    return [*range(min(refused, NEWEST_VERSION + 1))] if is_nonsense else sorted({0, *named})


def _is_listed(table: Table, reply: Values) -> bool:
    """Return whether a table lists the version of a reply."""
    version, _ = reply["versions"]
    return any(low <= version <= high for low, high in table.ranges_of(reply["api"]))
