"""Several processes that judge one target leave the records of one process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import psutil  # type: ignore[import-untyped]
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clauses import marks
from conformance.engine.jobs_plugin import (
    MAX_JOBS,
    WORTH_A_PROCESS_S,
    fitting_jobs,
    pytest_configure,
    pytest_runtestloop,
)
from conformance.engine.shares import DONE, RECORD, Share, Shares
from fixtures.choosing.clients import CLIENTS
from fixtures.cleanup.ending_signals import INTERRUPTS
from fixtures.launchers.built_in import launch_built_in, reference_targets
from fixtures.registry.clients import select_clients
from fixtures.registry.targets import newest_release
from fixtures.under_test.trial import ChosenTrial
from reports.plugin import RECORDER
from reports.run.exit_status import ExitStatus
from tests.conformance.fake_targets import PREPARATORY_CONNECTIONS, FakeTarget, serve, turning
from tests.conformance.suite_runs import (
    TIME_LIMIT_S,
    SuiteRun,
    children_of,
    finish,
    run_suite,
    start_suite,
    survivors,
)

ANSWERED = 10
"""Connections of the first examples that are answered, so that the processes have been started."""
SUITE = ("conformance/brokers/test_served_table.py", "conformance/brokers/test_tagged_fields.py")
"""Properties of which some fail on the defect, some send requests of other APIs, and most draw examples."""
SILENCED_SUITE = SUITE[1:]
"""Few properties, because a target that has fallen silent keeps each waiting."""
DEFECT = "reference+tags-descend"
OF_ONE_RUN = ("run_id", "run_date", "latency_bucket")
"""Columns that differ between two runs with the same seed."""


@contextmanager
def defective() -> Iterator[str]:
    """Serve the reference broker with the defect; yield its address."""
    (target,) = (target for target in reference_targets() if target.id == DEFECT)
    with launch_built_in(target) as running:
        yield str(running.addresses["plaintext"])


def comparable(run: SuiteRun) -> list[dict[str, Any]]:
    """Return a run's rows without what differs between two runs with the same seed."""
    return [{key: row[key] for key in row if key not in OF_ONE_RUN} for row in run.rows()]


@pytest.mark.nightly  # Two whole runs
@pytest.mark.slow
def test_three_processes_keep_the_records_of_one(tmp_path: Path) -> None:
    """The same seed draws the same examples, and the rows, cells, failures and verdicts stand in the same order.

    In each of the three, several examples run at the same time, as for a target that is far away.
    """
    with defective() as address:
        options = ("--bootstrap-server", address, "--hypothesis-seed", "7")
        far = ("-p", "tests.conformance.waits_long")
        one, three = (
            run_suite(*options, *far, "--jobs", jobs, runs=tmp_path / jobs, suite=SUITE) for jobs in ("1", "3")
        )
    assert one.status == three.status == 1, three.output
    assert comparable(three) == comparable(one)
    assert three.header["planned_cells"] == one.header["planned_cells"]
    assert three.failures().keys() == one.failures().keys() != set()
    for key, folder in three.failures().items():
        expected = sorted(path.name for path in one.failures()[key].iterdir())
        assert sorted(path.name for path in folder.iterdir()) == expected
    assert three.header["footer"]["example_rows"] == len(three.rows())


def silent(asked: threading.Event) -> Any:
    """Return a behaviour that answers correctly until the examples begin, and then never."""

    def say_nothing(target: FakeTarget, connection: socket.socket) -> None:
        for _ in target.reads(connection):
            asked.set()

    return turning(say_nothing, after=PREPARATORY_CONNECTIONS + ANSWERED)


def shares_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the processes that a run has forked."""
    return [child for child in children_of(process) if child.cmdline() == psutil.Process(process.pid).cmdline()]


@contextmanager
def silenced_run(runs: Path) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """Start a run in two processes on a target that has just fallen silent; yield it and its processes."""
    asked = threading.Event()
    with serve(silent(asked)) as target:
        process = start_suite(
            *("--bootstrap-server", target.address, "--jobs", "2", "--tier", "smoke"),
            runs=runs,
            suite=SILENCED_SUITE,
        )
        assert asked.wait(TIME_LIMIT_S)
        yield process, shares_of(process)


def item(test: object, *marked: str) -> Any:
    """Return the part of a pytest item that is used, with these marks."""
    config = SimpleNamespace(stash={RECORDER: Mock()})
    session = SimpleNamespace(config=SimpleNamespace(stash={}), shouldfail="", shouldstop="")
    return SimpleNamespace(
        config=config,
        session=session,
        obj=test,
        get_closest_marker=lambda name: name in marked or None,
        **{"ihook": Mock(), "nodeid": "", "location": ()},
    )


def test_interrupt_ends_the_processes_before_it_records_what_they_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    process: Any = SimpleNamespace(kill=lambda: done.append("killed"), join=lambda: None)
    judged = item(None)
    judged.config.stash[RECORDER] = SimpleNamespace(sent=lambda: done.append("recorded"))
    ours, theirs = multiprocessing.Pipe()
    theirs.send((RECORD, ("sent", (), {})))
    monkeypatch.setattr(INTERRUPTS, "came", True)
    with theirs, pytest.raises(KeyboardInterrupt):
        Shares([judged], jobs=1, start_share=lambda *_: Share(process, ours)).judge()
    assert done == ["killed", "recorded"]


@given(values=st.lists(st.integers()))
@example(values=[1])
@example(values=[2])
def has_two(values: list[int]) -> None:
    """Stand for a property with two pinned examples, each of which waits once."""


@given(values=st.lists(st.integers()))
@example(values=[0] * 51)
def has_a_long_one(values: list[int]) -> None:
    """Stand for a property with a pinned example that waits 51 times."""


def test_longest_properties_are_begun_first() -> None:
    items = [
        item(has_two),
        item(has_a_long_one),
        item(has_two, marks.IN_ORDER),
        item(body_without_examples, marks.SWEPT),
    ]
    ours, theirs = multiprocessing.Pipe()
    for _ in items:
        theirs.send((DONE, None))
    Shares(items, jobs=1, start_share=lambda *_: Share(Mock(), ours)).judge()
    with theirs:
        assert [theirs.recv() for _ in items] == [2, 3, 1, 0]


def test_process_that_ends_between_two_properties_is_replaced() -> None:
    replaced = []

    class UnreplacedShares(Shares):
        def _replace(self, share: Share) -> None:
            replaced.append(share.property_index)

    shares = UnreplacedShares([item(has_two)] * 2, jobs=1)
    ours, theirs = multiprocessing.Pipe()
    theirs.send((DONE, None))
    theirs.close()
    with ours:
        shares._shares.append(Share(ForkProcess(), ours, next(shares._waiting)))
        shares._receive()
        shares._receive()
    assert replaced == [1]


def body_without_examples() -> None:
    """Stand for a sweep."""


@pytest.mark.slow
@pytest.mark.nightly
def test_killed_run_leaves_no_process(tmp_path: Path) -> None:
    """The processes of a run that is killed end by themselves."""
    with silenced_run(tmp_path) as (process, shares):
        process.kill()
        finish(process)
        assert survivors(shares) == []


@pytest.mark.slow
def test_process_that_dies_leaves_its_property_inconclusive(tmp_path: Path) -> None:
    """Another process judges the rest; the run states what is missing, and is never smaller without a word."""
    with silenced_run(tmp_path) as (process, shares):
        os.kill(shares[0].pid, signal.SIGKILL)
        run = finish(process)
    # Silence that was judged before is a violation, which comes first.
    assert run.status in (ExitStatus.HARNESS_ERROR, pytest.ExitCode.TESTS_FAILED), run.output
    reasons = [cell["reason"] for cell in run.header["planned_cells"]]
    assert any("ended with status -9, before it was done" in reason for reason in reasons)
    judged = {row["clause"] for row in run.rows()}
    assert judged == {cell["clause"] for cell in run.header["planned_cells"] if cell["applicable"]}


def configure(*clients: str, **options: object) -> None:
    """Let the plugin check options, which have no other values than the given ones."""
    named = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    config = SimpleNamespace(getoption=named.get, stash={CLIENTS: clients})
    pytest_configure(config)  # type: ignore[arg-type]


def test_several_processes_need_an_address() -> None:
    """A target that the suite starts is judged by one process, and the run says so before anything is started."""
    with pytest.raises(pytest.UsageError, match="--jobs 2 needs --bootstrap-server or --boot"):
        configure(jobs=2, broker=["reference"])


def test_operations_are_not_shared() -> None:
    """A number of processes is refused, and not ignored."""
    with pytest.raises(pytest.UsageError, match="--jobs is about the properties of a broker"):
        configure("kafkajs-2.2.4", jobs=2, bootstrap_server=["localhost:9092"])


def test_an_address_of_a_controller_is_enough() -> None:
    """What was started elsewhere can be shared, whatever its role."""
    configure(jobs=2, bootstrap_server=[], bootstrap_controller="localhost:9093")


def test_operations_of_clients_are_left_to_pytest() -> None:
    options = {"--jobs": None, "--bootstrap-server": ["localhost:9092"]}
    config = SimpleNamespace(getoption=options.get, option=SimpleNamespace(collectonly=False))
    clause = pytest.mark.clause("some-client.produce").mark
    trial = ChosenTrial(newest_release(), select_clients(["aiokafka-0.14.0"])[0], "produce")
    item = SimpleNamespace(iter_markers=lambda _: iter([clause]), callspec=SimpleNamespace(params={"trial": trial}))
    session: Any = SimpleNamespace(config=config, testsfailed=0, items=[item])
    assert pytest_runtestloop(session) is None


class Answering:
    """A broker that answers plain requests after some time, side by side or one after the other."""

    def __init__(self, exchange_s: float, *, serial: bool) -> None:
        self.exchange_s = exchange_s
        self.serial = serial

    def seconds_at_once(self, count: int) -> float:
        """Return how long that many take."""
        return self.exchange_s * (count if self.serial else 1)


@pytest.mark.parametrize(
    ("exchange_s", "serial", "jobs"),
    [
        pytest.param(WORTH_A_PROCESS_S / 2, False, 1, id="near"),
        pytest.param(WORTH_A_PROCESS_S * 3, False, 4, id="in-the-region"),
        pytest.param(0.4, False, MAX_JOBS, id="far"),
        pytest.param(0.4, True, 1, id="slow"),
    ],
)
def test_default_follows_the_time_of_an_exchange(exchange_s: float, serial: bool, jobs: int) -> None:
    """A near target is judged by one process, and so is a slow one that answers one request after the other."""
    assert fitting_jobs(Answering(exchange_s, serial=serial)) == jobs  # type: ignore[arg-type]
