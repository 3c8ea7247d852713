"""`start`: clients reach what was started by its files, and nothing of it is left."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner
from confluent_kafka.admin import AdminClient

from conformance.__main__ import main
from conformance.commands import start
from conformance.commands.errors import UnknownName
from conformance.commands.start import SUMMARY, target_named, with_listeners, with_ports
from fixtures.client.addresses import Address
from fixtures.client.own_connection import ask_api_versions
from fixtures.client.running_broker import RunningBroker
from fixtures.kafka_setup.client_properties import ClientFiles, write_client_files
from fixtures.launchers import launch
from fixtures.launchers.built_in import launch_scripted, reference_targets, scripted_target
from fixtures.launchers.free_port import free_port
from fixtures.launchers.process import launch_process
from fixtures.polling import poll_until
from fixtures.registry.targets import newest_release
from reference_model.clients.scripts.named_scripts import NAMED_SCRIPTS
from reference_model.clients.scripts.script import Answer, one_node
from reference_model.profiles.listeners import (
    BROKER_LISTENERS,
    CONTROLLER,
    PLAINTEXT,
    SSL,
    USUAL_LISTENERS,
)
from tests.fixtures.running_targets import running_at
from wire.api_keys import FETCH_KEY

REFERENCE = reference_targets()[0]
STARTS_WITHIN_S = 60
PRINT_ADDRESS = "import os; print(os.environ['KAFKA_BOOTSTRAP_SERVERS'], os.environ['KAFKA_COMMAND_CONFIG'])"


def reaches(listener: str, files: ClientFiles) -> None:
    """Check that `api-versions` and librdkafka reach a listener by each of its files."""
    option = "--bootstrap-controller" if listener == CONTROLLER else "--bootstrap-server"
    for file in files.properties:
        arguments = ["api-versions", option, files.bootstrap_servers, "--command-config", str(file)]
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, done.output
        assert "ApiVersions(18): 0 to " in done.output
    for file in files.librdkafka_properties:
        parts = (line.partition("=") for line in file.read_text().splitlines())
        settings: dict[str, str | int | float | bool] = {name: value for name, _, value in parts}
        found = AdminClient(settings).list_topics(timeout=10)
        assert files.bootstrap_servers in {f"{each.host}:{each.port}" for each in found.brokers.values()}


@pytest.mark.parametrize("listener", BROKER_LISTENERS)
def test_clients_reach_a_scripted_broker_by_its_files(listener: str, tmp_path: Path) -> None:
    """On the listener that the user wants, with certificates and credentials."""
    target = with_listeners(target_named("scripted"), [listener])
    with launch_scripted(target) as running:
        reaches(listener, write_client_files(running, (listener,), tmp_path)[listener])


@pytest.mark.nightly
@pytest.mark.slow
def test_clients_reach_every_listener_of_a_release(tmp_path: Path) -> None:
    """By the files of each of its listeners."""
    with launch_process(newest_release()) as running:
        found = write_client_files(running, newest_release().listeners, tmp_path)
        assert tuple(found) == USUAL_LISTENERS
        for name, files in found.items():
            reaches(name, files)


@pytest.mark.slow
def test_sigterm_ends_what_was_started(tmp_path: Path) -> None:
    """Clients reach it until then; afterwards its folder is gone, its port closed, and the status is 0."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "conformance", "start", "scripted", "--listener", SSL]
    with subprocess.Popen([*command, "--out", str(out)], stdout=subprocess.PIPE, text=True) as started:
        try:
            assert poll_until((out / SUMMARY).exists, True, limit_s=STARTS_WITHIN_S)
            output = json.loads((out / SUMMARY).read_text())
            assert output["process_id"] == started.pid
            (each,) = output["listeners"].values()
            files = ClientFiles(
                bootstrap_servers=each["bootstrap_servers"],
                mechanisms=tuple(each["sasl_mechanisms"]),
                properties=tuple(map(Path, each["properties"])),
                librdkafka_properties=tuple(map(Path, each["librdkafka_properties"])),
            )
            reaches(SSL, files)
            started.send_signal(signal.SIGTERM)
            printed, _ = started.communicate(timeout=STARTS_WITHIN_S)
        finally:
            started.kill()
    assert started.returncode == 0
    assert files.bootstrap_servers in printed
    assert not out.exists()
    host, _, port = files.bootstrap_servers.rpartition(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port))).close()


def running_until(
    how_it_ended: Callable[[], str | None],
) -> Callable[..., AbstractContextManager[RunningBroker]]:
    """Return what takes the place of `launch`: it yields a broker that nothing listens for."""
    address = Address("127.0.0.1", 9)
    return lambda *_: nullcontext(running_at(address, how_it_ended=how_it_ended))


def test_an_interrupt_is_the_usual_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then the folder has what `--json` prints; afterwards it is gone, and the status is 0."""
    summary = tmp_path / "out" / SUMMARY
    written = []

    def interrupt() -> None:
        written.append(summary.read_text())
        raise KeyboardInterrupt

    monkeypatch.setattr(start, "launch", running_until(interrupt))
    arguments = ["start", "reference", "--listener", PLAINTEXT, "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(main, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    assert written == [done.stdout]
    output = json.loads(done.stdout)
    assert output["process_id"] == os.getpid()
    assert output["listeners"][PLAINTEXT]["bootstrap_servers"] == "127.0.0.1:9"
    assert not summary.parent.exists()


def test_a_command_finds_the_address_and_gives_the_status(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["start", "scripted", "--out", str(tmp_path / "out"), "--port"]
    with free_port() as free:
        pass
    code = f"{PRINT_ADDRESS}; raise SystemExit(7)"
    done = CliRunner().invoke(main, [*arguments, str(free.port), "--", sys.executable, "-c", code])
    assert done.exit_code == 7
    assert capfd.readouterr().out == f"{free} {tmp_path}/out/plaintext.properties\n"
    assert done.stdout == ""
    assert "scripted+healthy runs" in done.stderr
    assert not (tmp_path / "out").exists()


def test_broker_with_a_table_serves_only_that(tmp_path: Path) -> None:
    """It prints no address of a node of its cluster: the complete table is there."""
    table = tmp_path / "table.json"
    command = [
        "sh",
        "-c",
        f"{sys.executable} -m conformance api-versions --bootstrap-server $KAFKA_BOOTSTRAP_SERVERS --json > {table}",
    ]
    done = CliRunner().invoke(main, ["start", "reference-cluster", "--table", "Fetch 4-9", "--", *command])
    assert done.exit_code == 0, done.output
    listed = json.loads(table.read_text())
    fetch = [api for broker in listed["brokers"] for api in broker["apis"] if api["api_key"] == FETCH_KEY]
    assert [(api["min_version"], api["max_version"]) for api in fetch] == [(4, 9)]
    assert "nodes" not in done.stderr


@pytest.mark.parametrize(
    ("options", "status", "sentence"),
    [
        (["--table", "Fetch 4-99"], 4, "Fetch 4-99 lists what is not served"),
        (["--table", "Fetch"], 4, "'Fetch' is no removal"),
        (["--table", "Fetch 4-9", "--listener", SSL], 2, "--table is about the plaintext listener"),
    ],
)
def test_table_that_cannot_be_served_is_refused(options: list[str], status: int, sentence: str) -> None:
    done = CliRunner().invoke(main, ["start", "reference", *options, "--", "true"])
    assert (done.exit_code, sentence in done.stderr) == (status, True), done.output


def test_an_interrupt_ends_the_command_and_the_broker(tmp_path: Path) -> None:
    """Even one that comes while the command starts; the status says that it was interrupted."""
    out, own = tmp_path / "out", tmp_path / "process-id"
    interrupting = ["sh", "-c", f"echo $$ > {own}; kill -TERM $PPID; exec sleep 600"]
    began = time.monotonic()
    done = CliRunner().invoke(main, ["start", "scripted", "--out", str(out), "--", *interrupting])
    assert done.exit_code == 2
    assert time.monotonic() - began < STARTS_WITHIN_S
    assert not out.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int(own.read_text()), 0)


@pytest.mark.parametrize("command", [(), ("--", "true")], ids=["alone", "command"])
def test_a_broker_that_ends_by_itself_is_reported(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """With how it ended, and status 10; no command has succeeded without it."""
    monkeypatch.setattr(start, "launch", running_until(lambda: "broker ended by SIGKILL"))
    done = CliRunner().invoke(main, ["start", "reference", "--listener", PLAINTEXT, *command])
    assert done.exit_code == 10
    assert "reference has ended: broker ended by SIGKILL" in done.output


def test_a_script_is_given_by_its_name_or_by_its_text() -> None:
    """The text is what a run stores with the failure of a client."""
    script = one_node(Answer(error_code=42))
    for target in (target_named(repr(script)), scripted_target(script)):
        with launch(target, "scripted") as running:
            assert ask_api_versions(running.addresses[PLAINTEXT]) == 42
    assert target_named("scripted") == target_named("scripted+healthy")


@pytest.mark.parametrize("name", NAMED_SCRIPTS)
def test_every_named_script_can_be_started(name: str) -> None:
    script = NAMED_SCRIPTS[name]
    assert target_named(repr(script)).launchers == target_named(f"scripted+{name}").launchers


def test_all_nodes_of_a_script_are_reported() -> None:
    """The first one is the bootstrap server."""
    with launch_scripted(target_named("scripted+three-nodes")) as running:
        (cluster,) = running.clusters
        assert list(cluster.nodes) == [1, 2, 3]
        assert cluster.nodes[1] == running.addresses[PLAINTEXT]
        assert len(set(cluster.nodes.values())) == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("scripted+onlyv0", "nearest: only-v0"),
        ("aache-kafka-4.4.0", "nearest: apache-kafka-4.4.0"),
    ],
)
def test_unknown_names_are_answered_with_the_nearest(text: str, says: str) -> None:
    """Of scripts as of targets."""
    with pytest.raises(UnknownName, match=says):
        target_named(text)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["Script(nodes=3"], "the script cannot be read"),
        (["Script(nodes=print())"], "the script cannot be read"),
        (["apache-kafka-4.*"], "names 6 targets; give one"),
        (["tansu-0.6.0", "--listener", "ssl"], "tansu-0.6.0 has no listener ssl; it has plaintext"),
        (["scripted", "--listener", "ssl", "--listener", "plaintext"], "has one listener"),
        (["reference", "--port", "ssl=0"], r"--port ssl=0 is not \[LISTENER=\]PORT"),
        (["reference", "--port", "tls=9093"], r"--port tls=9093 is not \[LISTENER=\]PORT"),
        (["reference", "no-such-command"], "'no-such-command' is no command"),
        (["scripted", "--out", "."], r"--out \. cannot be created: File exists"),
        (["scripted", "--out", "no/such"], "--out no/such cannot be created: No such file"),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_wrong_usage_is_said_before_anything_starts(arguments: list[str], says: str) -> None:
    """In one sentence, with status 2."""
    done = CliRunner().invoke(main, ["start", *arguments])
    assert done.exit_code == 2
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(done.output)


def test_a_port_in_use_is_said() -> None:
    """With status 10: it may be free the next time."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = CliRunner().invoke(main, ["start", "reference", "--port", f"ssl={port}"])
    assert done.exit_code == 10
    assert f"port {port} cannot be used: Address already in use" in done.output


def test_the_first_wanted_listener_gets_the_port() -> None:
    """A port without a name belongs to it, and the plaintext one, which is needed, gets a free one."""
    target = with_listeners(REFERENCE, [SSL])
    assert target.listeners == (PLAINTEXT, SSL)
    assert with_ports(target, ["9093"], SSL).fixed_ports == {SSL: 9093}
