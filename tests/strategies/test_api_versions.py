"""Well-formed requests: their bytes, what each dimension reaches, and what they shrink to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_model.profiles.profile import traits_of
from strategies.api_versions import (
    ORDINARY_CORRELATION_IDS,
    UnservedRequest,
    api_versions_requests,
    build_request,
    distances_above,
    negative_versions,
    unknown_versions,
    unserved_requests,
)
from strategies.cluster_ids import requests_with_cluster_ids
from strategies.software_names import Software
from tests.reference_model.broker.release_lines import LINES
from tests.strategies.search import find_any, minimal, unmet
from wire.api_versions import ApiVersionsRequest
from wire.exchange import Request
from wire.frames import encode_frame
from wire.primitives import TaggedField

CLIENT = "0011 6b61666b612d636f6e666f726d616e6365"
SOFTWARE = "12 6b61666b612d636f6e666f726d616e6365 06 302e312e30"
TAGS = (TaggedField(100, b"\xff"), TaggedField(200, b""))


@pytest.mark.parametrize(
    ("arguments", "payload"),
    [
        pytest.param({"version": 0}, f"0012 0000 00000007 {CLIENT}", id="v0"),
        pytest.param({"version": 2}, f"0012 0002 00000007 {CLIENT}", id="v2"),
        pytest.param({"version": -1}, f"0012 ffff 00000007 {CLIENT}", id="v-1"),
        pytest.param({"version": 3}, f"0012 0003 00000007 {CLIENT} 00 {SOFTWARE} 00", id="v3"),
        pytest.param(
            {"version": 5}, f"0012 0005 00000007 {CLIENT} 00 {SOFTWARE} 00 ffffffff 00", id="v5"
        ),
        pytest.param(
            {"version": 99},
            f"0012 0063 00000007 {CLIENT} 00 {SOFTWARE} 00 ffffffff 00",
            id="unknown-version-in-the-newest-layout",
        ),
        pytest.param(
            {"version": 0, "correlation_id": -1, "client_id": None},
            "0012 0000 ffffffff ffff",
            id="header-fields",
        ),
        pytest.param(
            {"version": 3, "client_id": "", "software": Software("a", "é")},
            "0012 0003 00000007 0000 00 0261 03c3a9 00",
            id="software",
        ),
        pytest.param(
            {"version": 3, "client_id": "", "header_tags": TAGS, "software": Software("a", "1")},
            "0012 0003 00000007 0000 02 6401ff c80100 0261 0231 00",
            id="header-tags",
        ),
        pytest.param(
            {"version": 3, "client_id": "", "body_tags": TAGS, "software": Software("a", "1")},
            "0012 0003 00000007 0000 00 0261 0231 02 6401ff c80100",
            id="body-tags",
        ),
        pytest.param(
            {"version": 2, "client_id": "", "header_tags": TAGS, "body_tags": TAGS},
            "0012 0002 00000007 0000",
            id="tags-of-a-version-without-any",
        ),
        pytest.param(
            {"version": 3, "client_id": "", "body": b"\xab", "trailing": b"\xcd"},
            "0012 0003 00000007 0000 00 ab cd",
            id="body-and-trailing-bytes",
        ),
        pytest.param(
            {
                "version": 5,
                "client_id": "",
                "software": Software("a", "1"),
                "cluster_id": "x",
                "node_id": 1,
            },
            "0012 0005 00000007 0000 00 0261 0231 0278 00000001 00",
            id="cluster",
        ),
    ],
)
def test_request_has_its_literal_bytes(arguments: dict[str, Any], payload: str) -> None:
    """Arguments that are not given have plain values; given ones stand where the version has them."""
    sent = build_request(**arguments)
    assert sent.data == encode_frame(bytes.fromhex(payload))
    assert sent.api_version == arguments["version"]
    assert sent.broken == ""


def test_note_of_a_broken_request_is_kept() -> None:
    """A pinned example that is wrong on purpose keeps its note."""
    assert build_request(version=3, body=b"", broken="no body").broken == "no body"


@given(sent=api_versions_requests(min_version=2, max_version=4))
def test_requests_keep_to_their_bounds(sent: Request) -> None:
    """Both bounds are inclusive, and by default only version and correlation id vary."""
    assert 2 <= sent.api_version <= 4
    plain = build_request(version=sent.api_version, correlation_id=sent.correlation_id)
    assert sent == plain


@pytest.mark.parametrize("version", range(6))
def test_every_known_version_is_reached(version: int) -> None:
    """Without bounds the requests have every known version."""
    assert find_any(api_versions_requests(), lambda sent: sent.api_version == version)


@given(sent=api_versions_requests(max_version=0, versions=st.just(77)))
def test_versions_win_over_bounds(sent: Request) -> None:
    """Bounds are ignored when versions are given."""
    assert sent.api_version == 77


@given(
    sent=api_versions_requests(
        min_version=3,
        correlation_ids=st.just(-5),
        client_ids=st.just("me"),
        software=st.just(Software("a", "1")),
        header_tags=st.just(TAGS),
        body_tags=st.just(TAGS),
        bodies=st.none() | st.just(b"\xab"),
        trailing=st.just(b"\xcd"),
    )
)
def test_every_dimension_is_drawn_from_what_is_given(sent: Request) -> None:
    """Each argument appears in the bytes as `build_request` writes it."""
    expected = build_request(
        version=sent.api_version,
        correlation_id=-5,
        client_id="me",
        software=Software("a", "1"),
        header_tags=TAGS,
        body_tags=TAGS,
        body=b"\xab" if sent.body is None else None,
        trailing=b"\xcd",
    )
    assert sent == expected


@given(version=unknown_versions())
def test_unknown_version_is_above_the_lowest_maximum(version: int) -> None:
    """Unknown versions are positive int16 numbers."""
    assert 1 <= version <= 32767


def test_version_right_above_each_maximum_is_among_a_hundred() -> None:
    """100 examples include, for each release, the first version that it does not support."""
    drawn = set()

    @settings(max_examples=100, derandomize=True, database=None)
    @given(version=unknown_versions())
    def draw(version: int) -> None:
        drawn.add(version)

    draw()
    assert drawn >= {traits_of(release).api_versions_max + 1 for release in LINES}


def test_unknown_versions_reach() -> None:
    """Unknown versions go up to the end of int16."""
    assert not unmet(
        unknown_versions(),
        {
            "largest": lambda version: version == 32767,
            "one-byte": lambda version: 6 < version < 256,
            "large": lambda version: version > 1000,
        },
    )


@given(drawn=unserved_requests(), highest=st.integers(0, 5))
def test_unserved_request_is_above_every_maximum(drawn: UnservedRequest, highest: int) -> None:
    """Whatever a target serves, the version is higher and still an int16, and the rest is as drawn."""
    sent = drawn.above(highest)
    assert highest < sent.api_version <= 32767
    assert sent == build_request(
        version=min(highest + drawn.distance, 32767), correlation_id=drawn.correlation_id
    )


@given(drawn=unserved_requests(bodies=st.just(b"\xab")))
def test_unserved_request_has_the_body_that_is_given(drawn: UnservedRequest) -> None:
    """The drawn bytes stand instead of the body."""
    assert drawn.above(5).data.endswith(b"\x00\xab")


@pytest.mark.parametrize("highest", [0, 5])
@pytest.mark.parametrize(
    "condition",
    [
        pytest.param(lambda version, highest: version == highest + 1, id="next"),
        pytest.param(lambda version, highest: version == 32767, id="largest"),
        pytest.param(lambda version, highest: version & 0xFF == highest, id="low-byte-of-the-highest"),
        pytest.param(lambda version, highest: version > 255 and version & 0xFF == 0, id="low-byte-zero"),
        pytest.param(lambda version, highest: highest + 3 < version < 256, id="one-byte"),
    ],
)  # fmt: skip
def test_distances_reach(condition: Callable[[int, int], bool], highest: int) -> None:
    """The next version, the largest one, and those that a cut to one byte turns into served ones are drawn."""
    assert find_any(
        distances_above(), lambda distance: condition(min(highest + distance, 32767), highest)
    )


@given(version=negative_versions())
def test_negative_version_is_an_int16(version: int) -> None:
    """Negative versions are the lower half of int16."""
    assert -32768 <= version <= -1


@pytest.mark.parametrize("wanted", [-32768, -1], ids=str)
def test_negative_versions_reach_the_ends(wanted: int) -> None:
    """Both ends are drawn."""
    assert find_any(negative_versions(), lambda version: version == wanted) == wanted


def test_versions_and_requests_shrink_to_the_plainest() -> None:
    """Versions shrink to the one nearest to those supported, requests to a plain v0."""
    assert minimal(unknown_versions()) == 6
    assert minimal(unknown_versions(), lambda version: version > 100) == 101
    assert minimal(negative_versions()) == -1
    assert minimal(unserved_requests()) == UnservedRequest(distance=1, correlation_id=0)
    assert minimal(ORDINARY_CORRELATION_IDS) == 0
    assert minimal(api_versions_requests()) == build_request(version=0, correlation_id=0)
    flexible = minimal(api_versions_requests(), lambda sent: sent.api_version >= 3)
    assert flexible == build_request(version=3, correlation_id=0)


@pytest.mark.parametrize(
    ("cluster_is_given", "node_is_given"),
    [(False, False), (False, True), (True, False), (True, True)],
    ids=["neither", "node", "cluster", "both"],
)
def test_cluster_ids_reach_every_combination(cluster_is_given: bool, node_is_given: bool) -> None:
    """Requests with cluster ids have neither, one or both of cluster id and node id."""

    def is_so(sent: Request) -> bool:
        body = sent.body
        return body is not None and (
            (body.cluster_id is not None, body.node_id != -1) == (cluster_is_given, node_is_given)
        )

    assert find_any(requests_with_cluster_ids(), is_so).api_version == 5


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param(lambda body: body.cluster_id == "", id="empty-cluster"),
        pytest.param(lambda body: len(body.cluster_id or "") == 22, id="cluster-as-long-as-kafkas"),
        pytest.param(lambda body: body.node_id == -2, id="node-below-minus-1"),
    ],
)
def test_cluster_ids_reach(condition: Callable[[ApiVersionsRequest], bool]) -> None:
    """Cluster ids are empty or up to 22 characters long, as Kafka's own; node ids may be negative."""
    assert find_any(
        requests_with_cluster_ids(), lambda sent: sent.body is not None and condition(sent.body)
    )


def test_cluster_ids_shrink_to_none_given() -> None:
    """The smallest request has neither id; the smallest with both has an empty cluster id and node 0."""
    assert minimal(requests_with_cluster_ids()) == build_request(version=5)
    both = minimal(
        requests_with_cluster_ids(),
        lambda sent: (
            sent.body is not None and sent.body.cluster_id is not None and sent.body.node_id != -1
        ),
    )
    assert both == build_request(version=5, cluster_id="", node_id=0)
