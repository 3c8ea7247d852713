"""`corpus`: lists the stored inputs, and adds to them."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.commands.errors import InvalidFile, UnknownName
from conformance.corpus.entries import (
    CORPUS_FOLDER,
    CorpusEntry,
    InvalidCorpus,
    add_entries,
    load_corpus,
)
from conformance.corpus.pinned import PINNED_FILE, pinned_entries, pinned_file
from conformance.failures.stored_failures import NoStoredFailure, read_failure

FOUND_FILE = "found_failures.toml"


@click.group()
def corpus() -> None:
    """Maintain the stored inputs that the deep tier replays."""


@corpus.command("list")
def list_entries() -> None:
    """List the entries with their sizes and origins."""
    for entry in _loaded():
        click.echo(f"{entry.name}  {len(entry.data)} bytes  {entry.origin}")


@corpus.command()
@click.argument(
    "folders",
    metavar="RUN-FOLDER/failures/SIGNATURE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True),
)
def add(folders: tuple[Path, ...]) -> None:
    """Store the bytes sent in found failures, unless the corpus has them already."""
    try:
        found = [entry for folder in folders for entry in read_failure(folder).entries()]
        added = add_entries(CORPUS_FOLDER / FOUND_FILE, found)
    except NoStoredFailure as error:
        raise UnknownName(str(error)) from error
    except InvalidCorpus as error:
        raise InvalidFile(str(error)) from error
    for entry in added:
        click.echo(f"added {entry.name}: {len(entry.data)} bytes")
    click.echo(f"{len(added)} of {len(found)} inputs were new")


@corpus.command()
def pin() -> None:
    """Write the bytes of the properties' pinned examples again."""
    others = _loaded(without=PINNED_FILE)
    stored = {entry.data for entry in others}
    new = [entry for entry in pinned_entries() if entry.data not in stored]
    taken = {entry.name for entry in others} & {entry.name for entry in new}
    if taken:
        raise InvalidFile(f"other entries already have these names: {', '.join(sorted(taken))}")
    unfinished = CORPUS_FOLDER / f"{PINNED_FILE}.unfinished"
    unfinished.write_text(pinned_file(new), encoding="utf-8")
    unfinished.replace(CORPUS_FOLDER / PINNED_FILE)
    click.echo(f"{len(others) + len(new)} entries, {len(new)} of them written from pinned examples")


def _loaded(*, without: str = "") -> tuple[CorpusEntry, ...]:
    try:
        return load_corpus(CORPUS_FOLDER, without=without)
    except InvalidCorpus as error:
        raise InvalidFile(str(error)) from error
