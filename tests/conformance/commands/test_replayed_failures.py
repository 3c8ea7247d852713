"""A stored failure is judged again by `replay`, on its own target or another one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis.errors import UnsatisfiedAssumption

from clauses.exit_statuses import USAGE_ERROR
from conformance.assertions.errors import Unjudged
from conformance.assertions.items import Item
from conformance.commands.replay import NoLongerApplies, replay, still_fails
from conformance.failures.stored_failures import read_failure
from conformance.mutation import properties as mutation_properties
from conformance.mutation.properties import all_properties, holds
from conformance.mutation.subjects import broker_with
from fixtures.under_test.in_memory_client import in_memory_client
from fixtures.under_test.judged_target import JudgedTarget
from reference_model.faults.broker import DEFECTS
from reports.run.exit_status import ExitStatus
from reports.run.judged_examples import CellKey
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from tests.conformance.suite_runs import SuiteRun
from tests.reports.recorders import failure_of
from tests.written_failures import write_failure
from wire.api_keys import METADATA_KEY

DEFECT = "reference+tags-descend"
CLAUSE = "KIP-482.tags-ascending-in-answers"


@pytest.fixture(name="stored")
def _stored(defects_run: SuiteRun) -> Path:
    """The folder of the failure of a planted defect."""
    return defects_run.failures()[DEFECT, CLAUSE]


@pytest.mark.parametrize(
    ("chosen", "status", "output"),
    [
        pytest.param([], 1, f"still fails: {CLAUSE} on {DEFECT}", id="its-own-target"),
        pytest.param(["--broker", "reference"], 0, "no longer fails", id="healthy"),
        pytest.param(["--bootstrap-server", "127.0.0.1:1"], 10, "inconclusive: ", id="nobody-there"),
        pytest.param(["--broker", "nobody"], 4, "no target is named", id="unknown"),
        pytest.param(["--broker", "reference+tags-*"], 2, "targets; give one", id="several"),
        pytest.param(["--bootstrap-server", "here"], 2, "'here' is not HOST:PORT", id="no-address"),
        pytest.param(
            ["--bootstrap-server", "192.0.2.1:9092"],
            2,
            "not on the loopback interface",
            id="remote",
        ),
    ],
)
def test_stored_failure_is_judged_again(chosen: list[str], status: int, output: str, stored: Path) -> None:
    """The same property judges the same example, and the status says whether it still fails."""
    result = CliRunner().invoke(replay, [str(stored), *chosen])
    assert result.exit_code == status, result.output
    assert output in result.output
    assert not result.output.rstrip().endswith(":"), "it says what was seen"


def test_a_note_fails_nothing(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.commands.replay.still_fails", lambda *_: Unjudged("it is unsupported"))
    result = CliRunner().invoke(replay, [str(stored)])
    assert result.exit_code == 0
    assert result.output.startswith(f"still differs: {CLAUSE} on {DEFECT}: it is unsupported")


CONVERSATION = "test_sequences_go_as_the_model_allows"


def failing_conversation(defect: str, listener: str) -> Mapping[str, Any]:
    """Return a pinned conversation that a defect fails."""
    judged, broker = all_properties()[CONVERSATION], broker_with(defect).sibling(listener)
    for values in judged.pinned:
        with contextlib.suppress(UnsatisfiedAssumption), assumptions_outside_hypothesis():
            if not holds(judged, broker, values):
                return values
    raise AssertionError(f"no pinned conversation fails on {listener}")


@pytest.mark.parametrize(
    ("defect", "property_name", "listener"),
    [
        ("the-newest-metadata-closes", "test_every_advertised_version_is_served", "plaintext"),
        ("metadata-is-served-before-authentication", CONVERSATION, "sasl_plaintext"),
        (
            "negative-versions-get-a-bare-header",
            "test_every_negative_version_gets_unsupported_version",
            "plaintext",
        ),
    ],
)
def test_whatever_was_drawn_can_be_judged_again(defect: str, property_name: str, listener: str, tmp_path: Path) -> None:
    """Items and versions of a sweep, and conversations, are read back from their text, and judged on the listener of
    the failure."""
    values: dict[str, Any] = {"item": Item("Metadata", METADATA_KEY, 13)}
    if property_name == CONVERSATION:
        values = dict(failing_conversation(defect, listener))
    elif "negative" in property_name:
        values = {"versions": range(-32705, -32704)}
    key = CellKey(DEFECTS[defect].breaks[0], f"reference+{defect}", listener)
    failure = replace(failure_of(key, "seen"), property_name=property_name, example=repr(values))
    folder = write_failure(tmp_path, failure)
    result = CliRunner().invoke(replay, [str(folder)])
    assert result.exit_code == 1, result.output
    healthy = CliRunner().invoke(replay, [str(folder), "--broker", "reference"])
    assert healthy.exit_code == 0, healthy.output


@pytest.mark.parametrize(
    ("target", "property_name", "clause", "reason"),
    [
        pytest.param(
            broker_with("", release="2.4.1"),
            "test_the_right_half_of_an_identity_is_refused",
            "KIP-1242.only-one-given",
            "applies from ApiVersions v5 on",
            id="version",
        ),
        pytest.param(
            in_memory_client("newest-version-is-sent-unasked"),
            "test_no_overlap_is_an_error",
            "KIP-35.client-uses-overlap",
            "the client ",
            id="need",
        ),
    ],
)
def test_what_a_run_does_not_judge_does_not_fail_again(
    target: JudgedTarget, property_name: str, clause: str, reason: str, tmp_path: Path
) -> None:
    """A clause that does not apply to another target is not violated there."""
    judged = {**all_properties(), **mutation_properties.client_properties()}[property_name]
    role = "client" if judged.target == "client" else "broker"
    key = CellKey(clause, "some-target", "plaintext")
    example = repr(dict(judged.pinned[0]))
    stored = replace(failure_of(key, "seen"), property_name=property_name, example=example, role=role)
    failure = read_failure(write_failure(tmp_path, stored))
    with pytest.raises(NoLongerApplies, match=reason):
        still_fails(failure, target)


@pytest.mark.parametrize(
    ("changes", "status", "output"),
    [
        pytest.param(
            {"example": ""},
            ExitStatus.HARNESS_ERROR,
            "pytest conformance/ -k test_tags_in_answers_ascend",
            id="note-on-a-whole-property",
        ),
        pytest.param(
            # Earlier versions sent other examples on the same connection first.
            {"served_before": 2},
            ExitStatus.HARNESS_ERROR,
            "so run its script instead",
            id="shared-connection",
        ),
        pytest.param(
            {"example": "{'gone': 1}"},
            ExitStatus.HARNESS_ERROR,
            "test_tags_in_answers_ascend no longer takes gone",
            id="lost-parameter",
        ),
        pytest.param(
            {"target": "127.0.0.1:9092"},
            click.UsageError.exit_code,
            "found at an address, so --bootstrap-server is required",
            id="address",
        ),
        pytest.param(
            # As with --every-broker.
            {"target": "cluster/1", "origin": {"addresses": "PLAINTEXT://127.0.0.1:9092"}},
            click.UsageError.exit_code,
            "found at an address, so --bootstrap-server is required",
            id="broker-of-a-cluster",
        ),
    ],
)
def test_what_cannot_be_judged_again_says_how_to_go_on(
    changes: dict[str, object], status: int, output: str, stored: Path, tmp_path: Path
) -> None:
    facts = json.loads((stored / "failure.json").read_text())
    path = tmp_path / "failure.json"
    path.write_text(json.dumps(facts | changes))
    result = CliRunner().invoke(replay, [str(path)])
    assert result.exit_code == status, result.output
    assert output in result.output


def test_properties_that_cannot_be_used_are_a_mistake_of_the_command(stored: Path, tmp_path: Path) -> None:
    """As for every other command: status 2, and not that of a failure that cannot be judged."""
    properties = tmp_path / "client.properties"
    properties.write_text("security.protocol=TELNET\n", encoding="utf-8")
    given = ("--bootstrap-server", "localhost:9092", "--command-config", str(properties))
    result = CliRunner().invoke(replay, [str(stored), *given])
    assert result.exit_code == click.UsageError.exit_code, result.output
    assert "--command-config security.protocol=TELNET: expected one of" in result.output


@pytest.mark.parametrize("role", ["proxy", "", 5, None, ["broker"], {"broker": 1}], ids=repr)
def test_failure_of_an_unknown_role_is_refused(role: object, tmp_path: Path) -> None:
    """As wrong usage, with a sentence, and not as a failure that still fails."""
    texts = ("signature", "clause", "property_name", "target", "listener", "message", "example")
    facts = {**dict.fromkeys(texts, "x"), "role": role}
    (tmp_path / "failure.json").write_text(json.dumps(facts))
    result = CliRunner().invoke(replay, [str(tmp_path)])
    assert result.exit_code == USAGE_ERROR, result.output
    assert f"role is {str(role)!r}, and not one of operation, client, broker" in result.output
