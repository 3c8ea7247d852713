"""The command `api-versions` on clusters that the suite plays."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from conformance.commands.api_versions import api_versions
from fixtures.client.addresses import Address
from fixtures.client.answer_limits import MAX_TABLE_BYTES
from fixtures.client.cluster_client import ClusterClient, ListedBroker
from fixtures.client.command_config import CommandConfig
from fixtures.errors import ConnectionFailed
from fixtures.registry.targets import load_targets
from fixtures.scripted_broker.server import HOST, serving
from reference_model.clients.scripts.script import (
    EMPTY,
    Answer,
    ConnectionScript,
    NodeScript,
    Script,
    Table,
    healthy_ranges,
)
from tests.fixtures.scripted_server import NEVER_S
from tests.upgrade.api_versions.clusters import broker, cluster
from upgrade.api_versions import asking
from upgrade.api_versions.cluster_tables import BrokerTable, ClusterTables
from upgrade.api_versions.recorded_tables import tables_of_release
from upgrade.api_versions.tables_json import as_json
from upgrade.api_versions.terminal import show_cluster
from wire.api_versions import NEWEST_VERSION, ApiVersionsResponse
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.frames import encode_frame
from wire.plain_header import PLAIN_CORRELATION_ID

METADATA = 3
DOWN = NodeScript(connections=(ConnectionScript(on_open="close"),))
NODE = NodeScript()
OLDER = NodeScript(
    connections=(ConnectionScript(newest_version=2, answers=(Answer(table=Table(changed=((3, 0, 9),))),)),)
)
NEWER = NodeScript(connections=(ConnectionScript(answers=(Answer(table=Table(changed=((0, 11, 13),))),)),))
WRITES_V9 = NodeScript(connections=(ConnectionScript(answers=(Answer(table=Table(changed=((0, 3, 9),))),)),))
SCREEN = (120, 40)


def run(
    script: Script,
    *options: str,
    at: Callable[[str], tuple[str, ...]] = lambda address: ("--bootstrap-server", address),
) -> Result:
    """Run the command against a cluster, with its first node as the bootstrap server."""

    async def ask() -> Result:
        async with serving(script, None) as served:
            host, port = served.cluster.addresses[0]
            arguments = [*at(f"{host}:{port}"), *options]
            return await asyncio.to_thread(CliRunner().invoke, api_versions, arguments)

    return asyncio.run(ask())


def test_a_broker_that_is_down_is_shown() -> None:
    """The others are shown as well, and the exit status says that one is missing."""
    result = run(Script(nodes=(NODE, DOWN, NODE)))
    assert result.exit_code == 10
    assert "(id: 2 rack: null isFenced: false) -> ERROR: 127.0.0.1:" in result.output
    assert "(id: 3 rack: null isFenced: false) -> (" in result.output


def test_json_has_every_broker_and_what_they_have_in_common() -> None:
    result = run(Script(nodes=(NODE, OLDER, DOWN)), "--json")
    assert result.exit_code == 10
    content = json.loads(result.output)
    assert [each["node_id"] for each in content["brokers"]] == [1, 2, 3]
    assert [bool(each["problem"]) for each in content["brokers"]] == [False, False, True]
    shared = {each["api_key"]: each["max_version"] for each in content["intersection"]}
    assert shared[METADATA] == 9


def test_intersection_is_one_line_per_api() -> None:
    """With names and keys."""
    result = run(Script(nodes=(NODE, OLDER)), "--intersection")
    assert result.exit_code == 0
    assert "Metadata(3): 0-9\n" in result.output
    assert len(result.output.splitlines()) == len(healthy_ranges())


@pytest.mark.parametrize(
    ("need", "status", "verdict"),
    [
        ("Metadata = { min = 9 }", 0, "usable"),
        ("Metadata = { min = 10 }", 1, "Metadata(3) 10-32767 is missing on broker 2"),
    ],
)
def test_features_have_verdicts(need: str, status: int, verdict: str, tmp_path: Path) -> None:
    """A feature that one broker lacks cannot be used: exit status 1."""
    features = tmp_path / "features.toml"
    features.write_text(f"[names]\n{need}\n")
    script = Script(nodes=(NODE, OLDER))
    result = run(script, "--features", str(features))
    assert result.exit_code == status, result.output
    assert verdict in result.output
    (entry,) = json.loads(run(script, "--features", str(features), "--json").output)["features"]
    assert entry["feature"] == "names"


def test_features_have_both_readings(tmp_path: Path) -> None:
    """No version is shared, although each broker has one: not usable by the text, which the exit status follows."""
    features = tmp_path / "features.toml"
    features.write_text("[writing]\nProduce = { min = 9, max = 11 }\n")
    script = Script(nodes=(NEWER, WRITES_V9))
    result = run(script, "--features", str(features))
    assert result.exit_code == 1
    words = "writing  not usable             usable             Produce(0) 9-11: brokers 1, 2 share"
    assert words in result.output
    (entry,) = json.loads(run(script, "--features", str(features), "--json").output)["features"]
    assert (entry["usable"], entry.get("usable_per_broker")) == ("not usable", "usable")


@pytest.mark.parametrize(
    ("nodes", "client", "sentences"),
    [
        ((NODE,), "kafka-clients-2.8.2-admin", ["every request of {} (47 requests) has a version"]),
        (
            (NEWER,),
            "aiokafka-0.14.0",
            [
                "Produce(0) 2-7 11-13",
                "the suite has seen 19 requests of {}; whether it sends others",
            ],
        ),
        (
            (NODE,),
            "kafka-python-3.0.12",
            ["every request that is known of {} (20 requests)", "whether it sends others is not"],
        ),
    ],
    ids=["all", "refused", "known"],
)
def test_requests_of_a_client_have_a_version_or_not(
    nodes: tuple[NodeScript, ...], client: str, sentences: list[str]
) -> None:
    """What Kafka's own clients can send is known; of others what the suite has seen, and no more is claimed."""
    result = run(Script(nodes=nodes), "--client", client)
    assert result.exit_code == 0, result.output
    output = " ".join(result.output.split())
    for sentence in sentences:
        assert sentence.format(client) in output
    assert ("not known" in output) != (client == "kafka-clients-2.8.2-admin")


@pytest.mark.parametrize(
    ("client", "known", "is_complete"),
    [("kafka-python-3.0.12", 20, False), ("kafka-clients-2.8.2-admin", 47, True)],
)
def test_json_has_ranges_in_one_form(client: str, known: int, is_complete: bool) -> None:
    report = json.loads(run(Script(nodes=(NEWER,)), "--client", client, "--json").output)
    assert report["client"] == {"id": client, "known_requests": known, "is_complete": is_complete}
    (refused,) = report["refused_requests"]
    (listed,) = [each for each in report["brokers"][0]["apis"] if each["api_key"] == 0]
    assert refused["second"] == {"min_version": 11, "max_version": 13}
    assert listed.items() >= refused["second"].items()
    compared = json.loads(
        CliRunner().invoke(api_versions, ["--compare", "apache-kafka-3.9.2", "apache-kafka-4.4.0", "--json"]).output
    )
    assert compared.keys() == {"first", "second", "differences"}
    assert compared["first"].keys() == report.keys() - {"client", "refused_requests"}
    (produce,) = [each for each in compared["differences"] if each["api_key"] == 0]
    assert produce.keys() == refused.keys()
    assert produce["second_refused"] == {"min_version": 0, "max_version": 2}


def test_comparison_with_a_broker_that_is_down_says_so() -> None:
    """The exit status is that of any cluster of which a broker could not be asked."""
    script = Script(nodes=(NODE, DOWN))
    result = run(script, at=lambda address: ("--compare", address, "apache-kafka-4.4.0"))
    assert result.exit_code == 10, result.output
    assert "broker 2 could not be asked" in result.output


class HeldRequest:
    """Takes the place of a question to a broker: the first is never answered, until the test ends."""

    def __init__(self) -> None:
        self.begun, self.released = threading.Event(), threading.Event()

    def ask(self, broker: ListedBroker, _config: CommandConfig) -> BrokerTable:
        """Wait for the end of the test."""
        self.begun.set()
        self.released.wait(NEVER_S)
        raise ConnectionFailed(f"{broker} did not answer")


@pytest.fixture
def held() -> Iterator[HeldRequest]:
    """Hold up the first broker that is asked."""
    holding = HeldRequest()
    yield holding
    holding.released.set()


def test_all_brokers_share_one_bound(held: HeldRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """400 brokers at an address that never answers took the bound of a step times 25, and one that goes on forever
    took more."""
    monkeypatch.setattr(asking, "wait", lambda _tables, timeout: held.begun.wait(timeout))
    brokers = [ListedBroker(number, "broker", 9092, None) for number in (1, 2)]
    ends_at = time.monotonic() + NEVER_S
    first, second = asking.tables_of(brokers, CommandConfig(), ends_at, ask=held.ask, at_once=1)
    assert first.problem == "no table within the 60 s for all brokers"
    assert second.problem == "not asked: the brokers before it took more than 60 s"


def test_interrupt_waits_for_no_broker(held: HeldRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of a pool would have to answer first, also at the end of the program."""

    def interrupted(_tables: object, timeout: float) -> None:
        held.begun.wait(timeout)
        raise KeyboardInterrupt

    monkeypatch.setattr(asking, "wait", interrupted)
    before = set(threading.enumerate())
    broker = ListedBroker(1, "broker", 9092, None)
    with pytest.raises(KeyboardInterrupt):
        asking.tables_of([broker], CommandConfig(), time.monotonic() + NEVER_S, ask=held.ask)
    (asked,) = set(threading.enumerate()) - before
    assert asked.daemon


@pytest.mark.parametrize(
    ("received", "output"),
    [
        # 64 KiB hold 9,000 APIs; a response of 16 MiB took seconds for each of 64 brokers at once.
        ((MAX_TABLE_BYTES + 1).to_bytes(4), "above the bound of 65536"),
        # A listener with TLS answers a plain request with an alert, which is no size of a frame.
        (bytes.fromhex("15030300020246"), "speaks TLS: give the properties of a client"),
    ],
    ids=["long", "tls"],
)
def test_what_is_no_table_is_not_read(received: bytes, output: str) -> None:
    """The sentence says what came in its place."""
    transport = Mock(spec=socket.socket)
    transport.recv.side_effect = [received, b""]
    with pytest.raises(ConnectionFailed, match=output):
        ClusterClient(transport, Address("broker-1", 9092), 3)


def test_response_that_is_complete_at_the_bound_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is looked at only while bytes are missing."""
    transport = Mock(spec=socket.socket)
    table = ApiVersionsResponse(error_code=ErrorCode.NONE)
    body = encode(table, version=NEWEST_VERSION)
    transport.recv.return_value = encode_frame(PLAIN_CORRELATION_ID.to_bytes(4) + body)
    times = iter((0.0, 0.0))
    monkeypatch.setattr("fixtures.client.own_connection.time.monotonic", lambda: next(times, 99.0))
    client = ClusterClient(transport, Address("broker-1", 9092), 3)
    assert client.table == table


def test_running_cluster_is_compared_with_a_release(tmp_path: Path) -> None:
    result = run(Script(), at=lambda address: ("--compare", address, "apache-kafka-4.4.0"))
    assert result.exit_code == 0, result.output
    assert "Fetch(1)" in result.output
    assert "from v4 on" in result.output
    stored = tmp_path / "tables.json"
    stored.write_text(run(Script(), "--json").output)
    same = run(Script(), at=lambda address: ("--compare", str(stored), address))
    assert "support the same versions" in same.output


def test_names_of_files_are_no_markup(tmp_path: Path) -> None:
    """A name in brackets, which Rich takes for a style, stays in the head of the table."""
    stored = tmp_path / "[red].json"
    stored.write_text(json.dumps(as_json(cluster(broker(1, {18: (0, 3)})))))
    result = CliRunner().invoke(api_versions, ["--compare", str(stored), "apache-kafka-4.4.0"])
    assert result.exit_code == 0, result.output
    assert str(stored) in result.output.splitlines()[0]


def test_controllers_are_asked_for_controllers() -> None:
    """Only they know each other."""
    result = run(Script(nodes=(NODE, NODE)), at=lambda address: ("--bootstrap-controller", address))
    assert result.exit_code == 0, result.output
    assert "(id: 2 rack: null" in result.output


CONTROLLER_ONLY = (0, 3)
OF_CONTROLLERS = NodeScript(
    connections=(
        ConnectionScript(
            answers=(
                Answer(
                    table=Table(removed=CONTROLLER_ONLY, changed=((52, 0, 2), (63, 0, 1))),
                ),
            ),
        ),
    )
)
OF_OLD_BROKERS = NodeScript(connections=(ConnectionScript(answers=(Answer(table=Table(removed=(60,))),)),))


@pytest.mark.parametrize(
    ("node", "option", "output"),
    [
        (
            OF_CONTROLLERS,
            "--bootstrap-server",
            "controller; give its address to --bootstrap-controller",
        ),
        (
            OF_OLD_BROKERS,
            "--bootstrap-controller",
            "broker; give its address to --bootstrap-server",
        ),
    ],
)
def test_address_of_the_other_kind_is_recognised(node: NodeScript, option: str, output: str) -> None:
    """By its table; the message names the option."""
    result = run(Script(nodes=(node,)), at=lambda address: (option, address))
    assert result.exit_code == 10, result.output
    assert f"it is a {output}" in result.output


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), 2, "give one of --bootstrap-server"),
        (("--bootstrap-server", "a:1", "--bootstrap-controller", "a:1"), 2, "give one of"),
        (("--compare", "a:1", "b:1", "--client", "x"), 2, "leave out --compare"),
        (("--bootstrap-server", "a:99999"), 2, "with a port from 1 to 65535"),
        (("--bootstrap-server", "[::1"), 2, "'[::1' is not HOST:PORT"),
        (("--bootstrap-server", "FOO://a:1"), 2, "security.protocol in the file"),
        (("--compare", "nothing", "apache-kafka-4.4.0"), 2, "neither HOST:PORT, nor a file"),
        (("--bootstrap-server", "a:1", "--client", "sarama-1.61.1"), 2, "is not known"),
        (
            ("--bootstrap-server", "a:1", "--client", "kafka-clients-0.10.2.2-consumer"),
            2,
            "what 'kafka-clients-0.10.2.2-consumer' can send is not known; known are aiokafka",
        ),
        (("--bootstrap-server", f"{HOST}:1"), 10, f"no connection to {HOST}:1"),
    ],
)
def test_what_cannot_be_asked_is_explained(arguments: tuple[str, ...], status: int, message: str) -> None:
    """Wrong usage has another exit status than a cluster that does not answer."""
    result = CliRunner().invoke(api_versions, arguments)
    assert result.exit_code == status, result.output
    assert message in result.output


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(error_code=42, table=EMPTY), "answers ApiVersions with INVALID_REQUEST"),
        (Answer(cut_to=20), "its ApiVersions response"),
        (Answer(claimed_size=-1), "frame size -1"),
        (Answer(error_code=35, table=EMPTY, layout=0), "refuses every version"),
    ],
)
def test_a_broker_that_answers_wrongly_is_named(answer: Answer, message: str) -> None:
    """The tool ends with a message, not with a traceback."""
    script = Script(nodes=(NodeScript(connections=(ConnectionScript(answers=(answer,)),)),))
    result = run(script)
    assert result.exit_code == 10, result.output
    assert message in result.output


def shown(tables: ClusterTables) -> str:
    """Return what a terminal shows."""
    columns, _ = SCREEN
    console = Console(width=columns, force_terminal=True, color_system=None)
    with console.capture() as capture:
        show_cluster(console, tables)
    return capture.get()


def test_a_cluster_with_one_broker_down_fits_on_a_screen() -> None:
    """Three brokers of two releases, one of them down: what they share, and where they differ."""
    targets = {target.id: target for target in load_targets()}
    new, old = (
        tables_of_release(targets[name], controllers=False).brokers[0].ranges
        for name in ("apache-kafka-4.4.0", "apache-kafka-4.3.1")
    )
    text = shown(
        cluster(
            broker(1, dict(new)),
            broker(2, dict(old), rack="b"),
            broker(3, problem="no connection to broker-3:9092: refused"),
        )
    )
    assert len(text.splitlines()) <= SCREEN[1]
    assert "broker 3 could not be asked: no connection to broker-3:9092: refused" in text
    assert "ApiVersions(18) 0-4" in text
    assert "differs ApiVersions(18) on broker 1: 0-5, 2: 0-4" in text
