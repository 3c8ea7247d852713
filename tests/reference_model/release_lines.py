"""The release lines on which literals check the oracle, and the oracle's decisions in words."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from reference_model.profile import Profile, profile_of
from reference_model.state_machine import (
    AnswerKind,
    Identity,
    Listing,
    Reaction,
    reactions,
)
from wire.exchange import Outcome

ZOOKEEPER_LINES = (
    *("0.10.0.1", "0.10.1.1", "0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1"),
    *("2.0.1", "2.1.1", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2"),
    *("3.0.2", "3.1.2", "3.2.3"),
)
KRAFT_LINES = (
    *("3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2"),
    *("4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"),
)
QUORUMS: Mapping[str, str] = {
    **dict.fromkeys(ZOOKEEPER_LINES, "zookeeper"),
    **dict.fromkeys(KRAFT_LINES, "kraft"),
}
"""Maps each release to its quorum, oldest first. All have a recorded table."""
LINES = tuple(QUORUMS)
IDENTITY = Identity(cluster_id="me", node_id=1)

_LISTINGS = {Listing.NOTHING: "", Listing.ITSELF: " itself", Listing.EVERYTHING: " table"}


def profile_at(release: str) -> Profile:
    """Return the profile of a line."""
    return profile_of(release, quorum=QUORUMS[release])


def in_words(reaction: Reaction) -> str:
    """Return a reaction as "closed", "ignored", "silent", "SaslHandshake 0", or "35 v0 itself"."""
    if reaction.outcome is not Outcome.ANSWER:
        return reaction.outcome.value
    if reaction.kind is not AnswerKind.API_VERSIONS:
        return f"{reaction.kind.value} {int(reaction.error_code)}"
    return f"{int(reaction.error_code)} v{reaction.layout}{_LISTINGS[reaction.listing]}"


def decisions(payload: str, *, identity: Identity = IDENTITY) -> dict[str, str]:
    """Return what the oracle allows for a payload (hexadecimal) on every line, in words."""
    return {
        release: " or ".join(
            in_words(reaction)
            for reaction in reactions(bytes.fromhex(payload), profile_at(release), identity)
        )
        for release in LINES
    }


def on_every_line(since: Mapping[str, str]) -> dict[str, str]:
    """Fill in the lines between those given: each value holds until the next; the first line is required."""
    starts = [*(LINES.index(release) for release in since), len(LINES)]
    return {
        release: words
        for words, (start, end) in zip(since.values(), pairwise(starts), strict=True)
        for release in LINES[start:end]
    }
