"""Read-only runs change nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from clauses import marks
from clauses.tiers import Tier
from conformance.engine.planning import NOTHING_MALFORMED, is_left_out
from fixtures.run_size import RUN_SIZES, Kind
from tests.conformance.fake_targets import reference_behaviour, serve
from tests.conformance.suite_runs import SuiteRun, run_suite
from tests.described_apis import described_api
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.codec import decode, decode_prefix
from wire.frames import FrameReader
from wire.header_versions import request_header_version
from wire.headers import RequestHeader
from wire.read_only import ReadOnlyGate

Recorded = tuple[SuiteRun, list[bytes]]
"""A run, and the bytes that were received on each of its connections."""


def recorded(options: tuple[str, ...], runs: Path) -> Recorded:
    """Run properties against a healthy broker that records what it receives."""
    with serve(reference_behaviour()) as target:
        run = run_suite("--bootstrap-server", target.address, *options, runs=runs)
    return run, [bytes(received) for received in target.received]


@pytest.mark.parametrize(
    ("mark", "tier", "kind", "is_out"),
    [
        (marks.MALFORMED, Tier.STANDARD, Kind.MALFORMED, False),
        (marks.MALFORMED, Tier.STANDARD, Kind.READ_ONLY, True),
        (marks.MALFORMED, Tier.DEEP, Kind.READ_ONLY, True),
        (marks.STANDARD, Tier.SMOKE, Kind.MALFORMED, True),
        (marks.STANDARD, Tier.STANDARD, Kind.MALFORMED, False),
        (marks.STORED, Tier.STANDARD, Kind.MALFORMED, True),
        (marks.DEEP, Tier.STANDARD, Kind.MALFORMED, True),
        (marks.DEEP, Tier.DEEP, Kind.READ_ONLY, False),
    ],
)
def test_what_a_run_sends_leaves_out_properties(mark: str, tier: Tier, kind: Kind, is_out: bool) -> None:
    """A property with no such mark is judged by every run."""
    item: Any = SimpleNamespace(get_closest_marker=lambda name: name == mark)
    assert is_left_out(item, tier, kind) is is_out
    assert not is_left_out(Mock(get_closest_marker=Mock(return_value=None)), tier, kind)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("--tier", "smoke"), marks=pytest.mark.slow, id="smoke"),
        pytest.param((), marks=(pytest.mark.slow, pytest.mark.nightly), id="standard"),
    ],
)
def read_only_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A read-only run of all properties."""
    return recorded(("--read-only", *request.param), tmp_path_factory.mktemp("read-only"))


def test_read_only_run_sends_nothing_off_its_list(read_only_run: Recorded) -> None:
    """Every byte of a read-only run, also of those before its first property, belongs to a listed request."""
    _, connections = read_only_run
    sent: Counter[int] = Counter()
    for received in connections:
        ReadOnlyGate().check(received)
        for payload in frames_of(received):
            check_well_formed(payload)
            sent[int.from_bytes(payload[:2])] += 1
    assert sent[API_VERSIONS_KEY] > 100
    # Everything on the list that the reference broker serves was asked for as well.
    assert len(sent) > 20


def test_read_only_run_says_what_it_leaves_out(read_only_run: Recorded) -> None:
    run, _ = read_only_run
    assert run.status == 0, run.output
    assert run.header["tier"].endswith("-read-only")
    cells = {cell["clause"]: cell for cell in run.header["planned_cells"]}
    produce = cells["PROTOCOL.no-response-to-acks-0"]
    assert not produce["applicable"]
    assert "the run is read-only" in produce["reason"]
    malformed = cells["PROTOCOL.negative-size-refused"]
    assert (malformed["applicable"], malformed["reason"]) == (False, NOTHING_MALFORMED)
    served = cells["KIP-35.every-advertised-version-served"]
    assert served["applicable"]
    assert "not requested, because the run is read-only: Produce, " in served["reason"]
    assert "judged only partly on" in run.output


def test_run_says_before_and_afterwards_how_much_it_sends(read_only_run: Recorded) -> None:
    """What it counts is what arrives, and near what it announces before its first request."""
    run, connections = read_only_run
    tier = Tier(run.header["tier"].removesuffix("-read-only"))
    expected = RUN_SIZES[tier, Kind.READ_ONLY]
    before, _, rest = run.output.partition("\n")
    while not before.startswith("will send to "):
        before, _, rest = rest.partition("\n")
    assert f"up to about {expected.connections:,} connections" in before
    assert "collected" in rest
    found = re.search(r"^sent to \S+: ([\d,]+) connections, ([\d,]+) requests$", rest, re.MULTILINE)
    assert found is not None, run.output
    opened, sent = (int(each.replace(",", "")) for each in found.groups())
    assert opened == len(connections)
    assert expected.connections / 2 < opened <= expected.connections
    assert expected.requests / 2 < sent <= expected.requests


def frames_of(received: bytes) -> Iterator[bytes]:
    """Yield the payloads of the frames of a connection; fail if bytes are left over."""
    reader = FrameReader()
    reader.receive_data(received)
    while (payload := reader.next_payload()) is not None:
        yield payload
    assert reader.unread == b""


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
