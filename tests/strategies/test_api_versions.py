"""Well-formed requests: their bytes, and which bounds each dimension keeps.

`conformance/mutation/tails.py` has the rare values that a standard run has to send.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_model.profiles.profile import traits_of
from strategies.api_versions import (
    UnservedRequest,
    api_versions_requests,
    build_request,
    negative_versions,
    unknown_versions,
    unserved_requests,
)
from strategies.field_values import Software
from tests.reference_model.broker.release_lines import LINES
from tests.strategies.search import find_any
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
        pytest.param({"version": 5}, f"0012 0005 00000007 {CLIENT} 00 {SOFTWARE} 00 ffffffff 00", id="v5"),
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


@given(drawn=unserved_requests(), highest=st.integers(0, 5))
def test_unserved_request_is_above_every_maximum(drawn: UnservedRequest, highest: int) -> None:
    """Whatever a target serves, the version is higher and still an int16, and the rest is as drawn."""
    sent = drawn.above(highest)
    assert highest < sent.api_version <= 32767
    assert sent == build_request(version=min(highest + drawn.distance, 32767), correlation_id=drawn.correlation_id)


@given(drawn=unserved_requests(bodies=st.just(b"\xab")))
def test_unserved_request_has_the_body_that_is_given(drawn: UnservedRequest) -> None:
    """The drawn bytes stand instead of the body."""
    assert drawn.above(5).data.endswith(b"\x00\xab")


@given(version=negative_versions())
def test_negative_version_is_an_int16(version: int) -> None:
    """Negative versions are the lower half of int16."""
    assert -32768 <= version <= -1
