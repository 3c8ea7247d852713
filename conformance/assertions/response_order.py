"""Assertions that pipelined requests of any API are answered, and in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from conformance.assertions.correlation_ids import assert_own_ids, first_difference
from conformance.assertions.errors import MalformedAnswer, ResponseFault
from fixtures.artefacts.schema_jars import api_catalogue
from reference_model.judging.outcome_texts import what_it_did
from wire.exchange import Exchange
from wire.headers import CORRELATION_ID_BYTES

LATE_US = 50_000
"""A response that is overtaken and comes this long after the one before it is called late."""


def assert_in_order(exchanges: Sequence[Exchange]) -> None:
    """Fail unless pipelined requests are answered in order.

    Each request has an id of its own. Requests that get no response are excepted.

    Raises:
        AssertionError: as `assert_all_answered`; or the responses come in another order, perhaps one of them only after
            a wait.
    """
    assert_all_answered(exchanges)
    awaited = [each for each in exchanges if each.request.has_response]
    ids = [each.request.correlation_id for each in awaited]
    answered = [_id_of(each.payload or b"") for each in awaited]
    if answered != ids:
        late = " and late" if _came_late(awaited, ids, answered) else ""
        details = _sent_and_answered(exchanges, ids, answered)
        raise AssertionError(f"the responses came in another order than the requests{late}{details}")


def assert_all_answered(exchanges: Sequence[Exchange]) -> None:
    """Fail unless each pipelined request gets one response, in any order.

    Each request has an id of its own. Requests that get no response are excepted.

    Raises:
        AssertionError: the message distinguishes a request that was ignored, a response that is not due, and a
            connection that ends early.
    """
    awaited = [each for each in exchanges if each.request.has_response]
    ids = [each.request.correlation_id for each in awaited]
    answered = [_id_of(each.payload) for each in exchanges if each.payload is not None]
    undue = {each.request.correlation_id for each in exchanges}.difference(ids)
    difference = first_difference(ids, answered)
    if difference is not None and difference.received_id in undue and difference.is_inserted:
        what = "may have got" if difference.is_replaced else "got"
        raise AssertionError(f"a request with acks 0 {what} a response: one has its correlation id")
    if not set(answered) <= set(ids) or len(set(answered)) < len(answered):
        assert_own_ids(exchanges)
    missing = [each for each in ids if each not in answered]
    if missing:
        details = _sent_and_answered(exchanges, ids, answered)
        later = answered and ids.index(missing[0]) < ids.index(answered[-1])
        assert not later, f"a request was ignored, although a later one was answered{details}"
        first = next(each for each in awaited if each.payload is None)
        raise MalformedAnswer(
            first,
            f"{what_it_did(first)} before every request was answered{details}",
            fault=ResponseFault.NO_ANSWER,
        )


def _sent_and_answered(exchanges: Sequence[Exchange], ids: Iterable[int], answered: Iterable[int]) -> str:
    return f"\nsent: {_in_words(exchanges, ids)}\nanswered: {_in_words(exchanges, answered)}"


def _id_of(payload: bytes) -> int:
    """Return the correlation id of a response, from fewer bytes if it is shorter."""
    return int.from_bytes(payload[:CORRELATION_ID_BYTES], signed=True)


def _came_late(awaited: Sequence[Exchange], ids: Sequence[int], answered: Sequence[int]) -> bool:
    """Return whether a response that another one overtook came only after a wait; exchanges are paired by position."""
    indexes = [ids.index(each) for each in answered]
    lags = [(after.latency_us or 0) - (before.latency_us or 0) for before, after in pairwise(awaited[: len(indexes)])]
    return any(indexes[number] < max(indexes[:number]) and lag > LATE_US for number, lag in enumerate(lags, start=1))


def _in_words(exchanges: Sequence[Exchange], ids: Iterable[int]) -> str:
    requests = {each.request.correlation_id: each.request for each in exchanges}
    names = (
        f"{api_catalogue().name_of(request.api_key)} v{request.api_version}"
        for request in (requests[each] for each in ids)
    )
    return ", ".join(names) or "nothing"
