"""The release lines that the oracle is held against literals on, and its decisions in words."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from reference_model.profile import Profile, profile_of
from reference_model.state_machine import Identity, Listing, Reaction, reactions
from wire.exchange import Outcome

QUORUMS: Mapping[str, str] = {
    "0.10.0.1": "zookeeper",
    "0.11.0.3": "zookeeper",
    "1.1.1": "zookeeper",
    "2.0.1": "zookeeper",
    "2.4.1": "zookeeper",
    "2.7.2": "zookeeper",
    "2.8.2": "zookeeper",
    "3.3.2": "kraft",
    "3.7.2": "kraft",
    "3.9.2": "kraft",
    "4.0.2": "kraft",
    "4.3.1": "kraft",
    "4.4.0": "kraft",
}
"""Release to quorum, oldest first. All but 2.7.2, which is here for its tags, have a recorded table."""
LINES = tuple(QUORUMS)
RECORDED = tuple(release for release in LINES if release != "2.7.2")
IDENTITY = Identity(cluster_id="me", node_id=1)

_LISTINGS = {Listing.NOTHING: "", Listing.ITSELF: " itself", Listing.EVERYTHING: " table"}


def profile_at(release: str) -> Profile:
    """Return the profile of a line."""
    return profile_of(release, quorum=QUORUMS[release])


def in_words(reaction: Reaction) -> str:
    """Return a reaction as "closed", "ignored", "silent", or an answer such as "35 v0 itself"."""
    if reaction.outcome is not Outcome.ANSWER:
        return reaction.outcome.value
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
    """Spread what holds from some lines on over all lines; the first one has to be named."""
    starts = [*(LINES.index(release) for release in since), len(LINES)]
    return {
        release: words
        for words, (start, end) in zip(since.values(), pairwise(starts), strict=True)
        for release in LINES[start:end]
    }
