"""Scripts of brokers that refuse a client software name with INVALID_REQUEST.

KIP-511 defines the error.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from reference_model.clients.scripts.script import (
    EMPTY,
    ERROR_AFTER_MS,
    HEALTHY,
    ITSELF,
    Answer,
    ConnectionScript,
    Script,
    Table,
    all_connections,
)
from strategies.broker_scripts import FAILURE_MS, always_answering
from strategies.weights import one_branch
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION
from wire.error_codes import ErrorCode

REFUSED_NAME = Answer(error_code=int(ErrorCode.INVALID_REQUEST), table=EMPTY, delay_ms=ERROR_AFTER_MS)


def refused_for_name(*, table: Table = EMPTY, **others: object) -> Script:
    """Return a script of a broker that answers every ApiVersions request with INVALID_REQUEST."""
    return always_answering(replace(REFUSED_NAME, table=table, **others))  # type: ignore[arg-type]


def name_refused_by_an_older_broker(newest: int = FIRST_FLEXIBLE_VERSION) -> Script:
    """Return a script of a broker that refuses the name in each version that has one, and serves the others.

    A client must not hide the error by using versions without a name.

    Args:
        newest: the newest version of ApiVersions that it supports; it refuses a newer one with its range.
    """
    answer = replace(REFUSED_NAME, from_version=FIRST_FLEXIBLE_VERSION)
    connection = ConnectionScript(newest_version=newest, answers=(answer,))
    return all_connections(connection, timeout_ms=FAILURE_MS)


def brokers_that_refuse_names() -> st.SearchStrategy[Script]:
    """Brokers that answer with INVALID_REQUEST, throttled, or with a table that means nothing; some serve v0 to v2."""
    refusing = st.builds(
        refused_for_name,
        table=st.sampled_from((EMPTY, ITSELF, HEALTHY)),
        throttle_time_ms=st.sampled_from((0, 100)),
    )
    versions = st.integers(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION)
    return one_branch(refusing) | versions.map(name_refused_by_an_older_broker)


def refused_again_and_again() -> Script:
    """Return a script of a broker that refuses names, for a client that keeps asking.

    The client asks again after each error, so that unreleased resources add up.
    """
    return replace(refused_for_name(), keeps_asking=True)


def brokers_that_refuse_names_again_and_again() -> st.SearchStrategy[Script]:
    """Brokers that refuse names, for a client that asks again after each error."""
    return brokers_that_refuse_names().map(lambda script: replace(script, keeps_asking=True))
