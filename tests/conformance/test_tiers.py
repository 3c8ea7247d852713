"""The choice of a run's tier, and that the gentle tier sends nothing malformed."""

from __future__ import annotations

from typing import cast

import pytest

from fixtures.client.running_broker import Address
from fixtures.launchers.given_broker import parse_address
from fixtures.plugin import tier_of
from tests.conformance.fake_targets import reference_behaviour, serve
from tests.conformance.suite_runs import SuiteRun, run_suite
from tests.described_apis import described_api
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.codec import decode, decode_prefix
from wire.frames import FrameReader
from wire.headers import RequestHeader, request_header_version


class Options:
    """Replaces pytest's configuration and returns the given options."""

    def __init__(self, **options: str | list[str]) -> None:
        self._options = options

    def getoption(self, name: str) -> str | list[str] | None:
        """Return an option's value, or None if it is not given."""
        return self._options.get(name.strip("-").replace("-", "_"))


@pytest.mark.parametrize(
    ("options", "tier"),
    [
        pytest.param({}, "standard", id="registry"),
        pytest.param({"bootstrap_server": ["localhost:9092"]}, "standard", id="localhost"),
        pytest.param({"bootstrap_server": ["127.8.9.10:9092"]}, "standard", id="ipv4-loopback"),
        pytest.param({"bootstrap_server": ["[::1]:9092"]}, "standard", id="ipv6-loopback"),
        pytest.param({"bootstrap_server": ["broker.example.org:9092"]}, "gentle", id="name"),
        pytest.param({"bootstrap_server": ["192.0.2.7:9092"]}, "gentle", id="ipv4"),
        pytest.param({"bootstrap_server": ["[2001:db8::7]:9092"]}, "gentle", id="ipv6"),
        pytest.param(
            {"bootstrap_server": ["localhost:1", "SSL://127.0.0.1:1,broker:2"]}, "gentle", id="one"
        ),
        pytest.param({"bootstrap_controller": "broker:9093"}, "gentle", id="controller"),
        pytest.param(
            {"bootstrap_server": ["localhost.example.org:1"]}, "gentle", id="like-localhost"
        ),
        pytest.param(
            {"bootstrap_server": ["192.0.2.7:9092"], "tier": "standard"}, "standard", id="insisted"
        ),
        pytest.param({"bootstrap_server": ["127.0.0.1:1"], "tier": "gentle"}, "gentle", id="asked"),
    ],
)
def test_foreign_address_is_judged_gently(options: dict[str, str | list[str]], tier: str) -> None:
    """An address that is not on loopback gets the gentle tier unless another one is requested."""
    assert tier_of(cast(pytest.Config, Options(**options))) == tier


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost:9092", Address("localhost", 9092)),
        ("[::1]:1", Address("::1", 1)),
        ("10.0.0.1:65535", Address("10.0.0.1", 65535)),
    ],
)
def test_address_is_read(text: str, address: Address) -> None:
    """Host and port are separated, with brackets around a host that contains colons."""
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text", ["", "localhost", ":9092", "localhost:", "host:0", "host:65536", "::1:9092", "h:port"]
)
def test_address_without_host_and_port_is_refused(text: str) -> None:
    """The error quotes any text that is not HOST:PORT."""
    with pytest.raises(ValueError, match="is not HOST:PORT"):
        parse_address(text)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("-k", "test_v0_is_served or malformed or test_correlation_id"), id="few"),
        pytest.param((), marks=pytest.mark.slow, id="all"),
    ],
)
def gentle_run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[SuiteRun, list[bytes]]:
    """A gentle run of few or all properties, and the bytes received on each of its connections."""
    chosen: tuple[str, ...] = request.param
    options = ("--tier", "gentle", *chosen)
    runs = tmp_path_factory.mktemp("gentle")
    with serve(reference_behaviour()) as target:
        run = run_suite("--bootstrap-server", target.address, *options, runs=runs)
    return run, [bytes(received) for received in target.received]


def test_gentle_tier_judges_what_is_well_formed(gentle_run: tuple[SuiteRun, list[bytes]]) -> None:
    """The gentle tier passes on a healthy broker, and plans only the cells that it judges."""
    run, _ = gentle_run
    assert run.status == 0, run.output
    clauses = {clause for _, clause in run.verdicts()}
    assert "KIP-35.v0-always-served" in clauses
    assert "PROTOCOL.malformed-hurts-nobody" not in clauses
    assert run.header["tier"] == "gentle"


def test_gentle_tier_sends_whole_well_formed_requests(
    gentle_run: tuple[SuiteRun, list[bytes]],
) -> None:
    """Every byte of a gentle run belongs to a request that decodes strictly."""
    _, connections = gentle_run
    requests = 0
    for received in connections:
        reader = FrameReader()
        reader.receive_data(received)
        while (payload := reader.next_payload()) is not None:
            check_well_formed(payload)
            requests += 1
        assert reader.unread == b""
    assert requests > 100


def check_well_formed(payload: bytes) -> None:
    """Decode a request strictly, except for the body of an unknown ApiVersions version.

    Raises:
        DecodeError: the request does not decode.
    """
    api_key, version = (int.from_bytes(payload[at : at + 2], signed=True) for at in (0, 2))
    if api_key != API_VERSIONS_KEY:
        api = described_api(api_key, version)
        header_version = api.request_header_version(version)
        _, body = decode_prefix(RequestHeader, payload, version=header_version)
        decode(api.request, payload[body:], version=version)
        return
    header_version = request_header_version(api_key, version)
    _, body = decode_prefix(RequestHeader, payload, version=header_version)
    if 0 <= version <= NEWEST_VERSION:
        decode(ApiVersionsRequest, payload[body:], version=version)
