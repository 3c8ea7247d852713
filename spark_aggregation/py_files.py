"""Writes the job scripts and the archive of packages that `spark-submit` needs.

    kafka-conformance py-files FOLDER

Packing the same sources again produces the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import copyfile
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import click

from reports.command_line.suite_command import CannotWork, SuiteCommand

PACKAGES = ("clauses", "proposals", "reference_model", "reports", "spark_aggregation", "wire")
ARCHIVE = "suite.zip"
SCRIPTS = ("job.py", "rejudge_job.py", "request_logs_job.py")
_SUFFIXES = (".py", ".toml", ".csv", ".json", ".properties")
_ROOT = Path(__file__).parents[1]


def _sources() -> Iterator[Path]:
    for package in PACKAGES:
        for path in sorted((_ROOT / package).rglob("*")):
            if path.suffix in _SUFFIXES and "tests" not in path.parts[len(_ROOT.parts) :]:
                yield path


def write_archive(archive: Path) -> None:
    """Write the archive, replacing an existing one."""
    with ZipFile(archive, "w", ZIP_DEFLATED) as packed:
        for path in _sources():
            # An entry without an explicit time gets the earliest one that the format allows.
            entry = ZipInfo(path.relative_to(_ROOT).as_posix())
            packed.writestr(entry, path.read_bytes(), compress_type=ZIP_DEFLATED)


@click.command(cls=SuiteCommand, name="py-files")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def command(folder: Path) -> None:
    """Write what spark-submit needs into FOLDER: suite.zip for --py-files, and the scripts that it starts."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_archive(folder / ARCHIVE)
        for script in SCRIPTS:
            copyfile(Path(__file__).with_name(script), folder / script)
    except OSError as error:
        raise CannotWork(f"{error.filename or folder}: {error.strerror}") from error


if __name__ == "__main__":
    command(prog_name="kafka-conformance py-files")
