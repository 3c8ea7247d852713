"""JSON in lines that a person can read, and that a diff shows one by one."""

from __future__ import annotations

import json
from typing import Any

MAX_LINE = 120


def json_text(value: Any, indent: str = "") -> str:
    """Return a value as JSON; an object or a list that does not fit on a line has a line for each of its parts."""
    line = json.dumps(value)
    if not isinstance(value, dict | list) or not value or len(indent) + len(line) <= MAX_LINE:
        return line
    inner = f"{indent} "
    if isinstance(value, dict):
        start, end = "{}"
        parts = [f"{json.dumps(name)}: {json_text(part, inner)}" for name, part in value.items()]
    else:
        start, end = "[]"
        parts = [json_text(part, inner) for part in value]
    return f"{start}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{end}"
