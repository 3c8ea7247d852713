"""Requests after others on one connection, with repeats for controls.

A control is sent after the same earlier requests again.

Whether a refusal keeps the connection, and whether responses come in order, is judged by clauses of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count, takewhile

from conformance.assertions.other_apis import SLOWEST_ANSWER_S
from conformance.assertions.read_only_apis import flexible_items, request_of
from fixtures.under_test.broker import Broker
from strategies.api_versions import build_request
from strategies.cluster_ids import Given, Ids, build_request_with, ids_given
from strategies.field_values import Software
from strategies.histories import ConnectionHistory, Earlier
from wire.api_keys import API_VERSIONS_KEY, SASL_KEYS
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    FIRST_VERSION_WITH_CLUSTER_CHECK,
    ApiVersionsRequest,
)
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Request, Step
from wire.headers import read_correlation_id, read_error_code
from wire.primitives import INT16_MAX

FIRST_ID = 5001
"""The correlation ids of earlier requests count from here, without that of the judged one."""
_IDS: Mapping[Earlier, Given] = {
    Earlier.RIGHT_IDS: Given.BOTH,
    Earlier.CLUSTER_ALONE: Given.CLUSTER_ALONE,
    Earlier.NODE_ALONE: Given.NODE_ALONE,
    Earlier.WRONG_CLUSTER: Given.WRONG_CLUSTER,
    Earlier.WRONG_NODE: Given.WRONG_NODE,
}
_SOFTWARE: Mapping[Earlier, Software] = {
    Earlier.OTHER_SOFTWARE: Software("other", "9.9"),
    Earlier.EMPTY_NAME: Software("", "1"),
    Earlier.ILLEGAL_NAME: Software("a b", "1"),
}
_KEEPING_CODES = (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION)


def exchange_after(
    broker: Broker, history: ConnectionHistory, sent: Request, *, authenticate: bool = False
) -> Exchange:
    """Send a request after the earlier requests of a history on one connection.

    The connection has authenticated if the listener requires it.

    What a target cannot get is left out: ids that the suite does not know, and what only newer versions carry. The
    request is sent alone if nothing is left, or if there are no credentials. So it is if an earlier request gets no
    response or that of another one, or if it gets none itself after a request that the target may have closed the
    connection for.

    Args:
        broker: the target.
        history: the earlier requests.
        sent: the request.
        authenticate: whether to authenticate also for a request that is sent alone.
    """
    earlier = tuple(_earlier_requests(broker, history, sent.correlation_id))
    is_shut = broker.asks_for_authentication and broker.running.sasl is None
    if not earlier or is_shut:
        return broker.exchange(sent, authenticate=authenticate)
    exchange = None
    with broker.connect(silence_bound_s=_bound_s(earlier)) as connection:
        # Over TLS some releases take 0.3 s for each pipelined request.
        if history.at_once and not broker.speaks_tls:
            *before, exchange = connection.converse([*earlier, sent])
        else:
            before = list(connection.converse_in_turn(earlier))
            if before[-1].payload is not None:
                # No sentinel: which version it has is judged by other clauses.
                (exchange,) = connection.converse([sent])
    is_lost = exchange is None or exchange.payload is None
    if (is_lost and not all(map(_keeps_connection, before))) or any(map(_has_other_id, before)):
        return broker.exchange(sent, authenticate=authenticate)
    assert exchange is not None
    return exchange


def _bound_s(requests: Iterable[Request]) -> float | None:
    """Return after how long a connection with these requests counts as silent; None for as long as any other."""
    has_others = any(each.api_key != API_VERSIONS_KEY for each in requests)
    return SLOWEST_ANSWER_S if has_others else None


def _keeps_connection(exchange: Exchange) -> bool:
    """Return whether the target has no reason to close the connection after a request."""
    if exchange.payload is None:
        return False
    is_of_other_api = exchange.request.api_key != API_VERSIONS_KEY
    return is_of_other_api or read_error_code(exchange.payload) in _KEEPING_CODES


def _has_other_id(exchange: Exchange) -> bool:
    return exchange.payload is not None and read_correlation_id(exchange.payload) != exchange.request.correlation_id


def _earlier_requests(broker: Broker, history: ConnectionHistory, judged_id: int) -> Iterator[Request]:
    ids = (each for each in count(FIRST_ID) if each != judged_id)
    for kind in history.earlier:
        request = _request_of(broker, kind, next(ids))
        if request is not None:
            yield request


def _request_of(broker: Broker, kind: Earlier, correlation_id: int) -> Request | None:
    """Return a request of a kind; None if the target cannot get one."""
    highest = broker.max_version
    version = 0
    if kind in _IDS:
        return _with_ids(broker, _IDS[kind], correlation_id)
    if kind in _SOFTWARE:
        if highest < FIRST_FLEXIBLE_VERSION:
            return None
        return build_request(
            version=FIRST_FLEXIBLE_VERSION,
            software=_SOFTWARE[kind],
            correlation_id=correlation_id,
        )
    if kind is Earlier.OTHER_API:
        items = flexible_items(broker)
        return request_of(items[0], correlation_id=correlation_id) if items else None
    if kind is Earlier.UNSERVED:
        if highest == INT16_MAX:
            return None
        version = highest + 1
    if kind is Earlier.NEWEST:
        version = broker.described_version
    return build_request(version=version, correlation_id=correlation_id)


def _with_ids(broker: Broker, relation: Given, correlation_id: int) -> Request | None:
    identity = broker.identity
    is_known = None not in (identity.cluster_id, identity.node_id)
    if not is_known or broker.max_version < FIRST_VERSION_WITH_CLUSTER_CHECK:
        return None
    assert identity.node_id is not None
    right = Ids(identity.cluster_id, identity.node_id)
    return build_request_with(ids_given(relation, right), correlation_id=correlation_id)


def has_ids(request: Request) -> bool:
    """Return whether a request carries a cluster id or a node id."""
    body = request.body
    return isinstance(body, ApiVersionsRequest) and Ids(body.cluster_id, body.node_id) != Ids()


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What came before a request on its connection in an example.

    Attributes:
        writes: the requests of each earlier write.
        in_its_write: the requests before it in its own write.
        is_authenticated: whether the connection had authenticated.
    """

    writes: tuple[tuple[Request, ...], ...] = ()
    in_its_write: tuple[Request, ...] = ()
    is_authenticated: bool = False

    def __bool__(self) -> bool:
        """Whether there is an earlier request."""
        return bool(self.writes or self.in_its_write)

    def only(self, is_kept: Callable[[Request], bool]) -> Before:
        """Return the same without some of the earlier requests."""
        writes = (tuple(filter(is_kept, write)) for write in self.writes)
        return replace(
            self,
            writes=tuple(filter(None, writes)),
            in_its_write=tuple(filter(is_kept, self.in_its_write)),
        )

    def exchange(self, broker: Broker, request: Request) -> Exchange:
        """Send the same earlier requests on a new connection and then another one, without writing to the journal."""
        earlier = (*chain.from_iterable(self.writes), *self.in_its_write)
        apart = broker.apart()
        connect = partial(apart.connect, silence_bound_s=_bound_s(earlier))
        try:
            with connect(authenticate=self.is_authenticated) as connection:
                for write in self.writes:
                    connection.converse(write)
                return connection.converse([*self.in_its_write, request])[-1]
        finally:
            # Examples that fail ask again and again, so these silences count for the property.
            broker.patience.left_s = apart.patience.left_s


def what_came_before(broker: Broker, exchange: Exchange) -> Before | None:
    """Return what came before an exchange of the current example on its connection; None if it cannot be sent again."""
    place = _place_of(broker.journal, exchange)
    if place is None:
        return None
    own = broker.journal[place]
    in_its_write = tuple(takewhile(lambda each: each != exchange.request, (each.request for each in own.exchanges)))
    writes: list[tuple[Request, ...]] = []
    is_authenticated = False
    for step in broker.journal[:place]:
        requests = tuple(each.request for each in step.exchanges)
        if (step.listener, step.connection) != (own.listener, own.connection) or not requests:
            continue
        if any(each.api_key in SASL_KEYS for each in requests):
            # What came before authentication does not count after it.
            writes, is_authenticated = [], True
        else:
            writes.append(requests)
    if any(each.broken for write in (*writes, in_its_write) for each in write):
        return None
    return Before(writes=tuple(writes), in_its_write=in_its_write, is_authenticated=is_authenticated)


def _place_of(steps: Sequence[Step], exchange: Exchange) -> int | None:
    """Return the index of the step with an exchange, or of the last one with its request."""
    places = range(len(steps) - 1, -1, -1)
    same = (each for each in places if exchange in steps[each].exchanges)
    alike = (each for each in places if any(own.request == exchange.request for own in steps[each].exchanges))
    return next(same, next(alike, None))
