"""A stored failure of an operation is tried again, and judged by the rule that judges it in a run."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conformance.commands import replay as replay_module
from conformance.commands.replay import replay
from conformance.failures.stored_failures import NoStoredFailure
from conformance.roles import operation as operation_module
from fixtures.client.running_broker import Address, RunningBroker, RunningCluster
from fixtures.client_processes.driver_process import DriverResult
from fixtures.recording_proxy.operation import ReroutedPlay, TriedPlay
from fixtures.under_test import trial as trial_module
from reference_model.profiles.listeners import PLAINTEXT
from reports.records import OPERATION
from tests.conformance.client_plays import FAILED, HEALTHY, STOPPED, WELL
from tests.conformance.test_operation_results import ROUTES, SILENT_AT_HOME, SWAP, led, on
from tests.reports.recorders import failure_of, key_of
from tests.written_failures import write_failure

CLIENT, CLUSTER = "kafka-python-3.0.12", "kafka-cluster-4.4.0"
ADDRESS = Address("127.0.0.1", 9)
_, _, OTHER = ROUTES


def rerouted(*later: Any) -> ReroutedPlay:
    """Return a play of a client that goes on by the first two routes, and does this after them."""
    recording = led(*SILENT_AT_HOME, *SWAP, *later)
    return ReroutedPlay(recording=recording, result=STOPPED, routes=ROUTES)


def tried(result: DriverResult) -> TriedPlay:
    """Return a play of an operation with this end."""
    return TriedPlay(recording=HEALTHY.recording, result=result)


GOES_ON = rerouted(*on(OTHER, connection=2))
STANDS_STILL = rerouted()


@dataclass
class Prepared:
    """Takes the place of processes and brokers: every play is the same."""

    play: Any

    def submit(self, *_: Any) -> Future[Any]:
        """Return the play."""
        done: Future[Any] = Future()
        done.set_result(self.play)
        return done

    def close(self) -> None:
        """Do nothing."""


@contextmanager
def running(target: Any, _: str) -> Iterator[RunningBroker]:
    """Yield a cluster, and another one, which do not run."""
    clusters = [RunningCluster(cluster_id=name, nodes={1: ADDRESS, 2: ADDRESS}) for name in "ab"]
    yield RunningBroker(
        target=target,
        launcher="process",
        addresses={PLAINTEXT: ADDRESS},
        clusters=tuple(clusters),
    )


def replayed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, play: Any, operation: str, *options: str
) -> Result:
    """Replay a failure; whatever is tried becomes this play."""
    failure = replace(
        failure_of(key_of(f"{CLIENT}.{operation}", CLUSTER), "the operation fails"),
        property_name="test_operation_works_or_is_refused",
        example="{}",
        steps=(),
        role=OPERATION,
    )
    monkeypatch.setattr(trial_module, "installed", lambda client: client.id)
    monkeypatch.setattr(operation_module, "PlayPool", lambda _: Prepared(play))
    monkeypatch.setattr(operation_module, "launch", running)
    path = write_failure(folder, failure)
    return CliRunner().invoke(replay, [str(path), *options])


@pytest.mark.parametrize(
    ("play", "operation", "client", "status", "said"),
    [
        pytest.param(GOES_ON, "rerouted", CLIENT, 0, "no longer fails", id="goes-on"),
        pytest.param(STANDS_STILL, "rerouted", CLIENT, 0, "does not go on", id="knows-no-ids"),
        pytest.param(
            GOES_ON, "rerouted", "kafka-clients-4.4.0-admin", 1, "never gives the ids", id="no-ids"
        ),
        pytest.param(tried(WELL), "describe-groups", CLIENT, 0, "no longer fails", id="works"),
        pytest.param(tried(FAILED), "describe-groups", CLIENT, 1, "does not say what", id="fails"),
    ],
)
def test_operation_is_judged_as_in_a_run(
    play: Any,
    operation: str,
    client: str,
    status: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that was stopped while it went on has reported no result, and is right."""
    result = replayed(tmp_path, monkeypatch, play, operation, "--client", client)
    assert result.exit_code == status, result.output
    assert said in result.output


def test_operation_that_a_target_does_not_have_is_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other cluster can replace a single broker."""
    result = replayed(tmp_path, monkeypatch, None, "rerouted", "--broker", "apache-kafka-4.4.0")
    assert result.exit_code == 2, result.output
    assert "no cluster that another one can replace" in result.output


@pytest.mark.parametrize(("statuses", "status"), [((0, 10, 1), 1), ((10, 0), 10), ((0, 0), 0)])
def test_several_failures_are_judged_one_after_the_other(
    statuses: tuple[int, ...], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gravest outcome is the exit status."""
    left = list(statuses)
    monkeypatch.setattr(replay_module, "_read", lambda path: path)
    monkeypatch.setattr(replay_module, "_replayed", lambda *_, **__: left.pop(0))
    ended = CliRunner().invoke(replay, [str(tmp_path)] * len(statuses))
    assert (ended.exit_code, left) == (status, [])


def test_none_is_judged_if_one_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a status of 4 never hides a failure that was judged."""

    def read(path: Path) -> str:
        if path.name == "empty":
            raise NoStoredFailure("nothing here")
        return "failure"

    judged: list[object] = []
    monkeypatch.setattr(replay_module, "_read", read)
    monkeypatch.setattr(replay_module, "_replayed", lambda failure, _: judged.append(failure))
    (tmp_path / "empty").mkdir()
    ended = CliRunner().invoke(replay, [str(tmp_path), str(tmp_path / "empty")])
    assert (ended.exit_code, judged) == (4, [])
