"""The requests of one connection that have no response yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from upgrade.watching.request_head import RequestHead
from wire.api_keys import API_VERSIONS_KEY, PRODUCE_KEY
from wire.described_messages import CLUSTER_APIS

MAX_PENDING = 4096
"""How many requests are remembered that have no response."""
_HELD_KEYS = frozenset({*CLUSTER_APIS, API_VERSIONS_KEY})


def is_held(request: RequestHead) -> bool:
    """Return whether the response of a request is kept until it is complete."""
    return request.answer is not None or request.api_key in _HELD_KEYS


class PendingRequests:
    """The requests of one connection that have no response yet, in order.

    Their number is bounded, because writes with acks=0 never get a response.

    Attributes:
        writes_are_answered: whether a Produce request has had a response, so that they are sent with another acks than
            0.
    """

    def __init__(self) -> None:
        self.writes_are_answered = False
        self._heads: deque[RequestHead] = deque()
        self._held = 0

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._heads)

    @property
    def has_held(self) -> bool:
        """Whether some request's response is kept until it is complete."""
        return self._held > 0

    @property
    def first(self) -> RequestHead | None:
        """The request that is answered next, if that is sure: a write may be one with acks=0."""
        if not self._heads or (self._heads[0].api_key == PRODUCE_KEY and not self.writes_are_answered):
            return None
        return self._heads[0]

    @property
    def may_all_stay_unanswered(self) -> bool:
        """Whether they are all writes, and no write has been answered here."""
        return not self.writes_are_answered and all(each.api_key == PRODUCE_KEY for each in self._heads)

    def add(self, request: RequestHead) -> None:
        """Remember a request. If there are too many, writes are forgotten first, and the oldest."""
        if len(self._heads) >= MAX_PENDING:
            self._forget_half()
        self._heads.append(request)
        self._held += is_held(request)

    def answer_first(self) -> None:
        """Forget the first request, which is answered."""
        self._note_answered(self._heads.popleft())

    def answer(self, correlation_id: int) -> RequestHead | None:
        """Return the request of a response; forget it and earlier requests, such as writes with acks=0.

        A client may use a correlation id again. Then a write gives way to another request, unless writes are answered
        here.

        Returns:
            The request; None if none has this correlation id, and all of them are kept.
        """
        indexes = [index for index, each in enumerate(self._heads) if each.correlation_id == correlation_id]
        if not indexes:
            return None
        others = [each for each in indexes if self._heads[each].api_key != PRODUCE_KEY]
        index = others[0] if others and not self.writes_are_answered else indexes[0]
        for _ in range(index):
            self._held -= is_held(self._heads.popleft())
        request = self._heads.popleft()
        self._note_answered(request)
        return request

    def _note_answered(self, request: RequestHead) -> None:
        self._held -= is_held(request)
        self.writes_are_answered |= request.api_key == PRODUCE_KEY

    def _forget_half(self) -> None:
        """Forget the writes in the older half; half of all if that are none."""
        half = len(self._heads) // 2
        older = [self._heads.popleft() for _ in range(half)]
        kept = [each for each in older if each.api_key != PRODUCE_KEY]
        self._put_first(kept if len(kept) < half else [])

    def _put_first(self, requests: Iterable[RequestHead]) -> None:
        self._heads.extendleft(reversed(list(requests)))
        self._held = sum(map(is_held, self._heads))
