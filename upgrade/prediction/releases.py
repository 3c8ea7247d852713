"""Releases that an application may be upgraded to, and what each serves.

One may not exist yet: a release of which a given table leaves less.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from fixtures.registry.given_tables import GivenTable
from fixtures.registry.targets import Target, load_targets
from reference_model.profiles.cut_tables import cut_entries
from reference_model.profiles.known_apis import Range
from reference_model.profiles.profile import (
    APACHE_KAFKA,
    AT_LEVEL,
    RECORDED_RELEASES,
    Profile,
    line_of,
    profile_of,
    usual_quorum,
)
from reference_model.profiles.release_tables import level_refusal, stand_in, table_of_profile
from reference_model.profiles.version_tables import ranges_of, served_ranges


class NoSuchRelease(Exception):
    """There is no table of a release; the message says of which there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release that an application may be upgraded to.

    Attributes:
        id: its id in the registry.
        profile: how it behaves on a listener for clients.
        cut_from: the id of the release of which a given table leaves this one; empty for one that exists.
    """

    id: str
    profile: Profile
    cut_from: str = ""

    def serves(self, api_key: int, api_version: int) -> bool:
        """Return whether it serves a request, listed or not; a version that is listed but refused is not served.

        Some old brokers parse any version of an API; only the versions of their table count as served.
        """
        if self.profile.skips_unreadable(api_key):
            listed = self.served(api_key)
            return listed is not None and listed.lowest <= api_version <= listed.highest
        return self.profile.accepts(api_key, api_version)

    def served(self, api_key: int) -> Range | None:
        """Return the versions of an API that a client finds in its table and that it serves; None if there are none."""
        return served_ranges(table_of_profile(self.profile)).get(api_key)

    def refused_since(self, api_key: int, api_version: int) -> str:
        """Return the first line of releases, such as "4.0", that refuses a request.

        It is the start of the latest refusal up to this release: one release, such as "4.0.0", if others of its line
        serve the request. Return an empty string if no earlier release served it.
        """
        first: Release | None = self if self.cut_from else None
        # Which versions are served depends on no level.
        whole = (self.cut_from or self.id).partition(AT_LEVEL)[0]
        for earlier in map(_release, reversed(_releases_until(whole))):
            if earlier.serves(api_key, api_version):
                return first.name_of_refusal(api_key, api_version) if first else ""
            first = earlier
        return ""

    def name_of_refusal(self, api_key: int, api_version: int) -> str:
        """Return the line of a release that refuses a request; the release if not all of its line do.

        Of one that does not exist yet it is the table that takes the request away.
        """
        if self.cut_from:
            return self.id
        line = line_of(self.profile.release)
        of_line = (_release(id_) for id_, target in recorded_targets().items() if line_of(target.release) == line)
        if any(each.serves(api_key, api_version) for each in of_line):
            return self.profile.release
        return ".".join(map(str, line))


def with_table(id_: str) -> tuple[str, str]:
    """Return the id of the release whose table stands for a release, and in a sentence why.

    The id is returned as it is, without a sentence, if that release has a table or none stands for it.

    Args:
        id_: an id as in the registry, also of a patch release without a table: "apache-kafka-3.9.1-zookeeper".
    """
    named = re.fullmatch(rf"{APACHE_KAFKA}-([^-]+)(.*)", id_)
    known, sentence = stand_in(named[1]) if named else ("", "")
    return (f"{APACHE_KAFKA}-{known}{named[2]}", sentence) if named and known else (id_, "")


def release_named(id_: str) -> Release:
    """Return a release by its id in the registry.

    Raises:
        NoSuchRelease: there is no such release, or its table was not recorded.
    """
    whole, at, level = id_.partition(AT_LEVEL)
    if whole not in recorded_targets():
        raise NoSuchRelease(f"{id_!r} is no release whose table is known; known are {', '.join(recorded_targets())}")
    target = recorded_targets()[whole]
    if at and (refusal := level_refusal(whole, target.release, target.quorum, level)):
        raise NoSuchRelease(refusal)
    return _release(id_)


def cut_release(table: GivenTable, base: Release) -> Release:
    """Return a release of which a given table leaves less.

    Raises:
        InvalidTable: the table lists what the release does not, or removes what it does not have.
    """
    listed = ranges_of(base.profile.api_keys)
    left = table.left_of(listed, base.id)
    entries = cut_entries(base.profile.api_keys, left)
    unlisted = (
        each for each in base.profile.traits.accepted_unlisted if left.get(each.api_key) == listed.get(each.api_key)
    )
    traits = replace(base.profile.traits, accepted_unlisted=tuple(unlisted))
    profile = replace(base.profile, api_keys=entries, served_keys=entries, traits=traits)
    return Release(id=table.name, profile=profile, cut_from=base.id)


@cache
def _release(id_: str) -> Release:
    whole, _, level = id_.partition(AT_LEVEL)
    target = recorded_targets()[whole]
    return Release(id=id_, profile=profile_of(target.release, quorum=target.quorum, level=level))


@cache
def recorded_targets() -> Mapping[str, Target]:
    """Return the releases whose tables are recorded, oldest first, by their ids."""
    return {
        each.id: each
        for each in load_targets()
        if each.implementation == APACHE_KAFKA and each.release in RECORDED_RELEASES
    }


def _releases_until(id_: str) -> list[str]:
    """Return the ids of a release and the releases before it, oldest first.

    A release can have an id with ZooKeeper and an id without it. Only the usual one is returned, and `id_` itself.
    """
    targets = recorded_targets()
    usual = {each.release: each.id for each in targets.values() if each.quorum == usual_quorum(each.release)}
    ids = list(targets)
    return [each for each in ids[: ids.index(id_) + 1] if each in (id_, usual.get(targets[each].release, each))]
