"""Runner of the programs that use Spark, for the commands that start one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from clauses.exit_statuses import NOT_JUDGED
from conformance.commands.output_console import status_line
from fixtures.cleanup.ending_signals import interrupts_held_back
from fixtures.cleanup.removal import kill_process_group
from fixtures.cleanup.temporary_folder import temporary_folder
from fixtures.cleanup.watchdog import watchdog
from reports.command_line.extras import GRID, check_extra
from wire.request_log_counts import LogCounts

_PACKAGES_FOLDER = Path(__file__).parents[2]


def spark_job(name: str, *arguments: str) -> list[str]:
    """Return the command line of a program of `spark_aggregation`.

    It is a separate process because it starts a JVM; on a cluster it is submitted instead.
    """
    return [sys.executable, "-m", f"spark_aggregation.{name}", *arguments]


@contextmanager
def running(command: Sequence[str], *, stdout: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """Run a program in a process group and with a temporary folder of its own; wait for it at the end of the block.

    If this process is interrupted or dies, the program is killed with the Java virtual machine that it started, before
    it can write anything more, and its temporary folder is removed.
    """
    with temporary_folder() as scratch:
        # Spark keeps what does not fit into memory where a user says, and otherwise among the temporary files.
        of_spark = os.environ.get("SPARK_LOCAL_DIRS", str(scratch))
        folders = {"TMPDIR": str(scratch), "SPARK_LOCAL_DIRS": of_spark}
        process = None
        try:
            with interrupts_held_back():
                process = subprocess.Popen(
                    command,
                    stdout=stdout,
                    encoding="utf-8",
                    env={**_with_packages(os.environ), **folders},
                    start_new_session=True,
                )
            with watchdog().guard_process_group(process.pid):
                yield process
                process.wait()
        finally:
            if process is not None:
                kill_process_group(process.pid)
                process.wait()
                if process.stdout is not None:
                    process.stdout.close()


def _with_packages(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which Python finds the suite's packages, also in the processes that Spark starts.

    They are found before packages of the same names, which the current folder may have as well.
    """
    paths = (str(_PACKAGES_FOLDER), environment.get("PYTHONPATH"))
    return {
        **environment,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONSAFEPATH": "1",
    }


def status_of(command: Sequence[str], words: str) -> int:
    """Run a program to its end, and return its exit status; the progress line says `words` meanwhile."""
    with status_line(words):
        return _status_at_end(command)


def _status_at_end(command: Sequence[str]) -> int:
    with running(command) as process:
        pass
    # What a signal ended is below 0, and no result.
    return process.returncode if process.returncode >= 0 else NOT_JUDGED


def count_with_spark(uris: Sequence[str]) -> LogCounts:
    """Count the requests in request logs of brokers at any URI that Hadoop knows.

    Raises:
        MissingExtra: packages are missing.
        SystemExit: the program failed, and has said why.
    """
    check_extra(GRID, f"watch --request-log {uris[0]}")
    job = spark_job("request_logs_job", *uris)
    with status_line("reading with Spark"), running(job, stdout=subprocess.PIPE) as process:
        output, _ = process.communicate()
    if process.returncode:
        # 1 is a fault of the program, and what a signal ended is below 0.
        raise SystemExit(process.returncode if process.returncode > 1 else NOT_JUDGED)
    return LogCounts.from_json(output.splitlines()[-1])


def pass_on(program: str, arguments: tuple[str, ...]) -> None:
    """Run a program of `spark_aggregation` with a user's arguments, and end with its exit status.

    Raises:
        SystemExit: always.
    """
    raise SystemExit(_status_at_end(spark_job(program, *arguments)))
