"""A program that reads and writes messages with kio: one JSON case per input line, one answer per output line.

It runs in its own process because kio's native reader may abort. The first line it writes lists the
error codes that kio knows.
"""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import io
import json
import sys
import typing
from collections.abc import Mapping
from typing import Any

from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

_MODULES = {
    "ApiVersionsRequest": "api_versions.v{version}.request",
    "ApiVersionsResponse": "api_versions.v{version}.response",
    "RequestHeader": "request_header.v{version}.header",
    "ResponseHeader": "response_header.v{version}.header",
}
_MILLISECOND = datetime.timedelta(milliseconds=1)


def main() -> None:
    """Answer cases until the input ends."""
    _answer({"error_codes": {code.name.upper(): int(code) for code in ErrorCode}})
    for line in sys.stdin:
        try:
            _answer(_result(json.loads(line)))
        except Exception as error:  # noqa: BLE001 - whatever kio says is the answer
            _answer({"error": repr(error)})


def _answer(answer: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _result(case: Mapping[str, Any]) -> dict[str, Any]:
    path = _MODULES[case["message"]].format(version=case["version"])
    entity_class = getattr(importlib.import_module(f"kio.schema.{path}"), case["message"])
    entity, end = entity_reader(entity_class)(bytes.fromhex(case["hex"]), 0)
    written = io.BytesIO()
    entity_writer(entity_class)(written, _entity(entity_class, case["fields"]))
    return {"fields": _plain(entity), "end": end, "hex": written.getvalue().hex()}


def _entity(entity_class: Any, fields: Mapping[str, Any]) -> Any:
    """Build kio's entity from plain values."""
    values: dict[str, Any] = {}
    for name, hint in _attributes(entity_class).items():
        if name == "throttle_time":
            values[name] = fields["throttle_time_ms"] * _MILLISECOND
        elif name == "error_code":
            values[name] = ErrorCode(fields[name])
        elif typing.get_origin(hint) is tuple:
            element = typing.get_args(hint)[0]
            values[name] = tuple(_entity(element, each) for each in fields[name])
        else:
            values[name] = fields[name]
    return entity_class(**values)


def _plain(entity: Any) -> dict[str, Any]:
    """Return the plain values of kio's entity, in its order."""
    values: dict[str, Any] = {}
    for name in _attributes(type(entity)):
        value = getattr(entity, name)
        if isinstance(value, datetime.timedelta):
            values["throttle_time_ms"] = value // _MILLISECOND
        elif isinstance(value, tuple):
            values[name] = [_plain(each) for each in value]
        else:
            values[name] = int(value) if isinstance(value, ErrorCode) else value
    return values


def _attributes(entity_class: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(entity_class)
    return {each.name: hints[each.name] for each in dataclasses.fields(entity_class)}


if __name__ == "__main__":
    main()
