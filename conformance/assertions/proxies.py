"""Requests and assertions of the properties of proxies.

They involve the proxy's upstream broker and what lies between the two.
"""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import assume

from conformance.assertions.other_apis import advertised_table
from fixtures.artefacts.schema_jars import catalogue_of
from fixtures.under_test.broker import Broker
from reference_model.profiles.listeners import UPSTREAM
from reference_model.proxies.model_proxy import api_versions_body
from strategies.minimal_requests import minimal_request
from strategies.other_apis import PassedRequest
from wire.errors import DecodeError
from wire.exchange import Outcome, Request
from wire.frames import SIZE_BYTES
from wire.headers import CORRELATION_ID_BYTES
from wire.read_only import READ_ONLY

SLOWEST_END_S = 5.0
"""Within this time a proxy has to end or answer a client's connection after that to its upstream broke."""


def upstream_table(broker: Broker) -> Mapping[int, tuple[int, int]]:
    """Return the versions that a proxy's upstream lists, by key.

    Raises:
        HarnessError: its table cannot be read.
    """
    return {
        entry.api_key: (entry.min_version, entry.max_version) for entry in advertised_table(broker.sibling(UPSTREAM))
    }


def assume_passed(broker: Broker, passed: PassedRequest) -> Request:
    """Return the request in a version that the proxy lists.

    Reject the example if there is no such version, or if the request may not be sent.
    """
    assume(passed.api_key in READ_ONLY or not broker.target.is_read_only)
    listed = next((each for each in advertised_table(broker) if each.api_key == passed.api_key), None)
    assume(listed is not None)
    assert listed is not None
    version = listed.max_version - passed.below_newest
    api = catalogue_of(broker.target).find(passed.api_key, version)
    assume(api is not None and version >= listed.min_version)
    assert api is not None
    return minimal_request(api, version, correlation_id=passed.correlation_id, client_id=passed.client_id)


def _without_correlation_id(payload: bytes) -> bytes:
    start, end = SIZE_BYTES, SIZE_BYTES + CORRELATION_ID_BYTES
    return payload[:start] + payload[end:]


def arrived_unchanged(broker: Broker, sent: Request) -> str:
    """Return what is wrong with a request as it reached a proxy's upstream; empty if nothing is."""
    assert broker.running.upstream_link is not None
    payload = sent.data[SIZE_BYTES:]
    arrived = broker.running.upstream_link.passed()
    if any(_without_correlation_id(each) == _without_correlation_id(payload) for each in arrived):
        return ""
    same_api = [each for each in arrived if each[:SIZE_BYTES] == payload[:SIZE_BYTES]]
    latest = same_api[-1].hex() if same_api else "no request of this API and version"
    return f"the upstream does not get the request {payload.hex()}; the latest that it gets: {latest}"


def names_that_arrived(broker: Broker) -> list[tuple[str, str]]:
    """Return the names and versions of software that reached a proxy's upstream, the latest last."""
    assert broker.running.upstream_link is not None
    names = []
    for payload in broker.running.upstream_link.passed():
        try:
            read = api_versions_body(payload)
        except DecodeError:
            continue
        if read is not None:
            names.append((read[1].client_software_name, read[1].client_software_version))
    return names


def assert_ends_soon(broker: Broker, sent: Request, *, is_new: bool) -> None:
    """Fail if a proxy is silent to a request after its upstream broke; one that is not new was served before."""
    link = broker.running.upstream_link
    assert link is not None
    if is_new:
        with link.broken(), broker.connect(silence_bound_s=SLOWEST_END_S) as connection:
            (exchange,) = connection.converse([sent])
    else:
        with broker.connect(silence_bound_s=SLOWEST_END_S) as connection:
            connection.converse([sent])
            with link.broken():
                (exchange,) = connection.converse([sent])
    assert exchange.outcome is not Outcome.SILENT, (
        f"the proxy neither answers nor closes within {SLOWEST_END_S:g} s after its upstream broke"
    )
