"""Tests of what a scripted broker serves before it has sent a table.

It serves the steps of SASL in their order, and the versions of its table.
"""

from __future__ import annotations

import pytest

from reference_model.clients.scripts.script import (
    EMPTY,
    Answer,
    Script,
    Table,
    all_connections,
    one_node,
)
from strategies.cluster_scripts import broker_of, connection_of
from tests.reference_model.clients.scripted_network import (
    CLOSES,
    ScriptedNetwork,
    about_versions,
    error_in,
    ids,
    metadata,
    other,
    produce,
    versions_in,
)
from wire.described_messages import SASL_AUTHENTICATE, SASL_HANDSHAKE
from wire.error_codes import ErrorCode
from wire.frames import encode_frame

TOKEN = b"\0some\0secret"


def handshake(version: int) -> bytes:
    """Return a request for PLAIN."""
    return other(SASL_HANDSHAKE, version, mechanism="PLAIN")


HANDSHAKE = handshake(1)
AUTHENTICATE = other(SASL_AUTHENTICATE, 2, auth_bytes=TOKEN)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("token", [TOKEN, b""], ids=["long", "short"])
def test_sasl_needs_a_handshake_and_one_token(version: int, token: bytes) -> None:
    """After v0 the token is bare, after v1 it is wrapped; then other requests are served."""
    network = ScriptedNetwork(Script(listener="sasl_plaintext"))
    network.send(about_versions(3))
    (write,) = network.send(other(SASL_HANDSHAKE, version, mechanism="PLAIN"))
    assert write.data[8:] == bytes.fromhex("0000 00000001 0005") + b"PLAIN"
    if version == 0:
        (accepted,) = network.send(encode_frame(token))
        assert accepted.data == bytes(4)
    else:
        (accepted,) = network.send(other(SASL_AUTHENTICATE, 2, auth_bytes=token))
        assert accepted.data[4:] == bytes.fromhex("00000008 00 0000 00 01 0000000000000000 00")
    assert ids(network.send(metadata(9))) == [8]
    keys = [(request.api_key, request.api_version) for request in network.seen()]
    assert keys == [(18, 3), (17, version), (36, 2 if version else -1), (3, 9)]
    assert all(request.is_served for request in network.seen())


@pytest.mark.parametrize(
    ("earlier", "request_"),
    [
        pytest.param([], metadata(0), id="metadata"),
        pytest.param([], AUTHENTICATE, id="token-without-a-handshake"),
        pytest.param([about_versions(0)], about_versions(3), id="versions-twice"),
        pytest.param([HANDSHAKE], metadata(0), id="metadata-after-the-handshake"),
        pytest.param([HANDSHAKE], HANDSHAKE, id="handshake-twice"),
        pytest.param([HANDSHAKE, AUTHENTICATE], HANDSHAKE, id="handshake-after-authentication"),
    ],
)
def test_steps_of_sasl_have_an_order(earlier: list[bytes], request_: bytes) -> None:
    """Whatever is not the next step closes the connection, as Kafka's authenticator does."""
    network = ScriptedNetwork(Script(listener="sasl_plaintext"))
    for each in earlier:
        assert network.send(each)[0].then == "stay"
    assert network.send(request_) == CLOSES
    assert not network.seen()[-1].is_served


def test_refused_version_can_be_followed_by_another_one_before_the_handshake() -> None:
    """ApiVersions is over only once it succeeds; releases before 1.0 answer it again even then."""
    network = ScriptedNetwork(all_connections(connection_of("3.8.1"), listener="sasl_plaintext"))
    refused, served, closed = network.send(about_versions(5), about_versions(3), about_versions(3))
    assert (error_in(refused), error_in(served), [closed]) == (35, 0, CLOSES)
    network = ScriptedNetwork(all_connections(connection_of("0.11.0.3"), listener="sasl_plaintext"))
    assert [error_in(each) for each in network.send(*2 * [about_versions(1)])] == [0, 0]


@pytest.mark.parametrize(("version", "layout"), [(3, 3), (9, 0)])
def test_versions_after_the_handshake_come_too_late(version: int, layout: int) -> None:
    """The response says ILLEGAL_SASL_STATE, in the layout of v0 if the version is not supported; then the connection
    ends."""
    network = ScriptedNetwork(Script(listener="sasl_plaintext"))
    _, write = network.send(HANDSHAKE, about_versions(version))
    assert versions_in(write, layout) == (ErrorCode.ILLEGAL_SASL_STATE, [])
    assert write.then == "close"


@pytest.mark.parametrize("asks", [0, 1], ids=["before-the-table", "after-it"])
@pytest.mark.parametrize(
    ("script", "served", "refused"),
    [
        pytest.param(broker_of("3.8.1"), metadata(12), metadata(13), id="release"),
        pytest.param(broker_of("0.10.0.1"), metadata(1), metadata(2), id="old-release"),
        pytest.param(broker_of("4.0.2"), metadata(0), produce(2), id="api-without-an-answer"),
        pytest.param(
            broker_of("0.10.2.2", listener="sasl_plaintext"),
            handshake(0),
            handshake(1),
            id="release-with-sasl",
        ),
        pytest.param(
            one_node(Answer(table=Table(changed=((3, 4, 5),)))),
            metadata(4),
            metadata(3),
            id="own-table",
        ),
    ],
)
def test_broker_serves_what_its_table_lists_before_it_was_asked(
    script: Script, served: bytes, refused: bytes, asks: int
) -> None:
    """A broker serves the same versions whether or not a client has asked for the table, and closes on any other."""
    for request, is_served in ((served, True), (refused, False)):
        network = ScriptedNetwork(script)
        for _ in range(asks):
            network.send(about_versions(0))
        (write,) = network.send(request)
        assert (write.then == "stay") is is_served
        assert network.seen()[-1].is_served is is_served


def test_broker_without_a_table_is_healthy_otherwise() -> None:
    """A script whose next response is no table says nothing about other APIs."""
    network = ScriptedNetwork(one_node(Answer(error_code=129, table=EMPTY)))
    assert network.send(metadata(13))[0].then == "stay"
