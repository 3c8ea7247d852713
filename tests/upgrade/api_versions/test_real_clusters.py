"""Kafka's own tool and ours print the same text for real brokers.

The text is the same for every security of the listener.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.commands.api_versions import api_versions
from fixtures.artefacts.java import find_java
from fixtures.artefacts.maven import class_path, fetch_jars, fetch_pinned
from fixtures.client.access import TlsFiles
from fixtures.client.running_broker import RunningBroker
from fixtures.launchers import launch
from fixtures.polling import poll_until
from fixtures.registry.targets import load_targets

# Real brokers, and a JVM for each comparison
pytestmark = [pytest.mark.slow, pytest.mark.nightly]

TARGETS = {target.id: target for target in load_targets()}
NEWEST = "apache-kafka-4.4.0"
STARTED_WITHIN_S = 10
TOOLS = {"org.apache.kafka:kafka-tools:4.4.0": "4eb9a7fbfd63badfd8d1a677aa2d54b47b2b2d442ff7d68fd223972afea1954c"}
BROKERS = ("org.apache.kafka.tools.BrokerApiVersionsCommand", "--bootstrap-server")
CONTROLLERS = ("org.apache.kafka.tools.ClusterTool", "api-versions", "--bootstrap-controller")
LOGIN = {"PLAIN": "plain.PlainLoginModule", "SCRAM-SHA-256": "scram.ScramLoginModule"}


@pytest.fixture(
    scope="module",
    params=[NEWEST, "apache-kafka-2.3.1"],
)
def running(request: pytest.FixtureRequest) -> Iterator[RunningBroker]:
    """A broker of a release, with all its listeners; it answers a moment before it knows its cluster."""
    with launch(TARGETS[request.param], "process") as broker:
        arguments = ("--bootstrap-server", str(broker.addresses["plaintext"]))
        status = poll_until(
            lambda: CliRunner().invoke(api_versions, arguments).exit_code,
            0,
            limit_s=STARTED_WITHIN_S,
        )
        assert status == 0
        yield broker


def stock_output(main: str, *arguments: str) -> str:
    """Return what Kafka's own tool of 4.4.0 prints."""
    tools = fetch_pinned(TOOLS, what="Kafka's tools")
    jars = class_path({**fetch_jars(TARGETS[NEWEST]), **tools})
    done = subprocess.run(
        [find_java(), "-XX:TieredStopAtLevel=1", "-cp", jars, main, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout, done.stderr
    return done.stdout.strip()


def our_output(*arguments: str) -> str:
    """Return what our tool prints."""
    result = CliRunner().invoke(api_versions, arguments)
    assert result.exit_code == 0, result.output
    return result.output.strip()


def properties_for(listener: str, mechanism: str, running: RunningBroker) -> str:
    """Return the properties with which Kafka's clients reach a listener."""
    if listener == "ssl":
        assert isinstance(running.tls, TlsFiles)
        return (
            f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={running.tls.ca_file}\n"
            "ssl.endpoint.identification.algorithm=\n"
        )
    assert running.sasl is not None
    return (
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
        f"sasl.jaas.config=org.apache.kafka.common.security.{LOGIN[mechanism]} required "
        f'username="{running.sasl.username}" password="{running.sasl.password}";\n'
    )


@pytest.mark.parametrize(
    ("listener", "mechanism"),
    [
        ("plaintext", ""),
        ("ssl", ""),
        ("sasl_plaintext", "PLAIN"),
        ("sasl_plaintext", "SCRAM-SHA-256"),
    ],
)
def test_text_is_that_of_kafkas_tool(listener: str, mechanism: str, running: RunningBroker, tmp_path: Path) -> None:
    """Every byte, for the newest release and for an old one."""
    address = str(running.addresses[listener])
    options: tuple[str, ...] = ()
    if listener != "plaintext":
        config = tmp_path / "client.properties"
        config.write_text(properties_for(listener, mechanism, running))
        options = ("--command-config", str(config))
    main, option = BROKERS
    assert our_output(option, address, *options) == stock_output(main, option, address, *options)


def test_controllers_table_is_that_of_kafkas_tool(running: RunningBroker) -> None:
    """Only `kafka-cluster.sh` can show it."""
    if "controller" not in running.addresses:
        pytest.skip("the release has no controller")
    address = str(running.addresses["controller"])
    main, command, option = CONTROLLERS
    assert our_output(option, address) == stock_output(main, command, option, address)
