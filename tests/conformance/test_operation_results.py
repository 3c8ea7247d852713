"""Tests of the assertions about an operation, with planted wrong clients.

Each play is wrong in its own way. Some plays lead the client to another broker.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from clauses.operations import OPERATIONS
from conformance.assertions.client_moves import ClientAborted
from conformance.assertions.operation_results import (
    DoesNotKnow,
    Unsupported,
    assert_operates,
    assert_survives_rerouting,
)
from fixtures.errors import ClientFails, HarnessError
from fixtures.recording_proxy.recorded_trial import ReroutedPlay, TriedPlay
from reference_model.clients.scripts.recording import Recording, Route, SeenRequest, as_scripted
from reference_model.clients.scripts.script import Answer, NodeScript, Script
from tests.conformance.client_plays import ABORTED, STOPPED, WELL
from tests.described_apis import described_api
from tests.reference_model.clients.recordings import NO_IDS, asked, listing, opened, recorded, sent
from wire.api_keys import PRODUCE_KEY
from wire.error_codes import ErrorCode
from wire.frames import encode_frame
from wire.message_schemas import message_from

HEARTBEAT = 68
TABLE = listing((3, 0, 12), (HEARTBEAT, 0, 0))
RIGHT = recorded(asked(3, TABLE), sent(12), sent(0, api_key=HEARTBEAT, at_ms=2))
WITHOUT_HEARTBEAT = recorded(asked(3, TABLE), sent(12))
DOOMED = recorded(asked(3, TABLE), sent(12), sent(1, api_key=HEARTBEAT, at_ms=2))
OPERATION = "consumer-group-protocol"


def ended(recording: Recording = RIGHT, **result: object) -> TriedPlay:
    """Return a play with this end; well, if nothing is given."""
    return TriedPlay(recording=recording, result=replace(WELL, **result))  # type: ignore[arg-type]


def failed(detail: str, recording: Recording = RIGHT) -> TriedPlay:
    """Return a play in which the client reports an error."""
    return ended(recording, outcome="error", exit_status=1, detail=detail)


def test_checked_result_works() -> None:
    """The driver has checked the result, and nothing was sent that the broker does not support."""
    assert_operates(ended(), OPERATION)


NAMED = "org.apache.kafka.common.errors.UnsupportedVersionException: The broker does not support X"


def test_error_that_names_what_is_missing_is_a_note() -> None:
    """The client is right: the broker lacks what the operation takes, and an application can tell why it fails."""
    with pytest.raises(Unsupported, match="says what the broker lacks"):
        assert_operates(failed(NAMED, WITHOUT_HEARTBEAT), OPERATION)


LISTS_ALL = replace(
    listing(*((key, 0, 20) for key in OPERATIONS[OPERATION].needs)),
    finalized_features=(("group.version", 1, 1),),
    finalized_features_epoch=0,
)
ABLE = recorded(asked(3, LISTS_ALL), sent(12))


def test_broker_that_lists_everything_is_no_reason() -> None:
    """However politely the client refuses it."""
    with pytest.raises(AssertionError, match="with a broker that lists all that it needs: org"):
        assert_operates(failed(NAMED, ABLE), OPERATION)


def test_broker_that_lists_everything_and_refuses_it_is_one() -> None:
    closed = replace(ABLE, connections=(opened(closed_by="broker"),), requests=ABLE.requests[:1])
    refusing = replace(closed, requests=(*closed.requests, sent(1, api_key=HEARTBEAT)))
    with pytest.raises(Unsupported, match="says what the broker lacks"):
        assert_operates(failed(NAMED, refusing), OPERATION)


def test_client_that_never_got_a_table_is_a_note() -> None:
    """Nothing is known of its broker, which may be older than ApiVersions."""
    with pytest.raises(Unsupported, match="says what the broker lacks"):
        assert_operates(failed(NAMED, recorded(asked(3, Answer(action="close")))), OPERATION)


@pytest.mark.parametrize(
    ("play", "what"),
    [
        pytest.param(ended(DOOMED), "was sent although the table", id="doomed-request-that-works"),
        pytest.param(failed("UnsupportedVersionException", DOOMED), "was sent although", id="doomed-request"),
        pytest.param(failed("TimeoutException: no answer"), "does not say", id="unclear-error"),
        pytest.param(ended(outcome="error", detail="no result after 3 s"), "it hangs", id="hang"),
        pytest.param(ended(outcome=None, killed_for="time"), "it hangs", id="deaf"),
        pytest.param(ended(outcome=None, killed_for="memory"), "more memory than it may", id="memory"),
        pytest.param(
            failed("WrongResult: the headers came back as None"),
            "reports success, but the headers",
            id="silently-different",
        ),
        pytest.param(ended(WITHOUT_HEARTBEAT), "never sent Consumer", id="silent-fallback"),
        pytest.param(ended(outcome=None, exit_status=3), "without a result", id="no-result"),
    ],
)
def test_wrong_client_violates(play: TriedPlay, what: str) -> None:
    """Each says in the first line what is wrong, and sums the play up in the last."""
    with pytest.raises(AssertionError, match=what) as raised:
        assert_operates(play, OPERATION)
    assert not isinstance(raised.value, Unsupported)
    assert "connection" in str(raised.value).splitlines()[-1]


def test_abort_has_a_class_of_its_own() -> None:
    """Reports say that such a client crashes."""
    with pytest.raises(ClientAborted, match="SIGABRT"):
        assert_operates(TriedPlay(recording=RIGHT, result=ABORTED), OPERATION)


def test_documented_fallback_is_a_note() -> None:
    """The client's documentation says that it does something else."""
    with pytest.raises(Unsupported, match="as its documentation says"):
        assert_operates(ended(WITHOUT_HEARTBEAT), OPERATION, falls_back=True)


def test_requests_that_are_only_counted_are_no_fallback() -> None:
    """Of a long play only the beginning is recorded."""
    long = replace(WITHOUT_HEARTBEAT, all_requests=1000)
    assert_operates(ended(long), OPERATION)


def test_client_that_could_not_run_is_not_judged() -> None:
    """The environment is not the client's fault."""
    with pytest.raises(HarnessError):
        assert_operates(ended(outcome=None, exit_status=127), OPERATION)


LOWER = sent(0, api_key=HEARTBEAT, connection=1, response=b"")
HIGHER = sent(1, api_key=HEARTBEAT, connection=1, response=b"")


def on_two_connections(*requests: SeenRequest, node: int = 0) -> TriedPlay:
    """Return a play whose second connection, to a node, has these requests, and no ApiVersions request."""
    connections = (opened(0), opened(1, node=node))
    asking = (asked(3, TABLE), sent(12))
    script = Script(nodes=(NodeScript(), NodeScript()))
    return ended(recorded(*asking, *requests, connections=connections, script=script))


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(on_two_connections(LOWER), id="listed-on-another-connection"),
        pytest.param(on_two_connections(replace(HIGHER, response=b"served"), HIGHER, node=1), id="answered"),
    ],
)
def test_client_that_did_not_ask_again_sent_nothing_unsupported(play: TriedPlay) -> None:
    """The same broker lists what was sent, or answers it; that the client did not ask is judged elsewhere."""
    assert_operates(play, OPERATION)


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(on_two_connections(HIGHER), id="not-listed"),
        pytest.param(on_two_connections(LOWER, node=1), id="listed-by-another-broker"),
    ],
)
def test_table_of_another_broker_is_no_excuse(play: TriedPlay) -> None:
    """Nothing shows that this broker supports what was sent, and it does not answer."""
    with pytest.raises(AssertionError, match="before any ApiVersions request"):
        assert_operates(play, OPERATION)


OBSTACLE = "the broker's address kafka:9092 cannot be reached: no such host"


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(failed("TimeoutException: no answer"), id="error"),
        pytest.param(ended(outcome="error", detail="no result after 3 s"), id="hang"),
        pytest.param(ended(outcome=None, exit_status=3), id="no-result"),
    ],
)
def test_failure_without_a_way_to_the_broker_is_not_judged(play: TriedPlay) -> None:
    """No client could do it; the reason names the address."""
    with pytest.raises(HarnessError, match="kafka:9092 cannot be reached"):
        assert_operates(replace(play, obstacles=(OBSTACLE,)), OPERATION)


def test_obstacle_excuses_nothing_else() -> None:
    """An operation may work with other brokers; an abort and an unsupported request are the client's own doing."""
    assert_operates(replace(ended(), obstacles=(OBSTACLE,)), OPERATION)
    unsupported = failed("UnsupportedVersionException: too old", WITHOUT_HEARTBEAT)
    with pytest.raises(Unsupported):
        assert_operates(replace(unsupported, obstacles=(OBSTACLE,)), OPERATION)
    doomed = failed("TimeoutException: no answer", DOOMED)
    with pytest.raises(AssertionError, match="was sent although"):
        assert_operates(replace(doomed, obstacles=(OBSTACLE,)), OPERATION)
    aborted = TriedPlay(recording=RIGHT, result=ABORTED, obstacles=(OBSTACLE,))
    with pytest.raises(ClientAborted):
        assert_operates(aborted, OPERATION)


def test_success_is_not_judged_by_what_an_obstacle_hid() -> None:
    """A client that did not come through the proxy may have sent the API; it may also do what its documentation says
    instead."""
    unseen = replace(ended(WITHOUT_HEARTBEAT), obstacles=(OBSTACLE,))
    with pytest.raises(HarnessError, match="kafka:9092 cannot be reached"):
        assert_operates(unseen, OPERATION)
    with pytest.raises(Unsupported):
        assert_operates(unseen, OPERATION, falls_back=True)


HOME = Route(when="at home", from_ms=0, cluster_id="home", node_ids=(1, 2))
SWAPPED = Route(when="after a swap", from_ms=1000, cluster_id="home", node_ids=(2, 1))
OTHER = Route(when="after a replacement", from_ms=2000, cluster_id="other", node_ids=(1, 2))
ROUTES = (HOME, SWAPPED, OTHER)
METADATA, WRITES, WITHOUT = "rerouted", "rerouted-writes", "rerouted-without-cluster-check"
PRODUCE_VERSION = 13


def on(route: Route, *, connection: int, first: Any = NO_IDS, later: Any = NO_IDS) -> list[SeenRequest]:
    """Return the requests on a connection while a route was kept: ids are given first, and again once metadata came."""
    return [
        asked(5, connection=connection, at_ms=route.from_ms + 10, ids=first),
        sent(13, connection=connection, at_ms=route.from_ms + 100),
        asked(5, connection=connection, at_ms=route.from_ms + 200, ids=later),
    ]


def written(connection: int, at_ms: int, code: ErrorCode = ErrorCode.NONE) -> SeenRequest:
    """Return a write and its response."""
    api = described_api(PRODUCE_KEY, PRODUCE_VERSION)
    responses = [{"partition_responses": [{"error_code": code}]}]
    body = message_from(api.response, {"responses": responses})
    return sent(
        PRODUCE_VERSION,
        api_key=PRODUCE_KEY,
        connection=connection,
        at_ms=at_ms,
        response=encode_frame(api.response_payload(body, PRODUCE_VERSION, correlation_id=8)),
    )


def led(*requests: SeenRequest, options: tuple[str, ...] = ()) -> Recording:
    """Return a recording of one connection for each route; the broker ended all but the last one."""
    connections = [
        opened(number, at_ms=route.from_ms + 5, node=0, closed_by="broker") for number, route in enumerate(ROUTES)
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
LED_RIGHT = (*AT_HOME, *SWAP, *REPLACED)
WRITING = (*LED_RIGHT, written(0, 500), written(1, 1500), written(2, 2500))


def test_client_that_goes_on_is_right() -> None:
    assert_survives_rerouting(play_of(*LED_RIGHT), METADATA, knows_ids=True)
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
        pytest.param((*AT_HOME, *SWAP), METADATA, "not go on after a replacement", id="stands-still"),
        pytest.param((*AT_HOME, *REPLACED), METADATA, "not go on after a swap", id="late"),
        pytest.param(
            (
                *LED_RIGHT,
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
        pytest.param(LED_RIGHT, WITHOUT, "gives a cluster id or node id", id="ids-without-the-check"),
    ],
)
def test_wrong_client_that_is_led_elsewhere_violates(
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
    aborted = replace(play_of(*LED_RIGHT), result=ABORTED)
    with pytest.raises(ClientAborted):
        assert_survives_rerouting(aborted, METADATA, knows_ids=False)
    hungry = replace(aborted, result=replace(STOPPED, killed_for="memory"))
    with pytest.raises(AssertionError, match="more memory"):
        assert_survives_rerouting(hungry, METADATA, knows_ids=False)


def test_client_that_never_works_is_not_judged() -> None:
    with pytest.raises(ClientFails, match="does not work at home"):
        assert_survives_rerouting(play_of(*SWAP), METADATA, knows_ids=True)
    killed = replace(play_of(*LED_RIGHT), result=replace(STOPPED, killed_for=""))
    with pytest.raises(HarnessError, match="from outside"):
        assert_survives_rerouting(killed, METADATA, knows_ids=True)
