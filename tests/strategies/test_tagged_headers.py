"""Tagged headers of other APIs: what is drawn, and what is sent without tags."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from strategies.tagged_headers import NO_TAGS, TaggedHeader, tagged_headers
from tests.strategies.search import find_any, minimal

SECTIONS = st.sampled_from((b"\x01\x00\x00", b"\x01\x05\x00"))


@pytest.mark.parametrize("api", range(3))
def test_every_api_is_reached(api: int) -> None:
    """Each API is drawn in its newest version and in an older one, with the given sections."""
    found = find_any(
        tagged_headers(SECTIONS), lambda drawn: (drawn.api, drawn.below_newest) == (api, 1)
    )
    assert found.section != NO_TAGS


def test_plain_request_has_no_tags() -> None:
    """The plain request is the same apart from its tag section."""
    drawn = TaggedHeader(api=2, below_newest=1, section=b"\x01\x00\x00")
    assert drawn.plain() == TaggedHeader(api=2, below_newest=1)
    assert minimal(tagged_headers(SECTIONS)) == TaggedHeader(section=b"\x01\x00\x00")
