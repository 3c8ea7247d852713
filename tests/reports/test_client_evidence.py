"""The evidence of a client's failure: its texts say what the client sent and what the scripted broker did."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reference_model.clients.scripts.recording import SeenRequest
from reference_model.clients.scripts.steps import steps_of
from reports.run import failures
from reports.run.exchange_dump import FIRST_STEPS, LAST_STEPS, render_play
from reports.run.failures import Failure, render_dump
from reports.run.packet_capture import render_capture
from reports.site.byte_tables import read_dump
from strategies.api_versions import build_request
from tests.reference_model.clients.recordings import asked, opened, recorded
from tests.reports.captures import segments_of, stream_of
from tests.reports.recorders import failure_of, key_of
from tests.written_failures import write_failure
from wire.exchange import Step
from wire.frames import encode_frame

REQUEST = build_request(version=0).data
RESPONSE = encode_frame(bytes.fromhex("00000007 0000 00000001 0012 0000 0005"))


def asks(connection: int = 0, at_ms: int = 0, *, response: bytes = RESPONSE) -> SeenRequest:
    """Return an ApiVersions request."""
    request = asked(0, connection=connection, at_ms=at_ms, response=response)
    return replace(request, data=REQUEST)


def steps() -> tuple[Step, ...]:
    """Return a play with three connections: the broker ends one, the client one, the last stays open."""
    connections = (
        opened(0, closed_ms=2, closed_by="broker", requests=2),
        opened(1, node=1, at_ms=3, closed_ms=5, requests=1, unreadable=b"\0"),
        opened(2, at_ms=6, closed_ms=None, closed_by="", requests=1),
    )
    requests = (asks(), asks(at_ms=1, response=b""), asks(1, 4), asks(2, 7, response=b""))
    return steps_of(recorded(*requests, connections=connections, duration_ms=9))


def failure() -> Failure:
    """Return a failure of a client without a script."""
    return replace(failure_of(key_of(), "it closes"), example="", steps=steps(), role="client")


def test_dump_names_both_sides() -> None:
    """Headings say whether client or broker acted, and to which node the client sent."""
    headings = [line for line in render_dump(failure()).splitlines() if line[:1] == "c"]
    assert headings == [
        "connection 0: client sent",
        "connection 0: broker answered",
        "connection 0: client sent",
        "connection 0: broker closed",
        "connection 1: client sent to node 2",
        "connection 1: broker answered",
        "connection 1: client sent bytes that are no request to node 2",
        "connection 1: client closed",
        "connection 2: client sent",
        "connection 2: broker silent",
    ]


def test_error_of_a_response_is_named() -> None:
    """The heading of a response to ApiVersions names its error code."""
    refused = encode_frame(bytes.fromhex("00000007 0023 00000001 0012 0000 0005"))
    dump = render_play(steps_of(recorded(asks(response=refused))))
    assert "connection 0: broker answered with UNSUPPORTED_VERSION (35)\n" in dump


def test_a_dump_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends after a whole line, and says how much is missing."""
    whole = render_dump(failure()).splitlines()
    monkeypatch.setattr(failures, "LONGEST_DUMP", len("\n".join(whole[:3])) + 5)
    *kept, last = render_dump(failure()).splitlines()
    assert kept == whole[:3]
    assert last == f"{len(whole) - 3:,} more lines; the capture has more of the bytes"


def test_equal_responses_are_dumped_once() -> None:
    """A response that was there before is named by its correlation id."""
    dump = render_dump(failure())
    assert dump.count("error_code = ") == 1
    assert "with the bytes of the response with correlation id 7" in dump


def test_a_long_play_is_dumped_in_part() -> None:
    """Of several hundred requests the first and the last are dumped."""
    first = steps()[0]
    dump = render_play([replace(first, connection=number) for number in range(100)])
    assert dump.count("client sent") == FIRST_STEPS + LAST_STEPS
    assert "40 steps are left out here; exchange.pcap has all" in dump


def test_pages_read_who_sent_what() -> None:
    """The reader of dumps knows which parts came from the client."""
    parts = read_dump(render_dump(failure()))
    assert [part.is_outgoing for part in parts] == [
        *(True, False) * 2,
        *(True, False, True, True),
        *(True, False),
    ]
    assert parts[0].data == REQUEST
    assert parts[1].data == RESPONSE


def test_capture_goes_from_the_client_to_the_broker() -> None:
    """The client has the ephemeral port, and each side's end of the stream is its own."""
    segments = segments_of(render_capture(steps(), listener="plaintext"))
    assert [stream_of(segments, number, from_client=True) for number in range(3)] == [
        REQUEST * 2,
        REQUEST + b"\0",
        REQUEST,
    ]
    assert [stream_of(segments, number, from_client=False) for number in range(3)] == [
        RESPONSE,
        RESPONSE,
        b"",
    ]
    ends = [(each.connection, each.from_client) for each in segments if "FIN" in each.flags]
    assert ends == [(0, False), (1, True)]
    brokers = {each.connection: each.broker[-1] for each in segments}
    assert brokers == {0: 1, 1: 2, 2: 1}


def test_a_client_that_sent_nothing_has_evidence_too(tmp_path: Path) -> None:
    """A failure without a request has a dump that says so: no failure may be without evidence."""
    folder = write_failure(tmp_path, replace(failure(), steps=()))
    (part,) = read_dump((folder / "exchange.txt").read_text())
    assert part.what == "no request was recorded"


def test_files_say_that_it_is_a_client(tmp_path: Path) -> None:
    """`failure.json` names the role; without a script there is nothing to play."""
    folder = write_failure(tmp_path, failure())
    facts = json.loads((folder / "failure.json").read_text())
    assert (facts["role"], facts["script"]) == ("client", "")
    assert not (folder / "reproducer.py").exists()
    assert (folder / "exchange.pcap").exists()
