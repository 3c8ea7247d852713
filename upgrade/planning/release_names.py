"""Finds the two releases of an upgrade by the names that a user gives."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace

from fixtures.registry.given_tables import GivenTable
from reference_model.profiles.profile import APACHE_KAFKA, AT_LEVEL, line_of
from reference_model.profiles.release_tables import RecordedRelease, level_refusal, recorded_releases, stand_in


class UnknownRelease(Exception):
    """A name is that of no release whose table is known, or the two are in the wrong order; the message helps."""


def ends_named(before: str, after: str) -> tuple[RecordedRelease, RecordedRelease]:
    """Return the releases of two names.

    A name is a release ("2.3.1"), a line ("2.3", its newest recorded release), or the id of a target
    ("apache-kafka-2.3.1"); with "-zookeeper" or "-kraft" it names one kind of quorum. Without that, both ends have the
    same one if that was recorded. With "-at-3.9" it names a release with KRaft whose features are finalized at the
    levels of that line. For a patch release that was not recorded another one stands, see `stand_in`.

    Raises:
        UnknownRelease: a name is that of no release whose table is known, or the second release is not newer.
    """
    pairs = [(old, new) for old in _named(before) for new in _named(after)]
    possible = [(old, new) for old, new in pairs if old.can_become(new)]
    if not possible:
        old, new = pairs[-1]
        if notes := stand_in_notes(before, after):
            raise UnknownRelease(f"{before} and {after} cannot be compared. {' '.join(notes)}")
        if old == new:
            raise UnknownRelease(f"{before} and {after} are the same release")
        if old.release == new.release or new.order > old.order:
            raise UnknownRelease(f"no cluster goes from {old.title} to {new.title}")
        raise UnknownRelease(f"{after} is older than {before}: name the older release first")
    return max(possible, key=_likelihood)


def with_given_table(name: str, table: GivenTable) -> tuple[RecordedRelease, RecordedRelease]:
    """Return the release of a name, and the same one with what a given table leaves of it.

    Raises:
        UnknownRelease: the name is that of no release whose table is known.
        InvalidTable: the table lists what the release does not, or removes what it does not have.
    """
    release = _named(name)[-1]
    left = table.left_of({key: each.listed for key, each in release.table().items()}, release.title)
    return release, replace(release, table_name=table.name, left=tuple(sorted(left.items())))


def stand_in_notes(*names: str) -> tuple[str, ...]:
    """Return in a sentence for each name of a release that was not recorded which one stands for it."""
    sentences = (stand_in(_release_in(name))[1] for name in names)
    return tuple(filter(None, dict.fromkeys(sentences)))


def _likelihood(pair: tuple[RecordedRelease, RecordedRelease]) -> tuple[bool, object, object]:
    """Return the sort key of a pair that two names may mean: with the same quorum, KRaft before ZooKeeper."""
    old, new = pair
    return old.quorum == new.quorum, new.order, old.order


def _release_in(name: str) -> str:
    return name.removeprefix(f"{APACHE_KAFKA}-").partition("-")[0]


def _named(name: str) -> Sequence[RecordedRelease]:
    whole, at, level = name.partition(AT_LEVEL)
    if at:
        return [_at_level(whole, level)]
    release = _release_in(name)
    quorum = name.removeprefix(f"{APACHE_KAFKA}-").partition("-")[2]
    lines = {line_of(each.release): each for each in recorded_releases() if each.release.startswith(f"{release}.")}
    if len(lines) > 1:
        raise UnknownRelease(f"{name!r} may be one of {', '.join(each.short for each in lines.values())}")
    known, _ = stand_in(release)
    releases = [each for each in recorded_releases() if each.release == known and quorum in ("", each.quorum)]
    if not releases:
        raise UnknownRelease(f"no table of {name!r} was recorded; {_near(release)}")
    return releases


def _at_level(name: str, level: str) -> RecordedRelease:
    release = _named(name)[-1]
    if refusal := level_refusal(name, release.release, release.quorum, level):
        raise UnknownRelease(refusal)
    return release.at(level)


def _near(release: str) -> str:
    """Return the recorded releases of the same line or with similar names, as the end of an error's sentence."""
    names = [each.short for each in recorded_releases()]
    line = release.rpartition(".")[0]
    same_line = [name for name in names if line and name.startswith(f"{line}.")]
    near = same_line or difflib.get_close_matches(release, names, n=3, cutoff=0.5)
    return f"near: {', '.join(near)}" if near else f"recorded are {', '.join(names)}"
