"""Tests of the reproducer of a client's failure.

It plays the broker, and reports whether a client repeats the recorded behaviour.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import runpy
import subprocess
import sys
import tempfile
import textwrap
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from reference_model.clients.scripts.recording import Recording, SeenConnection, SeenRequest
from reference_model.clients.scripts.script import (
    ITSELF,
    TRANSACTIONS,
    Answer,
    ConnectionScript,
    NodeScript,
    Script,
    Table,
    one_node,
)
from reference_model.clients.scripts.steps import steps_of
from reports.run.failures import MAX_REPRODUCER_BYTES, Failure, render_reproducer
from strategies.api_versions import build_request
from tests.reports import recorders
from tests.written_failures import write_failure
from wire.frames import SIZE_BYTES, encode_frame

REFUSES = Answer(error_code=35, table=ITSELF, layout=0)
AGAIN, CANNOT_SAY, NO_CLIENT = 1, 2, 3
"""Exit statuses of the script."""
METADATA_V1 = encode_frame(bytes.fromhex("0003 0001 00000009 ffff ffffffff"))


def about_versions(version: int) -> bytes:
    """Return an ApiVersions request."""
    return build_request(version=version).data


def play_of(script: Script, *sent: bytes) -> Failure:
    """Return the failure of a client that sends these requests on one connection, by the reproducer's own responses."""
    responses = _ask(core_of(failure_of(script)), sent)
    requests = tuple(
        SeenRequest(
            connection=0,
            at_ms=index,
            data=data,
            api_key=int.from_bytes(data[4:6]),
            api_version=int.from_bytes(data[6:8], signed=True),
            correlation_id=int.from_bytes(data[8:12]),
            response=response,
        )
        for index, (data, response) in enumerate(zip(sent, responses, strict=True))
    )
    connection = SeenConnection(number=0, node=0, opened_ms=0, requests=len(sent))
    recording = Recording(script=script, connections=(connection,), requests=requests)
    return failure_of(script, recording)


def failure_of(script: Script, recording: Recording | None = None) -> Failure:
    """Return a failure of a client under this script."""
    return dataclasses.replace(
        recorders.failure_of(recorders.key_of(), 'it "loops"\nmore'),
        example="{'script': 1}",
        steps=() if recording is None else steps_of(recording),
        role="client",
        script=script,
    )


def core_of(failure: Failure) -> dict[str, Any]:
    """Return what the reproducer defines, without running it."""
    with tempfile.TemporaryDirectory() as folder:
        script = write_failure(Path(folder), failure) / "reproducer.py"
        return runpy.run_path(str(script), run_name="reproducer")


def _ask(core: dict[str, Any], sent: tuple[bytes, ...]) -> list[bytes]:
    connection = core["Connection"](0, 0, core["DATA"]["nodes"][0][0])
    nodes = [("127.0.0.1", 9092 + node) for node in range(len(core["DATA"]["nodes"]))]
    writes = [connection.respond(data[SIZE_BYTES:], nodes)[0] for data in sent]
    return [b"".join(data for data, _, _ in each) for each in writes]


def test_script_is_short_and_valid() -> None:
    """The script is Python, at most 32 kB long, and safe from quotes in texts of the target."""
    script = render_reproducer(play_of(one_node(), *[about_versions(3)] * 200, METADATA_V1))
    assert len(script.encode()) <= MAX_REPRODUCER_BYTES
    ast.parse(script)


def test_a_long_script_is_read_from_the_facts(tmp_path: Path) -> None:
    """A table too long for the script is in `failure.json`, which the script then reads."""
    long = Table(after=tuple((key, 0, 1) for key in range(9000)))
    failure = play_of(one_node(Answer(table=long)), about_versions(3))
    folder = write_failure(tmp_path, failure)
    facts = json.loads((folder / "failure.json").read_text())
    assert facts["script"] == repr(failure.script)
    assert len(facts["play"]["tables"]) == 2
    names = runpy.run_path(str(folder / "reproducer.py"), run_name="reproducer")
    (frame,) = _ask(names, (about_versions(3),))
    assert frame == failure.steps[0].exchanges[0].received


def test_script_plays_no_transactions(tmp_path: Path) -> None:
    """It serves none of their requests, so it could not show what was wrong; `replay` can."""
    folder = write_failure(tmp_path, failure_of(one_node(options=(TRANSACTIONS,))))
    assert not (folder / "reproducer.py").exists()
    assert "play" not in json.loads((folder / "failure.json").read_text())


@pytest.mark.parametrize(("again", "words"), [(True, ["--again"]), (False, [])])
def test_placeholders_of_the_recorded_command_are_filled(again: bool, words: list[str]) -> None:
    """A client that was asked again and again is so here; the arguments of options are not known."""
    core = core_of(failure_of(Script(keeps_asking=again, timeout_ms=2500)))
    command = core["complete"]("prog {bootstrap} {timeout} {again} {options}", "h:1")
    assert command.split() == ["prog", "h:1", "2.5", *words]


CLIENT = """
import os, signal, socket, sys

host, _, port = sys.argv[1].rpartition(":")
BYTES = {bytes}


def connect(port=int(port)):
    return socket.create_connection((host, port), 5)


def ask(connection, name):
    connection.sendall(bytes.fromhex(BYTES[name]))
    size = int.from_bytes(read(connection, 4), "big")
    return read(connection, size)


def read(connection, count):
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise EOFError(data)
        data += piece
    return data


first = connect()
"""
BYTES = {
    **{f"v{version}": about_versions(version).hex() for version in range(4)},
    "metadata": METADATA_V1.hex(),
}


def run(failure: Failure, tmp_path: Path, client: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the reproducer of a failure, which starts a small client."""
    program = tmp_path / "client.py"
    program.write_text(CLIENT.replace("{bytes}", repr(BYTES)) + textwrap.dedent(client))
    command = f"{sys.executable} {program} {{bootstrap}} {{timeout}}"
    return started(failure, tmp_path, "--run", command, *options)


def started(failure: Failure, tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the reproducer of a failure with some options, on any port."""
    script = write_failure(tmp_path, failure) / "reproducer.py"
    return subprocess.run(
        [sys.executable, "-I", str(script), "--port", "0", *options],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def compared(failure: Failure, *sent: str) -> tuple[int, str]:
    """Return what the reproducer concludes from a client that sends these requests, and what it prints."""
    core = core_of(failure)
    connection = core["Connection"](0, 0, core["DATA"]["nodes"][0][0])
    log = []
    for name in sent:
        request = bytes.fromhex(BYTES[name])[SIZE_BYTES:]
        key, version = (int.from_bytes(request[at : at + 2]) for at in (0, 2))
        announced = connection.announced_range(key)
        _, outcome = connection.respond(request, [("127.0.0.1", 9092)])
        log.append((0, key, version, announced, outcome))
    with redirect_stdout(StringIO()) as printed:
        status: int = core["compare"](log, "exit status 0", False)
    return status, printed.getvalue()


REFUSED_FIRST = (REFUSES, Answer())
BY_42, BY_129 = ((Answer(error_code=each, table=Table(base="empty")),) for each in (42, 129))
NARROW = (Answer(table=Table(changed=((3, 4, 9),))),)
A_LOOP, RISES = ("v3",) * 25, ("v2", "v3")
FALLS_BACK, GOES_ON = ("v3", "v0", "metadata"), ("v3", "metadata")
COMPARED = {
    "loops": ((REFUSES,), A_LOOP, A_LOOP, AGAIN, "more than 20 ApiVersions"),
    "no-loop": (REFUSED_FIRST, A_LOOP, FALLS_BACK, CANNOT_SAY, "recorded, not seen now"),
    "breaks-down": ((REFUSES,), A_LOOP, ("v3",), CANNOT_SAY, "is right now, this script cannot"),
    "rises": ((REFUSES,), RISES, RISES, AGAIN, "higher version"),
    "other-fault": ((REFUSES,), RISES, A_LOOP, CANNOT_SAY, "(not recorded before)"),
    "gives-up": (REFUSED_FIRST, ("v3",), ("v3",), CANNOT_SAY, "does not decide"),
    "goes-on": (REFUSED_FIRST, ("v3",), FALLS_BACK, CANNOT_SAY, "now:      Metadata v1: answer"),
    "goes-on-after-42": (BY_42, GOES_ON, GOES_ON, AGAIN, "a request after error 42 on the same"),
    "goes-on-after-129": (BY_129, GOES_ON, GOES_ON, AGAIN, "a request after error 129 on the same"),
    "outside": (NARROW, GOES_ON, GOES_ON, AGAIN, "Metadata in a version outside the range"),
}
"""Each case: the responses, what was recorded, what is sent now, the exit status, and what is printed."""


@pytest.mark.parametrize("name", COMPARED)
def test_what_a_client_does_is_compared_with_what_was_recorded(name: str) -> None:
    """Only a misbehaviour that was recorded as well counts as the same; the text says what was seen."""
    answers, recorded, sent, status, said = COMPARED[name]
    failure = play_of(one_node(*answers), *(bytes.fromhex(BYTES[each]) for each in recorded))
    found, printed = compared(failure, *sent)
    assert (found, said in printed) == (status, True), printed


def test_an_abort_is_recognised_by_its_signal(tmp_path: Path) -> None:
    """A client that a signal ends does again what was recorded if the message names that signal."""
    failure = dataclasses.replace(play_of(one_node(), about_versions(3)), message="the client was ended by SIGABRT")
    result = run(failure, tmp_path, "ask(first, 'v3'); os.abort()")
    assert result.returncode == AGAIN, result.stdout + result.stderr
    assert "start your client against 127.0.0.1:" in result.stdout
    assert "SIGABRT ended the client, as recorded" in result.stdout
    assert compared(failure, "v3", "metadata")[0] == CANNOT_SAY


def test_a_client_that_does_not_recover_is_recognised(tmp_path: Path) -> None:
    """If the recorded client did not recover, a client that asks the healed broker for Metadata does better."""
    script = one_node(Answer(action="close"), heals_after_ms=300)
    failure = dataclasses.replace(
        play_of(script, about_versions(3)),
        message="the client does not work again\n1 request; exit status 1 after 2.0 s; not recovered",
    )
    assert compared(failure, "v3")[0] == AGAIN
    client = "import time; first.sendall(bytes.fromhex(BYTES['v3'])); time.sleep(0.5); ask(connect(), 'metadata')"
    result = run(failure, tmp_path, client)
    assert result.returncode == CANNOT_SAY, result.stdout + result.stderr


@pytest.mark.parametrize("recorded", [0, 1])
def test_where_the_wire_does_not_decide_the_script_does_not_either(recorded: int) -> None:
    """A client that sends the same may still do right, for example in what it says of itself, however it ends."""
    failure = dataclasses.replace(
        play_of(one_node(), about_versions(3)),
        message=f"the application gets no error\n1 request; exit status {recorded} after 2.0 s",
    )
    status, printed = compared(failure, "v3")
    assert status == CANNOT_SAY
    assert "The requests are those that were recorded." in printed
    assert "kafka-conformance replay " in printed


@pytest.mark.parametrize("options", [["--no-such"], ["--run", "/no/such/program"]])
def test_wrong_usage_does_not_look_like_a_failure(options: list[str], tmp_path: Path) -> None:
    result = run(play_of(one_node(), about_versions(3)), tmp_path, "", *options)
    assert result.returncode == NO_CLIENT, result.stdout + result.stderr


def test_nodes_pieces_delays_closes_and_healing(tmp_path: Path) -> None:
    """Ports are in a row or named by Metadata, and connections differ as the script says until it heals."""
    script = Script(
        nodes=(
            NodeScript(
                connections=(
                    ConnectionScript(on_open="close"),
                    ConnectionScript(answers=(Answer(action="reset"),)),
                    ConnectionScript(answers=(Answer(pieces=3, delay_ms=10, then="close"),)),
                    ConnectionScript(on_open="silence"),
                )
            ),
            NodeScript(connections=(ConnectionScript(cluster_id="another", closes_after=1),)),
        ),
        heals_after_ms=700,
    )
    client = """
    import time
    assert first.recv(1) == b""
    second = connect()
    try:
        ask(second, "v3")
        raise AssertionError
    except ConnectionResetError:
        pass
    third = connect()
    ask(third, "v3")
    assert third.recv(1) == b""
    fourth = connect()
    fourth.settimeout(0.2)
    fourth.sendall(bytes.fromhex(BYTES["v3"]))
    try:
        fourth.recv(1)
        raise AssertionError
    except TimeoutError:
        pass
    time.sleep(0.7)
    fifth = connect()
    ask(fifth, "v3")
    answer = ask(fifth, "metadata")
    assert answer[4:8] == bytes([0, 0, 0, 2])
    port_of_second = int.from_bytes(answer[8 + 4 + 11 + 4 + 2 + 4 + 11 :][:4], "big")
    other = connect(port_of_second)
    ask(other, "metadata")
    ask(other, "metadata")
    """
    result = run(failure_of(script), tmp_path, client)
    assert "the client ended: exit status 0" in result.stdout, result.stdout + result.stderr
    assert "connection 5 (node 2): Metadata v1" in result.stdout


def test_no_client_is_a_status_of_its_own(tmp_path: Path) -> None:
    """If no client connects, the exit status is 3."""
    result = started(play_of(one_node(), about_versions(3)), tmp_path, "--timeout", "0.3")
    assert (result.returncode, result.stderr) == (NO_CLIENT, "")
    assert "No client came." in result.stdout
