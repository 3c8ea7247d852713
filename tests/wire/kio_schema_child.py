"""A program that reads messages of any API with kio and writes them again.

Input and output are JSON lines.

It runs in its own process because kio's native reader may abort. A case is an API's name, a version, "request" or
"response", and bytes in hexadecimal; the answer to one that kio does not know is null.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
from typing import Any

from kio.serial import entity_reader, entity_writer


def main() -> None:
    """Answer cases until the input ends."""
    for line in sys.stdin:
        try:
            answer = _result(*json.loads(line))
        except Exception as error:  # noqa: BLE001 - whatever kio says is the answer
            answer = repr(error)
        sys.stdout.write(json.dumps(answer) + "\n")


def _result(name: str, version: int, half: str, data: str) -> Any:
    """Return where kio's reading ends, and what it writes; None if it does not know the message."""
    try:
        module = importlib.import_module(f"kio.schema.{name}.v{version}.{half}")
    except ModuleNotFoundError:
        return None
    entity_class = getattr(module, f"{name.title().replace('_', '')}{half.title()}")
    entity, end = entity_reader(entity_class)(bytes.fromhex(data), 0)
    written = io.BytesIO()
    entity_writer(entity_class)(written, entity)
    return [end, written.getvalue().hex()]


if __name__ == "__main__":
    main()
