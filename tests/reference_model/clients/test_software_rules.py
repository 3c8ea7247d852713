"""The oracle's rules about client ids in headers and software names with SASL.

With SASL a client may send ApiVersions twice.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fixtures.under_test.in_memory_client import play_in_memory
from reference_model.clients.model.client_errors import BrokerError
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.network import HostPort
from reference_model.clients.rules.oracle import begins_below, forbidden_moves
from reference_model.clients.rules.software_rules import OLD_ENCODING, names_nothing
from reference_model.clients.scripts.reading import read_request
from reference_model.clients.scripts.recording import Recording, SeenRequest
from reference_model.clients.scripts.script import Answer, Script
from reference_model.profiles.listeners import SASL_PLAINTEXT
from tests.reference_model.clients.recordings import asked, listing, recorded, sent
from wire.api_keys import API_VERSIONS_KEY, METADATA_KEY, SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION, ApiVersionsRequest
from wire.codec import encode
from wire.described_messages import SASL_HANDSHAKE
from wire.header_versions import request_header_version
from wire.headers import RequestHeader
from wire.primitives import write_compact_nullable_string

METADATA_BODY = bytes.fromhex("00 01 00 00")


def seen_with(
    client_id: str | None, version: int, *, api_key: int = API_VERSIONS_KEY, compact: bool = False
) -> SeenRequest:
    """Return a request as the suite reads it."""
    about_versions = api_key == API_VERSIONS_KEY
    header = RequestHeader(request_api_key=api_key, request_api_version=version, correlation_id=0, client_id=client_id)
    raw = {"client_id": write_compact_nullable_string(client_id)} if compact else None
    header_version = request_header_version(api_key, version) if about_versions else 2
    software = ApiVersionsRequest(client_software_name="model", client_software_version="1")
    body = encode(software, version=version) if about_versions else METADATA_BODY
    payload = encode(header, version=header_version, raw=raw) + body
    return read_request(payload, connection=0, at_ms=0)


CLIENT_IDS = st.none() | st.text(st.characters(codec="ascii"), max_size=300)


@given(client_id=CLIENT_IDS, version=st.integers(0, NEWEST_VERSION + 1))
@example(client_id=None, version=3)
@example(client_id="", version=5)
def test_old_encoding_is_allowed(client_id: str | None, version: int) -> None:
    """Of any client id, in ApiVersions and in other requests."""
    if version <= NEWEST_VERSION:
        assert not seen_with(client_id, version).has_compact_client_id
    assert not seen_with(client_id, version, api_key=METADATA_KEY).has_compact_client_id


@given(client_id=st.none() | st.text(st.characters(codec="ascii"), min_size=1, max_size=100))
@example(client_id="model")
def test_compact_client_id_is_found_in_api_versions(client_id: str | None) -> None:
    """Even null, because the body then begins in another place."""
    for version in range(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION + 1):
        assert seen_with(client_id, version, compact=True).has_compact_client_id


def test_compact_client_id_is_forbidden_by_its_clause_alone() -> None:
    """The body that cannot be read after it is no violation of another one."""
    for seen in (
        seen_with("model", 3, compact=True),
        seen_with("model", 12, api_key=METADATA_KEY, compact=True),
    ):
        assert seen.client_id == "model"
        found = {each.clause for each in forbidden_moves(recorded(seen))}
        assert OLD_ENCODING in found
        assert "KIP-35.client-requests-decode" not in found


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(b"\x00\x12\x00\x04\x00\x00\x00\x00", id="nothing-after-the-correlation-id"),
        pytest.param(b"\x00\x12\x00\x04\x00\x00\x00\x00\x06model\x00\xff", id="broken-body"),
        pytest.param(b"\x00\x03\x00\x0c\x00\x00\x00\x00\x7f", id="neither-encoding"),
    ],
)
def test_other_damage_is_not_taken_for_it(payload: bytes) -> None:
    """Another rule judges it."""
    assert not read_request(payload, connection=0, at_ms=0).has_compact_client_id


SASL = Script(listener=SASL_PLAINTEXT, timeout_ms=8000)
NAMED = "KIP-511.client-named-under-sasl"
UNNAMED_TABLE = listing((3, 0, 12), (18, 0, 2))


def steps(at_ms: int = 1) -> tuple[SeenRequest, ...]:
    """Return the two requests of SASL."""
    return (
        sent(1, api_key=SASL_HANDSHAKE_KEY, at_ms=at_ms),
        sent(2, api_key=SASL_AUTHENTICATE_KEY, at_ms=at_ms),
    )


def with_sasl(*requests: SeenRequest, **others: Any) -> Recording:
    """Return a recording of a client with SASL."""
    return recorded(*requests, script=SASL, **others)


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(with_sasl(asked(0), *steps(), asked(4, at_ms=2), sent(12, at_ms=3)), id="as-java-does"),
        pytest.param(with_sasl(asked(4), *steps(), sent(12, at_ms=2)), id="named-before"),
        pytest.param(
            with_sasl(asked(0), *steps(), asked(4, Answer(action="close"), at_ms=2), sent(12, at_ms=2)),
            id="named-in-a-pipeline-that-ends-unanswered",
        ),
        pytest.param(with_sasl(asked(0), *steps()), id="nothing-after-authentication"),
        pytest.param(
            with_sasl(asked(0, UNNAMED_TABLE), *steps(), sent(12, at_ms=2)),
            id="broker-takes-no-names",
        ),
        pytest.param(with_sasl(asked(0, Answer(cut_to=3)), *steps(), sent(12, at_ms=2)), id="no-table"),
    ],
)
def test_client_with_sasl_is_allowed(recording: Recording) -> None:
    """The first request for versions may have version 0 if another one follows, and the name may come first."""
    assert forbidden_moves(recording) == ()


def test_name_in_a_refused_version_does_not_count() -> None:
    """The broker did not read it, and the client did not repeat it in a version that the broker supports."""
    refused = asked(5, Answer(error_code=35, layout=0), at_ms=2)
    recording = with_sasl(asked(0), *steps(), refused, sent(12, at_ms=3))
    assert NAMED in {move.clause for move in forbidden_moves(recording)}


def test_client_that_never_names_itself_is_found_once() -> None:
    """The first request after authentication is the one that needed a name before it."""
    recording = with_sasl(asked(0), *steps(), sent(12, at_ms=2), sent(12, at_ms=3))
    (move,) = forbidden_moves(recording)
    assert (move.clause, move.request) == (NAMED, 3)
    assert str(move) == (
        "Metadata v12 on connection 0 was sent after authentication "
        "although no ApiVersions request had named the software"
    )


@pytest.mark.parametrize(
    ("requests", "is_found"),
    [
        pytest.param((asked(0), *steps(), asked(4, at_ms=2)), False, id="v0-and-then-newest"),
        pytest.param((asked(4), *steps(), asked(0, at_ms=2)), False, id="newest-and-then-v0"),
        pytest.param((asked(4), *steps()), False, id="newest-once"),
        pytest.param((asked(0), *steps()), False, id="v0-once-is-another-clause"),
        pytest.param((asked(0), *steps(), asked(3, at_ms=2)), True, id="v0-and-then-older"),
        pytest.param((asked(3), *steps()), True, id="older-once"),
        pytest.param((asked(0), asked(4, at_ms=1), *steps(2)), False, id="asked-twice-before"),
    ],
)
def test_first_version_with_sasl_is_the_newest(requests: tuple[SeenRequest, ...], is_found: bool) -> None:
    """Either of the first requests before and after authentication has to have the newest version."""
    assert bool(begins_below(with_sasl(*requests), newest=4)) is is_found


def test_model_client_asks_before_and_after_authentication() -> None:
    play = play_in_memory(SASL)
    assert play.result.outcome == "ok"
    seen = [(each.api_key, each.api_version) for each in play.recording.requests]
    assert seen == 2 * [(18, 0), (17, 1), (36, 2), (18, 5), (3, 13)]


def test_error_of_the_handshake_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that does not know the mechanism refuses the client."""
    client = ModelClient(network=None, bootstrap=HostPort("", 0))  # type: ignore[arg-type]
    response = bytes(4) + bytes.fromhex("0021 00000000")
    monkeypatch.setattr(client, "version_of", lambda link, api_key: 1)
    monkeypatch.setattr(client, "exchange", lambda *_: response)
    with pytest.raises(BrokerError, match="SASL: the broker responded with error 33"):
        client.sasl_step(None, SASL_HANDSHAKE.api_key, mechanism="PLAIN")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("versions", "words"),
    [((), ""), ((0, 3), ""), ((1,), "v1"), ((0, 1, 0), "v0 and v1")],
)
def test_client_without_a_name_is_said(versions: tuple[int, ...], words: str) -> None:
    sentence = names_nothing(recorded(*map(asked, versions)))
    assert sentence == (words and sentence)
    if words:
        assert sentence == (
            f"it sends ApiVersions {words} alone, which has no name, to a broker that supports v0 to v5: "
            "operators see its software as unknown"
        )
