"""Each target is judged in one role, and a run has the role of what its command line chooses."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.roles.broker import BrokerRole
from conformance.roles.client import ClientRole
from conformance.roles.operation import OperationRole
from conformance.roles.proxy import ProxyRole
from conformance.roles.registry import role_of, role_of_run, roles_named
from conformance.roles.role import property_modules
from fixtures.choosing.clients import CLIENTS, ChosenClient
from fixtures.choosing.listeners import TARGETS, ListenerOfTarget
from fixtures.registry.clients import select_clients
from fixtures.registry.targets import newest_release, select_targets
from fixtures.under_test.client import target_of
from fixtures.under_test.trial import ChosenTrial
from proposals import proposals
from reference_model.profiles.listeners import PLAINTEXT
from reports.records import Verdict
from tests.conformance.suite_runs import run_suite

RELEASE = newest_release()
(PROXY,) = select_targets(["kroxylicious-0.12.0-to-scripted-only-v0"])
(CLIENT,) = select_clients(["aiokafka-0.14.0"])
FAULTY = "reference+v0-as-first-request-gets-an-error"


def config_of(*, clients: bool, brokers: bool, targets: tuple[Any, ...] = (RELEASE,)) -> Any:
    """Return the configuration of a command line that names a client, brokers, or both."""
    config: Any = SimpleNamespace(
        stash=pytest.Stash(), getoption=lambda name: name == "--broker" and brokers
    )
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
    """Its property gets it by the role's parameter; the role is the same object for each property of a run."""
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
    """Also those of a proposal; the command line is refused before anything is collected."""
    for folder in roles_named("client")[0].folders():
        config = config_of(clients=False, brokers=True)
        config.args, config.invocation_params = [str(folder)], SimpleNamespace(dir=Path("/"))
        with pytest.raises(pytest.UsageError, match="choose one with --client"):
            ClientRole(config).refuse()


def test_properties_of_a_proposal_are_those_of_a_role() -> None:
    """They are found next to the suite's own; operations have none of a proposal."""
    expected = [Path(str(each.folder)) / "properties" for each in proposals()]
    for role in (roles_named("broker")[0], roles_named("client")[0]):
        assert [folder.parent for folder in role.folders()[1:]] == expected
    assert len(roles_named("operation")[0].folders()) == 1


@pytest.mark.slow
def test_new_role_is_one_module(tmp_path: Path) -> None:
    """A toy role brings its option, its fixture and its judging; the plugin and the records need no change for it."""
    run = run_suite(
        *("-p", "tests.conformance.toy_role", "--toy", "reference", "--toy", FAULTY),
        # Only for a role outside of `conformance/roles`: it is imported before the plugins that it uses.
        *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
        *("--tier", "smoke"),
        runs=tmp_path,
        suite=("conformance/", "tests/conformance/toy_role/properties.py"),
    )
    assert run.status == 1, run.output
    assert [each["role"] for each in run.header["clauses"]] == ["toy"]
    clause = "KIP-35.v0-always-served"
    assert run.verdicts() == {
        ("reference", clause): Verdict.CONFORMS,
        (FAULTY, clause): Verdict.VIOLATES,
    }


def test_properties_are_found_through_a_link(tmp_path: Path) -> None:
    """A checkout or an environment may be reached by another path than the one that its modules have."""
    folder = tmp_path / "linked"
    folder.symlink_to(roles_named("broker")[0].folder)
    assert list(property_modules(folder)) == list(property_modules(roles_named("broker")[0].folder))
