"""Tests of the model proxy and of its planted faults.

The proxy passes on what it need not change. A planted fault changes one decision.
"""

from __future__ import annotations

import pytest

from fixtures.model_processes.server import CLUSTER_ID, NODE_ID, broker_for_listener
from reference_model.broker.model.state_machine import THROTTLED_CLIENT_IDS
from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.faults.proxies import FAULTS
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import NEWEST_RELEASE
from reference_model.proxies.model_proxy import (
    LOWERED_KEYS,
    ModelProxy,
    ProxyConnection,
    api_versions_body,
)
from strategies.api_versions import build_request
from strategies.field_values import Software
from strategies.odd_frames import build_cut_short, build_with_frame_inside
from strategies.other_apis import build_bare_request
from wire.api_keys import LIST_GROUPS_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsResponse
from wire.codec import decode
from wire.frames import SIZE_BYTES, encode_frame

TABLE = build_request(version=3)
OTHER = build_bare_request(LIST_GROUPS_KEY, 2)
LONG = build_bare_request(LIST_GROUPS_KEY, 2, bytes(100))
NAMED = build_request(version=3, software=Software("a-client", "1.2.3-SNAPSHOT"))
MISROUTED = build_request(version=5, cluster_id="another", node_id=NODE_ID)
AT_HOME = build_request(version=5, cluster_id=CLUSTER_ID, node_id=NODE_ID)
UNKNOWN = (build_request(version=NEWEST_VERSION + 1), build_request(version=99))
V0 = build_request(version=0)
REFUSED_SIZE = b"\xff\xff\xff\xff"
CUT = (
    build_with_frame_inside(V0),
    build_cut_short(TABLE, len(TABLE.data) - SIZE_BYTES - 4, V0.data),
    build_cut_short(V0, len(V0.data) - SIZE_BYTES, REFUSED_SIZE + V0.data),
)
REQUESTS = (TABLE, V0, OTHER, LONG, NAMED, MISROUTED, AT_HOME, *UNKNOWN, *CUT)


def proxy_with(fault: str = "") -> ModelProxy:
    """Return the model proxy in front of the reference broker, with a fault unless its name is empty."""
    return FAULTS.model(fault, ModelProxy)(broker_for_listener(PLAINTEXT, release=NEWEST_RELEASE))


def exchanged(connection: ProxyConnection, data: bytes) -> bytes:
    """Return what a connection sends in response to some bytes."""
    connection.receive_data(data)
    return connection.data_to_send()


def seen(proxy: ModelProxy) -> list[object]:
    """Return what client and upstream see of every request, on connections of their own, and of a broken upstream."""
    found: list[object] = []
    for request in REQUESTS:
        connection = proxy.connect()
        found += [exchanged(connection, request.data), connection.state]
    used = proxy.connect()
    exchanged(used, TABLE.data)
    proxy.is_cut_off = True
    for connection in (used, proxy.connect()):
        found += [exchanged(connection, TABLE.data), connection.state]
    return [*found, *proxy.passed]


def test_table_is_that_of_both() -> None:
    """The proxy lists what its upstream lists, and less where it knows less itself."""
    proxy = proxy_with()
    direct = proxy.upstream.connect()
    direct.receive_data(TABLE.data)
    upstream = decode(ApiVersionsResponse, direct.data_to_send()[SIZE_BYTES + 4 :], version=3)
    response = exchanged(proxy.connect(), TABLE.data)
    table = decode(ApiVersionsResponse, response[SIZE_BYTES + 4 :], version=3).api_keys
    assert [each.api_key for each in table] == [each.api_key for each in upstream.api_keys]
    lower = [a.api_key for a, b in zip(table, upstream.api_keys, strict=True) if a != b]
    assert lower == list(LOWERED_KEYS)


def test_unknown_version_needs_a_header() -> None:
    """A version that the proxy refuses itself is refused only if its upstream could read the header; else the
    connection ends."""
    unknown = UNKNOWN[0].data[SIZE_BYTES:]
    connection = proxy_with().connect()
    assert exchanged(connection, encode_frame(unknown))
    assert exchanged(connection, encode_frame(unknown[:20])) == b""
    assert connection.state is ConnectionState.CLOSED


def test_bytes_may_arrive_in_any_pieces() -> None:
    """A request in two pieces, and two in one, are answered like any other; the bytes that arrive are those sent."""
    proxy = proxy_with()
    connection = proxy.connect()
    assert exchanged(connection, OTHER.data[:5]) == b""
    once = exchanged(connection, OTHER.data[5:])
    assert once
    assert exchanged(connection, OTHER.data * 2) == once * 2
    assert proxy.passed == [OTHER.data[SIZE_BYTES:]] * 3


def test_size_that_no_frame_has_ends_the_connection() -> None:
    """What comes before it is answered, and what comes after it is not read."""
    connection = proxy_with().connect()
    once = exchanged(proxy_with().connect(), OTHER.data)
    assert once
    assert exchanged(connection, OTHER.data + REFUSED_SIZE + OTHER.data) == once
    assert connection.state is ConnectionState.CLOSED


def test_connection_ends_with_either_side() -> None:
    """The end of the client's stream ends the connection to the upstream, and takes nothing more."""
    connection = proxy_with().connect()
    connection.resume()
    assert connection.pause is None
    connection.receive_eof()
    assert connection.state is ConnectionState.CLOSED
    assert exchanged(connection, TABLE.data) == b""


def test_connection_that_a_fault_keeps_open_is_silent() -> None:
    """Without its upstream, the proxy answers nothing on it, not even what it answers itself."""
    proxy = proxy_with("stays-silent-after-its-upstream")
    proxy.is_cut_off = True
    connection = proxy.connect()
    assert exchanged(connection, V0.data) == b""
    assert connection.state is ConnectionState.OPEN
    assert exchanged(connection, UNKNOWN[0].data) == b""


def test_paused_upstream_is_waited_for() -> None:
    """A response that the upstream delays arrives after its pause."""
    throttled = build_request(version=0, client_id=THROTTLED_CLIENT_IDS)
    assert exchanged(proxy_with().connect(), throttled.data)


def test_only_requests_with_names_have_a_body_to_change() -> None:
    assert api_versions_body(OTHER.data[SIZE_BYTES:]) is None
    assert api_versions_body(build_request(version=2).data[SIZE_BYTES:]) is None
    found = api_versions_body(NAMED.data[SIZE_BYTES:])
    assert found is not None
    assert found[1].client_software_name == "a-client"


@pytest.mark.parametrize("name", FAULTS)
def test_fault_shows(name: str) -> None:
    """With a fault, client or upstream see something else; every fault has a description and its clauses."""
    assert seen(proxy_with(name)) != seen(proxy_with())
    assert FAULTS[name].description
    assert FAULTS[name].breaks
