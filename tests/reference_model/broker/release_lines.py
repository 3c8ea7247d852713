"""Release lines on which literals check the oracle, and its decisions as text."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from fixtures.registry.targets import load_targets
from reference_model.broker.rules.oracle import reactions
from reference_model.broker.rules.reaction import AnswerKind, Identity, Listing, Reaction
from reference_model.profiles.profile import APACHE_KAFKA, KRAFT, Profile, profile_of
from wire.exchange import Outcome

QUORUMS: Mapping[str, str] = {
    target.release: target.quorum
    for target in load_targets()
    if target.id == f"{APACHE_KAFKA}-{target.release}" and target.handshake and target.quorum
}
"""Maps each release of the registry to its quorum, oldest first. All have a recorded table."""
KRAFT_LINES = tuple(release for release, quorum in QUORUMS.items() if quorum == KRAFT)
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
    return f"{int(reaction.error_code)} v{reaction.response_version}{_LISTINGS[reaction.listing]}"


def decisions(payload: str, *, identity: Identity = IDENTITY) -> dict[str, str]:
    """Return what the oracle allows for a payload (hexadecimal) on every line, in words."""
    return {
        release: " or ".join(
            in_words(reaction) for reaction in reactions(bytes.fromhex(payload), profile_at(release), identity)
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
