"""Tests of when a broker may be at fault for what a client does not achieve.

The broker answers slowly or contradicts itself, or other clients fail in the same way.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from clauses.operations import NEWEST_VERSIONS
from conformance.assertions.brokers_at_fault import (
    MAX_MS,
    MAY_WAIT,
    SETTLES_WITHIN_MS,
    SLOW_MS,
    contradictions,
    slow_answers,
)
from conformance.assertions.operation_results import Unsupported
from conformance.operations.test_operations import client_operates
from fixtures.client.addresses import Address
from fixtures.client.running_broker import RunningBroker
from fixtures.client_processes.driver_process import DriverResult
from fixtures.recording_proxy.recorded_trial import TriedPlay
from fixtures.registry.clients import Client, select_clients
from fixtures.registry.targets import select_targets
from fixtures.under_test import trial as trial_module
from fixtures.under_test.trial import ChosenTrial, Trial, Trials
from reference_model.clients.scripts.recording import Recording, SeenRequest
from reference_model.profiles.listeners import PLAINTEXT
from tests.conformance.client_plays import ABORTED, WELL
from tests.conformance.test_operation_results import DOOMED
from tests.described_apis import described_api
from tests.reference_model.clients.recordings import asked, listing, opened, recorded, sent
from wire.api_keys import (
    CREATE_TOPICS_KEY,
    END_TXN_KEY,
    FETCH_KEY,
    JOIN_GROUP_KEY,
    METADATA_KEY,
    PRODUCE_KEY,
)
from wire.error_codes import ErrorCode
from wire.frames import encode_frame
from wire.message_schemas import message_from

VERSIONS = {PRODUCE_KEY: 9, FETCH_KEY: 12, END_TXN_KEY: 3}
TABLE = listing(*((key, 0, version) for key, version in VERSIONS.items()))
LATE_MS = 2 * SETTLES_WITHIN_MS


def answered(api_key: int, at_ms: int, **fields: Any) -> SeenRequest:
    """Return a request with a response that has these fields."""
    version = VERSIONS[api_key]
    api = described_api(api_key, version)
    payload = api.response_payload(message_from(api.response, fields), version, correlation_id=8)
    seen = sent(version, api_key=api_key, at_ms=at_ms, response=encode_frame(payload))
    return replace(seen, answered_ms=at_ms)


def written(offset: int, *, topic: str = "a topic", error_code: int = 0) -> SeenRequest:
    """Return a write to partition 0 that a broker confirms, or refuses."""
    partition = {"index": 0, "base_offset": offset, "error_code": ErrorCode(error_code)}
    responses = [{"name": topic, "partition_responses": [partition]}]
    return answered(PRODUCE_KEY, 10, responses=responses)


def fetched(high_watermark: int, stable: int, *, at_ms: int = 100, error_code: int = 0) -> SeenRequest:
    """Return a fetch from partition 0 that shows how far its log goes."""
    partition = {
        "partition_index": 0,
        "high_watermark": high_watermark,
        "last_stable_offset": stable,
        "error_code": ErrorCode(error_code),
        "aborted_transactions": None,
        "records": None,
    }
    responses = [{"topic": "a topic", "partitions": [partition]}]
    return answered(FETCH_KEY, at_ms, responses=responses)


def ended(at_ms: int = 50, error_code: int = 0) -> SeenRequest:
    """Return the end of a transaction."""
    return answered(END_TXN_KEY, at_ms, error_code=ErrorCode(error_code))


def seen(*requests: SeenRequest, duration_ms: int = LATE_MS, **connection: Any) -> Recording:
    """Return a recording of one connection on which the table came first."""
    return recorded(
        asked(3, TABLE),
        *requests,
        connections=[opened(**connection)],
        duration_ms=duration_ms,
    )


REFUSED = ended(error_code=ErrorCode.UNSUPPORTED_VERSION)
UNANSWERED = replace(sent(3, api_key=END_TXN_KEY, response=b""), answered_ms=None)


@pytest.mark.parametrize(
    ("recording", "what"),
    [
        pytest.param(seen(REFUSED), "answers it with UNSUPPORTED_VERSION", id="refuses"),
        pytest.param(
            seen(UNANSWERED, closed_by="broker"),
            "EndTxn v3, and closes the connection",
            id="closes",
        ),
        pytest.param(
            seen(written(0), ended(), fetched(2, 0)),
            "partition 0 from offset 0 on",
            id="still-open",
        ),
        pytest.param(seen(written(0), written(1), fetched(1, 1)), "a record at offset 1 of", id="lost"),
    ],
)
def test_contradiction_is_found(recording: Recording, what: str) -> None:
    (found,) = contradictions(recording)
    assert what in found


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(seen(replace(REFUSED, api_version=99)), id="not-listed"),
        pytest.param(recorded(REFUSED, connections=[opened()], duration_ms=LATE_MS), id="without-a-table"),
        pytest.param(seen(UNANSWERED, closed_by="client"), id="closed-by-the-client"),
        pytest.param(seen(ended(), closed_by="broker"), id="closed-after-a-response"),
        pytest.param(
            seen(replace(UNANSWERED, answered_ms=20), closed_by="broker"),
            id="closed-after-a-response-that-was-not-kept",
        ),
        pytest.param(seen(written(0), ended(), fetched(3, 3)), id="stable"),
        pytest.param(seen(written(0), fetched(3, 0)), id="transaction-goes-on"),
        pytest.param(
            seen(written(0), ended(error_code=ErrorCode.INVALID_TXN_STATE), fetched(2, 0)),
            id="end-not-confirmed",
        ),
        pytest.param(seen(ended(), fetched(2, 0), duration_ms=900), id="too-early-to-tell"),
        pytest.param(seen(fetched(2, 0, at_ms=20), ended()), id="seen-before-the-end"),
        pytest.param(seen(ended(), fetched(2, 0), fetched(3, 3, at_ms=300)), id="stable-later"),
        pytest.param(
            seen(ended(), fetched(2, 0, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)),
            id="fetch-refused",
        ),
        pytest.param(seen(written(0), fetched(1, 1)), id="all-there"),
        pytest.param(seen(written(0, error_code=ErrorCode.REQUEST_TIMED_OUT), fetched(0, 0)), id="refused"),
        pytest.param(seen(written(5), written(0, topic="another"), fetched(1, 1)), id="several-topics"),
        pytest.param(seen(replace(ended(), response=encode_frame(b"\0\0"))), id="unreadable"),
    ],
)
def test_right_broker_contradicts_nothing(recording: Recording) -> None:
    assert contradictions(recording) == []


SLOW = MAX_MS + 1000


def request(api_key: int, at_ms: int, answered_ms: int | None, connection: int = 0) -> SeenRequest:
    """Return a request, and when a real broker answered it; None for never."""
    seen = sent(1, api_key=api_key, at_ms=at_ms, connection=connection)
    return replace(seen, answered_ms=answered_ms)


def recording_of(*took_ms: int) -> Recording:
    """Return a recording of requests that a broker took so long to answer, each on a connection of its own."""
    return recorded(*(request(CREATE_TOPICS_KEY, 10, 10 + each, connection) for connection, each in enumerate(took_ms)))


@pytest.mark.parametrize(
    "took_ms",
    [
        pytest.param([SLOW], id="one-answer"),
        pytest.param([400] * 20, id="many-answers"),
    ],
)
def test_slow_broker_is_named(took_ms: list[int]) -> None:
    """The sentence has the time, and the request that took longest."""
    sentence = slow_answers(recording_of(*took_ms))
    assert sentence.startswith("the broker was too slow: the client waited ")
    assert sentence.endswith("for CreateTopics v1")


def test_broker_that_does_not_answer_is_slow() -> None:
    """Up to the end of the connection, or of the play."""
    unanswered = request(METADATA_KEY, 0, None)
    still_open: dict[str, Any] = {"closed_ms": None, "closed_by": ""}
    assert slow_answers(recorded(unanswered, connections=[opened(**still_open)], duration_ms=SLOW)).endswith(
        "for Metadata v1"
    )
    assert not slow_answers(recorded(unanswered, connections=[opened(closed_ms=100)]))


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param([request(key, 0, SLOW) for key in MAY_WAIT], id="may-wait"),
        pytest.param([request(PRODUCE_KEY, 0, None)], id="without-confirmation"),
        pytest.param(
            [request(METADATA_KEY, at, at + SLOW_MS) for at in range(0, 20_000, SLOW_MS)],
            id="loop-of-fast-answers",
        ),
        pytest.param(
            [request(JOIN_GROUP_KEY, 0, SLOW), request(METADATA_KEY, 1, SLOW + 5)],
            id="after-one-that-waits",
        ),
    ],
)
def test_broker_is_not_slow(requests: list[SeenRequest]) -> None:
    """What waits by design, what needs no answer, and what comes after them in line says nothing about the broker."""
    assert not slow_answers(recorded(*requests))


RELEASE = select_targets(["apache-kafka-4.4.0"])[0]
OPERATION = "transactional-produce"
JUDGED, SAME_LIBRARY, OTHER, THIRD = (
    select_clients([name])[0]
    for name in (
        "kafka-clients-3.9.2-admin",
        "kafka-clients-2.8.2-admin",
        "aiokafka-0.14.0",
        "franz-go-1.22.3",
    )
)
WRONG = replace(WELL, outcome="error", detail="WrongResult: the record came back as b'aborted'")
OTHERWISE = replace(WELL, outcome="error", detail="TimeoutException", exit_status=1)
HUNG = replace(WELL, outcome="error", detail="no result after 20.0 s")
READ = seen(written(0), ended(), fetched(3, 3))
FAULT = "the broker may be at fault: "


def tried(result: DriverResult, recording: Recording = READ) -> Any:
    """Return a play of the operation with this end."""
    return TriedPlay(recording=recording, result=result)


class PreparedPool:
    """Runs nothing; each client has a prepared play, or fails to run."""

    def __init__(self, plays: dict[str, Any]) -> None:
        self._plays = plays

    def submit(self, _: Any, __: Any, client: Client, *___: Any) -> Future[Any]:
        """Return the play of a client."""
        done: Future[Any] = Future()
        play = self._plays[client.id]
        if isinstance(play, Exception):
            done.set_exception(play)
        else:
            done.set_result(play)
        return done


def trial_of(monkeypatch: pytest.MonkeyPatch, judged: Any, *others: tuple[Client, Any]) -> Trial:
    """Return the trial of one client, with others that are tried as well."""
    monkeypatch.setattr(trial_module, "installed", lambda client: client.id)
    plays = {client.id: play for client, play in ((JUDGED, judged), *others)}
    broker = RunningBroker(target=RELEASE, launcher="process", addresses={PLAINTEXT: Address("127.0.0.1", 9)})
    trials = Trials(broker, PreparedPool(plays))  # type: ignore[arg-type]
    chosen = [ChosenTrial(RELEASE, client, OPERATION) for client, _ in ((JUDGED, None), *others)]
    trials.begin(chosen)
    return Trial(chosen[0], trials)


def message_of(monkeypatch: pytest.MonkeyPatch, judged: Any, *others: tuple[Client, Any]) -> list[str]:
    """Return the lines of the failure of one client, tried with others."""
    trial = trial_of(monkeypatch, judged, *others)
    with pytest.raises(AssertionError) as raised:
        client_operates(trial)
    return str(raised.value).splitlines()


def test_libraries_that_fail_alike_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first line stays as it is, and the last one sums the play up."""
    others = ((OTHER, tried(WRONG)), (THIRD, tried(WRONG)), (SAME_LIBRARY, tried(WRONG)))
    first, doubt, last = message_of(monkeypatch, tried(WRONG), *others)
    assert first.startswith("the operation reports success, but the record came back")
    assert doubt == f"{FAULT}aiokafka-0.14.0, franz-go-1.22.3 fails alike"
    assert "connection" in last


@pytest.mark.parametrize(
    ("judged", "other"),
    [
        pytest.param(tried(WRONG), tried(WELL), id="other-works"),
        pytest.param(tried(WRONG), tried(OTHERWISE), id="other-failure"),
        pytest.param(tried(WRONG), OSError("no such program"), id="other-not-run"),
        pytest.param(tried(HUNG, DOOMED), tried(HUNG, DOOMED), id="unsupported-requests"),
        pytest.param(tried(ABORTED), tried(ABORTED), id="aborts"),
        pytest.param(tried(WRONG), tried(HUNG, DOOMED), id="other-sends-unsupported-requests"),
    ],
)
def test_broker_is_not_blamed(judged: Any, other: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another library does right, or each does wrong by itself, is no doubt."""
    lines = message_of(monkeypatch, judged, (OTHER, other))
    assert not [line for line in lines if FAULT in line]


def test_one_library_is_not_several(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = message_of(monkeypatch, tried(WRONG), (SAME_LIBRARY, tried(WRONG)))
    assert not [line for line in lines if FAULT in line]


def test_broker_that_contradicts_itself_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that confirms the end of a transaction and never ends it."""
    held_back = seen(written(0), ended(), fetched(2, 0))
    first, doubt, _ = message_of(monkeypatch, tried(HUNG, held_back))
    assert first == "the operation neither succeeds nor fails: it hangs"
    assert doubt.startswith(f"{FAULT}it confirmed the end of a transaction")


def test_newest_versions_are_judged_over_all_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    right = tried(WELL, recorded(asked(3), sent(12)))
    trial = trial_of(monkeypatch, right)
    about_all = Trial(replace(trial.chosen, operation=NEWEST_VERSIONS), trial.trials)
    client_operates(about_all)
    older = replace(trial.chosen, operation="consume")
    wrong = tried(WELL, recorded(asked(3), sent(11)))
    monkeypatch.setattr(trial.trials, "of", lambda part: wrong if part == older else right)
    with pytest.raises(AssertionError) as raised:
        client_operates(about_all)
    first, last = str(raised.value).splitlines()
    assert first == "Metadata v11 on connection 0 was sent, although both sides know Metadata v12"
    assert last.startswith("in consume: ")
    assert about_all.journal


def test_unsupported_operation_stays_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that says what the broker lacks has no failure that needs a doubt."""
    unsupported = replace(WELL, outcome="error", detail="UnsupportedVersionException: too old")
    trial = trial_of(monkeypatch, tried(unsupported, seen(REFUSED)))
    with pytest.raises(Unsupported) as raised:
        client_operates(trial)
    assert FAULT not in str(raised.value)
