"""Search for the MUST that a deviation from the model contradicts.

A deviation alone binds only Apache Kafka.

A deviation may be one of the freedoms that the sources leave a broker. So the MUST counts as contradicted only if a
plain request of the same kind shows it again, on a new connection after the same earlier requests; and not if a plain
request alone shows it, because the clause's own property finds that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from conformance.assertions.blame import blamed_clause
from conformance.assertions.clause_ids import (
    ANSWERS_IN_ORDER,
    CLIENT_ID_FREE,
    CORRELATION_ID_ECHOED,
    UNKNOWN_TAGS_IGNORED,
    UNPARSED_WHEN_UNSUPPORTED,
    WELL_FORMED_NEVER_CLOSED,
)
from conformance.assertions.decoding import payload_of
from conformance.assertions.errors import MalformedAnswer
from conformance.assertions.histories import Before, what_came_before
from conformance.assertions.violated_musts import ViolatedMust, fault_of, is_never_refused, violated_must
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from strategies.api_versions import build_request
from strategies.field_values import Software
from wire.api_versions import ApiVersionsRequest
from wire.exchange import Exchange, Outcome, Request
from wire.plain_header import PLAIN_CLIENT_ID

OF_MODEL = "MODEL."
"""How the ids of the clauses about the model begin."""


def is_of_model(clause: str) -> bool:
    """Return whether a clause is about the reference model, from which every planted defect departs."""
    return clause.startswith(OF_MODEL)


class Deviation(AssertionError):
    """A target did with a request what the model does not allow.

    Attributes:
        exchange: the request, and what became of it.
    """

    def __init__(self, exchange: Exchange, problem: str) -> None:
        super().__init__(problem)
        self.exchange = exchange


def contradicted_must(broker: Broker, error: BaseException) -> ViolatedMust | None:
    """Return the MUST that a deviation from the model contradicts; None if it contradicts none.

    Args:
        broker: the target, with the journal of the example.
        error: the deviation, or a response that does not decode.
    """
    if not isinstance(error, Deviation | MalformedAnswer):
        return None
    # If the target answers nothing more, the deviation alone stands.
    with suppress(HarnessError):
        before = what_came_before(broker, error.exchange)
        if before is None or (broker.asks_for_authentication and not before.is_authenticated):
            # What comes before authentication is judged by clauses of its own.
            return None
        violation = _violation(broker, error.exchange)
        clause = None if violation is None else _confirmed_clause(broker, before, error.exchange, violation)
        if violation is not None and clause is not None:
            where = "after earlier requests on its connection, " if before else ""
            violation.error.args = (f"{where}{violation.error}\n{error}",)
            return ViolatedMust(clause, violation.error)
    return None


def _violation(broker: Broker, exchange: Exchange) -> ViolatedMust | None:
    """Return the MUST that what became of a request violates, if it is a well-formed one of ApiVersions."""
    if exchange.outcome is not Outcome.CLOSED:
        return violated_must(broker, exchange)
    fault = fault_of(payload_of, exchange)
    if fault is None or not is_never_refused(broker, exchange.request):
        return None
    return ViolatedMust(WELL_FORMED_NEVER_CLOSED, fault)


def _confirmed_clause(broker: Broker, before: Before, exchange: Exchange, violated: ViolatedMust) -> str | None:
    """Return the violated clause if a plainer request after the same requests shows the same violation.

    Return None if no plainer request shows it, or if a plain request alone does.
    """
    if violated.clause == WELL_FORMED_NEVER_CLOSED:
        # What a target may refuse it may close the connection for.
        before = before.only(lambda each: is_never_refused(broker, each))
    is_served = exchange.request.api_version <= broker.max_version
    for request, clause in _plainer(exchange.request, violated.clause, is_served=is_served):
        again = _violation(broker, before.exchange(broker, request))
        if again is not None and again.clause == violated.clause:
            if violated.clause == CORRELATION_ID_ECHOED and before.in_its_write:
                return ANSWERS_IN_ORDER
            return blamed_clause(broker, violated) if clause == violated.clause else clause
    return None


def _plainer(request: Request, clause: str, *, is_served: bool) -> Iterator[tuple[Request, str]]:
    """Yield plainer requests of the same kind, each with the clause that it would violate.

    That clause is violated if the plainer request shows a violation of the given clause.
    """
    header, body = request.header, request.body
    assert isinstance(body, ApiVersionsRequest)

    def plainer(
        *, with_tags: bool = False, client_id: str | None = PLAIN_CLIENT_ID, correlation_id: int = 7
    ) -> Request:
        return build_request(
            version=request.api_version,
            correlation_id=correlation_id,
            client_id=client_id,
            software=Software(body.client_software_name, body.client_software_version),
            header_tags=header.unknown_tagged_fields if with_tags else (),
            body_tags=body.unknown_tagged_fields if with_tags else (),
            cluster_id=body.cluster_id,
            node_id=body.node_id,
        )

    if not is_served:
        # What its body has must not matter.
        yield build_request(version=request.api_version), clause
    yield plainer(), clause if is_served else UNPARSED_WHEN_UNSUPPORTED
    if clause == CORRELATION_ID_ECHOED:
        yield plainer(correlation_id=header.correlation_id), clause
    if header.unknown_tagged_fields or body.unknown_tagged_fields:
        yield plainer(with_tags=True), UNKNOWN_TAGS_IGNORED
    if header.client_id != PLAIN_CLIENT_ID:
        yield plainer(client_id=header.client_id), CLIENT_ID_FREE
