"""Control requests that explain a failure by a part of what a property sent.

The part is an illegal name, a client id, or the earlier requests on the connection.

Each control is judged by one clause: it has an illegal software name that the target does not answer, or comes after
the same earlier requests, and has nothing else of the property's request. `blame.py` asks plain requests of the same
version first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from conformance.assertions.asserting import assert_error
from conformance.assertions.clause_ids import (
    ANSWERS_IN_ORDER,
    NAMES_ACCEPTED,
    NAMES_REFUSED,
    NEITHER_GIVEN,
    OLDER_VERSIONS_UNCHECKED,
    REVERT_TO_V0_ON_SAME_CONNECTION,
    SAME_TABLE_AT_EVERY_VERSION,
    SIZE_PREFIX_EXACT,
    WELL_FORMED_NEVER_CLOSED,
)
from conformance.assertions.decoding import error_code_of, payload_of
from conformance.assertions.errors import MalformedAnswer, ResponseFault
from conformance.assertions.histories import Before, has_ids, what_came_before
from conformance.assertions.violated_musts import ViolatedMust, fault_of, is_never_refused, violated_must
from fixtures.under_test.broker import Broker
from reference_model.broker.rules.request_parser import is_valid_name
from strategies.api_versions import build_request
from strategies.field_values import Software, is_illegal_text
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, FIRST_VERSION_WITH_CLUSTER_CHECK
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome

ILLEGAL_SOFTWARE = Software("a_b", "1")
"""A pinned example of the clause about refused names."""
WITH_ILLEGAL_NAME = "a plain request with an illegal software name"
WITH_CLIENT_ID = "a plain request with the same client id"
AFTER_SAME = "a plain request after the same ones on its connection"
SECOND_REQUEST = "a second plain request on a connection"


class Explanation(NamedTuple):
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


def explanations(broker: Broker, error: MalformedAnswer) -> Iterator[Explanation]:
    """Yield the controls that fail in the same way as a request of a property.

    Args:
        broker: the target, with the journal of the example.
        error: what is wrong with the response to the property's request.
    """
    for find in (_of_name, _of_client_id, _of_second_request, explanation_by_earlier_requests):
        explanation = find(broker, error)
        if explanation is not None:
            yield explanation


def _of_name(broker: Broker, error: MalformedAnswer) -> Explanation | None:
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
    return Explanation(WITH_ILLEGAL_NAME, fault, NAMES_REFUSED)


def _is_same_refusal(fault: MalformedAnswer, error: MalformedAnswer) -> bool:
    """Return whether two requests that are not served are not answered in the same way, or with the same error."""
    if fault.fault is not error.fault:
        return False
    if fault.fault is ResponseFault.OTHER_ERROR:
        code = error_code_of(fault.exchange)
        return code is not ErrorCode.NONE and code is error_code_of(error.exchange)
    is_missing = fault.fault is ResponseFault.NO_ANSWER
    return is_missing and fault.exchange.outcome is error.exchange.outcome


def _of_client_id(broker: Broker, error: MalformedAnswer) -> Explanation | None:
    """Explain a wrong size of a response by the client id alone."""
    request = error.exchange.request
    if error.fault is not ResponseFault.FRAME or not _is_served(broker, error.exchange):
        return None
    sent = build_request(version=request.api_version, client_id=request.header.client_id)
    fault = fault_of(payload_of, broker.exchange_apart(sent))
    if fault is None or fault.fault is not error.fault:
        return None
    return Explanation(WITH_CLIENT_ID, fault, SIZE_PREFIX_EXACT)


def _of_second_request(broker: Broker, error: MalformedAnswer) -> Explanation | None:
    """Explain that a request gets no response by its position on its connection, after one that was answered."""
    if error.fault is not ResponseFault.NO_ANSWER or not follows_an_answer(broker, error.exchange):
        return None
    unanswered = first_unanswered(broker, 2)
    if unanswered is None or unanswered.exchange.outcome is not error.exchange.outcome:
        return None
    return Explanation(SECOND_REQUEST, unanswered, WELL_FORMED_NEVER_CLOSED, frozenset({ANSWERS_IN_ORDER}))


def explanation_by_earlier_requests(broker: Broker, error: MalformedAnswer) -> Explanation | None:
    """Explain a fault by what came before the request on its connection: a plain request after that has it as well."""
    before = what_came_before(broker, error.exchange)
    if not before:
        return None
    if error.fault is ResponseFault.NO_ANSWER:
        # What a target may refuse it may close the connection for.
        before = before.only(lambda each: is_never_refused(broker, each))
    for version in dict.fromkeys((0, error.exchange.request.api_version)):
        fault = _fault_after(broker, before, version, error)
        if fault is not None:
            clause = _clause_after(broker, before, version, error, fault)
            return Explanation(AFTER_SAME, fault.error, clause, frozenset({ANSWERS_IN_ORDER}))
    return None


def _fault_after(broker: Broker, before: Before, version: int, error: MalformedAnswer) -> ViolatedMust | None:
    """Return the violation of a plain request after some others, if it has the fault of an error; else None."""
    if not before:
        return None
    exchange = before.exchange(broker, build_request(version=version))
    missing = fault_of(payload_of, exchange)
    violation = violated_must(broker, exchange) if missing is None else ViolatedMust(WELL_FORMED_NEVER_CLOSED, missing)
    return violation if violation is not None and _is_same_fault(violation.error, error) else None


def _clause_after(broker: Broker, before: Before, version: int, error: MalformedAnswer, violated: ViolatedMust) -> str:
    """Return the clause that the fault of a plain request violates, given what came before it."""
    if not 0 <= version <= broker.max_version:
        return violated.clause
    refused = before.only(lambda each: not 0 <= each.api_version <= broker.max_version)
    if _fault_after(broker, refused, version, error) is not None:
        return REVERT_TO_V0_ON_SAME_CONNECTION
    if violated.clause == NAMES_ACCEPTED:
        with_ids = before.only(has_ids)
        if _fault_after(broker, with_ids, version, error) is None:
            return violated.clause
        return NEITHER_GIVEN if version >= FIRST_VERSION_WITH_CLUSTER_CHECK else OLDER_VERSIONS_UNCHECKED
    # The clause about all versions is judged by single requests.
    is_old = 0 < version < FIRST_FLEXIBLE_VERSION
    return SAME_TABLE_AT_EVERY_VERSION if is_old and error.fault is ResponseFault.UNDECODABLE else violated.clause


def _is_same_fault(failure: AssertionError, error: MalformedAnswer) -> bool:
    """Return whether two responses have the same fault, and the same wrong error code if that is the fault."""
    if not isinstance(failure, MalformedAnswer) or failure.fault is not error.fault:
        return False
    if failure.fault is ResponseFault.OTHER_ERROR:
        return error_code_of(failure.exchange) is error_code_of(error.exchange)
    is_missing = failure.fault is ResponseFault.NO_ANSWER
    return not is_missing or failure.exchange.outcome is error.exchange.outcome


def first_unanswered(broker: Broker, count: int) -> MalformedAnswer | None:
    """Return how the first of several plain requests, one after the other on a connection, gets no response.

    None if all are answered, or if not even the first is, which other clauses judge. The requests are sent once in a
    run.
    """
    sent = [build_request(version=broker.readable_version)] * count
    exchanges = broker.in_turn_apart(sent)
    last = exchanges[-1]
    if len(exchanges) == 1 or last.outcome is Outcome.ANSWER:
        return None
    return fault_of(payload_of, last)


def follows_an_answer(broker: Broker, exchange: Exchange) -> bool:
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
