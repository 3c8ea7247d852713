"""Tests of tables: what they have in common, how they differ, how they are stored.

Their text equals the text of Kafka's own tool for the same tables.
"""

from __future__ import annotations

import json
import threading
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from fixtures.artefacts.schema_jars import clients_jar, read_schemas
from fixtures.client.addresses import Address
from fixtures.client.cluster_client import ClusterMetadata, ListedBroker
from fixtures.client.command_config import CommandConfig
from fixtures.errors import AuthenticationFailed, ConnectionFailed
from fixtures.registry.targets import load_targets
from reference_model.profiles.java_requests import ranges_of_client
from reference_model.profiles.known_apis import Range, known_apis
from reference_model.profiles.version_tables import Support
from tests.upgrade.api_versions.clusters import broker, cluster
from upgrade.api_versions import asking
from upgrade.api_versions.client_requests import UnknownRequests, refused_requests, requests_of
from upgrade.api_versions.cluster_tables import BrokerTable, ClusterTables, InvalidTables
from upgrade.api_versions.recorded_tables import refused_with, tables_of_release
from upgrade.api_versions.stock_text import stock_text
from upgrade.api_versions.tables_json import as_json, read_tables
from wire.api_keys import API_VERSIONS_KEY, BROKER_HEARTBEAT_KEY, VOTE_KEY
from wire.api_versions import ApiVersion, ApiVersionsResponse
from wire.error_codes import ErrorCode
from wire.message_schemas import ApiCatalogue

TARGETS = {target.id: target for target in load_targets()}
PRODUCE, ENVELOPE = 0, 58


def listing(ranges: dict[int, Range]) -> ClusterTables:
    """Return a cluster of one broker that lists these ranges."""
    return cluster(broker(1, {key: (low, high) for key, (low, high) in ranges.items()}))


def test_requests_without_a_common_version_are_refused() -> None:
    """What the client does not have is not its concern."""
    client = {0: Range(0, 2), 1: Range(0, 4), 2: Range(0, 1)}
    listed = {0: Range(3, 13), 1: Range(4, 18), 9: Range(0, 1)}
    refused = refused_requests(client, listing(listed))
    assert [(each.api_key, each.after) for each in refused] == [
        (0, Support(Range(3, 13))),
        (2, None),
    ]


def test_old_java_client_on_a_new_release() -> None:
    """Kafka 4.0 removed old versions (KIP-896), among them those that 1.0 has of ACL requests."""
    listed = tables_of_release(TARGETS["apache-kafka-4.4.0"], controllers=False)
    refused = {each.api_key for each in refused_requests(ranges_of_client("1.0.2"), listed)}
    assert {29, 30, 31, 32} <= refused
    assert 3 not in refused
    # A broker lists the requests of telemetry only if it is configured to take them.
    same = refused_requests(ranges_of_client("4.4.0"), listed)
    assert {each.api_key for each in same} == {71, 72}


def test_client_sends_only_what_its_classes_build() -> None:
    """What brokers send each other is parsed by the same release, and what a later client sends too; neither is its
    request."""
    names = {known_apis()[key].name for key in ranges_of_client("4.4.0")}
    assert {
        "Produce",
        "Fetch",
        "PushTelemetry",
        "WriteTxnMarkers",
        "StreamsGroupHeartbeat",
    } <= names
    assert not names & {"WriteShareGroupState", "ReadShareGroupState", "AlterConfigs", "Vote"}
    assert {known_apis()[key].name for key in ranges_of_client("3.9.2")} >= {"AlterConfigs"}


def test_versions_that_are_listed_but_refused_are_of_no_use() -> None:
    """Kafka 4 lists Produce from v0 on and serves it from v3 on."""
    found = tables_of_release(TARGETS["apache-kafka-4.4.0"], controllers=False)
    assert found.table[PRODUCE] == Support(Range(0, 13), Range(0, 2))
    assert found.served[PRODUCE] == Range(3, 13)
    (refused,) = refused_requests({PRODUCE: Range(0, 2)}, found)
    assert refused.after == Support(Range(0, 13), Range(0, 2))
    assert not refused_requests({PRODUCE: Range(0, 3)}, found)


def test_refusals_of_a_release_are_known_by_its_table() -> None:
    """A broker with another table may be another product."""
    newest, old, zookeeper = (
        tables_of_release(TARGETS[name], controllers=False).brokers[0].ranges
        for name in ("apache-kafka-4.4.0", "apache-kafka-2.8.2", "apache-kafka-3.9.2-zookeeper")
    )
    assert refused_with(newest) == {PRODUCE: Range(0, 2)}
    assert refused_with(zookeeper) == {ENVELOPE: Range(0, 0)}
    assert refused_with(old) == {}
    assert refused_with({**newest, PRODUCE: Range(0, 12)}) == {}


def test_brokers_serve_what_none_of_them_refuses() -> None:
    refusing = cluster(broker(1, {0: (0, 5)}, refused={0: Range(0, 1)}), broker(2, {0: (0, 5)}))
    assert refusing.table == {0: Support(Range(0, 5), Range(0, 1))}
    assert refusing.served == {0: Range(2, 5)}


@pytest.mark.parametrize("client_id", ["kafka-clients-0.10.2.2-consumer", "sarama-1.61.1", "none"])
def test_clients_of_which_nothing_is_known_are_not_listed(client_id: str) -> None:
    """The message lists those of which something is."""
    with pytest.raises(UnknownRequests) as raised:
        requests_of(client_id)
    _, _, known = str(raised.value).partition("known are ")
    assert client_id not in known.split(", ")
    for each in known.split(", "):
        assert requests_of(each).ranges


def test_tables_can_be_stored(tmp_path: Path) -> None:
    """What is read is what was written, problems and all."""
    stored = cluster(
        broker(
            1,
            {0: (0, 13), 18: (0, 5), 999: (1, 1)},
            rack="a",
            features={"metadata.version": 30},
            refused={0: Range(0, 2)},
        ),
        broker(2, problem="connection refused", is_fenced=True),
    )
    path = tmp_path / "tables.json"
    path.write_text(json.dumps(as_json(stored)))
    found = read_tables(path)
    assert list(found.brokers) == list(stored.brokers)
    assert found.name == str(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"brokers": [{}]}', '{"brokers": 1}'])
def test_a_file_with_something_else_is_refused(text: str, tmp_path: Path) -> None:
    """The message says how to make such a file."""
    path = tmp_path / "tables.json"
    path.write_text(text)
    with pytest.raises(InvalidTables, match="api-versions --json"):
        read_tables(path)


def test_a_broker_that_lists_no_broker_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker of 2.3 answers a moment before it knows its cluster; printing nothing would look like a result."""
    starting: Any = SimpleNamespace(cluster=lambda **_: ClusterMetadata("id", ()))
    monkeypatch.setattr(asking, "connected", lambda *_, **__: nullcontext(starting))
    with pytest.raises(ConnectionFailed, match="a:1 lists no broker, not even itself"):
        asking.ask_cluster([Address("a", 1)], CommandConfig(), controllers=False)


def test_brokers_are_in_the_order_of_their_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the order in which the cluster lists them."""
    listed = ClusterMetadata("id", tuple(ListedBroker(id_, "a", 1) for id_ in (2, 1)))
    table = ApiVersionsResponse(error_code=ErrorCode.NONE)
    client: Any = SimpleNamespace(cluster=lambda **_: listed, table=table)
    monkeypatch.setattr(asking, "connected", lambda *_, **__: nullcontext(client))
    found = asking.ask_cluster([Address("a", 1)], CommandConfig(), controllers=False)
    assert [each.node_id for each in found.brokers] == [1, 2]


LISTED = {API_VERSIONS_KEY, BROKER_HEARTBEAT_KEY, VOTE_KEY}


def test_a_controller_without_a_quorum_shows_its_own_table(monkeypatch: pytest.MonkeyPatch) -> None:
    table = ApiVersionsResponse(
        error_code=ErrorCode.NONE,
        api_keys=tuple(ApiVersion(api_key=key, min_version=0, max_version=1) for key in LISTED),
    )
    lists_none = Mock(side_effect=ConnectionFailed("a:1 does not list its controllers: UNSUPPORTED_VERSION"))
    client: Any = SimpleNamespace(cluster=lists_none, table=table)
    monkeypatch.setattr(asking, "connected", lambda *_, **__: nullcontext(client))
    bootstrap = [Address("a", 1), Address("b", 2)]
    found = asking.ask_cluster(bootstrap, CommandConfig(), controllers=True)
    assert [(each.node_id, each.host, each.port) for each in found.brokers] == [
        (-1, "a", 1),
        (-2, "b", 2),
    ]
    assert [set(each.ranges) for each in found.brokers] == [LISTED] * 2
    assert found.note.startswith("a:1 does not list its controllers: UNSUPPORTED_VERSION; ")
    with pytest.raises(ConnectionFailed, match="it is a controller; give its address to --bootstrap-controller"):
        asking.ask_cluster(bootstrap, CommandConfig(), controllers=False)


def test_refused_credentials_are_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """As is any other reason for which a broker cannot be asked."""
    monkeypatch.setattr(asking, "connected", Mock(side_effect=AuthenticationFailed("not accepted")))
    with pytest.raises(ConnectionFailed, match=r"^not accepted$"):
        asking.ask_cluster([Address("a", 1)], CommandConfig(), controllers=False)


def test_a_cluster_that_lists_too_many_brokers_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each would get a table in memory and in the output; the next address may list fewer."""
    brokers = [ListedBroker(id_, "a", 1, None) for id_ in range(asking.MAX_BROKERS + 1)]
    hostile: Any = SimpleNamespace(cluster=lambda **_: ClusterMetadata("id", tuple(brokers)))
    monkeypatch.setattr(asking, "connected", lambda *_, **__: nullcontext(hostile))
    with pytest.raises(ConnectionFailed, match=r"a:1 lists 10,001 brokers; .* at most 10,000"):
        asking.ask_cluster([Address("a", 1)], CommandConfig(), controllers=False)


def test_one_bound_ends_all_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def resolve(*_: object, **__: object) -> Any:
        over.wait()

    monkeypatch.setattr(asking, "ALL_BROKERS_BOUND_S", 0.01)
    monkeypatch.setattr(asking, "connected", resolve)
    bootstrap = [Address("a", 1), Address("b", 2)]
    try:
        with pytest.raises(ConnectionFailed, match=r"^a:1 and those before it took more than 0.01"):
            asking.ask_cluster(bootstrap, CommandConfig(), controllers=False)
    finally:
        over.set()


def test_a_release_without_a_controller_has_no_controller_table() -> None:
    """The message names the release."""
    with pytest.raises(InvalidTables, match=r"controller's table of apache-kafka-2\.3\.1"):
        tables_of_release(TARGETS["apache-kafka-2.3.1"], controllers=True)


STOCK = Path(__file__).parent / "stock_4_4_0_controller.txt"
"""What the tool of 4.4.0 printed for a controller; `test_real_clusters.py` runs it for brokers as well."""


def test_recorded_tables_read_like_the_output_of_kafka() -> None:
    """Every line after the one that names the broker is equal."""
    found = stock_text(tables_of_release(TARGETS["apache-kafka-4.4.0"], controllers=True))
    assert found.splitlines()[1:] == STOCK.read_text().splitlines()[1:]


@pytest.mark.parametrize(
    ("each", "first_line"),
    [
        (broker(), "broker-1:9092 (id: 1 rack: null isFenced: false) -> ("),
        (broker(7, rack="b"), "broker-7:9092 (id: 7 rack: b isFenced: false) -> ("),
        (broker(is_fenced=True), "broker-1:9092 (id: 1 rack: null isFenced: true) -> ("),
        (
            broker(problem="connection refused"),
            "broker-1:9092 (id: 1 rack: null isFenced: false) -> ERROR: connection refused",
        ),
        (
            broker(host="a\x1b[2J"),
            "a\\x1b[2J:9092 (id: 1 rack: null isFenced: false) -> (",
        ),
    ],
)
def test_a_block_begins_with_the_broker(each: BrokerTable, first_line: str) -> None:
    """What a broker states cannot control the terminal."""
    assert stock_text(cluster(each)).splitlines()[0] == first_line


@pytest.mark.parametrize(
    ("key", "range_", "line"),
    [
        (999, (0, 3), "UNKNOWN(999): 0 to 3"),
        (999, (-3, -1), "UNKNOWN(999): -3 to -1"),
        (18, (-3, 2), "ApiVersions(18): -3 to 2 [usable: 2]"),
        (18, (-3, -3), "ApiVersions(18): -3 [unusable: node too old]"),
        (18, (0, -1), "ApiVersions(18): 0 to -1 [unusable: node too old]"),
        (18, (0, 5), "ApiVersions(18): 0 to 5 [usable: 5]"),
        (18, (3, 3), "ApiVersions(18): 3 [usable: 3]"),
        (18, (6, 9), "ApiVersions(18): 6 to 9 [unusable: node too new]"),
        (27, (0, 0), "WriteTxnMarkers(27): 0 [unusable: node too old]"),
        (4, (0, 7), "LeaderAndIsr(4): 0 to 7 [unusable: node too new]"),
    ],
)
def test_a_line_says_what_a_client_can_use(key: int, range_: tuple[int, int], line: str) -> None:
    """A client of Kafka 4.4.0 uses the newest version that both have."""
    lines = stock_text(cluster(broker(ranges={key: range_}))).splitlines()
    assert f"\t{line}" in {each.removesuffix(",") for each in lines}


def test_known_apis_are_those_of_the_schemas() -> None:
    """Names and versions come from the message schemas of kafka-clients 4.4.0."""
    catalogue = ApiCatalogue([read_schemas(clients_jar("4.4.0"))])
    for key, known in known_apis().items():
        versions = catalogue.versions_of(key)
        if known.range is None:
            assert versions == []
        else:
            assert (known.range.lowest, known.range.highest) == (versions[0], versions[-1])
            assert known.name == catalogue.name_of(key)
