"""Brokers that are judged otherwise than from the registry: a build in a folder, and one that runs already, by its addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from fixtures.client.running_broker import RunningBroker, TlsFiles
from fixtures.kafka_setup.broker_properties import SECURITY_PROTOCOLS, with_secured_controllers
from fixtures.launchers import choose_launcher, launch
from fixtures.launchers.built_in import reference_targets
from fixtures.registry.targets import BROKERS_FOLDER, Target, newest_release, select_targets
from reference_model.profiles.listeners import CONTROLLER_LISTENERS, USUAL_LISTENERS
from reference_model.profiles.profile import REFERENCE
from reports.records import Verdict
from reports.run.run_folder import read_run_header
from reports.run.run_verdicts import run_verdicts
from tests.conformance.suite_runs import run_suite
from tests.fixtures.kafka_homes import COMMIT, VERSION, renamed_release

DECLARED = {known.clause for known in newest_release().known_violations}
NEEDS_A_LAUNCHER = (
    "KIP-511.connections-metric",
    "KIP-511.request-log",
    "KIP-35.throttle-time",
)


@pytest.mark.nightly
@pytest.mark.slow  # It starts a real broker, and judges all of its listeners
def test_jars_under_another_version_violate_what_the_release_declares(tmp_path: Path) -> None:
    """On all listeners, with log, metrics and quotas; nothing else is violated, and nothing is left out."""
    folder = renamed_release(tmp_path / f"kafka_2.13-{VERSION}")
    run = run_suite(
        "--kafka-home", str(folder), "--tier", "smoke", runs=tmp_path / "runs", every_listener=True
    )
    assert run.status == 0, run.output
    assert f"{folder}, commit {COMMIT}; judged like {newest_release().id}" in run.output
    header = read_run_header(run.folder)
    (target,) = header["targets"]
    assert {
        key: target[key] for key in ("id", "release", "launcher", "like", "folder", "commit")
    } == {
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
def test_verdicts_are_those_of_the_launcher(
    name: str, listeners: tuple[str, ...], tmp_path: Path
) -> None:
    """Except what only whoever starts a broker sees or may send."""
    (target,) = select_targets([name], extra=reference_targets())
    target = with_secured_controllers(target, listeners)
    assert unexplained(differences(target, listeners, tmp_path), name) == []
