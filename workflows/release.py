"""Checks that tag, version, changelog and address agree; writes release notes.

python -m workflows.release v0.1.0 --notes notes.md
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import click

from reports.command_line.suite_command import CannotWork, SuiteCommand
from workflows.documents.project_address import PLACEHOLDER, project_repository

REPOSITORY = Path(__file__).parent.parent
_HEADING = re.compile(r"^## (?P<version>\S+)(?: \((?P<date>.+)\))?$", re.MULTILINE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def version_in(pyproject: str) -> str:
    """Return the version of the distribution, which stands in `pyproject.toml` alone."""
    version: str = tomllib.loads(pyproject)["project"]["version"]
    return version


def notes_of(version: str, changelog: str) -> str:
    """Return what the changelog says about a version.

    Raises:
        CannotWork: its newest version is another one, or has no date.
    """
    headings = list(_HEADING.finditer(changelog))
    newest = headings[0] if headings else None
    if newest is None or newest["version"] != version:
        newest_version = newest["version"] if newest else "none"
        raise CannotWork(f"the newest version in CHANGELOG.md is {newest_version}, not {version}")
    if not _DATE.fullmatch(newest["date"] or ""):
        raise CannotWork(f"CHANGELOG.md gives no date for {version}: write ## {version} (YYYY-MM-DD)")
    end = headings[1].start() if len(headings) > 1 else len(changelog)
    return changelog[newest.end() : end].strip() + "\n"


@click.command(cls=SuiteCommand, name="workflows.release")
@click.argument("tag")
@click.option("--notes", type=click.Path(path_type=Path), required=True, help="file for the notes of it")
def main(tag: str, notes: Path) -> None:
    """Check that TAG is the version of the distribution, and write its part of the changelog."""
    version = version_in((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    if tag != f"v{version}":
        raise CannotWork(f"the tag is {tag}, and the version in pyproject.toml {version}")
    if PLACEHOLDER in project_repository():
        raise CannotWork(
            f"[project.urls] in pyproject.toml has {PLACEHOLDER}: write who owns the repository there, and run "
            "`python -m workflows.documents`"
        )
    changelog = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    notes.write_text(notes_of(version, changelog), encoding="utf-8")


if __name__ == "__main__":
    main()
