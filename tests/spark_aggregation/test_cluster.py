"""Both jobs run unchanged on a cluster: submitted with one archive, with any Hadoop URI, and with equal results."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_aggregation.job
import spark_aggregation.rejudge_job
from reports.verify.verification import differing_rows
from spark_aggregation.py_files import write_archive
from spark_aggregation.rejudge_job import command as rejudge_here
from spark_aggregation.run_roll_up import RollUpRequest, aggregate
from tests.conformance.suite_runs import SuiteRun
from tests.spark_aggregation.histories import TARGETS, SmallRun
from tests.spark_aggregation.standalone_cluster import WORKERS, standalone_cluster, submit

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(900)]


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
        f"spark.hadoop.fs.viewfs.mounttable.all.link./{name}": folder.as_uri()
        for name, folder in folders.items()
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
def test_submitted_rejudging_finds_the_same_differences(
    cluster: str, judged_run: SuiteRun, tmp_path: Path
) -> None:
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
