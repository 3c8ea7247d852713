"""One cause makes one clause red: the blame for a missing or undecodable response."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from conformance.assertions.asserting import assert_error, assert_kept
from conformance.assertions.blame import judged_elsewhere
from conformance.assertions.decoding import decode_answer, error_code_of, payload_of
from conformance.assertions.errors import JudgedElsewhere, MalformedAnswer, ResponseFault
from conformance.mutation.properties import all_properties, holds
from fixtures.client.patience import Patience
from fixtures.under_test.in_memory import InMemoryBroker
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.faults.broker import DEFECTS
from strategies.api_versions import build_request
from strategies.field_values import Software
from strategies.histories import ALONE
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from tests.conformance.in_memory_runs import broker_with
from wire.api_keys import API_VERSIONS_KEY
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome, Request
from wire.frames import SIZE_BYTES, encode_frame
from wire.primitives import TaggedField

V0 = "KIP-35.v0-always-served"
OWN = "KIP-35.keys-unique"
PLAIN_V0, PLAIN_V3, PLAIN_V99 = (build_request(version=version) for version in (0, 3, 99))


def faulty(act: Callable[[RequestContext], None], stage: Stage = Stage.ANSWER) -> InMemoryBroker:
    """Return the reference broker with a fault in its responses to ApiVersions."""

    def guarded(context: RequestContext) -> None:
        header = context.header
        if header is not None and header.api_key == API_VERSIONS_KEY:
            act(context)

    return broker_with(Tampering(stage=stage, act=guarded), patience=Patience(math.inf))


def with_body(change: Callable[[bytes], bytes], *versions: int) -> InMemoryBroker:
    """Return a broker that changes the bytes after the correlation id, in these versions."""

    def act(context: RequestContext) -> None:
        if context.answer and context.version in versions:
            at = SIZE_BYTES + 4
            context.answer = encode_frame(context.answer[SIZE_BYTES:at] + change(context.answer[at:]))

    return faulty(act)


def closing_on(*versions: int) -> InMemoryBroker:
    """Return a broker that closes on these versions."""

    def act(context: RequestContext) -> None:
        if context.version in versions:
            context.replace_reaction(outcome=Outcome.CLOSED)

    return faulty(act, Stage.REACTION)


def blamed(broker: InMemoryBroker, sent: Request, judge: Callable[[Exchange], object], *clauses: str) -> str:
    """Judge one exchange; return why it is judged elsewhere, empty if it is the clause's own violation."""
    broker.begin_example()
    with pytest.raises(MalformedAnswer) as failed:
        judge(broker.exchange(sent))
    reason = judged_elsewhere(broker, failed.value, clauses or (OWN,))
    return "" if reason is None else str(reason)


def decoded(layout: int, *, exactly: bool = False) -> Callable[[Exchange], object]:
    """Return a judge that decodes a response in a layout."""
    return lambda exchange: decode_answer(exchange, api_version=layout, exactly=exactly)


def with_code(code: ErrorCode, versions: Callable[[int], bool]) -> InMemoryBroker:
    """Return a broker whose responses to these versions have an error code."""

    def act(context: RequestContext) -> None:
        if context.response is not None and versions(context.version):
            context.replace_response(error_code=code)

    return faulty(act, Stage.RESPONSE)


def served(exchange: Exchange) -> None:
    """Fail unless the request was served."""
    assert_error(exchange, ErrorCode.NONE)


def kept(exchange: Exchange) -> None:
    """Fail unless the connection is kept."""
    assert_kept(exchange, "lost")


def cost_the_connection(context: RequestContext) -> None:
    """Drop the connection after the response."""
    if context.version == 3:
        context.connection.drop()


def close_on_refused_names(context: RequestContext) -> None:
    """Close the connection instead of refusing a name."""
    if context.reaction.error_code is ErrorCode.INVALID_REQUEST:
        context.replace_reaction(outcome=Outcome.CLOSED)


def refuse_names_with_another_error(context: RequestContext) -> None:
    """Refuse a name with another error than INVALID_REQUEST."""
    if context.reaction.error_code is ErrorCode.INVALID_REQUEST:
        context.replace_response(error_code=ErrorCode.NETWORK_EXCEPTION)


def enlarge_size_after_a_client_id(context: RequestContext) -> None:
    """Count a byte too many in the size of the response to one client id."""
    if b"odd" in context.payload:
        payload = context.answer[SIZE_BYTES:]
        context.answer = encode_frame(payload, size=len(payload) + 1)


CASES = {
    "v0-in-another-layout": (
        with_body(lambda body: body[:2] + b"\x7f" + body[3:], 0),
        PLAIN_V0,
        decoded(0),
        V0,
    ),
    "v0-closed": (closing_on(0), PLAIN_V0, payload_of, V0),
    "v2-closed": (
        closing_on(2),
        build_request(version=2),
        decoded(2),
        "KIP-35.every-advertised-version-served",
    ),
    "v3-closed": (closing_on(3), PLAIN_V3, decoded(3), "KIP-35.every-advertised-version-served"),
    "v3-in-another-layout": (
        with_body(lambda body: body[:2] + b"\0" + body[3:], 3),
        PLAIN_V3,
        decoded(3),
        "KIP-511.v3-body-flexible",
    ),
    "v3-with-a-flexible-header": (
        with_body(lambda body: b"\0" + body, 3),
        PLAIN_V3,
        decoded(3),
        "KIP-511.response-header-fixed",
    ),
    "v2-with-a-surplus-byte": (
        with_body(lambda body: body + b"\0", 2),
        build_request(version=2),
        decoded(2, exactly=True),
        "PROTOCOL.size-prefix-exact",
    ),
    "unknown-closed": (closing_on(99), PLAIN_V99, error_code_of, "KIP-35.unknown-version-gives-35"),
    "unknown-refused-in-another-layout": (
        with_body(lambda body: body[:2] + b"\x7f" + body[3:], 99),
        PLAIN_V99,
        decoded(0),
        "KIP-511.unsupported-version-answered-in-v0",
    ),
    "unknown-served-in-another-layout": (
        with_body(lambda body: bytes(2) + b"\x7f" + body[3:], 99),
        PLAIN_V99,
        decoded(0),
        "KIP-35.unknown-version-gives-35",
    ),
    "negative-closed": (
        closing_on(-1),
        build_request(version=-1),
        error_code_of,
        "KIP-35.negative-version-gives-35",
    ),
    "negative-without-an-error-code": (
        with_body(lambda body: body[:1], -1),
        build_request(version=-1),
        error_code_of,
        "KIP-35.negative-version-gives-35",
    ),
    "v0-refused": (
        with_code(ErrorCode.UNSUPPORTED_VERSION, lambda version: True),
        PLAIN_V3,
        served,
        V0,
    ),
    "unknown-with-another-error": (
        with_code(ErrorCode.INVALID_REQUEST, lambda version: version == 99),
        PLAIN_V99,
        lambda exchange: assert_error(exchange, ErrorCode.UNSUPPORTED_VERSION),
        "KIP-35.unknown-version-gives-35",
    ),
    "no-error-code": (
        with_body(lambda body: body[:1], 99),
        PLAIN_V99,
        error_code_of,
        "KIP-35.error-code-first",
    ),
    "refused-name-closed": (
        faulty(close_on_refused_names, Stage.REACTION),
        build_request(version=3, correlation_id=-2, software=Software("a/b", "1")),
        payload_of,
        "KIP-511.names-refused",
    ),
    "refused-edge-closed": (
        faulty(close_on_refused_names, Stage.REACTION),
        build_request(version=3, software=Software("-a", "1")),
        payload_of,
        "KIP-511.names-refused",
    ),
    "refused-name-with-another-error": (
        faulty(refuse_names_with_another_error, Stage.RESPONSE),
        build_request(version=4, software=Software("a b", "1")),
        lambda exchange: assert_error(exchange, ErrorCode.INVALID_REQUEST),
        "KIP-511.names-refused",
    ),
    "refused-name-with-a-flexible-header": (
        with_body(lambda body: b"\0" + body if body[1] else body, 3),
        build_request(version=3, software=Software("a b", "1")),
        lambda exchange: assert_error(exchange, ErrorCode.INVALID_REQUEST),
        "KIP-511.response-header-fixed",
    ),
    "unknown-refused-with-a-flexible-header": (
        with_body(lambda body: b"\0" + body, 99),
        PLAIN_V99,
        lambda exchange: assert_error(exchange, ErrorCode.UNSUPPORTED_VERSION),
        "KIP-511.unsupported-version-answered-in-v0",
    ),
    "size-one-too-large-after-a-client-id": (
        faulty(enlarge_size_after_a_client_id),
        build_request(version=1, client_id="odd", correlation_id=8),
        decoded(1),
        "PROTOCOL.size-prefix-exact",
    ),
    "connection-lost-after-v3": (
        faulty(cost_the_connection),
        PLAIN_V3,
        kept,
        "PROTOCOL.well-formed-never-closed",
    ),
}
"""By name: a faulty broker, a request, how its response is judged, and the clause to blame."""


@pytest.mark.parametrize("name", CASES)
def test_a_fault_of_plain_requests_belongs_to_the_clause_about_them(name: str) -> None:
    """The clause to blame is named, and for the blamed clause itself the fault is a violation."""
    broker, sent, judge, clause = CASES[name]
    reason = blamed(broker, sent, judge)
    assert reason.endswith(f"(judged by {clause})")
    assert blamed(broker, sent, judge, clause) == ""


def test_a_fault_that_a_plain_request_does_not_show_is_a_violation() -> None:
    """The same bytes are the property's own finding if only its own kind of request gets them."""

    def act(context: RequestContext) -> None:
        if b"odd" in context.payload:
            context.answer = context.answer[:SIZE_BYTES] + bytes(len(context.answer) - SIZE_BYTES)
            context.answer = encode_frame(context.answer[SIZE_BYTES : SIZE_BYTES + 5])

    sent = build_request(version=0, client_id="odd")
    assert blamed(faulty(act), sent, decoded(0)) == ""


def test_a_plain_request_without_a_response_explains_no_flexible_header() -> None:
    """A fault of tagged requests is their own, and blaming it ends with no error of ours."""

    def act(context: RequestContext) -> None:
        if context.answer and context.version == 3:
            tagged = context.header is not None and context.header.tag_count > 0
            context.answer = context.encode_answer(header_version=1) if tagged else b""
            if not tagged:
                context.connection.drop()

    sent = build_request(version=3, header_tags=(TaggedField(100, b"odd"),))
    assert blamed(faulty(act), sent, decoded(3)) == ""


def test_an_error_of_one_version_is_a_violation() -> None:
    """If v0 and versions that are not served get what they should, the property's own request is at fault."""
    broker = with_code(ErrorCode.INVALID_REQUEST, lambda version: version == 3)
    assert blamed(broker, PLAIN_V3, served) == ""


def test_a_request_before_it_may_have_cost_a_response() -> None:
    """In a pipeline, the version that closes the connection is blamed for the requests after it."""
    broker = closing_on(99)
    broker.begin_example()
    sent = [build_request(version=version, correlation_id=version) for version in (0, 99, 3)]
    exchanges = broker.converse(sent)
    with pytest.raises(MalformedAnswer) as failed:
        payload_of(exchanges[-1])
    reason = judged_elsewhere(broker, failed.value, (OWN,))
    assert reason is not None
    assert "v99" in str(reason)
    assert "KIP-35.unknown-version-gives-35" in str(reason)


@pytest.mark.parametrize(
    ("defect", "clause", "words"),
    [
        (
            "a-byte-follows-each-frame",
            "PROTOCOL.size-prefix-exact",
            "that belong to no response: 1",
        ),
        (
            "a-large-number-follows-each-table",
            "PROTOCOL.size-prefix-exact",
            "that belong to no response: 5",
        ),
        ("each-table-comes-twice", "PROTOCOL.answers-in-order", "came a second time"),
    ],
)
def test_a_connection_that_gets_out_of_step_is_blamed_on_what_follows_a_plain_response(
    defect: str, clause: str, words: str
) -> None:
    """What is wrong with a later response on the connection is not the fault of its request."""
    broker = broker_with(DEFECTS[defect].tampering, patience=Patience(math.inf))
    broker.begin_example()
    exchanges = broker.converse_in_turn([PLAIN_V0, build_request(version=1, correlation_id=8)])
    with pytest.raises(MalformedAnswer) as failed:
        decode_answer(exchanges[-1], api_version=1)
    reason = str(judged_elsewhere(broker, failed.value, (OWN,)))
    assert words in reason
    assert reason.endswith(f"(judged by {clause})")
    assert judged_elsewhere(broker, failed.value, (clause,)) is None


def test_without_a_table_other_explanations_are_still_sought() -> None:
    """If no version can be read, what follows a response is unknown, and the clause about v0 is to blame."""
    broker = with_body(lambda body: body[:2] + b"\x7f" + body[3:], *range(6))
    broker.begin_example()
    exchanges = broker.converse_in_turn([PLAIN_V0, build_request(version=0, correlation_id=8)])
    with pytest.raises(MalformedAnswer) as failed:
        decode_answer(exchanges[-1], api_version=0)
    reason = str(judged_elsewhere(broker, failed.value, (OWN,)))
    assert reason.endswith(f"(judged by {V0})")


def test_a_second_request_is_blamed_on_the_clause_about_connections() -> None:
    """A connection that serves one request, whatever it is, says nothing about what a property sends as its second
    one."""

    def act(context: RequestContext) -> None:
        if context.connection.memory.get("served"):
            context.replace_reaction(outcome=Outcome.CLOSED)
        context.connection.memory["served"] = True

    broker = faulty(act, Stage.REACTION)
    broker.ask_for_table()
    broker.begin_example()
    *_, last = broker.converse_in_turn([PLAIN_V3, build_request(version=4)])
    with pytest.raises(MalformedAnswer) as failed:
        decode_answer(last, api_version=4)
    steps = len(broker.journal)
    reason = judged_elsewhere(broker, failed.value, (OWN,))
    assert str(reason) == (
        "a second plain request on a connection fails in the same way: the target closed the connection instead of "
        "answering (judged by PROTOCOL.well-formed-never-closed)"
    )
    assert len(broker.journal) == steps
    for clause in ("PROTOCOL.well-formed-never-closed", "PROTOCOL.answers-in-order"):
        assert judged_elsewhere(broker, failed.value, (clause,)) is None
    # The first request on a connection has another cause.
    broker.begin_example()
    first = replace(failed.value.exchange, request=build_request(version=4, client_id="odd"))
    error = MalformedAnswer(first, "closed", fault=ResponseFault.NO_ANSWER)
    assert judged_elsewhere(broker, error, (OWN,)) is None


def test_other_errors_and_other_apis_are_not_blamed_on_plain_requests() -> None:
    """An assertion about decoded values is the property's own, and so is a response of another API."""
    broker = closing_on(0)
    # As a run does before its first property; what this sends is no step of an example.
    broker.ask_for_table()
    broker.begin_example()
    assert judged_elsewhere(broker, AssertionError("two keys"), (OWN,)) is None
    header = replace(PLAIN_V0.header, request_api_key=3)
    exchange = Exchange(request=replace(PLAIN_V0, header=header), outcome=Outcome.CLOSED)
    error = MalformedAnswer(exchange, "closed", fault=ResponseFault.NO_ANSWER)
    assert judged_elsewhere(broker, error, (OWN,)) is None


def test_another_fault_of_the_clause_is_red_in_versions_that_can_be_read() -> None:
    """The table of v3 is judged although v0 cannot be read: a fault there is not hidden."""

    def act(context: RequestContext) -> None:
        if not context.answer:
            return
        if context.version == 0:
            context.answer = encode_frame(context.answer[SIZE_BYTES : SIZE_BYTES + 6] + b"\x7f")
        elif context.version == 3:
            response = context.response
            assert response is not None
            keys = (*response.api_keys, *response.api_keys[-1:])
            context.response = replace(response, api_keys=keys)
            context.answer = context.encode_answer()

    broker = faulty(act)
    (judged,) = (each for each in all_properties().values() if each.clauses == (OWN,))
    with assumptions_outside_hypothesis():
        with pytest.raises(JudgedElsewhere):
            holds(judged, broker, {"sent": PLAIN_V0, "history": ALONE})
        assert not holds(judged, broker, {"sent": PLAIN_V3, "history": ALONE})
