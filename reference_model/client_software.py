"""What a broker knows of the software of its clients: which connection has which, how many have it, the log line.

Kafka takes the name from the last ApiVersions request that it accepts; versions without a name, and those
that it does not support, make the software unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from reference_model.profile import Traits
from reference_model.request_parser import ParsedHeader, Unreadable, parse_body
from wire.api_versions import API_VERSIONS_KEY, FIRST_FLEXIBLE_VERSION

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ClientSoftware:
    """Name and version of a client's software."""

    name: str = UNKNOWN
    version: str = UNKNOWN


@dataclass(frozen=True, slots=True)
class Gauge:
    """One metric `connections`: of which listener, and of what software."""

    listener: str
    software: ClientSoftware


Counts = dict[Gauge, int]
"""How many connections are open, by listener and software; what has none is not there."""


def software_named(payload: bytes, header: ParsedHeader, traits: Traits) -> ClientSoftware | None:
    """Return the software that a request tells, unknown where it may not; None where it changes nothing."""
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
    """Return what the request log says of a request, in the form that Kafka gives it."""
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
