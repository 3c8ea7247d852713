"""`life` shows what nodes did while they started and ended."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from conformance.commands import life as life_command
from conformance.commands.life import life
from conformance.life.sightings import Sighting
from conformance.life.stories import Life, LifePhase, life_of
from fixtures.client.own_connection import Reply
from fixtures.errors import BrokerDidNotStart
from fixtures.registry.targets import newest_release
from wire.api_versions import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey
from wire.codec import encode
from wire.error_codes import ErrorCode

# As the controller of 4.4.0 answered while it was shut down.
FAILED = bytes.fromhex("00000007 ffff 00000000")


def sighting(reply: Reply, payload: bytes = b"") -> Sighting:
    """Return what a controller did with v0."""
    return Sighting(at_s=2.0, node_id=1, listener="controller", api_version=0, reply=reply, payload=payload)


def life_with(*sightings: Sighting) -> Life:
    """Return a life in which these were seen."""
    phases = (LifePhase(at_s=1.0, words="SIGTERM to node 1"),)
    return Life(target="apache-kafka-4.4.0", phases=phases, sightings=sightings)


@pytest.mark.parametrize(
    ("seen", "status", "line"),
    [
        (sighting(Reply.CLOSED), 0, "    2.00 s    node 1 controller v0: refused or closed"),
        (
            sighting(Reply.ANSWERED, FAILED),
            1,
            "KIP-35.v0-always-served is violated: v0 is answered with UNKNOWN_SERVER_ERROR (-1) "
            "(node 1, controller, after 2.00 s): 00 00 00 07 ff ff 00 00 00 00",
        ),
    ],
)
def test_what_was_seen_is_shown(seen: Sighting, status: int, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was done and seen is in the order of time; violations come last, and decide the exit status."""
    monkeypatch.setattr(life_command, "life_of", lambda *_, **__: life_with(seen))
    ran = CliRunner().invoke(life, ["apache-kafka-4.4.0"])
    lines = ran.stdout.splitlines()
    assert lines[:2] == ["apache-kafka-4.4.0: never ready", "    1.00 s -- SIGTERM to node 1"]
    assert lines[-1] == line
    assert ran.exit_code == status


@pytest.mark.parametrize(("seen", "status"), [(sighting(Reply.CLOSED), 10), (sighting(Reply.ANSWERED, FAILED), 1)])
def test_what_was_seen_before_a_failure_is_judged(seen: Sighting, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that breaks a clause and then ends by itself has broken it."""
    failed = replace(life_with(seen), failed="node 1 has ended")
    monkeypatch.setattr(life_command, "life_of", lambda *_, **__: failed)
    ran = CliRunner().invoke(life, ["apache-kafka-4.4.0"])
    assert ran.exit_code == status
    assert ran.stderr == "apache-kafka-4.4.0: node 1 has ended\n"
    assert ("is violated" in ran.stdout) == (status == 1)


def test_repeated_answers_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """How often, and in what time; a single one needs no count."""
    often = replace(sighting(Reply.ANSWERED, FAILED), times=33, until_s=2.022)
    monkeypatch.setattr(life_command, "life_of", lambda *_, **__: life_with(often))
    ran = CliRunner().invoke(life, ["apache-kafka-4.4.0"])
    assert "node 1 controller v0: UNKNOWN_SERVER_ERROR (-1) 33 times in 22 ms\n" in ran.stdout
    assert "v0 is answered with UNKNOWN_SERVER_ERROR (-1) 33 times in 22 ms (node 1" in ran.stdout


def test_json_has_all_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each release is an entry of a list."""
    monkeypatch.setattr(life_command, "life_of", lambda *_, **__: life_with(sighting(Reply.ANSWERED, FAILED)))
    (document,) = json.loads(CliRunner().invoke(life, ["apache-kafka-4.4.0", "--json"]).stdout)
    (seen,) = document["sightings"]
    assert seen["bytes"] == FAILED.hex()
    assert document["violations"] == [
        {
            "clause": "KIP-35.v0-always-served",
            "sentence": "v0 is answered with UNKNOWN_SERVER_ERROR (-1)",
            "sighting": seen,
        }
    ]


def test_first_line_has_the_time_until_a_broker_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller does not count."""
    served = replace(sighting(Reply.ANSWERED, bytes(10)), listener="plaintext", at_s=2.5)
    monkeypatch.setattr(life_command, "life_of", lambda *_, **__: life_with(sighting(Reply.CLOSED), served))
    ran = CliRunner().invoke(life, ["apache-kafka-4.4.0"])
    assert ran.stdout.startswith("apache-kafka-4.4.0: ready after 1.5 s\n")


def test_text_of_a_node_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of a feature could hold commands for the terminal."""
    feature = FinalizedFeatureKey(name="\x1b[2J", max_version_level=1, min_version_level=1)
    keys = (ApiVersion(api_key=18, min_version=0, max_version=4),)
    table = ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=keys, finalized_features=(feature,))
    seen = replace(sighting(Reply.ANSWERED, bytes(4) + encode(table, version=4)), api_version=4)
    monkeypatch.setattr(life_command, "life_of", lambda *_, **__: life_with(seen))
    ran = CliRunner().invoke(life, ["apache-kafka-4.4.0"], color=True)
    assert "FEATURES.epoch-monotone is violated" in ran.stdout
    assert "\x1b" not in ran.stdout


def test_release_that_does_not_start_is_no_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was found out about it."""

    def fails(*_: object, **__: object) -> Life:
        raise BrokerDidNotStart("node 1 has ended")

    monkeypatch.setattr(life_command, "life_of", fails)
    ran = CliRunner().invoke(life, ["apache-kafka-4.4.0"])
    assert (ran.exit_code, ran.stderr) == (10, "apache-kafka-4.4.0: node 1 has ended\n")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["no-such-release"], "no-such-release"),
        (["cp-kafka-8.2.0"], "is not started as a process on a port that the suite chooses"),
        (["librdkafka-mock-2.16.0"], "is not started as a process on a port that the suite chooses"),
        (["apache-kafka-0.9.0.1"], "apache-kafka-0.9.0.1 has no ApiVersions, or is not started"),
        (["apache-kafka-3.8.1", "--quorum", "dynamic"], "has no dynamic quorum, which there is since 3.9"),
        (["apache-kafka-3.8.1", "--quorum", "growing"], "has no dynamic quorum, which there is since 3.9"),
        (["apache-kafka-2.8.2", "--controllers", "3"], "apache-kafka-2.8.2 has no quorum of controllers"),
        (["noida-db-0.2.3", "--controllers", "2"], "noida-db-0.2.3 has no quorum of controllers"),
        (["reference", "--controllers", "2"], "leave out --controllers and --quorum"),
    ],
)
def test_bad_input_is_one_sentence(options: list[str], sentence: str) -> None:
    """Nothing is started."""
    ran = CliRunner().invoke(life, options)
    assert ran.exit_code == 4
    assert sentence in ran.stderr


@pytest.mark.nightly
@pytest.mark.slow  # It starts a real broker twice
def test_newest_release_starts_and_ends() -> None:
    """Its listeners answer, and then refuse again."""
    seen = life_of(newest_release(), 1)
    assert [each.words for each in seen.phases] == [
        "node 1 started",
        "node 1 ready",
        "SIGTERM to node 1",
        "node 1 has ended",
        "node 1 started",
        "node 1 ready",
        "SIGKILL to node 1",
        "node 1 has ended",
    ]
    served = [each for each in seen.sightings if each.listener == "plaintext" and each.api_version == 0]
    assert [each.reply for each in served[:4]] == [Reply.CLOSED, Reply.ANSWERED] * 2
