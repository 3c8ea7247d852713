"""Both Spark jobs run unchanged on a cluster of local processes.

They are submitted with one archive, accept any Hadoop URI, and have equal results.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from queue import Empty, Queue

import pyspark
import pytest
from pyspark.sql import SparkSession

import spark_aggregation.job
import spark_aggregation.rejudge_job
from reports.verify.verification import differing_rows
from spark_aggregation.py_files import write_archive
from spark_aggregation.rejudge_job import command as rejudge_here
from spark_aggregation.run_roll_up import RollUpRequest, aggregate
from spark_aggregation.session import SIMPLE_COMPILER
from tests.conformance.suite_runs import SuiteRun
from tests.spark_aggregation.histories import TARGETS, SmallRun

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
pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(900)]


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
            daemons.enter_context(_daemon("worker.Worker", registered, [*free, *limits, *folder_option, url]))
        yield url


def submit(
    master: str,
    script: Path,
    arguments: Sequence[str],
    *,
    py_files: Path,
    settings: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Submit a script as a user would, from the script's own folder; `py_files` is an archive of the packages that it
    imports.

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


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the URL of a cluster's master."""
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as url:
        yield url


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write three nights of two targets; one run was cut off."""
    root = tmp_path_factory.mktemp("runs")
    for number, (night, target) in enumerate(product(range(3), TARGETS)):
        verdict = "violates" if night == 1 else "conforms"
        SmallRun(number=number, day=night, target=target, verdicts=(verdict, None)).write(root)
    SmallRun(number=6, day=3, broken=True).write(root)
    return root


@pytest.fixture(scope="module")
def local_grid(spark: SparkSession, runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a grid that this process made."""
    out = tmp_path_factory.mktemp("local")
    aggregate(spark, RollUpRequest(roots=[str(runs)], out=str(out)))
    return out


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Return the job's script, copied to a folder that contains none of its packages."""
    return Path(shutil.copy(spark_aggregation.job.__file__, tmp_path / "job.py"))


def test_submitted_job_makes_the_same_tables(
    cluster: str, runs: Path, local_grid: Path, job: Path, tmp_path: Path
) -> None:
    """Runs, history and tables lie at another URI scheme, and each row equals that of `local[*]`.

    The scheme is Hadoop's own view of several file systems. The second submission reads the history of the first.
    """
    archive = tmp_path / "suite.zip"
    write_archive(archive)
    folders = {"runs": runs, "kept": tmp_path / "kept"}
    folders["kept"].mkdir()
    settings = {
        f"spark.hadoop.fs.viewfs.mounttable.all.link./{name}": folder.as_uri() for name, folder in folders.items()
    } | {"spark.cores.max": str(WORKERS)}
    given = ["viewfs://all/runs", "--history", "viewfs://all/kept/history"]
    given += ["--out", "viewfs://all/kept/grid"]
    for _ in range(2):
        ended = submit(cluster, job, given, py_files=archive, settings=settings)
        assert ended.returncode == 0, ended.stderr
    assert list(differing_rows(tmp_path / "kept" / "grid", local_grid)) == []
    (refused,) = json.loads((tmp_path / "kept" / "grid" / "refused.json").read_text())
    assert refused["folder"].endswith("/run-6")
    commits = tmp_path / "kept" / "history" / "commits"
    assert [path.name for path in commits.glob("*.json")] == ["00000001.json"]


@pytest.mark.usefixtures("spark")
def test_submitted_rejudging_finds_the_same_differences(cluster: str, judged_run: SuiteRun, tmp_path: Path) -> None:
    """Executors that judge with the model in the archive find, byte for byte, what `local[*]` finds."""
    runs, archive = judged_run.folder, tmp_path / "suite.zip"
    write_archive(archive)
    job = Path(shutil.copy(spark_aggregation.rejudge_job.__file__, tmp_path / "rejudge_job.py"))
    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    with pytest.raises(SystemExit) as ended_here:
        rejudge_here([str(runs), "--out", str(here)])
    ended = submit(
        cluster,
        job,
        [runs.as_uri(), "--out", there.as_uri()],
        py_files=archive,
        settings={"spark.cores.max": str(WORKERS)},
    )
    assert (ended.returncode, ended_here.value.code) == (1, 1), ended.stderr
    assert there.read_bytes() == here.read_bytes()
    assert here.read_bytes()
