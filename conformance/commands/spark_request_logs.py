"""Request logs that a Spark job reads, for `watch`."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from conformance.commands.spark_jobs import spark_job
from conformance.watch.listed_versions import Tables
from conformance.watch.request_logs import add_counted
from conformance.watch.sightings import Sightings
from wire.request_log_counts import LogCounts


def read_request_logs_with_spark(
    uris: Sequence[str], sightings: Sightings, *, tables: Tables | None = None
) -> list[str]:
    """Read request logs into sightings, as `conformance.watch.request_logs.read_request_logs` does with files.

    Args:
        uris: files, folders or patterns on any file system that Hadoop knows.
        sightings: gets the requests.
        tables: gets the tables of versions that the brokers answered.

    Returns:
        Sentences about what the logs cannot show, and what was not read.

    Raises:
        NotInstalled: the packages that Spark needs are not installed.
        SystemExit: the job has failed and said why; with its exit status.
    """
    job = spark_job("request_logs_job", *uris)
    finished = subprocess.run(job, stdout=subprocess.PIPE, check=False, encoding="utf-8")
    if finished.returncode:
        raise SystemExit(finished.returncode)
    counts = LogCounts.from_json(finished.stdout.splitlines()[-1])
    return add_counted(counts, sightings, tables=tables)
