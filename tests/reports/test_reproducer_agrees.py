"""A client failure's reproducer writes the bytes that the scripted broker wrote."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args

import pytest

from reference_model.clients.scripts.script import (
    ITSELF,
    Answer,
    ConnectionScript,
    LoginRefusal,
    NodeScript,
    Script,
    Table,
    all_connections,
    one_node,
)
from reference_model.clients.scripts.scripted_cluster import ScriptedCluster
from reference_model.clients.scripts.scripted_connection import ScriptedConnection, Write
from strategies.api_versions import build_request
from strategies.cluster_scripts import broker_of
from tests.reports.test_client_reproducer import core_of, failure_of
from wire.api_versions import ApiVersionsRequest
from wire.codec import encode
from wire.described_messages import (
    DESCRIBE_CLUSTER,
    FIND_COORDINATOR,
    METADATA,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
)
from wire.error_codes import ErrorCode
from wire.frames import SIZE_BYTES, encode_frame
from wire.headers import RequestHeader
from wire.message_schemas import Api

SCRIPTS = {
    "healthy": Script(),
    "metadata-with-an-error": all_connections(ConnectionScript(metadata_error=129)),
    "unlisted-bootstrap-server": Script(nodes=(NodeScript(is_listed=False), NodeScript())),
    "old-broker": all_connections(ConnectionScript(newest_version=2)),
    "oldest-broker": all_connections(ConnectionScript(newest_version=0)),
    "own-refusal": all_connections(
        ConnectionScript(newest_version=2, refusal=Answer(error_code=35, table=Table(null=True)))
    ),
    "refusal-closes": all_connections(ConnectionScript(newest_version=2, refusal=Answer(action="close"))),
    "falls-back": one_node(Answer(error_code=35, table=ITSELF, layout=0), Answer()),
    "other-ranges": one_node(
        Answer(
            table=Table(
                base="2.8.2",
                changed=((3, 2, 5), (18, 0, 1)),
                removed=(60,),
                before=((3, 9, 1),),
                after=((10, 0, 2), (-1, -1, 3)),
                descending=True,
            )
        )
    ),
    "null": one_node(Answer(table=Table(null=True)), Answer(table=Table(null=True, claimed_count=0))),
    "counts": one_node(
        Answer(table=Table(claimed_count=5)),
        Answer(table=Table(claimed_count=2**31 - 2)),
        Answer(table=Table(claimed_count=-2)),
        Answer(table=Table(base="itself", claimed_count=1)),
        Answer(table=Table(count_bytes=b"\xce\x80\0")),
    ),
    "tag-sections": one_node(Answer(tag_section=bytes.fromhex("02 0a0161 0a0161")), Answer(tag_section=b"")),
    "copies": one_node(Answer(copies=3), Answer(copies=2, pieces=2)),
    "held-back": one_node(
        Answer(held_back=True, delay_ms=3),
        Answer(held_back=True, then="close"),
        Answer(held_back=True, action="close"),
    ),
    "held-back-before-silence": one_node(Answer(held_back=True), Answer(action="silence")),
    "unasked": all_connections(
        ConnectionScript(unasked=Answer(correlation_shift=3, pieces=2, delay_ms=9)),
        ConnectionScript(unasked=Answer(table=ITSELF, then="reset")),
        ConnectionScript(unasked=Answer(), on_open="silence"),
        ConnectionScript(unasked=Answer(), on_open="close"),
    ),
    "older-versions-are-healthy": all_connections(
        ConnectionScript(newest_version=4, answers=(Answer(error_code=42, from_version=3),)),
    ),
    "errors": one_node(
        Answer(error_code=42),
        Answer(error_code=ErrorCode.REBOOTSTRAP_REQUIRED),
        Answer(error_code=-1),
    ),
    "features": one_node(
        Answer(
            throttle_time_ms=-5,
            supported_features=(("kraft.version", 0, 1), ("", -1, 7)),
            finalized_features=(("kraft.version", 1, 1),),
            finalized_features_epoch=2**40,
            unknown_tags=((4, b""), (2**20, b"x" * 200)),
        )
    ),
    "bytes": one_node(
        Answer(body=b"\1\2\3", trailing=b"\4"),
        Answer(cut_to=5),
        Answer(flexible_header=True),
        Answer(claimed_size=7),
        Answer(correlation_shift=-1),
        Answer(layout=9),
        Answer(layout=-1),
    ),
    "ends": one_node(Answer(pieces=3, then="reset"), Answer(action="silence")),
    "reset": one_node(Answer(action="reset", delay_ms=5)),
    "silent": all_connections(ConnectionScript(on_open="silence")),
    "closes-after": all_connections(ConnectionScript(closes_after=2, cluster_id="other")),
    "nodes": Script(nodes=(NodeScript(connections=(ConnectionScript(node_ids=(7, 1)),)), NodeScript())),
    "sasl": Script(listener="sasl_plaintext"),
    **{
        f"login-refused-by-{how}": all_connections(ConnectionScript(refused_login=how), listener="sasl_plaintext")
        for how in get_args(LoginRefusal)
        if how
    },
    "other-protocol": one_node(Answer(raw=b"\x15\3\3\0\2\2F"), Answer(appended=b"HTTP")),
    "sasl-of-an-old-release": broker_of("0.10.2.2", listener="sasl_plaintext"),
    "sasl-of-a-release": broker_of("3.8.1", listener="sasl_plaintext"),
    "release": broker_of("3.8.1"),
    "release-with-features": broker_of("4.4.0"),
    "error-before-a-table": one_node(
        Answer(error_code=35, table=ITSELF, layout=0), Answer(table=Table(changed=((3, 2, 3),)))
    ),
}
ALONE = {
    f"{name}-{index}-alone": one_node(answer)
    for name in ("null", "counts", "tag-sections", "errors", "bytes")
    for index, answer in enumerate(SCRIPTS[name].answers)
}
"""Each of several answers alone, so that it is the response to every version."""
NEEDS: Mapping[int, Mapping[str, Any]] = {
    FIND_COORDINATOR.api_key: {"key": "group", "coordinator_keys": ("one", "two")},
}
Wrote = tuple[bytes, int, str]
"""What is written, how long after the write before it, and what happens to the connection then."""


def request_of(api: Api, version: int, **fields: object) -> bytes:
    """Return a request to one of the APIs that a client begins with."""
    header = RequestHeader(
        request_api_key=api.api_key,
        request_api_version=version,
        correlation_id=version,
        client_id="some",
    )
    data = encode(header, version=api.request_header_version(version))
    message = api.request(**{**NEEDS.get(api.api_key, {}), **fields})
    return encode_frame(data + encode(message, version=version))


def topics_of(version: int, *names: str) -> tuple[object, ...]:
    """Return topics as a Metadata request names them."""
    (field,) = (each for each in METADATA.request.FIELDS if each.name == "topics")
    assert field.element is not None
    return tuple(field.element(name=name) for name in names)


def requests_to_any() -> Iterator[bytes]:
    """Yield a request for every version of every API that the scripted broker serves, and some others."""
    for version in (*range(7), -1, 100):
        yield build_request(version=version).data
    for ids in ({"cluster_id": "nobody"}, {"cluster_id": "scripted-cluster-00000", "node_id": 1}):
        yield ids_request(**ids)
    for version in range(14):
        yield request_of(METADATA, version, topics=topics_of(version, "a", "bc"))
        yield request_of(METADATA, version)
    for version in range(1, 14):
        yield request_of(METADATA, version, topics=None)
    for version in range(7):
        yield request_of(FIND_COORDINATOR, version)
    for version in range(3):
        yield request_of(DESCRIBE_CLUSTER, version)
    yield encode_frame(bytes.fromhex("0001 0004 00000001 ffff"))


def ids_request(**ids: object) -> bytes:
    """Return an ApiVersions request with the ids of KIP-1242."""
    header = RequestHeader(request_api_key=18, request_api_version=5, correlation_id=1)
    body = ApiVersionsRequest(client_software_name="a", client_software_version="1", **ids)  # type: ignore[arg-type]
    return encode_frame(encode(header, version=2) + encode(body, version=5))


def sasl_requests() -> Iterator[bytes]:
    """Yield authentications, two that are complete and some in a wrong order."""
    token = encode_frame(b"\0user\0password")
    hands = [request_of(SASL_HANDSHAKE, version, mechanism="PLAIN") for version in (0, 1)]
    wrapped = [request_of(SASL_AUTHENTICATE, version, auth_bytes=b"\0user\0password") for version in range(3)]
    asked = build_request(version=0).data
    yield from (hands[0], token, asked)
    yield from (hands[1], *wrapped)
    yield from (asked, asked, hands[1], asked)
    yield from (hands[1], build_request(version=100).data)
    yield from (hands[1], hands[1], wrapped[0], hands[1], wrapped[2], asked, hands[1])


@cache
def written_by_suite(script: Script) -> Sequence[list[Wrote]]:
    """Return what the scripted broker writes to all requests of this module."""
    return list(_written_by_suite(script))


def _written_by_suite(script: Script) -> Iterator[list[Wrote]]:
    """Yield what it writes as each connection opens, and after each request; it is opened again after a close."""
    cluster = ScriptedCluster(script, _addresses(script))
    opened: ScriptedConnection | None = None
    for data in every_request():
        if opened is None:
            opened = cluster.connect(0, 0)
            yield _plain(opened.opening)
        writes = _plain(opened.receive_data(data, 0))
        yield writes
        if any(then != "stay" for _, _, then in (*_plain(opened.opening), *writes)):
            opened = None


def written_by_reproducer(script: Script) -> Iterator[list[Wrote]]:
    """Yield what the reproducer writes, in the same way."""
    core = core_of(failure_of(script))
    scripts = core["DATA"]["nodes"][0]
    opened: Any = None
    number = 0
    for data in every_request():
        if opened is None:
            opened = core["Connection"](number, 0, scripts[min(number, len(scripts) - 1)])
            number += 1
            opening = opened.opening()
            closes = opened.script.get("on_open") == "close"
            yield [*opening, (b"", 0, "close")] if closes else opening
        ended = closes or any(then != "stay" for _, _, then in opening)
        writes = [] if ended else opened.respond(data[SIZE_BYTES:], _addresses(script))[0]
        yield writes
        if ended or any(then != "stay" for _, _, then in writes):
            opened = None


def _addresses(script: Script) -> list[tuple[str, int]]:
    return [("127.0.0.1", 9092 + node) for node in range(len(script.nodes))]


def _plain(writes: Sequence[Write]) -> list[Wrote]:
    return [(write.data, write.delay_ms, write.then) for write in writes]


@cache
def every_request() -> Sequence[bytes]:
    """Return all requests of this module, some twice, because later answers of a connection differ."""
    return [*requests_to_any(), *sasl_requests(), *requests_to_any()]


@pytest.mark.parametrize("script", [*SCRIPTS.values(), *ALONE.values()], ids=[*SCRIPTS, *ALONE])
def test_reproducer_writes_what_the_scripted_broker_writes(script: Script) -> None:
    """On one connection after the other, both write the same bytes before and after every request, wait and close
    alike."""
    for their, own in zip(written_by_suite(script), written_by_reproducer(script), strict=True):
        assert own == their


PARTS = (Answer, ConnectionScript, Table)
DRIVEN = {
    "nodes",
    "heals_after_ms",
    "heals_after_connections",
    "ends_after",
    "listener",
    "timeout_ms",
    "keeps_asking",
    "options",
}
"""What a script says of the cluster and of how its client is driven. Other tests are about nodes, healing and SASL;
a client that a reader starts needs no end, time, options or repetition from the script, which prints the last three."""


def without(value: Any, part: type, name: str) -> Any:
    """Return a script, or a part of one, in which a field of all parts of a type has its default value."""
    if isinstance(value, tuple):
        return tuple(without(each, part, name) for each in value)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    changes = {
        each.name: each.default
        if isinstance(value, part) and each.name == name
        else without(getattr(value, each.name), part, name)
        for each in dataclasses.fields(value)
    }
    return dataclasses.replace(value, **changes)


@pytest.mark.parametrize(
    ("part", "name"),
    [
        pytest.param(part, each.name, id=f"{part.__name__}.{each.name}")
        for part in PARTS
        for each in dataclasses.fields(part)
    ],
)
def test_no_field_of_a_script_is_forgotten(part: type, name: str) -> None:
    """For every field there is a script above in which it changes what the broker writes, so the reproducer has to
    know it."""
    assert any(
        written_by_suite(script) != written_by_suite(plain)
        for script in SCRIPTS.values()
        if (plain := without(script, part, name)) != script
    )


def test_fields_of_a_cluster_are_known() -> None:
    """A new field of a script or of a node has to be played by the reproducer, or be named here."""
    assert {each.name for each in dataclasses.fields(Script)} == DRIVEN
    assert {each.name for each in dataclasses.fields(NodeScript)} == {"connections", "is_listed"}
