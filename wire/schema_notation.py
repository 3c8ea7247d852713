"""Short notation for message schemas that are written in this project; they become what Kafka's JSON files contain."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import cleandoc
from typing import Any

from wire.header_versions import HEADER_VERSIONS
from wire.message_schemas import Api


def api(text: str) -> Api:
    """Return an API.

    Args:
        text: a line with its key, name, versions and flexible versions, then "request" and "response" with their fields. The
            line may end with the header versions of its requests. A field is a line with its name, type and versions in
            Kafka's notation, and further keys, where "nullable" stands for "nullableVersions". The fields of its elements
            come after it, indented by four spaces more.
    """
    first, *lines = cleandoc(text).splitlines()
    key, name, *ranges = first.split()
    common = {"apiKey": int(key), "validVersions": ranges[0], "flexibleVersions": ranges[1]}
    stated = {HEADER_VERSIONS: _pairs(ranges[2:], ":")} if ranges[2:] else {}
    path: list[dict[str, Any]] = [{}]
    for line in lines:
        words = line.split()
        described = dict(zip(("name", "type", "versions"), words, strict=False))
        del path[1 + (len(line) - len(line.lstrip())) // 4 :]
        path[-1].setdefault("fields", []).append(described | _pairs(words[3:], "="))
        path.append(path[-1]["fields"][-1])
    request, response = (each.get("fields", []) for each in path[0]["fields"])
    return Api(
        request_schema={"name": f"{name}Request", **common, **stated, "fields": request},
        response_schema={"name": f"{name}Response", **common, "fields": response},
    )


def _pairs(words: Sequence[str], separator: str) -> dict[str, str]:
    named = (word.replace("nullable=", "nullableVersions=") for word in words)
    return dict(word.split(separator) for word in named)
