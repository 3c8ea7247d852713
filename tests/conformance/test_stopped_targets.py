"""A target that accepts connections but serves none any more.

What was sent last is to blame, if it can be.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from conformance.assertions.clause_ids import MALFORMED_HURTS_NOBODY, WELL_FORMED_NEVER_CLOSED
from conformance.engine import crashes
from conformance.engine.crashes import (
    MAX_STOPS,
    STOPPED,
)
from fixtures.client.patience import Patience
from fixtures.client.transport import Transport
from fixtures.errors import AcceptsNothing, BrokerGone, ConnectionFailed, HarnessError, TlsRefused
from fixtures.under_test import stopped_serving
from fixtures.under_test.broker import Broker
from fixtures.under_test.in_memory import InMemoryBroker
from fixtures.under_test.stopped_serving import how_it_stopped, witness_for
from reference_model.broker.model.fault_injection import ReceivedBytes
from reference_model.broker.model.stages import Stage, Tampering
from reports.records import Verdict
from reports.run.judged_examples import CellKey
from strategies.api_versions import build_request
from strategies.broken_requests import build_truncated
from tests.conformance.in_memory_runs import broker_with
from tests.conformance.judged_properties import PIN, Judged, JudgedBroker, judged
from wire.exchange import Outcome, Request

V0 = build_request(version=0)
WELL_FORMED = build_request(version=0, correlation_id=99)
BROKEN = build_truncated(0, 9)
Plain = list[Outcome | Exception]


class StoppingBroker(InMemoryBroker):
    """A broker that stops serving new connections after a request of these bytes, until it is started again."""

    is_stopped = False
    is_silent = False
    is_unreachable = False
    keeps_old = False
    newest_old = math.inf
    is_ours = False

    def was_away(self) -> bool:
        """No one starts it again."""
        return False

    def _open(self, **how: Any) -> Transport:
        if self.is_stopped and self.is_unreachable:
            raise ConnectionFailed("cannot connect: timed out")
        return super()._open(**how)

    @property
    def can_restart(self) -> bool:
        """Whether the suite started it."""
        return self.is_ours

    def restart(self) -> None:
        """Start it again."""
        self.is_stopped = False


def stopping_after(data: bytes, *others: Tampering) -> StoppingBroker:
    """Return a broker that was calibrated, and stops after such a request."""

    def act(received: ReceivedBytes) -> None:
        number = received.connection.number
        is_served = not broker.is_stopped or (broker.keeps_old and number <= broker.newest_old)
        if not is_served and broker.is_silent:
            received.data = b""
        elif not is_served:
            received.connection.drop()
        if received.data.startswith(data):
            broker.is_stopped = True
            broker.newest_old = min(broker.newest_old, number)

    stop = Tampering(stage=Stage.BYTES, act=act)
    plain = broker_with(stop, *others, patience=Patience(math.inf))
    running = replace(plain.running, launcher="address")
    broker = StoppingBroker(running, plain.listener, patience=plain.patience)
    broker.ask_for_table()
    broker.exchange_s = 0.001
    return broker


@pytest.fixture(autouse=True)
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no target have time to come back."""
    monkeypatch.setattr(crashes, "how_it_stopped", lambda broker: how_it_stopped(broker, within_s=0))
    monkeypatch.setattr(stopped_serving, "POLL_S", 0)


def case_of(broker: StoppingBroker, runs: Path) -> Judged:
    """Return the judge of a property that is about neither clause."""
    planned = (MALFORMED_HURTS_NOBODY, WELL_FORMED_NEVER_CLOSED)
    return judged(runs, cast(JudgedBroker, broker), PIN, also_planned=planned)


def sending(broker: StoppingBroker, *requests: Request) -> Callable[[int], None]:
    """Return a body that sends requests, each on its own connection, and fails if the last is not answered."""

    def body(value: int) -> None:
        for request in requests:
            exchange = broker.converse([request])[0]
        assert exchange.outcome is Outcome.ANSWER

    return body


def verdict_of(case: Judged, clause: str) -> Verdict:
    """Return the verdict of a clause."""
    return case.recorder.cells[case.key._replace(clause=clause)].verdict


def test_malformed_request_that_stops_a_target_of_others_is_a_violation(tmp_path: Path) -> None:
    broker = stopping_after(BROKEN.data)
    broker.keeps_old = True
    case = case_of(broker, tmp_path)
    broker.begin_example()
    broker.converse([BROKEN])
    for _ in range(2):
        with pytest.raises(BrokerGone, match=f"{MALFORMED_HURTS_NOBODY} judges this"):
            case.run(sending(broker, V0), 1)
    key = CellKey(MALFORMED_HURTS_NOBODY, broker.target.id, broker.listener)
    (failure,) = case.recorder.cells[key].failures.values()
    assert failure.first_line == STOPPED
    assert [each.request for step in failure.steps for each in step.exchanges] == [BROKEN, V0]
    assert case.judge.failed_elsewhere == {MALFORMED_HURTS_NOBODY}


@pytest.mark.parametrize("is_silent", [False, True])
@pytest.mark.parametrize(
    ("keeps_old", "reason", "violated"),
    [
        (False, "or it was shut down, or is not reached", set()),
        (True, "opened before is still served", {WELL_FORMED_NEVER_CLOSED}),
    ],
)
def test_well_formed_request_is_blamed_where_an_older_connection_is_served(
    keeps_old: bool, is_silent: bool, reason: str, violated: set[str], tmp_path: Path
) -> None:
    """A load balancer or a tunnel accepts connections to a target that was shut down, and serves none."""
    broker = stopping_after(WELL_FORMED.data)
    case = case_of(broker, tmp_path)
    broker.is_silent, broker.keeps_old = is_silent, keeps_old
    with pytest.raises(BrokerGone, match=reason if not keeps_old else WELL_FORMED_NEVER_CLOSED):
        case.run(sending(broker, WELL_FORMED, V0), 1)
    assert reason in str(broker.unreadable)
    assert case.judge.failed_elsewhere == violated


@pytest.mark.parametrize("how", ["is_silent", "is_unreachable", "closes"])
def test_outage_after_a_malformed_request_is_no_violation(how: str, tmp_path: Path) -> None:
    """The request may be the reason as well, but nothing shows that: neither old connections nor new ones are
    served."""
    broker = stopping_after(BROKEN.data)
    setattr(broker, how, True)
    case = case_of(broker, tmp_path)
    broker.begin_example()
    broker.converse([BROKEN])
    with pytest.raises(HarnessError):
        case.run(sending(broker, V0), 1)
    case.judge.crashes.end(is_clean=False)
    assert case.judge.failed_elsewhere == set()
    assert case.verdict is not Verdict.VIOLATES
    assert (broker.unreadable is None) == (how == "is_unreachable")


@pytest.mark.parametrize("is_one_at_a_time", [False, True])
def test_no_witness_is_kept_beside_a_target_that_serves_one_connection_at_a_time(
    is_one_at_a_time: bool,
) -> None:
    served: list[int] = []

    def act(received: ReceivedBytes) -> None:
        served.append(received.connection.number)
        if is_one_at_a_time and begun and received.connection.number != served[0]:
            received.data = b""

    begun = False
    broker = stopping_after(b"never", Tampering(stage=Stage.BYTES, act=act))
    served.clear()
    begun = True
    assert (witness_for(broker) is None) == is_one_at_a_time


@pytest.mark.parametrize(("request_", "clause"), [(V0, WELL_FORMED_NEVER_CLOSED), (BROKEN, MALFORMED_HURTS_NOBODY)])
def test_target_that_we_started_is_blamed_and_started_again(request_: Request, clause: str, tmp_path: Path) -> None:
    """Only the suite restarts it; the example is judged by what the fresh one does."""
    broker = stopping_after(request_.data)
    broker.is_ours = True
    case = case_of(broker, tmp_path)
    broker.begin_example()
    broker.converse([request_])
    case.run(sending(broker, build_request(version=3)), 1)
    assert verdict_of(case, clause) is Verdict.VIOLATES
    assert (case.verdict, broker.stops) == (Verdict.CONFORMS, 1)


def test_target_that_stops_too_often_is_given_up(tmp_path: Path) -> None:
    """Each stop costs time, and some have shown enough."""
    broker = stopping_after(BROKEN.data)
    broker.is_ours = True
    broker.stops = MAX_STOPS
    broker.is_stopped = True
    case = case_of(broker, tmp_path)
    with pytest.raises(BrokerGone, match="judges this"):
        case.run(sending(broker, BROKEN, V0), 1)


@pytest.mark.parametrize(
    ("request_", "is_clean", "clause"),
    [
        (WELL_FORMED, True, None),
        (WELL_FORMED, False, WELL_FORMED_NEVER_CLOSED),
        (BROKEN, True, MALFORMED_HURTS_NOBODY),
        (BROKEN, False, MALFORMED_HURTS_NOBODY),
    ],
)
def test_stop_at_the_end_of_a_property_is_found_if_something_may_have_gone_wrong(
    request_: Request, is_clean: bool, clause: str | None, tmp_path: Path
) -> None:
    """A clean end costs no further connection, unless what came last was malformed: it may be closed by right."""
    broker = stopping_after(request_.data)
    broker.keeps_old = True
    case = case_of(broker, tmp_path)
    broker.begin_example()
    broker.converse([request_])
    case.judge.crashes.end(is_clean=is_clean)
    assert isinstance(broker.unreadable, BrokerGone) == (clause is not None)
    assert case.judge.failed_elsewhere == ({clause} - {None})


@pytest.mark.parametrize(
    ("seen", "stopped"),
    [
        ([Outcome.ANSWER], None),
        ([Outcome.CLOSED, Outcome.SILENT], Outcome.SILENT),
        ([TlsRefused("TLS"), TlsRefused("TLS")], Outcome.CLOSED),
        ([ConnectionFailed("cannot connect: timed out")], None),
        ([Outcome.CLOSED, Outcome.ANSWER], None),
        ([BrokerGone("refused")], None),
        ([Outcome.CLOSED, BrokerGone("refused")], None),
    ],
    ids=["serves", "closes-and-is-silent", "no-tls", "no-network", "comes-back", "is-gone", "goes"],
)
def test_one_that_serves_again_or_is_gone_has_not_stopped(
    seen: Plain, stopped: Outcome | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused connection is an end, which is found elsewhere; a pause has an end of its own."""
    broker = stopping_after(b"never")
    left = list(seen)

    def plain_outcome(_: Broker) -> Outcome:
        outcome = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(Broker, "plain_outcome", plain_outcome)
    assert how_it_stopped(broker, within_s=0.01) == stopped


@pytest.mark.parametrize("ends", [False, True])
def test_target_that_refuses_connections_and_runs_on_is_blamed(
    ends: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = stopping_after(b"never")
    broker.is_ours = True
    monkeypatch.setattr(crashes, "stays_up", lambda _: not ends)
    refuses = iter([True])

    def body(value: int) -> None:
        broker.converse([BROKEN])
        if next(refuses, False):
            raise AcceptsNothing("refused")

    case = case_of(broker, tmp_path)
    if ends:
        with pytest.raises(HarnessError, match="the same bytes did not end it again"):
            case.run(body, 1)
    else:
        case.run(body, 1)
    assert (verdict_of(case, MALFORMED_HURTS_NOBODY) is Verdict.VIOLATES) != ends


@pytest.mark.parametrize("fact", ["is_shared", "never_answered", "given_up"])
def test_nothing_is_asked_of_one_that_cannot_be_blamed(fact: str) -> None:
    broker = stopping_after(V0.data)
    broker.is_stopped = True
    broker.is_shared = fact == "is_shared"
    broker.exchange_s = 0.0 if fact == "never_answered" else 0.001
    broker.unreadable = BrokerGone("gone") if fact == "given_up" else None
    assert how_it_stopped(broker, within_s=0) is None
