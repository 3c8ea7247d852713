"""Tests of the model client against literal scripts, in virtual time.

It is also tested against failures that no scripted broker causes.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fixtures.scripted_broker.playing import Play
from fixtures.under_test import in_memory_client
from fixtures.under_test.in_memory_client import play_in_memory
from reference_model.clients.model.client_connections import KnownBroker, KnownCluster, Link
from reference_model.clients.model.client_errors import ConnectionLost, Nonsense
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import REBOOTSTRAPS_AFTER_1_S
from reference_model.clients.model.network import HostPort, Unreachable
from reference_model.clients.rules.oracle import forbidden_moves
from reference_model.clients.scripts.script import (
    CLUSTER_ID,
    EMPTY,
    HEALTHY_SCRIPT,
    Answer,
    ConnectionScript,
    NodeScript,
    Script,
    Table,
    all_connections,
    one_node,
)
from strategies.broker_scripts import (
    REFUSAL_WITHOUT_RANGE,
    broker_up_to,
    broker_with,
    metadata_ranges,
    refusal,
)
from strategies.cluster_scripts import (
    METADATA_DEMANDS_REBOOTSTRAP,
    SILENT,
    UNUSABLE,
    healthy_cluster,
    load_balanced_cluster,
    replaced_cluster,
    swapped_nodes,
)
from strategies.nonsense_scripts import healing
from wire.api_keys import API_VERSIONS_KEY, METADATA_KEY

NAMES = {API_VERSIONS_KEY: "ApiVersions", METADATA_KEY: "Metadata"}


def requests_of(play: Play) -> list[str]:
    """Return the requests of a play in order, each with its connection and its version."""
    return [f"{each.connection} {NAMES[each.api_key]} v{each.api_version}" for each in play.recording.requests]


def ids_of(play: Play) -> list[tuple[str | None, int]]:
    """Return the cluster id and the node id of each ApiVersions request."""
    bodies = [each.body for each in play.recording.requests if each.body is not None]
    return [(body.cluster_id, body.node_id) for body in bodies]


def test_client_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any proposal it works, and has no id to report."""
    monkeypatch.setattr(in_memory_client, "client_class", lambda: ModelClient)
    play = play_in_memory(HEALTHY_SCRIPT)
    assert play.result.outcome == "ok"
    assert play.result.instance_ids == ()
    assert {request.api_key for request in play.recording.requests} == {
        API_VERSIONS_KEY,
        METADATA_KEY,
    }


def test_healthy_broker() -> None:
    play = play_in_memory(HEALTHY_SCRIPT)
    assert play.result.outcome == "ok"
    assert play.result.exit_status == 0
    assert requests_of(play) == [
        "0 ApiVersions v5",
        "0 Metadata v13",
        "1 ApiVersions v5",
        "1 Metadata v13",
    ]
    assert ids_of(play) == [(None, -1), (CLUSTER_ID, 1)]


@pytest.mark.parametrize(
    ("script", "versions"),
    [
        (broker_up_to(2), (5, 2)),
        (broker_up_to(0), (5, 0)),
        (broker_up_to(0, REFUSAL_WITHOUT_RANGE), (5, 0)),
        (broker_up_to(0, refusal((9, 12))), (5, 0)),
        (broker_up_to(0, refusal((4, 2))), (5, 0)),
        (broker_up_to(0, refusal((-3, -1))), (5, 0)),
        (broker_up_to(3, refusal((3, 5))), (5, 4, 3)),
        (broker_up_to(0, Answer(error_code=35, cut_to=2)), (5, 0)),
    ],
    ids=["0-2", "0-0", "none", "too-high", "reversed", "negative", "refused-one", "cut"],
)
def test_refusals(script: Script, versions: tuple[int, ...]) -> None:
    play = play_in_memory(script)
    assert play.result.outcome == "ok"
    on_first = [each.api_version for each in play.recording.requests if each.connection == 0]
    assert tuple(on_first[:-1]) == versions


def test_refusal_and_close() -> None:
    """If the broker closes the connection after a refusal, the next connection begins with the version after it."""
    play = play_in_memory(broker_up_to(2, Answer(error_code=35, layout=0, table=EMPTY, then="close")))
    assert requests_of(play)[:3] == ["0 ApiVersions v5", "1 ApiVersions v0", "1 Metadata v13"]


def test_refusal_of_everything() -> None:
    """If v0 is refused too, it closes the connection, and tries again with growing pauses until its time is over."""
    play = play_in_memory(one_node(refusal((0, 1))))
    assert play.result.detail == "NoCommonVersion: the broker refuses every version of ApiVersions"
    assert [each.opened_ms // 100 for each in play.recording.connections] == [0, 1, 3, 7, 15]
    assert {each.closed_by for each in play.recording.connections} == {"client"}
    assert play.recording.versions_of_api_versions[:3] == (5, 1, 0)


@pytest.mark.parametrize(
    ("table", "version"),
    [
        (metadata_ranges(0, 4), 4),
        (metadata_ranges(3, 32767), 13),
        (Table(before=((10_000, 0, 0),), after=((-5, 1, 0),)), 13),
        (metadata_ranges(60, 70), None),
        (metadata_ranges(7, 2), None),
        (metadata_ranges(-3, -1), None),
        (Table(removed=(METADATA_KEY,)), None),
    ],
    ids=["lower", "higher", "unknown", "too-high", "reversed", "negative", "absent"],
)
def test_tables(table: Table, version: int | None) -> None:
    play = play_in_memory(broker_with(table, timeout_ms=2000))
    sent = {each.api_version for each in play.recording.requests if each.api_key == METADATA_KEY}
    assert sent == (set() if version is None else {version})
    assert play.result.outcome == ("error" if version is None else "ok")


@pytest.mark.parametrize(
    "answer",
    [
        Answer(table=Table(null=True)),
        Answer(table=Table(claimed_count=2**31 - 1)),
        Answer(cut_to=20),
        Answer(cut_to=1),
        Answer(correlation_shift=1),
        Answer(flexible_header=True),
        Answer(claimed_size=-1),
        Answer(error_code=41, table=EMPTY),
        Answer(error_code=30_000),
    ],
    ids=lambda answer: repr(answer),
)
def test_nonsense(answer: Answer) -> None:
    play = play_in_memory(one_node(answer))
    assert play.result.outcome == "error"
    assert play.recording.all_requests <= 10
    assert {each.closed_by for each in play.recording.connections} == {"client"}
    recovered = play_in_memory(healing(answer))
    assert recovered.recording.cut_short == "the client has recovered"
    assert recovered.result.asks[-1].ok


def test_invalid_request() -> None:
    """INVALID_REQUEST is reported at once; the connection is closed without a further request."""
    play = play_in_memory(one_node(Answer(error_code=42, table=EMPTY)))
    assert requests_of(play) == ["0 ApiVersions v5"]
    assert play.result.detail == "RequestRefused: the broker responded with INVALID_REQUEST"
    assert play.recording.connections[0].closed_by == "client"


@pytest.mark.parametrize("action", ["close", "reset", "silence"])
def test_no_response(action: str) -> None:
    """A broker that closes or stays silent is given up within the timeout."""
    play = play_in_memory(one_node(Answer(action=action)))  # type: ignore[arg-type]
    assert play.result.outcome == "error"
    assert play.result.duration_ms <= 2000


def test_asks_until_its_time_is_over() -> None:
    """A client that may ask again and again ends with its last result, if the broker never heals."""
    script = one_node(Answer(action="close"), keeps_asking=True, timeout_ms=1500)
    play = play_in_memory(script)
    assert (play.result.outcome, play.recording.cut_short) == ("error", "")
    assert len(play.result.asks) > 1


def test_closed_at_once() -> None:
    """A broker that closes each connection as soon as it is open gets a few more, and an error is reported."""
    play = play_in_memory(all_connections(ConnectionScript(on_open="close")))
    assert play.result.outcome == "error"
    assert play.recording.all_connections == 5


def test_slow_pieces() -> None:
    """A response that comes slowly and in pieces is waited for, and so is its throttle time."""
    play = play_in_memory(one_node(Answer(pieces=5, delay_ms=100, throttle_time_ms=300)))
    assert play.result.outcome == "ok"
    assert play.result.duration_ms >= 2 * (500 + 300)


def test_several_nodes() -> None:
    play = play_in_memory(healthy_cluster(nodes=2))
    assert ids_of(play) == [(None, -1), (CLUSTER_ID, 2), (CLUSTER_ID, 1)]
    assert play.recording.all_connections == 3


@pytest.mark.parametrize("option", ["without_cluster_check", "without_rebootstrap"])
def test_disabled_check(option: str) -> None:
    """Without the check it never sends an id."""
    play = play_in_memory(healthy_cluster(nodes=2, options=(option,)))
    assert set(ids_of(play)) == {(None, -1)}


@pytest.mark.parametrize("script", [replaced_cluster(), replaced_cluster(2), swapped_nodes(), swapped_nodes(3)])
def test_misrouted(script: Script) -> None:
    """After REBOOTSTRAP_REQUIRED it begins again at the bootstrap server, without ids, and works again."""
    play = play_in_memory(script)
    assert play.result.asks[-1].ok
    first = next(number for number, (cluster_id, _) in enumerate(ids_of(play)) if cluster_id is not None)
    assert ids_of(play)[first + 1] == (None, -1)
    assert play.recording.connections[2].node == 0
    assert not forbidden_moves(play.recording)


def test_failing_node() -> None:
    """If no known node works, it bootstraps again, unless it may not."""
    broken = NodeScript(connections=(ConnectionScript(on_open="close"),))
    once = NodeScript(connections=(ConnectionScript(), ConnectionScript(on_open="close")))
    script = Script(nodes=(once, broken), timeout_ms=1000)
    play = play_in_memory(script)
    nodes = [each.node for each in play.recording.connections]
    assert nodes[:4] == [0, 1, 0, 0]
    limited = play_in_memory(Script(nodes=(once, broken), timeout_ms=1000, options=("without_rebootstrap",)))
    assert [each.node for each in limited.recording.connections] == [0, 1, 0, 1, 0]


@pytest.mark.parametrize(
    ("first", "reported"),
    [
        (ConnectionScript(answers=(Answer(table=metadata_ranges(60, 70)),)), "NoCommonVersion"),
        (ConnectionScript(on_open="silence"), "ConnectionLost"),
    ],
)
def test_attempt_that_the_end_of_its_time_cuts_off_is_not_reported(first: ConnectionScript, reported: str) -> None:
    """On a busy machine the last attempt may begin a moment before that, and its error would hide what the broker
    lacks."""
    play = play_in_memory(all_connections(first, ConnectionScript(on_open="silence"), timeout_ms=1000))
    assert play.result.detail.startswith(reported)


BOOTSTRAP, MOVED = HostPort("a", 1), HostPort("b", 2)
UNDECODABLE = bytes.fromhex("00000007 00000000 00ffff".replace(" ", ""))
"""A frame with correlation id 0 and no metadata."""


class FakeStream:
    """A connection on which the broker has written something."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = data
        self.is_closed = False

    def start_tls(self) -> None:
        """Need none."""

    def send(self, data: bytes) -> None:
        """Lose the data."""

    def receive(self, within_ms: int) -> bytes:
        """Return what the broker has written."""
        return self.data

    def close(self) -> None:
        """Remember that it is closed."""
        self.is_closed = True


class FakeNetwork:
    """Opens connections to the addresses that listen."""

    now_ms = 0
    needs_tls = False

    def __init__(self, *listening: HostPort) -> None:
        self.listening = listening

    def wait(self, milliseconds: int) -> None:
        """Take no time."""

    def open(self, address: HostPort) -> FakeStream:
        """Open a connection."""
        if address not in self.listening:
            raise Unreachable
        return FakeStream()


@pytest.mark.parametrize(
    ("first", "options", "bootstraps_after_ms"),
    [
        pytest.param(UNUSABLE, (), 0, id="broker-that-closes"),
        pytest.param(METADATA_DEMANDS_REBOOTSTRAP, (), 0, id="metadata-with-the-error"),
        pytest.param(SILENT, (), 3000, id="silent-broker"),
        pytest.param(SILENT, (REBOOTSTRAPS_AFTER_1_S,), 1000, id="silent-broker-for-a-second"),
    ],
)
def test_client_bootstraps_again_without_ids(
    first: ConnectionScript, options: tuple[str, ...], bootstraps_after_ms: int
) -> None:
    """Whatever the reason is, the bootstrap server gets no ids, and the client works again."""
    script = load_balanced_cluster(first, options=options)
    # Its usual patience is longer than one of several asks.
    script = replace(script, keeps_asking=bool(options) or first is not SILENT)
    play = play_in_memory(script)
    again = [each for each in play.recording.connections if each.node == 0][1]
    bodies = [each.body for each in play.recording.requests if each.connection == again.number]
    assert bodies[0] is not None
    assert (bodies[0].cluster_id, bodies[0].node_id) == (None, -1)
    assert bootstraps_after_ms <= again.opened_ms < bootstraps_after_ms + 400
    assert any(each.node == 1 and each.opened_ms > again.opened_ms for each in play.recording.connections)


def test_a_node_that_moves_gets_a_new_connection() -> None:
    """The connection to its old address is closed."""
    client = ModelClient(FakeNetwork(BOOTSTRAP, MOVED), BOOTSTRAP)
    old = client.link_to(KnownBroker(1, BOOTSTRAP))
    assert client.link_to(KnownBroker(1, BOOTSTRAP)) is old
    new = client.link_to(KnownBroker(1, MOVED))
    assert new.address == MOVED
    assert old.stream.is_closed  # type: ignore[attr-defined]
    assert client.links == {1: new}


def test_an_address_that_refuses_connections_is_an_error() -> None:
    with pytest.raises(ConnectionLost, match="no connection to a:1"):
        ModelClient(FakeNetwork(), BOOTSTRAP).link_to(None)


def test_metadata_without_a_node_is_nonsense() -> None:
    client = ModelClient(FakeNetwork(), BOOTSTRAP)
    client.cluster = KnownCluster(cluster_id="c")
    with pytest.raises(Nonsense, match="no node"):
        client.next_node()


def test_metadata_that_does_not_decode_is_nonsense() -> None:
    """The connection is closed."""
    client = ModelClient(FakeNetwork(), BOOTSTRAP)
    client.until_ms = 1000
    stream = FakeStream(UNDECODABLE)
    link = Link(number=0, address=BOOTSTRAP, stream=stream, table={METADATA_KEY: (13, 13)})
    with pytest.raises(Nonsense, match="Metadata: "):
        client.metadata_from(link)
    assert stream.is_closed
