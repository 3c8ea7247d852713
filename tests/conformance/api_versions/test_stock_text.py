"""The text is that of Kafka's own tool for the same tables.

A file has what the tool of 4.4.0 printed for a controller; `test_real_clusters.py` runs it for brokers as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.api_versions.cluster_tables import BrokerTable, tables_of_release
from conformance.api_versions.terminal import stock_text
from fixtures.artefacts.message_schemas import clients_jar, read_schemas
from fixtures.registry.targets import load_targets
from reference_model.profiles.known_apis import known_apis
from tests.conformance.api_versions.clusters import broker, cluster
from wire.message_schemas import ApiCatalogue

STOCK = Path(__file__).parent / "stock_4_4_0_controller.txt"
TARGETS = {target.id: target for target in load_targets()}


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
