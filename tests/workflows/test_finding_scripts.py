"""The scripts next to all findings show a stored failure without the suite."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reports.run.failures import render_reproducer
from reports.tables.failure_rows import KeptFailure
from tests.fixtures.scripted_server import (
    Script,
    answer,
    connected,
    plain_request,
    reply,
    reply_and_close,
    scripted_server,
)
from tests.reports.test_failures import failure_of
from wire.exchange import Step
from wire.sentinel import SENTINEL_CORRELATION_ID
from workflows.compatibility.finding_facts import data_of_script
from workflows.compatibility.scripts import PLAYER, SENDER, finding_scripts

SHORT_S = 0.4
FIRST, SECOND = answer(7), answer(SENTINEL_CORRELATION_ID)
FAILURE_SHOWS, CANNOT_SAY, NOT_TRIED = 1, 2, 3
NOWHERE = "127.0.0.1:1"
CREDENTIALS = {"KAFKA_USERNAME": "user", "KAFKA_PASSWORD": "secret"}


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """A folder with both scripts."""
    for name, source in finding_scripts().items():
        (tmp_path / name).write_text(source)
    return tmp_path


def finding_in(folder: Path, **changes: Any) -> Path:
    """Write the finding of a broker that ignores a request."""
    journal: list[Step] = []
    with connected(reply(SECOND), silence_bound_s=SHORT_S, journal=journal) as connection:
        connection.exchange(plain_request())
    failure = failure_of(*journal)
    kept = KeptFailure(
        **dict.fromkeys(("run_id", "property", "kind", "example", "verdict", "hex_dump"), ""),
        signature=failure.signature,
        clause=failure.clause,
        target=failure.target,
        listener=failure.listener,
        message=failure.message,
        smallest_example=0,
        facts="{}",
        reproducer=render_reproducer(failure),
        pcap=None,
    )
    steps = data_of_script(kept, "steps")
    return write_facts(folder, clause=kept.clause, message="seen\nmore", listener=kept.listener, steps=steps, **changes)


def write_facts(folder: Path, **facts: Any) -> Path:
    own = folder / "product" / "finding"
    own.mkdir(parents=True)
    (own / "failure.json").write_text(json.dumps(facts))
    return own


def run(
    scripts: Path, *arguments: str | Path, name: str = SENDER, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script alone, as somebody who has nothing but Python."""
    ended = subprocess.run(
        [sys.executable, "-I", scripts / name, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=environment,
    )
    assert ended.stderr == ""
    return ended


def test_recorded_responses_show_the_failure(scripts: Path) -> None:
    folder = finding_in(scripts)
    with scripted_server(reply(SECOND)) as server:
        ended = run(scripts, folder, str(server.address))
    assert ended.returncode == FAILURE_SHOWS
    assert "The failure appears again." in ended.stdout
    assert ended.stdout.startswith("KIP-35.keys-unique: seen\n")


def test_two_files_in_one_folder_are_enough(scripts: Path) -> None:
    """A maintainer has the script and `failure.json`, next to each other."""
    (scripts / "failure.json").write_bytes((finding_in(scripts) / "failure.json").read_bytes())
    with scripted_server(reply(SECOND)) as server:
        ended = subprocess.run(
            [sys.executable, SENDER, ".", str(server.address)], cwd=scripts, capture_output=True, check=False
        )
    assert ended.returncode == FAILURE_SHOWS


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(reply(FIRST, SECOND), id="right"),
        pytest.param(reply(SECOND, FIRST), id="other-order"),
        pytest.param(reply_and_close(), id="closes"),
    ],
)
def test_other_responses_are_shown_but_not_judged(now: Script, scripts: Path) -> None:
    folder = finding_in(scripts)
    with scripted_server(now) as server:
        ended = run(scripts, folder, str(server.address))
    assert ended.returncode == CANNOT_SAY
    assert f"kafka-conformance replay {folder}" in ended.stdout
    for word in ("received", "recorded"):
        assert word in ended.stdout


def test_equal_responses_do_not_show_what_was_seen_elsewhere(scripts: Path) -> None:
    folder = finding_in(scripts, seen_elsewhere=True)
    with scripted_server(reply(SECOND)) as server:
        ended = run(scripts, folder, str(server.address))
    assert ended.returncode == CANNOT_SAY
    assert "The responses are as recorded, but they do not show this failure" in ended.stdout


def test_missing_listener_is_named(scripts: Path) -> None:
    folder = write_facts(scripts, clause="a", message="b", listener="ssl", steps=[{"listener": "plaintext"}])
    ended = run(scripts, folder, NOWHERE)
    assert ended.returncode == NOT_TRIED
    assert "needs the address of the listener ssl plaintext=HOST:PORT" in ended.stdout
    # With the address, the incomplete step is the next thing that the script finds.
    ended = run(scripts, folder, NOWHERE, f"plaintext={NOWHERE}")
    assert (ended.returncode, "cannot be tried" in ended.stdout) == (NOT_TRIED, True)


def test_hidden_tokens_need_credentials(scripts: Path) -> None:
    step = {"listener": "ssl", "connection": 0, "tokens": [{}], "pause_s": 0, "pieces": ["00"], "tls": False}
    folder = write_facts(scripts, clause="a", message="b", listener="ssl", steps=[step])
    ended = run(scripts, folder, NOWHERE, environment={})
    assert (ended.returncode, "KAFKA_USERNAME" in ended.stdout) == (NOT_TRIED, True)
    ended = run(scripts, folder, NOWHERE, environment=CREDENTIALS)
    assert f"no connection to {NOWHERE}" in ended.stdout


@pytest.mark.parametrize("name", [SENDER, PLAYER])
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="no-file"),
        pytest.param("[]", id="a-list"),
        pytest.param("{", id="cut-off"),
        pytest.param('{"message": "a", "listener": "b", "steps": 1, "play": 1', id="incomplete"),
    ],
)
def test_damaged_folder_does_not_look_like_a_failure(content: str | None, name: str, scripts: Path) -> None:
    if content is not None:
        (scripts / "failure.json").write_text(content)
    ended = run(scripts, scripts, NOWHERE, name=name)
    assert ended.returncode == NOT_TRIED
    assert "no folder of a" in ended.stdout


@pytest.mark.parametrize(("name", "usage"), [(SENDER, "HOST:PORT"), (PLAYER, "[--port 9092]")])
def test_script_explains_itself_without_a_folder(name: str, usage: str, scripts: Path) -> None:
    ended = run(scripts, name=name)
    assert ended.returncode == NOT_TRIED
    assert f"Usage: python {name} FOLDER {usage}" in ended.stdout


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_no_failure(option: str, scripts: Path) -> None:
    assert run(scripts, option).returncode == 0


@pytest.mark.parametrize("arguments", [[], ["nowhere"], [NOWHERE], [NOWHERE, "surplus"]])
def test_wrong_usage_does_not_look_like_a_failure(arguments: list[str], scripts: Path) -> None:
    assert run(scripts, finding_in(scripts), *arguments).returncode == NOT_TRIED
