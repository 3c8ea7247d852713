"""Controls: requests that are a little less plain than a plain one, each judged by one clause.

A request of a property may have a fault that has nothing to do with its clause: an illegal software name that the target does
not answer, or a second request on a connection that serves only one. The control has this, and nothing else of the request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from conformance.assertions.judging import (
    MalformedAnswer,
    ResponseFault,
    assert_error,
    error_code_of,
    payload_of,
)
from fixtures.under_test.broker import Broker
from reference_model.broker.rules.request_parser import is_valid_name
from strategies.api_versions import build_request
from strategies.software_names import Software, is_illegal_text
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome

IN_ORDER = "PROTOCOL.answers-in-order"
KEPT = "PROTOCOL.well-formed-never-closed"
NAMES_REFUSED = "KIP-511.names-refused"
SIZE_EXACT = "PROTOCOL.size-prefix-exact"
ILLEGAL_SOFTWARE = Software("a_b", "1")
"""A pinned example of the clause about refused names."""
WITH_ILLEGAL_NAME = "a plain request with an illegal software name"
WITH_CLIENT_ID = "a plain request with the same client id"
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
    fault: MalformedAnswer
    clause: str
    also_about: frozenset[str] = frozenset()


def explanations(broker: Broker, error: MalformedAnswer) -> Iterator[Explanation]:
    """Yield the controls that fail in the same way as a request of a property.

    Args:
        broker: the target, with the journal of the example.
        error: what is wrong with the response to the property's request.
    """
    for find in (_of_name, _of_client_id, _of_second_request):
        found = find(broker, error)
        if found is not None:
            yield found


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
    try:
        assert_error(plain, ErrorCode.INVALID_REQUEST)
    except MalformedAnswer as fault:
        if _is_same_refusal(fault, error):
            return Explanation(WITH_ILLEGAL_NAME, fault, NAMES_REFUSED)
    return None


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
    try:
        payload_of(broker.exchange_apart(sent))
    except MalformedAnswer as fault:
        if fault.fault is error.fault:
            return Explanation(WITH_CLIENT_ID, fault, SIZE_EXACT)
    return None


def _of_second_request(broker: Broker, error: MalformedAnswer) -> Explanation | None:
    """Explain that a request gets no response by its position on its connection, after one that was answered."""
    if error.fault is not ResponseFault.NO_ANSWER or not _follows_an_answer(broker, error.exchange):
        return None
    found = first_unanswered(broker, 2)
    if found is None or found.exchange.outcome is not error.exchange.outcome:
        return None
    return Explanation(SECOND_REQUEST, found, KEPT, frozenset({IN_ORDER}))


def first_unanswered(broker: Broker, count: int) -> MalformedAnswer | None:
    """Return how the first of several plain requests, one after the other on a connection, gets no response.

    None if all are answered, or if not even the first is, which other clauses judge. The requests are sent once in a run.
    """
    sent = [build_request(version=broker.readable_version)] * count
    exchanges = broker.in_turn_apart(sent)
    last = exchanges[-1]
    if len(exchanges) == 1 or last.outcome is Outcome.ANSWER:
        return None
    try:
        payload_of(last)
    except MalformedAnswer as fault:
        return fault
    return None


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
