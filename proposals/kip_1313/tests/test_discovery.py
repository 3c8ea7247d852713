"""Tests of `discovery`: measured in memory, stored, and run as a command.

`discovery` shows what a new request header would break.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from fixtures.errors import HarnessError
from fixtures.registry.targets import load_targets
from fixtures.under_test.in_memory import InMemoryBroker, in_memory_target
from proposals.kip_1313 import discovery as command
from proposals.kip_1313.discovery import (
    VERSIONS_BEYOND,
    Discovery,
    has_flexible_headers,
    measure,
    read_figures,
    write_figures,
)
from reference_model.profiles.listeners import PLAINTEXT
from wire.exchange import Outcome

TARGETS = {target.id: target for target in load_targets()}
RELEASE = TARGETS["apache-kafka-4.3.1"]
UUIDS = 300


def test_most_ids_close_the_connection() -> None:
    """Header v2 is always answered, header v3 rarely; the model predicts each outcome."""
    found = measure(InMemoryBroker(in_memory_target(RELEASE), PLAINTEXT), uuids=UUIDS, seed=1)
    assert found.newest == 4
    assert (found.with_header_2, found.answered_with_header_2) == (VERSIONS_BEYOND,) * 2
    assert 0 < found.answered_with_header_3 < UUIDS / 20
    assert found.predicted == found.with_header_3 == UUIDS
    assert found.offset_delete == found.push_telemetry == "closed"


def test_release_that_falls_silent_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a response or a closed connection is an outcome."""
    silent = [SimpleNamespace(payload=None, outcome=Outcome.SILENT)]
    monkeypatch.setattr(InMemoryBroker, "converse", lambda *_: silent)
    with pytest.raises(HarnessError, match="does not answer any more: silent"):
        measure(InMemoryBroker(in_memory_target(RELEASE), PLAINTEXT), uuids=1, seed=1)


def figures(release: str, answered: int) -> Discovery:
    """Return the figures of a release."""
    return Discovery(
        release=release,
        quorum="kraft",
        newest=4,
        with_header_2=1,
        answered_with_header_2=1,
        with_header_3=2,
        answered_with_header_3=answered,
        predicted=2,
        offset_delete="closed",
        get_telemetry_subscriptions="closed",
        push_telemetry="answered NONE (0)",
    )


def test_figures_are_replaced_release_by_release(tmp_path: Path) -> None:
    file = tmp_path / "discovery.csv"
    assert read_figures(file) == []
    write_figures([figures("4.10.0", 1), figures("4.2.0", 0)], file)
    write_figures([figures("4.2.0", 2)], file)
    assert read_figures(file) == [figures("4.2.0", 2), figures("4.10.0", 1)]


def test_every_release_with_flexible_headers_is_recorded() -> None:
    """With at least 5,000 ids, none of them against the model; header v2 is always answered."""
    recorded = {(each.release, each.quorum): each for each in read_figures()}
    wanted = [
        target
        for target in TARGETS.values()
        if target.implementation == "apache-kafka" and has_flexible_headers(target)
    ]
    assert set(recorded) == {(target.release, target.quorum) for target in wanted}
    for each in recorded.values():
        assert each.answered_with_header_2 == each.with_header_2 > 0
        assert each.predicted == each.with_header_3 >= 5000


def test_command_measures_what_has_flexible_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older releases are left out, and the file is written."""
    monkeypatch.setattr(command, "launch", lambda target, _: nullcontext(in_memory_target(target)))
    monkeypatch.setattr(command, "Broker", InMemoryBroker)
    out = tmp_path / "figures.csv"
    arguments = ["apache-kafka-4.3.1", "apache-kafka-1.1.1", "--uuids", "5", "--out", str(out)]
    result = CliRunner().invoke(command.discovery, arguments)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("4.3.1 kraft: header v2 100 of 100 answered, header v3 ")
    assert len(read_figures(out)) == 1


def test_command_needs_a_release_with_flexible_headers(tmp_path: Path) -> None:
    """Anything else is an error of the command line."""
    result = CliRunner().invoke(command.discovery, ["apache-kafka-1.1.1", "--out", str(tmp_path / "f")])
    assert result.exit_code == 2
    assert "has requests with header v2" in result.output
