"""Search for responses whose correlation id differs from the request's.

It also says what the difference shows.

Requests and responses are paired by position. So one wrong id, a response that comes twice and responses in another
order are all seen as ids that differ, and only the ids after the first difference distinguish them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from conformance.assertions.errors import MalformedAnswer, ResponseFault
from reports.wording.verdict_labels import some_of
from wire.exchange import Exchange
from wire.headers import read_correlation_id

ANOTHER_ORDER = "the responses are not in the order of the requests"


MAX_LISTED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class IdDifference:
    """The first difference between the ids of requests and those of the responses paired with them.

    Attributes:
        sent: the ids of the requests that await a response, in order.
        received: the ids of the responses, in order; at most as many. None is that of a response too short for one.
        position: index of the first response with another id than its request.
    """

    sent: Sequence[int]
    received: Sequence[int | None]
    position: int

    @property
    def received_id(self) -> int | None:
        """The id of the response; None if it is too short for one."""
        return self.received[self.position]

    @property
    def sent_id(self) -> int:
        """The id of the request."""
        return self.sent[self.position]

    @property
    def is_replaced(self) -> bool:
        """Whether all later responses have the ids of their requests: the one response has a wrong id."""
        later = self.received[self.position + 1 :]
        return [*later] == [*self.sent[self.position + 1 : len(self.received)]]

    @property
    def is_inserted(self) -> bool:
        """Whether all later responses have the ids of the requests before theirs: one response is too many."""
        later = self.received[self.position + 1 :]
        return [*later] == [*self.sent[self.position : len(self.received) - 1]]

    @property
    def _skips(self) -> bool:
        """Whether the responses are in order, but some are missing before the last one."""
        left: Iterator[int | None] = iter(self.sent)
        return all(each in left for each in self.received)

    @property
    def _come_in_pairs(self) -> bool:
        """Whether more than one response came twice, each next to itself."""
        counts = [(each, len([*group])) for each, group in groupby(self.received)]
        is_in_order = [each for each, _ in counts] == [*self.sent[: len(counts)]]
        return is_in_order and len(counts) > 1 and sum(count == 2 for _, count in counts) > 1

    @property
    def in_words(self) -> str:
        """What the ids show, in one sentence."""
        if self.received_id is None:
            return "a response is too short for a correlation id"
        if self._skips:
            return f"the request with the correlation id {self.sent_id} got no response before a later one"
        repeats = self.received_id in self.received[: self.position]
        if not Counter(self.received) - Counter(self.sent):
            return ANOTHER_ORDER
        if self._come_in_pairs:
            return f"several responses came twice, the first with the correlation id {self.received_id}"
        if self.is_inserted and self.is_replaced and repeats:
            # The last response that came: it may be the earlier one again, or have its id by mistake.
            return f"two responses have the correlation id {self.received_id}, and none has {self.sent_id}"
        if self.is_inserted and not self.is_replaced:
            what = "came twice" if repeats else "belongs to no request"
            return f"the response with the correlation id {self.received_id} {what}"
        if self.is_replaced:
            return f"the response has the correlation id {self.received_id}, and its request {self.sent_id}"
        return f"the responses have the correlation ids {_listed(self.received)}, and the requests {_listed(self.sent)}"


def first_difference(sent: Sequence[int], received: Sequence[int | None]) -> IdDifference | None:
    """Return the first difference between ids of requests and of responses paired with them; None if there is none."""
    for position, (own, seen) in enumerate(zip(sent, received, strict=False)):
        if own != seen:
            return IdDifference(sent=sent, received=received, position=position)
    return None


def assert_own_ids(exchanges: Sequence[Exchange]) -> None:
    """Fail unless each response has the correlation id of the request that it is paired with.

    Raises:
        MalformedAnswer: the first response that has not; the message says what the ids show.
    """
    answered = [each for each in exchanges if each.payload is not None]
    sent = [each.request.correlation_id for each in exchanges if each.request.has_response]
    received = [read_correlation_id(each.payload or b"") for each in answered]
    difference = first_difference(sent, received)
    if difference is not None:
        raise MalformedAnswer(answered[difference.position], difference.in_words, fault=ResponseFault.OTHER_ID)


def _listed(ids: Sequence[int | None]) -> str:
    return some_of([*map(str, ids)], MAX_LISTED)
