"""The bytes that the reference broker sends, compared with literals."""

from __future__ import annotations

import dataclasses

import pytest

from reference_model.broker.model.state_machine import ReferenceBroker
from reference_model.broker.rules.oracle import reactions
from reference_model.broker.rules.reaction import Identity
from reference_model.broker.rules.request_parser import ParsedHeader, parse_header
from reference_model.broker.rules.responses import answer_of_other_api, response_for
from reference_model.profiles.profile import Profile, traits_of
from tests.reference_model.broker.reaction_tables import NAMES, V0, V1, V2, V3, V4, V5, V6, V99
from tests.reference_model.broker.release_lines import IDENTITY, LINES, on_every_line, profile_at
from tests.wire.golden_bytes import load_vectors
from wire.api_versions import ApiVersion, FinalizedFeatureKey, SupportedFeatureKey
from wire.described_messages import DESCRIBE_CLUSTER, METADATA
from wire.error_codes import ErrorCode
from wire.exchange import encode_request
from wire.frames import SIZE_BYTES
from wire.headers import RequestHeader
from wire.message_schemas import Api

SMALL = Profile(
    release="4.4.0",
    traits=traits_of("4.4.0"),
    api_keys=(
        ApiVersion(api_key=0, min_version=0, max_version=13),
        ApiVersion(api_key=18, min_version=0, max_version=5),
    ),
    supported_features=(
        SupportedFeatureKey(name="a", min_version=0, max_version=1),
        SupportedFeatureKey(name="b", min_version=7, max_version=33),
    ),
    finalized_features=(FinalizedFeatureKey(name="b", max_version_level=33, min_version_level=33),),
)
"""A broker whose complete answer can be written down."""


def answer_to(payload: str, profile: Profile) -> str:
    """Return the answer to one request in hexadecimal, size prefix included."""
    data = bytes.fromhex(payload)
    connection = ReferenceBroker(profile=profile, identity=IDENTITY).connect()
    connection.receive_data(len(data).to_bytes(4) + data)
    return connection.data_to_send().hex()


def _hex(text: str) -> str:
    return text.replace(" ", "")


KEYS_V0 = "00000002 0000 0000 000d 0012 0000 0005"
KEYS_V3 = "03 0000 0000 000d 00 0012 0000 0005 00"
FINALIZED = "01 08 0000000000000000 02 08 02 0262 0021 0021 00"


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        pytest.param(V0, f"00000016 00000007 0000 {KEYS_V0}", id="v0"),
        pytest.param(V1, f"0000001a 00000007 0000 {KEYS_V0} 00000000", id="v1"),
        pytest.param(V2, f"0000001a 00000007 0000 {KEYS_V0} 00000000", id="v2"),
        pytest.param(
            f"{V3} 00 {NAMES} 00",
            f"00000038 00000007 0000 {KEYS_V3} 00000000 03 00 08 02 0262 0007 0021 00 {FINALIZED}",
            id="v3-without-zero-minimum-features",
        ),
        pytest.param(
            f"{V4} 00 {NAMES} 00",
            f"0000003f 00000007 0000 {KEYS_V3} 00000000 03 00 0f 03 0261 0000 0001 00 0262 0007 0021 00 {FINALIZED}",
            id="v4",
        ),
        pytest.param(
            f"{V5} 00 {NAMES} 03 6d65 00000001 00",
            f"0000003f 00000007 0000 {KEYS_V3} 00000000 03 00 0f 03 0261 0000 0001 00 0262 0007 0021 00 {FINALIZED}",
            id="v5",
        ),
        pytest.param("0012 0000 ffffffff 0000", f"00000016 ffffffff 0000 {KEYS_V0}", id="cid-minus-1"),
        pytest.param("0012 0000 80000000 ffff", f"00000016 80000000 0000 {KEYS_V0}", id="cid-minimum"),
    ],
)
def test_success_has_its_literal_bytes(payload: str, expected: str) -> None:
    """A success is the size, the correlation id as the only header field, and a body of the request's version."""
    assert answer_to(payload, SMALL) == _hex(expected)


def test_broker_without_features_sends_no_tag() -> None:
    """Without supported or finalized features and without an epoch, a success has an empty tag section."""
    traits = dataclasses.replace(SMALL.traits, epoch_sent=False)
    bare = dataclasses.replace(SMALL, traits=traits, supported_features=(), finalized_features=())
    expected = f"0000001a 00000007 0000 {KEYS_V3} 00000000 00"
    assert answer_to(f"{V3} 00 {NAMES} 00", bare) == _hex(expected)


UNSUPPORTED = {
    "0.10.0.1": "0000000a 00000007 0023 00000000",
    "2.4.1": "00000010 00000007 0023 00000001 0012 0000 0003",
    "3.9.2": "00000010 00000007 0023 00000001 0012 0000 0004",
    "4.4.0": "00000010 00000007 0023 00000001 0012 0000 0005",
}
"""The response to an unsupported version, by the release that began with it."""


@pytest.mark.parametrize(("release", "expected"), on_every_line(UNSUPPORTED).items())
@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(f"{V6} 00", id="v6"),
        pytest.param(f"{V99} 00 ffff", id="v99"),
        pytest.param("0012 7fff 00000007 0001 61 00", id="v32767"),
        pytest.param("0012 ffff 00000007 0001 61", id="v-1"),
        pytest.param("0012 8000 00000007 0001 61", id="v-32768"),
    ],
)
def test_unsupported_version_has_its_literal_bytes(payload: str, release: str, expected: str) -> None:
    """Error 35 is a v0 body; from 2.4 on it lists ApiVersions with the release's own range."""
    assert answer_to(payload, profile_at(release)) == _hex(expected)


@pytest.mark.parametrize(
    ("payload", "release", "expected"),
    [
        pytest.param(f"{V3} 00 01 0231 00", "2.4.1", "0000000c 00000007 002a 01 00000000 00", id="42-v3-2.4.1"),
        pytest.param(f"{V3} 00 01 0231 00", "4.4.0", "0000000c 00000007 002a 01 00000000 00", id="42-v3-4.4.0"),
        pytest.param(f"{V4} 00 02 5f 01 00", "3.9.2", "0000000c 00000007 002a 01 00000000 00", id="42-v4"),
        pytest.param(f"{V5} 00 {NAMES} 00 00000001 00", "4.4.0", "0000000c 00000007 002a 01 00000000 00", id="42-v5"),
        pytest.param(f"{V5} 00 {NAMES} 03 6d66 00000001 00", "4.4.0", "0000000c 00000007 0081 01 00000000 00", id="129-v5"),
    ],
)  # fmt: skip
def test_refusal_has_its_literal_bytes(payload: str, release: str, expected: str) -> None:
    """Errors 42 and 129 have a body of the request's version: empty table, no throttle time, no tags."""
    assert answer_to(payload, profile_at(release)) == _hex(expected)


def test_literals_are_those_of_the_golden_vectors() -> None:
    """The error bytes above are the ones that Kafka's own classes wrote."""
    golden = {each["hex"] for each in load_vectors("broker-error-answers.json")["answers"]}
    assert golden >= {
        *(frame.partition(" ")[2] for frame in UNSUPPORTED.values()),
        "00000007 002a 01 00000000 00",
        "00000007 0081 01 00000000 00",
    }


@pytest.mark.parametrize("release", LINES)
def test_success_lists_the_recorded_table_at_every_version(release: str) -> None:
    """Every supported version lists the complete table that the release's broker returned."""
    profile = profile_at(release)
    for version in range(profile.traits.api_versions_max + 1):
        rest = f"00 {NAMES}" if version >= 3 else ""
        rest += " 00 ffffffff" if version == 5 else ""
        payload = bytes.fromhex(f"0012 {version:04x} 00000007 0000 {rest} 00")
        (reaction,) = reactions(payload, profile, IDENTITY)
        response = response_for(reaction, profile)
        assert response.error_code is ErrorCode.NONE
        assert response.api_keys == profile.api_keys
        assert response.finalized_features == (profile.finalized_features if version >= 3 else ())


def header_of(api: Api, version: int) -> ParsedHeader:
    """Return the header of a request of an API."""
    header = RequestHeader(request_api_key=api.api_key, request_api_version=version, correlation_id=7, client_id=None)
    request = encode_request(header, b"", layout=api.layout(version))
    return parse_header(memoryview(request.data[SIZE_BYTES:]), SMALL.traits)


@pytest.mark.parametrize(("api", "version", "id_name"), [(METADATA, 2, "node_id"), (DESCRIBE_CLUSTER, 1, "broker_id")])
def test_cluster_lists_the_broker_itself(api: Api, version: int, id_name: str) -> None:
    """With its ids, so that whoever is given its address can check those of ApiVersions v5."""
    header = header_of(api, version)
    body = answer_of_other_api(header, ErrorCode.NONE, IDENTITY, ("localhost", 9092))
    _, message = api.decode_response(bytes(4) + body, version)
    (listed,) = message.brokers
    assert (message.cluster_id, message.controller_id) == (IDENTITY.cluster_id, IDENTITY.node_id)
    assert (getattr(listed, id_name), listed.host, listed.port) == (1, "localhost", 9092)


@pytest.mark.parametrize("identity", [Identity(), Identity(cluster_id="me"), Identity(node_id=1)], ids=str)
def test_broker_without_ids_lists_none(identity: Identity) -> None:
    """The default response of the schema remains."""
    header = header_of(METADATA, 2)
    body = answer_of_other_api(header, ErrorCode.NONE, identity, ("localhost", 9092))
    _, message = METADATA.decode_response(bytes(4) + body, 2)
    assert (message.cluster_id, message.brokers) == (None, ())
