"""What is asserted about an operation: planted wrong clients, each a play that violates KIP-97 in its own way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.assertions.client_moves import ClientAborted
from conformance.assertions.operation_results import Unsupported, assert_operates
from fixtures.errors import HarnessError
from fixtures.recording_proxy.operation import TriedPlay
from reference_model.clients.scripts.recording import Recording, SeenRequest
from tests.conformance.client_plays import ABORTED, WELL
from tests.reference_model.clients.recordings import asked, listing, opened, recorded, sent

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


@pytest.mark.parametrize(
    "detail",
    [
        "org.apache.kafka.common.errors.UnsupportedVersionException: The broker does not support X",
        'KafkaException: KafkaError{code=_UNSUPPORTED_FEATURE,str="requires broker version >= 0.11"}',
        "IncompatibleBrokerVersion: Kafka broker does not support the 'X' Kafka protocol.",
        "broker is too old; the broker has already indicated it will not know how to handle the request",
        "AssertionError: Headers not supported in v0/v1",
        "Request error: Cannot find matching version for: DeleteRecords",
    ],
)
def test_error_that_names_what_is_missing_is_a_note(detail: str) -> None:
    """The client is right: an application can tell why it fails."""
    with pytest.raises(Unsupported, match="says what the broker lacks"):
        assert_operates(failed(detail, WITHOUT_HEARTBEAT), OPERATION)


@pytest.mark.parametrize(
    ("play", "what"),
    [
        pytest.param(ended(DOOMED), "was sent although the table", id="doomed-request-that-works"),
        pytest.param(
            failed("UnsupportedVersionException", DOOMED), "was sent although", id="doomed-request"
        ),
        pytest.param(failed("TimeoutException: no answer"), "does not say", id="unclear-error"),
        pytest.param(ended(outcome="error", detail="no result after 3 s"), "it hangs", id="hang"),
        pytest.param(ended(outcome=None, killed_for="time"), "it hangs", id="deaf"),
        pytest.param(
            ended(outcome=None, killed_for="memory"), "more memory than it may", id="memory"
        ),
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
    return ended(recorded(*asking, *requests, connections=connections))


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(on_two_connections(LOWER), id="listed-on-another-connection"),
        pytest.param(
            on_two_connections(replace(HIGHER, response=b"served"), HIGHER, node=1), id="answered"
        ),
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
    """A client that did not come through the proxy may have sent the API; it may also do what its documentation says instead."""
    unseen = replace(ended(WITHOUT_HEARTBEAT), obstacles=(OBSTACLE,))
    with pytest.raises(HarnessError, match="kafka:9092 cannot be reached"):
        assert_operates(unseen, OPERATION)
    with pytest.raises(Unsupported):
        assert_operates(unseen, OPERATION, falls_back=True)
