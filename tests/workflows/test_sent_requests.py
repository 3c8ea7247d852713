"""What clients sent in the grid of operations, collected from run folders."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner

from conformance.api_versions import client_requests
from conformance.api_versions.client_requests import sent_ranges
from fixtures.registry.clients import all_clients
from reference_model.profiles.known_apis import Range, known_apis
from wire.frames import encode_frame
from workflows import sent_requests as workflow


def run_folder(folder: Path, *sent: tuple[str, int, int]) -> None:
    """Write what a run folder keeps of requests: row, API key and version."""
    (folder / "exchanges").mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    rows = {
        "clause": [f"{client}.produce" for client, _, _ in sent],
        "sent": [
            encode_frame(key.to_bytes(2) + version.to_bytes(2) + bytes(6))
            for _, key, version in sent
        ],
    }
    parquet.write_table(pa.table(rows), folder / "exchanges" / "part-00000.parquet")


def test_range_is_from_lowest_to_highest_of_all_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka's own client is left out, and so is ApiVersions."""
    run_folder(tmp_path / "1", ("a-1.0", 3, 4), ("a-1.0", 18, 3), ("kafka-clients-4.4.0", 3, 13))
    run_folder(tmp_path / "2", ("a-1.0", 3, 1), ("a-1.0", 0, 7), ("b-2.1", 3, 9))
    monkeypatch.setattr(workflow, "FILE", tmp_path / "sent.csv")
    monkeypatch.setattr(client_requests, "FILE", tmp_path / "sent.csv")
    result = CliRunner().invoke(workflow.main, [str(tmp_path)])
    assert result.output == "3 ranges of 2 clients\n"
    assert sent_ranges() == {"a-1.0": {0: Range(7, 7), 3: Range(1, 4)}, "b-2.1": {3: Range(9, 9)}}


NOT_TRIED_WITH_EVERY_RELEASE = {
    "@platformatic/kafka-1.35.0",
    "kafka-go-0.4.51",
    "kafkajs-2.2.4",
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
