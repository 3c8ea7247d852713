"""`corpus`: lists the stored inputs, and adds to them."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.commands.errors import InvalidFile, UnknownName, reported_as
from conformance.corpus.entries import (
    CORPUS_FOLDER,
    MAX_ENTRY_BYTES,
    CorpusEntry,
    InvalidCorpus,
    add_entries,
    format_entry,
    load_corpus,
)
from conformance.failures.stored_failures import NoStoredFailure, read_failure
from reference_model.judging.stored_inputs import cut_frames
from strategies.broken_requests import UNASSIGNED_KEYS
from wire.api_keys import API_VERSIONS_KEY
from wire.exchange import Request
from wire.frames import SIZE_BYTES

PINNED_FILE = "pinned_examples.toml"
HEADER = """# The bytes of every pinned example that is about ApiVersions; `kafka-conformance corpus pin` writes this file.

"""


FOUND_FILE = "found_failures.toml"


def pinned_entries() -> tuple[CorpusEntry, ...]:
    """Return an entry for the bytes of each pinned example, in the order of files and tests."""
    # Only `pin` needs them, and they take half a second.
    from conformance.mutation.properties import properties_in  # noqa: PLC0415
    from conformance.roles.broker import BrokerRole  # noqa: PLC0415

    entries: dict[bytes, CorpusEntry] = {}
    for judged in properties_in(BrokerRole.folder):
        for number, values in enumerate(judged.pinned, start=1):
            requests = [request for value in values.values() for request in _requests_in(value)]
            data = b"".join(request.data for request in requests)
            if data not in entries and is_storable(data):
                entries[data] = CorpusEntry(
                    name=f"{judged.name.removeprefix('test_').replace('_', '-')}-{number}",
                    origin=f"pinned example of {judged.name}",
                    data=data,
                )
    return tuple(entries.values())


def _requests_in(value: object) -> tuple[Request, ...]:
    if isinstance(value, Request):
        return (value,)
    if isinstance(value, list | tuple):
        return tuple(request for each in value for request in _requests_in(each))
    return ()


def is_storable(data: bytes) -> bool:
    """Return whether bytes are about ApiVersions alone: requests of other APIs may change a target's state."""
    keys = {request.api_key for request in cut_frames(data).complete if len(request.data) >= SIZE_BYTES + 2}
    others = {key for key in keys if key >= 0 and key not in UNASSIGNED_KEYS} - {API_VERSIONS_KEY}
    return 0 < len(data) <= MAX_ENTRY_BYTES and not others


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
    """Store the bytes sent in found failures, unless the corpus has them already.

    `python -m workflows.vectors --add FAILURE` makes a failure a vector instead.
    """
    with reported_as(InvalidFile, InvalidCorpus), reported_as(UnknownName, NoStoredFailure):
        entries = [entry for folder in folders for entry in read_failure(folder).entries()]
        added = add_entries(CORPUS_FOLDER / FOUND_FILE, entries)
    for entry in added:
        click.echo(f"added {entry.name}: {len(entry.data)} bytes")
    click.echo(f"{len(added)} of {len(entries)} inputs were new")


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
    unfinished.write_text(HEADER + "\n".join(map(format_entry, new)), encoding="utf-8")
    unfinished.replace(CORPUS_FOLDER / PINNED_FILE)
    click.echo(f"{len(others) + len(new)} entries, {len(new)} of them written from pinned examples")


def _loaded(*, without: str = "") -> tuple[CorpusEntry, ...]:
    with reported_as(InvalidFile, InvalidCorpus):
        return load_corpus(CORPUS_FOLDER, without=without)
