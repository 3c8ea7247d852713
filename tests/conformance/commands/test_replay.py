"""`replay` plays a client's stored failure again, to that client or another one.

Instead of another client, a command can be given.

One of an operation is tried again, and judged by the rule that judges it in a run.
"""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conformance.assertions.evidence import ShownByTime
from conformance.commands import replay as replay_module
from conformance.commands.replay import BY_TIME_ALONE, replay, runs_of
from conformance.failures.stored_failures import read_failure
from conformance.roles import operation as operation_module
from fixtures.client.addresses import Address
from fixtures.client.running_broker import RunningBroker, RunningCluster
from fixtures.client_processes.driver_process import DriverResult
from fixtures.errors import HarnessError
from fixtures.recording_proxy.recorded_trial import ReroutedPlay, TriedPlay
from fixtures.under_test import trial as trial_module
from reference_model.clients.scripts.recording import Recording, SeenConnection
from reference_model.clients.scripts.steps import steps_of
from reference_model.profiles.listeners import PLAINTEXT
from reports.records import OPERATION
from reports.repeats import ShownBy
from reports.run.exit_status import ExitStatus
from strategies.api_versions import build_request
from strategies.broker_scripts import REFUSAL_WITHOUT_RANGE, always_answering
from tests.conformance.client_plays import ABORTED, FAILED, STOPPED, WELL, FakeClient
from tests.conformance.test_operation_results import ROUTES, SILENT_AT_HOME, SWAP, led, on
from tests.programs import needs_landlock
from tests.reference_model.clients.recordings import asked, recorded, sent
from tests.reports.recorders import failure_of, key_of
from tests.written_failures import write_failure

SCRIPT = always_answering(REFUSAL_WITHOUT_RANGE)
CLAUSE = "KIP-35.client-falls-back-on-35"
PROGRAM = """
import socket, sys

host, _, port = sys.argv[1].rpartition(":")
connection = socket.create_connection((host, int(port)), 5)


def ask(data):
    connection.sendall(bytes.fromhex(data))
    size = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
    return connection.recv(size, socket.MSG_WAITALL)


answer = ask(V3)
"""
LOOPS = "while answer[5] == 35: answer = ask(V3)"
TOUCHES = "import pathlib; pathlib.Path(__file__).with_name('touched').write_text('')"
FALLS_BACK = "answer = ask(V0) if answer[5] == 35 else answer; sys.exit(answer[5] != 0)"


def stored_failure(folder: Path, evidence: ShownBy = ShownBy.BYTES) -> Path:
    """Store a failure of a client that is not in the registry."""
    connection = SeenConnection(number=0, node=0, opened_ms=0)
    failure = replace(
        failure_of(key_of(CLAUSE, "some-client"), "the client loops on one connection"),
        property_name="test_useless_range_is_no_reason_to_repeat",
        example=repr({"script": SCRIPT}),
        steps=steps_of(Recording(script=SCRIPT, connections=(connection,))),
        role="client",
        script=SCRIPT,
        evidence=evidence,
    )
    return write_failure(folder, failure)


def write_program(folder: Path, client: str) -> Path:
    """Write a small program that asks for versions and then does what the text says."""
    program = folder / "client.py"
    requests = {f"V{version}": build_request(version=version).data.hex() for version in (0, 3)}
    constants = "".join(f"{name} = {data!r}\n" for name, data in requests.items())
    program.write_text(constants + PROGRAM + textwrap.dedent(client))
    return program


def replayed(folder: Path, client: str = "", *options: str) -> Result:
    """Replay a failure on a small program, or on what the options say."""
    if client:
        program = write_program(folder, client)
        command = shlex.join([sys.executable, str(program), "{bootstrap}"])
        options = (*options, "--client-cmd", command)
    return CliRunner().invoke(replay, [str(stored_failure(folder)), *options])


@pytest.mark.parametrize(
    ("client", "status", "output"),
    [
        pytest.param(LOOPS, 1, "still fails: KIP-35.client-falls-back-on-35 on", id="loops"),
        pytest.param(FALLS_BACK, 0, "no longer fails", id="falls-back"),
        pytest.param("sys.exit(1)", 10, "inconclusive: ", id="never-works"),
    ],
)
def test_script_is_played_to_a_command(client: str, status: int, output: str, tmp_path: Path) -> None:
    """The exit status says whether the command fails like the recorded client; one that never works is not judged."""
    result = replayed(tmp_path, client)
    assert result.exit_code == status, result.output
    assert output in result.output


@pytest.mark.slow
def test_script_is_played_to_a_model_client(tmp_path: Path) -> None:
    """The model client is a client like any other, also one with a planted fault."""
    client = "model+software-name-has-a-space"
    result = replayed(tmp_path, "", "--client", client)
    assert result.exit_code == 0, result.output
    assert f"no longer fails: {CLAUSE} on {client}" in result.output


@pytest.mark.parametrize(
    ("options", "status", "output"),
    [
        pytest.param([], 2, "some-client is not in the registry", id="nothing"),
        pytest.param(["--client", "nobody"], 4, "no client is named", id="unknown"),
        pytest.param(["--client", "confluent-kafka-*"], 2, "clients; give one", id="several"),
        pytest.param(["--client-cmd", "true"], 2, "has no {bootstrap}", id="no-place"),
        pytest.param(["--client", "a", "--client-cmd", "b"], 2, "not both", id="both"),
        pytest.param(["--broker", "reference"], 2, "failure of a client", id="broker"),
        pytest.param(["--kafka-home", "x"], 2, "failure of a client", id="build"),
        pytest.param(["--like", "x"], 2, "failure of a client", id="like"),
    ],
)
def test_the_client_has_to_be_one(options: list[str], status: int, output: str, tmp_path: Path) -> None:
    """An option that names no single client is refused with what to do."""
    result = replayed(tmp_path, "", *options)
    assert result.exit_code == status, result.output
    assert output in result.output


def test_a_brokers_failure_is_not_played_to_a_client(tmp_path: Path) -> None:
    """A failure of a broker cannot be replayed on a client."""
    folder = stored_failure(tmp_path)
    facts = json.loads((folder / "failure.json").read_text())
    (folder / "failure.json").write_text(json.dumps({**facts, "role": "broker"}))
    result = CliRunner().invoke(replay, [str(folder), "--client", "kafka-python-2.0.2"])
    assert result.exit_code == 2, result.output
    assert "failure of a broker" in result.output


def test_a_stored_command_needs_no_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failure has the command, its options and its folder, so it is judged again from anywhere."""
    folder = stored_failure(tmp_path)
    write_program(tmp_path, FALLS_BACK)
    facts = json.loads((folder / "failure.json").read_text())
    text = shlex.join([sys.executable, "./client.py", "{bootstrap}"])
    command = {"text": text, "name": "mine", "version": "1.2", "folder": str(tmp_path)}
    (folder / "failure.json").write_text(json.dumps({**facts, "client_command": command}))
    monkeypatch.chdir("/")
    result = CliRunner().invoke(replay, [str(folder)])
    assert result.exit_code == 0, result.output
    assert f"no longer fails: {CLAUSE} on mine-1.2" in result.output


@needs_landlock
def test_a_replayed_client_writes_nothing_where_its_run_is_kept(tmp_path: Path) -> None:
    """A failure that was copied elsewhere has no run around it, whatever the folders there are called."""
    run = tmp_path / "runs" / "id"
    folder = run / "failures"
    folder.mkdir(parents=True)
    assert list(runs_of(folder / "0123")) == []
    (run / "run.json").touch()
    result = replayed(folder, "import pathlib; pathlib.Path(__file__).unlink()")
    assert "PermissionError" in result.output
    (failure,) = folder.glob("*/failure.json")
    assert list(runs_of(failure)) == list(runs_of(failure.parent)) == [tmp_path / "runs"]
    assert list(runs_of(Path("/failures/0123"))) == []


@needs_landlock
def test_only_the_user_lets_a_replayed_command_do_more(tmp_path: Path) -> None:
    """Whoever made the run folder does not."""
    folder = tmp_path / "runs" / "id" / "failures"
    folder.mkdir(parents=True)
    (folder.parent / "run.json").touch()
    stored = stored_failure(folder) / "failure.json"
    facts = json.loads(stored.read_text())
    text = f"{sys.executable} {write_program(folder, TOUCHES)} {{bootstrap}}"
    command = {"text": text, "folder": str(tmp_path), "unconfined": True}
    stored.write_text(json.dumps({**facts, "client_command": command}))
    for options in ([], ["--client-unconfined"]):
        CliRunner().invoke(replay, [str(stored), *options])
        assert (folder / "touched").exists() is bool(options)


TRIED, CLUSTER = "kafka-python-3.0.12", "kafka-cluster-4.4.0"
ADDRESS = Address("127.0.0.1", 9)
_, _, OTHER = ROUTES


def rerouted(*later: Any) -> ReroutedPlay:
    """Return a play of a client that goes on by the first two routes, and does this after them."""
    recording = led(*SILENT_AT_HOME, *SWAP, *later)
    return ReroutedPlay(recording=recording, result=STOPPED, routes=ROUTES)


QUICK = recorded(asked(4, answered_ms=1), sent(12, answered_ms=2))


def tried(result: DriverResult, recording: Recording = QUICK) -> TriedPlay:
    """Return a play of an operation with this end."""
    return TriedPlay(recording=recording, result=result)


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


def tried_again(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    play: Any,
    operation: str,
    *options: str,
    control: str = "",
    command: str = "",
) -> Result:
    """Replay a failure, of a command if one is given; every play is this one, and the control says this."""
    failure = replace(
        failure_of(key_of(f"{TRIED}.{operation}", CLUSTER), "the operation fails"),
        property_name="test_operation_works_or_is_refused",
        example="{}",
        steps=(),
        role=OPERATION,
        client_command={"text": command, "name": "mine"} if command else {},
    )
    monkeypatch.setattr(trial_module, "installed", lambda client: client.id)
    monkeypatch.setattr(operation_module, "PlayPool", lambda _: Prepared(play))
    monkeypatch.setattr(operation_module, "launch", running)
    monkeypatch.setattr(trial_module, "too_slow", lambda _: control)
    path = write_failure(folder, failure)
    return CliRunner().invoke(replay, [str(path), *options])


@pytest.mark.parametrize(
    ("play", "operation", "client", "status", "output"),
    [
        pytest.param(GOES_ON, "rerouted", TRIED, 0, "no longer fails", id="goes-on"),
        pytest.param(STANDS_STILL, "rerouted", TRIED, 0, "does not go on", id="knows-no-ids"),
        pytest.param(GOES_ON, "rerouted", "kafka-clients-4.4.0-admin", 1, "never gives the ids", id="no-ids"),
        pytest.param(tried(WELL), "describe-groups", TRIED, 0, "no longer fails", id="works"),
        pytest.param(tried(FAILED), "describe-groups", TRIED, 1, "does not say what", id="fails"),
    ],
)
def test_operation_is_judged_as_in_a_run(
    play: Any,
    operation: str,
    client: str,
    status: int,
    output: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that was stopped while it went on has reported no result, and is right."""
    result = tried_again(tmp_path, monkeypatch, play, operation, "--client", client)
    assert result.exit_code == status, result.output
    assert output in result.output


COMMAND = "./mine {operation} {bootstrap} {again}"
KNOWS_IDS = rerouted(*(asked(5, ids=("a", 1), connection=2),))


@pytest.mark.parametrize(
    ("play", "options", "status", "output"),
    [
        pytest.param(tried(WELL), [], 0, "no longer fails", id="stored"),
        pytest.param(tried(FAILED), [], 1, "does not say what", id="still-fails"),
        pytest.param(
            tried(replace(WELL, outcome=None, exit_status=89)), [], 0, "no such operation", id="has-it-no-more"
        ),
        pytest.param(tried(WELL), ["--client-cmd", "./other {operation} {bootstrap}"], 0, "no longer", id="another"),
        pytest.param(
            tried(WELL), ["--client-cmd", "./other {bootstrap}"], 2, "the command has no {operation}", id="no-place"
        ),
        pytest.param(tried(FAILED), ["--client", TRIED], 1, "does not say what", id="client-of-the-registry"),
    ],
)
def test_operation_of_a_command_is_tried_again_by_a_command(
    play: Any, options: list[str], status: int, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = tried_again(tmp_path, monkeypatch, play, "describe-groups", *options, command=COMMAND)
    assert result.exit_code == status, result.output
    assert output in result.output


def test_command_that_gives_ids_has_to_heed_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a client of the registry its documentation says whether it supports KIP-1242."""
    for play, status, output in (
        (STANDS_STILL, 0, "without the ids of KIP-1242"),
        (KNOWS_IDS, 1, "gives a cluster id"),
    ):
        result = tried_again(tmp_path, monkeypatch, play, "rerouted", command=COMMAND)
        assert (result.exit_code, output in result.output) == (status, True), result.output


def test_operation_that_fails_by_time_on_a_busy_machine_is_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control says so; that an operation fails by its bytes needs none."""
    options = ("describe-groups", "--client", TRIED)
    for play, status, output in (
        (tried(FAILED), 10, "only time shows it, and the machine is too busy"),
        (tried(ABORTED), 1, "still fails"),
    ):
        result = tried_again(tmp_path, monkeypatch, play, *options, control="the machine is too busy")
        assert (result.exit_code, output in result.output) == (status, True), result.output


@pytest.mark.parametrize(
    ("waited_ms", "is_slow", "output"),
    [
        (4000, False, "the client waited for a CPU for 4.0 s"),
        (0, True, "the broker was too slow: the client waited 9.0 s"),
    ],
    ids=["client-without-a-cpu", "slow-broker"],
)
def test_lateness_of_another_is_not_judged_next_to_a_fast_control(
    waited_ms: int, is_slow: bool, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the repeats of a run."""
    recording = recorded(asked(3, answered_ms=1), sent(12, answered_ms=9001))
    play = tried(replace(FAILED, waited_ms=waited_ms), recording if is_slow else QUICK)
    result = tried_again(tmp_path, monkeypatch, play, "describe-groups", "--client", TRIED)
    assert (result.exit_code, output in result.output) == (10, True), result.output


@pytest.mark.parametrize(("evidence", "output"), [(ShownBy.TIME, BY_TIME_ALONE), (ShownBy.BYTES, "")])
def test_failure_that_only_time_showed_says_so_when_it_is_gone(evidence: ShownBy, output: str, tmp_path: Path) -> None:
    """The machine of its run may have been too busy."""
    folder = stored_failure(tmp_path, evidence)
    program = write_program(tmp_path, FALLS_BACK)
    command = shlex.join([sys.executable, str(program), "{bootstrap}"])
    result = CliRunner().invoke(replay, [str(folder), "--client-cmd", command])
    assert result.exit_code == 0, result.output
    assert (BY_TIME_ALONE in result.output) is bool(output)


def test_client_that_fails_by_time_on_a_busy_machine_is_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure of bytes needs no control."""
    client, stored = FakeClient(), read_failure(stored_failure(tmp_path))
    monkeypatch.setattr(client, "too_slow", lambda: "the machine is too busy")
    for error, status in ((ShownByTime("it hangs"), 10), (AssertionError("it is wrong"), 1)):
        monkeypatch.setattr(replay_module, "still_fails", lambda *_, error=error: error)
        sentence, found = replay_module.found_again(stored, client)
        assert found == status
        assert ("only time shows it, and the machine is too busy" in sentence) is (status == 10)


def test_operation_that_a_target_does_not_have_is_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other cluster can replace a single broker."""
    result = tried_again(tmp_path, monkeypatch, None, "rerouted", "--broker", "apache-kafka-4.4.0")
    assert result.exit_code == 2, result.output
    assert "no cluster that another one can replace" in result.output


@pytest.mark.parametrize(("statuses", "status"), [((0, 10, 1), 1), ((10, 0), 10), ((0, 0), 0)])
def test_several_failures_are_judged_one_after_the_other(
    statuses: tuple[int, ...], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gravest outcome is the exit status."""
    left = list(statuses)

    def still_fails(*_: object) -> AssertionError | None:
        this = left.pop(0)
        if this == ExitStatus.HARNESS_ERROR:
            raise HarnessError("it cannot be judged")
        return AssertionError("it fails") if this else None

    monkeypatch.setattr(replay_module, "still_fails", still_fails)
    failures = [str(stored_failure(tmp_path))] * len(statuses)
    ended = CliRunner().invoke(replay, [*failures, "--client-cmd", "true {bootstrap}"])
    assert (ended.exit_code, left) == (status, [])


def test_none_is_judged_if_one_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[object] = []
    monkeypatch.setattr(replay_module, "still_fails", lambda failure, _: judged.append(failure))
    (tmp_path / "empty").mkdir()
    failure = str(stored_failure(tmp_path / "run"))
    ended = CliRunner().invoke(replay, [failure, str(tmp_path / "empty"), "--client-cmd", "true {bootstrap}"])
    assert (ended.exit_code, judged) == (4, [])
