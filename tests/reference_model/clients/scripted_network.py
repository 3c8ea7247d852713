"""Requests to a scripted cluster, and what it answers, in the words of its tests."""

from __future__ import annotations

from typing import Any

from reference_model.clients.scripts.recording import Recording, SeenRequest
from reference_model.clients.scripts.script import Script
from reference_model.clients.scripts.scripted_cluster import ScriptedCluster
from reference_model.clients.scripts.scripted_connection import ScriptedConnection, Write
from wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from wire.codec import decode, encode
from wire.described_messages import METADATA
from wire.error_codes import ErrorCode
from wire.exchange import encode_request
from wire.frames import encode_frame
from wire.headers import RequestHeader
from wire.message_schemas import Api

ADDRESSES = [("127.0.0.1", 9092), ("127.0.0.1", 9093)]
NAMED = ApiVersionsRequest(client_software_name="some", client_software_version="1")


def about_versions(version: int, *, id_: int = 7, body: ApiVersionsRequest = NAMED) -> bytes:
    """Return an ApiVersions request."""
    header = RequestHeader(request_api_key=18, request_api_version=version, correlation_id=id_, client_id="me")
    return encode_request(header, body).data


def other(api: Api, version: int, *, id_: int = 8, **fields: Any) -> bytes:
    """Return a request of another API."""
    header = RequestHeader(
        request_api_key=api.api_key,
        request_api_version=version,
        correlation_id=id_,
        client_id="me",
    )
    start = encode(header, version=api.request_header_version(version))
    return encode_frame(start + encode(api.request(**fields), version=version))


def metadata(version: int, *, id_: int = 8) -> bytes:
    """Return a request for the metadata of all topics."""
    return other(METADATA, version, id_=id_)


def produce(version: int = 3) -> bytes:
    """Return a request that no scripted broker can answer."""
    return encode_frame(bytes.fromhex(f"0000 {version:04x} 00000009 ffff 00"))


class ScriptedNetwork:
    """A cluster, and a connection to its first node."""

    def __init__(self, script: Script) -> None:
        self.cluster = ScriptedCluster(script, ADDRESSES[: len(script.nodes)])
        self.connection = self.cluster.connect(0, 0)

    def reconnect(self, now_ms: int = 0, node: int = 0) -> ScriptedConnection:
        """Open another connection, which `send` then uses."""
        self.connection = self.cluster.connect(node, now_ms)
        return self.connection

    def send(self, *frames: bytes, now_ms: int = 0) -> list[Write]:
        """Send bytes at once; return what the broker does."""
        return self.connection.receive_data(b"".join(frames), now_ms)

    def seen(self, duration_ms: int = 60_000) -> tuple[SeenRequest, ...]:
        """Return the requests of the recording."""
        return self.recording(duration_ms).requests

    def recording(self, duration_ms: int = 60_000) -> Recording:
        """Return the recording."""
        return self.cluster.recording(duration_ms=duration_ms)


def ids(writes: list[Write]) -> list[int]:
    """Return the correlation ids of writes that are one frame each."""
    return [int.from_bytes(write.data[4:8]) for write in writes if write.data]


def error_in(write: Write) -> int:
    """Return the error code of an ApiVersions response."""
    return int.from_bytes(write.data[8:10])


def versions_in(write: Write, version: int) -> tuple[ErrorCode, list[tuple[int, int, int]]]:
    """Return the error code and the entries of an ApiVersions response."""
    body = decode(ApiVersionsResponse, write.data[8:], version=version)
    entries = [(each.api_key, each.min_version, each.max_version) for each in body.api_keys]
    return body.error_code, entries


def metadata_in(write: Write, version: int) -> Any:
    """Return the body of a Metadata response."""
    header = 4 + 4 + METADATA.response_header_version(version)
    return decode(METADATA.response, write.data[header:], version=version)


CLOSES = [Write(then="close")]
