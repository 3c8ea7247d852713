"""Where the needs of a client are measured.

That is with a release to which the recording proxy leads, or with a scripted broker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from clauses.operations import METADATA, OPERATIONS
from fixtures.client.addresses import Address
from fixtures.client.cluster_client import Security
from fixtures.client_processes.installation import DriverCommand
from fixtures.recording_proxy.recorded_trial import try_operation
from fixtures.registry.clients import Client
from fixtures.scripted_broker.playing import Play, PlayPool, play, play_of
from reference_model.clients.scripts.script import Answer, Table, healthy_ranges, one_node
from reference_model.profiles.known_apis import Range
from reference_model.profiles.removals import Removal, without
from reference_model.profiles.version_tables import Ranges
from reports.client_needs.needs import SCRIPTED

_OPEN = Security(tls=None)


class Bench(Protocol):
    """One client and a broker from whose table versions can be taken away."""

    @property
    def release(self) -> str:
        """The id of the broker's release, or `SCRIPTED`."""

    @property
    def served(self) -> Ranges:
        """The versions that the broker lists."""

    @property
    def operations(self) -> Sequence[str]:
        """The names of the operations that can be tried."""

    def play(self, operation: str, removals: Sequence[Removal], time_s: float) -> Play:
        """Try an operation after some removals, within a time.

        Raises:
            HarnessError: it could not be tried.
        """


def measurable_operations(client: Client) -> list[str]:
    """Return the operations of a client that can be measured with one broker."""
    return [name for name in client.operations if not OPERATIONS[name].is_rerouted]


@dataclass(frozen=True, slots=True)
class ReleaseBench:
    """A client with a running release; the proxy between them cuts the table.

    Attributes:
        release: the id of the release.
        served: the versions that it lists.
        broker: its address.
        client: the client, which has operations.
        command: what runs it.
        pool: where it runs.
    """

    release: str
    served: Ranges
    broker: Address
    client: Client
    command: DriverCommand
    pool: PlayPool

    @property
    def operations(self) -> Sequence[str]:
        """The client's operations, without those for which brokers have to change places."""
        return measurable_operations(self.client)

    def play(self, operation: str, removals: Sequence[Removal], time_s: float) -> Play:
        """Try an operation after some removals."""
        left = without(self.served, removals)
        arguments = self.command, self.client, operation, [self.broker], _OPEN, left, time_s
        return play_of(self.pool.submit(try_operation, *arguments))


@dataclass(frozen=True, slots=True)
class ScriptedBench:
    """A client with a scripted broker, which fetches metadata.

    Attributes:
        client: the client, or a command on this machine.
        command: what runs it.
        pool: where it runs.
    """

    client: Client
    command: DriverCommand
    pool: PlayPool
    release: str = SCRIPTED

    @property
    def served(self) -> Ranges:
        """The versions that a healthy scripted broker serves."""
        return {key: Range(lowest, highest) for key, lowest, highest in healthy_ranges()}

    @property
    def operations(self) -> Sequence[str]:
        """What every client can do."""
        return (METADATA,)

    def play(self, operation: str, removals: Sequence[Removal], time_s: float) -> Play:
        """Let the client fetch metadata after some removals."""
        left = without(self.served, removals)
        table = Table(
            changed=tuple((key, *left[key]) for key in sorted(left) if left[key] != self.served[key]),
            removed=tuple(sorted(self.served.keys() - left.keys())),
        )
        script = one_node(Answer(table=table), timeout_ms=round(time_s * 1000))
        return play_of(self.pool.submit(play, self.command, self.client, script))
