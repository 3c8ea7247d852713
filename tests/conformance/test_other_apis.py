"""How an answer of any API is judged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions import other_apis
from conformance.assertions.items import Item, Problem, Refusal
from conformance.assertions.judging import NotSeen, Unjudged
from conformance.assertions.other_apis import (
    advertised_items,
    check_not_served,
    check_served,
    check_supported,
    neighbouring_items,
    skipped_apis,
    undescribed_items,
    why_skipped,
)
from conformance.brokers import test_before_authentication
from fixtures.errors import ConnectionFailed
from fixtures.launchers.kafka_home import home_target
from fixtures.registry.targets import newest_release
from fixtures.under_test.broker import Broker
from strategies.hypothesis_adapter import assumptions_outside_hypothesis, body_of
from tests.fixtures.kafka_homes import write_home
from wire.api_versions import ApiVersion
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome, Request

LIST_GROUPS = Item("ListGroups", 16, 0)


class NeverAsked:
    """A target that is never asked."""

    target = newest_release()


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


def test_a_version_that_is_served_is_asked_for_once(
    monkeypatch: pytest.MonkeyPatch, never_asked: Broker
) -> None:
    """A served version is no news."""
    codes = iter([ErrorCode.NONE, ErrorCode.NONE])
    answering(monkeypatch, codes)
    assert check_served(never_asked, LIST_GROUPS).outcome is Outcome.ANSWER
    assert len(list(codes)) == 1


def test_a_refused_version_is_served_but_not_supported(
    monkeypatch: pytest.MonkeyPatch, never_asked: Broker
) -> None:
    """UNSUPPORTED_VERSION in the version's layout is a response, and a refusal, which is requested again."""
    answering(monkeypatch, repeat(ErrorCode.UNSUPPORTED_VERSION))
    assert check_served(never_asked, LIST_GROUPS).outcome is Outcome.ANSWER
    for _ in range(2):
        with pytest.raises(Refusal, match="answered with UNSUPPORTED_VERSION"):
            check_supported(never_asked, LIST_GROUPS)


def test_what_is_served_is_not_requested_a_second_time(
    monkeypatch: pytest.MonkeyPatch, never_asked: Broker
) -> None:
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


def test_what_only_a_build_knows_is_swept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, never_asked: Broker
) -> None:
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


@pytest.mark.parametrize(("launcher", "skipped"), [("address", ("DeleteTopics",)), ("process", ())])
def test_what_changes_a_broker_is_requested_of_our_own_alone(
    launcher: str, skipped: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At an address such an API is left out, and the cell of a sweep says why."""

    class AtHand(NeverAsked):
        """It was started in this way."""

        running = SimpleNamespace(launcher=launcher)

    broker = cast(Broker, AtHand())
    table = tuple(ApiVersion(api_key=key, min_version=0, max_version=0) for key in (16, 20))
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
    """A broker that takes in an unknown member may answer JoinGroup later than we wait; no other API has such a reason."""
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
def test_no_answer_is_no_refusal(
    monkeypatch: pytest.MonkeyPatch, outcome: Outcome, never_asked: Broker
) -> None:
    """A client that waits for a version's refusal would wait forever."""
    monkeypatch.setattr(
        other_apis, "send", lambda broker, request, **_: Exchange(request=request, outcome=outcome)
    )
    with pytest.raises(
        Problem, match=r"neither refused nor closed; the target (ignored|fell silent)"
    ):
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
