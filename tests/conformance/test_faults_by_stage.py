"""Tests of commands that are killed, ended, or limited in memory.

Each command is a row of `STAGES`, each fault a test. A fault makes no command end with 1, prints no traceback, and
leaves no process and no temporary file.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from fixtures.polling import poll_until
from tests.conformance.suite_runs import REPOSITORY, run_suite

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

AT_MOST_S = 400
INTERRUPTED, HARNESS_ERROR, NO_JAVA = 2, 10, 3
MEMORY_BYTES = 1 << 30
"""Less than Java reserves, and more than Python needs to begin."""
BROKER, JAVA = "fixtures.model_processes.server", "java"


STAGES = {
    "judge": ("judge reference --listener plaintext --runs {out}", BROKER),
    "matrix": ("matrix reference --tier smoke --runs {out}", BROKER),
    "clients": (
        "judge --client kafka-python-3.0.12 --tier smoke --runs {out}",
        "clients/kafka-python-3.0.12-",
    ),
    "operations": (
        "judge apache-kafka-4.4.0 --client kafka-python-3.0.12 --launcher process --runs {out}",
        "kafka.Kafka",
    ),
    "grid": ("grid {runs} --out {out}/grid", JAVA),
    "verify": ("verify {grid} {runs}", JAVA),
    "watch": (
        "watch --bootstrap-server {bootstrap} --listen 127.0.0.1:0 --for apache-kafka-4.4.0 "
        "--out {out}/report -- sleep 1.5",
        "sleep",
    ),
    "learn": ("learn reference --listener sasl_plaintext --out {out}/machines", BROKER),
}
"""By name: what follows `kafka-conformance`, where {out} is the folder that the command writes, and {runs} and
{grid} are what it reads; and part of the command line of a process that it starts: a fault in the middle comes then."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What commands read: a run, its grid, and a broker."""
    folder = tmp_path_factory.mktemp("made")
    run_suite("--broker", "reference", "--tier", "smoke", runs=folder / "runs")
    _command("grid", str(folder / "runs"), "--out", str(folder / "grid")).communicate(timeout=AT_MOST_S)
    server = [sys.executable, "-m", BROKER]
    with subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        port = broker.stdout.readline().partition('"plaintext": ')[2].partition(",")[0].strip(" }\n")
        yield {
            "runs": str(folder / "runs"),
            "grid": str(folder / "grid"),
            "bootstrap": f"127.0.0.1:{port}",
        }
        broker.kill()


@pytest.mark.parametrize("name", STAGES)
def test_killed_command_leaves_nothing(name: str, made: dict[str, str], tmp_path: Path) -> None:
    _fault_under_way(name, signal.SIGKILL, made, tmp_path)


@pytest.mark.parametrize("name", STAGES)
def test_ended_command_cleans_up(name: str, made: dict[str, str], tmp_path: Path) -> None:
    """SIGTERM does what Ctrl-C does, except that `watch` then says what it has seen."""
    status, output = _fault_under_way(name, signal.SIGTERM, made, tmp_path)
    assert status == (HARNESS_ERROR if name == "watch" else INTERRUPTED), output
    assert "Traceback" not in output


@pytest.mark.parametrize("name", STAGES)
def test_lack_of_memory_is_no_verdict(name: str, made: dict[str, str], tmp_path: Path) -> None:
    """Java does not start in so little memory; what needs none may end well."""
    process = _start(name, made, tmp_path, memory_bytes=MEMORY_BYTES)
    status, output = _end_of(process, tmp_path)
    needs_java = name in ("operations", "grid", "verify")
    # The client has defects of its own.
    without_fault = 1 if name == "clients" else 0
    assert status in ({NO_JAVA, HARNESS_ERROR} if needs_java else {without_fault, HARNESS_ERROR}), output
    assert "Traceback" not in output


def _fault_under_way(name: str, number: signal.Signals, made: dict[str, str], folder: Path) -> tuple[int, str]:
    """Start a command, send it a signal when it is under way; return its exit status and output."""
    process = _start(name, made, folder)
    family: list[psutil.Process] = []

    def is_under_way() -> bool:
        family[:] = psutil.Process(process.pid).children(recursive=True)
        return any(STAGES[name][1] in " ".join(_line_of(each)) for each in family)

    assert poll_until(is_under_way, True, limit_s=AT_MOST_S), f"{name} never started what it needs"
    process.send_signal(number)
    ended = _end_of(process, folder)
    _, left = psutil.wait_procs(family, timeout=AT_MOST_S)
    assert [each for each in left if each.status() != psutil.STATUS_ZOMBIE] == []
    return ended


def _start(name: str, made: dict[str, str], folder: Path, *, memory_bytes: int | None = None) -> subprocess.Popen[str]:
    arguments = [each.format(out=folder / "out", **made) for each in STAGES[name][0].split()]
    (folder / "temporary").mkdir()
    return _command(*arguments, temporary=folder / "temporary", memory_bytes=memory_bytes)


def _command(*arguments: str, temporary: Path | None = None, memory_bytes: int | None = None) -> subprocess.Popen[str]:
    limit = None if memory_bytes is None else (memory_bytes, memory_bytes)
    process = subprocess.Popen(
        [sys.executable, "-m", "conformance", *arguments],
        cwd=REPOSITORY,
        env={**os.environ, **({} if temporary is None else {"TMPDIR": str(temporary)})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if limit is not None:
        resource.prlimit(process.pid, resource.RLIMIT_AS, limit)
    return process


def _end_of(process: subprocess.Popen[str], folder: Path) -> tuple[int, str]:
    """Wait until a command has ended and removed its temporary files; return its exit status and output."""
    output, _ = process.communicate(timeout=AT_MOST_S)

    assert poll_until(lambda: sorted((folder / "temporary").iterdir()) == [], True, limit_s=AT_MOST_S)
    return process.returncode, output


def _line_of(process: psutil.Process) -> list[str]:
    try:
        line: list[str] = process.cmdline()
    except psutil.Error:
        return []
    return line
