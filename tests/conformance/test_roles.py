"""Each target has one role, and a command line chooses the role of its run."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.commands.replay import replay
from conformance.roles import role_registry
from conformance.roles.broker import BrokerRole, ProxyRole
from conformance.roles.client import ClientRole
from conformance.roles.operation import OperationRole
from conformance.roles.plugin import compare_declarations
from conformance.roles.role import RoleInRun, property_modules
from conformance.roles.role_registry import EVERY_ROLE, role_of, role_of_run, roles_named
from fixtures.choosing.clients import CLIENTS, ChosenClient
from fixtures.choosing.listeners import TARGETS, ListenerOfTarget
from fixtures.registry.clients import select_clients
from fixtures.registry.targets import newest_release, select_targets
from fixtures.under_test.client import target_of
from fixtures.under_test.trial import ChosenTrial
from proposals import proposals
from reference_model.profiles.listeners import PLAINTEXT
from reports.records import Verdict
from reports.run.judged_examples import CellKey
from strategies.api_versions import build_request
from tests.conformance.judged_properties import declared
from tests.conformance.suite_runs import run_suite
from tests.reports.recorders import example_of, facts_of, failure_of, recorder_for
from tests.written_failures import write_failure

RELEASE = newest_release()
(PROXY,) = select_targets(["kroxylicious-0.12.0-to-scripted-only-v0"])
(CLIENT,) = select_clients(["aiokafka-0.14.0"])
FAULTY = "reference+v0-as-first-request-gets-an-error"

DECLARATION = """
[[known_violation]]
clause = "KIP-35.v0-always-served"
match = "never seen"
reason = "a test"
link = "https://example.org/1"
added = 2026-11-01
expires = 2999-01-01
"""


def config_of(*, clients: bool, brokers: bool, targets: tuple[Any, ...] = (RELEASE,)) -> Any:
    """Return the configuration of a command line that names a client, brokers, or both."""
    config: Any = SimpleNamespace(stash=pytest.Stash(), getoption=lambda name: name == "--broker" and brokers)
    config.stash[TARGETS] = tuple(ListenerOfTarget(each, PLAINTEXT) for each in targets)
    config.stash[CLIENTS] = (ChosenClient(CLIENT, target_of(CLIENT)),) if clients else ()
    return config


@pytest.mark.parametrize(
    ("chosen", "role", "parameter"),
    [
        (ListenerOfTarget(RELEASE, PLAINTEXT), BrokerRole, "broker"),
        (ListenerOfTarget(PROXY, PLAINTEXT), ProxyRole, "broker"),
        (ChosenClient(CLIENT, target_of(CLIENT)), ClientRole, "client"),
        (ChosenTrial(RELEASE, CLIENT, "produce"), OperationRole, "trial"),
    ],
    ids=["broker", "proxy", "client", "operation"],
)
def test_what_is_chosen_has_one_role(chosen: Any, role: type, parameter: str) -> None:
    config = config_of(clients=False, brokers=True)
    item: Any = SimpleNamespace(config=config, callspec=SimpleNamespace(params={parameter: chosen}))
    assert type(role_of(item)) is role
    assert role_of(item) is role_of(item)
    assert role_of(item).parameter == parameter


@pytest.mark.parametrize(
    ("clients", "brokers", "role"),
    [(False, True, "broker"), (True, False, "client"), (True, True, "operation")],
)
def test_run_has_the_role_of_what_it_chooses(role: str, *, clients: bool, brokers: bool) -> None:
    """A client and a release are an operation; only its properties are collected."""
    config = config_of(clients=clients, brokers=brokers)
    first = role_of_run(config)
    assert first.name == role
    assert roles_named(role)[0].folder == first.folder
    assert all(list(folder.glob("test_*.py")) for folder in first.folders())


def test_properties_of_clients_need_a_client() -> None:
    for folder in roles_named("client")[0].folders():
        config = config_of(clients=False, brokers=True)
        config.args, config.invocation_params = [str(folder)], SimpleNamespace(dir=Path("/"))
        with pytest.raises(pytest.UsageError, match="choose one with --client"):
            ClientRole(config).refuse()


def test_properties_of_a_proposal_are_those_of_a_role() -> None:
    expected = [each.properties_folder for each in proposals()]
    for role in (roles_named("broker")[0], roles_named("client")[0]):
        assert [folder.parent for folder in role.folders()[1:]] == expected
    assert len(roles_named("operation")[0].folders()) == 1


@pytest.mark.slow
def test_new_role_is_one_module(tmp_path: Path) -> None:
    """A toy role brings its option, its fixture and its judging; the plugin and the records need no change for it."""
    expectations = tmp_path / "declared.toml"
    expectations.write_text(DECLARATION, encoding="utf-8")
    run = run_suite(
        *("-p", "tests.conformance.toy_role", "--toy", "reference", "--toy", FAULTY),
        # Only for a role outside of `conformance/roles`: it is imported before the plugins that it uses.
        *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
        *("--tier", "smoke", "--expectations", str(expectations)),
        runs=tmp_path,
        suite=("conformance/", "tests/conformance/toy_role/properties.py"),
    )
    assert run.status == 1, run.output
    assert [each["role"] for each in run.header["clauses"]] == ["toy"]
    clause = "KIP-35.v0-always-served"
    assert run.verdicts() == {
        ("reference", clause): Verdict.UNEXPECTED_PASS,
        (FAULTY, clause): Verdict.VIOLATES,
    }
    assert f"stale expectation: {FAULTY} declares {clause}, but no failure matches" in run.output


@pytest.fixture
def toy_role(monkeypatch: pytest.MonkeyPatch) -> type[RoleInRun[Any]]:
    """The toy role, among the others."""
    # Its module adds it, once.
    monkeypatch.setattr(role_registry, "EVERY_ROLE", role_registry.EVERY_ROLE)
    toy: type[RoleInRun[Any]] = import_module("tests.conformance.toy_role").ToyRole
    monkeypatch.setattr(role_registry, "EVERY_ROLE", (toy, *EVERY_ROLE))
    return toy


@pytest.mark.parametrize(("target", "status"), [(FAULTY, 1), ("reference", 0)])
def test_failure_of_a_new_role_can_be_judged_again(
    target: str, status: int, toy_role: type[RoleInRun[Any]], tmp_path: Path
) -> None:
    """`replay` knows a role as soon as it is among the roles."""
    failure = replace(
        failure_of(CellKey("KIP-35.v0-always-served", target, PLAINTEXT), "seen"),
        role=toy_role.name,
        property_name="test_version_0_is_served",
        example=repr({"sent": build_request(version=0)}),
    )
    result = CliRunner().invoke(replay, [str(write_failure(tmp_path, failure))])
    assert result.exit_code == status, result.output


def test_declarations_for_any_role_become_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = declared(match="never seen", expires=date.max)
    target = replace(RELEASE, id="of-a-toy", known_violations=(known,))
    role = SimpleNamespace(choose=lambda: [ListenerOfTarget(target, PLAINTEXT)])
    monkeypatch.setattr("conformance.roles.plugin.role_of_run", lambda _: role)
    key = CellKey(known.clause, target.id, PLAINTEXT)
    recorder = recorder_for(tmp_path, {key: "MUST"})
    recorder.target_started(facts_of(target.id))
    recorder.judged(example_of(Verdict.VIOLATES, key, message="seen"))
    compare_declarations(config_of(clients=False, brokers=True), recorder)
    assert recorder.stale_expectations == [f"{target.id} declares {known.clause}, but no failure matches 'never seen'"]


def test_properties_are_found_through_a_link(tmp_path: Path) -> None:
    """A checkout or an environment may be reached by another path than the one that its modules have."""
    folder = tmp_path / "linked"
    folder.symlink_to(roles_named("broker")[0].folder)
    assert list(property_modules(folder)) == list(property_modules(roles_named("broker")[0].folder))


@pytest.mark.parametrize(
    ("chosen", "listener", "has_them"),
    [
        (("plaintext", "ssl", "sasl_ssl"), "plaintext", True),
        (("plaintext", "ssl", "sasl_ssl"), "ssl", False),
        (("plaintext", "ssl", "sasl_ssl"), "sasl_ssl", True),
        (("ssl",), "ssl", True),
    ],
)
def test_long_lists_are_sent_once_in_a_run(chosen: tuple[str, ...], listener: str, has_them: bool) -> None:
    """What counts is what the run judges, and not which listeners the target has."""
    target = newest_release()
    targets = tuple(ListenerOfTarget(target, name) for name in chosen)
    role = BrokerRole(SimpleNamespace(stash={TARGETS: targets}))  # type: ignore[arg-type]
    judged: Any = SimpleNamespace(target=target, listener=listener)
    assert role.has_whole_lists(judged) is has_them
