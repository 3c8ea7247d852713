"""Checks of a client's software in the metric's beans and in the request log."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from conformance.assertions.read_only_apis import read_only_items, request_of
from fixtures.errors import HarnessError
from fixtures.kafka_setup.jolokia import CONNECTIONS, ConnectionsBean
from fixtures.under_test.broker import Broker
from strategies.field_values import Software
from wire.exchange import Request
from wire.foreign_json import read_foreign_json

BEAN_KEYS = {
    "clientSoftwareName",
    "clientSoftwareVersion",
    "listener",
    "networkProcessor",
    "type",
}
BEAN_TYPE = "socket-server-metrics"
OTHER_KEYS = "a bean of the metric has other keys than the KIP's"
OTHER_LISTENER = "a bean of the metric names another listener"
NO_PROCESSOR = "the networkProcessor of a bean of the metric is not a number"
OTHER_TYPE = f"the type of a bean of the metric is not {BEAN_TYPE}"
NO_COUNT = f"a bean of the metric has no whole number as its value {CONNECTIONS}"
FURTHER_VALUES = f"a bean of the metric has other values than {CONNECTIONS}"
NO_ENTRY = "it has no entry for the request"
SOFTWARE_NOT_NAMED = "its entry for the request does not name the software"
NOT_IN_THE_FIELD = "its entry for the request names the software, but not in clientInformation"
OTHER_SOFTWARE = "the clientInformation of its entry for the request has another name or version"
_IN_TEXT = re.compile(r"clientInformation:\w+\(softwareName=(.*?), softwareVersion=(.*?)\)")
"""How Kafka writes the field up to 2.7; since then an entry is JSON."""

SLOWEST_LOG_S = 5.0
"""A container's log reaches us through the container engine, which may be busy with other containers."""
_NUMBERS = itertools.count(1)


def fresh_name() -> str:
    """Return a name for a client or its software that is not used anywhere else, including by earlier examples."""
    return f"c.{time.time_ns():x}-{next(_NUMBERS)}"


def bean_problem(gauge: ConnectionsBean, listener: str) -> str:
    """Return what is wrong with the name or the values of a bean of the metric; empty if nothing is.

    Args:
        gauge: the bean.
        listener: the listener that its connections belong to.
    """
    keys = gauge.keys
    problems = {
        OTHER_KEYS: keys.keys() != BEAN_KEYS,
        OTHER_LISTENER: keys.get("listener", "").lower() != listener,
        NO_PROCESSOR: not keys.get("networkProcessor", "").isdecimal(),
        OTHER_TYPE: keys.get("type") != BEAN_TYPE,
        NO_COUNT: gauge.connections is None,
        FURTHER_VALUES: gauge.attributes.keys() != {CONNECTIONS},
    }
    problem_text = next((problem for problem, holds in problems.items() if holds), "")
    return f"{problem_text}\n{gauge.bean} {dict(gauge.attributes)}" if problem_text else ""


def reading_request(broker: Broker, client_id: str, choice: int) -> Request:
    """Return a read-only request of an API other than ApiVersions that the target serves.

    `choice` may be any number. It selects the API and the version.

    Raises:
        HarnessError: the target serves none of them, or its table cannot be read.
    """
    items = read_only_items(broker)
    if not items:
        raise HarnessError("no API that only reads is served, so no other request is logged")
    return request_of(items[choice % len(items)], client_id=client_id)


def entry_problem(entries: Iterable[str], software: Software) -> str:
    """Return what is wrong with the log's entries for one request; empty if one of them is right."""
    problem = NO_ENTRY
    for entry in entries:
        problem = _problem_of_entry(entry, software)
        if not problem:
            break
    return problem


def _problem_of_entry(entry: str, software: Software) -> str:
    if software.name not in entry:
        return SOFTWARE_NOT_NAMED
    logged = software_in(entry)
    if logged is None:
        return NOT_IN_THE_FIELD
    return "" if logged == software else f"{OTHER_SOFTWARE}\n{logged}"


def software_in(entry: str) -> Software | None:
    """Return the software in the field clientInformation of a log entry; None if it has no such field."""
    written = _IN_TEXT.search(entry)
    if written is not None:
        return Software(written[1], written[2])
    with suppress(ValueError, KeyError, TypeError):
        field: Mapping[str, Any] = read_foreign_json(entry[entry.index("{") :])["clientInformation"]
        return Software(str(field["softwareName"]), str(field["softwareVersion"]))
    return None
