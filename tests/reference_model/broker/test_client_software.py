"""Tests of what a broker knows about its clients' software.

The sources are counts, log entries and Jolokia's metrics.
"""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.model_processes.jolokia_server import answer
from reference_model.broker.model.client_software import (
    ClientMetric,
    ClientSoftware,
    Counts,
    DeprecatedRequest,
    Gauge,
    software_named,
)
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.broker.model.state_machine import ReferenceBroker
from reference_model.broker.rules.request_parser import parse_header
from strategies.api_versions import build_request
from strategies.field_values import Software
from tests.reference_model.broker.release_lines import IDENTITY
from tests.reference_model.broker.test_responses import SMALL

UNKNOWN = ClientSoftware("unknown", "unknown")
NAMED = build_request(version=3, software=Software("a.b", "1-2")).data
RENAMED = build_request(version=5, software=Software("c", "3")).data
REFUSED = build_request(version=3, software=Software("_", "1")).data
HALF_GIVEN = build_request(version=5, node_id=1).data
WRONG_IDS = build_request(version=5, software=Software("c", "3"), cluster_id="other", node_id=1).data
UNREADABLE = build_request(version=3, body=b"").data
V0, V99 = (build_request(version=version).data for version in (0, 99))
METADATA = bytes.fromhex("0000000a 0003 0001 00000007 ffff")


def broker(tampering: Tampering | None = None, log: list[dict[str, Any]] | None = None) -> ReferenceBroker:
    """Return a broker whose answers are short."""
    return ReferenceBroker(
        profile=SMALL,
        identity=IDENTITY,
        tampering=tampering,
        log=None if log is None else log.append,
    )


@pytest.mark.parametrize(
    ("sent", "software"),
    [
        pytest.param([], UNKNOWN, id="nothing"),
        pytest.param([NAMED], ClientSoftware("a.b", "1-2"), id="named"),
        pytest.param([NAMED, RENAMED], ClientSoftware("c", "3"), id="last-counts"),
        pytest.param([NAMED, REFUSED], ClientSoftware("a.b", "1-2"), id="refused-changes-nothing"),
        pytest.param([NAMED, HALF_GIVEN], ClientSoftware("a.b", "1-2"), id="half-given"),
        pytest.param([NAMED, WRONG_IDS], ClientSoftware("c", "3"), id="misrouted-counts"),
        pytest.param([NAMED, V0], UNKNOWN, id="v0-has-no-name"),
        pytest.param([NAMED, V99], UNKNOWN, id="unsupported-has-no-name"),
        pytest.param([NAMED, UNREADABLE], ClientSoftware("a.b", "1-2"), id="unreadable"),
    ],
)
def test_last_valid_name_counts(sent: list[bytes], software: ClientSoftware) -> None:
    """A connection has the software of the last accepted request."""
    connection = broker().connect()
    for data in sent:
        connection.receive_data(data)
    assert connection.software == software


def test_open_connections_are_counted_by_software() -> None:
    """Each open connection counts once, under its software; a closed one no longer counts."""
    served = broker()
    first, second, third = (served.connect() for _ in range(3))
    first.receive_data(NAMED)
    second.receive_data(NAMED)
    gauge = Gauge("plaintext", ClientSoftware("a.b", "1-2"))
    assert served.counts() == {gauge: 2, Gauge("plaintext", UNKNOWN): 1}
    for connection in (first, second, third):
        connection.drop()
    assert served.counts() == {}
    assert served.unused_gauges() == [gauge]
    served.connect().receive_data(NAMED)
    assert served.unused_gauges() == []


def test_log_has_the_software_known_so_far() -> None:
    """Each answered request is logged; the one that names the software is still logged without it."""
    entries: list[dict[str, Any]] = []
    connection = broker(log=entries).connect()
    for data in (NAMED, V0, UNREADABLE):
        connection.receive_data(data)
    assert [entry["clientInformation"] for entry in entries] == [
        {"softwareName": "unknown", "softwareVersion": "unknown"},
        {"softwareName": "a.b", "softwareVersion": "1-2"},
    ]
    assert entries[1]["requestHeader"] == {
        "requestApiKey": 18,
        "requestApiVersion": 0,
        "correlationId": 7,
        "clientId": "kafka-conformance",
    }
    assert entries[1]["listener"] == "plaintext"


def test_defect_can_change_the_log() -> None:
    """A defect of the log stage can change the entry before it is written."""
    entries: list[dict[str, Any]] = []
    tampering = Tampering(stage=Stage.LOG, act=lambda entry: entry.pop("clientInformation"))
    broker(tampering, entries).connect().receive_data(V0)
    assert [sorted(entry) for entry in entries] == [["listener", "requestHeader"]]


def test_other_apis_leave_the_name() -> None:
    """Only an ApiVersions request names the software."""
    connection = broker().connect()
    connection.receive_data(NAMED)
    connection.receive_data(METADATA)
    assert connection.software.name == "a.b"


COUNTS: Counts = {
    Gauge("ssl", ClientSoftware("a.b", "1-2")): 2,
    Gauge("plaintext", ClientSoftware("a.b", "3")): 1,
    Gauge("plaintext", UNKNOWN): 4,
}
BEAN = (
    "kafka.server:clientSoftwareName=a.b,clientSoftwareVersion={},listener={},"
    "networkProcessor=0,type=socket-server-metrics"
)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param(
            "/jolokia/read/kafka.server:clientSoftwareName=a.b,*",
            {BEAN.format("1-2", "SSL"): 2, BEAN.format("3", "PLAINTEXT"): 1},
            id="name",
        ),
        pytest.param(
            "/jolokia/read/kafka.server:clientSoftwareName=a.b%2Clistener=SSL,*",
            {BEAN.format("1-2", "SSL"): 2},
            id="name-and-listener-quoted",
        ),
    ],
)
def test_metric_is_read_by_pattern(path: str, found: dict[str, int]) -> None:
    """The beans that match the pattern are returned with their counts."""
    document = answer(path, ClientMetric(COUNTS))
    assert document["status"] == 200
    assert document["value"] == {bean: {"connections": count} for bean, count in found.items()}


def test_key_without_a_value_is_left_out() -> None:
    """A bean's name has only the keys that have a value."""
    gauge = Gauge("", ClientSoftware("a.b", "3"), network_processor="", type="other")
    path = "/jolokia/read/kafka.server:clientSoftwareName=a.b,*"
    document = answer(path, ClientMetric({gauge: 0}))
    bean = "kafka.server:clientSoftwareName=a.b,clientSoftwareVersion=3,type=other"
    assert document["value"] == {bean: {"connections": 0}}


@pytest.mark.parametrize(
    "path",
    [
        "/jolokia/read/kafka.server:clientSoftwareName=nobody,*",
        "/jolokia/read/other:clientSoftwareName=a.b,*",
        "/jolokia/read/kafka.server:unknown=a.b,*",
    ],
)
def test_metric_that_is_not_there_is_a_404(path: str) -> None:
    """If no bean matches the pattern, the document reports that as Jolokia does."""
    document = answer(path, ClientMetric(COUNTS))
    assert document["status"] == 404
    assert document["error_type"] == "javax.management.InstanceNotFoundException"


@pytest.mark.parametrize("data", [UNREADABLE, METADATA])
def test_request_without_a_readable_name_tells_nothing(data: bytes) -> None:
    """A request with an unreadable body, or of another API, names no software."""
    header = parse_header(memoryview(data[4:]), SMALL.traits)
    assert software_named(data[4:], header, SMALL.traits) is None


def test_jolokia_shows_requests_in_deprecated_versions() -> None:
    """Each has the keys of KIP-896, and is found by its software."""
    software = ClientSoftware("a", "1")
    metric = ClientMetric(deprecated={DeprecatedRequest("Fetch", 3, software): 2})
    path = "/jolokia/read/kafka.network:type=RequestMetrics,name=DeprecatedRequestsPerSec,clientSoftwareName={},*"
    bean = (
        "kafka.network:type=RequestMetrics,name=DeprecatedRequestsPerSec,request=Fetch,version=3,"
        "clientSoftwareName=a,clientSoftwareVersion=1"
    )
    assert answer(path.format("a"), metric)["value"] == {bean: {"Count": 2}}
    assert answer(path.format("b"), metric)["status"] == 404
