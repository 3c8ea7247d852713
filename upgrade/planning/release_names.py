"""Finds the two releases of an upgrade by the names that a user gives."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from reference_model.profiles.profile import APACHE_KAFKA
from reference_model.profiles.release_tables import RecordedRelease, recorded_releases


class UnknownRelease(Exception):
    """A name is that of no recorded release, or the two are in the wrong order; the message lists near names."""


def ends_named(before: str, after: str) -> tuple[RecordedRelease, RecordedRelease]:
    """Return the releases of two names.

    A name is a release ("2.3.1"), its line if that has one recorded release ("2.3"), or the id of a target
    ("apache-kafka-2.3.1"); with "-zookeeper" or "-kraft" it names one kind of quorum. Without that, both ends have the
    same one if that was recorded.

    Raises:
        UnknownRelease: a name is that of no recorded release, or the second release is not newer.
    """
    pairs = [(old, new) for old in _named(before) for new in _named(after)]
    possible = [(old, new) for old, new in pairs if old.can_become(new)]
    if not possible:
        old, new = pairs[-1]
        if old == new:
            raise UnknownRelease(f"{before} and {after} are the same release")
        if old.release == new.release or new.order > old.order:
            raise UnknownRelease(f"no cluster goes from {old.title} to {new.title}")
        raise UnknownRelease(f"{after} is older than {before}: name the older release first")
    return max(possible, key=_likelihood)


def _likelihood(pair: tuple[RecordedRelease, RecordedRelease]) -> tuple[bool, object, object]:
    """Return the sort key of a pair that two names may mean: with the same quorum, KRaft before ZooKeeper."""
    old, new = pair
    return old.quorum == new.quorum, new.order, old.order


def _named(name: str) -> Sequence[RecordedRelease]:
    release, _, quorum = name.removeprefix(f"{APACHE_KAFKA}-").partition("-")
    of_release = [each for each in recorded_releases() if each.release == release]
    of_line = [each for each in recorded_releases() if each.release.startswith(f"{release}.")]
    releases = [each for each in of_release or of_line if quorum in ("", each.quorum)]
    if not releases:
        raise UnknownRelease(f"no table of {name!r} was recorded; {_near(release)}")
    if len({each.release for each in releases}) > 1:
        names = ", ".join(each.short for each in releases)
        raise UnknownRelease(f"{name!r} may be one of {names}")
    return releases


def _near(release: str) -> str:
    """Return the recorded releases of the same line or with similar names, as the end of an error's sentence."""
    names = [each.short for each in recorded_releases()]
    line = release.rpartition(".")[0]
    same_line = [name for name in names if line and name.startswith(f"{line}.")]
    near = same_line or difflib.get_close_matches(release, names, n=3, cutoff=0.5)
    return f"near: {', '.join(near)}" if near else f"recorded are {', '.join(names)}"
