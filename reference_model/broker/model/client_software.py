"""Record of client software in a broker.

It has the software of each connection, the metric, and the request log.

Kafka takes the name from the last ApiVersions request that it accepts. A request in a version without a name, or
in an unsupported version, resets the software to unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reference_model.broker.rules.request_parser import ParsedHeader, Unreadable, parse_body
from reference_model.profiles.profile import Traits
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.request_log import UNKNOWN_SOFTWARE

CONNECTIONS = "connections"
"""The name of the metric's only attribute."""


@dataclass(frozen=True, slots=True)
class ClientSoftware:
    """The name and version of a client's software."""

    name: str = UNKNOWN_SOFTWARE
    version: str = UNKNOWN_SOFTWARE


@dataclass(frozen=True, slots=True)
class Gauge:
    """The name of one metric `connections`; a key whose value is empty is left out of it.

    Attributes:
        listener: the listener's name.
        software: the client software.
        network_processor: the number of the network thread.
        type: the kind of metric.
    """

    listener: str
    software: ClientSoftware
    network_processor: str = "0"
    type: str = "socket-server-metrics"


Counts = dict[Gauge, int]
"""Number of open connections by listener and software; entries of zero are omitted."""


def only_connections(gauge: Gauge, number: int) -> dict[str, Any]:
    """Return the attributes of a bean: the number of connections alone."""
    return {CONNECTIONS: number}


@dataclass(frozen=True, slots=True)
class DeprecatedRequest:
    """What the metric `DeprecatedRequestsPerSec` counts separately: an API's name, its version and the software."""

    request: str
    version: int
    software: ClientSoftware


@dataclass(slots=True)
class ClientMetric:
    """The metrics of client software while they are queried: `connections`, and `DeprecatedRequestsPerSec`.

    Attributes:
        counts: what is shown.
        unused: the gauges whose last connection closed a while ago, which are not shown.
        deprecated: how many requests in deprecated versions came; there are none as long as no version is deprecated.
        attributes: returns the attributes that a bean shows for its number of connections.
    """

    counts: Counts = field(default_factory=dict)
    unused: list[Gauge] = field(default_factory=list)
    deprecated: dict[DeprecatedRequest, int] = field(default_factory=dict)
    attributes: Callable[[Gauge, int], Mapping[str, Any]] = only_connections


def software_named(payload: bytes, header: ParsedHeader, traits: Traits) -> ClientSoftware | None:
    """Return the software of a connection after this request; None if the request does not change it."""
    if header.api_key != API_VERSIONS_KEY:
        return None
    if not FIRST_FLEXIBLE_VERSION <= header.api_version <= traits.api_versions_max:
        return ClientSoftware()
    try:
        body = parse_body(memoryview(payload), header, traits)
    except Unreadable:
        return None
    if body.ids_are_half_given or not body.name_is_valid:
        return None
    return ClientSoftware(body.client_software_name, body.client_software_version)


def count(listener: str, software: Iterable[ClientSoftware]) -> Counts:
    """Count the connections of one listener."""
    return dict(Counter(Gauge(listener, each) for each in software))


def log_entry(header: ParsedHeader, listener: str, software: ClientSoftware) -> dict[str, Any]:
    """Return the request log's entry for a request, in Kafka's format."""
    return {
        "requestHeader": {
            "requestApiKey": header.api_key,
            "requestApiVersion": header.api_version,
            "correlationId": header.correlation_id,
            "clientId": header.client_id,
        },
        "listener": listener,
        "clientInformation": {
            "softwareName": software.name,
            "softwareVersion": software.version,
        },
    }
