"""Tests of a failure's stored evidence: signature, script and dump.

The failure is that of a broker or of a client.
"""

from __future__ import annotations

import ast
import json
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from reference_model.clients.scripts.recording import SeenRequest
from reference_model.clients.scripts.steps import steps_of
from reports.run import failures
from reports.run.failures import (
    MAX_REPRODUCER_BYTES,
    Failure,
    conversation_of,
    recorded_answers,
    render_dump,
    render_reproducer,
    signature_of,
)
from reports.run.hex_dump import conversation_text
from reports.run.packet_capture import render_capture
from reports.run.recorded_conversation import FIRST_STEPS, LAST_STEPS, conversation_with_client
from reports.run.stored_conversation import read_dump
from strategies.api_versions import build_request
from tests.reference_model.clients.recordings import asked, opened, recorded
from tests.reports.recorders import SIGNATURE, key_of
from tests.reports.recorders import failure_of as recorded_failure
from tests.reports.test_packet_capture import segments_of, stream_of
from tests.written_failures import write_failure
from wire.errors import FrameTooLarge
from wire.exchange import Arrival, Exchange, Outcome, Step
from wire.frames import encode_frame

PARTS = {
    "clause": "KIP-35.keys-unique",
    "target": "apache-kafka-4.4.0",
    "listener": "plaintext",
    "property_name": "test_no_key_stands_twice",
    "kind": "AssertionError",
    "message": "assert [18] == []\nmore",
}
TABLE = "0000 00000001 0012 0000 0005"
ANSWER = bytes.fromhex(f"00000007 {TABLE}")


def step_of(exchange: Exchange, *, sentinel: bool = False) -> Step:
    """Return the step of one exchange."""
    return Step(connection=0, pieces=(exchange.request.data,), exchanges=(exchange,), sentinel=sentinel)


def answered(payload: bytes, *, version: int = 0, stray: bytes = b"") -> Exchange:
    """Return an exchange that was answered."""
    return Exchange(
        request=build_request(version=version),
        outcome=Outcome.ANSWER,
        payload=payload,
        usable=True,
        stray=stray,
    )


def failure_of(*steps: Step, message: str = "seen") -> Failure:
    """Return a failure with these steps."""
    failure = recorded_failure(key_of(), message)
    return replace(failure, example="{'sent': 1}", steps=steps)


def test_signature_is_the_one_it_was() -> None:
    """The signature of a failure is the same in every release of the suite."""
    assert signature_of(**PARTS) == "b368d01b5790b486"


@pytest.mark.parametrize(
    "message",
    [
        "assert [3] == []",
        "assert [-1] == []\nother",
        "assert [0xff] == []",
        "assert [deadbeef] == []",
    ],
)
def test_numbers_do_not_change_the_signature(message: str) -> None:
    """Different numbers, hexadecimal runs and later lines of the message do not make it another failure."""
    assert signature_of(**PARTS | {"message": message}) == signature_of(**PARTS)


def test_number_with_commas_is_one_number() -> None:
    """A client that loops is the same failure, however often it asked in the time that it had."""
    counts = ("997 requests, 920 per second", "1,575 requests, 1,497,000 per second")
    assert len({signature_of(**PARTS | {"message": count}) for count in counts}) == 1


@pytest.mark.parametrize("part", PARTS)
def test_each_part_changes_the_signature(part: str) -> None:
    """Another clause, target, listener, property, exception or message makes it another failure."""
    assert signature_of(**PARTS | {part: "another"}) != signature_of(**PARTS)


@pytest.mark.parametrize(
    ("exchange", "recorded"),
    [
        pytest.param(answered(ANSWER), ["00000010" + ANSWER.hex()], id="answer"),
        pytest.param(
            answered(bytes.fromhex(f"00000007 {TABLE} 00000019"), version=1),
            ["00000014" + ANSWER.hex() + "........"],
            id="throttle-time-changes",
        ),
        pytest.param(
            answered(bytes.fromhex(f"00000007 {TABLE} fffffff0"), version=1),
            ["00000014" + ANSWER.hex() + "fffffff0"],
            id="negative-throttle-time-counts",
        ),
        pytest.param(
            answered(bytes.fromhex("00000007 0000 01 00000000 01 01 08 0000000000000005"), version=3),
            ["00000016" + "00000007000001" + "........" + "010108" + "." * 16],
            id="features-epoch-changes",
        ),
        pytest.param(
            Exchange(request=build_request(version=0), outcome=Outcome.CLOSED),
            ["closed"],
            id="closed",
        ),
        pytest.param(
            Exchange(
                request=build_request(version=0),
                outcome=Outcome.SILENT,
                stray=b"HTTP",
                framing_error=FrameTooLarge("size", start=0, end=4, field_path="size"),
            ),
            ["no frame"],
            id="no-frame",
        ),
    ],
)
def test_answers_are_recorded_without_what_changes(exchange: Exchange, recorded: list[str]) -> None:
    """A response is recorded in hexadecimal, with dots for bytes that depend on the time or the cluster."""
    assert recorded_answers(step_of(exchange)) == recorded


def test_sentinel_is_recorded_as_a_word() -> None:
    """For the sentinel after a request, only whether it was answered is recorded."""
    assert recorded_answers(step_of(answered(ANSWER), sentinel=True))[1] == "answered"
    lost = Exchange(request=build_request(version=0), outcome=Outcome.CLOSED)
    assert recorded_answers(step_of(lost, sentinel=True)) == ["closed", "unanswered"]
    overtaken = replace(answered(ANSWER), arrival=Arrival.OVERTAKEN)
    assert recorded_answers(step_of(overtaken, sentinel=True))[1] == "answered first"


@pytest.mark.parametrize(
    "message",
    ['""" + exit() + """', "\\", "\x00\x1b[2J", "\N{RIGHT-TO-LEFT OVERRIDE}é", "\r\nimport os"],
)
def test_script_is_harmless_whatever_the_message(message: str) -> None:
    """No message breaks out of the script's docstring, and the script stays plain ASCII."""
    script = render_reproducer(failure_of(step_of(answered(ANSWER)), message=message))
    tree = ast.parse(script)
    expected = render_reproducer(failure_of(step_of(answered(ANSWER)), message="x"))
    assert [ast.dump(node) for node in tree.body[1:]] == [ast.dump(node) for node in ast.parse(expected).body[1:]]
    assert script.isascii()
    assert all(character.isprintable() or character == "\n" for character in script)


def test_failure_is_a_folder_of_files(tmp_path: Path) -> None:
    """A failure is written as five files in a folder named by its signature; empty files are left out."""
    failure = failure_of(step_of(answered(ANSWER)))
    for _ in range(2):
        folder = write_failure(tmp_path, failure)
    assert folder == tmp_path / SIGNATURE
    assert sorted(file.name for file in folder.iterdir()) == [
        "example.txt",
        "exchange.pcap",
        "exchange.txt",
        "failure.json",
        "reproducer.py",
    ]
    silent = replace(failure, signature="fedcba9876543210", steps=(), example="")
    assert [file.name for file in write_failure(tmp_path, silent).iterdir()] == ["failure.json"]
    assert (folder / "example.txt").read_text() == "{'sent': 1}\n"
    capture = (folder / "exchange.pcap").read_bytes()
    assert capture == render_capture(failure.steps, listener=failure.listener)


@pytest.mark.parametrize("size", [10, 40_000, 400_000])
def test_script_is_short_whatever_was_sent(size: int, tmp_path: Path) -> None:
    """A script has at most 32 kB, and contains or finds everything that was sent and received."""
    stray = bytes(n % 251 for n in range(size))
    step = replace(step_of(answered(ANSWER, stray=stray)), pieces=(b"first", stray), end_of_stream=True)
    folder = write_failure(tmp_path, failure_of(step, message="seen" * size))
    script = folder / "reproducer.py"
    assert script.stat().st_size <= MAX_REPRODUCER_BYTES
    (again,) = runpy.run_path(str(script))["STEPS"]
    assert again["pieces"] == [b"first".hex(), stray.hex()]
    assert again["recorded"] == recorded_answers(step)
    assert again["stray"] == stray.hex()
    assert again["end_of_stream"] is True
    assert "standard library" in script.read_text()


def test_script_refuses_a_second_address(tmp_path: Path) -> None:
    """A shell may expand a pattern to several files or addresses."""
    folder = write_failure(tmp_path, failure_of(step_of(answered(ANSWER))))
    command = [sys.executable, "-I", str(folder / "reproducer.py"), "127.0.0.1:1", "127.0.0.1:2"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 3
    assert ended.stdout.startswith("wrong usage: one HOST:PORT, then NAME=VALUE; not 127.0.0.1:2")


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
    return replace(recorded_failure(key_of(), "it closes"), example="", steps=steps(), role="client")


def test_dump_names_both_sides() -> None:
    """Headings say whether client or broker acted, and to which node the client sent."""
    headings = [line for line in render_dump(conversation_of(failure())).splitlines() if line[:1] == "c"]
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
    dump = conversation_text(conversation_with_client(steps_of(recorded(asks(response=refused)))))
    assert "connection 0: broker answered with UNSUPPORTED_VERSION (35)\n" in dump


def test_a_dump_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = render_dump(conversation_of(failure())).splitlines()
    monkeypatch.setattr(failures, "MAX_DUMP", len("\n".join(whole[:3])) + 5)
    *kept, last = render_dump(conversation_of(failure())).splitlines()
    assert kept == whole[:3]
    assert last == f"{len(whole) - 3:,} more lines; the capture has more of the bytes"


def test_equal_responses_are_dumped_once() -> None:
    """A response that was there before is named by its correlation id."""
    dump = render_dump(conversation_of(failure()))
    assert dump.count("error_code = ") == 1
    assert "with the bytes of the response with correlation id 7" in dump


def test_a_long_play_is_dumped_in_part() -> None:
    """Of several hundred requests the first and the last are dumped."""
    first = steps()[0]
    dump = conversation_text(conversation_with_client([replace(first, connection=number) for number in range(100)]))
    assert dump.count("client sent") == FIRST_STEPS + LAST_STEPS
    assert "40 steps are left out here; exchange.pcap has all" in dump


def test_pages_read_who_sent_what() -> None:
    """The reader of dumps knows which parts came from the client."""
    parts = read_dump(render_dump(conversation_of(failure())))
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
