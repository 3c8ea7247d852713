"""What clients can send is collected from two sources.

For Kafka's own clients the source is their classes, and for other clients the operations that they ran.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner

from fixtures.artefacts.schema_jars import clients_jar
from fixtures.registry.clients import all_clients
from reference_model.profiles import java_requests
from reference_model.profiles.known_apis import Range, known_apis
from upgrade.api_versions import client_requests
from upgrade.api_versions.client_requests import sent_ranges
from wire.frames import encode_frame
from workflows import java_requests as of_java
from workflows import sent_requests

METADATA, PRODUCE, FOR_LEADER_EPOCH = 3, 0, 23
KAFKA = "org/apache/kafka/"


def test_classes_of_clients_are_searched_for_builders(tmp_path: Path) -> None:
    """Whatever else a jar has, such as the classes of the requests, says nothing of what clients send."""
    jar = tmp_path / "clients.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for name, content in (
            ("clients/A.class", b"xorg/apache/kafka/common/requests/MetadataRequest$Builderx"),
            (
                "clients/B$1.class",
                b"org/apache/kafka/common/requests/OffsetsForLeaderEpochRequest$Builder",
            ),
            ("clients/C.class", b"org/apache/kafka/common/requests/AbstractRequest$Builder"),
            ("clients/D.class", b"org/apache/kafka/common/requests/VoteRequest"),
            ("clients/E.txt", b"org/apache/kafka/common/requests/VoteRequest$Builder"),
            ("common/requests/F.class", b"org/apache/kafka/common/requests/FetchRequest$Builder"),
            (
                "common/telemetry/G.class",
                b"org/apache/kafka/common/requests/ProduceRequest$SomeBuilder",
            ),
        ):
            archive.writestr(KAFKA + name, content)
    assert of_java.requests_built_in(jar) == {METADATA, PRODUCE, FOR_LEADER_EPOCH}


def test_stored_requests_are_those_of_the_jar() -> None:
    """The newest release stands for all; their jars are pinned and do not change."""
    built = of_java.requests_built_in(clients_jar("4.4.0"))
    stored = java_requests.ranges_of_client("4.4.0")
    assert set(stored) <= built <= set(known_apis())
    with java_requests.FILE.open(encoding="utf-8") as file:
        assert {f"4.4.0,{key}" for key in built} <= set(file.read().split())


def test_every_java_client_whose_versions_are_known_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is written release by release, each once."""
    monkeypatch.setattr(of_java, "FILE", tmp_path / "sent.csv")
    monkeypatch.setattr(of_java, "fetch_pinned", lambda pinned, **_: dict.fromkeys(pinned))
    monkeypatch.setattr(of_java, "requests_built_in", lambda _: {METADATA, PRODUCE})
    result = CliRunner().invoke(of_java.main)
    versions = {
        each.version
        for each in all_clients()
        if each.library == java_requests.JAVA_CLIENT and java_requests.has_ranges(each.version)
    }
    assert result.output == f"{2 * len(versions)} requests of {len(versions)} releases\n"
    for version in versions:
        assert f"{version},0\n{version},3\n" in (tmp_path / "sent.csv").read_text()
        assert java_requests.ranges_of_client(version)


def run_folder(folder: Path, *sent: tuple[str, int, int]) -> None:
    """Write what a run folder keeps of requests: row, API key and version."""
    (folder / "exchanges").mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    rows = {
        "clause": [f"{client}.produce" for client, _, _ in sent],
        "sent": [encode_frame(key.to_bytes(2) + version.to_bytes(2) + bytes(6)) for _, key, version in sent],
    }
    parquet.write_table(pa.table(rows), folder / "exchanges" / "part-00000.parquet")


def test_range_is_from_lowest_to_highest_of_all_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka's own client is left out, and so is ApiVersions."""
    run_folder(tmp_path / "1", ("a-1.0", 3, 4), ("a-1.0", 18, 3), ("kafka-clients-4.4.0", 3, 13))
    run_folder(tmp_path / "2", ("a-1.0", 3, 1), ("a-1.0", 0, 7), ("b-2.1", 3, 9))
    monkeypatch.setattr(sent_requests, "FILE", tmp_path / "sent.csv")
    monkeypatch.setattr(client_requests, "FILE", tmp_path / "sent.csv")
    result = CliRunner().invoke(sent_requests.main, [str(tmp_path)])
    assert result.output == "3 ranges of 2 clients\n"
    assert sent_ranges() == {"a-1.0": {0: Range(7, 7), 3: Range(1, 4)}, "b-2.1": {3: Range(9, 9)}}


NOT_TRIED_WITH_EVERY_RELEASE = {
    "@platformatic/kafka-1.35.0",
    "@platformatic/kafka-2.12.1",
    "confluent-kafka-2.0.2",
    "confluent-kafka-2.8.2",
    "kafka-python-2.0.2",
    "kafka-go-0.4.51",
    "kafkajs-2.2.4",
    "franz-go-1.19.0",
    "franz-go-1.19.1",
    "rskafka-0.6.0",
    "sarama-1.61.1",
    "sarama-1.61.1-version-0.10.2.0",
}
"""Clients that are not in the stored file: what they sent to a few releases is less than what they can send."""


def test_every_client_with_operations_is_known() -> None:
    """The stored file has those of the registry, with APIs that exist."""
    names = {each.name for each in all_clients() if each.operations}
    stored = sent_ranges()
    known = {name for name in names if not name.startswith("kafka-clients")}
    assert known >= NOT_TRIED_WITH_EVERY_RELEASE
    assert set(stored) == known - NOT_TRIED_WITH_EVERY_RELEASE
    for ranges in stored.values():
        assert set(ranges) <= set(known_apis())
        assert {0, 1, 2, 3, 10, 11} <= set(ranges)
