"""A stored failure can be judged again, added to the corpus, and declared.

The declaration is as narrow as possible.
"""

from __future__ import annotations

import contextlib
import json
import pkgutil
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import Phase, given, settings
from hypothesis.errors import UnsatisfiedAssumption

import conformance.clients
from conformance.assertions.items import Item
from conformance.commands.errors import USAGE_ERROR
from conformance.commands.expectations import entries_for, expectations, match_for
from conformance.commands.replay import NoLongerApplies, replay, still_fails
from conformance.engine.planning import checks_of
from conformance.failures.drawn_values import KNOWN, UnreadableValues, read_values
from conformance.failures.stored_failures import NoStoredFailure, StoredFailure, read_failure
from conformance.mutation import properties as mutation_properties
from conformance.mutation.properties import (
    Property,
    all_properties,
    holds,
    properties_of,
    proxy_properties,
)
from conformance.mutation.subjects import broker_with
from conformance.roles.registry import roles_named
from fixtures.errors import InvalidTargetFile
from fixtures.registry.targets import load_target
from fixtures.under_test.in_memory_client import in_memory_client
from fixtures.under_test.judged_target import JudgedTarget
from proposals import proposals
from reference_model.faults.broker import DEFECTS
from reports.run.exit_status import ExitStatus
from reports.run.judged_examples import CellKey
from strategies.api_versions import build_request
from strategies.hypothesis_adapter import assumptions_outside_hypothesis, strategies_of
from tests.conformance.suite_runs import SuiteRun
from tests.reports.recorders import failure_of
from tests.run_folders import (
    DEFAULT_CLAUSE,
    DEFAULT_TARGET,
    example_row,
    planned_cell,
    run_header,
    write_run,
)
from tests.written_failures import write_failure
from wire.api_keys import METADATA_KEY
from wire.headers import PLAIN_CLIENT_ID
from wire.primitives import TaggedField

DEFECT = "reference+tags-descend"
CLAUSE = "KIP-482.tags-ascending-in-answers"
TARGET_FILE = 'implementation = "x"\nrelease = "1.0"\nlisteners = ["plaintext"]\n'


@pytest.fixture(name="stored")
def _stored(defects_run: SuiteRun) -> Path:
    """The folder of the failure of a planted defect."""
    return defects_run.failures()[DEFECT, CLAUSE]


@pytest.mark.parametrize(
    ("chosen", "status", "said"),
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
def test_stored_failure_is_judged_again(chosen: list[str], status: int, said: str, stored: Path) -> None:
    """The same property judges the same example, and the status says whether it still fails."""
    result = CliRunner().invoke(replay, [str(stored), *chosen])
    assert result.exit_code == status, result.output
    assert said in result.output
    assert not result.output.rstrip().endswith(":"), "it says what was seen"


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
    ("changes", "status", "said"),
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
            "run its reproducer.py",
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
    changes: dict[str, object], status: int, said: str, stored: Path, tmp_path: Path
) -> None:
    facts = json.loads((stored / "failure.json").read_text())
    path = tmp_path / "failure.json"
    path.write_text(json.dumps(facts | changes))
    result = CliRunner().invoke(replay, [str(path)])
    assert result.exit_code == status, result.output
    assert said in result.output


def test_failure_becomes_an_entry(stored: Path) -> None:
    """The entry has the request without the sentinel, and a note of its origin."""
    (entry,) = read_failure(stored / "failure.json").entries()
    assert entry.data[4:6] == b"\0\x12"
    assert len(entry.data) == 4 + int.from_bytes(entry.data[:4])
    assert f"found on {DEFECT} (plaintext): {CLAUSE}" in entry.origin


def test_properties_that_cannot_be_used_are_a_mistake_of_the_command(stored: Path, tmp_path: Path) -> None:
    """As for every other command: status 2, and not that of a failure that cannot be judged."""
    properties = tmp_path / "client.properties"
    properties.write_text("security.protocol=TELNET\n", encoding="utf-8")
    given = ("--bootstrap-server", "localhost:9092", "--command-config", str(properties))
    result = CliRunner().invoke(replay, [str(stored), *given])
    assert result.exit_code == click.UsageError.exit_code, result.output
    assert "--command-config security.protocol=TELNET: expected one of" in result.output


def test_folder_without_a_failure_is_refused(tmp_path: Path) -> None:
    """A folder without a failure, or with an incomplete one, is refused by name."""
    instead = ": give a folder failures/SIGNATURE of a run, or a file in it"
    with pytest.raises(NoStoredFailure, match=f"{tmp_path} contains no failure{instead}"):
        read_failure(tmp_path)
    (tmp_path / "afile").touch()
    with pytest.raises(NoStoredFailure, match=f"{tmp_path}/afile is no failure{instead}"):
        read_failure(tmp_path / "afile")
    (tmp_path / "failure.json").mkdir()
    with pytest.raises(NoStoredFailure, match=r"failure\.json cannot be read: Is a directory"):
        read_failure(tmp_path)
    (tmp_path / "failure.json").rmdir()
    (tmp_path / "failure.json").write_text("[]")
    with pytest.raises(NoStoredFailure, match="does not describe a failure"):
        read_failure(tmp_path)


def test_run_in_place_of_its_failures_is_recognised(tmp_path: Path) -> None:
    """The sentence says whether it has some."""
    (tmp_path / "run.json").touch()
    with pytest.raises(NoStoredFailure, match=f"{tmp_path} is the folder of a run without failures"):
        read_failure(tmp_path)
    (tmp_path / "failures" / "x").mkdir(parents=True)
    with pytest.raises(NoStoredFailure, match=f"such as {tmp_path}/failures/"):
        read_failure(tmp_path)


@pytest.mark.parametrize("role", ["proxy", "", 5, None, ["broker"], {"broker": 1}], ids=repr)
def test_failure_of_an_unknown_role_is_refused(role: object, tmp_path: Path) -> None:
    """As wrong usage, with a sentence, and not as a failure that still fails."""
    texts = ("signature", "clause", "property_name", "target", "listener", "message", "example")
    facts = {**dict.fromkeys(texts, "x"), "role": role}
    (tmp_path / "failure.json").write_text(json.dumps(facts))
    result = CliRunner().invoke(replay, [str(tmp_path)])
    assert result.exit_code == USAGE_ERROR, result.output
    assert f"role is {str(role)!r}, and not one of operation, client, broker" in result.output


def test_drawn_values_come_back() -> None:
    """Requests and plain values are read back as they were written."""
    sent = build_request(version=3, body_tags=(TaggedField(tag=-0, data=b"\xff"),), client_id=None)
    values = {"sent": sent, "cuts": [1, -2], "every": range(3), "client_id": PLAIN_CLIENT_ID}
    assert read_values(repr(values)) == values


@pytest.mark.parametrize("earlier", ["Token", "Entry"])
def test_values_of_older_runs_come_back(earlier: str) -> None:
    """Two kinds had other names in run folders of before; they are still those that are drawn."""
    assert earlier in KNOWN
    assert KNOWN[earlier] is KNOWN[{"Token": "PlainToken", "Entry": "CorpusEntry"}[earlier]]


def client_properties() -> Iterator[Property]:
    """Yield every property of clients."""
    for module in pkgutil.iter_modules(conformance.clients.__path__):
        members = vars(import_module(f"{conformance.clients.__name__}.{module.name}"))
        yield from (Property(name, member) for name, member in members.items() if name.startswith("test_"))


def proposed_properties() -> Iterator[tuple[str, Property]]:
    """Yield every property that a proposal brings, after the role that it judges."""
    for proposal in proposals():
        yield from (("broker", each) for each in properties_of(proposal).values())
    suites_own = {each.name for each in client_properties()}
    for name, each in mutation_properties.client_properties().items():
        if name not in suites_own:
            yield "client", each


@pytest.mark.parametrize(("role", "judged"), [pytest.param(*each, id=each[1].name) for each in proposed_properties()])
def test_property_of_a_proposal_is_found_again(role: str, judged: Property) -> None:
    """`replay` searches the folders of proposals as well."""
    assert roles_named(role)[0].property_named(judged.name) is judged.function


@pytest.mark.parametrize("judged", list(client_properties()), ids=lambda each: each.name)
def test_what_a_property_of_clients_draws_can_be_replayed(judged: Property) -> None:
    """Pinned and drawn scripts of every property of clients are read back, and are equal."""
    examples = list(judged.pinned)

    @settings(max_examples=10, phases=[Phase.generate], database=None, derandomize=True)
    @given(**strategies_of(judged.function))
    def collect(**values: Any) -> None:
        examples.append(values)

    if judged.is_drawn:
        collect()
    assert examples
    for values in examples:
        assert read_values(repr(dict(values))) == values


@pytest.mark.parametrize(
    "judged",
    [
        *all_properties().values(),
        *proxy_properties().values(),
        *(each for proposal in proposals() for each in properties_of(proposal).values()),
    ],
    ids=lambda each: each.name,
)
def test_what_a_property_draws_can_be_replayed(judged: Property) -> None:
    """Pinned and drawn values of every property are read back: a new type has to be added to `drawn_values.KNOWN`,
    or to those of its proposal."""
    examples = list(judged.pinned)

    def take(values: Mapping[str, Any]) -> None:
        # A property that is not drawn sweeps a list; its items are stored instead.
        examples.append(values or {"item": Item("Produce", 0, 3)})

    judged.draw(take, seed=1, count=5)
    assert examples
    for values in examples:
        assert repr(read_values(repr(dict(values)))) == repr(dict(values))


@pytest.mark.parametrize(
    "judged",
    [each for each in all_properties().values() if not each.is_drawn],
    ids=lambda each: each.name,
)
def test_property_that_is_not_drawn_names_its_checks(judged: Property) -> None:
    """`replay` finds by its marks what judges one item of its list alone: the target, and what is stored with a
    failure."""
    checks = checks_of(judged.marks)
    assert checks
    for check in checks:
        target, *stored = signature(check).parameters
        assert target == "broker"
        assert stored


@pytest.mark.parametrize("text", ["__import__('os')", "{'a': open('x')}", "1", "{", "{'a': b.c}"])
def test_nothing_else_is_read(text: str) -> None:
    """Text that is not a mapping of known values is refused, and nothing in it is executed."""
    with pytest.raises(UnreadableValues):
        read_values(text)


def test_match_is_narrow_and_heeds_no_number() -> None:
    """The pattern matches the same sentence with other numbers, and no other sentence."""

    def failure(message: str) -> StoredFailure:
        texts: dict[str, Any] = dict.fromkeys(("signature", "clause", "property_name", "target", "listener"), "")
        return StoredFailure(**texts, message=message, example="", sent={}, needs_earlier_requests=False)

    pattern = match_for(failure("KIP-35: v3 gave (2, -1) after 0xdeadbeef.\nmore"))
    assert pattern == r"^KIP-35: v3 gave \(-?\d+, -?\d+\) after [0-9a-fx]+\."
    assert match_for(failure("got -1234567 of 12345678")) == r"^got -?\d+ of [0-9a-fx]+"
    pattern = match_for(failure("by 4.4.0: 24 requests in 1.2 s, 20 per second"))
    assert pattern == r"^by 4\.4\.0: -?\d+ requests in -?\d+\.\d+ s, -?\d+ per second"


def test_smallest_entry_waits_for_a_reason(defects_run: SuiteRun, tmp_path: Path) -> None:
    """The entry for a run's failures is refused until reason and link are filled in, and then declares them."""
    result = CliRunner().invoke(expectations, [str(defects_run.folder)])
    assert result.exit_code == 0, result.output
    entries = entries_for(defects_run.folder, date(2026, 11, 21))
    assert entries.keys() == {target["id"] for target in defects_run.header["targets"]}
    (entry,) = tomllib.loads(entries[DEFECT])["known_violation"]
    assert "listeners" not in entry, "it failed on every listener that was judged"
    assert (entry["added"], entry["expires"]) == (date(2026, 11, 21), date(2027, 2, 19))
    path = tmp_path / "some.toml"
    path.write_text(TARGET_FILE + entries[DEFECT])
    with pytest.raises(InvalidTargetFile, match="reason is empty"):
        load_target(path)
    filled = entries[DEFECT].replace('reason = ""', 'reason = "r"').replace('link = ""', 'link = "l"')
    path.write_text(TARGET_FILE + filled)
    (known,) = load_target(path).known_violations
    assert known.clause == CLAUSE


def test_entry_names_the_listeners_if_the_others_conform(tmp_path: Path) -> None:
    cells = [planned_cell(listener=name) for name in ("plaintext", "ssl", "sasl_ssl")]
    header = run_header(cells)
    signature = "0123456789abcdef"
    rows = [
        example_row(header, verdict="violates", failure_signature=signature),
        example_row(header, listener="ssl"),
        example_row(header, listener="sasl_ssl"),
    ]
    folder = write_run(tmp_path / "run", header, rows)
    key = CellKey(DEFAULT_CLAUSE, DEFAULT_TARGET, "plaintext")
    write_failure(folder / "failures", failure_of(key, "seen", signature))
    entries = entries_for(folder, date(2026, 11, 21))
    (entry,) = tomllib.loads(entries[DEFAULT_TARGET])["known_violation"]
    assert entry["listeners"] == ["plaintext"]
