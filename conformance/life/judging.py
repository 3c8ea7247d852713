"""Judges what nodes answered while they started, ran and ended.

The clauses are some that hold at any time. A node may refuse or close a connection whenever it cannot serve it. What it
answers has to be right, because clients and upgrade tools believe it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from conformance.assertions.clause_ids import (
    EPOCH_MONOTONE,
    ERROR_CODE_FIRST,
    EVERY_ADVERTISED_VERSION_SERVED,
    TABLE_LISTS_ITSELF,
    V0_ALWAYS_SERVED,
    V3_BODY_FLEXIBLE,
)
from conformance.life.sightings import Sighting
from fixtures.client.own_connection import Reply
from wire.error_codes import ErrorCode


class LifeViolation(NamedTuple):
    """What a node answered against a clause.

    Attributes:
        clause: the clause.
        sighting: the answer.
        sentence: what is wrong with it.
    """

    clause: str
    sighting: Sighting
    sentence: str


def violations_in(sightings: Sequence[Sighting]) -> list[LifeViolation]:
    """Return the answers that break a clause, in the order of time.

    - Every served version is answered with error 0 and a table that lists something, or not at all. The end of a node
      may cut its response off.
    - Whoever lists finalized features also names their epoch; without one nothing is finalized.
    """
    found = [violation for each in sightings for violation in _violations_of(each)]
    return sorted(found, key=lambda violation: violation.sighting.at_s)


def _violations_of(sighting: Sighting) -> Iterator[LifeViolation]:
    version, table, code = sighting.api_version, sighting.table, sighting.error_code
    if sighting.reply is Reply.NO_RESPONSE:
        clause = V0_ALWAYS_SERVED if version == 0 else EVERY_ADVERTISED_VERSION_SERVED
        yield LifeViolation(clause, sighting, f"v{version} is answered with {sighting.reply}")
    if sighting.reply is not Reply.ANSWERED:
        return
    if code != 0:
        what = "bytes without an error code" if code is None else f"{ErrorCode(code).name} ({code})"
        clause = V0_ALWAYS_SERVED if version == 0 else ERROR_CODE_FIRST
        yield LifeViolation(clause, sighting, f"v{version} is answered with {what}")
    elif table is None:
        clause = V0_ALWAYS_SERVED if version == 0 else V3_BODY_FLEXIBLE
        yield LifeViolation(clause, sighting, f"v{version} is answered with no table that can be read")
    elif not table.api_keys:
        clause = V0_ALWAYS_SERVED if version == 0 else TABLE_LISTS_ITSELF
        yield LifeViolation(clause, sighting, f"v{version} is answered with an empty table")
    if table is not None and table.finalized_features and table.finalized_features_epoch < 0:
        levels = ", ".join(f"{each.name} {each.max_version_level}" for each in table.finalized_features)
        yield LifeViolation(EPOCH_MONOTONE, sighting, f"v{version} lists finalized features without an epoch: {levels}")


def different_levels(sightings: Sequence[Sighting]) -> list[str]:
    """Return the features of which listeners of one node list different finalized levels, each as a sentence.

    It is a note and no violation: the listeners name different epochs, which prove nothing
    (FEATURES.same-levels-at-one-epoch). A listener that answered with no table lists nothing that could differ.

    Args:
        sightings: what listeners of nodes answered while nothing changed, one for each listener.
    """
    notes = []
    tables = [(each, each.table) for each in sightings]
    for node_id in dict.fromkeys(each.node_id for each in sightings):
        levels = {
            each.listener: {feature.name: feature.max_version_level for feature in table.finalized_features}
            for each, table in tables
            if each.node_id == node_id and table is not None
        }
        for feature in sorted({name for of_one in levels.values() for name in of_one}):
            listed = {listener: of_one.get(feature) for listener, of_one in levels.items()}
            if len(set(listed.values())) > 1:
                words = ", ".join(
                    f"{'none' if level is None else level} on {listener}" for listener, level in sorted(listed.items())
                )
                notes.append(f"node {node_id} lists different finalized levels of {feature}: {words}")
    return notes
