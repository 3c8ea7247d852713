"""A recording of a scripted broker becomes steps that say who sent and who closed."""

from __future__ import annotations

from typing import Any

import pytest

from reference_model.clients.scripts.recording import Recording, SeenConnection, SeenRequest
from reference_model.clients.scripts.script import HEALTHY_SCRIPT, Script
from reference_model.clients.scripts.steps import steps_of
from wire.exchange import Outcome, Step
from wire.frames import encode_frame

REQUEST = encode_frame(bytes.fromhex("0012 0003 00000007 ffff 00".replace(" ", "")))
RESPONSE = encode_frame(bytes.fromhex("00000007 0023".replace(" ", "")))


def seen(connection: int = 0, at_ms: int = 0, **others: Any) -> SeenRequest:
    """Return an ApiVersions request with a response, unless told otherwise."""
    given = {"data": REQUEST, "response": RESPONSE, **others}
    return SeenRequest(
        connection=connection,
        at_ms=at_ms,
        api_key=18,
        api_version=3,
        correlation_id=7,
        **given,
    )


def opened(number: int = 0, requests: int = 1, **others: Any) -> SeenConnection:
    """Return a connection to the first node."""
    return SeenConnection(number=number, **{"node": 0, "opened_ms": 0, "requests": requests, **others})


def played(*seen_: SeenRequest | SeenConnection, script: Script = HEALTHY_SCRIPT) -> list[Step]:
    """Return the steps of a recording of 100 ms."""
    connections = tuple(each for each in seen_ if isinstance(each, SeenConnection))
    requests = tuple(each for each in seen_ if isinstance(each, SeenRequest))
    recording = Recording(script=script, connections=connections, requests=requests, duration_ms=100)
    return list(steps_of(recording))


def test_an_answered_request_is_a_step_with_one_exchange() -> None:
    """A step has the client's bytes, its request, and the response without its size prefix."""
    (step,) = played(opened(), seen())
    (exchange,) = step.exchanges
    assert step.pieces == (REQUEST,)
    assert exchange.request.data == REQUEST
    assert exchange.request.kind == "v3"
    assert exchange.outcome is Outcome.ANSWER
    assert exchange.received == RESPONSE == step.received
    assert exchange.usable
    assert not step.ended


def test_a_client_that_closes_is_a_step_of_its_own() -> None:
    """The step in which the client closes has no pieces, and comes where it happened."""
    steps = played(opened(closed_ms=5, closed_by="client"), opened(1), seen(), seen(1, 3), seen(1, 6))
    assert [(step.connection, step.closes, step.ended) for step in steps] == [
        (0, False, False),
        (1, False, False),
        (0, True, False),
        (1, False, False),
    ]


@pytest.mark.parametrize(("response", "outcome"), [(RESPONSE, Outcome.ANSWER), (b"", Outcome.CLOSED)])
def test_a_broker_that_closes_does_so_in_the_last_step(response: bytes, outcome: Outcome) -> None:
    """The last step says that the broker closed; without a response that is the outcome."""
    broker = opened(closed_ms=5, closed_by="broker", requests=2)
    first, last = played(broker, seen(), seen(at_ms=2, response=response))
    assert first.exchanges[0].usable
    assert last.ended
    assert (last.exchanges[0].outcome, last.exchanges[0].usable) == (outcome, False)


def test_requests_after_the_last_response_have_the_outcome_closed() -> None:
    """If the broker closes, every request since its last response was closed, not met with silence."""
    broker = opened(closed_ms=5, closed_by="broker", requests=4)
    requests = [seen(response=b""), seen(), seen(response=b""), seen(response=b"")]
    outcomes = [step.exchanges[0].outcome.name for step in played(broker, *requests)]
    assert outcomes == ["SILENT", "ANSWER", "CLOSED", "CLOSED"]


def test_silence_is_silence() -> None:
    """A request without a response on a connection that stays open is silent."""
    (step,) = played(opened(), seen(response=b""))
    assert step.exchanges[0].outcome is Outcome.SILENT
    assert not step.ended


def test_a_connection_without_a_request_is_a_step() -> None:
    """A connection that the broker closes at once is a step that says so."""
    (step,) = played(opened(requests=0, closed_ms=1, closed_by="broker"))
    assert step.closes
    assert step.ended


def test_an_end_after_unrecorded_requests_is_a_step_of_its_own() -> None:
    """If requests came that were not recorded, the last recorded one was not the last."""
    asked, end = played(opened(requests=9, closed_ms=1, closed_by="broker"), seen())
    assert not asked.ended
    assert end.closes
    assert end.ended


def test_bytes_after_the_response_are_stray() -> None:
    """A size prefix that is too small leaves stray bytes; the step's bytes remain those of the broker."""
    wrong = RESPONSE[:3] + b"\x04" + RESPONSE[4:]
    (step,) = played(opened(), seen(response=wrong))
    assert step.exchanges[0].payload == RESPONSE[4:8]
    assert step.exchanges[0].stray == RESPONSE[8:]
    assert step.received == wrong


def test_a_response_inside_an_unfinished_frame_is_no_response() -> None:
    """After a size prefix that is too large, the client takes the next response for its rest."""
    wrong = RESPONSE[:3] + b"\x10" + RESPONSE[4:]
    first, second = played(opened(requests=2), seen(response=wrong), seen(at_ms=1))
    assert first.exchanges[0].payload is None
    assert first.exchanges[0].stray == wrong
    assert second.exchanges[0].stray == RESPONSE
    assert second.received == wrong + RESPONSE


def test_a_size_below_zero_is_a_framing_error() -> None:
    """A negative size prefix is named as the reason why there is no response."""
    (step,) = played(opened(), seen(response=b"\xff" * 8))
    assert step.exchanges[0].framing_error is not None
    assert step.exchanges[0].stray == b"\xff" * 8


def test_bytes_that_are_no_request_are_a_step_without_an_exchange() -> None:
    """What a client sent that is no request is kept, also if the broker closed after it."""
    broker = opened(closed_ms=9, closed_by="broker", unreadable=b"GET / HTTP/1.1")
    asked, garbage = played(broker, seen())
    assert not asked.ended
    assert garbage.pieces == (b"GET / HTTP/1.1",)
    assert not garbage.exchanges
    assert garbage.ended


def test_nodes_are_distinguished_and_tls_is_named() -> None:
    """A step to another node than the first names it, and every step says whether TLS was used."""
    first, second = played(opened(), opened(1, node=2), seen(), seen(1), script=Script(listener="ssl"))
    assert (first.listener, second.listener) == ("", "node 3")
    assert first.tls
    assert second.tls


def test_a_request_on_an_unrecorded_connection_is_a_step() -> None:
    """A connection beyond the recorded ones takes nothing from its requests."""
    (step,) = played(seen(7))
    assert step.connection == 7


def test_nothing_is_read_after_a_size_below_zero() -> None:
    """The stream cannot be split any more, so later bytes answer nothing."""
    broken = seen(response=encode_frame(b"", size=-1))
    first, second = played(opened(requests=2), broken, seen(at_ms=1))
    assert first.exchanges[0].framing_error is not None
    assert second.exchanges[0].payload is None


def test_every_request_of_a_connection_without_a_response_was_closed() -> None:
    """The broker ended it, and had not answered anything."""
    broker = opened(closed_ms=5, closed_by="broker", requests=2)
    steps = played(broker, seen(response=b""), seen(response=b"", at_ms=1))
    assert [step.exchanges[0].outcome for step in steps] == [Outcome.CLOSED, Outcome.CLOSED]
