"""Search for the one clause that a fault belongs to.

Without it, every cell that meets the fault would be red.

Properties decode the responses they need. A response that is missing or cannot be decoded may have nothing to do with
the clause of the property: the plainest request of that version may get the same. Then the clause about plain requests
is violated (for v0 `KIP-35.v0-always-served`), and for every other clause the example says nothing; examples in other
versions are still judged. If a request got no response, `lost_connections.py` finds out whether the target loses some
at random.

Controls that are a little less plain are in `explanations.py`: the same illegal name, the same client id, a second
request on a connection, a plain request after the same earlier ones. A fault that no control shows belongs to the
property that found it. Bytes after the body of a response are ignored, except by `PROTOCOL.size-prefix-exact` and
`KIP-511.v3-body-flexible`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress

from conformance.assertions.asserting import assert_error, assert_kept
from conformance.assertions.clause_ids import ANSWERS_IN_ORDER, CORRELATION_ID_ECHOED, SIZE_PREFIX_EXACT
from conformance.assertions.correlation_ids import assert_own_ids
from conformance.assertions.decoding import answer_after_flexible_header, decode_answer, error_code_of, payload_of
from conformance.assertions.errors import JudgedElsewhere, MalformedAnswer, ResponseFault
from conformance.assertions.explanations import (
    AFTER_SAME,
    ILLEGAL_SOFTWARE,
    explanation_by_earlier_requests,
    explanations,
    follows_an_answer,
)
from conformance.assertions.histories import what_came_before
from conformance.assertions.lost_connections import lost_at_random, lost_while_opening
from conformance.assertions.plain_controls import surplus_after_plain
from conformance.assertions.related_ids import restricted_ids
from conformance.assertions.violated_musts import ViolatedMust, ViolatesAnother, clause_of_plain, fault_of
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from proposals import proposals
from strategies.api_versions import build_request
from strategies.field_values import PLAIN_SOFTWARE
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome
from wire.headers import InstanceIdHeader

RESPONSE_HEADER = "KIP-511.response-header-fixed"

ABOUT_PLAIN_REQUESTS = {
    "PROXY.newer-api-versions-answered",
    *(clause for each in proposals() for clause in each.about_plain_requests),
}
"""Clauses that state for some targets what a clause about plain requests states for all of them."""


def judged_elsewhere(broker: Broker, error: BaseException | None, clauses: Collection[str]) -> JudgedElsewhere | None:
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


def _explained(broker: Broker, error: MalformedAnswer, clauses: Collection[str]) -> JudgedElsewhere | None:
    """Return the plainer request that fails in the same way, as a reason to judge the fault elsewhere.

    Return None if no plainer request fails, or if the property's own clauses judge the failure.
    """
    # If the target answers nothing more, the violation stands.
    with suppress(HarnessError):
        if _has_flexible_header(broker, error):
            reason = f"the response has a flexible header (judged by {RESPONSE_HEADER})"
            return None if RESPONSE_HEADER in clauses else JudgedElsewhere(reason)
        if error.fault in (ResponseFault.NO_ANSWER, ResponseFault.NOT_KEPT):
            restricted = restricted_ids(broker)
            if restricted is not None:
                return _unless_in(clauses, "a plain request", restricted, CORRELATION_ID_ECHOED)
        out_of_step = _surplus_after_a_plain_response(broker, error)
        if out_of_step is not None:
            return _unless_in(clauses, *out_of_step)
        plain = _plain_fault_like(broker, error)
        if plain is not None:
            version = plain.exchange.request.api_version
            what = f"a plain request of ApiVersions v{version}"
            return _unless_in(clauses, what, plain, clause_of_plain(broker, plain))
        for what, fault, clause, also_about in explanations(broker, error):
            if also_about.isdisjoint(clauses):
                elsewhere = _unless_in(clauses, what, fault, clause)
                if elsewhere is None or what != AFTER_SAME:
                    return elsewhere
                # The properties of that clause may not send the same earlier requests.
                return ViolatesAnother(str(elsewhere), clause=clause, violation=fault)
    return None


def blamed_clause(broker: Broker, violation: ViolatedMust) -> str | None:
    """Return the clause that a violation counts for.

    Return None if a plain request alone on its connection shows the fault as well.
    """
    error = violation.error
    if not isinstance(error, MalformedAnswer):
        return violation.clause
    if _has_flexible_header(broker, error) or _plain_fault_like(broker, error) is not None:
        return None
    explained = explanation_by_earlier_requests(broker, error)
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
    before = what_came_before(broker, error.exchange)
    controls = (
        before.exchange(broker, sent) if before else broker.exchange_apart(sent)
        for sent in (
            build_request(version=layout, software=software) for software in (PLAIN_SOFTWARE, ILLEGAL_SOFTWARE)
        )
    )
    return any(
        control.payload is not None and answer_after_flexible_header(control, api_version=layout) is not None
        for control in controls
    )


def _surplus_after_a_plain_response(broker: Broker, error: MalformedAnswer) -> tuple[str, MalformedAnswer, str] | None:
    """Explain a connection that is out of step by the bytes that follow a plain response.

    These bytes belong to no response, or they are the same response again.
    """
    exchange = error.exchange
    is_later = error.fault is ResponseFault.NOT_KEPT or follows_an_answer(broker, exchange)
    if not (is_later or exchange.surplus or exchange.stray):
        return None
    fault = surplus_after_plain(broker)
    if fault is None:
        return None
    what = f"a plain request of ApiVersions v{fault.exchange.request.api_version}"
    return what, fault, ANSWERS_IN_ORDER if fault.exchange.came_twice else SIZE_PREFIX_EXACT


def _plain_fault_like(broker: Broker, error: MalformedAnswer) -> MalformedAnswer | None:
    """Return the fault of a plain request that explains an error, or None."""
    if error.fault is ResponseFault.OTHER_ERROR:
        return _plain_error_like(broker, error)
    if error.fault is ResponseFault.OTHER_ID:
        return _plain_id_fault(broker)
    faults = (_plain_fault(broker, each.request.api_version, error) for each in _suspects(broker, error))
    return next((fault for fault in faults if fault is not None), None)


def _plain_id_fault(broker: Broker) -> MalformedAnswer | None:
    """Return that even a plain request gets no response, or one with another correlation id than its own; or None."""
    plain = broker.plain_exchange(0)
    return fault_of(payload_of, plain) or fault_of(assert_own_ids, [plain])


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
        fault = fault_of(assert_error, plain, expected)
        is_same = fault is not None and fault.fault is ResponseFault.OTHER_ERROR
        if is_same and error_code_of(plain) is error_code_of(error.exchange):
            return fault
    return None


def _unless_in(clauses: Collection[str], what: str, failure: AssertionError, clause: str) -> JudgedElsewhere | None:
    if clause in clauses or not ABOUT_PLAIN_REQUESTS.isdisjoint(clauses):
        return None
    problem = str(failure).partition("\n")[0]
    return JudgedElsewhere(f"{what} fails in the same way: {problem} (judged by {clause})")


def _suspects(broker: Broker, error: MalformedAnswer) -> Iterator[Exchange]:
    """Yield one exchange of each version that may be the cause; a close also costs other requests their response.

    A plain request has header v3 in a version above the highest alone, so it shows nothing about another one that has
    it.
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


def _plain_fault(broker: Broker, api_version: int, error: MalformedAnswer) -> MalformedAnswer | None:
    """Return the fault of a plain request's response if it is of the same kind as an error, else None."""
    plain = broker.plain_exchange(api_version)
    try:
        if error.layout is None:
            error_code_of(plain)
        else:
            decode_answer(plain, api_version=error.layout, exactly=error.fault is ResponseFault.SURPLUS)
        if error.fault is ResponseFault.NOT_KEPT:
            assert_kept(plain, "the connection serves no request after the response")
    except MalformedAnswer as found:
        return found if found.fault is error.fault else None
    return None
