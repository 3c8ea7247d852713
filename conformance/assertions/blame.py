"""Finds the one clause that a fault belongs to, so that it does not turn every cell red that meets it.

Properties decode the responses they need. A response that is missing or cannot be decoded may have nothing to do with
the clause of the property: the plainest request of that version may get the same. Then the clause about plain requests
is violated, and for every other clause the example says nothing.

Controls are a little less plain, and each is judged by one clause: they have an illegal software name that the target does not
answer, or are the second request on a connection that serves only one, and nothing else of the property's request. A fault
that neither shows belongs to the property that found it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import NamedTuple

from conformance.assertions.correlation_ids import assert_own_ids
from conformance.assertions.histories import Before, has_ids, what_came_before
from conformance.assertions.judging import (
    JudgedElsewhere,
    MalformedAnswer,
    ResponseFault,
    answer_after_flexible_header,
    assert_error,
    assert_kept,
    decode_answer,
    error_code_of,
    payload_of,
)
from conformance.assertions.lost_connections import lost_at_random, lost_while_opening
from conformance.assertions.plain_controls import surplus_after_plain
from conformance.assertions.related_ids import restricted_ids
from conformance.assertions.violated_musts import (
    ID_ECHOED,
    IN_ORDER,
    KEPT,
    NAMES_ACCEPTED,
    NAMES_REFUSED,
    SAME_TABLE,
    SIZE_EXACT,
    Violation,
    clause_of_plain,
    fault_of,
    violated_must,
)
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from proposals import proposals
from reference_model.broker.rules.request_parser import is_valid_name
from strategies.api_versions import build_request
from strategies.field_values import PLAIN_SOFTWARE, Software, is_illegal_text
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, FIRST_VERSION_WITH_CLUSTER_CHECK
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome
from wire.headers import InstanceIdHeader

RESPONSE_HEADER = "KIP-511.response-header-fixed"
REVERTS = "KIP-35.revert-to-v0-on-same-connection"
NO_IDS = "KIP-1242.neither-given"

ABOUT_PLAIN_REQUESTS = {
    "PROXY.newer-api-versions-answered",
    *(clause for each in proposals() for clause in each.about_plain_requests),
}
"""Clauses that state for some targets what a clause about plain requests states for all of them."""
ILLEGAL_SOFTWARE = Software("a_b", "1")
"""A pinned example of the clause about refused names."""
WITH_ILLEGAL_NAME = "a plain request with an illegal software name"
WITH_CLIENT_ID = "a plain request with the same client id"
AFTER_SAME = "a plain request after the same ones on its connection"
SECOND_REQUEST = "a second plain request on a connection"


def judged_elsewhere(
    broker: Broker, error: BaseException | None, clauses: Collection[str]
) -> JudgedElsewhere | None:
    """Return why a violation says nothing about the clauses of its property; None if it violates them.

    A connection that could not be opened is explained as well, if the target loses some at random.
    """
    if isinstance(error, HarnessError):
        return lost_while_opening(broker, error)
    if isinstance(error, MalformedAnswer):
        explained = _explained(broker, error, clauses)
        if explained is not None or error.fault is not ResponseFault.NO_ANSWER:
            return explained
    return lost_at_random(broker, clauses)


def _explained(
    broker: Broker, error: MalformedAnswer, clauses: Collection[str]
) -> JudgedElsewhere | None:
    """Return which plainer request fails in the same way; None if none does, or if the property's clauses are about it."""
    # If the target answers nothing more, the violation stands.
    with suppress(HarnessError):
        if _has_flexible_header(broker, error):
            reason = f"the response has a flexible header (judged by {RESPONSE_HEADER})"
            return None if RESPONSE_HEADER in clauses else JudgedElsewhere(reason)
        if error.fault in (ResponseFault.NO_ANSWER, ResponseFault.NOT_KEPT):
            restricted = restricted_ids(broker)
            if restricted is not None:
                return _unless_in(clauses, "a plain request", restricted, ID_ECHOED)
        out_of_step = _surplus_after_a_plain_response(broker, error)
        if out_of_step is not None:
            return _unless_in(clauses, *out_of_step)
        plain = _plain_fault_like(broker, error)
        if plain is not None:
            version = plain.exchange.request.api_version
            what = f"a plain request of ApiVersions v{version}"
            return _unless_in(clauses, what, plain, clause_of_plain(broker, plain))
        for what, fault, clause, also_about in _explanations(broker, error):
            if also_about.isdisjoint(clauses):
                return _unless_in(clauses, what, fault, clause)
    return None


def blamed_clause(broker: Broker, violation: Violation) -> str | None:
    """Return the clause that a violation counts for; None if a plain request alone on its connection shows the fault as well."""
    error = violation.error
    if not isinstance(error, MalformedAnswer):
        return violation.clause
    if _has_flexible_header(broker, error) or _plain_fault_like(broker, error) is not None:
        return None
    explained = _of_earlier_requests(broker, error)
    return violation.clause if explained is None else explained.clause


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


def _surplus_after_a_plain_response(
    broker: Broker, error: MalformedAnswer
) -> tuple[str, MalformedAnswer, str] | None:
    """Explain that a connection gets out of step by what follows a plain response: bytes of none, or the same one again."""
    exchange = error.exchange
    is_later = error.fault is ResponseFault.NOT_KEPT or _follows_an_answer(broker, exchange)
    if not (is_later or exchange.surplus or exchange.stray):
        return None
    found = surplus_after_plain(broker)
    if found is None:
        return None
    what = f"a plain request of ApiVersions v{found.exchange.request.api_version}"
    return what, found, IN_ORDER if found.exchange.came_twice else SIZE_EXACT


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


def _plain_id_fault(broker: Broker) -> MalformedAnswer | None:
    """Return that even a plain request gets another correlation id than its own, or None."""
    plain = broker.plain_exchange(0)
    return fault_of(assert_own_ids, [plain])


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
        found = fault_of(assert_error, plain, expected)
        is_same = found is not None and found.fault is ResponseFault.OTHER_ERROR
        if is_same and error_code_of(plain) is error_code_of(error.exchange):
            return found
    return None


def _unless_in(
    clauses: Collection[str], what: str, found: AssertionError, clause: str
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


class _Explanation(NamedTuple):
    """A control that fails as a property's request does.

    Attributes:
        what: the control, in a few words.
        fault: how it fails.
        clause: id of the clause that judges it.
        also_about: ids of other clauses that are about it as well.
    """

    what: str
    fault: AssertionError
    clause: str
    also_about: frozenset[str] = frozenset()


def _explanations(broker: Broker, error: MalformedAnswer) -> Iterator[_Explanation]:
    """Yield the controls that fail in the same way as a request of a property.

    Args:
        broker: the target, with the journal of the example.
        error: what is wrong with the response to the property's request.
    """
    for find in (_of_name, _of_client_id, _of_second_request, _of_earlier_requests):
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
    fault = fault_of(assert_error, plain, ErrorCode.INVALID_REQUEST)
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
    fault = fault_of(payload_of, broker.exchange_apart(sent))
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


def _of_earlier_requests(broker: Broker, error: MalformedAnswer) -> _Explanation | None:
    """Explain a fault by what came before the request on its connection: a plain request after that has it as well."""
    before = what_came_before(broker, error.exchange)
    if not before:
        return None
    for version in dict.fromkeys((0, error.exchange.request.api_version)):
        found = _fault_after(broker, before, version, error)
        if found is not None:
            clause = _clause_after(broker, before, version, error, found)
            return _Explanation(AFTER_SAME, found.error, clause, frozenset({IN_ORDER}))
    return None


def _fault_after(
    broker: Broker, before: Before, version: int, error: MalformedAnswer
) -> Violation | None:
    """Return the violation of a plain request after some others, if it has the fault of an error; else None."""
    if not before:
        return None
    exchange = before.exchange(broker, build_request(version=version))
    missing = fault_of(payload_of, exchange)
    found = violated_must(broker, exchange) if missing is None else Violation(KEPT, missing)
    return found if found is not None and _is_same_fault(found.error, error) else None


def _clause_after(
    broker: Broker, before: Before, version: int, error: MalformedAnswer, found: Violation
) -> str:
    """Return the clause that the fault of a plain request violates, given what came before it."""
    if not 0 <= version <= broker.max_version:
        return found.clause
    refused = before.only(lambda each: not 0 <= each.api_version <= broker.max_version)
    if _fault_after(broker, refused, version, error) is not None:
        return REVERTS
    if version >= FIRST_VERSION_WITH_CLUSTER_CHECK and found.clause == NAMES_ACCEPTED:
        with_ids = before.only(has_ids)
        return found.clause if _fault_after(broker, with_ids, version, error) is None else NO_IDS
    # Clauses about layouts are judged by single requests.
    return SAME_TABLE if version and error.fault is ResponseFault.UNDECODABLE else found.clause


def _is_same_fault(found: AssertionError, error: MalformedAnswer) -> bool:
    """Return whether two responses have the same fault, and the same wrong error code if that is the fault."""
    if not isinstance(found, MalformedAnswer) or found.fault is not error.fault:
        return False
    if found.fault is ResponseFault.OTHER_ERROR:
        return error_code_of(found.exchange) is error_code_of(error.exchange)
    is_missing = found.fault is ResponseFault.NO_ANSWER
    return not is_missing or found.exchange.outcome is error.exchange.outcome


def first_unanswered(broker: Broker, count: int) -> MalformedAnswer | None:
    """Return how the first of several plain requests, one after the other on a connection, gets no response.

    None if all are answered, or if not even the first is, which other clauses judge. The requests are sent once in a run.
    """
    sent = [build_request(version=broker.readable_version)] * count
    exchanges = broker.in_turn_apart(sent)
    last = exchanges[-1]
    if len(exchanges) == 1 or last.outcome is Outcome.ANSWER:
        return None
    return fault_of(payload_of, last)


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
