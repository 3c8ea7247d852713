"""Scripts of brokers that are newer than a client.

Old versions of APIs and complete APIs are gone, and new ones have come.

A client cannot know in advance what its next broker drops, so APIs that the client needs are among what is changed, and
the property decides by what the client was seen to send.
"""

from __future__ import annotations

from hypothesis import strategies as st

from reference_model.clients.scripts.script import (
    Answer,
    ConnectionScript,
    Range,
    Script,
    Table,
    healthy_ranges,
)
from strategies.broker_scripts import (
    ENOUGH_RESPONSES,
    FAILURE_MS,
    SUCCESS_MS,
    broker_with,
)
from strategies.cluster_scripts import BEGINNING_KEYS, UNUSED_KEYS, kept_asking
from wire.api_keys import (
    API_VERSIONS_KEY,
    FIND_COORDINATOR_KEY,
    METADATA_KEY,
    SASL_KEYS,
)
from wire.api_versions import NEWEST_VERSION
from wire.primitives import INT16_MAX

FIRST_UNKNOWN_VERSION = 60
"""Far above the newest version of any API that a client of today can have."""
UNKNOWN_VERSIONS = (FIRST_UNKNOWN_VERSION, 70)
_NEWEST = {key: high for key, _, high in healthy_ranges()}
_OTHER_KEYS = tuple(key for key in _NEWEST if key not in (API_VERSIONS_KEY, METADATA_KEY, *SASL_KEYS))
OTHER_BEGINNING_KEYS = tuple(key for key in _OTHER_KEYS if key in BEGINNING_KEYS)
"""The APIs other than Metadata that clients may use to list topics; there are scripts of their own for SASL."""


def raised(*api_keys: int) -> tuple[Range, ...]:
    """Return entries of APIs whose minimums lie above every version that a client can have."""
    return tuple((key, *UNKNOWN_VERSIONS) for key in sorted(api_keys))


def broker_with_other_apis(*, changed: tuple[Range, ...] = (), removed: tuple[int, ...] = ()) -> Script:
    """Return a script of a broker with other ranges of APIs than Metadata, or without them; a client may fail there."""
    return broker_with(Table(changed=changed, removed=removed), timeout_ms=FAILURE_MS)


def brokers_with_other_apis() -> st.SearchStrategy[Script]:
    """Brokers that raised the minimums of APIs, to a version of today or far above it, or that dropped APIs.

    One API with which clients begin is always among them, and up to three others of any kind.
    """
    keys = st.tuples(st.sampled_from(OTHER_BEGINNING_KEYS), st.sets(st.sampled_from(_OTHER_KEYS), max_size=3)).map(
        lambda drawn: sorted({drawn[0], *drawn[1]})
    )
    return keys.flatmap(lambda drawn: st.tuples(*map(_changes, drawn))).map(_with_changes)


def _changes(api_key: int) -> st.SearchStrategy[Range | int]:
    """What may become of an API: a raised minimum, or the key alone if it is dropped."""
    newest = _NEWEST[api_key]
    of_today = st.integers(0, newest).map(lambda low: (api_key, low, newest))
    return st.just((api_key, *UNKNOWN_VERSIONS)) | st.just(api_key) | of_today


def _with_changes(changes: tuple[Range | int, ...]) -> Script:
    return broker_with_other_apis(
        changed=tuple(each for each in changes if not isinstance(each, int)),
        removed=tuple(each for each in changes if isinstance(each, int)),
    )


def changed_keys(script: Script) -> frozenset[int]:
    """Return the APIs whose entries a script's first table changes or lacks."""
    table = next(iter(script.answers)).table
    return frozenset((*(key for key, _, _ in table.changed), *table.removed))


def unknown_keys_of(script: Script) -> frozenset[int]:
    """Return the APIs of which a script's first table lists no version that a client of today can have."""
    table = next(iter(script.answers)).table
    return frozenset(
        key for key in changed_keys(script) if all(low >= FIRST_UNKNOWN_VERSION for low, _ in table.ranges_of(key))
    )


def brokers_without_old_features() -> st.SearchStrategy[Script]:
    """Brokers that dropped every version of today of some APIs, but of none that a client needs to list topics."""
    keys = st.sets(st.sampled_from(UNUSED_KEYS), min_size=1)
    return keys.map(lambda drawn: broker_with_raised(*drawn))


def broker_with_raised(*api_keys: int) -> Script:
    """Return a script of a broker whose minimum versions of APIs exceed all client versions.

    A client has to work nevertheless.
    """
    return broker_with(Table(changed=raised(*api_keys)), timeout_ms=SUCCESS_MS)


def next_release(newest: int = NEWEST_VERSION + 1, *, more: int = 0, closes_after: int = 2) -> Script:
    """Return a script of a broker of a later release, which closes each connection after some responses.

    Args:
        newest: the newest version of ApiVersions that it lists.
        more: how many versions later than today's its newest ones of Metadata and FindCoordinator are.
        closes_after: after how many responses it closes a connection.
    """
    later: tuple[Range, ...] = ()
    if more:
        later = tuple((key, 0, _NEWEST[key] + more) for key in (METADATA_KEY, FIND_COORDINATOR_KEY))
    table = Table(changed=(*later, (API_VERSIONS_KEY, 0, newest)))
    connection = ConnectionScript(newest_version=newest, answers=(Answer(table=table),), closes_after=closes_after)
    return kept_asking((connection,), ends_after=ENOUGH_RESPONSES)


def next_releases() -> st.SearchStrategy[Script]:
    """Brokers of later releases, with one more version of ApiVersions or many, and with other newer APIs or without."""
    newest = st.integers(NEWEST_VERSION + 1, NEWEST_VERSION + 9) | st.just(INT16_MAX)
    return st.builds(next_release, newest, more=st.integers(0, 3), closes_after=st.integers(1, 3))
