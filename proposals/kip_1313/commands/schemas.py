"""The command `schemas check`: KIP-1313's rules for Kafka's message schema files.

The rules are about the property `headerVersions`.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from conformance.commands.errors import InvalidFile
from fixtures.artefacts.schema_jars import read_schema, schema_names
from proposals.kip_1313.released_schemas import problems_against
from proposals.kip_1313.schema_rules import (
    JsonObject,
    SchemaProblem,
    claims_proposal,
    has_numbers_as_values,
    is_request_header,
    problems_in,
    problems_in_request_header,
    problems_together,
)
from reports.wording.escaping import printable
from reports.wording.verdict_labels import counted
from wire.header_versions import HEADER_VERSIONS, REQUEST, RESPONSE, kind_of

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
@click.option(
    "--released",
    type=click.Path(path_type=Path, exists=True),
    help="the schemas of the release before, as PATH: bodies have to be as they are there",
)
def check(paths: tuple[Path, ...], released: Path | None) -> None:
    """Check message schemas by the rules of KIP-1313, a proposal.

    The rules are about the property `headerVersions` and the schema of the request header.

    PATH is a schema file, a folder of them, or a jar such as kafka-clients. The exit status is 1 if a schema violates a
    rule. A schema without the property has the headers that Kafka derives today, and violates none. A folder or jar
    claims the proposal if a request in it states header v3, or its RequestHeader.json has that version. Then every
    request there needs a new version with header v3, except SaslHandshake, and every response the property.
    """
    before = [schema for _, schema in _schemas_in(released)] if released else []
    checked: list[Any] = []
    problems = 0
    for path in paths:
        schemas_there = list(_schemas_in(path))
        for where, problem in (*_problems_of(path, schemas_there), *problems_against(before, schemas_there)):
            problems += 1
            click.echo(printable(f"{where}: {problem}"))
        checked += [each for _, each in schemas_there if _has_rules(each)]
    if not checked:
        raise InvalidFile("there is no schema of a request or response, and none of the request header")
    for line in _summary(checked, problems):
        click.echo(line)
    raise SystemExit(1 if problems else 0)


def _has_rules(schema: Any) -> bool:
    return kind_of(schema) in (REQUEST, RESPONSE) or is_request_header(schema)


def _problems_of(path: Path, schemas: list[tuple[str, Any]]) -> Iterator[tuple[str, SchemaProblem]]:
    for where, schema in schemas:
        try:
            problems = problems_in(schema)
            if is_request_header(schema) and claims_proposal(schema):
                problems += problems_in_request_header(schema)
        except ValueError as error:
            raise InvalidFile(f"{where}: {error}") from error
        yield from ((where, problem) for problem in problems)
    # A file is judged alone: others may have been left out
    if path.is_dir() or zipfile.is_zipfile(path):
        yield from problems_together(schemas)


def _summary(checked: list[Any], problems: int) -> Iterator[str]:
    messages = [each for each in checked if not is_request_header(each)]
    stated = sum(HEADER_VERSIONS in each for each in messages)
    numbers = sum(map(has_numbers_as_values, messages))
    if numbers:
        yield (
            f"{counted(numbers, 'schema')} with header versions as numbers: "
            "the text of KIP-1313 has strings, and does not say that a number is wrong"
        )
    header = ", and the request header" if len(messages) < len(checked) else ""
    yield (
        f"{counted(len(messages), 'schema')} of requests and responses, {stated} with {HEADER_VERSIONS}"
        f"{header}: {counted(problems, 'problem')}"
    )


def _schemas_in(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the name of each schema and the schema."""
    for name, text in _texts_in(path):
        try:
            schema = read_schema(text, as_object=JsonObject)
        except (json.JSONDecodeError, RecursionError) as error:
            raise InvalidFile(f"{name}: is no JSON, even without its comments: {error}") from error
        if not isinstance(schema, dict):
            raise InvalidFile(f"{name}: is no object, so it is no message schema")
        missing = [key for key in ("apiKey", "validVersions") if key not in schema]
        if kind_of(schema) in (REQUEST, RESPONSE) and missing:
            raise InvalidFile(f"{name}: has no {missing[0]}, so it is no schema of a request or response")
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
