"""Builds in folders, and targets that are judged like a release, as the targets of `changes`, `matrix` and `replay`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest

from conformance.commands.changes import changed_tables, comparable
from conformance.commands.selection import selected_targets
from conformance.failures.stored_failures import StoredFailure, read_failure
from conformance.roles.stored_targets import Wanted, target_for
from conformance.runs.target_runs import TargetRun, TargetRuns, arguments_naming, finished_runs
from fixtures.errors import UnknownTarget
from fixtures.launchers.given_broker import given_listener
from fixtures.launchers.kafka_home import home_target, origin_of
from fixtures.registry.targets import Target, newest_release
from reference_model.profiles.known_apis import Range
from reports.grid.change_log import table_lines, write_change_log
from reports.run.failures import facts
from tests.conformance.commands.test_matrix import write_finished_run
from tests.fixtures.kafka_homes import VERSION, write_home
from tests.reports.recorders import failure_of, key_of
from tests.run_folders import target_entry

BUILD = f"kafka-build-{VERSION}"
RELEASE = newest_release()
LISTED = {3: Range(0, 13), 18: Range(0, 4), 60: Range(0, 2)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that looks like a build."""
    return write_home(tmp_path / f"kafka_2.13-{VERSION}")


@pytest.fixture
def build(folder: Path) -> Target:
    """The target for it."""
    return home_target(folder)


class TestChanges:
    """`changes RELEASE DIR`: what does a branch change?"""

    def test_builds_come_after_releases_in_the_given_order(self, tmp_path: Path) -> None:
        """Two builds of a version are two targets, also if there is a release of that version."""
        folders = [write_home(tmp_path / name, RELEASE.release) for name in ("trunk", "branch")]
        targets = selected_targets([*map(str, folders), "apache-kafka-4.3.1", RELEASE.id])
        release = RELEASE.release
        assert [each.id for each in comparable(targets)] == [
            *("apache-kafka-4.3.1", RELEASE.id),
            *(f"kafka-build-{release}-trunk", f"kafka-build-{release}-branch"),
        ]

    def test_changed_entries_of_the_table_are_named(self, build: Target) -> None:
        """An API may be new, gone, or have other versions; between releases nothing is said."""
        own = {3: Range(0, 14), 18: Range(0, 4), 9000: Range(0, 0)}
        tables = [(replace(RELEASE, id="older"), {}), (RELEASE, LISTED), (build, own), (build, own)]
        changed = list(changed_tables({"controller": tables}))
        assert list(table_lines(changed)) == [
            f"{BUILD} on controller, compared with {RELEASE.id}: 3 entries of the table changed",
            "- Metadata (3): v0 to v13 → v0 to v14, up to v14",
            "- DescribeCluster (60): v0 to v2 → not listed, gone",
            "- key 9000 (9000): not listed → v0, new",
            f"{BUILD} on controller, compared with {BUILD}: no entries of the table changed",
        ]

    def test_changed_entries_are_written(self, build: Target, tmp_path: Path) -> None:
        """As JSON for programs, and in the text for people."""
        tables = [(RELEASE, {3: Range(0, 13)}), (build, {3: Range(0, 14), 18: Range(0, 4)})]
        write_change_log(tmp_path, [], [], [], list(changed_tables({"plaintext": tables})))
        (table,) = json.loads((tmp_path / "changes.json").read_text())["tables"]
        assert (table["listener"], table["before"], table["since"]) == (
            *("plaintext", RELEASE.id, BUILD),
        )
        assert [(each["api"], each["was"], each["became"]) for each in table["entries"]] == [
            ("Metadata", [0, 13], [0, 14]),
            ("ApiVersions", None, [0, 4]),
        ]
        text = (tmp_path / "changes.md").read_text()
        assert "2 entries of the table changed\n\n- Metadata (3): v0 to v13 → v0 to v14" in text


class TestMatrix:
    """`matrix DIR`."""

    def test_a_run_is_done_only_for_the_same_build(self, build: Target, tmp_path: Path) -> None:
        """Other jars of the same version, or another release to be judged like, need a run of their own."""
        artefacts, like = origin(build)
        cases: list[tuple[dict[str, Any], bool]] = [
            ({}, True),
            ({"artefacts": {**artefacts, f"kafka_2.13-{VERSION}.jar": "0" * 64}}, False),
            ({"like": "apache-kafka-4.3.1"}, False),
        ]
        for changes, counts in cases:
            runs = tmp_path / f"runs-{len(list(tmp_path.iterdir()))}"
            values = {"launcher": "home", "artefacts": artefacts, "like": like, **changes}
            write_finished_run(runs, BUILD, targets=[target_entry(BUILD, **values)])
            done = finished_runs(runs, [build], tier="smoke", seed=None, launcher="auto")
            assert (BUILD in done) is counts, changes

    def test_a_build_is_named_by_its_folder(
        self, build: Target, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A run of its own does not know its id; a target of the registry is named by that."""
        naming = ("--kafka-home", str(folder), "--like", RELEASE.id)
        assert arguments_naming(build) == naming
        assert arguments_naming(RELEASE) == ("--broker", RELEASE.id)
        program = tmp_path / "program"
        program.write_text('#!/bin/sh\necho "$@"\nexit 3\n')
        program.chmod(0o755)
        monkeypatch.setattr("sys.executable", str(program))
        done: list[TargetRun] = []
        runs = TargetRuns(tmp_path, options=[], jobs=1, naming={BUILD: naming})
        runs.run([BUILD], done.append, lambda: None)
        assert " ".join(naming) in done[0].last_lines[0]


def origin(build: Target) -> tuple[dict[str, str], str]:
    """Return the jars of a build and the release that it is judged like, as a record has them."""
    assert build.artefacts is not None
    return dict(build.artefacts.jars), build.judged_as.id


def stored(tmp_path: Path, target: Target) -> StoredFailure:
    """Return a failure of a target as a run stores it, read back."""
    failure = replace(failure_of(key_of(target=target.id), "seen"), origin=origin_of(target))
    (tmp_path / "failure.json").write_text(json.dumps(facts(failure)))
    return read_failure(tmp_path)


def given(
    address: str | None = None,
    broker: str | None = None,
    folder: str | None = None,
    like: str = "",
) -> Wanted:
    """Return what options say about the target."""
    listeners = () if address is None else (given_listener(address, {}),)
    return Wanted(listeners=listeners, broker=broker, folder=folder, like=like)


class TestReplay:
    """`replay` of a failure that was found on a build, or on an address that is judged like a release."""

    def test_the_failure_keeps_its_folder_and_release(
        self, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The build in the folder is judged again, like the same release; a target with a file keeps nothing."""
        build = home_target(folder, like="apache-kafka-4.3.1")
        again = target_for(stored(tmp_path, build), given())
        assert again == build
        assert capsys.readouterr().err == ""
        assert "origin" not in facts(failure_of(key_of(), "seen"))
        assert origin_of(RELEASE) == {}

    def test_other_jars_are_reported(
        self, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The failure may be gone because of them: that is often why it is judged again."""
        failure = stored(tmp_path, home_target(folder))
        (folder / "libs" / f"kafka_2.13-{VERSION}.jar").write_bytes(b"fixed")
        assert target_for(failure, given()).id == BUILD
        words = f"{folder} has other jars than those of which the failure was recorded\n"
        assert capsys.readouterr().err == words

    def test_another_target_can_be_given(self, folder: Path, tmp_path: Path) -> None:
        """One of the registry is judged as itself, another build like the release of the failure."""
        failure = stored(tmp_path, home_target(folder, like="apache-kafka-4.3.1"))
        other = write_home(tmp_path / "other")
        assert target_for(failure, given(broker=RELEASE.id)).like is None
        assert target_for(failure, given(folder=str(other))).judged_as.id == "apache-kafka-4.3.1"
        assert target_for(failure, given(folder=str(other), like=RELEASE.id)).like == RELEASE
        at_address = target_for(failure, given(address="localhost:1"))
        assert at_address.judged_as.id == "apache-kafka-4.3.1"
        with pytest.raises(click.UsageError, match="not both"):
            given(broker="a", folder="b")

    def test_a_folder_that_is_gone_is_one_sentence(self, folder: Path, tmp_path: Path) -> None:
        """It says which option names another one; an unknown release is named as well."""
        failure = stored(tmp_path, home_target(folder))
        with pytest.raises(UnknownTarget, match="names no release of Apache Kafka"):
            target_for(failure, given(like="apache-kafka-9"))
        folder.rename(tmp_path / "moved")
        with pytest.raises(
            click.UsageError, match=r"which is gone: give the folder .*--kafka-home"
        ):
            target_for(failure, given())
