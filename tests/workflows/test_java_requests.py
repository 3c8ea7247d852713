"""Which requests Kafka's own clients can send, collected from their classes."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from fixtures.artefacts.message_schemas import clients_jar
from fixtures.registry.clients import all_clients
from reference_model.profiles import java_requests
from reference_model.profiles.known_apis import known_apis
from workflows import java_requests as workflow

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
    assert workflow.requests_built_in(jar) == {METADATA, PRODUCE, FOR_LEADER_EPOCH}


def test_stored_requests_are_those_of_the_jar() -> None:
    """The newest release stands for all; their jars are pinned and do not change."""
    built = workflow.requests_built_in(clients_jar("4.4.0"))
    stored = java_requests.ranges_of_client("4.4.0")
    assert set(stored) <= built <= set(known_apis())
    with java_requests.FILE.open(encoding="utf-8") as file:
        assert {f"4.4.0,{key}" for key in built} <= set(file.read().split())


def test_every_java_client_whose_versions_are_known_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is written release by release, each once."""
    monkeypatch.setattr(workflow, "FILE", tmp_path / "sent.csv")
    monkeypatch.setattr(workflow, "fetch_pinned", lambda pinned, **_: dict.fromkeys(pinned))
    monkeypatch.setattr(workflow, "requests_built_in", lambda _: {METADATA, PRODUCE})
    result = CliRunner().invoke(workflow.main)
    versions = {
        each.version
        for each in all_clients()
        if each.library == java_requests.JAVA_CLIENT and java_requests.has_ranges(each.version)
    }
    assert result.output == f"{2 * len(versions)} requests of {len(versions)} releases\n"
    for version in versions:
        assert f"{version},0\n{version},3\n" in (tmp_path / "sent.csv").read_text()
        assert java_requests.ranges_of_client(version)
