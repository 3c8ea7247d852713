"""Scripts of brokers without the oldest or the newest versions of APIs.

They are as brokers become when a release drops versions, and as they are when a client is ahead of them. A client
cannot tell from such a table why a version is missing, and everything that it sends may still be there.
"""

from __future__ import annotations

from hypothesis import strategies as st

from reference_model.clients.scripts.script import Script, Table, healthy_ranges
from reference_model.profiles.profile import profile_of
from strategies.broker_scripts import FAILURE_MS, broker_with
from wire.api_keys import API_VERSIONS_KEY

_HEALTHY = {key: (lowest, highest) for key, lowest, highest in healthy_ranges()}
_KEYS = tuple(key for key, (lowest, highest) in _HEALTHY.items() if key != API_VERSIONS_KEY and highest > lowest)


def broker_with_minimums(minimums: dict[int, int]) -> Script:
    """Return a script of a broker that has dropped the versions below these, by API key."""
    changed = tuple((key, minimums[key], _HEALTHY[key][1]) for key in sorted(minimums))
    return broker_with(Table(changed=changed), timeout_ms=FAILURE_MS)


def broker_with_maximums(maximums: dict[int, int]) -> Script:
    """Return a script of a broker that does not have the versions above these yet, by API key."""
    changed = tuple((key, _HEALTHY[key][0], maximums[key]) for key in sorted(maximums))
    return broker_with(Table(changed=changed), timeout_ms=FAILURE_MS)


def broker_with_minimums_of(release: str) -> Script:
    """Return a script of a broker that has dropped what a release has dropped, and has all newer versions."""
    lowest = {entry.api_key: entry.min_version for entry in profile_of(release).api_keys}
    return broker_with_minimums({key: lowest[key] for key in _KEYS if lowest.get(key, 0) > _HEALTHY[key][0]})


def broker_a_version_behind() -> Script:
    """Return a script of a broker that has all versions but the newest one of each API."""
    return broker_with_maximums({key: _HEALTHY[key][1] - 1 for key in _KEYS})


def brokers_with_minimums() -> st.SearchStrategy[Script]:
    """Brokers that have dropped old versions of one API to three APIs, but not the newest version."""
    return _chosen_versions(1, 0).map(broker_with_minimums)


def brokers_with_maximums() -> st.SearchStrategy[Script]:
    """Brokers that do not have the newest versions of one API to three APIs, but the oldest one."""
    return _chosen_versions(0, -1).map(broker_with_maximums)


def _chosen_versions(above_lowest: int, above_highest: int) -> st.SearchStrategy[dict[int, int]]:
    """Draw a version for each of some APIs, between ends that are so far above those of a healthy broker."""
    keys = st.sets(st.sampled_from(_KEYS), min_size=1, max_size=3).map(sorted)
    return keys.flatmap(
        lambda drawn: st.fixed_dictionaries(
            {key: st.integers(_HEALTHY[key][0] + above_lowest, _HEALTHY[key][1] + above_highest) for key in drawn}
        )
    )
