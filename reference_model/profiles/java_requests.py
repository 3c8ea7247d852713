"""Requests that Kafka's own clients can send.

They are those that the clients' classes build, in the versions that their release can parse.

`java_requests.csv` has the requests; `python -m workflows.java_requests` writes it from the jars of the clients.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from reference_model.profiles.known_apis import Range
from reference_model.profiles.profile import profile_of, release_order
from reference_model.profiles.version_tables import Ranges

FILE = Path(__file__).with_name("java_requests.csv")
JAVA_CLIENT = "kafka-clients"
"""The library of Kafka's own client."""


class JavaRequest(NamedTuple):
    """A request that the clients of a release build."""

    release: str
    api_key: int


def has_ranges(release: str) -> bool:
    """Return whether the versions that a release can parse were recorded."""
    return bool(profile_of(release).readable_keys)


def ranges_of_client(release: str) -> Ranges:
    """Return the versions of each request that the Java client of a release can send; empty if they are not known."""
    built = _built().get(release, frozenset())
    return {
        each.api_key: Range(each.min_version, each.max_version)
        for each in profile_of(release).readable_keys
        if each.api_key in built
    }


@cache
def is_sent_by_clients(api_key: int, *, until: str = "") -> bool:
    """Return whether Java clients send an API; what they do not send, brokers send each other.

    Args:
        api_key: the API.
        until: the newest release whose clients count; empty for every release. Of the releases whose jars were read,
            the first one that is not older decides, with those before it.
    """
    releases = sorted(_built(), key=release_order)
    later = [release for release in releases if release_order(release) >= release_order(until)] if until else []
    last = later[0] if later else releases[-1]
    return any(api_key in _built()[release] for release in releases if release_order(release) <= release_order(last))


@cache
def _built() -> Mapping[str, frozenset[int]]:
    """Return the keys of the requests that the clients of each release build."""
    keys_by_release: dict[str, set[int]] = {}
    with FILE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            keys_by_release.setdefault(row["release"], set()).add(int(row["api_key"]))
    return {release: frozenset(keys) for release, keys in keys_by_release.items()}
