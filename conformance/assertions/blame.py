"""Finds the one clause that a fault belongs to, so that it does not turn every cell red that meets it.

Properties decode the responses they need. A response that is missing or cannot be decoded may have nothing to do with
the clause of the property: the plainest request of that version may get the same. Then the clause about plain requests
is violated, and for every other clause the example says nothing.

Controls are a little less plain, and each is judged by one clause: they have an illegal software name that the target does not
answer, or are the second request on a connection that serves only one, and nothing else of the property's request. A fault
that neither shows belongs to the property that found it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from typing import NamedTuple

from conformance.assertions.judging import (
    JudgedElsewhere,
    MalformedAnswer,
    ResponseFault,
    answer_after_flexible_header,
    assert_error,
    assert_kept,
    assert_own_id,
    decode_answer,
    error_code_of,
    payload_of,
)
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from proposals import proposals
from reference_model.broker.rules.request_parser import is_valid_name
from reference_model.judging.flexible_headers import response_after_tag_section
from strategies.api_versions import build_request
from strategies.field_values import PLAIN_SOFTWARE, Software, is_illegal_text
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome
from wire.headers import InstanceIdHeader, read_error_code

V0_ALWAYS_SERVED = "KIP-35.v0-always-served"
"""The clause that can be judged whatever the target answers."""
EVERY_VERSION_SERVED = "KIP-35.every-advertised-version-served"
BEFORE_AUTHENTICATION = "KIP-35.table-before-authentication"
UNKNOWN_REFUSED = "KIP-35.unknown-version-gives-35"
ERROR_CODE = "KIP-35.error-code-first"
RESPONSE_HEADER = "KIP-511.response-header-fixed"
ID_ECHOED = "PROTOCOL.correlation-id-echoed"

ABOUT_PLAIN_REQUESTS = {
    "PROXY.newer-api-versions-answered",
    *(clause for each in proposals() for clause in each.about_plain_requests),
}
"""Clauses that state for some targets what a clause about plain requests states for all of them."""
IN_ORDER = "PROTOCOL.answers-in-order"
KEPT = "PROTOCOL.well-formed-never-closed"
NAMES_REFUSED = "KIP-511.names-refused"
SIZE_EXACT = "PROTOCOL.size-prefix-exact"
ILLEGAL_SOFTWARE = Software("a_b", "1")
"""A pinned example of the clause about refused names."""
WITH_ILLEGAL_NAME = "a plain request with an illegal software name"
WITH_CLIENT_ID = "a plain request with the same client id"
SECOND_REQUEST = "a second plain request on a connection"


def judged_elsewhere(
    broker: Broker, error: BaseException | None, clauses: Collection[str]
) -> JudgedElsewhere | None:
    """Return why a violation says nothing about the clauses of its property; None if it violates them."""
    if not isinstance(error, MalformedAnswer):
        return None
    # If the target answers nothing more, the violation stands.
    with suppress(HarnessError):
        if _has_flexible_header(broker, error):
            reason = f"the response has a flexible header (judged by {RESPONSE_HEADER})"
            return None if RESPONSE_HEADER in clauses else JudgedElsewhere(reason)
        plain = _plain_fault_like(broker, error)
        if plain is not None:
            version = plain.exchange.request.api_version
            what = f"a plain request of ApiVersions v{version}"
            return _unless_in(clauses, what, plain, _clause_of(broker, plain))
        for what, fault, clause, also_about in _explanations(broker, error):
            if also_about.isdisjoint(clauses):
                return _unless_in(clauses, what, fault, clause)
    return None


def _has_flexible_header(broker: Broker, error: MalformedAnswer) -> bool:
    """Return whether a response has a flexible header that the clause about it sees as well.

    That clause is about served versions with any software names, legal or not, but without tags in their header.
    """
    layout = error.layout or 0
    if layout < FIRST_FLEXIBLE_VERSION or error.exchange.payload is None:
        return False
    answer = answer_after_flexible_header(error.exchange, api_version=layout)
    if answer is None or layout > broker.max_version:
        return False
    request = error.exchange.request
    has_tags = bool(request.header.unknown_tagged_fields) or "header" in request.broken
    if not has_tags and answer.error_code is ErrorCode.NONE:
        return True
    controls = (
        broker.exchange_apart(build_request(version=layout, software=software))
        for software in (PLAIN_SOFTWARE, ILLEGAL_SOFTWARE)
    )
    return any(
        control.payload is not None
        and answer_after_flexible_header(control, api_version=layout) is not None
        for control in controls
    )


def _plain_fault_like(broker: Broker, error: MalformedAnswer) -> MalformedAnswer | None:
    """Return the fault of a plain request that explains an error, or None."""
    if error.fault is ResponseFault.OTHER_ERROR:
        return _plain_error_like(broker, error)
    if error.fault is ResponseFault.OTHER_ID:
        return _plain_id_fault(broker)
    faults = (
        _plain_fault(broker, each.request.api_version, error) for each in _suspects(broker, error)
    )
    return next((fault for fault in faults if fault is not None), None)


def _fault_of(check: Callable[..., object], *values: object) -> MalformedAnswer | None:
    """Return how a check of a response fails; None if it does not."""
    try:
        check(*values)
    except MalformedAnswer as fault:
        return fault
    return None


def _plain_id_fault(broker: Broker) -> MalformedAnswer | None:
    """Return that even a plain request gets another correlation id than its own, or None."""
    plain = broker.plain_exchange(0)
    return _fault_of(assert_own_id, plain, "the response has the id of another request")


def _plain_error_like(broker: Broker, error: MalformedAnswer) -> MalformedAnswer | None:
    """Return how a plain request of v0, or of the unsupported version that was sent, gets the same wrong error code."""
    suspect = next(_suspects(broker, error), None)
    if suspect is None:
        return None
    plain_versions = {0: ErrorCode.NONE}
    sent = suspect.request.api_version
    if not 0 <= sent <= broker.max_version:
        plain_versions[sent] = ErrorCode.UNSUPPORTED_VERSION
    for version, expected in plain_versions.items():
        plain = broker.plain_exchange(version)
        found = _fault_of(assert_error, plain, expected)
        is_same = found is not None and found.fault is ResponseFault.OTHER_ERROR
        if is_same and error_code_of(plain) is error_code_of(error.exchange):
            return found
    return None


def _unless_in(
    clauses: Collection[str], what: str, found: MalformedAnswer, clause: str
) -> JudgedElsewhere | None:
    if clause in clauses or not ABOUT_PLAIN_REQUESTS.isdisjoint(clauses):
        return None
    problem = str(found).partition("\n")[0]
    return JudgedElsewhere(f"{what} fails in the same way: {problem} (judged by {clause})")


def _suspects(broker: Broker, error: MalformedAnswer) -> Iterator[Exchange]:
    """Yield one exchange of each version that may be the cause; a close also costs other requests their response.

    A plain request has header v3 in a version above the highest alone, so it shows nothing about another one that has it.
    """
    exchanges = [error.exchange]
    if error.fault is ResponseFault.NO_ANSWER:
        journal = (exchange for step in broker.journal for exchange in step.exchanges)
        exchanges += [exchange for exchange in journal if exchange.outcome is not Outcome.ANSWER]
    of_versions = {
        exchange.request.api_version: exchange
        for exchange in reversed(exchanges)
        if exchange.request.api_key == API_VERSIONS_KEY
        and (
            not isinstance(exchange.request.header, InstanceIdHeader)
            or exchange.request.api_version > broker.max_version
        )
    }
    yield from reversed(of_versions.values())


def _plain_fault(
    broker: Broker, api_version: int, error: MalformedAnswer
) -> MalformedAnswer | None:
    """Return the fault of a plain request's response if it is of the same kind as an error, else None."""
    plain = broker.plain_exchange(api_version)
    try:
        if error.layout is None:
            error_code_of(plain)
        else:
            decode_answer(
                plain, api_version=error.layout, exactly=error.fault is ResponseFault.SURPLUS
            )
        if error.fault is ResponseFault.NOT_KEPT:
            assert_kept(plain, "the connection serves no request after the response")
    except MalformedAnswer as found:
        return found if found.fault is error.fault else None
    return None


def _clause_of(broker: Broker, plain: MalformedAnswer) -> str:
    """Return the clause that the response to a plain request violates."""
    exchange = plain.exchange
    try:
        highest = broker.max_version
    except HarnessError:
        # Nothing else is judged without a readable table.
        return V0_ALWAYS_SERVED
    if plain.fault is ResponseFault.NOT_KEPT:
        return KEPT
    if plain.fault is ResponseFault.OTHER_ID:
        return ID_ECHOED
    version = exchange.request.api_version
    if plain.fault is ResponseFault.FRAME and 0 <= version <= highest:
        return SIZE_EXACT
    if version == 0 and plain.fault is not ResponseFault.SURPLUS:
        return V0_ALWAYS_SERVED
    if version < 0:
        # No other clause is about negative versions.
        return "KIP-35.negative-version-gives-35"
    if plain.fault is ResponseFault.NO_ERROR_CODE:
        return ERROR_CODE
    if version > highest:
        return _clause_of_refused(plain)
    # The sweep that judges every version of other listeners authenticates first.
    whole = BEFORE_AUTHENTICATION if broker.asks_for_authentication else EVERY_VERSION_SERVED
    return _clause_of_served(plain, whole)


def _clause_of_served(plain: MalformedAnswer, every_version: str) -> str:
    version = plain.exchange.request.api_version
    if plain.fault is ResponseFault.SURPLUS:
        return SIZE_EXACT
    if plain.fault is ResponseFault.NO_ANSWER or version < FIRST_FLEXIBLE_VERSION:
        return every_version
    return "KIP-511.v3-body-flexible"


def _clause_of_refused(plain: MalformedAnswer) -> str:
    if plain.fault in (ResponseFault.NO_ANSWER, ResponseFault.FRAME):
        return UNKNOWN_REFUSED
    payload = plain.exchange.payload or b""
    flexible = response_after_tag_section(plain.exchange.request, payload)
    code = read_error_code(payload) if flexible is None else flexible.error_code
    if code is None:
        return ERROR_CODE
    # A version that is served instead is not written in the layout of a refusal either.
    is_refusal = code == ErrorCode.UNSUPPORTED_VERSION
    return "KIP-511.unsupported-version-answered-in-v0" if is_refusal else UNKNOWN_REFUSED


class _Explanation(NamedTuple):
    """A control that fails as a property's request does.

    Attributes:
        what: the control, in a few words.
        fault: how it fails.
        clause: id of the clause that judges it.
        also_about: ids of other clauses that are about it as well.
    """

    what: str
    fault: MalformedAnswer
    clause: str
    also_about: frozenset[str] = frozenset()


def _explanations(broker: Broker, error: MalformedAnswer) -> Iterator[_Explanation]:
    """Yield the controls that fail in the same way as a request of a property.

    Args:
        broker: the target, with the journal of the example.
        error: what is wrong with the response to the property's request.
    """
    for find in (_of_name, _of_client_id, _of_second_request):
        found = find(broker, error)
        if found is not None:
            yield found


def _of_name(broker: Broker, error: MalformedAnswer) -> _Explanation | None:
    """Explain a refusal that is missing, or has another error, by an illegal software name alone."""
    request = error.exchange.request
    body = request.body
    if body is None or not _is_served(broker, error.exchange):
        return None
    software = Software(body.client_software_name, body.client_software_version)
    if request.api_version < FIRST_FLEXIBLE_VERSION or all(map(is_valid_name, software)):
        return None
    if not any(map(is_illegal_text, software)):
        # Punctuation at an edge, which not every source forbids.
        software = ILLEGAL_SOFTWARE
    plain = broker.exchange_apart(build_request(version=request.api_version, software=software))
    fault = _fault_of(assert_error, plain, ErrorCode.INVALID_REQUEST)
    if fault is None or not _is_same_refusal(fault, error):
        return None
    return _Explanation(WITH_ILLEGAL_NAME, fault, NAMES_REFUSED)


def _is_same_refusal(fault: MalformedAnswer, error: MalformedAnswer) -> bool:
    """Return whether two requests that are not served are not answered in the same way, or with the same error."""
    if fault.fault is not error.fault:
        return False
    if fault.fault is ResponseFault.OTHER_ERROR:
        code = error_code_of(fault.exchange)
        return code is not ErrorCode.NONE and code is error_code_of(error.exchange)
    is_missing = fault.fault is ResponseFault.NO_ANSWER
    return is_missing and fault.exchange.outcome is error.exchange.outcome


def _of_client_id(broker: Broker, error: MalformedAnswer) -> _Explanation | None:
    """Explain a wrong size of a response by the client id alone."""
    request = error.exchange.request
    if error.fault is not ResponseFault.FRAME or not _is_served(broker, error.exchange):
        return None
    sent = build_request(version=request.api_version, client_id=request.header.client_id)
    fault = _fault_of(payload_of, broker.exchange_apart(sent))
    if fault is None or fault.fault is not error.fault:
        return None
    return _Explanation(WITH_CLIENT_ID, fault, SIZE_EXACT)


def _of_second_request(broker: Broker, error: MalformedAnswer) -> _Explanation | None:
    """Explain that a request gets no response by its position on its connection, after one that was answered."""
    if error.fault is not ResponseFault.NO_ANSWER or not _follows_an_answer(broker, error.exchange):
        return None
    found = first_unanswered(broker, 2)
    if found is None or found.exchange.outcome is not error.exchange.outcome:
        return None
    return _Explanation(SECOND_REQUEST, found, KEPT, frozenset({IN_ORDER}))


def first_unanswered(broker: Broker, count: int) -> MalformedAnswer | None:
    """Return how the first of several plain requests, one after the other on a connection, gets no response.

    None if all are answered, or if not even the first is, which other clauses judge. The requests are sent once in a run.
    """
    sent = [build_request(version=broker.readable_version)] * count
    exchanges = broker.in_turn_apart(sent)
    last = exchanges[-1]
    if len(exchanges) == 1 or last.outcome is Outcome.ANSWER:
        return None
    return _fault_of(payload_of, last)


def _follows_an_answer(broker: Broker, exchange: Exchange) -> bool:
    """Return whether an earlier request on the same connection of the example was answered."""
    answered: set[tuple[str, int]] = set()
    for step in broker.journal:
        connection = (step.listener, step.connection)
        for each in step.exchanges:
            if each == exchange:
                return connection in answered
            if each.outcome is Outcome.ANSWER:
                answered.add(connection)
    return False


def _is_served(broker: Broker, exchange: Exchange) -> bool:
    """Return whether a request is a well-formed one of a version of ApiVersions that the target serves."""
    request = exchange.request
    is_known = request.api_key == API_VERSIONS_KEY and request.api_version >= 0
    return is_known and not request.broken and request.api_version <= broker.max_version
