"""Tests of how KIP-1313, a proposal, is judged.

They check what is drawn, that the suite asks for the claim again after an error, and that the result is only
informational where the text leaves something open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.blame import judged_elsewhere
from conformance.assertions.errors import MalformedAnswer, Unjudged
from conformance.assertions.other_apis import NoTableReadable, advertised_table
from conformance.assertions.superseded import check_not_superseded
from conformance.brokers import test_version_negotiation
from fixtures.errors import BrokerGone
from fixtures.registry.reference import reference_target
from fixtures.under_test.broker import Broker
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.in_memory import InMemoryBroker, InMemoryTarget, in_memory_proposed, in_memory_target
from fixtures.under_test.in_memory_client import in_memory_client
from proposals.kip_1313 import PROPOSAL
from proposals.kip_1313.assertions import (
    OLD_VERSIONS,
    carriers,
    claims_instance_ids,
    newest_api_versions,
)
from proposals.kip_1313.broker import GIVEN_ID
from proposals.kip_1313.messages import OFFSET_DELETE_KEY
from proposals.kip_1313.old_telemetry import serves_old_telemetry
from proposals.kip_1313.properties.brokers import (
    test_changed_apis,
    test_client_ids,
    test_instance_ids,
)
from proposals.kip_1313.properties.clients import test_instance_ids as client_properties
from proposals.kip_1313.requests import AN_ID, RESERVED_ID, InstanceIdRequest, instance_ids
from proposals.kip_1313.scripts import claiming_cluster, mixed_cluster
from reference_model.broker.model.state_machine import ReferenceBroker
from reference_model.broker.rules.responses import encode_body
from reference_model.clients.model.client_connections import CLIENT_ID, Link
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.scripts.script import HEALTHY_SCRIPT
from reference_model.faults.broker import DEFECTS
from reference_model.faults.clients import FAULTS, Fault
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import REFERENCE, profile_of
from strategies.api_versions import UnservedRequest, build_request
from strategies.histories import ALONE
from strategies.hypothesis_adapter import assumptions_outside_hypothesis, body_of
from tests.strategies.search import find_any
from wire.api_keys import API_VERSIONS_KEY, GET_TELEMETRY_SUBSCRIPTIONS_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersion, ApiVersionsResponse
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome, Request
from wire.headers import NO_INSTANCE_ID
from wire.message_schemas import Api

CLAIMING = (
    ApiVersion(api_key=API_VERSIONS_KEY, min_version=0, max_version=NEWEST_VERSION + 1),
    ApiVersion(api_key=OFFSET_DELETE_KEY, min_version=0, max_version=1),
)


class Turning:
    """A target whose table cannot be requested at first, once for each error."""

    described_version = readable_version = NEWEST_VERSION

    def __init__(self, *errors: Exception) -> None:
        self._errors = [*errors]

    def connect(self) -> AbstractContextManager[Turning]:
        """Open a connection, once there is no error left."""
        if self._errors:
            raise self._errors.pop()
        return nullcontext(self)

    def converse(self, requests: Sequence[Request]) -> list[Exchange]:
        """Return the table."""
        body = encode_body(ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=CLAIMING), requests[0].api_version)
        (request,) = requests
        payload = request.header.correlation_id.to_bytes(4, "big") + body
        return [Exchange(request=request, outcome=Outcome.ANSWER, payload=payload)]


def test_error_is_not_kept() -> None:
    """After a connection that failed once, the next property finds the claim, and what can be requested."""
    broker = cast(Broker, Turning(BrokerGone("it has ended")))
    with pytest.raises(BrokerGone):
        claims_instance_ids(broker)
    assert claims_instance_ids(broker)
    assert {each.api_key for each in carriers(broker)} == {OFFSET_DELETE_KEY, API_VERSIONS_KEY}


def test_table_that_does_not_decode_claims_nothing() -> None:
    """A target of which no version decodes claims no proposal, until one does."""
    broker = cast(Broker, Turning(NoTableReadable("garbage")))
    assert not claims_instance_ids(broker)
    assert claims_instance_ids(broker)
    assert newest_api_versions(broker) == NEWEST_VERSION + 1
    assert advertised_table(broker) == CLAIMING


def in_memory(fault: str = "", **decisions: Any) -> InMemoryBroker:
    """Return the model broker of KIP-1313, with decisions replaced."""
    running = in_memory_proposed(PROPOSAL, fault)
    for served in running.served.values():
        for name, decide in decisions.items():
            setattr(served, name, decide)
    return InMemoryBroker(running, PLAINTEXT)


def judge(broker: Broker, *drawn: InstanceIdRequest) -> None:
    """Judge which client id counts for some requests of a connection."""
    first, *later = drawn
    with assumptions_outside_hypothesis():
        body_of(test_client_ids.test_first_client_id_counts)(broker, first=first, later=later)


OLD, NEW = InstanceIdRequest(has_id=False), InstanceIdRequest()
NAMELESS = NEW.named(None)


@pytest.mark.parametrize("drawn", [(OLD, NAMELESS), (OLD, OLD, NEW), (NEW, NEW), (NAMELESS, NEW)], ids=str)
def test_each_request_with_its_own_client_id_is_the_other_reading(
    drawn: tuple[InstanceIdRequest, ...],
) -> None:
    judge(in_memory(), *drawn)
    with pytest.raises(Unjudged, match="the other reading"):
        judge(in_memory(client_id_of=lambda first, header, has_id: header.client_id), *drawn)


def test_header_with_an_id_after_an_older_one_may_be_refused() -> None:
    """The text says nothing about it, so it is noted; that an older header is refused is judged by other clauses."""
    picky = in_memory(accepts_first_id=lambda given, api_key: False)
    with pytest.raises(Unjudged, match="does not say whether it is"):
        judge(picky, OLD, NEW)
    with pytest.raises(UnsatisfiedAssumption):
        judge(picky, NEW, NEW)
    old_offset_delete = InstanceIdRequest(api=len(OLD_VERSIONS), has_id=False)
    with pytest.raises(UnsatisfiedAssumption):
        judge(in_memory("refuses-offset-delete-without-id"), old_offset_delete, NEW)


@pytest.mark.parametrize(
    ("drawn", "fault"),
    [
        ((OLD, NEW, NAMELESS), "takes-the-first-header-with-an-id-for-the-first-request"),
        ((NAMELESS, NEW, NAMELESS), "waits-for-a-client-id"),
        ((OLD, OLD, NEW), "takes-the-client-id-of-older-headers"),
    ],
)
def test_first_request_is_the_first_one_whatever_its_header(drawn: tuple[InstanceIdRequest, ...], fault: str) -> None:
    """A broker that takes another one for it violates the clause."""
    with pytest.raises(AssertionError, match="under the first client id") as raised:
        judge(in_memory(fault), *drawn)
    assert not isinstance(raised.value, Unjudged)


def test_version_that_no_schema_describes_is_rejected_on_every_connection() -> None:
    broker = in_memory()
    assert broker.max_version == NEWEST_VERSION + 1
    sent = build_request(version=NEWEST_VERSION + 1)
    with assumptions_outside_hypothesis(), broker.connect() as connection:
        for send in (
            connection.exchange,
            lambda request: connection.converse([request]),
            lambda request: connection.begin([request]),
            lambda request: connection.end_stream([request]),
            connection.send,
            lambda request: broker.converse_in_turn([request]),
        ):
            with pytest.raises(UnsatisfiedAssumption):
                send(sent)


def test_refused_version_with_an_id_may_need_ids_after_it() -> None:
    """A broker that then refuses v0 is informational: the proposal does not say whether the refused request is the
    first one."""
    judged = body_of(test_version_negotiation.test_refused_connection_reverts_to_v0)
    with assumptions_outside_hypothesis():
        judged(in_memory(), drawn=UnservedRequest())
        broker = in_memory()
        assert broker.max_version > NEWEST_VERSION
        for served in cast(InMemoryTarget, broker.running).served.values():
            served.accepts_no_id = lambda first, start: False  # type: ignore[attr-defined]
        with pytest.raises(Unjudged, match="the first request of its connection"):
            judged(broker, drawn=UnservedRequest())


def test_fault_with_unknown_versions_is_blamed_on_plain_requests() -> None:
    """In a version above the highest a plain request has header v3 as well, so one clause is to blame for all
    properties."""
    broker = in_memory("closes-on-the-version-after-the-newest")
    broker.begin_example()
    with assumptions_outside_hypothesis(), pytest.raises(MalformedAnswer) as raised:
        body_of(test_version_negotiation.test_refusal_names_the_served_range)(
            broker, drawn=UnservedRequest(), history=ALONE
        )
    reason = judged_elsewhere(broker, raised.value, ("KIP-511.unsupported-version-names-range",))
    assert "judged by KIP-35.unknown-version-gives-35" in str(reason)


def test_fault_in_header_v3_is_not_blamed_on_plain_requests() -> None:
    broker = in_memory("reads-a-compact-client-id")
    number = [each.api_key for each in carriers(broker)].index(API_VERSIONS_KEY)
    drawn = InstanceIdRequest(api=number, client_id="a" * 200)
    broker.begin_example()
    with pytest.raises(MalformedAnswer) as raised:
        body_of(test_instance_ids.test_header_with_an_id_is_read)(broker, drawn=drawn, instance_id=AN_ID)
    assert judged_elsewhere(broker, raised.value, ("KIP-1313.header-v3-layout",)) is None


def returned(api: Api, api_version: int, message: Any) -> Any:
    """Respond to GetTelemetrySubscriptions v0 as Apache Kafka 3.7 to 4.4: with the id of a client that has one."""
    if not is_old_request(api, api_version):
        return api.response()
    given_id = message.client_instance_id
    return api.response(client_instance_id=GIVEN_ID if given_id == NO_INSTANCE_ID else given_id)


def is_old_request(api: Api, api_version: int) -> bool:
    """Return whether a request is GetTelemetrySubscriptions v0."""
    return (api.api_key, api_version) == (GET_TELEMETRY_SUBSCRIPTIONS_KEY, 0)


def throttled(api: Api, api_version: int, message: Any) -> Any:
    """Respond to a client that has an id as Apache Kafka to one that comes again within minutes."""
    if not is_old_request(api, api_version) or message.client_instance_id == NO_INSTANCE_ID:
        return returned(api, api_version, message)
    return api.response(error_code=ErrorCode.THROTTLING_QUOTA_EXCEEDED)


def no_id(api: Api, api_version: int, message: Any) -> Any:
    """Make no id."""
    return api.response()


def made(api: Api, api_version: int, message: Any) -> Any:
    """Make an id for every client."""
    return returned(api, api_version, api.request())


def refused(api: Api, api_version: int, message: Any) -> Any:
    """Refuse telemetry."""
    return api.response(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


OF_TODAY: dict[str, Any] = {"listed": lambda entry: entry}
"""A broker that lists no new version, but v0 of telemetry."""


def judge_old_telemetry(broker: Broker) -> None:
    """Judge which ids a broker returns in v0."""
    judged = body_of(test_changed_apis.test_broker_makes_ids_for_old_clients_alone)
    with assumptions_outside_hypothesis():
        judged(broker, instance_id=AN_ID)


@pytest.mark.parametrize("of", [{}, OF_TODAY], ids=["claims-it", "of-today"])
def test_id_that_the_client_has_may_come_back(of: dict[str, Any]) -> None:
    """The text says zero of brokers of both ages, and Kafka returns it: informational. Zero conforms, with an error
    as well."""
    judge_old_telemetry(in_memory(**of))
    judge_old_telemetry(in_memory(**of, response_of=throttled))
    with pytest.raises(Unjudged, match="returns the id of a client that has one"):
        judge_old_telemetry(in_memory(**of, response_of=returned))


@pytest.mark.parametrize(("response_of", "problem"), [(no_id, "makes no id"), (made, "for a client that has one")])
def test_broker_of_today_is_bound_to_nothing(response_of: Callable[..., Any], problem: str) -> None:
    """What violates the clause on a broker that claims the proposal is informational on others."""
    with pytest.raises(AssertionError, match=problem) as raised:
        judge_old_telemetry(in_memory(response_of=response_of))
    assert not isinstance(raised.value, Unjudged)
    with pytest.raises(Unjudged, match=f"brokers of today: .*{problem}"):
        judge_old_telemetry(in_memory(**OF_TODAY, response_of=response_of))


def of_release(release: str) -> InMemoryBroker:
    """Return a model broker with the profile of a release."""
    target = in_memory_target(reference_target(REFERENCE))
    (served,) = [broker for name, broker in target.served.items() if name == PLAINTEXT]
    assert isinstance(served, ReferenceBroker)
    served.profile = profile_of(release, quorum="kraft", listener=PLAINTEXT)
    return InMemoryBroker(target, PLAINTEXT)


def test_old_telemetry_is_judged_where_it_is_served() -> None:
    """On brokers that claim the proposal, whatever they answer; on others that answer v0, listed or not, without an
    error."""
    assert serves_old_telemetry(in_memory(response_of=refused))
    assert serves_old_telemetry(in_memory(**OF_TODAY))
    assert not serves_old_telemetry(in_memory(**OF_TODAY, response_of=refused))
    kraft = of_release("3.7.2")
    assert GET_TELEMETRY_SUBSCRIPTIONS_KEY not in {e.api_key for e in advertised_table(kraft)}
    assert serves_old_telemetry(kraft)
    assert not serves_old_telemetry(of_release("3.6.2"))


def test_silence_about_telemetry_costs_no_patience() -> None:
    """A broker may ignore an API that it does not list."""
    ignoring = DEFECTS["unlisted-apis-are-ignored"].tampering
    broker = InMemoryBroker(in_memory_target(reference_target(REFERENCE), ignoring), PLAINTEXT)
    before = broker.patience.left_s
    assert not serves_old_telemetry(broker)
    assert broker.patience.left_s == before


def test_target_without_a_table_is_not_asked_for_telemetry() -> None:
    broker = cast(Broker, Turning(NoTableReadable("garbage"), NoTableReadable("garbage")))
    assert not serves_old_telemetry(broker)


def test_client_id_in_every_request_is_the_other_reading() -> None:
    """A client of the rejected alternatives is informational; one that only sometimes repeats the id violates the
    clause."""
    judged = body_of(client_properties.test_client_id_is_sent_once)
    judged(in_memory_client(), script=claiming_cluster())
    with pytest.raises(Unjudged, match="the other reading"):
        judged(client_with(lambda link, header_version: CLIENT_ID), script=claiming_cluster())
    with pytest.raises(AssertionError, match="repeats the client id"):
        judged(
            in_memory_client("client-id-waits-for-the-new-header"),
            script=mixed_cluster(is_old_first=False, closes_after=5),
        )


def test_client_without_a_client_id_is_not_judged_by_it() -> None:
    """A client id is an option: a client that has none, also with brokers of today, cannot send it once."""
    judged = body_of(client_properties.test_client_id_is_sent_once)
    nameless = client_with(lambda link, header_version: None)
    with pytest.raises(Unjudged, match="the client has no client id"):
        judged(nameless, script=claiming_cluster())


def client_with(client_id_for: Callable[[Link, int], str | None]) -> ClientUnderTest:
    """Return the model client with another choice of client ids."""
    name = "with-another-client-id"
    members = {"client_id_for": lambda _, link, version: client_id_for(link, version)}
    model = type("WithAnotherClientId", (ModelClient,), members)
    fault = Fault(name=name, breaks=(), description="", model=model)
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(FAULTS, name, fault)
        client = in_memory_client(name)
        # Plays are kept, so these need the fault no longer.
        for script in (claiming_cluster(), HEALTHY_SCRIPT):
            client.play(script)
    return client


def test_contradicted_clause_is_not_judged_on_what_claims_the_proposal() -> None:
    """Every other clause is, and so is this one on other brokers and on one whose table cannot be read."""
    with pytest.raises(Unjudged, match="not logged under its own client id: KIP-1313, a proposal"):
        check_not_superseded(in_memory(), "KIP-511.request-log")
    check_not_superseded(in_memory(), "KIP-511.software-metrics")
    check_not_superseded(of_release("4.4.0"), "KIP-511.request-log")


def test_target_without_a_table_contradicts_no_clause() -> None:
    check_not_superseded(cast(Broker, Turning(NoTableReadable("garbage"))), "KIP-511.request-log")


@given(drawn=instance_ids())
def test_no_reserved_id_is_drawn(drawn: UUID) -> None:
    """Apache Kafka refuses PushTelemetry under the ids 0 and 1, and no client makes either."""
    assert drawn not in (NO_INSTANCE_ID, RESERVED_ID)


def test_ids_that_differ_in_one_bit_are_drawn() -> None:
    """A broker that compares half of the id, or one byte, takes some of them for zero."""
    assert find_any(instance_ids(), lambda drawn: drawn.int < 1 << 64)
    assert find_any(instance_ids(), lambda drawn: drawn.int % (1 << 64) == 0)
