"""A user's credentials appear in no record, dump, capture, script or page.

Not even if the broker repeats them.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from conformance.assertions.decoding import decode_answer
from conformance.assertions.model_agreement import ConversationRunner
from fixtures.client.access import SaslAccess, TlsFiles
from fixtures.client.journal import Journal, log_and_reader
from fixtures.client.running_broker import RunningBroker
from fixtures.under_test.broker import Broker
from reference_model.broker.model.scram import SCRAM
from reference_model.broker.rules.sasl import CREDENTIALS
from reference_model.profiles.listeners import SASL_PLAINTEXT, SASL_SSL
from strategies.api_versions import build_request
from strategies.conversations import Handshake, PlainToken, Say
from tests.conformance.echoing_broker import MECHANISMS, NAMES, TOKEN, echoing_broker
from tests.conformance.suite_runs import SUITE, SuiteRun, run_suite
from tests.fixtures.running_targets import running_at
from tests.reports.test_failures import failure_of
from tests.written_failures import write_failure
from wire.exchange import Exchange, Outcome, Step
from wire.hidden_bytes import MARK
from wire.sasl import PLAIN, authenticate_request

V0, V1 = build_request(version=0), build_request(version=1)
SHOWS_AGAIN, CANNOT_SAY, NO_CREDENTIALS = 1, 2, 3
PASSWORD = CREDENTIALS.password.encode()
WAYS = ((0, 0), (1, 0), (1, 1), (1, 2))
"""Versions of SaslHandshake, and of the SaslAuthenticate requests that follow v1."""
OWN = {"KAFKA_USERNAME": CREDENTIALS.username, "KAFKA_PASSWORD": CREDENTIALS.password}
PROOF = b"c=biws,r=nonce,p=proof"
JUDGED_BY = (
    "served_table",
    "features",
    "before_authentication",
    "scram",
    "sequences",
    "logins",
)
"""The modules of the properties that judge a run here: tables, other APIs, and every step of SASL."""


def forms_of(secret: bytes) -> set[bytes]:
    """Return the ways in which a secret may be written: raw, hexadecimal, and base64 at each offset of a longer
    text."""
    forms = {secret, secret.hex().encode(), secret.hex().upper().encode()}
    forms.add(b"".join(b"%%%02X" % each for each in secret))
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
def echoing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, RunningBroker]]:
    """The listeners with SASL of a reference broker that repeats the password; the credentials are the user's own."""
    with echoing_broker(tmp_path_factory.mktemp("echo")) as (addresses, tls):
        yield {
            name: running_at(
                addresses[name],
                addresses={name: addresses[name]},
                tls=tls,
                sasl=SaslAccess(
                    username=CREDENTIALS.username,
                    password=CREDENTIALS.password,
                    mechanisms=MECHANISMS,
                    is_given=True,
                ),
            )
            for name in (SASL_PLAINTEXT, SASL_SSL)
        }


@pytest.fixture
def listener(echoing: Mapping[str, RunningBroker]) -> Broker:
    """Its listener without TLS."""
    return Broker(echoing[SASL_PLAINTEXT], SASL_PLAINTEXT)


def access_of(broker: Broker) -> SaslAccess:
    """Return the credentials of a listener."""
    assert broker.running.sasl is not None
    return broker.running.sasl


def authenticated(broker: Broker, mechanism: str, handshake_version: int, authenticate_version: int = 0) -> None:
    """Authenticate on a connection of a new example, and send one request, whose answer has the password."""
    broker.begin_example()
    access = replace(access_of(broker), authenticate_version=authenticate_version)
    with broker.connect(authenticate=False) as connection:
        connection.authenticate(access, mechanism=mechanism, handshake_version=handshake_version)
        connection.converse([V1])


def run_script(script: Path, broker: Broker, *options: str, **credentials: str) -> subprocess.CompletedProcess[str]:
    """Run a reproducer against a listener."""
    address = str(broker.running.addresses[broker.listener])
    return subprocess.run(
        [sys.executable, script, address, *options],
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


@pytest.mark.parametrize(
    ("name", "mechanism", "versions"),
    [
        *((SASL_PLAINTEXT, each, versions) for each in MECHANISMS for versions in WAYS),
        (SASL_SSL, PLAIN, (1, 0)),
    ],
)
def test_failure_is_repeated_with_ones_own_credentials(
    *,
    name: str,
    mechanism: str,
    versions: tuple[int, int],
    echoing: Mapping[str, RunningBroker],
    tmp_path: Path,
) -> None:
    broker = Broker(echoing[name], name)
    authenticated(broker, mechanism, *versions)
    folder = write_failure(tmp_path, replace(failure_of(*broker.journal), listener=name))
    assert leaks(tmp_path) == []
    assert MARK in (folder / "exchange.pcap").read_bytes()
    assert "the tokens of both sides are hidden" in (folder / "exchange.txt").read_text()
    assert isinstance(broker.running.tls, TlsFiles)
    authority = (f"ca={broker.running.tls.ca_file}",) if name == SASL_SSL else ()
    again = run_script(folder / "reproducer.py", broker, *authority, **OWN)
    assert again.returncode == SHOWS_AGAIN, again.stdout + again.stderr
    assert again.stdout.count("received  a token") == (1 if mechanism == PLAIN else 2)
    assert not any(form in (again.stdout + again.stderr).encode() for form in FORMS)


@pytest.mark.parametrize(
    ("variables", "status", "printed"),
    [
        pytest.param({**OWN, "KAFKA_PASSWORD": "guessed"}, CANNOT_SAY, "closed", id="wrong password"),
        pytest.param({}, NO_CREDENTIALS, "KAFKA_PASSWORD", id="none"),
    ],
)
def test_script_says_what_it_lacks(
    variables: dict[str, str], status: int, printed: str, listener: Broker, tmp_path: Path
) -> None:
    """Without credentials it sends nothing; with a wrong password it cannot say anything about the failure."""
    authenticated(listener, "SCRAM-SHA-512", 1)
    folder = write_failure(tmp_path, replace(failure_of(*listener.journal), listener=listener.listener))
    script = run_script(folder / "reproducer.py", listener, **variables)
    assert script.returncode == status, script.stdout + script.stderr
    assert printed in script.stdout


def test_script_does_not_trust_everybody(echoing: Mapping[str, RunningBroker], tmp_path: Path) -> None:
    """Over TLS it sends no token to a server whose authority it does not know."""
    broker = Broker(echoing[SASL_SSL], SASL_SSL)
    authenticated(broker, PLAIN, 1)
    folder = write_failure(tmp_path, replace(failure_of(*broker.journal), listener=SASL_SSL))
    script = run_script(folder / "reproducer.py", broker, **OWN)
    assert script.returncode == NO_CREDENTIALS
    assert "certificate verify failed" in script.stdout


def test_password_in_an_answer_is_hidden(listener: Broker) -> None:
    listener.begin_example()
    (exchange,) = listener.converse([build_request(version=3)])
    assert exchange.payload is not None
    features = decode_answer(exchange, api_version=3).supported_features
    assert [each.name[: len(MARK)] for each in features] == [MARK.decode()] * len(NAMES)
    assert not any(form in exchange.payload for form in FORMS)


def test_token_in_an_error_message_is_hidden() -> None:
    """A broker may repeat what it refuses, at once or later: that of SCRAM lets whoever has it guess the password."""
    access = SaslAccess(username="user", password="a password", mechanisms=(SCRAM,), is_given=True)
    journal = Journal()
    log, reader = log_and_reader(journal, access)
    sent = authenticate_request(PROOF)
    message = b"\0\x3a\0" + bytes([len(PROOF)]) + PROOF + b"\0\0\0\0"
    payload = sent.correlation_id.to_bytes(4) + message
    exchange = Exchange(request=sent, outcome=Outcome.ANSWER, payload=payload)
    log.append(Step(connection=0, pieces=(sent.data,), exchanges=(exchange,)))
    (step,) = journal.steps
    assert not any(PROOF in each for each in (*step.pieces, step.received))
    reader.receive_data(base64.b64encode(PROOF))
    assert base64.b64encode(PROOF)[:8] not in reader.unread


def test_tokens_that_a_property_writes_are_hidden_too(listener: Broker, tmp_path: Path) -> None:
    """A conversation sends right and wrong passwords, bare and wrapped, among other requests."""
    listener.begin_example()
    with ConversationRunner(listener) as player:
        player.play(
            (
                Say(connection=0, messages=(Handshake(), PlainToken(right=False))),
                Say(connection=1, messages=(Handshake(), PlainToken(version=2), V0)),
                Say(connection=2, messages=(Handshake(version=0), PlainToken(wrapped=False), V0)),
            )
        )
    write_failure(tmp_path, failure_of(*listener.journal))
    assert leaks(tmp_path) == []
    assert MARK.hex() in (tmp_path / "0123456789abcdef" / "failure.json").read_text()


def test_credentials_of_the_suite_are_no_secret(listener: Broker) -> None:
    access = replace(access_of(listener), is_given=False)
    own = Broker(replace(listener.running, sasl=access), listener.listener)
    authenticated(own, PLAIN, 1)
    assert any(TOKEN in piece for step in own.journal for piece in step.pieces)


@pytest.fixture(scope="module")
def failing_run(echoing: Mapping[str, RunningBroker], tmp_path_factory: pytest.TempPathFactory) -> SuiteRun:
    """A run at the address of the broker that repeats the password, whose answers are violations for that reason."""
    folder = tmp_path_factory.mktemp("given")
    running = echoing[SASL_SSL]
    assert isinstance(running.tls, TlsFiles)
    config = folder / "client.properties"
    jaas = f'x required username="{CREDENTIALS.username}" password="{CREDENTIALS.password}";'
    config.write_text(
        f"ssl.truststore.location={running.tls.ca_file}\nsasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config={jaas}\n"
    )
    return run_suite(
        *("--bootstrap-server", f"SASL_SSL://{running.addresses[SASL_SSL]}", "--tier", "smoke"),
        *("--command-config", str(config), "--junitxml", str(folder / "others" / "junit.xml")),
        *("--alluredir", str(folder / "others" / "allure")),
        runs=folder / "runs",
        suite=[f"{SUITE}brokers/test_{name}.py" for name in JUDGED_BY],
        every_listener=True,
    )


@pytest.mark.slow
def test_run_leaves_no_password(failing_run: SuiteRun) -> None:
    assert failing_run.status == 1, failing_run.output
    others = failing_run.folder.parent.with_name("others")
    assert list(others.rglob("*.json"))
    assert leaks(failing_run.folder) == leaks(others) == []
    assert not any(form in failing_run.output.encode() for form in FORMS)
    sent = [row["sent"] for row in failing_run.rows("exchanges")]
    assert any(MARK in each for each in sent)
    received = [row["received"] for row in failing_run.rows("answers")]
    assert any(MARK in each for each in received)


@pytest.mark.nightly
@pytest.mark.slow
def test_site_shows_no_password(failing_run: SuiteRun, tmp_path: Path) -> None:
    """The pages, tables and exports that are made of the run have it neither."""
    command = ["grid", str(failing_run.folder.parent), "--out", str(tmp_path / "site")]
    subprocess.run([sys.executable, "-m", "conformance", *command], check=True, timeout=600)
    assert list((tmp_path / "site").rglob("*.html"))
    assert leaks(tmp_path) == []
