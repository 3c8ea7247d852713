"""Flexible requests of other APIs, with any tag section in their header; which versions a target lists is known only when it runs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from hypothesis import strategies as st

from wire.primitives import NO_TAGS

MOST_VERSIONS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedHeader:
    """A request of an API that only reads, in a flexible version.

    Attributes:
        place: index into the flexible versions that the target serves, modulo their number. Stored failures have this name.
        section: the bytes of the header's tag section.
    """

    place: int = 0
    section: bytes = NO_TAGS

    def plain(self) -> TaggedHeader:
        """Return the same request without tags."""
        return dataclasses.replace(self, section=NO_TAGS)


def tagged_headers(sections: st.SearchStrategy[bytes]) -> st.SearchStrategy[TaggedHeader]:
    """Requests of other APIs whose headers have one of the given tag sections."""
    return st.builds(
        TaggedHeader,
        place=st.integers(0, MOST_VERSIONS - 1),
        section=sections,
    )
