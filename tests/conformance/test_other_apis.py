"""Tests of how a response of any API is judged.

Each fault in the order of several responses has words of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions import other_apis
from conformance.assertions.errors import NotSeen, Unjudged
from conformance.assertions.items import Item, Problem, Refusal
from conformance.assertions.other_apis import (
    advertised_items,
    check_not_served,
    check_served,
    check_supported,
    neighbouring_items,
    skipped_apis,
    undescribed_items,
)
from conformance.assertions.read_only_apis import request_of, request_without_response, why_unserved
from conformance.assertions.response_order import LATE_US, assert_in_order
from conformance.assertions.sendable_apis import why_skipped
from conformance.brokers import test_before_authentication
from fixtures.client.patience import Patience
from fixtures.client.response_matching import ReceivedFrames, judge_by_position
from fixtures.errors import ConnectionFailed
from fixtures.launchers.named_targets import home_target
from fixtures.registry.targets import newest_release
from fixtures.under_test.broker import Broker
from reference_model.faults.broker import DEFECTS
from strategies.hypothesis_adapter import assumptions_outside_hypothesis, body_of
from tests.conformance.in_memory_runs import broker_with
from tests.fixtures.kafka_homes import write_home
from wire.api_versions import ApiVersion
from wire.error_codes import ErrorCode
from wire.exchange import Arrival, Exchange, Outcome, Request

LIST_GROUPS = Item("ListGroups", 16, 0)


class NeverAsked:
    """A target that is never asked."""

    target = newest_release()
    running = SimpleNamespace(launcher="process")


@pytest.fixture
def never_asked() -> Broker:
    """Another one in each test, because what a target served is kept."""
    return cast(Broker, NeverAsked())


def answering(monkeypatch: pytest.MonkeyPatch, codes: Iterator[ErrorCode]) -> None:
    """Answer ListGroups v0 with these error codes, in turn, and without groups."""

    def send(broker: Broker, request: Request, *, silence_bound_s: float = 0.7) -> Exchange:
        code = next(codes, None)
        if code is None:
            raise ConnectionFailed("refused")
        correlation_id = request.correlation_id.to_bytes(4, signed=True)
        return Exchange(
            request=request,
            outcome=Outcome.ANSWER,
            payload=correlation_id + code.to_bytes(2, signed=True) + bytes(4),
            usable=True,
        )

    monkeypatch.setattr(other_apis, "send", send)


def test_a_version_that_is_served_is_asked_for_once(monkeypatch: pytest.MonkeyPatch, never_asked: Broker) -> None:
    """A served version is no news."""
    codes = iter([ErrorCode.NONE, ErrorCode.NONE])
    answering(monkeypatch, codes)
    assert check_served(never_asked, LIST_GROUPS).outcome is Outcome.ANSWER
    assert len(list(codes)) == 1


def test_a_refused_version_is_served_but_not_supported(monkeypatch: pytest.MonkeyPatch, never_asked: Broker) -> None:
    """UNSUPPORTED_VERSION in the version's layout is a response, and a refusal, which is requested again."""
    answering(monkeypatch, repeat(ErrorCode.UNSUPPORTED_VERSION))
    assert check_served(never_asked, LIST_GROUPS).outcome is Outcome.ANSWER
    for _ in range(2):
        with pytest.raises(Refusal, match="answered with UNSUPPORTED_VERSION"):
            check_supported(never_asked, LIST_GROUPS)


def test_what_is_served_is_not_requested_a_second_time(monkeypatch: pytest.MonkeyPatch, never_asked: Broker) -> None:
    """The second sweep takes the first one's exchanges, and requests nothing that the first one did not come to."""
    answering(monkeypatch, iter([ErrorCode.NONE]))
    served = check_served(never_asked, LIST_GROUPS)
    assert check_supported(never_asked, LIST_GROUPS) is served
    with pytest.raises(UnsatisfiedAssumption):
        check_supported(never_asked, LIST_GROUPS._replace(api_version=1))


@pytest.mark.parametrize(
    ("lowest", "highest", "neighbours"),
    [(-32768, 32767, []), (-32768, 3, [4]), (1, 32767, [0]), (5, 2, [])],
)
def test_neighbours_of_a_range_can_be_versions(
    lowest: int,
    highest: int,
    neighbours: list[int],
    monkeypatch: pytest.MonkeyPatch,
    never_asked: Broker,
) -> None:
    """A table may list the smallest and the largest version that fit; a reversed range has no neighbours."""
    table = (ApiVersion(api_key=3, min_version=lowest, max_version=highest),)
    monkeypatch.setattr(other_apis, "advertised_table", lambda broker: table)
    monkeypatch.setattr(other_apis, "skipped_apis", lambda broker: ())
    assert [each.api_version for each in neighbouring_items(never_asked)] == neighbours


def test_what_only_a_build_knows_is_swept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, never_asked: Broker) -> None:
    """The schemas of its own jar describe a new API; for another target such an entry cannot be requested."""
    halves = ("request", "response")
    schemas = [
        {"apiKey": 9000, "type": kind, "name": f"AskMore{kind.title()}", "validVersions": "0-1"}
        | {"flexibleVersions": "0+", "fields": []}
        for kind in halves
    ]

    class Build(NeverAsked):
        """The build that has these schemas."""

        target = home_target(write_home(tmp_path / "build", schemas=schemas))
        running = SimpleNamespace(launcher="home")
        asks_for_authentication = False

    build = cast(Broker, Build())
    table = (ApiVersion(api_key=9000, min_version=0, max_version=1),)
    monkeypatch.setattr(other_apis, "advertised_table", lambda broker: table)
    items = [Item("AskMore", 9000, 0), Item("AskMore", 9000, 1)]
    assert list(advertised_items(build)) == items
    assert list(undescribed_items(build)) == []
    assert list(undescribed_items(never_asked)) == [Item("key 9000", 9000, 0)]
    neighbours = [Item("AskMore", 9000, -1), Item("AskMore", 9000, 2)]
    assert list(neighbouring_items(build)) == neighbours
    asked: list[Request] = []

    def ask_anyhow(broker: Broker, request: Request) -> Exchange:
        asked.append(request)
        payload = bytes.fromhex("00000007 00 00")
        return Exchange(request=request, outcome=Outcome.ANSWER, payload=payload, usable=True)

    monkeypatch.setattr(other_apis, "ask_anyhow", ask_anyhow)
    check_served(build, items[1])
    assert (asked[0].api_key, asked[0].api_version) == (9000, 1)


@pytest.mark.parametrize(("launcher", "skipped"), [("address", ("LeaderAndIsr",)), ("process", ())])
def test_what_changes_a_broker_is_requested_of_our_own_alone(
    launcher: str, skipped: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At an address such an API is left out, unless a request can name nothing, and the cell of a sweep says why."""

    class AtHand(NeverAsked):
        """It was started in this way."""

        running = SimpleNamespace(launcher=launcher)

    broker = cast(Broker, AtHand())
    table = tuple(ApiVersion(api_key=key, min_version=0, max_version=0) for key in (4, 16, 20))
    monkeypatch.setattr(other_apis, "advertised_table", lambda broker: table)
    assert skipped_apis(broker) == skipped
    assert why_skipped(broker) == "this suite did not start the target"


@pytest.mark.parametrize("was_swept", [True, False])
def test_what_is_not_served_is_neither_supported_nor_refused(
    monkeypatch: pytest.MonkeyPatch, *, was_swept: bool, never_asked: Broker
) -> None:
    """The second sweep leaves out a version without a readable response: the first one judges it."""

    def ask_anyhow(broker: Broker, request: Request) -> Exchange:
        return Exchange(request=request, outcome=Outcome.CLOSED)

    monkeypatch.setattr(other_apis, "ask_anyhow", ask_anyhow)
    if was_swept:
        with pytest.raises(Problem):
            check_served(never_asked, LIST_GROUPS)
    with pytest.raises(UnsatisfiedAssumption):
        check_supported(never_asked, LIST_GROUPS)


@pytest.mark.parametrize(
    ("code", "advertised", "what"),
    [
        (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.NONE, ""),
        (ErrorCode.INVALID_REQUEST, ErrorCode.NONE, ""),
        (ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST, "served, although"),
        (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NONE, "served, although"),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.NONE, "served, although"),
        (ErrorCode.NONE, ErrorCode.NONE, "served, although"),
    ],
)
def test_only_a_refusal_shows_that_a_version_is_not_served(
    monkeypatch: pytest.MonkeyPatch,
    code: ErrorCode,
    advertised: ErrorCode,
    what: str,
    never_asked: Broker,
) -> None:
    """INVALID_REQUEST counts as a refusal, unless an advertised version gets it too; other codes do not."""
    answering(monkeypatch, iter([code, advertised]))
    table = (ApiVersion(api_key=16, min_version=0, max_version=0),)
    monkeypatch.setattr(other_apis, "advertised_table", lambda broker: table)
    above = LIST_GROUPS._replace(api_version=-1)
    with pytest.raises(Problem, match=what) if what else nullcontext():
        check_not_served(never_asked, above)


def test_group_may_wait_for_members(monkeypatch: pytest.MonkeyPatch, never_asked: Broker) -> None:
    """A broker that takes in an unknown member may answer JoinGroup later than we wait; no other API has such a
    reason."""
    monkeypatch.setattr(
        other_apis,
        "ask_anyhow",
        lambda broker, request: Exchange(request=request, outcome=Outcome.SILENT),
    )
    with pytest.raises(Unjudged, match="wait for further members"):
        check_served(never_asked, Item("JoinGroup", 11, 0))
    with pytest.raises(Problem, match="fell silent"):
        check_served(never_asked, LIST_GROUPS)


@pytest.mark.parametrize("outcome", [Outcome.SILENT, Outcome.IGNORED])
def test_no_answer_is_no_refusal(monkeypatch: pytest.MonkeyPatch, outcome: Outcome, never_asked: Broker) -> None:
    """A client that waits for a version's refusal would wait forever."""
    monkeypatch.setattr(other_apis, "send", lambda broker, request, **_: Exchange(request=request, outcome=outcome))
    with pytest.raises(Problem, match=r"neither refused nor closed; the target (ignored|fell silent)"):
        check_not_served(never_asked, LIST_GROUPS)


@pytest.mark.parametrize(("api_key", "is_open"), [(19, True), (20, False)])
def test_api_that_is_not_requested_leaves_a_failure_open(
    api_key: int, is_open: bool, monkeypatch: pytest.MonkeyPatch, never_asked: Broker
) -> None:
    """A failure of a release that the suite started is not acquitted at an address, where less is requested."""
    monkeypatch.setattr(other_apis, "filled_table", lambda broker: ())
    monkeypatch.setattr(other_apis, "skipped_apis", lambda broker: ("CreateTopics",))
    judged = test_before_authentication.test_advertised_apis_are_not_served_before_authentication
    with assumptions_outside_hypothesis(), pytest.raises(UnsatisfiedAssumption) as caught:
        body_of(judged)(broker=never_asked, api_key=api_key, newest=True, before=[])
    assert isinstance(caught.value, NotSeen) is is_open


MS = 1_000_000
METADATA, PRODUCE = Item("Metadata", 3, 1), Item("Produce", 0, 13)
SENT = tuple(request_of(item, correlation_id=number) for number, item in enumerate((METADATA, LIST_GROUPS, METADATA)))


def exchanges_of(
    sent: tuple[Request, ...], *ids: int, ended: bool = False, lags_ms: tuple[int, ...] = ()
) -> tuple[Exchange, ...]:
    """Return the exchanges of pipelined requests that get responses with these ids."""
    lags = (*lags_ms, *[0] * len(ids))
    received = ReceivedFrames(
        payloads=[(each.to_bytes(4) + bytes(6), lag * MS) for each, lag in zip(ids, lags, strict=False)],
        ended=ended,
    )
    return judge_by_position(sent, received, sent_at=0)


def test_responses_in_order_are_right() -> None:
    """Each request has its response, however long it took."""
    assert_in_order(exchanges_of(SENT, 0, 1, 2, lags_ms=(0, 0, 9000)))


LATE_MS = LATE_US // 1000 + 1


@pytest.mark.parametrize(
    ("exchanges", "words"),
    [
        pytest.param(
            exchanges_of(SENT, 0, 2, 1),
            "the responses came in another order than the requests\n"
            "sent: Metadata v1, ListGroups v0, Metadata v1\n"
            "answered: Metadata v1, Metadata v1, ListGroups v0",
            id="overtaken",
        ),
        pytest.param(
            exchanges_of(SENT, 0, 2, 1, lags_ms=(0, 0, LATE_MS)),
            "the responses came in another order than the requests and late\n",
            id="late",
        ),
        pytest.param(
            exchanges_of(SENT, 1, 0, 2, lags_ms=(0, 0, LATE_MS)),
            "the responses came in another order than the requests\n",
            id="another-one-is-late",
        ),
        pytest.param(
            exchanges_of(SENT, 0, 2),
            "a request was ignored, although a later one was answered\n",
            id="ignored",
        ),
        pytest.param(
            exchanges_of(SENT, 0, ended=True),
            "the target closed the connection before every request was answered\n",
            id="closed",
        ),
        pytest.param(
            exchanges_of(SENT),
            "the target fell silent before every request was answered\n"
            "sent: Metadata v1, ListGroups v0, Metadata v1\nanswered: nothing",
            id="silent",
        ),
        pytest.param(
            exchanges_of(SENT, 0, 1, 9),
            "the response has the correlation id 9, and its request 2",
            id="another-id",
        ),
        pytest.param(
            exchanges_of(SENT, 0, 0, 1),
            "the response with the correlation id 0 came twice",
            id="twice",
        ),
    ],
)
def test_each_fault_of_the_order_has_its_own_words(exchanges: tuple[Exchange, ...], words: str) -> None:
    """Reordered, late, ignored and lost responses are distinguished in the first line."""
    with pytest.raises(AssertionError) as raised:
        assert_in_order(exchanges)
    assert str(raised.value).startswith(words)


SILENT = request_without_response(PRODUCE, correlation_id=7)


def test_request_without_a_response_shifts_no_other() -> None:
    """The responses belong to the requests around it, and it counts as ignored if a later one is answered."""
    exchanges = exchanges_of((SENT[0], SILENT, SENT[1]), 0, 1)
    assert_in_order(exchanges)
    assert [each.outcome.value for each in exchanges] == ["answer", "ignored", "answer"]
    assert [each.payload and each.payload[3] for each in exchanges] == [0, None, 1]


@pytest.mark.parametrize(("ended", "outcome"), [(True, Outcome.CLOSED), (False, Outcome.SILENT)])
def test_request_without_a_response_may_cost_the_connection(ended: bool, outcome: Outcome) -> None:
    """If no later request is answered, it shares their outcome."""
    exchanges = exchanges_of((SENT[0], SILENT, SENT[1]), 0, ended=ended)
    assert [each.outcome for each in exchanges] == [Outcome.ANSWER, outcome, outcome]


def test_last_request_without_a_response_is_silent() -> None:
    """Nothing shows whether it was read."""
    assert exchanges_of((SENT[0], SILENT), 0)[1].outcome is Outcome.SILENT


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        pytest.param((0, 7, 1), "a request with acks 0 got a response", id="one-too-many"),
        pytest.param((0, 7), "a request with acks 0 may have got a response", id="cannot-be-told"),
        pytest.param((0, 7, 2), "the response has the correlation id 7, and its request 1", id="wrong-id"),
    ],
)
def test_response_with_the_id_of_a_request_without_one_is_named(ids: tuple[int, ...], words: str) -> None:
    """What follows distinguishes a response to Produce with acks 0 from one to another request that has a wrong id."""
    with pytest.raises(AssertionError, match=words):
        assert_in_order(exchanges_of((SENT[0], SILENT, SENT[1], SENT[2]), *ids))


@pytest.mark.parametrize(
    ("item", "payload", "why"),
    [
        pytest.param(LIST_GROUPS, "00000007 0000 00000000", "", id="served"),
        pytest.param(LIST_GROUPS, "00000008 0000 00000000", "another correlation id", id="id"),
        pytest.param(LIST_GROUPS, "00000007 0000", "its response cannot be decoded", id="bytes"),
        pytest.param(LIST_GROUPS, None, "closed", id="closed"),
    ],
)
def test_version_is_served_if_its_response_decodes(item: Item, payload: str | None, why: str) -> None:
    """The response has the layout of its version and the request's correlation id."""
    exchange = Exchange(request=request_of(item), outcome=Outcome.CLOSED)
    if payload is not None:
        exchange = replace(exchange, outcome=Outcome.ANSWER, payload=bytes.fromhex(payload))
    assert why_unserved(item, exchange).partition(":")[0] == why


@pytest.mark.parametrize(
    ("defect", "served"),
    [
        pytest.param("other-apis-before-api-versions-close", True, id="after-api-versions"),
        pytest.param("old-group-lists-before-api-versions-are-ignored", True, id="ignored-before"),
        pytest.param("api-versions-comes-first-or-closes", True, id="sentinel-costs-it"),
        pytest.param("metadata-is-overtaken", True, id="overtaken"),
        pytest.param("the-newest-metadata-closes", False, id="never"),
    ],
)
def test_listed_version_is_unserved_only_if_it_is_refused_anywhere(defect: str, served: bool) -> None:
    """A request that is served after ApiVersions, without a sentinel or out of order does not make the table wrong."""
    broker = broker_with(DEFECTS[defect].tampering, patience=Patience())
    item = LIST_GROUPS if "group" in defect else Item("Metadata", 3, 13)
    if served:
        assert check_served(broker, item).outcome is Outcome.ANSWER
    else:
        with pytest.raises(Problem, match="closed the connection instead of answering"):
            check_served(broker, item)


@pytest.mark.parametrize(
    ("defect", "arrival"),
    [
        ("api-versions-comes-first-or-closes", Arrival.ALONE),
        ("clusters-are-described-late", Arrival.OVERTAKEN),
    ],
)
def test_arrival_of_a_planted_defect(defect: str, arrival: Arrival) -> None:
    """In memory no time passes, so a late response is an overtaken one."""
    broker = broker_with(DEFECTS[defect].tampering, patience=Patience())
    exchange = broker.exchange(request_of(Item("DescribeCluster", 60, 0)))
    assert (exchange.outcome, exchange.usable) == (Outcome.ANSWER, True)
    assert exchange.arrival is arrival
