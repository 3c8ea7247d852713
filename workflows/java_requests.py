"""Collects the requests that Kafka's own clients of the registry can send.

The result is for `api-versions --client`.

    python -m workflows.java_requests

A broker can parse more than clients send: what brokers send each other, and what a later release's client asks for. So
the classes of clients are searched for those that build requests. Rewrites
`reference_model/profiles/java_requests.csv`.
"""

from __future__ import annotations

import csv
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import click

from fixtures.artefacts.maven import fetch_pinned
from fixtures.registry.clients import all_clients
from reference_model.profiles.java_requests import FILE, JAVA_CLIENT, JavaRequest, has_ranges
from reference_model.profiles.known_apis import known_apis
from reports.command_line.suite_command import SuiteCommand

_OF_CLIENTS = (
    "org/apache/kafka/clients/",
    "org/apache/kafka/common/security/authenticator/",
    "org/apache/kafka/common/telemetry/",
)
_BUILDER = re.compile(rb"org/apache/kafka/common/requests/(\w+)Request\$\w*Builder")
_NAMED_OTHERWISE = {
    "ListClientMetricsResources": "ListConfigResources",
    "ListOffset": "ListOffsets",
    "OffsetsForLeaderEpoch": "OffsetForLeaderEpoch",
}
"""Maps the names of classes, of any release, to the names of APIs."""


def requests_built_in(jar: Path) -> set[int]:
    """Return the keys of the APIs whose requests the clients in a jar of `kafka-clients` build."""
    with zipfile.ZipFile(jar) as archive:
        names = {name.decode() for name in _builders_in(archive)}
    keys = {api.name: key for key, api in known_apis().items()}
    return {keys[api] for name in names if (api := _NAMED_OTHERWISE.get(name, name)) in keys}


def _builders_in(archive: zipfile.ZipFile) -> Iterator[bytes]:
    for name in archive.namelist():
        if name.startswith(_OF_CLIENTS) and name.endswith(".class"):
            yield from _BUILDER.findall(archive.read(name))


@click.command(cls=SuiteCommand, name="workflows.java_requests")
def main() -> None:
    """Write which requests each of Kafka's own clients can send."""
    pinned = {
        client.version: client.install.jars
        for client in all_clients()
        if client.library == JAVA_CLIENT and has_ranges(client.version)
    }
    rows = []
    for release, jars in sorted(pinned.items()):
        coordinate = f"org.apache.kafka:{JAVA_CLIENT}:{release}"
        only = {coordinate: jars[coordinate]}
        jar = fetch_pinned(only, what=coordinate)[coordinate]
        rows += [JavaRequest(release, key) for key in sorted(requests_built_in(jar))]
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(JavaRequest._fields)
        writer.writerows(rows)
    click.echo(f"{len(rows)} requests of {len(pinned)} releases")


if __name__ == "__main__":
    main()
