"""`upgrade` prints text, Markdown and JSON, with and without a grid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conformance.commands.upgrade import upgrade
from tests.reports.release_changes.grids import tables_of_two_releases


def _upgrade(*arguments: object) -> Result:
    return CliRunner().invoke(upgrade, [str(argument) for argument in arguments])


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    """A grid in which a client loses an operation, and a rule is newly broken."""
    return tables_of_two_releases(
        tmp_path / "grid",
        rules={"KIP-1.rule": ("conforms", "violates")},
        operations={"one-1.0.produce": ("conforms", "violates")},
    )


def test_upgrade_shows_title_sentence_and_sections() -> None:
    """In a pipe, no line is broken."""
    result = _upgrade("2.3.1", "4.4.0")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == "Apache Kafka 2.3.1 → 4.4.0"
    assert lines[1].startswith("In short: Kafka does not support clients older than 2.1")
    assert lines[1].endswith("10 requests come or go with KRaft, not with the release.")
    assert "Refused to Java clients up to 2.0: OffsetForLeaderEpoch 0-3 → 2-4" in lines
    assert "Produce 0-7 → 0-13 (0-2 listed, refused)" in result.output
    assert "Gone with ZooKeeper: LeaderAndIsr 0-2" in result.output
    assert "\x1b" not in result.output


def test_grid_adds_clients_and_rules_to_an_upgrade(grid: Path) -> None:
    """In every form."""
    text = _upgrade("2.3.1", "4.4.0", "--grid", grid)
    assert "✕ breaks: produce" in " ".join(text.output.split())
    assert "KIP-1.rule: ✓ conforms → ✕ violates. why violates" in text.output
    markdown = _upgrade("2.3.1", "4.4.0", "--grid", grid, "--format", "markdown").output
    assert "- one-1.0: 1 work → 1 fail. ✕ breaks: produce" in markdown
    document = json.loads(_upgrade("2.3.1", "4.4.0", "--grid", grid, "--format", "json").output)
    assert [each["lost"] for each in document["clients"]] == [["produce"]]
    assert [each["kind"] for each in document["rules"]["changes"]] == ["worse"]


def test_unknown_release_is_an_error_that_lists_near_ones() -> None:
    """The exit status is that of any unknown name."""
    result = _upgrade("2.3.1", "13.7.0")
    assert result.exit_code == 4
    assert result.output == "Error: no table of '13.7.0' was recorded; near: 3.7.2, 4.4.0, 3.9.2\n"


def test_removal_that_does_not_exist_yet_is_an_upgrade(tmp_path: Path) -> None:
    """Only what the list takes away changes."""
    result = _upgrade("4.4.0", "--to", "JoinGroup 6+, no DescribeCluster")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == "Apache Kafka 4.4.0 → 4.4.0 with JoinGroup 6+, no DescribeCluster"
    assert lines[1] == "In short: 2 requests of clients lose versions."
    assert "Refused to Java clients up to 2.3: JoinGroup 0-9 → 6-9" in lines
    assert "--for 'JoinGroup 6+, no DescribeCluster' stands between" in result.output
    file = tmp_path / "next.txt"
    file.write_text("JoinGroup 6+, no DescribeCluster")
    document = json.loads(_upgrade("4.4.0", "--to", file, "--format", "json").output)
    assert {each["name"] for each in document["requests"]} == {"JoinGroup", "DescribeCluster"}


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["4.4.0", "--to", "JoinGroup 50+"], 4, "JoinGroup 50+ leaves nothing of JoinGroup 0-9"),
        (["4.4.0", "--to", "JoinGruop 5+"], 4, "'JoinGruop' is no API of Kafka"),
        (["13.7", "--to", "JoinGroup 5+"], 4, "no table of '13.7' was recorded"),
        (["4.4.0"], 2, "give the newer release B, or --to with a table"),
        (["4.3.1", "4.4.0", "--to", "JoinGroup 5+"], 2, "give the newer release B, or --to with a table"),
    ],
)
def test_bad_table_is_one_sentence(arguments: list[str], status: int, sentence: str) -> None:
    result = _upgrade(*arguments)
    assert result.exit_code == status
    assert sentence in result.output
