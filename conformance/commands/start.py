"""`start`: starts a broker to work with, and ends it with the command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import click

from clauses.exit_statuses import INTERRUPTED
from conformance.commands.errors import CouldNotTell, InvalidFile, UnknownName, reported_as
from conformance.commands.output_console import status_line
from conformance.commands.selection import selected_target
from conformance.failures.drawn_values import UnreadableValues, read_values
from fixtures.choosing.target_options import LAUNCHERS
from fixtures.cleanup.ending_signals import interrupts_held_back
from fixtures.cleanup.temporary_folder import temporary_folder
from fixtures.client.command_config import CommandConfig
from fixtures.client.running_broker import RunningBroker
from fixtures.errors import ConnectionFailed, HarnessError
from fixtures.kafka_setup.broker_properties import with_secured_controllers
from fixtures.kafka_setup.client_properties import CA_FILE, ClientFiles, write_client_files
from fixtures.launchers import choose_launcher, launch
from fixtures.launchers.built_in import scripted_target
from fixtures.recording_proxy.cut_broker import cut_broker
from fixtures.registry.given_tables import GivenTable, given_table
from fixtures.registry.targets import Target, nearest_names
from reference_model.clients.scripts.named_scripts import NAMED_SCRIPTS, SCRIPTED, scripted_name
from reference_model.clients.scripts.script import Script
from reference_model.profiles.listeners import LISTENERS, PLAINTEXT
from reference_model.profiles.removals import InvalidTable
from reports.wording.escaping import printable
from upgrade.api_versions.asking import ask_cluster

SUMMARY = "broker.json"
"""The file in the folder that contains what `--json` prints; it is complete as soon as it exists."""


ENDING_LIMIT_S = 10.0
"""How long a command may take to end after SIGTERM."""
_CHECKED_EVERY_S = 0.2
"""How often the broker is asked whether it still runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _StartedBroker:
    """A broker that runs, with the files for its clients.

    Attributes:
        running: the broker.
        how: how it was started, in one line.
        folder: where the files are.
        files: the files of each listener that clients may use, by name.
    """

    running: RunningBroker
    how: str
    folder: Path
    files: Mapping[str, ClientFiles]

    def write_summary(self) -> None:
        """Write the file `SUMMARY`, after everything else."""
        incomplete = self.folder / f".{SUMMARY}"
        incomplete.write_text(f"{self.as_json()}\n", encoding="utf-8")
        incomplete.rename(self.folder / SUMMARY)

    def as_json(self) -> str:
        """Return its description in one line of JSON."""
        running, ca_file = self.running, self.folder / CA_FILE
        return json.dumps(
            {
                "target": running.target.id,
                "cluster_id": running.cluster_id,
                "process_id": os.getpid(),
                "folder": str(self.folder),
                "ca_file": str(ca_file) if ca_file.exists() else None,
                "username": None if running.sasl is None else running.sasl.username,
                "password": None if running.sasl is None else running.sasl.password,
                "listeners": {name: _as_json(each) for name, each in self.files.items()},
                "clusters": [
                    {
                        "cluster_id": cluster.cluster_id,
                        "nodes": {str(node): str(address) for node, address in cluster.nodes.items()},
                    }
                    for cluster in running.clusters
                ],
            }
        )

    def as_text(self) -> str:
        """Return its description for people."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.running.target.id} runs ({self.how})"
        for name, files in self.files.items():
            yield f"  {name:<16} {files.bootstrap_servers}"
            for mechanism, file in zip(files.mechanisms or ("",), files.properties, strict=True):
                yield f"    {file} {mechanism}".rstrip()
        for cluster in self.running.clusters:
            nodes = ", ".join(f"{node} at {address}" for node, address in cluster.nodes.items())
            yield f"  cluster {cluster.cluster_id}: nodes {nodes}"
        yield f"  more files for clients, for librdkafka as well: {self.folder}"

    @property
    def environment(self) -> Mapping[str, str]:
        """What a command finds in its environment; the first listener has the plain names."""
        first = next(iter(self.files.values()))
        variables = {"KAFKA_CLIENT_FILES": str(self.folder), **_variables(first, "")}
        for name, files in self.files.items():
            variables |= _variables(files, f"_{name.upper()}")
        return variables


def _as_json(files: ClientFiles) -> dict[str, object]:
    return {
        "bootstrap_servers": files.bootstrap_servers,
        "sasl_mechanisms": list(files.mechanisms),
        "properties": list(map(str, files.properties)),
        "librdkafka_properties": list(map(str, files.librdkafka_properties)),
    }


def _variables(files: ClientFiles, suffix: str) -> dict[str, str]:
    return {
        f"KAFKA_BOOTSTRAP_SERVERS{suffix}": files.bootstrap_servers,
        f"KAFKA_COMMAND_CONFIG{suffix}": str(files.properties[0]),
    }


def target_named(text: str) -> Target:
    """Return the target that an argument names.

    Args:
        text: an id of the registry, "scripted+NAME", "scripted" for the healthy one, or the `repr` of a script.

    Raises:
        UnknownName: there is no such target or script.
        InvalidFile: a file of the registry does not follow its schema.
        click.UsageError: the text is a glob that names several targets, or no script that can be read.
    """
    if text.startswith("Script("):
        return scripted_target(_script(text))
    name = scripted_name(text)
    if name is None:
        return selected_target(text)
    if name not in NAMED_SCRIPTS:
        raise UnknownName(
            f"no script is named {name!r}; {nearest_names(name, NAMED_SCRIPTS)}"
            "`kafka-conformance start --help` lists all"
        )
    return scripted_target(NAMED_SCRIPTS[name], name)


def _script(text: str) -> Script:
    try:
        script = read_values(f"{{'script': {text}}}")["script"]
    except UnreadableValues as error:
        raise click.UsageError(f"the script cannot be read: {error}") from error
    assert isinstance(script, Script)
    return script


def with_listeners(target: Target, wanted: Sequence[str]) -> Target:
    """Return a target with the wanted listeners and the plaintext one.

    The plaintext listener shows when the target is ready. If no listener is wanted, keep all.

    Raises:
        click.UsageError: it does not have them.
    """
    if not wanted:
        return target
    if SCRIPTED in target.launchers:
        if len(wanted) > 1:
            raise click.UsageError("a scripted broker has one listener; give --listener once")
        script = replace(target.launchers[SCRIPTED]["script"], listener=wanted[0])
        return scripted_target(script, target.id.partition("+")[2])
    target = with_secured_controllers(target, wanted)
    missing = [name for name in wanted if name not in target.listeners]
    if missing:
        raise click.UsageError(
            f"{target.id} has no listener {', '.join(missing)}; it has {', '.join(target.listeners)}"
        )
    needed = (name for name in target.listeners if name in (PLAINTEXT, *wanted))
    return replace(target, listeners=tuple(needed))


def with_ports(target: Target, texts: Sequence[str], first: str) -> Target:
    """Return a target with fixed ports, each given as "PORT" or "LISTENER=PORT".

    A port without a name belongs to the listener `first`.

    Raises:
        click.UsageError: a text has another form, or names a listener that the target does not have.
    """
    ports = {}
    for text in texts:
        listener, _, port = text.rpartition("=")
        name = listener or first
        if name not in target.listeners or not port.isdecimal() or not 0 < int(port) < 65_536:
            raise click.UsageError(f"--port {text} is not [LISTENER=]PORT; listeners: {', '.join(target.listeners)}")
        ports[name] = int(port)
    return replace(target, fixed_ports=ports)


@click.command(epilog=f"Scripts, each as {SCRIPTED}+NAME: {', '.join(NAMED_SCRIPTS)}.")
@click.argument("target")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND ...]")
@click.option(
    "--listener",
    "listeners",
    multiple=True,
    type=click.Choice(LISTENERS),
    help="have this listener; repeatable; default: all of the target, or the one of the script",
)
@click.option(
    "--port",
    "ports",
    multiple=True,
    metavar="[LISTENER=]PORT",
    help="the port of a listener, without a name of the first one; repeatable; default: free ports",
)
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="where the files for clients are written: a new folder, which is removed at the end; default: a temporary one",
)
@click.option("--json", "as_json", is_flag=True, help=f"print what FOLDER/{SUMMARY} contains")
@click.option(
    "--table",
    metavar="TABLE",
    help="let it serve less, at its plaintext listener: a file that `api-versions --json` wrote, or what it would lose, in "
    "a file or as 'JoinGroup 5+, no DescribeCluster'",
)
@click.option("--launcher", type=click.Choice(LAUNCHERS), default="auto", show_default=True)
def start(
    target: str,
    command: tuple[str, ...],
    listeners: tuple[str, ...],
    ports: tuple[str, ...],
    out: Path | None,
    as_json: bool,
    table: str | None,
    launcher: str,
) -> None:
    """Start a broker to work with, and end it on Ctrl-C.

    TARGET is an id that `kafka-conformance targets` lists: a release, a cluster, the reference broker with or without a
    planted defect. Or it is a scripted broker: scripted+NAME, or the text of a script, Script(...), as the failure of a
    client has it.

    With a COMMAND, the broker ends when the command does, and so does this command, with its status. The command finds
    the address in KAFKA_BOOTSTRAP_SERVERS, the file of properties for Kafka's tools in KAFKA_COMMAND_CONFIG, and the
    folder in KAFKA_CLIENT_FILES.
    """
    given = None
    if table is not None:
        if any(each != PLAINTEXT for each in listeners) or ports:
            raise click.UsageError(
                "--table is about the plaintext listener, at a free port: leave out --listener and --port"
            )
        listeners = (PLAINTEXT,)
        with reported_as(InvalidFile, InvalidTable):
            given = given_table(table)
    chosen = with_listeners(target_named(target), listeners)
    chosen = with_ports(chosen, ports, next(iter(listeners or chosen.listeners)))
    if command and shutil.which(command[0]) is None:
        raise click.UsageError(f"{command[0]!r} is no command; what follows TARGET is run")
    try:
        with reported_as(CouldNotTell, HarnessError), ExitStack() as resources:
            folder = _create_folder(out, resources)
            with status_line(f"starting {chosen.id}"):
                started = _start(chosen, launcher, listeners, folder, resources, given)
            started.write_summary()
            # The standard output belongs to the command.
            click.echo(started.as_json() if as_json else started.as_text(), err=bool(command))
            if not (as_json or command):
                click.echo("  Ctrl-C ends it")
            status = _run(command, started) if command else _wait(started.running)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    raise SystemExit(status)


def _create_folder(out: Path | None, resources: ExitStack) -> Path:
    try:
        return resources.enter_context(temporary_folder(out))
    except (FileExistsError, FileNotFoundError, NotADirectoryError) as error:
        raise click.UsageError(
            f"--out {out} cannot be created: {error.strerror}; name a new folder in one that exists"
        ) from error


def _start(
    target: Target,
    launcher: str,
    wanted: Sequence[str],
    folder: Path,
    resources: ExitStack,
    table: GivenTable | None,
) -> _StartedBroker:
    running = resources.enter_context(launch(target, launcher))
    if table is not None:
        running = _with_table(running, table, resources)
    # Not asked before: only then it is known whether its image could be had.
    _, how = choose_launcher(target, launcher)
    listeners = tuple(name for name in target.listeners if name in wanted or not wanted)
    files = write_client_files(running, listeners, folder)
    return _StartedBroker(running=running, how=how, folder=folder, files=files)


def _with_table(running: RunningBroker, table: GivenTable, resources: ExitStack) -> RunningBroker:
    """Return a broker whose plaintext listener is a proxy that leaves less of its table.

    Raises:
        InvalidFile: the table lists what the broker does not, or removes what it does not have.
        CouldNotTell: the broker does not say what it lists.
    """
    address = running.addresses[PLAINTEXT]
    with reported_as(CouldNotTell, ConnectionFailed):
        cluster = ask_cluster([address], CommandConfig(), controllers=False)
    with reported_as(InvalidFile, InvalidTable):
        left = table.left_of({key: each.listed for key, each in cluster.table.items()}, running.target.id)
    port = resources.enter_context(cut_broker(address, left))
    # At the addresses of a cluster's nodes there is the complete table; the proxy names others to clients.
    return replace(running, addresses={**running.addresses, PLAINTEXT: port}, clusters=())


def _wait(running: RunningBroker) -> int:
    """Wait until the broker is to be ended; return the exit status.

    Raises:
        CouldNotTell: it has ended by itself.
    """
    try:
        while (ended := running.how_it_ended()) is None:
            threading.Event().wait(_CHECKED_EVERY_S)
    except KeyboardInterrupt:
        return 0
    raise CouldNotTell(printable(f"{running.target.id} has ended: {ended}"))


def _run(command: Sequence[str], started: _StartedBroker) -> int:
    """Run a command next to the broker; return its exit status.

    Raises:
        CouldNotTell: the broker ended before the command did.
    """
    process = None
    try:
        with interrupts_held_back():
            process = subprocess.Popen(command, env={**os.environ, **started.environment})
        status = process.wait()
    finally:
        if process is not None:
            _end(process)
    ended = started.running.how_it_ended()
    if ended is not None:
        raise CouldNotTell(printable(f"{started.running.target.id} has ended: {ended}"))
    # Of a signal, as a shell reports it.
    return status if status >= 0 else 128 - status


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command that still runs: it gets SIGTERM, and SIGKILL if it does not obey."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(ENDING_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
