"""Credentials that belong to a user appear in nothing that a run leaves: no record, dump, capture, script or page."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from conformance.assertions.conversation_runner import ConversationRunner
from fixtures.client.running_broker import SaslAccess
from fixtures.launchers.built_in import launch_built_in, reference_targets
from fixtures.under_test.broker import Broker
from reference_model.sasl import CREDENTIALS
from reference_model.scram import SCRAM
from reports.run.failures import write_failure
from strategies.api_versions import build_request
from strategies.conversations import Handshake, Say, Token
from tests.conformance.suite_runs import SuiteRun, run_suite
from tests.reports.test_failures import failure_of
from wire.hidden_tokens import MARK
from wire.sasl import PLAIN

REFERENCE = next(target for target in reference_targets() if target.id == "reference")
V0 = build_request(version=0)
SHOWS_AGAIN, CANNOT_SAY, NO_CREDENTIALS = 1, 2, 3
PASSWORD = CREDENTIALS.password.encode()
TOKEN = b"\0".join((b"", CREDENTIALS.username.encode(), PASSWORD))


def forms_of(secret: bytes) -> set[bytes]:
    """Return the ways in which a secret may be written: raw, hexadecimal, and base64 at each place of a longer text."""
    forms = {secret, secret.hex().encode(), secret.hex().upper().encode()}
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + secret)
        # The first and the last characters depend on the neighbours of the secret.
        forms.add(encoded[4 if shift else 0 : len(encoded) // 4 * 4 - 4])
    return forms


FORMS = forms_of(PASSWORD)


def leaks(folder: Path) -> list[str]:
    """Return the files of a folder that contain the password in any form; tables are read as well."""
    found = []
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        texts = [path.read_bytes()]
        if path.suffix == ".parquet":
            # Compressed columns, whose values are bytes or texts.
            rows = pq.read_table(path).to_pylist()
            texts += [repr(rows).encode(), b"".join(_bytes_in(rows))]
        found += [str(path) for text in texts if any(form in text for form in FORMS)]
    return found


def _bytes_in(rows: list[dict[str, object]]) -> Iterator[bytes]:
    return (value for row in rows for value in row.values() if isinstance(value, bytes))


@pytest.fixture(scope="module")
def listener() -> Iterator[Broker]:
    """The SASL listener of a reference broker, whose credentials are taken for a user's own."""
    with launch_built_in(REFERENCE) as running:
        assert running.sasl is not None
        yield Broker(replace(running, sasl=replace(running.sasl, is_given=True)), "sasl_plaintext")


def access_of(broker: Broker) -> SaslAccess:
    """Return the credentials of a listener."""
    assert broker.running.sasl is not None
    return broker.running.sasl


def authenticated(broker: Broker, mechanism: str, handshake_version: int) -> None:
    """Authenticate on a connection of a new example, and send one request."""
    broker.begin_example()
    with broker.connect(authenticate=False) as connection:
        connection.authenticate(
            access_of(broker), mechanism=mechanism, handshake_version=handshake_version
        )
        connection.converse([V0])


def run_script(
    script: Path, broker: Broker, **credentials: str
) -> subprocess.CompletedProcess[str]:
    """Run a reproducer against a listener."""
    return subprocess.run(
        [sys.executable, script, str(broker.running.addresses[broker.listener])],
        env={**os.environ, **credentials},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_search_finds_what_it_looks_for(tmp_path: Path) -> None:
    """Each form is found, with whatever stands before it and after it."""
    for number, text in enumerate((TOKEN, TOKEN.hex().encode(), base64.b64encode(b"a" + TOKEN))):
        (tmp_path / str(number)).write_bytes(b"some" + text + b"more")
    assert len(leaks(tmp_path)) == 3


@pytest.mark.parametrize("mechanism", [PLAIN, SCRAM])
@pytest.mark.parametrize("handshake_version", [0, 1], ids=["bare", "wrapped"])
def test_failure_shows_no_token_and_is_repeated_with_ones_own(
    listener: Broker, mechanism: str, handshake_version: int, tmp_path: Path
) -> None:
    """Its script takes the credentials from the environment, sends tokens of its own, and prints none."""
    authenticated(listener, mechanism, handshake_version)
    place = write_failure(
        tmp_path, replace(failure_of(*listener.journal), listener=listener.listener)
    )
    assert leaks(tmp_path) == []
    assert MARK in (place / "exchange.pcap").read_bytes()
    assert "the tokens of both sides are hidden" in (place / "exchange.txt").read_text()
    own = {"KAFKA_USERNAME": CREDENTIALS.username, "KAFKA_PASSWORD": CREDENTIALS.password}
    again = run_script(place / "reproducer.py", listener, **own)
    assert again.returncode == SHOWS_AGAIN, again.stdout + again.stderr
    assert "received  a token" in again.stdout
    assert not any(form.decode("latin-1") in again.stdout for form in FORMS)
    wrong = run_script(place / "reproducer.py", listener, **{**own, "KAFKA_PASSWORD": "guessed"})
    assert wrong.returncode == CANNOT_SAY, wrong.stdout + wrong.stderr
    missing = run_script(place / "reproducer.py", listener)
    assert missing.returncode == NO_CREDENTIALS
    assert "KAFKA_PASSWORD" in missing.stdout


def test_tokens_that_a_property_writes_are_hidden_too(listener: Broker, tmp_path: Path) -> None:
    """A conversation sends right and wrong passwords, bare and wrapped, among other requests."""
    listener.begin_example()
    with ConversationRunner(listener) as player:
        player.play(
            (
                Say(connection=0, messages=(Handshake(), Token(right=False))),
                Say(connection=1, messages=(Handshake(), Token(version=2), V0)),
                Say(connection=2, messages=(Handshake(version=0), Token(wrapped=False), V0)),
            )
        )
    write_failure(tmp_path, failure_of(*listener.journal))
    assert leaks(tmp_path) == []
    assert MARK.hex() in (tmp_path / "0123456789abcdef" / "failure.json").read_text()


def test_credentials_of_the_suite_are_no_secret(listener: Broker) -> None:
    """They stay in the records, so that failures of the registry's targets can be repeated as they were."""
    access = replace(access_of(listener), is_given=False)
    own = Broker(replace(listener.running, sasl=access), listener.listener)
    authenticated(own, PLAIN, 1)
    assert any(TOKEN in piece for step in own.journal for piece in step.pieces)


@pytest.fixture(scope="module")
def failing_run(tmp_path_factory: pytest.TempPathFactory) -> SuiteRun:
    """A run with violations on a listener whose credentials are taken for a user's own."""
    return run_suite(
        *("-p", "tests.conformance.given_credentials", "--tier", "smoke"),
        *("--broker", "reference+tags-descend", "--listener", "sasl_plaintext"),
        runs=tmp_path_factory.mktemp("given"),
    )


def test_run_leaves_no_password(failing_run: SuiteRun) -> None:
    """Neither its records and failures nor its output have it, although many connections authenticated."""
    assert failing_run.status == 1, failing_run.output
    assert leaks(failing_run.folder) == []
    assert not any(form in failing_run.output.encode() for form in FORMS)
    sent = [row["sent"] for row in failing_run.rows("exchanges")]
    assert any(MARK in each for each in sent)


@pytest.mark.slow
def test_site_shows_no_password(failing_run: SuiteRun, tmp_path: Path) -> None:
    """The pages, tables and exports that are made of the run have it neither."""
    command = ["grid", str(failing_run.folder.parent), "--out", str(tmp_path / "site")]
    subprocess.run([sys.executable, "-m", "conformance", *command], check=True, timeout=600)
    assert list((tmp_path / "site").rglob("*.html"))
    assert leaks(tmp_path) == []
