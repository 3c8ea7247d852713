"""A minimal Jolokia agent over HTTP that serves only the metric `connections`."""

from __future__ import annotations

import asyncio
import fnmatch
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from reference_model.client_software import Counts, Gauge

READ_PATH = "/jolokia/read/"
ATTRIBUTE = "connections"
DOMAIN = "kafka.server"
_NOT_FOUND = "javax.management.InstanceNotFoundException"


def _properties(gauge: Gauge) -> dict[str, str]:
    keys = {
        "clientSoftwareName": gauge.software.name,
        "clientSoftwareVersion": gauge.software.version,
        "listener": gauge.listener.upper(),
        "networkProcessor": gauge.network_processor,
        "type": gauge.type,
    }
    return {key: value for key, value in keys.items() if value}


def _asked_for(pattern: str, gauge: Gauge) -> bool:
    """Return whether a bean's properties match a pattern such as `kafka.server:clientSoftwareName=a,*`."""
    domain, _, wanted = pattern.partition(":")
    properties = _properties(gauge)
    named = dict(each.split("=", 1) for each in wanted.split(",") if "=" in each)
    return domain == DOMAIN and all(
        fnmatch.fnmatchcase(properties.get(key, ""), value) for key, value in named.items()
    )


def answer(path: str, counts: Counts) -> dict[str, Any]:
    """Return the response document for a path, in the format of Jolokia 2."""
    mbean, _, attribute = unquote(path.removeprefix(READ_PATH)).rpartition("/")
    request = {"mbean": mbean, "attribute": attribute, "type": "read"}
    found = {
        f"{DOMAIN}:{','.join(f'{key}={value}' for key, value in _properties(gauge).items())}": {
            ATTRIBUTE: float(number)
        }
        for gauge, number in counts.items()
        if attribute == ATTRIBUTE and _asked_for(mbean, gauge)
    }
    if found:
        return {"request": request, "value": found, "status": HTTPStatus.OK.value}
    return {
        "request": request,
        "error_type": _NOT_FOUND,
        "error": f"{_NOT_FOUND} : No MBean with pattern {mbean} found for reading attributes",
        "status": HTTPStatus.NOT_FOUND.value,
    }


async def serve_metrics(counts: Callable[[], Counts], host: str) -> asyncio.Server:
    """Serve HTTP on a free port, one request per connection; the document contains Jolokia's status."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ", 2)[1].decode()
        body = json.dumps(answer(path, counts())).encode()
        status = f"HTTP/1.1 {HTTPStatus.OK.value} {HTTPStatus.OK.phrase}\r\n"
        fields = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(status.encode() + fields.encode() + body)
        await writer.drain()
        writer.close()

    return await asyncio.start_server(handle, host, 0)
