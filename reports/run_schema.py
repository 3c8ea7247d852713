"""The published JSON Schema of `run.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def run_schema() -> Mapping[str, Any]:
    """Return the schema, which is the file next to this module."""
    text = files("reports").joinpath("run_schema.json").read_text(encoding="utf-8")
    schema: Mapping[str, Any] = json.loads(text)
    return schema


def resolved(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a value, which may be one that several values share."""
    if "$ref" not in entry:
        return entry
    shared: Mapping[str, Any] = run_schema()["$defs"][entry["$ref"].rpartition("/")[2]]
    return shared
