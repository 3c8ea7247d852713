"""A broker that `start` has started, as it is described to people, programs and commands."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fixtures.client.running_broker import RunningBroker
from fixtures.kafka_setup.client_properties import CA_FILE, ClientFiles

SUMMARY = "broker.json"
"""The file in the folder that contains what `--json` prints; it is complete as soon as it exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedBroker:
    """A broker that runs, with the files for its clients.

    Attributes:
        running: the broker.
        how: how it was started, in one line.
        folder: where the files are.
        files: the files of each listener that clients may use, by name.
    """

    running: RunningBroker
    how: str
    folder: Path
    files: Mapping[str, ClientFiles]

    def write_summary(self) -> None:
        """Write the file `SUMMARY`, after everything else."""
        incomplete = self.folder / f".{SUMMARY}"
        incomplete.write_text(f"{self.as_json()}\n", encoding="utf-8")
        incomplete.rename(self.folder / SUMMARY)

    def as_json(self) -> str:
        """Return its description in one line of JSON."""
        running, ca_file = self.running, self.folder / CA_FILE
        return json.dumps(
            {
                "target": running.target.id,
                "cluster_id": running.cluster_id,
                "process_id": os.getpid(),
                "folder": str(self.folder),
                "ca_file": str(ca_file) if ca_file.exists() else None,
                "username": None if running.sasl is None else running.sasl.username,
                "password": None if running.sasl is None else running.sasl.password,
                "listeners": {name: _as_json(each) for name, each in self.files.items()},
                "clusters": [
                    {
                        "cluster_id": cluster.cluster_id,
                        "nodes": {
                            str(node): str(address) for node, address in cluster.nodes.items()
                        },
                    }
                    for cluster in running.clusters
                ],
            }
        )

    def as_text(self) -> str:
        """Return its description for people."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.running.target.id} runs ({self.how})"
        for name, files in self.files.items():
            yield f"  {name:<16} {files.bootstrap_servers}"
            for mechanism, file in zip(files.mechanisms or ("",), files.properties, strict=True):
                yield f"    {file} {mechanism}".rstrip()
        for cluster in self.running.clusters:
            nodes = ", ".join(f"{node} at {address}" for node, address in cluster.nodes.items())
            yield f"  cluster {cluster.cluster_id}: nodes {nodes}"
        yield f"  more files for clients, for librdkafka as well: {self.folder}"

    @property
    def environment(self) -> Mapping[str, str]:
        """What a command finds in its environment; the first listener has the plain names."""
        first = next(iter(self.files.values()))
        variables = {"KAFKA_CLIENT_FILES": str(self.folder), **_variables(first, "")}
        for name, files in self.files.items():
            variables |= _variables(files, f"_{name.upper()}")
        return variables


def _as_json(files: ClientFiles) -> dict[str, object]:
    return {
        "bootstrap_servers": files.bootstrap_servers,
        "sasl_mechanisms": list(files.mechanisms),
        "properties": list(map(str, files.properties)),
        "librdkafka_properties": list(map(str, files.librdkafka_properties)),
    }


def _variables(files: ClientFiles, suffix: str) -> dict[str, str]:
    return {
        f"KAFKA_BOOTSTRAP_SERVERS{suffix}": files.bootstrap_servers,
        f"KAFKA_COMMAND_CONFIG{suffix}": str(files.properties[0]),
    }
