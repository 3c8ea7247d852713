"""What is asserted about a client that was led elsewhere: planted wrong clients, each a play that is wrong in its own way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.assertions.client_moves import ClientAborted
from conformance.assertions.operation_results import DoesNotKnow, assert_survives_rerouting
from fixtures.errors import ClientFails, HarnessError
from fixtures.recording_proxy.rerouting import ReroutedPlay
from reference_model.clients.scripts.recording import Recording, SeenRequest
from reference_model.clients.scripts.routes import Route, as_scripted
from reference_model.clients.scripts.script import NodeScript, Script
from tests.conformance.client_plays import ABORTED, STOPPED
from tests.described_apis import described_api
from tests.reference_model.clients.recordings import NO_IDS, asked, opened, recorded, sent
from wire.api_keys import PRODUCE_KEY
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.frames import encode_frame
from wire.headers import ResponseHeader

HOME = Route(when="at home", from_ms=0, cluster_id="home", node_ids=(1, 2))
SWAPPED = Route(when="after a swap", from_ms=1000, cluster_id="home", node_ids=(2, 1))
OTHER = Route(when="after a replacement", from_ms=2000, cluster_id="other", node_ids=(1, 2))
ROUTES = (HOME, SWAPPED, OTHER)
METADATA, WRITES, WITHOUT = "rerouted", "rerouted-writes", "rerouted-without-cluster-check"
PRODUCE_VERSION = 13


def on(
    route: Route, *, connection: int, first: Any = NO_IDS, later: Any = NO_IDS
) -> list[SeenRequest]:
    """Return the requests on a connection while a route was kept: ids are given first, and again once metadata came."""
    return [
        asked(5, connection=connection, at_ms=route.from_ms + 10, ids=first),
        sent(13, connection=connection, at_ms=route.from_ms + 100),
        asked(5, connection=connection, at_ms=route.from_ms + 200, ids=later),
    ]


def written(connection: int, at_ms: int, code: ErrorCode = ErrorCode.NONE) -> SeenRequest:
    """Return a write and its response."""
    response = described_api(PRODUCE_KEY, PRODUCE_VERSION).response
    topic = response.FIELDS[0].element
    partition = next(field for field in topic.FIELDS if field.name == "partition_responses").element
    body = response(responses=(topic(partition_responses=(partition(error_code=code),)),))
    header = encode(ResponseHeader(correlation_id=8), version=1)
    return sent(
        PRODUCE_VERSION,
        api_key=PRODUCE_KEY,
        connection=connection,
        at_ms=at_ms,
        response=encode_frame(header + encode(body, version=PRODUCE_VERSION)),
    )


def led(*requests: SeenRequest, options: tuple[str, ...] = ()) -> Recording:
    """Return a recording of one connection for each route; the broker ended all but the last one."""
    connections = [
        opened(number, at_ms=route.from_ms + 5, node=0, closed_by="broker")
        for number, route in enumerate(ROUTES)
    ]
    recording = recorded(
        *sorted(requests, key=lambda each: each.at_ms),
        connections=connections,
        script=Script(nodes=(NodeScript(),) * 2),
        duration_ms=3000,
    )
    return as_scripted(recording, ROUTES, options)


def play_of(*requests: SeenRequest, **others: Any) -> ReroutedPlay:
    """Return a play with these requests."""
    return ReroutedPlay(recording=led(*requests), result=STOPPED, **{"routes": ROUTES, **others})


HOME_IDS = ("home", 1)
SILENT_AT_HOME = on(HOME, connection=0)
AT_HOME = on(HOME, connection=0, later=HOME_IDS)
SWAP = on(SWAPPED, connection=1)
REPLACED = on(OTHER, connection=2)
RIGHT = (*AT_HOME, *SWAP, *REPLACED)
WRITING = (*RIGHT, written(0, 500), written(1, 1500), written(2, 2500))


def test_client_that_goes_on_is_right() -> None:
    """It gives ids where it must, and gets what it asks for by every route."""
    assert_survives_rerouting(play_of(*RIGHT), METADATA, knows_ids=True)
    assert_survives_rerouting(play_of(*WRITING), WRITES, knows_ids=True)


def test_client_without_ids_may_go_on_as_well() -> None:
    """A client that knows nothing of the check is only known by what goes wrong."""
    silent = [*SILENT_AT_HOME, *SWAP, *REPLACED]
    assert_survives_rerouting(play_of(*silent), METADATA, knows_ids=False)
    assert_survives_rerouting(play_of(*silent), WITHOUT, knows_ids=True)


@pytest.mark.parametrize(
    ("requests", "operation", "what"),
    [
        pytest.param(
            (*SILENT_AT_HOME, *SWAP, *REPLACED),
            METADATA,
            "never gives the ids",
            id="no-ids",
        ),
        pytest.param(
            (*on(HOME, connection=0, first=HOME_IDS), *SWAP, *REPLACED),
            METADATA,
            "before the client got metadata",
            id="ids-too-early",
        ),
        pytest.param(
            (*AT_HOME, *on(SWAPPED, connection=1, later=("home", 7)), *REPLACED),
            METADATA,
            "node id of another broker",
            id="wrong-node",
        ),
        pytest.param(
            (*AT_HOME, *SWAP, asked(5, connection=2, at_ms=2010, ids=("else", 1)), *REPLACED),
            METADATA,
            "cluster id that no broker reported",
            id="wrong-cluster",
        ),
        pytest.param(
            (*AT_HOME, *SWAP), METADATA, "not go on after a replacement", id="stands-still"
        ),
        pytest.param((*AT_HOME, *REPLACED), METADATA, "not go on after a swap", id="late"),
        pytest.param(
            (
                *RIGHT,
                written(0, 500),
                written(1, 1500),
                written(2, 2500, ErrorCode.INVALID_REQUEST),
            ),
            WRITES,
            "not go on after a replacement",
            id="refused-writes",
        ),
        pytest.param(
            (*WRITING, written(2, 2050)),
            WRITES,
            "before it has read its metadata",
            id="stray-write",
        ),
        pytest.param(RIGHT, WITHOUT, "gives a cluster id or node id", id="ids-without-the-check"),
    ],
)
def test_wrong_client_violates(
    requests: tuple[SeenRequest, ...], operation: str, what: str
) -> None:
    """Each is wrong in its own way, and the message says in which."""
    with pytest.raises(AssertionError, match=what) as caught:
        assert_survives_rerouting(play_of(*requests), operation, knows_ids=True)
    assert not isinstance(caught.value, DoesNotKnow)
    assert "killed after" in str(caught.value)


@pytest.mark.parametrize(
    "requests",
    [(*AT_HOME, *SWAP, written(0, 500)), (*WRITING, written(2, 2050))],
    ids=["stands-still", "stray-write"],
)
def test_what_other_clients_do_is_recorded(requests: tuple[SeenRequest, ...]) -> None:
    """The same of a client that does not support KIP-1242 is no violation."""
    with pytest.raises(DoesNotKnow, match="without the ids of KIP-1242 the client"):
        assert_survives_rerouting(play_of(*requests), WRITES, knows_ids=False)


def test_refused_write_to_another_cluster_is_no_harm() -> None:
    """Only what the other cluster confirmed counts."""
    refused = written(2, 2050, ErrorCode.NOT_CONTROLLER)
    assert_survives_rerouting(play_of(*WRITING, refused), WRITES, knows_ids=True)


def test_abort_and_memory_are_findings() -> None:
    """They are what every clause calls so."""
    aborted = replace(play_of(*RIGHT), result=ABORTED)
    with pytest.raises(ClientAborted):
        assert_survives_rerouting(aborted, METADATA, knows_ids=False)
    hungry = replace(aborted, result=replace(STOPPED, killed_for="memory"))
    with pytest.raises(AssertionError, match="more memory"):
        assert_survives_rerouting(hungry, METADATA, knows_ids=False)


def test_client_that_never_works_is_not_judged() -> None:
    """It fails in its own cluster, or somebody else ended it."""
    with pytest.raises(ClientFails, match="does not work at home"):
        assert_survives_rerouting(play_of(*SWAP), METADATA, knows_ids=True)
    killed = replace(play_of(*RIGHT), result=replace(STOPPED, killed_for=""))
    with pytest.raises(HarnessError, match="from outside"):
        assert_survives_rerouting(killed, METADATA, knows_ids=True)
