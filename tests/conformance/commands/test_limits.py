"""`limits` shows what a broker does at each limit that its release has."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from conformance.commands import limits as limits_command
from conformance.commands.limits import limits
from conformance.limits.asking import LimitProblem
from conformance.limits.trials import TRIALS
from fixtures.errors import BrokerDidNotStart
from fixtures.registry.targets import Target

ENDS = LimitProblem("KIP-368.session-ends", "ApiVersions v0 after the end: \x1b answered", bytes(40))


def trials(monkeypatch: pytest.MonkeyPatch, *problems: LimitProblem, error: bool = False) -> list[str]:
    """Let every trial find these problems, and return the list that gets what was tried."""
    tried = []

    def judge(target: Target) -> tuple[str, list[LimitProblem]]:
        tried.append(target.id)
        if error:
            raise BrokerDidNotStart("node 1 has ended")
        return "seen", list(problems)

    monkeypatch.setattr(limits_command, "TRIALS", {name: replace(trial, judge=judge) for name, trial in TRIALS.items()})
    return tried


@pytest.mark.parametrize(
    ("release", "number"),
    [("4.4.0", 4), ("3.5.2", 4), ("3.4.1", 3), ("2.3.1", 3), ("2.2.2", 2), ("2.1.1", 1), ("0.10.0.1", 1)],
)
def test_release_is_tried_at_each_limit_that_it_has(release: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = trials(monkeypatch)
    ran = CliRunner().invoke(limits, [f"apache-kafka-{release}"])
    assert (ran.exit_code, len(tried)) == (0, number)
    assert f"apache-kafka-{release}: connections-per-address (seen): as it has to be\n" in ran.stdout


def test_violation_is_shown_with_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than its beginning, and no control character of a broker."""
    trials(monkeypatch, ENDS)
    ran = CliRunner().invoke(limits, ["apache-kafka-4.4.0", "--only", "sessions"], color=True)
    assert ran.exit_code == 1
    first, second = ran.stdout.splitlines()
    assert first == "apache-kafka-4.4.0: sessions (seen): wrong"
    assert second.startswith("KIP-368.session-ends is violated: ApiVersions v0 after the end: ")
    assert second.endswith(": 00" + 31 * " 00" + " ...")
    assert "\x1b" not in ran.stdout


def test_json_has_all_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    trials(monkeypatch, ENDS)
    ran = CliRunner().invoke(limits, ["apache-kafka-4.4.0", "--only", "sessions", "--json"])
    (document,) = json.loads(ran.stdout)
    assert document["setting"] == "connections.max.reauth.ms"
    assert document["violations"][0]["bytes"] == "00" * 40


def test_broker_that_does_not_start_is_no_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    trials(monkeypatch, error=True)
    ran = CliRunner().invoke(limits, ["apache-kafka-4.4.0", "--only", "sessions"])
    assert (ran.exit_code, ran.stderr) == (10, "apache-kafka-4.4.0, sessions: node 1 has ended\n")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["no-such-release"], "no-such-release"),
        (["reference"], "reference is no release with ApiVersions that is started as a process"),
        (["apache-kafka-0.9.0.1"], "is no release with ApiVersions"),
        (["apache-kafka-2.1.1", "--only", "sessions"], "has no connections.max.reauth.ms, which there is since 2.2"),
        (["apache-kafka-3.4.1", "--only", "unstable-versions"], "has no unstable.api.versions.enable"),
    ],
)
def test_bad_input_is_one_sentence(options: list[str], sentence: str) -> None:
    """Nothing is started."""
    ran = CliRunner().invoke(limits, options)
    assert ran.exit_code == 4
    assert sentence in ran.stderr


@pytest.mark.nightly
@pytest.mark.slow  # It starts a real broker for each limit, and twice for unstable versions
def test_newest_release_does_what_it_has_to() -> None:
    ran = CliRunner().invoke(limits, ["apache-kafka-4.4.0"])
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.count("as it has to be") == len(TRIALS)
