"""Properties of KIP-1313: the first request's client id counts for later ones.

KIP-1313 is a proposal. The client id counts in the request log and for quotas.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from proposals.kip_1313.properties.brokers.vocabulary import *

FIRST, SECOND = InstanceIdRequest(), InstanceIdRequest(api=1)
NULL = FIRST.named(None)
OLD = InstanceIdRequest(has_id=False)
MAX_EXAMPLES_OF_LOG = 8
"""More than of other properties that read the log: the headers and client ids of several requests vary together."""
LOG_DELAY_S = 0.1
"""How much later than the entry of a later request that of an earlier one may be written."""
OTHER_READING = "each request's own client id counts: the other reading of the proposal"
QUOTA_PERCENT = 0.0001
"""Percentage of one request thread; a single request takes more, so every request exceeds the quota."""
MAX_PAUSE_S = 3.0
"""A request after one that exceeds a quota is answered after a pause of a second, and later if the broker is busy."""
MAX_EXAMPLES_OF_QUOTA = 4
UNUSED = itertools.count()
"""Makes client ids that had no quota before."""


@pytest.mark.needs("more_than_reading", "instance_ids", "login_with_id", "request_log")
@pytest.mark.clause("KIP-1313.client-id-from-first-request")
@settings(max_examples=MAX_EXAMPLES_OF_LOG)
@given(
    first=requests_of_any_header(),
    later=st.lists(requests_of_any_header(), min_size=2, max_size=4),
)
@example(first=FIRST, later=[NULL])
@example(first=FIRST, later=[FIRST, SECOND])
@example(first=OLD, later=[NULL, FIRST])
@example(first=OLD, later=[OLD.named(None), OLD, FIRST])
@example(first=InstanceIdRequest(api=5, has_id=False), later=[FIRST, NULL])
@example(first=NULL, later=[FIRST, NULL])
@example(first=OLD.named(None), later=[FIRST, NULL])
def test_first_client_id_counts(broker: Broker, first: InstanceIdRequest, later: list[InstanceIdRequest]) -> None:
    """The request log has the client id of the connection's first request for every request.

    Later client ids never appear in it, whatever the headers.

    On a listener with SASL the first request is the ApiVersions before authentication. It and the steps of SASL are not
    logged.
    """
    own, other = fresh_name(), fresh_name()
    named = first.named(first.client_id and own)
    following = [each.named(each.client_id and other) for each in in_allowed_order(first, later)]
    begin: list[Request] = []
    logged = [named, *following]
    if broker.asks_for_authentication:
        begin = login(broker, AN_ID if first.has_id else None, client_id=named.client_id)
        logged = following
    requests = [with_id(broker, each, AN_ID) if each.has_id else without_id(broker, each) for each in logged]
    mine, others = (sum(each.client_id == name for each in logged) for name in (own, other))
    of_first = len(requests) if named.client_id else 0
    assume(of_first or others)
    path, administration = broker.running.request_log, broker.running.administration
    assert path is not None
    assert administration is not None
    with administration.log_requests():
        with broker.connect(authenticate=False) as connection:
            exchanges = connection.converse_in_turn([*begin, *requests])
        assume_logged_in(begin, exchanges)
        assume_served([named, *following], exchanges[:1] + exchanges[len(begin) or 1 :])
        # Requests are logged in about their order, so these are there soon after a later one.
        last = fresh_name()
        apart = broker.sibling(PLAINTEXT) if broker.has_listener(PLAINTEXT) else broker
        apart.converse([build_request(version=0, client_id=last)])
        poll_until(lambda: _count(path, last), 1, limit_s=SLOWEST_LOG_S)
        counts = poll_until(lambda: (_count(path, own), _count(path, other)), (of_first, 0), limit_s=LOG_DELAY_S)
    if counts == (mine, others) != (of_first, 0):
        raise Unjudged(OTHER_READING)
    assert counts == (of_first, 0), (
        f"of {len(requests)} requests the log has {counts[0]} under the first client id, which counts for {of_first}, "
        f"and {counts[1]} under a later one"
    )


def _count(path: Path, client_id: str) -> int:
    text = path.read_text("utf-8", "replace") if path.exists() else ""
    return sum(client_id in line for line in text.splitlines())


@pytest.mark.listeners("plaintext")
@pytest.mark.needs("more_than_reading", "instance_ids", "api_versions_ids", "quota")
@pytest.mark.clause("KIP-1313.client-id-from-first-request")
@settings(max_examples=MAX_EXAMPLES_OF_QUOTA)
@given(
    first_is_limited=st.booleans(),
    later_is_limited=st.booleans(),
    first_has_id=st.booleans(),
    later_has_id=st.booleans(),
)
@example(first_is_limited=True, later_is_limited=True, first_has_id=True, later_has_id=True)
@example(first_is_limited=True, later_is_limited=False, first_has_id=False, later_has_id=False)
@example(first_is_limited=False, later_is_limited=True, first_has_id=True, later_has_id=True)
@example(first_is_limited=False, later_is_limited=True, first_has_id=False, later_has_id=False)
def test_quota_of_the_first_client_id_counts(
    broker: Broker,
    first_is_limited: bool,
    later_is_limited: bool,
    first_has_id: bool,
    later_has_id: bool,
) -> None:
    """A later request is throttled if the first client id has a quota, and not if only its own client id has one.

    If both have one, or none has, a broker that follows the other reading of the proposal throttles it in the same
    cases.
    """
    has_ids = [first_has_id, later_has_id or first_has_id]
    limited = f"throttled-1313-{next(UNUSED)}"
    client_ids = [
        limited if first_is_limited else fresh_name(),
        limited if later_is_limited else None,
    ]
    requests = [
        _table_request(broker, client_id, has_id=has_id) for client_id, has_id in zip(client_ids, has_ids, strict=True)
    ]
    administration = broker.running.administration
    assert administration is not None, "the need `quota` promises an administration"
    with (
        administration.limit_requests(limited, percentage=QUOTA_PERCENT),
        broker.connect(silence_bound_s=MAX_PAUSE_S) as connection,
    ):
        exchanges = connection.converse_in_turn(requests)
    payload_of(exchanges[-1])
    assume_served([InstanceIdRequest(has_id=each) for each in has_ids], exchanges)
    pause_ms = decode_answer(exchanges[-1], api_version=NEWEST_VERSION).throttle_time_ms
    is_throttled = pause_ms != 0
    if is_throttled is not first_is_limited and is_throttled is later_is_limited:
        raise Unjudged(OTHER_READING)
    assert is_throttled is first_is_limited, (
        f"a later request has a throttle time of {pause_ms} ms; the client id of the first one has "
        f"{'a' if first_is_limited else 'no'} quota"
    )


def _table_request(broker: Broker, client_id: str | None, *, has_id: bool) -> Request:
    if has_id:
        drawn = FIRST.named(client_id)
        return with_id(broker, drawn, AN_ID, api_key=API_VERSIONS_KEY)
    return build_request(version=NEWEST_VERSION, client_id=client_id)
