"""Which versions of Kafka's own client each release serves."""

from __future__ import annotations

from pathlib import Path

import pytest

from clauses.operations import NEWEST_VERSIONS
from reports.grid.grid_reading import read_grid
from reports.grid.grid_view import FoldedGrid
from reports.records import Verdict
from reports.release_changes.client_versions import (
    TriedVersion,
    is_partly_supported,
    served_clients,
    serves,
    tried_operations,
)
from tests.reports.roll_up_tables import cell_row, clause_row, run_row, target_row, write_tables

RUN = {"run_id": "20261121T150000Z-0a0b0c0d"}
CLIENTS = ("2.8.2", "4.4.0")


def row_of(client: str, operation: str = "consume-in-group") -> str:
    """Return the row of an operation: of that which is compared with the computed versions, unless another one is
    named."""
    return f"kafka-clients-{client}.{operation}"


def grid_of(out_dir: Path, verdicts: dict[tuple[str, str], str], operation: str = "consume-in-group") -> FoldedGrid:
    """Return a grid of operations: a verdict by client, and by release with its quorum if that is not the usual one."""
    targets = dict.fromkeys(target for _, target in verdicts)
    write_tables(
        out_dir,
        runs=[run_row(**RUN)],
        targets=[
            target_row(
                f"apache-kafka-{target}",
                role="operation",
                implementation="apache-kafka",
                release=target.partition("-")[0],
                release_order=[int(number) for number in target.partition("-")[0].split(".")],
                **RUN,
            )
            for target in targets
        ],
        clauses=[
            clause_row(row_of(client, operation), index, role="operation") for index, client in enumerate(CLIENTS)
        ],
        cells=[
            cell_row(row_of(client, operation), f"apache-kafka-{target}", verdict, **RUN)
            for (client, target), verdict in verdicts.items()
        ],
        failures=[],
    )
    return FoldedGrid(read_grid(out_dir))


def test_row_about_all_operations_is_none_of_them(tmp_path: Path) -> None:
    """What was tried is what an upgrade may break."""
    verdicts = {("4.4.0", "4.4.0"): "conforms"}
    (operation,) = tried_operations(grid_of(tmp_path / "a", verdicts))
    assert operation.operation == "consume-in-group"
    assert tried_operations(grid_of(tmp_path / "b", verdicts, NEWEST_VERSIONS)) == ()


@pytest.mark.parametrize(
    ("release", "client", "served"),
    [
        ("4.4.0", "4.4.0", True),
        ("4.0.2", "0.10.2.2", False),
        ("4.0.2", "0.11.0.3", True),
        ("3.9.2", "0.10.0.1", True),
        ("0.10.2.2", "4.0.2", False),
        ("0.10.2.2", "3.9.2", True),
        ("0.11.0.3", "4.4.0", True),
    ],
)
def test_release_serves_a_client_if_they_share_each_request(release: str, client: str, served: bool) -> None:
    """4.0 dropped what clients before 0.11 send, and its clients what brokers before 0.11 read (KIP-896)."""
    assert serves(release, client) is served


def test_what_was_tried_confirms_or_contradicts(tmp_path: Path) -> None:
    """A contradiction is marked: what Kafka states, the tables, or the client is wrong."""
    verdicts = {
        ("2.8.2", "2.8.2"): "conforms",
        ("4.4.0", "2.8.2"): "violates",
        ("2.8.2", "0.10.2.2"): "conforms",
        ("4.4.0", "0.10.2.2"): "informational",
    }
    grid = grid_of(tmp_path, verdicts)
    rows = {release: served_clients(release, grid) for release in ("0.10.2.2", "2.8.2", "4.4.0")}
    both = "Kafka’s statement and the tables"
    assert rows["2.8.2"].tried == (
        TriedVersion(client="2.8.2", text="✓ works", verdict=Verdict.CONFORMS),
        TriedVersion(client="4.4.0", text="✕ violates", verdict=Verdict.VIOLATES, contradicts=both),
    )
    assert rows["0.10.2.2"].tried == (
        TriedVersion(client="2.8.2", text="✓ works", verdict=Verdict.CONFORMS),
        TriedVersion(client="4.4.0", text="≈ unsupported", verdict=Verdict.INFORMATIONAL),
    )
    assert rows["4.4.0"].tried == ()


@pytest.mark.parametrize(
    ("tried", "text"),
    [
        pytest.param({"3.9.2": "conforms", "3.9.2-zookeeper": "violates"}, "✓ works", id="both"),
        pytest.param({"3.9.2-zookeeper": "violates"}, "✕ violates", id="only-zookeeper"),
    ],
)
def test_release_with_both_quorums_is_shown_with_kraft(tried: dict[str, str], text: str, tmp_path: Path) -> None:
    """The tables that the result is compared with are those with KRaft; with ZooKeeper if nothing else was tried."""
    grid = grid_of(tmp_path, {("4.4.0", each): verdict for each, verdict in tried.items()})
    (found,) = served_clients("3.9.2", grid).tried
    assert found.text == text


@pytest.mark.parametrize(
    ("release", "stated", "beyond"),
    [
        ("4.4.0", "of 2.1 and newer", ("0.11.0.3", "1.0.2", "1.1.1", "2.0.1")),
        ("3.9.2", "of every release", ()),
        ("2.1.1", "of every release", ()),
        ("2.0.1", "up to 3.9", ("4.0.0", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0")),
    ],
)
def test_kafka_supports_less_than_its_tables_would_allow(release: str, stated: str, beyond: tuple[str, ...]) -> None:
    """KIP-896 and the upgrade notes of 4.0: clients and brokers from 2.1 on."""
    found = served_clients(release)
    assert (found.stated, found.beyond, found.missing) == (stated, beyond, ())


def test_compatibility_tables_call_some_clients_partly_compatible() -> None:
    """2.1 to 2.8 with brokers from 4.0 on."""
    assert is_partly_supported("2.8.2", "4.4.0")
    assert not is_partly_supported("2.8.2", "3.9.2")
    assert not is_partly_supported("2.0.1", "4.4.0")
    assert not is_partly_supported("3.9.2", "4.4.0")
