"""A program that reads messages of any API with kio and writes them again: JSON lines in and out.

It runs in its own process because kio's native reader may abort. The first line it writes lists every
message that kio knows: API key, version, "request" or "response", and module.
"""

from __future__ import annotations

import importlib
import io
import json
import pkgutil
import re
import sys
from collections.abc import Iterator
from typing import Any

import kio.schema
from kio.serial import entity_reader, entity_writer


def main() -> None:
    """Answer cases until the input ends."""
    _answer(list(_messages()))
    for line in sys.stdin:
        case = json.loads(line)
        try:
            _answer(_result(*case))
        except Exception as error:  # noqa: BLE001 - whatever kio says is the answer
            _answer({"error": repr(error)})


def _answer(answer: Any) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _messages() -> Iterator[tuple[int, int, str, str]]:
    for package in pkgutil.iter_modules(kio.schema.__path__, "kio.schema."):
        if not package.ispkg:
            continue
        for version in pkgutil.iter_modules(importlib.import_module(package.name).__path__):
            number = re.fullmatch(r"v(\d+)", version.name)
            for half in ("request", "response"):
                path = f"{package.name}.{version.name}.{half}"
                try:
                    module = importlib.import_module(path)
                except ModuleNotFoundError:
                    continue
                found = _message_class(module, half)
                if number is not None and found is not None:
                    yield int(found.__api_key__), int(number[1]), half, path


def _message_class(module: Any, half: str) -> Any:
    """Return a message's class, which is named after the API; None if there is none."""
    api = module.__name__.split(".")[-3]
    return getattr(module, f"{api.title().replace('_', '')}{half.title()}", None)


def _result(path: str, data: str) -> dict[str, Any]:
    entity_class = _message_class(importlib.import_module(path), path.rpartition(".")[2])
    entity, end = entity_reader(entity_class)(bytes.fromhex(data), 0)
    written = io.BytesIO()
    entity_writer(entity_class)(written, entity)
    return {"end": end, "hex": written.getvalue().hex()}


if __name__ == "__main__":
    main()
