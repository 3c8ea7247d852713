"""The stored evidence of a failure: its signature, its script and its dump."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from reports.run.exchange_dump import render_exchange
from reports.run.failures import (
    LONGEST_REPRODUCER_BYTES,
    Failure,
    recorded_answers,
    render_reproducer,
    signature_of,
)
from reports.run.packet_capture import render_capture
from strategies.api_versions import build_request
from strategies.minimal_requests import minimal_request
from tests.described_apis import described_api
from tests.reports.dumps import LIST_GROUPS, notes_of
from tests.reports.recorders import SIGNATURE, key_of
from tests.reports.recorders import failure_of as recorded_failure
from tests.written_failures import write_failure
from wire.api_keys import API_VERSIONS_KEY
from wire.errors import FrameTooLarge
from wire.exchange import Arrival, Exchange, Outcome, Request, Step
from wire.sasl import authenticate_request
from wire.sentinel import sentinel_for

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
    return Step(
        connection=0, pieces=(exchange.request.data,), exchanges=(exchange,), sentinel=sentinel
    )


def answered(payload: bytes, *, version: int = 0, stray: bytes = b"") -> Exchange:
    """Return an exchange that was answered."""
    return Exchange(
        request=build_request(version=version),
        outcome=Outcome.ANSWER,
        payload=payload,
        usable=True,
        stray=stray,
    )


def dump_of(request: Request, answer: str, *, stray: bytes = b"") -> list[str]:
    """Return the dump's lines for a request and its response; `answer` is in hexadecimal, without size prefix."""
    exchange = Exchange(
        request=request, outcome=Outcome.ANSWER, payload=bytes.fromhex(answer), stray=stray
    )
    return [line for line in render_exchange([step_of(exchange)]).splitlines() if line]


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
            answered(
                bytes.fromhex("00000007 0000 01 00000000 01 01 08 0000000000000005"), version=3
            ),
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
    assert [ast.dump(node) for node in tree.body[1:]] == [
        ast.dump(node) for node in ast.parse(expected).body[1:]
    ]
    assert script.isascii()
    assert all(character.isprintable() or character == "\n" for character in script)


def test_dump_tells_what_was_done() -> None:
    """The dump names connections, outcomes, pieces, stray bytes, and the result of the sentinel."""
    lost = Exchange(request=build_request(version=0), outcome=Outcome.CLOSED, stray=b"\xde\xad")
    request = lost.request.data
    steps = [
        Step(
            connection=0,
            pieces=(request[:3], request[3:] + sentinel_for(7).data),
            exchanges=(lost,),
            sentinel=True,
        ),
        Step(connection=1, pieces=(request,)),
        Step(connection=1, pause_s=0.31),
        Step(connection=0),
    ]
    lines = [
        line for line in render_exchange(steps).splitlines() if line and not line.startswith(" ")
    ]
    assert lines == [
        "connection 0: written in pieces of 3, 50 bytes",
        "connection 0: sent",
        "connection 0: closed",
        "connection 0: stray bytes",
        "connection 0: the next request, which shows whether the connection is alive",
        "connection 1: sent, without waiting for a response",
        "connection 1: nothing sent for 0.31 s",
        "connection 0: closed by us",
    ]
    stray = "       0  de ad                                            belongs to no response\n"
    text = render_exchange(steps)
    assert stray in text
    sentinel = text.partition("the next request, which")[2]
    assert "client_id = 'sentinel'\n  the next request: unanswered\n" in sentinel


def test_dump_tells_that_the_sentinel_was_answered_first() -> None:
    """A response that was overtaken is shown with these words, and so is the sentinel."""
    overtaken = replace(answered(ANSWER), arrival=Arrival.LATE)
    pieces = (overtaken.request.data + sentinel_for(7).data,)
    text = render_exchange(
        [Step(connection=0, pieces=pieces, exchanges=(overtaken,), sentinel=True)]
    )
    assert "connection 0: answer, late, after the response to the next request\n" in text
    assert "  the next request: answered first\n" in text


def test_stray_bytes_are_no_part_of_an_answer() -> None:
    """A response that ends too early is not completed with the bytes that came after it."""
    request = minimal_request(LIST_GROUPS, 0)
    lines = dump_of(request, "00000007 000f", stray=bytes.fromhex("00000000"))
    assert lines[-7:] == [
        "connection 0: answer",
        "       0  00 00 00 06                                      size = 6",
        "       4  00 00 00 07                                      correlation_id = 7",
        "       8  00 0f                                            error_code = COORDINATOR_NOT_AVAILABLE (15)",
        ">     10                                                   <-- groups: 4 bytes expected, 0 left (bytes 10 to 10)",
        "connection 0: stray bytes",
        "       0  00 00 00 00                                      belongs to no response",
    ]


def test_fields_of_other_apis_are_named() -> None:
    """Request and response are dumped in the layout that the request names, including the headers' tags."""
    request = minimal_request(LIST_GROUPS, 3)
    lines = dump_of(request, "00000007 00 00000000 000f 01 00")
    assert [note for note in notes_of(lines) if note][4:] == [
        "client_id = 'kafka-conformance'",
        "header.tagged_fields = 0",
        "tagged_fields = 0",
        "size = 13",
        "correlation_id = 7",
        "header.tagged_fields = 0",
        "throttle_time_ms = 0",
        "error_code = COORDINATOR_NOT_AVAILABLE (15)",
        "groups = 0",
        "tagged_fields = 0",
    ]


def test_steps_of_sasl_are_named() -> None:
    """A token has its field in request and response."""
    lines = dump_of(authenticate_request(b"ab"), "00000024 003a 0001 78 00000000")
    named = notes_of(lines)
    assert "auth_bytes = b'ab'" in named
    assert named[-3:] == [
        "error_code = SASL_AUTHENTICATION_FAILED (58)",
        "error_message = 'x'",
        "auth_bytes = b''",
    ]


def test_refusal_of_api_versions_is_read_as_one_wherever_it_was_asked() -> None:
    """UNSUPPORTED_VERSION is read as v0, even if the request was built from a schema."""
    lines = dump_of(
        minimal_request(described_api(API_VERSIONS_KEY, 4), 4),
        "00000007 0023 00000001 0012 0000 0003",
    )
    assert lines[-1].endswith("api_keys[0].max_version = 3")


def test_dump_says_where_the_layout_is_that_of_another_version() -> None:
    """A version without a schema is dumped with the field names of the nearest one, and a line says so."""
    request = minimal_request(LIST_GROUPS, 99, layout=0)
    note = "  request and response are decoded as v0, the nearest known version"
    assert note in dump_of(request, "00000007 0000 00000000")
    known = minimal_request(LIST_GROUPS, 0)
    assert note not in dump_of(known, "00000007 0000 00000000")


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
    step = replace(
        step_of(answered(ANSWER, stray=stray)), pieces=(b"first", stray), end_of_stream=True
    )
    folder = write_failure(tmp_path, failure_of(step, message="seen" * size))
    script = folder / "reproducer.py"
    assert script.stat().st_size <= LONGEST_REPRODUCER_BYTES
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
