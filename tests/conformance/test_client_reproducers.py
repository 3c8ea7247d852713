"""What a real client does wrong is shown again by the reproducer of its failure, without the suite."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.commands.replay import replay
from fixtures.client_processes.installation import installed
from fixtures.registry.clients import select_clients
from tests.conformance.suite_runs import SUITE, run_suite

LOOPS = "kafka-python-3.0.12"
"""A client that asks for the same version again and again after UNSUPPORTED_VERSION."""
FALLS_BACK = "kafka-python-2.0.2"
PROPERTY = "test_useless_range_is_no_reason_to_repeat"
SAYS_LOOP = "the client loops on one connection"
TIME_LIMIT_S = 120

pytestmark = [pytest.mark.slow, pytest.mark.nightly]


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the failure that is a loop; the client fails in other ways as well."""
    runs = tmp_path_factory.mktemp("client") / "runs"
    options = ("--client", LOOPS, "--tier", "smoke", "-k", PROPERTY)
    run = run_suite(*options, runs=runs, suite=(f"{SUITE}clients",), every_listener=True)
    folders = sorted((run.folder / "failures").iterdir())
    return next(each for each in folders if SAYS_LOOP in (each / "failure.json").read_text())


def command_of(client_id: str) -> str:
    """Return the command of a client for a reproducer's option `--run`."""
    (client,) = select_clients([client_id])
    prefix = shlex.join(installed(client).prefix)
    return f"{prefix} --bootstrap {{bootstrap}} --timeout {{timeout}}"


@pytest.mark.parametrize(("client", "status"), [(LOOPS, 1), (FALLS_BACK, 2)])
def test_reproducer_shows_what_the_client_does(client: str, status: int, loop: Path) -> None:
    """The script starts the client and sees the loop; of another client, which falls back, that it cannot say."""
    script = loop / "reproducer.py"
    result = subprocess.run(
        [sys.executable, "-I", str(script), "--port", "0", "--run", command_of(client)],
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )
    assert result.returncode == status, result.stdout + result.stderr


@pytest.mark.parametrize(("client", "status"), [(LOOPS, 1), (FALLS_BACK, 0)])
def test_stored_script_is_played_again(client: str, status: int, loop: Path) -> None:
    """The stored script is played to the client of the failure, or to another one."""
    result = CliRunner().invoke(replay, [str(loop), "--client", client])
    assert result.exit_code == status, result.output
