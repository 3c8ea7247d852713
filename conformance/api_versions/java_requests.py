"""What Kafka's own clients can send: the requests that their classes build, in the versions that their release can parse.

`java_requests.csv` has the requests; `python -m workflows.java_requests` writes it from the jars of the clients.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

from conformance.api_versions.cluster_tables import Ranges
from conformance.api_versions.known_apis import Range
from reference_model.profile import profile_of

FILE = Path(__file__).parent / "java_requests.csv"
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
    with FILE.open(encoding="utf-8", newline="") as file:
        built = {int(row["api_key"]) for row in csv.DictReader(file) if row["release"] == release}
    return {
        each.api_key: Range(each.min_version, each.max_version)
        for each in profile_of(release).readable_keys
        if each.api_key in built
    }
