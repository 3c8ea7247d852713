"""The client id in the headers of a client's requests: bytes that the rule allows, and bytes that it does not."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reference_model.clients.rules.oracle import forbidden_moves
from reference_model.clients.rules.software_rules import OLD_ENCODING
from reference_model.clients.scripts.reading import read_request
from reference_model.clients.scripts.recording import SeenRequest
from tests.reference_model.clients.recordings import recorded
from wire.api_keys import API_VERSIONS_KEY, METADATA_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION, ApiVersionsRequest
from wire.codec import encode
from wire.headers import RequestHeader, request_header_version
from wire.primitives import write_compact_nullable_string

METADATA_BODY = bytes.fromhex("00 01 00 00")


def seen_with(
    client_id: str | None, version: int, *, api_key: int = API_VERSIONS_KEY, compact: bool = False
) -> SeenRequest:
    """Return a request as the suite reads it."""
    about_versions = api_key == API_VERSIONS_KEY
    header = RequestHeader(
        request_api_key=api_key, request_api_version=version, correlation_id=0, client_id=client_id
    )
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
