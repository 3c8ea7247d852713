"""A Spark cluster of local processes: one master and two workers, all on loopback and on free ports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, Queue

import pyspark

from spark_aggregation.session import SIMPLE_COMPILER

SPARK_HOME = Path(pyspark.__file__).parent
_SPARK_CLASS, _SPARK_SUBMIT = (
    SPARK_HOME / "bin" / "spark-class",
    SPARK_HOME / "bin" / "spark-submit",
)
_LOOPBACK = "127.0.0.1"
_START_S = 240
"""Time limit for the log line in which a daemon reports that it is ready; on an idle machine it takes at most 4 s."""
_END_S = 30
WORKERS = 2
_QUICK_START = f"{SIMPLE_COMPILER} -XX:+UseSerialGC"


class ClusterDidNotStart(Exception):
    """A daemon ended, or did not report in time that it is ready; the message has its last lines."""


def _environment() -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    return {
        **kept,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": _LOOPBACK,
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }


@contextmanager
def _daemon(role: str, ready: re.Pattern[str], arguments: Sequence[str]) -> Iterator[re.Match[str]]:
    """Start a daemon, yield the match in the line that reports it ready, and end it by its process id."""
    command = [
        str(_SPARK_CLASS),
        f"org.apache.spark.deploy.{role}",
        "--host",
        _LOOPBACK,
        *arguments,
    ]
    process = subprocess.Popen(
        command,
        env=_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    lines: Queue[str | None] = Queue()

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            lines.put(line)
        lines.put(None)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield _awaited(lines, ready)
    finally:
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join()
        if process.stderr is not None:
            process.stderr.close()


def _awaited(lines: Queue[str | None], ready: re.Pattern[str]) -> re.Match[str]:
    seen: list[str] = []
    try:
        while (line := lines.get(timeout=_START_S)) is not None:
            seen.append(line)
            match = ready.search(line)
            if match is not None:
                return match
    except Empty:
        pass
    raise ClusterDidNotStart("".join(seen[-20:]))


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """Start a cluster and yield its master's URL.

    Args:
        folder: where workers keep the files that they receive.
    """
    free = ("--port", "0", "--webui-port", "0")
    there = re.compile(r"Starting Spark master at (spark://\S+)")
    registered = re.compile(r"Successfully registered with master")
    with ExitStack() as daemons:
        url = daemons.enter_context(_daemon("master.Master", there, free))[1]
        for number in range(WORKERS):
            folder_option = ("--work-dir", str(folder / f"worker-{number}"))
            limits = ("--cores", "1", "--memory", "1g")
            daemons.enter_context(
                _daemon("worker.Worker", registered, [*free, *limits, *folder_option, url])
            )
        yield url


def submit(
    master: str,
    script: Path,
    arguments: Sequence[str],
    *,
    py_files: Path,
    settings: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Submit a script as a user would, from the script's own folder; `py_files` is an archive of the packages that it imports.

    Returns:
        Exit status and output.
    """
    given = {
        "spark.driver.host": _LOOPBACK,
        "spark.driver.bindAddress": _LOOPBACK,
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "2",
        # The jobs submitted here are small: compiling would take longer than computing.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.extraJavaOptions": _QUICK_START,
        "spark.executor.extraJavaOptions": _QUICK_START,
        **(settings or {}),
    }
    options = [part for name, value in given.items() for part in ("--conf", f"{name}={value}")]
    command = [str(_SPARK_SUBMIT), "--master", master, *options, "--py-files", str(py_files)]
    return subprocess.run(
        [*command, str(script), *arguments],
        env=_environment(),
        cwd=script.parent,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
