"""Assertions about a target's response to one request."""

from __future__ import annotations

from conformance.assertions.decoding import error_code_of, key_ranges
from conformance.assertions.errors import MalformedAnswer, ResponseFault
from reference_model.judging.outcome_texts import part_of_response, what_it_did
from reference_model.judging.table_rules import Rule
from wire.api_versions import ApiVersionsResponse
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome


def assert_answered(exchange: Exchange, problem: str) -> None:
    """Fail unless a request got a response; `problem` says what it means if it did not."""
    if exchange.payload is None:
        frame = exchange.framing_error or part_of_response(exchange)
        fault = ResponseFault.FRAME if frame else ResponseFault.NO_ANSWER
        raise MalformedAnswer(exchange, problem, fault=fault)


def assert_kept(exchange: Exchange, problem: str) -> None:
    """Fail unless the connection serves a request after a response."""
    if not exchange.usable:
        raise MalformedAnswer(exchange, problem, fault=ResponseFault.NOT_KEPT)


def fate_of(exchange: Exchange) -> str:
    """Return what became of a request, whatever became of the next one."""
    if exchange.outcome is not Outcome.ANSWER:
        return what_it_did(exchange)
    return f"the target answered with {error_code_of(exchange).name}"


def assert_error(exchange: Exchange, *allowed: ErrorCode) -> ErrorCode:
    """Return a response's error code; fail unless it is one of those allowed.

    `ErrorCode.NONE` says that the request has to be served.
    """
    code = error_code_of(exchange)
    if code not in allowed:
        problem = f"the response has the error {code.name}, and not {' or '.join(each.name for each in allowed)}"
        raise MalformedAnswer(exchange, problem, fault=ResponseFault.OTHER_ERROR)
    return code


def assert_same_table(answer: ApiVersionsResponse, expected: ApiVersionsResponse, where: str) -> None:
    """Fail unless two responses list the same API keys with the same ranges.

    Args:
        answer: one response.
        expected: the other one.
        where: where the other one came from, for the failure message: "in v0".
    """
    ranges, expected_ranges = key_ranges(answer), key_ranges(expected)
    differing = sorted(
        key for key in ranges.keys() | expected_ranges.keys() if ranges.get(key) != expected_ranges.get(key)
    )
    assert not differing, f"the table is not the one {where}\nAPI keys that differ: {', '.join(map(str, differing))}"


def assert_rule(rule: Rule, response: ApiVersionsResponse, version: int) -> None:
    """Fail if a response, read in the layout of a version, breaks a rule that holds of any response."""
    what = rule(response, version)
    assert not what, what


def assert_refused(exchange: Exchange, *, served: str = "the request was served") -> None:
    """Fail with the message `served` unless a request was refused: with a close, or with an error."""
    closed_or_answered = exchange.outcome in (Outcome.CLOSED, Outcome.ANSWER)
    assert closed_or_answered, f"neither refused nor closed; {what_it_did(exchange)}"
    if exchange.outcome is Outcome.ANSWER:
        assert error_code_of(exchange) is not ErrorCode.NONE, served
