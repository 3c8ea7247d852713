"""Packs the parts of the suite that the roll-up needs into one archive for `spark-submit --py-files`.

    python -m spark_aggregation.py_files suite.zip

Packing the same sources again produces the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import click

PACKAGES = ("clauses", "reference_model", "reports", "spark_aggregation", "wire")
_SUFFIXES = (".py", ".toml", ".csv", ".json", ".properties")
_ROOT = Path(__file__).parents[1]


def _sources() -> Iterator[Path]:
    for package in PACKAGES:
        for path in sorted((_ROOT / package).rglob("*")):
            if path.suffix in _SUFFIXES:
                yield path


def write_archive(archive: Path) -> None:
    """Write the archive, replacing an existing one."""
    with ZipFile(archive, "w", ZIP_DEFLATED) as packed:
        for path in _sources():
            # An entry without an explicit time gets the earliest one that the format allows.
            entry = ZipInfo(path.relative_to(_ROOT).as_posix())
            packed.writestr(entry, path.read_bytes(), compress_type=ZIP_DEFLATED)


@click.command(name="spark_aggregation.py_files")
@click.argument("archive", type=click.Path(path_type=Path, dir_okay=False))
def command(archive: Path) -> None:
    """Write ARCHIVE: the packages that the roll-up needs, for spark-submit --py-files."""
    write_archive(archive)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command. `argv` excludes the program's name; None means this process's own arguments."""
    command.main(args=None if argv is None else list(argv))


if __name__ == "__main__":
    main()
