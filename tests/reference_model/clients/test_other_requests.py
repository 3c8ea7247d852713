"""Tests of a scripted broker with requests other than ApiVersions.

The broker serves them as its table says.
"""

from __future__ import annotations

from typing import Any

import pytest

from reference_model.clients.scripts.script import (
    CLUSTER_ID,
    EMPTY,
    Answer,
    ConnectionScript,
    NodeScript,
    Script,
    Table,
    one_node,
)
from tests.reference_model.clients.scripted_network import (
    CLOSES,
    ScriptedNetwork,
    about_versions,
    ids,
    metadata,
    metadata_in,
    other,
    produce,
)
from wire.codec import decode
from wire.described_messages import DESCRIBE_CLUSTER, FIND_COORDINATOR
from wire.frames import encode_frame
from wire.message_schemas import Api


@pytest.mark.parametrize(
    ("table", "version", "served"),
    [
        (Table(), 13, True),
        (Table(), 14, False),
        (Table(changed=((3, 2, 5),)), 5, True),
        (Table(changed=((3, 2, 5),)), 6, False),
        (Table(changed=((3, 2, 5),)), 1, False),
        (Table(changed=((3, 5, 2),)), 3, False),
        (Table(removed=(3,)), 0, False),
        (Table(changed=((3, 0, 1),), after=((3, 4, 5),)), 4, True),
        (Table(changed=((3, 4, 5),), before=((3, 0, 1),)), 0, True),
        (EMPTY, 0, False),
    ],
)
def test_other_requests_are_served_as_the_table_says(table: Table, version: int, served: bool) -> None:
    """Duplicate entries are read leniently: one that allows the version is enough. Anything else closes the
    connection."""
    network = ScriptedNetwork(one_node(Answer(table=table)))
    network.send(about_versions(3))
    frame = metadata(min(version, 13))
    (write,) = network.send(frame[:6] + version.to_bytes(2) + frame[8:])
    assert (write.then == "close") is not served
    assert network.seen()[-1].is_served is served
    assert network.recording().unserved == ()


@pytest.mark.parametrize(
    "answer",
    [
        Answer(error_code=35, table=EMPTY),
        Answer(table=Table(null=True)),
        Answer(table=Table(base="empty", claimed_count=2**31 - 1)),
    ],
)
def test_no_table_changes_nothing(answer: Answer) -> None:
    """After an error or a table that cannot be read, the table of before holds; at first it is that of a healthy
    broker."""
    network = ScriptedNetwork(one_node(answer))
    network.send(about_versions(3))
    assert ids(network.send(metadata(9))) == [8]


def test_a_client_that_asks_for_no_table_is_served() -> None:
    """Clients older than ApiVersions ask for none."""
    network = ScriptedNetwork(one_node(Answer(action="close")))
    assert ids(network.send(metadata(0))) == [8]


@pytest.mark.parametrize("version", range(14))
def test_metadata_lists_the_nodes_in_every_version(version: int) -> None:
    """All nodes of the script are listed, with the ids of the connection."""
    ids_ = ConnectionScript(node_ids=(7, 1))
    network = ScriptedNetwork(Script(nodes=(NodeScript(connections=(ids_,)), NodeScript())))
    (write,) = network.send(metadata(version))
    body = metadata_in(write, version)
    nodes = [(each.node_id, each.host, each.port) for each in body.brokers]
    assert nodes == [(7, "127.0.0.1", 9092), (1, "127.0.0.1", 9093)]
    if version >= 2:
        assert (body.controller_id, body.cluster_id) == (7, CLUSTER_ID)
    (request,) = network.seen()
    assert (request.client_id, request.response) == ("me", write.data)


@pytest.mark.parametrize(
    ("api", "version", "fields"),
    [
        (FIND_COORDINATOR, 0, {"key": "group"}),
        (FIND_COORDINATOR, 6, {"coordinator_keys": ("group",)}),
        (DESCRIBE_CLUSTER, 0, {}),
        (DESCRIBE_CLUSTER, 2, {}),
    ],
)
def test_other_apis_of_the_cluster_are_served(api: Api, version: int, fields: Any) -> None:
    network = ScriptedNetwork(Script())
    (write,) = network.send(other(api, version, **fields))
    header = 8 + api.response_header_version(version)
    decode(api.response, write.data[header:], version=version)
    assert network.seen()[0].is_served


def test_bytes_after_the_body_of_another_request_are_ignored() -> None:
    """Kafka ignores them too."""
    network = ScriptedNetwork(Script())
    frame = metadata(13)
    assert ids(network.send(encode_frame(frame[4:] + b"\0"))) == [8]


def test_what_cannot_be_answered_closes_and_is_listed_once() -> None:
    """An API, or a version of one, that the table allows but a scripted broker does not know."""
    network = ScriptedNetwork(one_node(Answer(table=Table(changed=((3, -2, 99),)))))
    for frame in (produce(), produce(), metadata(0)[:6] + b"\x00\x0f" + metadata(0)[8:]):
        network.reconnect()
        network.send(about_versions(3))
        assert network.send(frame) == CLOSES
    network.reconnect()
    network.send(about_versions(3))
    assert network.send(metadata(0)[:6] + b"\xff\xff" + metadata(0)[8:]) == CLOSES
    assert network.recording().unserved == ((0, 3), (3, 15))


def test_other_request_that_cannot_be_read_closes() -> None:
    network = ScriptedNetwork(Script())
    assert network.send(encode_frame(metadata(13)[4:-3])) == CLOSES
    (request,) = network.seen()
    assert request.problem
    assert not request.is_served
