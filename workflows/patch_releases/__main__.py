"""Compares the versions that the `kafka-clients` jars of all patch releases list.

    python -m workflows.patch_releases [--jars FOLDER]

The list of releases and the jars come from Maven Central; what a jar lists, its own classes say, because old jars have
no message schemas. A patch release whose table is that of a recorded release of its line needs no target of its own:
`reference_model/profiles/patch_releases.csv` is rewritten with these. Any other has to become a target, and the command
names it.

The jars show what the schemas say. A broker may list more or less than that by its own code (Produce from v0 on since
4.0, no telemetry without a plugin), which only a recording shows.
"""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from conformance.commands.errors import CouldNotTell, reported_as
from fixtures.artefacts.java import find_java
from fixtures.artefacts.maven import (
    class_path,
    download_folder,
    fetch_from_maven_central,
    fetch_pinned,
    published_versions,
)
from fixtures.cleanup.foreign_environment import foreign_environment
from fixtures.errors import HarnessError
from fixtures.registry.targets import newest_release
from reference_model.profiles.java_requests import JAVA_CLIENT
from reference_model.profiles.profile import RECORDED_RELEASES, release_order
from reference_model.profiles.release_tables import PATCH_RELEASES_FILE, PatchRelease
from reports.command_line.suite_command import SuiteCommand
from reports.wording.verdict_labels import counted
from workflows.patch_releases.comparison import Listed, difference, recorded_equals

_CLIENTS = f"org.apache.kafka:{JAVA_CLIENT}"
_OLDEST = "0.10"
_PROGRAM = Path(__file__).with_name("ListedVersions.java")
_NEEDED = ("org.slf4j:slf4j-api:", "com.fasterxml.jackson.core:")
"""What the classes of some jars load, though it has no influence on what they list."""


def listed_versions(jars: Sequence[Path]) -> list[Listed]:
    """Return what each of several `kafka-clients` jars lists.

    Raises:
        HarnessError: there is no JDK, or the program cannot read a jar.
    """
    pinned = newest_release().artefacts
    assert pinned is not None
    needed = {name: sha256 for name, sha256 in pinned.jars.items() if name.startswith(_NEEDED)}
    libraries = class_path(fetch_pinned(needed, what="libraries of the clients"))
    # The source is short, and `java` compiles it by itself.
    done = subprocess.run(
        [find_java(), str(_PROGRAM), libraries, *map(str, jars)],
        env=foreign_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise HarnessError(f"{_PROGRAM.name} ended with exit status {done.returncode}: {done.stderr.strip()}")
    listed: list[Listed] = [{} for _ in jars]
    for place, listener, *numbers in csv.reader(done.stdout.splitlines()):
        api_key, lowest, highest = map(int, numbers)
        listed[int(place)][listener, api_key] = lowest, highest
    return listed


def _published_jars(folder: Path) -> dict[str, Path]:
    """Return the jar of each published release since 0.10.0, oldest first."""
    releases = [each for each in published_versions(_CLIENTS, folder) if each.replace(".", "").isdigit()]
    wanted = [each for each in releases if release_order(each) >= release_order(_OLDEST)]
    return {
        release: fetch_from_maven_central(f"{_CLIENTS}:{release}", folder)
        for release in sorted(wanted, key=release_order)
    }


@click.command(cls=SuiteCommand, name="workflows.patch_releases")
@click.option(
    "--jars",
    "kept_in",
    type=click.Path(path_type=Path, file_okay=False),
    help="a folder that keeps the jars for the next time; default: a temporary one",
)
def main(kept_in: Path | None) -> None:
    """Write which patch releases list the same versions as a recorded one."""
    with ExitStack() as stack, reported_as(CouldNotTell, HarnessError, OSError, RuntimeError):
        jars = _published_jars(kept_in or stack.enter_context(download_folder()))
        listed = dict(zip(jars, listed_versions(list(jars.values())), strict=True))
    equals = recorded_equals(listed, RECORDED_RELEASES)
    rows = [PatchRelease(release, same) for release, same in equals.items() if same]
    with PATCH_RELEASES_FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(PatchRelease._fields)
        writer.writerows(rows)
    click.echo(
        f"{counted(len(listed), 'release')} compared; {len(listed) - len(equals)} of them are recorded, "
        f"{len(rows)} list the same as a recorded one of their line"
    )
    for release in RECORDED_RELEASES:
        for line in difference(release, listed, RECORDED_RELEASES):
            click.echo(line)
    alone = [release for release, same in equals.items() if not same]
    if alone:
        raise CouldNotTell(
            f"no recorded release of its line lists the same: {', '.join(alone)}; add each as a target, see docs/add-a-release.md"
        )


if __name__ == "__main__":
    main()
