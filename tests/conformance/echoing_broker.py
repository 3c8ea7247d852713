"""A reference broker that repeats its user's password in its responses.

It runs `fixtures.model_processes.server` with its options, and repeats the password in several forms.

Its table and its answers to other APIs are wrong because of that, so that failures are about the bytes with the
password.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fixtures.client.access import TlsFiles
from fixtures.client.addresses import Address
from fixtures.kafka_setup.certificates import write_certificates
from fixtures.launchers.built_in import certificate_options
from fixtures.launchers.free_port import LOOPBACK
from fixtures.model_processes import server
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.scram import SCRAM_MECHANISMS
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.broker.model.state_machine import ReferenceBroker
from reference_model.broker.rules.reaction import AnswerKind
from reference_model.broker.rules.sasl import CREDENTIALS, SaslConfiguration
from tests.conformance.suite_runs import REPOSITORY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, SupportedFeatureKey
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, encode_frame
from wire.sasl import PLAIN, plain_token

MECHANISMS = (PLAIN, *SCRAM_MECHANISMS)
PASSWORD = CREDENTIALS.password
TOKEN = plain_token(CREDENTIALS.username, PASSWORD)
NAMES = (PASSWORD, PASSWORD.encode().hex(), "".join(f"%{each:02X}" for each in PASSWORD.encode()))
"""The names of features that the table lists."""
TRAILING = b"|".join((base64.b64encode(TOKEN), PASSWORD.encode(), quote(PASSWORD).encode()))
"""Bytes after the other responses."""


def echo(context: RequestContext) -> None:
    """Repeat the password, but in no step of an authentication, and not in v0, by which conversations are judged."""
    if context.reaction.outcome is not Outcome.ANSWER or not context.answer:
        return
    response, version = context.response, context.reaction.response_version
    if response is not None and version >= FIRST_FLEXIBLE_VERSION:
        listed = (
            SupportedFeatureKey(name=name, min_version=1, max_version=1000 + number)
            for number, name in enumerate(NAMES)
        )
        context.response = replace(response, supported_features=tuple(listed))
        context.answer = context.encode_answer()
    elif (response is not None and version > 0) or context.reaction.kind is AnswerKind.OTHER:
        context.answer = encode_frame(context.answer[SIZE_BYTES:] + TRAILING)


def with_echo(build: Callable[..., ReferenceBroker]) -> Callable[..., ReferenceBroker]:
    """Return what builds the brokers of all listeners so that they echo, and offer every mechanism."""

    def build_echoing(listener: str, **how: Any) -> ReferenceBroker:
        broker = build(listener, **{**how, "tampering": Tampering(stage=Stage.ANSWER, act=echo)})
        broker.authentication = SaslConfiguration(credentials=CREDENTIALS, mechanisms=MECHANISMS)
        return broker

    return build_echoing


@contextmanager
def echoing_broker(folder: Path) -> Iterator[tuple[dict[str, Address], TlsFiles]]:
    """Start one; yield the addresses of its listeners, and what its clients need for TLS."""
    tls = write_certificates(folder, LOOPBACK)
    command = [sys.executable, "-m", __name__, *certificate_options(folder)]
    command += [
        f"--tls-authority={tls.ca_file}",
        f"--tls-foreign-authority={tls.foreign_authority}",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=REPOSITORY) as process:
        try:
            assert process.stdout is not None
            ports = json.loads(process.stdout.readline())
            yield {name: Address(LOOPBACK, port) for name, port in ports.items()}, tls
        finally:
            process.kill()


if __name__ == "__main__":
    server.broker_for_listener = with_echo(server.broker_for_listener)
    server.main()
