"""Compares what clients do in a rehearsal with what they do with the real release.

    python -m workflows.rehearsals [--client ID] ... [--release ID] ... [--base ID]

For each release a file says what its table lacks of that of the base. `watch --rehearse FILE` makes the base look like
it, and each operation of each client is tried there and with the release itself. They agree if it works with both or
with neither. What differs is tried again. An API of which base and release have no version in common is named: what
needs it cannot be rehearsed on the base. Exit status: 0 if at least `MIN_AGREEING` of all cases agree, else 1.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from rich.console import Console
from rich.table import Table

from clauses.operations import OPERATIONS
from conformance.commands.errors import CouldNotTell, UnknownName, reported_as
from conformance.needs.outcomes import has_worked
from fixtures.client.addresses import Address
from fixtures.client.cluster_client import Security
from fixtures.client_processes.installation import DriverCommand, installed
from fixtures.errors import HarnessError, UnknownClient
from fixtures.launchers import launch
from fixtures.recording_proxy.recorded_trial import try_operation
from fixtures.registry.clients import RINGS, Client, select_clients
from fixtures.registry.targets import newest_release
from fixtures.scripted_broker.playing import PlayPool, play_of
from reference_model.profiles.known_apis import label_of
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.removals import Removal
from reference_model.profiles.version_tables import Ranges, ranges_of
from reports.command_line.suite_command import SuiteCommand
from reports.wording.verdict_labels import counted
from upgrade.prediction.releases import NoSuchRelease, Release, recorded_targets, release_named
from wire.api_keys import API_VERSIONS_KEY

CLIENTS = ("confluent-kafka-2.16.1", "confluent-kafka-2.8.2", "kafka-python-3.0.12", "aiokafka-0.14.0")
RELEASES = ("apache-kafka-4.0.0", "apache-kafka-3.3.2", "apache-kafka-2.3.1")
MIN_AGREEING = 0.95
PROCESSES = 4
_WATCHING = "watching: let the application connect to "
_OPEN = Security(tls=None)
_END_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedCase:
    """One operation of one client, in a rehearsal of a release and with the release.

    Attributes:
        client: the client's id.
        operation: the operation.
        release: the release's id.
        rehearsed: how it failed in the rehearsal; empty if it works.
        real: how it failed with the release; empty if it works.
    """

    client: str
    operation: str
    release: str
    rehearsed: str
    real: str

    @property
    def agrees(self) -> bool:
        """Whether it works with both, or with neither."""
        return bool(self.rehearsed) is bool(self.real)

    def __str__(self) -> str:
        return (
            f"{self.client}, {self.operation}, {self.release}: the rehearsal {self._words(self.rehearsed)}, "
            f"the release {self._words(self.real)}"
        )

    @staticmethod
    def _words(failure: str) -> str:
        return f"fails ({failure})" if failure else "works"


def removals_to(base: Ranges, release: Ranges) -> tuple[Removal, ...]:
    """Return what has to be removed of a table to get what it has in common with that of a release."""
    removals = []
    # A table without ApiVersions itself is none, and no client asks for a version that it does not know of.
    for key, listed in ((key, base[key]) for key in base if key != API_VERSIONS_KEY):
        common = listed.common_with(release[key]) if key in release else None
        if common is None:
            removals.append(Removal(key, is_complete=True))
        elif common != listed:
            removals.append(Removal(key, lowest=common.lowest, highest=common.highest))
    return tuple(removals)


def apart(base: Ranges, release: Ranges) -> tuple[str, ...]:
    """Return the APIs that both have without a version in common: what uses them cannot be rehearsed on the base."""
    return tuple(label_of(key) for key in base if key in release and base[key].common_with(release[key]) is None)


def cases_with(
    clients: Sequence[tuple[Client, DriverCommand]], release: Release, rehearsal: Address, real: Address, pool: PlayPool
) -> Iterator[RehearsedCase]:
    """Try the operations of clients with both brokers, and yield each case as soon as those before it are known."""
    wanted = [
        (client, command, operation)
        for client, command in clients
        for operation in client.operations
        if not OPERATIONS[operation].is_rerouted
    ]

    def case(tried: tuple[Client, DriverCommand, str]) -> RehearsedCase:
        client, command, operation = tried
        failure = partial(_failure, client, command, operation, pool)
        found = RehearsedCase(
            client=client.id,
            operation=operation,
            release=release.id,
            rehearsed=failure(rehearsal),
            real=failure(real),
        )
        if found.agrees:
            return found
        return RehearsedCase(
            client=client.id,
            operation=operation,
            release=release.id,
            rehearsed=failure(rehearsal),
            real=failure(real),
        )

    with ThreadPoolExecutor(PROCESSES) as executor:
        yield from executor.map(case, wanted)


def _failure(client: Client, command: DriverCommand, operation: str, pool: PlayPool, broker: Address) -> str:
    """Return how an operation fails with a broker; empty if it works."""
    play = play_of(pool.submit(try_operation, command, client, operation, [broker], _OPEN))
    return "" if has_worked(play) else (play.result.detail or play.result.summary).splitlines()[-1]


@contextmanager
def watching(broker: Address, table: Path) -> Iterator[Address]:
    """Run `watch --rehearse` with a table in front of a broker, and yield where it listens.

    Raises:
        HarnessError: it ended at once.
    """
    command = [sys.executable, "-m", "conformance", "watch", "--bootstrap-server", str(broker)]
    command += ["--listen", "127.0.0.1:0", "--rehearse", str(table), "--for", str(table)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = []
            for line in process.stderr:
                if line.startswith(_WATCHING):
                    host, _, port = line.removeprefix(_WATCHING).strip().rpartition(":")
                    yield Address(host, int(port))
                    return
                said.append(line)
            raise HarnessError(f"watch did not listen: {''.join(said).strip()}")
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=_END_S)


def summary(cases: Sequence[RehearsedCase]) -> Table:
    """Return how many cases of each release agree, and how."""
    table = Table("release", "cases", "both work", "both fail", "differ", box=None)
    for release in dict.fromkeys(each.release for each in cases):
        own = [each for each in cases if each.release == release]
        both = [each for each in own if each.agrees]
        fail = sum(bool(each.real) for each in both)
        table.add_row(release, *map(str, (len(own), len(both) - fail, fail, len(own) - len(both))))
    return table


@click.command(cls=SuiteCommand, name="workflows.rehearsals")
@click.option("--client", "clients", multiple=True, default=CLIENTS, show_default=True, metavar="ID")
@click.option("--release", "releases", multiple=True, default=RELEASES, show_default=True, metavar="ID")
def main(clients: tuple[str, ...], releases: tuple[str, ...]) -> None:
    """Compare rehearsals on the newest release with real releases."""
    with (
        reported_as(UnknownName, UnknownClient, NoSuchRelease),
        reported_as(CouldNotTell, HarnessError),
        TemporaryDirectory() as folder,
        closing(PlayPool(PROCESSES)) as pool,
    ):
        base = release_named(newest_release().id)
        chosen = [(each, installed(each)) for each in select_clients(clients, RINGS)]
        listed = ranges_of(base.profile.api_keys)
        cases: list[RehearsedCase] = []
        with launch(recorded_targets()[base.id], "auto") as running:
            for release in map(release_named, releases):
                served = ranges_of(release.profile.api_keys)
                if names := apart(listed, served):
                    click.echo(f"{release.id} has no version in common with {base.id} of {', '.join(names)}")
                file = Path(folder, f"{release.id}.txt")
                file.write_text("\n".join(map(str, removals_to(listed, served))))
                with (
                    watching(running.addresses[PLAINTEXT], file) as rehearsal,
                    launch(recorded_targets()[release.id], "auto") as real,
                ):
                    for case in cases_with(chosen, release, rehearsal, real.addresses[PLAINTEXT], pool):
                        cases.append(case)
                        if not case.agrees:
                            click.echo(str(case))
                click.echo(f"{release.id}: {sum(each.agrees for each in cases)} of {len(cases)} so far", err=True)
    Console(width=120).print(summary(cases))
    agreeing = sum(each.agrees for each in cases)
    click.echo(f"{agreeing} of {counted(len(cases), 'case')} agree")
    raise SystemExit(0 if agreeing >= MIN_AGREEING * len(cases) else 1)


if __name__ == "__main__":
    main()
