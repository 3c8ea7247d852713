"""The recorded tables of releases, for which no broker is asked."""

from __future__ import annotations

from functools import cache

from fixtures.registry.targets import Target
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT
from reference_model.profiles.profile import Profile, profile_of
from reference_model.profiles.version_tables import (
    Ranges,
    ranges_of,
)
from upgrade.api_versions.cluster_tables import BrokerTable, ClusterTables, InvalidTables
from upgrade.prediction.releases import recorded_targets


def tables_of_release(target: Target, *, controllers: bool) -> ClusterTables:
    """Return the recorded table of a release or of its controllers, as a cluster of one broker.

    Raises:
        InvalidTables: none was recorded.
    """
    profile = _profile(target, CONTROLLER if controllers else PLAINTEXT)
    if not profile.api_keys:
        what = "a controller's table" if controllers else "a table"
        raise InvalidTables(f"the suite has not recorded {what} of {target.id}")
    broker = BrokerTable(
        node_id=1,
        host="recorded",
        port=0,
        ranges=ranges_of(profile.api_keys),
        refused=ranges_of(profile.traits.refused_listed),
    )
    return ClusterTables(name=target.id, cluster_id=None, brokers=[broker])


def refused_with(ranges: Ranges) -> Ranges:
    """Return the versions that a broker refuses although it lists them, if its table is that of a known release."""
    return next((refused for table, refused in _refusals() if table == ranges), {})


@cache
def _refusals() -> tuple[tuple[Ranges, Ranges], ...]:
    """Return the table of each release that refuses something of it, with that."""
    profiles = [_profile(target, PLAINTEXT) for target in recorded_targets().values()]
    return tuple(
        (ranges_of(each.api_keys), ranges_of(each.traits.refused_listed))
        for each in profiles
        if each.traits.refused_listed
    )


def _profile(target: Target, listener: str) -> Profile:
    return profile_of(target.release, quorum=target.quorum, listener=listener, level=target.level)
