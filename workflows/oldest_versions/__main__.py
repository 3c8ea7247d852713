"""Finds the oldest version of each library that works with a release.

    python -m workflows.oldest_versions LIBRARY ... [--broker RELEASE] ... [--out FOLDER]

The versions are those that the library's registry has; of PyPI, those with a wheel for this Python. The newest is
tried first, then the oldest, and between one that fails and one that works it is searched by halving, so at most
`MAX_TRIED` are tried. A version works if each of `TRIED` does that its driver has, and if records that are to be
compressed are. What fails is tried a second time; if it works then, nothing is concluded. Exit status: 0, and 10 if
something could not be told.

The folder has the results in oldest-versions.json, and the document that follows from them. A library that is
measured again with a release replaces its row.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import click

from clauses.exit_statuses import NOT_JUDGED
from conformance.commands.errors import CouldNotTell, UnknownName, reported_as
from conformance.commands.needs import release_bench
from fixtures.client_processes.installation import installed
from fixtures.client_processes.published_versions import published_versions
from fixtures.errors import ArtefactUnavailable, ClientNotInstallable, HarnessError, UnknownClient
from fixtures.launchers import launch
from fixtures.registry.clients import AT_VERSION, select_clients
from fixtures.scripted_broker.playing import PlayPool
from reports.command_line.distribution import suite_commit
from reports.command_line.suite_command import SuiteCommand
from reports.document.markdown_form import markdown
from upgrade.prediction.releases import NoSuchRelease, Release, recorded_targets, release_named
from workflows.oldest_versions.document import DOCUMENT, document_of, write_document
from workflows.oldest_versions.results import DATA_FILE, Oldest, Tried, read_found, write_found
from workflows.oldest_versions.searching import MAX_SAID, oldest_of, tried_on

PROCESSES = 2
DEFAULT_RELEASES = ("apache-kafka-4.0.2", "apache-kafka-4.4.0")
INSTALLATION = "installation"
"""Stands for an operation: the library could not be installed, or its driver not be built with it."""


def _searched(library: str, release: Release, pool: PlayPool) -> Oldest:
    """Install and try versions of a library with a running release."""
    with launch(recorded_targets()[release.id], "auto") as running:

        def try_(version: str) -> Tried:
            (client,) = select_clients([f"{library}{AT_VERSION}{version}"])
            try:
                tried = tried_on(release_bench(release, running, client, installed(client), pool), version)
            except ClientNotInstallable:
                raise
            except ArtefactUnavailable as error:
                words = str(error).splitlines()[-1].strip()[:MAX_SAID]
                tried = Tried(version=version, failures={INSTALLATION: words}, is_driven=False)
            click.echo(f"{client.id} with {release.id}: {tried.unclear or tried.failures or 'works'}", err=True)
            return tried

        (any_version,) = select_clients([f"{library}{AT_VERSION}0"])
        found = oldest_of(library, release.id, published_versions(any_version), try_)
        return replace(found, day=datetime.now(UTC).date().isoformat(), commit=suite_commit() or "")


@click.command(cls=SuiteCommand, name="workflows.oldest_versions")
@click.argument("libraries", metavar="LIBRARY...", nargs=-1, required=True)
@click.option("--broker", "releases", multiple=True, default=DEFAULT_RELEASES, show_default=True, metavar="RELEASE")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help=f"a folder: what was found is added to its {DATA_FILE}, and {DOCUMENT} written",
)
def main(libraries: tuple[str, ...], releases: tuple[str, ...], out: Path | None) -> None:
    """Find the oldest version of each LIBRARY that works with each release."""
    found: list[Oldest] = []
    with (
        reported_as(UnknownName, UnknownClient, NoSuchRelease),
        reported_as(CouldNotTell, HarnessError),
        closing(PlayPool(PROCESSES)) as pool,
    ):
        chosen = [release_named(each) for each in releases]
        for library in libraries:
            select_clients([f"{library}{AT_VERSION}0"])
        for library, release in product(libraries, chosen):
            found.append(_searched(library, release, pool))
            if out is not None:
                # At once: what follows takes minutes, and may end in an error.
                write_found([*read_found(out), found[-1]], out)
                write_document(out)
    click.echo(markdown(document_of(found)), nl=False)
    raise SystemExit(NOT_JUDGED if any(each.unclear for each in found) else 0)


if __name__ == "__main__":
    main()
