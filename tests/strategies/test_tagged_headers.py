"""Tagged headers of other APIs: what is drawn, and what is sent without tags."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from strategies.tagged_headers import TaggedHeader, tagged_headers
from tests.strategies.search import find_any, minimal
from wire.api_keys import READ_ONLY_KEYS
from wire.primitives import NO_TAGS

SECTIONS = st.sampled_from((b"\x01\x00\x00", b"\x01\x05\x00"))


@pytest.mark.parametrize("index", range(2 * len(READ_ONLY_KEYS)))
def test_every_version_is_reached(index: int) -> None:
    """The oldest and the newest version of each API that only reads are drawn, with the given sections."""
    found = find_any(tagged_headers(SECTIONS), lambda drawn: drawn.place == index)
    assert found.section != NO_TAGS


def test_plain_request_has_no_tags() -> None:
    """The plain request is the same apart from its tag section."""
    drawn = TaggedHeader(place=2, section=b"\x01\x00\x00")
    assert drawn.plain() == TaggedHeader(place=2)
    assert minimal(tagged_headers(SECTIONS)) == TaggedHeader(section=b"\x01\x00\x00")
