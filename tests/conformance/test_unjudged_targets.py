"""Targets that cannot be judged, or only in part: exit status 10 and the reason.

The reason comes once, with what to do.

And targets that violate everything: the run ends in bounded time, with verdicts. `benchmarks.hostile_targets` judges
more of them, and compares what each costs with the cost of a healthy one.
"""

from __future__ import annotations

import dataclasses
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from fixtures.client.addresses import Address, parse_address
from fixtures.client.preflight import Timeouts, check_address
from fixtures.errors import NotJudgeable
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.profiles.profile import KIP_TEXT, NEWEST_RELEASE, profile_of
from reports.records import Verdict
from tests.conformance import tls_target
from tests.conformance.fake_targets import (
    LOOPBACK,
    Behaviour,
    FakeTarget,
    answer_bombs,
    answer_garbage,
    answer_http,
    answer_nothing,
    behaviour_of,
    behind_tls,
    close_at_once,
    flood,
    reference_broker,
    serve,
    trickling,
    turning,
    turning_behind_tls,
)
from tests.conformance.suite_runs import SuiteRun, await_line, children_of, finish, start_suite
from wire.exchange import Outcome

HARNESS_ERROR = 10


def address_of(target: FakeTarget) -> Address:
    """Return the address of a fake target."""
    return parse_address(target.address)


MAX_LINES = 10
MAX_SILENT_S = 20.0
"""With a first timeout of 0.2 s: what is asked after it has half a second each, the TLS handshake too."""


def alert(target: FakeTarget, connection: socket.socket) -> None:
    """Say in TLS that what came is none."""
    connection.sendall(bytes.fromhex("15030300020246"))


def only_tls(otherwise: Behaviour) -> Behaviour:
    """Shake hands with who begins TLS, and behave otherwise with all others."""
    inside = behind_tls(answer_nothing)

    def behave(target: FakeTarget, connection: socket.socket) -> None:
        begins_tls = connection.recv(1, socket.MSG_PEEK) == b"\x16"
        (inside if begins_tls else otherwise)(target, connection)

    return behave


def asking_for_sasl() -> Behaviour:
    """Be a broker that closes on almost everything before authentication, which is no violation."""
    sasl = profile_of(NEWEST_RELEASE, listener="sasl_plaintext", follows=KIP_TEXT)
    return behaviour_of(dataclasses.replace(reference_broker(), profile=sasl))


ONLY_TLS = only_tls(answer_nothing)
DRIPPING = trickling(10)
WAITED_FOR = (answer_nothing, ONLY_TLS, DRIPPING)
"""What answers no request for a table in time, however long that is."""


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        pytest.param(answer_http, r"it looks like HTTP .*48 54 54 50.*give the port", id="web-server"),
        pytest.param(answer_nothing, r"timed out: no response within 0\.2 s\ncheck the host", id="silent"),
        pytest.param(DRIPPING, r"another protocol \(first bytes: 00\).*check the port", id="dripping"),
        pytest.param(
            close_at_once,
            "it closes the connection on ApiVersions v0 to v4.*check the host",
            id="closing",
        ),
        pytest.param(alert, "it looks like TLS .*give SSL://", id="tls-alert"),
        pytest.param(ONLY_TLS, "it looks like TLS .*give SSL://", id="tls-silent"),
        pytest.param(only_tls(close_at_once), "it looks like TLS .*give SSL://", id="tls-closing"),
        pytest.param(asking_for_sasl(), "requires SASL: .*give SASL_PLAINTEXT://", id="sasl"),
    ],
)
def test_port_that_cannot_be_judged_is_reported_before_any_test(behaviour: Behaviour, reason: str) -> None:
    """The error describes what the server sends, or that it sends nothing, in few lines and within seconds."""
    # The first bytes of most come at once, but take their time on a busy machine.
    first_s = 0.2 if behaviour in WAITED_FOR else 2.0
    timeouts = Timeouts(first_s, next_s=0.1) if behaviour is answer_nothing else Timeouts(first_s)
    began_at = time.monotonic()
    with (
        serve(behaviour) as target,
        pytest.raises(NotJudgeable, match=f"(?s){reason}") as refused,
    ):
        check_address(address_of(target), timeouts=timeouts)
    assert time.monotonic() - began_at < MAX_SILENT_S
    assert len(str(refused.value).splitlines()) <= MAX_LINES


def test_port_that_takes_no_connection_in_time_is_reported() -> None:
    """Accept nothing, like a firewall that drops packets."""
    with socket.create_server((LOOPBACK, 0), backlog=0) as listening:
        address = Address(*listening.getsockname())
        # The one that the system keeps for it.
        with (
            socket.create_connection(address),
            pytest.raises(NotJudgeable, match=r"timed out: no connection within 0\.2 s") as refused,
        ):
            check_address(address, timeouts=Timeouts(0.2))
    assert "firewall" in str(refused.value)
    assert len(str(refused.value).splitlines()) <= MAX_LINES


@pytest.mark.parametrize("hangs", [True, False], ids=["hangs-on-v0", "closes-on-v0"])
def test_whatever_answers_one_version_is_judged(*, hangs: bool) -> None:
    def act(context: RequestContext) -> None:
        if context.header is not None and context.header.api_version == 0:
            outcome = Outcome.SILENT if hangs else Outcome.CLOSED
            context.replace_reaction(outcome=outcome)

    broker = reference_broker()
    broker.tampering = Tampering(stage=Stage.REACTION, act=act)
    with serve(behaviour_of(broker)) as target:
        check_address(address_of(target), timeouts=Timeouts(0.2 if hangs else 2.0))


@pytest.mark.slow
def test_broker_that_dies_leaves_what_was_judged(tmp_path: Path) -> None:
    """A broker killed during the run is started again, and only the property of that moment is inconclusive."""
    runs = tmp_path / "runs"
    few = ("conformance/brokers/test_served_table.py", "conformance/brokers/test_framing.py")
    process = start_suite("--broker", "reference", "--tier", "smoke", "-v", runs=runs, suite=few)
    before = await_line(process, "PASSED")
    (server,) = (child for child in children_of(process) if "fixtures.model_processes.server" in child.cmdline())
    server.kill()
    run = finish(process)
    assert run.status == HARNESS_ERROR, before + run.output
    assert set(run.verdicts().values()) == {Verdict.CONFORMS, Verdict.INCONCLUSIVE}
    in_doubt = [row for row in run.rows() if row["verdict"] == Verdict.INCONCLUSIVE.value]
    # The property may be about several clauses.
    assert len({row["property"] for row in in_doubt}) == 1
    assert run.header["footer"]["example_rows"] == len(run.rows())
    assert run.header["targets"][0]["id"] == "reference"
    reason = "reference ended while it was judged: exit status -9; the same bytes did not end it again"
    explained = run.output[run.output.index("= verdicts =") :]
    assert explained.count(reason) == 1
    assert "Traceback" not in run.output


V0_SERVED = "KIP-35.v0-always-served"
ONE_PROPERTY = ("-k", "test_v0_is_served")
HOSTILE: Mapping[str, tuple[Behaviour, Sequence[str]]] = {
    # Enough for cells in doubt that have the same cause.
    "flooding": (flood, ("-k", "test_v0_is_served or key or feature or pipelined")),
    "garbage": (answer_garbage, ONE_PROPERTY),
    "bombs": (answer_bombs, ONE_PROPERTY),
    "silent": (answer_nothing, ONE_PROPERTY),
}
"""Targets that turn hostile, and which properties judge them; `benchmarks.hostile_targets` has a complete run of
most."""
TLS_CLOSING = "tls-closing"
ON_TLS = ("-p", tls_target.__name__, "--listener", "ssl", *ONE_PROPERTY)
"""Complete runs on such listeners belong to the benchmark."""


@pytest.fixture(scope="module")
def hostile_runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, SuiteRun]:
    """A smoke run against each; those with TLS run later, because the wait for a handshake is shorter."""
    runs = tmp_path_factory.mktemp("runs")
    plain = {name: (turning(behaviour), options) for name, (behaviour, options) in HOSTILE.items()}
    tls = {TLS_CLOSING: (turning_behind_tls(behind_tls(close_at_once)), ON_TLS)}
    return {**_judged_at_once(plain, runs), **_judged_at_once(tls, runs)}


def _judged_at_once(targets: Mapping[str, tuple[Behaviour, Sequence[str]]], runs: Path) -> dict[str, SuiteRun]:
    """Judge all targets at the same time, because most of the time is waiting."""
    with ExitStack() as stack:
        started = {}
        for name, (behaviour, options) in targets.items():
            target = stack.enter_context(serve(behaviour))
            started[name] = start_suite(
                *("--bootstrap-server", target.address, "--tier", "smoke", *options),
                runs=runs / name,
            )
            stack.callback(started[name].kill)
        return {name: finish(process) for name, process in started.items()}


@pytest.mark.slow
@pytest.mark.nightly  # Five runs
@pytest.mark.parametrize("name", [*HOSTILE, TLS_CLOSING])
def test_hostile_target_gets_verdicts(name: str, hostile_runs: Mapping[str, SuiteRun]) -> None:
    """A target that turns hostile violates one clause, which every cell in doubt names as the cause."""
    run = hostile_runs[name]
    assert run.status == 1, run.output
    verdicts = {clause: verdict for (_, clause), verdict in run.verdicts().items()}
    assert verdicts[V0_SERVED] is Verdict.VIOLATES
    for cell in run.header["planned_cells"]:
        if verdicts[cell["clause"]] in (Verdict.INCONCLUSIVE, Verdict.NOT_RUN):
            # It is in doubt only because no response is readable.
            assert f"judged by {V0_SERVED}" in cell["reason"], cell["clause"]
    assert "a bug in this suite" not in run.output
    assert run.header["footer"]["exit_status"] == 1
