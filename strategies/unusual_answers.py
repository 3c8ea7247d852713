"""Scripts of healthy brokers with unusual responses that every client has to read.

Responses are split into pieces, or have features from level 0 on.
"""

from __future__ import annotations

from hypothesis import strategies as st

from reference_model.clients.scripts.script import (
    Answer,
    ConnectionScript,
    Script,
    all_connections,
)
from strategies.broker_scripts import MAX_DELAY_MS, SUCCESS_MS
from wire.api_versions import FIRST_VERSION_WITH_ZERO_MINIMUM, NEWEST_VERSION

SINGLE_BYTES = 10_000
"""More pieces than a table has bytes."""
FEATURES_FROM_0 = (
    "eligible.leader.replicas.version",
    "group.version",
    "kraft.version",
    "share.version",
    "streams.version",
    "transaction.version",
)
"""The features of Apache Kafka whose lowest level is 0."""


def split_response(pieces: int, delay_ms: int = 0, *, newest: int = NEWEST_VERSION) -> Script:
    """Return a script of a healthy broker that writes its table in pieces, each after a pause."""
    answer = Answer(pieces=pieces, delay_ms=delay_ms)
    connection = ConnectionScript(newest_version=newest, answers=(answer,))
    return all_connections(connection, timeout_ms=SUCCESS_MS)


def brokers_that_split_responses() -> st.SearchStrategy[Script]:
    """Healthy brokers that write their table in a few pieces with pauses of up to half a second, or in single bytes."""
    few = st.builds(
        lambda pieces, delay_ms, newest: split_response(pieces, min(delay_ms, MAX_DELAY_MS // pieces), newest=newest),
        st.integers(2, 5),
        st.integers(1, 500),
        st.integers(0, NEWEST_VERSION),
    )
    return few | st.integers(0, NEWEST_VERSION).map(lambda newest: split_response(SINGLE_BYTES, newest=newest))


def features_from_level_0(
    *names: str, highest: int = 1, is_finalized: bool = False, newest: int = NEWEST_VERSION
) -> Script:
    """Return a script of a healthy broker that lists features whose lowest level is 0.

    Args:
        names: the features.
        highest: their highest level.
        is_finalized: whether that is their level in the cluster.
        newest: the newest version of ApiVersions that the broker supports.
    """
    levels = tuple((name, highest, highest) for name in names)
    answer = Answer(
        supported_features=tuple((name, 0, highest) for name in names),
        finalized_features=levels if is_finalized else (),
        finalized_features_epoch=7 if is_finalized else -1,
    )
    connection = ConnectionScript(newest_version=newest, answers=(answer,))
    return all_connections(connection, timeout_ms=SUCCESS_MS)


def brokers_with_features_from_level_0() -> st.SearchStrategy[Script]:
    """Healthy brokers that list features of Kafka from level 0 on, finalized or not, in v4 or v5."""
    return st.builds(
        lambda names, **others: features_from_level_0(*sorted(names), **others),
        st.sets(st.sampled_from(FEATURES_FROM_0), min_size=1),
        highest=st.integers(1, 3),
        is_finalized=st.booleans(),
        newest=st.integers(FIRST_VERSION_WITH_ZERO_MINIMUM, NEWEST_VERSION),
    )
