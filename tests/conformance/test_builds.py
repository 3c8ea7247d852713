"""Brokers that are judged without the registry: a build, or a running broker.

A build is in a folder. A running broker is judged by its addresses.

`changes`, `matrix` and `replay` take builds, and targets that are judged like a release, as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest

from conformance.commands.changes import changed_tables, comparable
from conformance.commands.selection import selected_targets
from conformance.failures.stored_failures import StoredFailure, read_failure
from conformance.roles.stored_targets import ReplayOptions, target_for
from conformance.runs.target_runs import TargetRun, TargetRuns, arguments_naming, finished_runs
from fixtures.client.access import TlsFiles
from fixtures.client.running_broker import RunningBroker
from fixtures.errors import UnknownTarget
from fixtures.kafka_setup.broker_properties import SECURITY_PROTOCOLS, with_secured_controllers
from fixtures.launchers import choose_launcher, launch
from fixtures.launchers.built_in import reference_targets
from fixtures.launchers.given_broker import given_listener
from fixtures.launchers.named_targets import home_target, origin_of
from fixtures.registry.targets import BROKERS_FOLDER, Target, newest_release, select_targets
from reference_model.profiles.known_apis import Range
from reference_model.profiles.listeners import CONTROLLER_LISTENERS, USUAL_LISTENERS
from reference_model.profiles.profile import REFERENCE
from reports.document.markdown_form import markdown_of
from reports.grid.change_log import table_blocks, write_change_log
from reports.records import Verdict
from reports.run.failures import facts
from reports.run.run_folder import read_run_header, run_verdicts
from tests.conformance.commands.test_matrix import write_finished_run
from tests.conformance.suite_runs import run_suite
from tests.fixtures.kafka_homes import COMMIT, VERSION, renamed_release, write_home
from tests.reports.recorders import failure_of, key_of
from tests.run_folders import target_entry

DECLARED = {known.clause for known in newest_release().known_violations}
NEEDS_A_LAUNCHER = (
    "KIP-511.connections-metric",
    "KIP-511.request-log",
    "KIP-896.deprecated-requests-metric",
    "KIP-35.throttle-time",
)


@pytest.mark.nightly
@pytest.mark.slow  # It starts a real broker, and judges all of its listeners
def test_jars_under_another_version_violate_what_the_release_declares(tmp_path: Path) -> None:
    """On all listeners, with log, metrics and quotas; nothing else is violated, and nothing is left out."""
    folder = renamed_release(tmp_path / f"kafka_2.13-{VERSION}")
    run = run_suite("--kafka-home", str(folder), "--tier", "smoke", runs=tmp_path / "runs", every_listener=True)
    assert run.status == 0, run.output
    assert f"{folder}, commit {COMMIT}; judged like {newest_release().id}" in run.output
    header = read_run_header(run.folder)
    (target,) = header["targets"]
    assert {key: target[key] for key in ("id", "release", "launcher", "like", "folder", "commit")} == {
        "id": f"kafka-build-{VERSION}",
        "release": VERSION,
        "launcher": "home",
        "like": newest_release().id,
        "folder": str(folder),
        "commit": COMMIT,
    }
    assert f"kafka_2.13-{VERSION}.jar" in target["artefacts"]
    listeners = {cell["listener"] for cell in header["planned_cells"]}
    assert listeners == set(newest_release().listeners)
    found: dict[Verdict, set[str]] = {}
    for cell, verdict in run_verdicts(run.folder, header).items():
        found.setdefault(verdict, set()).add(cell.clause)
    assert found.keys() == {Verdict.CONFORMS, Verdict.KNOWN_VIOLATION, Verdict.NOT_APPLICABLE}
    assert found[Verdict.KNOWN_VIOLATION] == DECLARED
    assert set(NEEDS_A_LAUNCHER) <= found[Verdict.CONFORMS]


OF_THE_LAUNCHER = (
    "KIP-35.throttle-time ",
    "KIP-511.connections-metric ",
    "KIP-511.name-attached-to-connection ",
    "KIP-511.request-log ",
    "KIP-896.deprecated-requests-metric ",
)
"""What only whoever starts a broker can look at: its quotas, metrics and log."""
OF_A_RELEASE = ("KIP-35.advertised-version-supported ",)
"""The declared violation is one of a request that changes the broker, so it is sent to no broker that runs already."""


def command_config(running: RunningBroker, folder: Path) -> Path:
    """Write the properties of a client of a running broker."""
    assert isinstance(running.tls, TlsFiles)
    assert running.sasl is not None
    identity = folder / "identity.pem"
    tls = running.tls
    identity.write_text(tls.client_key.read_text() + tls.client_certificate.read_text())
    file = folder / "client.properties"
    file.write_text(
        f"ssl.truststore.type=PEM\nssl.truststore.location={tls.ca_file}\n"
        f"ssl.keystore.type=PEM\nssl.keystore.location={identity}\nsasl.mechanism=PLAIN\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="{running.sasl.username}" password="{running.sasl.password}";\n'
    )
    return file


def cells_of(folder: Path) -> Mapping[tuple[str, str], Verdict]:
    """Return the verdict of each cell of a run, by clause and listener."""
    verdicts = run_verdicts(folder, read_run_header(folder))
    return {(key.clause, key.listener): verdict for key, verdict in verdicts.items()}


def judged_by_address(target: Target, listeners: tuple[str, ...], folder: Path) -> Path:
    """Judge a broker that runs already; return the run folder."""
    launcher, _ = choose_launcher(target, "process")
    declared = folder / "declared.toml"
    file = BROKERS_FOLDER / f"{target.id}.toml"
    blocks = file.read_text().split("\n[") if file.exists() else []
    known = [block for block in blocks if block.startswith("[known_violation]]")]
    declared.write_text("".join(f"[{block}\n" for block in known))
    with launch(target, launcher) as running:
        at = running.addresses
        of = SECURITY_PROTOCOLS
        given = [f"--bootstrap-server={of[name]}://{at[name]}" for name in listeners[:-1]]
        last = listeners[-1]
        role = "controller" if last in CONTROLLER_LISTENERS else "server"
        given.append(f"--bootstrap-{role}={of[last]}://{at[last]}")
        # The reference broker follows the text of the KIPs, which no release does.
        like = ("--like", REFERENCE) if target.id == REFERENCE else ()
        run = run_suite(
            *given,
            *like,
            f"--command-config={command_config(running, folder)}",
            *("--expectations", str(declared), "--tier", "smoke"),
            runs=folder / "by-address",
            every_listener=True,
        )
    assert run.status in (0, 1, 12), run.output
    return run.folder


def judged_by_launcher(target: Target, listeners: tuple[str, ...], folder: Path) -> Path:
    """Judge a target that the suite starts; return the run folder."""
    chosen = [part for name in listeners for part in ("--listener", name)]
    run = run_suite(
        *("--broker", target.id, "--launcher", "process", "--tier", "smoke", *chosen),
        runs=folder / "by-launcher",
        every_listener=True,
    )
    assert run.status == 0, run.output
    return run.folder


def differences(target: Target, listeners: tuple[str, ...], folder: Path) -> list[str]:
    """Return the cells that differ although they are judged by address, in words."""
    here = cells_of(judged_by_address(target, listeners, folder))
    there = cells_of(judged_by_launcher(target, listeners, folder))
    assert here.keys() == there.keys()
    return [
        f"{clause} {listener}: {here[clause, listener].value}, {there[clause, listener].value}"
        for clause, listener in there
        if here[clause, listener] is not there[clause, listener]
    ]


def unexplained(found: Iterable[str], name: str) -> list[str]:
    """Return the differences that do not follow from how the broker was found."""
    explained = (*OF_THE_LAUNCHER, *(() if name == REFERENCE else OF_A_RELEASE))
    return [each for each in found if not each.startswith(explained)]


@pytest.mark.slow  # Two runs each, one of them of a real broker on six listeners
@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("name", "listeners"),
    [
        (REFERENCE, ("plaintext", "sasl_ssl", "controller_ssl_client_auth")),
        ("apache-kafka-4.4.0", (*USUAL_LISTENERS, "controller_sasl_ssl")),
    ],
)
def test_verdicts_are_those_of_the_launcher(name: str, listeners: tuple[str, ...], tmp_path: Path) -> None:
    """Except what only whoever starts a broker sees or may send."""
    (target,) = select_targets([name], extra=reference_targets())
    target = with_secured_controllers(target, listeners)
    assert unexplained(differences(target, listeners, tmp_path), name) == []


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
        text = markdown_of(*(block for each in changed for block in table_blocks(each)))
        assert [line for line in text.splitlines() if line] == [
            f"{BUILD} on controller, compared with {RELEASE.id}: 3 entries of the table changed",
            r"- Metadata \(3\): v0 to v13 → v0 to v14, up to v14",
            r"- DescribeCluster \(60\): v0 to v2 → not listed, gone",
            r"- key 9000 \(9000\): not listed → v0, new",
            f"{BUILD} on controller, compared with {BUILD}: no entries of the table changed",
        ]

    def test_changed_entries_are_written(self, build: Target, tmp_path: Path) -> None:
        """As JSON for programs, and in the text for people."""
        tables = [(RELEASE, {3: Range(0, 13)}), (build, {3: Range(0, 14), 18: Range(0, 4)})]
        write_change_log(tmp_path, [], [], [], list(changed_tables({"plaintext": tables})))
        (table,) = json.loads((tmp_path / "changes.json").read_text())["tables"]
        assert (table["listener"], table["before"], table["since"]) == (*("plaintext", RELEASE.id, BUILD),)
        assert [(each["api"], each["was"], each["became"]) for each in table["entries"]] == [
            ("Metadata", [0, 13], [0, 14]),
            ("ApiVersions", None, [0, 4]),
        ]
        text = (tmp_path / "changes.md").read_text()
        assert "2 entries of the table changed\n\n- Metadata \\(3\\): v0 to v13 → v0 to v14" in text


class TestMatrix:
    """`matrix DIR`."""

    def test_a_run_is_done_only_for_the_same_build(self, build: Target, tmp_path: Path) -> None:
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
) -> ReplayOptions:
    """Return what options say about the target."""
    listeners = () if address is None else (given_listener(address, {}),)
    return ReplayOptions(listeners=listeners, broker=broker, folder=folder, like=like)


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

    def test_other_jars_are_reported(self, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The failure may be gone because of them: that is often why it is judged again."""
        failure = stored(tmp_path, home_target(folder))
        (folder / "libs" / f"kafka_2.13-{VERSION}.jar").write_bytes(b"fixed")
        assert target_for(failure, given()).id == BUILD
        words = f"{folder} has other jars than those of which the failure was recorded\n"
        assert capsys.readouterr().err == words

    def test_another_target_can_be_given(self, folder: Path, tmp_path: Path) -> None:
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
        failure = stored(tmp_path, home_target(folder))
        with pytest.raises(UnknownTarget, match="names no release of Apache Kafka"):
            target_for(failure, given(like="apache-kafka-9"))
        folder.rename(tmp_path / "moved")
        with pytest.raises(click.UsageError, match=r"which is gone: give the folder .*--kafka-home"):
            target_for(failure, given())
