"""Checks of the watching proxy when it rehearses a release on a cluster.

Each check is a function that fails if its statement is false.
"""

from __future__ import annotations

import asyncio
import struct

from tests.upgrade.watching.relay import (
    API_VERSIONS,
    HOST,
    METADATA_KEY,
    PRODUCE,
    Handler,
    asking,
    metadata,
    next_frame,
    relayed,
    request,
    response,
    serve_tables,
    start_broker,
    table,
)
from upgrade.prediction.releases import release_named
from wire.api_keys import DESCRIBE_CONFIGS_KEY, WRITE_TXN_MARKERS_KEY
from wire.api_versions import ApiVersion, ApiVersionsResponse
from wire.codec import decode, encode
from wire.error_codes import ErrorCode
from wire.frames import SIZE_BYTES


async def a_rehearsed_release_answers() -> None:
    """ApiVersions is the intersection of both tables; what the release refuses is closed after earlier responses."""
    async with relayed(serve_tables, release_named("apache-kafka-4.0.2")) as relay:
        reader, writer = await relay.connect()
        writer.write(asking(3))
        body = decode(ApiVersionsResponse, (await next_frame(reader))[8:], version=3)
        assert {each.api_key: (each.min_version, each.max_version) for each in body.api_keys} == {
            PRODUCE: (0, 11),
            METADATA_KEY: (0, 12),
            API_VERSIONS: (0, 4),
            80: (0, 0),
        }
        writer.write(request(PRODUCE, 3, number=2) + request(PRODUCE, 2, number=3))
        assert await reader.read() == response(b"", number=2)


async def nothing_comes_after_a_refused_request() -> None:
    """What a client sends after a request that the rehearsed release refuses does not reach the cluster."""
    arrived: list[int] = []

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            frame = await next_frame(reader)
            api_key, version, number = struct.unpack_from(">hhi", frame, SIZE_BYTES)
            arrived.append(api_key)
            writer.write(table(version, number=number))

    async with relayed(broker, release_named("apache-kafka-4.0.2")) as relay:
        reader, writer = await relay.connect()
        refused = request(PRODUCE, 2, b"records", number=1)
        writer.write(refused + request(METADATA_KEY, 1, number=2))
        assert await reader.read() == b""
    # One asks what the broker knows, and one stands for the refused request.
    assert arrived == [API_VERSIONS, API_VERSIONS]


async def brokers_of_several_releases_are_rehearsed() -> None:
    """Each broker is asked in a version of ApiVersions that it serves itself, as in a cluster that is being
    upgraded."""
    writers: list[asyncio.StreamWriter] = []
    second = await start_broker(serve_older, writers)
    port = int(second.sockets[0].getsockname()[1])

    async def first(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frame = await next_frame(reader)
        is_metadata = frame[SIZE_BYTES + 1] == METADATA_KEY
        writer.write(metadata(HOST, port) if is_metadata else table(0))

    async with second, relayed(first, release_named("apache-kafka-4.4.0")) as relay:
        (answer,) = await relay.ask(asking(4), address=await relay.named_broker())
        body = decode(ApiVersionsResponse, answer[8:], version=4)
        assert body.error_code is ErrorCode.NONE
        relay.writers += writers


async def a_rehearsed_release_refuses_versions() -> None:
    """A version of ApiVersions that the release does not serve is refused as the release does, in its turn."""
    async with relayed(serve_tables, release_named("apache-kafka-3.8.1")) as relay:
        reader, writer = await relay.connect()
        writer.write(request(PRODUCE, 3, number=2) + asking(4, number=3) + asking(2, number=4))
        assert await next_frame(reader) == response(b"", number=2)
        refusal = decode(ApiVersionsResponse, (await next_frame(reader))[8:], version=0)
        assert refusal.error_code is ErrorCode.UNSUPPORTED_VERSION
        assert [(each.api_key, each.max_version) for each in refusal.api_keys] == [(API_VERSIONS, 3)]
        body = decode(ApiVersionsResponse, (await next_frame(reader))[8:], version=2)
        assert body.error_code is ErrorCode.NONE


async def a_newer_release_is_rehearsed() -> None:
    """A version of ApiVersions that the cluster does not know yet is answered as the newer release answers it."""
    async with relayed(serve_tables, release_named("apache-kafka-4.4.0")) as relay:
        (answer,) = await relay.ask(asking(5))
        body = decode(ApiVersionsResponse, answer[8:], version=5)
        assert body.error_code is ErrorCode.NONE
        assert (API_VERSIONS, 5) in [(each.api_key, each.max_version) for each in body.api_keys]


def serving_table(*listed: tuple[int, int, int]) -> Handler:
    """Return how a broker answers that lists API keys, each with its lowest and highest version."""
    keys = tuple(ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in listed)
    (newest,) = (high for key, _, high in listed if key == API_VERSIONS)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            frame = await next_frame(reader)
            _, version, number = struct.unpack_from(">hhi", frame, SIZE_BYTES)
            error = ErrorCode.NONE if version <= newest else ErrorCode.UNSUPPORTED_VERSION
            body = ApiVersionsResponse(error_code=error, api_keys=keys)
            layout = version if version <= newest else 0
            writer.write(response(encode(body, version=layout), number=number))

    return serve


serve_older = serving_table((API_VERSIONS, 0, 2))
"""A broker that knows ApiVersions up to v2."""
serve_old_configs = serving_table(
    (API_VERSIONS, 0, 1),
    (METADATA_KEY, 0, 4),
    (WRITE_TXN_MARKERS_KEY, 0, 0),
    (DESCRIBE_CONFIGS_KEY, 0, 0),
)
"""List DescribeConfigs and WriteTxnMarkers as release 0.11 does, whose only versions release 4.0 refuses."""


async def what_cannot_be_rehearsed_is_known() -> None:
    """An API of which the broker and the release serve no version in common is not listed, and remembered if clients
    send it."""
    async with relayed(serve_old_configs, release_named("apache-kafka-4.0.2")) as relay:
        (answer,) = await relay.ask(asking(1))
        body = decode(ApiVersionsResponse, answer[8:], version=1)
        assert {each.api_key for each in body.api_keys} == {API_VERSIONS, METADATA_KEY}
        assert relay.proxy.not_rehearsed == {DESCRIBE_CONFIGS_KEY}


REHEARSAL_CHECKS = (
    what_cannot_be_rehearsed_is_known,
    a_rehearsed_release_answers,
    nothing_comes_after_a_refused_request,
    brokers_of_several_releases_are_rehearsed,
    a_rehearsed_release_refuses_versions,
    a_newer_release_is_rehearsed,
)
