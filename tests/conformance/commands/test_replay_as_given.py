"""`replay` without a run's options never says that a target conforms.

What a run was given decides what it can see.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import click
import pytest
from click.testing import CliRunner, Result
from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.items import Item
from conformance.brokers.test_served_versions import ADVERTISED, UNLISTED
from conformance.commands.replay import replay, role_of_failure, still_fails
from conformance.failures.stored_failures import StoredFailure, read_failure
from conformance.roles.broker import NEEDS, BrokerRole, ProxyRole
from conformance.roles.plugin import options_of_replay
from conformance.roles.stored_targets import ReplayOptions, target_for
from fixtures.choosing.listeners import TARGETS, ListenerOfTarget
from fixtures.choosing.target_options import AUTO
from fixtures.client.access import SaslAccess
from fixtures.client.addresses import Address
from fixtures.client.cluster_client import Security
from fixtures.client.running_broker import RunningBroker
from fixtures.errors import HarnessError
from fixtures.launchers.address import address_target
from fixtures.launchers.given_broker import given_listener
from fixtures.launchers.named_targets import origin_of, targets_named
from fixtures.registry.reference import reference_target
from fixtures.registry.targets import Target, newest_release, select_targets
from fixtures.under_test.broker import Broker
from fixtures.under_test.in_memory import InMemoryBroker, in_memory_target
from reference_model.broker.model.state_machine import ReferenceBroker
from reference_model.broker.rules.reaction import Identity
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT
from reference_model.profiles.profile import profile_of
from reports.run.exit_status import ExitStatus
from reports.run.judged_examples import CellKey
from strategies.api_versions import build_request
from strategies.other_apis import PASSED_KEYS, PassedRequest
from tests.conformance.fake_targets import (
    Behaviour,
    behaviour_of,
    close_at_once,
    reference_behaviour,
    serve,
)
from tests.fixtures.running_targets import running_at
from tests.reports.recorders import failure_of
from tests.written_failures import write_failure
from wire.api_keys import PUSH_TELEMETRY_KEY, VOTE_KEY

UNUSED = Address("127.0.0.1", 9)
MAKES_A_TOKEN = Item("CreateDelegationToken", 38, 3)
VOTES, PUSHES_TELEMETRY = Item("Vote", VOTE_KEY, 0), Item("PushTelemetry", PUSH_TELEMETRY_KEY, 0)
TABLE = "test_table_is_within_that_of_the_upstream"
PASSED = "test_response_arrives_unchanged"
EXAMPLES: dict[str, dict[str, Any]] = {
    TABLE: {"sent": build_request(version=0)},
    PASSED: {"passed": PassedRequest(api_key=PASSED_KEYS[0])},
}
CLAUSES = {TABLE: "PROXY.table-within-upstream", PASSED: "PROXY.responses-unchanged"}


def stored(runs: Path, property_name: str) -> Path:
    """Return the folder of a failure of a proxy."""
    failure = failure_of(CellKey(CLAUSES[property_name], str(UNUSED), PLAINTEXT), "seen")
    example = repr(EXAMPLES[property_name])
    return write_failure(runs, replace(failure, property_name=property_name, example=example))


def older_broker() -> Behaviour:
    """Answer as a release does that lists less than the newest one."""
    identity = Identity(cluster_id="c", node_id=1)
    return behaviour_of(ReferenceBroker(profile=profile_of("3.3.0"), identity=identity))


@contextmanager
def served(*behaviours: Behaviour) -> Iterator[list[str]]:
    """Yield the addresses of servers with these behaviours."""
    with ExitStack() as running:
        yield [running.enter_context(serve(each)).address for each in behaviours]


def replayed(folder: Path, proxy: str, *options: str) -> Result:
    """Judge a failure again at an address."""
    return CliRunner().invoke(replay, [str(folder), "--bootstrap-server", proxy, *options])


class TestUpstream:
    """A proxy is judged next to its upstream."""

    def test_proxy_fails_again_with_its_upstream(self, tmp_path: Path) -> None:
        """Without it nothing can be said, and the status says so."""
        folder = stored(tmp_path, TABLE)
        with served(reference_behaviour(), older_broker()) as (proxy, upstream):
            again = replayed(folder, proxy, "--upstream", upstream)
            without = replayed(folder, proxy)
            mended = replayed(folder, proxy, "--upstream", proxy)
        assert again.exit_code == 1, again.output
        assert "still fails" in again.output
        assert without.exit_code == ExitStatus.HARNESS_ERROR, without.output
        assert "inconclusive: " in without.output
        assert "see --upstream" in without.output
        assert mended.exit_code == 0, mended.output

    @pytest.mark.parametrize("property_name", [TABLE, PASSED])
    def test_upstream_that_does_not_answer_proves_nothing(self, property_name: str, tmp_path: Path) -> None:
        folder = stored(tmp_path, property_name)
        with served(reference_behaviour(), close_at_once) as (proxy, closing):
            for upstream in (closing, str(UNUSED)):
                result = replayed(folder, proxy, "--upstream", upstream)
                assert result.exit_code == ExitStatus.HARNESS_ERROR, result.output
                assert "cannot be parsed" not in result.output

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (["--upstream", "127.0.0.1:1"], "--upstream needs --bootstrap-server"),
            (["--bootstrap-server", "localhost:1", "--upstream", "here"], "--upstream 'here' is"),
            (
                ["--bootstrap-server", "localhost:1", "--upstream", "192.0.2.1:9092"],
                "192.0.2.1:9092 is not on the loopback interface",
            ),
        ],
    )
    def test_wrong_upstream_is_wrong_usage(self, options: list[str], sentence: str, tmp_path: Path) -> None:
        """Nothing is sent."""
        result = CliRunner().invoke(replay, [str(stored(tmp_path, TABLE)), *options])
        assert (result.exit_code, sentence in result.output) == (2, True), result.output


def test_origin_is_kept_without_secrets() -> None:
    """Listeners and upstream are the words of the options."""
    access = SaslAccess(username="u", password="secret", mechanisms=("PLAIN",))
    target = address_target(
        {"sasl_ssl": Address("127.0.0.1", 9093), "controller": Address("::1", 9095)},
        security={"sasl_ssl": Security(access=access)},
        upstream=Address("127.0.0.1", 9192),
    )
    assert origin_of(target) == {
        "addresses": "SASL_SSL://127.0.0.1:9093 PLAINTEXT://[::1]:9095",
        "upstream": "127.0.0.1:9192",
        "credentials": "given",
    }


def test_what_a_read_only_run_found_is_judged_again_by_reading(tmp_path: Path) -> None:
    """Somebody else may depend on a cluster that only such a run may judge."""
    target = replace(address_target({PLAINTEXT: UNUSED}), is_read_only=True)
    found = replace(failure(tmp_path), origin=origin_of(target))
    wanted = ReplayOptions(listeners=(given_listener(str(UNUSED), {}),))
    assert target_for(found, wanted) == target
    assert not target_for(failure(tmp_path), wanted).is_read_only


def test_what_was_found_with_a_table_is_judged_again_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "next.txt"
    file.write_text("JoinGroup 5+", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("JoinGroup 5+", "next.txt"):
        (target,) = targets_named([name])
        found = replace(failure(tmp_path), target=target.id, origin=origin_of(target))
        monkeypatch.chdir("/")
        again = target_for(found, ReplayOptions())
        assert (again.id, again.table is not None) == (target.id, True)
        monkeypatch.chdir(tmp_path)
    file.unlink()
    with pytest.raises(click.UsageError, match=r"with the table in .*next\.txt, which is gone"):
        target_for(found, ReplayOptions())


@pytest.mark.parametrize(("host", "printed"), [("127.0.0.1", ()), ("192.0.2.1", ("--even-remote",))])
def test_printed_command_allows_the_address_that_the_run_judged(host: str, printed: tuple[str, ...]) -> None:
    """Whoever gave it to the run has allowed it already."""
    target = address_target({PLAINTEXT: Address(host, 9092)})
    stash = {TARGETS: (ListenerOfTarget(target, PLAINTEXT),)}
    config = SimpleNamespace(getoption={"--launcher": AUTO}.get, stash=stash)
    assert options_of_replay(cast(pytest.Config, config)) == printed


@pytest.mark.parametrize("listener", [PLAINTEXT, CONTROLLER])
def test_failure_is_judged_on_the_node_that_has_its_listener(
    listener: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A controller that is another node than the broker is a target of its own, as in a run."""
    nodes = {each: address_target({each: UNUSED}) for each in (PLAINTEXT, CONTROLLER)}

    def found(*_: object, **__: object) -> list[Target]:
        return list(nodes.values())

    monkeypatch.setattr("conformance.roles.stored_targets.found_targets", found)
    wanted = ReplayOptions(listeners=(given_listener(str(UNUSED), {}),) * 2)
    assert target_for(replace(failure(tmp_path), listener=listener), wanted) == nodes[listener]


def failure(tmp_path: Path) -> StoredFailure:
    """Return a stored failure."""
    return read_failure(stored(tmp_path, TABLE))


def test_a_proxy_is_judged_as_one_again(tmp_path: Path) -> None:
    """In the records it has the role of a broker; what is found decides."""
    (proxy,) = select_targets(["kroxylicious-0.12.0-to-scripted-only-v0"])
    assert role_of_failure(failure(tmp_path), proxy) is ProxyRole
    assert role_of_failure(failure(tmp_path), newest_release()) is BrokerRole


def test_scripted_upstream_leaves_it_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run does not judge the clauses of brokers in front of one."""
    (proxy,) = select_targets(["kroxylicious-0.12.0-to-scripted-only-v0"])
    monkeypatch.setattr(Broker, "max_version", 5)
    monkeypatch.setattr(Broker, "unreadable", None)
    found = replace(failure(tmp_path), clause="KIP-35.keys-unique")
    with pytest.raises(HarnessError, match="its upstream is a scripted broker"):
        still_fails(found, Broker(running_at(UNUSED, target=proxy), PLAINTEXT))


def test_needs_of_the_suite_leave_it_open() -> None:
    """What the suite cannot read or was not given says nothing about a target; what the target lacks does."""
    open_, closed = BrokerRole.reasons_of_suite, {"features", "other_apis", "handshake_v1"}
    assert {name for name, need in NEEDS.items() if need.otherwise in open_} == {
        *("more_than_reading", "metrics", "request_log", "quota", "cluster_id", "scram", "finalizing"),
        *("upstream", "upstream_link", "upstream_answers", "plaintext", "other_nodes", "sole_node"),
    }
    assert not any(NEEDS[name].is_of_suite for name in closed)


def test_spared_item_is_not_acquitted() -> None:
    """What changes things is not requested from a broker that the suite did not start; what it does not list cannot
    fail."""
    broker = InMemoryBroker(in_memory_target(reference_target("reference")), PLAINTEXT)
    ADVERTISED.judge_again(broker, MAKES_A_TOKEN)
    broker.running = replace(broker.running, launcher="address")
    with pytest.raises(HarnessError, match="CreateDelegationToken is not requested, because this suite"):
        ADVERTISED.judge_again(broker, MAKES_A_TOKEN)
    with pytest.raises(UnsatisfiedAssumption):
        ADVERTISED.judge_again(broker, MAKES_A_TOKEN._replace(api_version=99, name="Other"))
    UNLISTED.judge_again(broker, PUSHES_TELEMETRY)
    with pytest.raises(HarnessError, match="Vote is not requested, because this suite"):
        UNLISTED.judge_again(broker, VOTES)
    with pytest.raises(UnsatisfiedAssumption):
        ADVERTISED.judge_again(broker, VOTES)


def test_credentials_are_needed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them, a broker that refuses every client would look mended."""

    @contextmanager
    def launched(*_: object) -> Iterator[RunningBroker]:
        yield replace(running_at(UNUSED), addresses={"sasl_ssl": UNUSED})

    monkeypatch.setattr("conformance.roles.broker.launch", launched)
    found = replace(failure(tmp_path), listener="sasl_ssl", origin={"credentials": "given"})
    listener = given_listener(str(UNUSED), {})
    with (
        pytest.raises(HarnessError, match="give them with --command-config"),
        BrokerRole.from_stored(found, ReplayOptions(listeners=(listener,))),
    ):
        pass
