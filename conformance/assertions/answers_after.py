"""Requests after earlier requests on the same connection, for properties.

Separate clauses judge what the earlier requests do to the connection.

A request that comes alone is judged as ever. One that comes after others may be refused, lost or answered for a reason
that has nothing to do with the property's clause; then the example is rejected.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import reject

from conformance.assertions.decoding import decode_answer
from conformance.assertions.errors import MalformedAnswer
from conformance.assertions.explanations import ILLEGAL_SOFTWARE
from conformance.assertions.histories import exchange_after, what_came_before
from fixtures.under_test.broker import Broker
from strategies.api_versions import build_request
from strategies.histories import ConnectionHistory
from wire.api_versions import ApiVersionsResponse
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Request
from wire.headers import read_correlation_id, read_error_code


def answer_after(broker: Broker, history: ConnectionHistory, sent: Request, *due: ErrorCode) -> Exchange:
    """Send a request after others, and reject the example unless an expected error code comes back.

    The response must have one of the `due` error codes and the request's own correlation id.

    A request that comes alone may get any response or none.
    """
    exchange = exchange_after(broker, history, sent)
    if history.earlier and not _has_code(exchange, *due):
        reject()
    return exchange


def success_after(broker: Broker, history: ConnectionHistory, sent: Request) -> tuple[Exchange, ApiVersionsResponse]:
    """Send a request of a served version after others, and decode its response in that version.

    Whether there is a table after others, which decodes, is judged by separate clauses: without one the example is
    rejected.

    Raises:
        MalformedAnswer: the request comes alone, and there is no response, or it does not decode.
    """
    exchange = answer_after(broker, history, sent, ErrorCode.NONE)
    try:
        answer = decode_answer(exchange, api_version=sent.api_version)
    except MalformedAnswer:
        if history.earlier:
            reject()
        raise
    if history.earlier and not answer.api_keys:
        reject()
    return exchange, answer


@contextmanager
def unless_explained_by_earlier(
    broker: Broker, exchange: Exchange, control: Request, due: ErrorCode = ErrorCode.NONE
) -> Iterator[None]:
    """Reject the example if an assertion inside the block fails, and so does a control after the same earlier requests.

    Args:
        broker: the target, with the journal of the example.
        exchange: what is judged.
        control: a request with nothing else of the judged one than what a separate clause judges.
        due: the error code that it has to get.
    """
    try:
        yield
    except AssertionError:
        before = what_came_before(broker, exchange)
        if before and not _has_code(before.exchange(broker, control), due):
            reject()
        raise


def plain_like(sent: Request) -> Request:
    """Return a plain request of the same version, which is served."""
    return build_request(version=sent.api_version)


def illegal_like(sent: Request) -> Request:
    """Return a request of the same version with a plainly illegal name, which gets INVALID_REQUEST."""
    return build_request(version=sent.api_version, software=ILLEGAL_SOFTWARE)


def _has_code(exchange: Exchange, *codes: ErrorCode) -> bool:
    """Return whether a response has the id of its request and one of some error codes."""
    payload = exchange.payload
    if payload is None or read_correlation_id(payload) != exchange.request.correlation_id:
        return False
    return read_error_code(payload) in codes
