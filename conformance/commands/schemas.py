"""`schemas check`: whether Kafka's message schema files follow the rules of KIP-1313 for their property `headerVersions`."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from conformance.commands.errors import InvalidFile
from fixtures.artefacts.message_schemas import read_schema, schema_names
from reports.escaping import printable
from reports.verdict_labels import counted
from wire.header_versions import HEADER_VERSIONS, REQUEST, RESPONSE, kind_of, problems_in

SUFFIX = ".json"


@click.group()
def schemas() -> None:
    """Commands about Kafka's message schema files."""


@schemas.command()
@click.argument(
    "paths",
    metavar="PATH...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True),
)
def check(paths: tuple[Path, ...]) -> None:
    """Check the property `headerVersions` of message schemas by the rules of KIP-1313, a proposal.

    PATH is a schema file, a folder of them, or a jar such as kafka-clients. The exit status is 1 if a schema violates a rule.
    A schema without the property has the headers that Kafka derives today, and violates none.
    """
    checked, stated, problems = 0, 0, 0
    for where, schema in (each for path in paths for each in _schemas_in(path)):
        if kind_of(schema) not in (REQUEST, RESPONSE):
            continue
        checked += 1
        stated += HEADER_VERSIONS in schema
        for problem in problems_in(schema):
            problems += 1
            click.echo(printable(f"{where}: {problem}"))
    if not checked:
        raise InvalidFile("there is no schema of a request or response")
    click.echo(
        f"{counted(checked, 'schema')} of requests and responses, {stated} with {HEADER_VERSIONS}: "
        f"{counted(problems, 'problem')}"
    )
    raise SystemExit(1 if problems else 0)


def _schemas_in(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the name of each schema and the schema."""
    for name, text in _texts_in(path):
        try:
            schema = read_schema(text)
        except json.JSONDecodeError as error:
            raise InvalidFile(f"{name}: is no JSON, even without its comments: {error}") from error
        if not isinstance(schema, dict):
            raise InvalidFile(f"{name}: is no object, so it is no message schema")
        missing = [key for key in ("apiKey", "validVersions") if key not in schema]
        if kind_of(schema) in (REQUEST, RESPONSE) and missing:
            raise InvalidFile(
                f"{name}: has no {missing[0]}, so it is no schema of a request or response"
            )
        yield name, schema


def _texts_in(path: Path) -> list[tuple[str, str]]:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return [(name, archive.read(name).decode()) for name in schema_names(archive)]
    files = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
    try:
        return [(str(file), file.read_text(encoding="utf-8")) for file in files]
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{path}: is no text in UTF-8, and no jar") from error
