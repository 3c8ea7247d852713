"""Writes the message schemas that the suite brings, from pinned jars.

    python -m workflows.message_schemas

They are those of two releases: names, types and versions, without the texts `about`, which nothing reads.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from fixtures.artefacts.schema_jars import STORED, clients_jar, read_schemas, schema_releases
from reports.command_line.suite_command import SuiteCommand
from wire.header_versions import Schema


def schemas_text(schemas: Sequence[Schema]) -> str:
    """Return the content of the file of a release: a schema in each line, in the order of their names."""
    ordered = sorted(map(_without_texts, schemas), key=lambda schema: schema["name"])
    return "[\n" + ",\n".join(json.dumps(each, separators=(",", ":")) for each in ordered) + "\n]\n"


def _without_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_texts(each) for key, each in value.items() if key != "about"}
    return [*map(_without_texts, value)] if isinstance(value, list) else value


@click.command(cls=SuiteCommand, name="workflows.message_schemas")
def main() -> None:
    """Write the file of each of the two releases, and remove other ones."""
    for path in STORED.glob("*.json"):
        path.unlink()
    STORED.mkdir(exist_ok=True)
    for release in schema_releases():
        (STORED / f"{release}.json").write_text(schemas_text(read_schemas(clients_jar(release))), encoding="utf-8")


if __name__ == "__main__":
    main()
