"""Planted defects are caught, and their reproducers show them without the suite."""

from __future__ import annotations

import dataclasses
import runpy
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from unittest.mock import patch

import pytest

from clauses.catalogue import catalogue
from conformance.mutation.properties import all_properties, proxy_properties
from fixtures.launchers.built_in import launch_built_in, reference_targets
from reference_model.faults.broker import DEFECTS
from reports.records import Verdict
from reports.run.failures import MAX_REPRODUCER_BYTES, SEEN_ELSEWHERE, render_reproducer
from tests.conformance.suite_runs import SuiteRun, judge_defects
from tests.fixtures.scripted_server import (
    Script,
    answer,
    connected,
    plain_request,
    reply,
    reply_and_close,
    scripted_server,
)
from tests.reports.test_failures import failure_of
from wire.exchange import Arrival, Step
from wire.sentinel import SENTINEL_CORRELATION_ID

TARGETS = {target.id: target for target in reference_targets()}
SHORT_S = 0.4
FIRST, SECOND = answer(7), answer(SENTINEL_CORRELATION_ID)
FAILURE_SHOWS = 1
CANNOT_SAY = 2
NO_CONNECTION = 3
TIME_LIMIT_S = 300
NOT_SHOWN_BY_BYTES = {
    # Its defects are in SASL steps, which happen on another listener than the one tested here.
    "MODEL.sequence-agrees",
    # The fault is in the epochs of two answers, which differ from run to run.
    "FEATURES.epoch-monotone",
    # Another connection is affected while both are served.
    "PROTOCOL.malformed-hurts-nobody",
    # The request quota, the metric and the request log are not part of the bytes.
    "KIP-35.throttle-time",
    "KIP-511.connections-metric",
    "KIP-511.name-attached-to-connection",
    "KIP-511.request-log",
    "KIP-896.deprecated-requests-metric",
}
"""For these, a script that compares bytes shows the exchange but cannot judge it."""
CLAUSES = sorted(
    {
        clause
        for judged in all_properties().values()
        if not judged.is_deep and "plaintext" in (judged.listeners or ("plaintext",))
        for clause in judged.clauses
        if clause not in NOT_SHOWN_BY_BYTES
    }
)


@pytest.fixture(scope="module")
def clauses_run(tmp_path_factory: pytest.TempPathFactory) -> SuiteRun:
    """A run of two planted defects per clause: one may show on other listeners only."""
    names = {
        defect.name: None
        for clause in CLAUSES
        for defect in islice((each for each in DEFECTS.values() if clause in each.breaks), 2)
    }
    folder = tmp_path_factory.mktemp("clauses")
    return judge_defects(tuple(names), folder, "--listener", "plaintext")


@pytest.fixture(scope="module")
def healthy_address() -> Iterator[str]:
    """The address of a healthy reference broker."""
    with launch_built_in(TARGETS["reference"]) as running:
        yield str(running.addresses["plaintext"])


@pytest.mark.parametrize("clause", CLAUSES)
@pytest.mark.slow
@pytest.mark.nightly  # A run of a hundred defects; a few of them are tried in every run
def test_reproducer_tells_defect_from_health(clause: str, clauses_run: SuiteRun, healthy_address: str) -> None:
    """A clause that a defect breaks is violated; the script shows that on the defect only."""
    failures = clauses_run.failures()
    target = next(
        f"reference+{defect.name}"
        for defect in DEFECTS.values()
        if clause in defect.breaks and (f"reference+{defect.name}", clause) in failures
    )
    assert clauses_run.verdicts()[target, clause] is Verdict.VIOLATES
    _assert_tells_defect_from_health(failures[target, clause], target, healthy_address)


def test_reproducers_of_a_few_defects_tell_them_from_health(defects_run: SuiteRun, healthy_address: str) -> None:
    """Each of these defects violates a clause, and the script shows that on the defect only."""
    failures = defects_run.failures()
    violated = {target for target, clause in failures if clause in DEFECTS[_name(target)].breaks}
    assert violated == {target["id"] for target in defects_run.header["targets"]}
    for (target, _), folder in failures.items():
        _assert_tells_defect_from_health(folder, target, healthy_address)


@pytest.mark.parametrize(
    ("script", "arrival"),
    [
        pytest.param(reply(SECOND, FIRST), Arrival.OVERTAKEN, id="overtaken"),
        pytest.param(reply_and_close(SECOND), Arrival.OVERTAKEN, id="closed-after-the-sentinel's"),
        pytest.param(reply(SECOND), Arrival.IN_TURN, id="ignored"),
    ],
)
def test_reproducer_shows_what_came_after_the_sentinels_response(
    script: Script,
    arrival: Arrival,
    tmp_path: Path,
    healthy_address: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The script waits for what comes after the sentinel's response, as the suite does."""
    journal: list[Step] = []
    with connected(script, silence_bound_s=SHORT_S, journal=journal) as connection:
        assert connection.exchange(plain_request()).arrival is arrival
    reproducer = tmp_path / "reproducer.py"
    reproducer.write_text(render_reproducer(failure_of(journal[0])))
    with scripted_server(script) as server:
        assert call_script(reproducer, str(server.address), capsys)[0] == FAILURE_SHOWS
    assert call_script(reproducer, healthy_address, capsys)[0] == CANNOT_SAY


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_reproducer_explains_itself(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Instead of taking the option for an address."""
    reproducer = _reproducer_of(reply(FIRST, SECOND), tmp_path)
    status, explained = call_script(reproducer, option, capsys)
    assert status == 0
    assert "Usage: python reproducer.py HOST:PORT" in explained


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(reply(SECOND, FIRST), id="other-order"),
        pytest.param(reply(answer(8), SECOND), id="other-correlation-id"),
        pytest.param(reply(FIRST + b"\0", SECOND), id="surplus-byte"),
        pytest.param(reply_and_close(), id="closes"),
    ],
)
def test_another_wrong_answer_is_not_taken_for_a_right_one(
    now: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What differs from the recorded violation may be right or wrong: the script cannot say, and prints both."""
    reproducer = _reproducer_of(reply(SECOND), tmp_path)
    with scripted_server(now) as server:
        status, sentence = call_script(reproducer, str(server.address), capsys)
    assert status == CANNOT_SAY, sentence
    for words in ("this script cannot say", "received", "recorded"):
        assert words in sentence


@pytest.mark.parametrize("now", [reply(SECOND), reply(FIRST, SECOND)], ids=["same", "other"])
def test_equal_responses_do_not_show_what_was_seen_elsewhere(
    now: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For a violation in a metric, for example, equal responses mean nothing, as different ones do."""
    reproducer = _reproducer_of(reply(SECOND), tmp_path, clause=min(SEEN_ELSEWHERE))
    with scripted_server(now) as server:
        status, sentence = call_script(reproducer, str(server.address), capsys)
    assert status == CANNOT_SAY, sentence
    assert "they do not show this failure" in sentence


def test_what_is_seen_elsewhere_is_known() -> None:
    """A property that needs a metric, a log, a quota or the link to an upstream sees more than the responses."""
    needs = {"metrics", "request_log", "quota", "upstream_link"}
    seen = {
        clause
        for judged in (*all_properties().values(), *proxy_properties().values())
        if needs & set(judged.needs)
        for clause in judged.clauses
    }
    assert seen
    assert seen <= SEEN_ELSEWHERE
    assert {clause.id for clause in catalogue()} >= SEEN_ELSEWHERE


@pytest.mark.parametrize("given", ["nowhere", "127.0.0.1:1"])
def test_wrong_usage_does_not_look_like_a_failure(given: str, tmp_path: Path) -> None:
    assert run_script(_reproducer_of(reply(SECOND), tmp_path), given).returncode == NO_CONNECTION


def test_long_script_without_its_facts_does_not_look_like_a_failure(tmp_path: Path) -> None:
    reproducer = _reproducer_of(reply(b"\0" * MAX_REPRODUCER_BYTES, SECOND), tmp_path)
    lonely = run_script(reproducer, "127.0.0.1:1")
    assert (lonely.returncode, lonely.stderr) == (NO_CONNECTION, "")
    assert "failure.json is not next to this script" in lonely.stdout


def _reproducer_of(script: Script, folder: Path, **changed: str) -> Path:
    """Write the reproducer of a failure with what a scripted broker does for one request."""
    journal: list[Step] = []
    with connected(script, silence_bound_s=SHORT_S, journal=journal) as connection:
        connection.exchange(plain_request())
    reproducer = folder / "reproducer.py"
    failure = dataclasses.replace(failure_of(journal[0]), **changed)  # type: ignore[arg-type]
    reproducer.write_text(render_reproducer(failure))
    return reproducer


def _name(target: str) -> str:
    return target.removeprefix("reference+")


def _assert_tells_defect_from_health(folder: Path, target: str, healthy_address: str) -> None:
    script = folder / "reproducer.py"
    # A defect may remember earlier connections, so the script gets a fresh broker.
    with launch_built_in(TARGETS[target]) as running:
        again = run_script(script, str(running.addresses["plaintext"]))
    assert again.returncode == FAILURE_SHOWS, again.stdout + again.stderr
    assert "The failure appears again." in again.stdout
    healthy = run_script(script, healthy_address)
    assert healthy.returncode == CANNOT_SAY, healthy.stdout + healthy.stderr
    assert "The target does not do what was recorded." in healthy.stdout
    assert f"kafka-conformance replay {script}" in healthy.stdout


def run_script(script: Path, address: str) -> subprocess.CompletedProcess[str]:
    """Run a reproducer against a broker."""
    return subprocess.run(
        [sys.executable, "-I", script, address],
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )


def call_script(script: Path, address: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run a reproducer in this process, with a short silence; return its exit status and what it prints."""
    main = runpy.run_path(str(script), run_name="reproducer")["main"]
    opens = main.__globals__["open_connection"]
    with ExitStack() as opened, patch.object(sys, "argv", [str(script), address]):
        main.__globals__["open_connection"] = lambda *to: opened.enter_context(opens(*to))
        main.__globals__["SILENCE_S"] = SHORT_S
        status: int = main()
    return status, capsys.readouterr().out
