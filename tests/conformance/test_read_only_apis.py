"""The sentences about pipelined requests of several APIs: each fault of their order has words of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.assertions.items import Item, Problem
from conformance.assertions.other_apis import check_served
from conformance.assertions.read_only_apis import (
    LATE_US,
    assert_in_order,
    request_of,
    request_without_response,
    why_unserved,
)
from fixtures.client.patience import Patience
from fixtures.client.response_matching import Received, judge_by_position
from reference_model.faults.broker import DEFECTS
from tests.conformance.in_memory_runs import broker_with
from wire.exchange import Arrival, Exchange, Outcome, Request

MS = 1_000_000
METADATA, LIST_GROUPS, PRODUCE = (
    Item("Metadata", 3, 1),
    Item("ListGroups", 16, 0),
    Item("Produce", 0, 13),
)
SENT = tuple(
    request_of(item, correlation_id=number)
    for number, item in enumerate((METADATA, LIST_GROUPS, METADATA))
)


def exchanges_of(
    sent: tuple[Request, ...], *ids: int, ended: bool = False, lags_ms: tuple[int, ...] = ()
) -> tuple[Exchange, ...]:
    """Return the exchanges of pipelined requests that get responses with these ids."""
    lags = (*lags_ms, *[0] * len(ids))
    received = Received(
        payloads=[
            (each.to_bytes(4) + bytes(6), lag * MS) for each, lag in zip(ids, lags, strict=False)
        ],
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
            "the responses have other correlation ids than the requests",
            id="another-id",
        ),
        pytest.param(
            exchanges_of(SENT, 0, 0, 1),
            "the responses have other correlation ids than the requests",
            id="twice",
        ),
    ],
)
def test_each_fault_of_the_order_has_its_own_words(
    exchanges: tuple[Exchange, ...], words: str
) -> None:
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


def test_response_that_is_not_due_is_named() -> None:
    """A response to Produce with acks 0 takes the place of another one."""
    with pytest.raises(AssertionError, match="a request with acks 0 got a response"):
        assert_in_order(exchanges_of((SENT[0], SILENT, SENT[1]), 0, 7))


@pytest.mark.parametrize(
    ("item", "payload", "why"),
    [
        pytest.param(LIST_GROUPS, "00000007 0000 00000000", "", id="served"),
        pytest.param(LIST_GROUPS, "00000008 0000 00000000", "another correlation id", id="id"),
        pytest.param(LIST_GROUPS, "00000007 0000", "its response cannot be decoded", id="bytes"),
        pytest.param(LIST_GROUPS, None, "closed", id="closed"),
    ],
)
def test_version_is_served_if_its_response_decodes(
    item: Item, payload: str | None, why: str
) -> None:
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
def test_listed_version_is_unserved_only_if_it_is_refused_anywhere(
    defect: str, served: bool
) -> None:
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
