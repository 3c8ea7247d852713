"""The pages of upgrades of Apache Kafka.

There is a page for each two releases of the grid, and an overview that links to each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations

from markupsafe import Markup

from reference_model.profiles.release_tables import RecordedRelease, recorded_releases
from reports.grid import addresses
from reports.release_changes.client_versions import tried_operations
from reports.release_changes.sections import sections_of
from reports.release_changes.steps import SOURCES, last_with_zookeeper
from reports.release_changes.upgrade import Upgrade, upgrade_between
from reports.site.rendering import Site, linked

Ends = tuple[RecordedRelease, RecordedRelease]
"""The older and the newer release."""
_NAME = re.compile(r"([\w-]+(?:\.[\w-]+)+)")
_WORD = re.compile(r"([\w-]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeRow:
    """The upgrades from one release that people ask for; None if there is none.

    Attributes:
        to_next: to the next one with the same quorum; from the last one with ZooKeeper to the same release with KRaft.
    """

    before: RecordedRelease
    to_next: Upgrade | None
    to_last_with_zookeeper: Upgrade | None
    to_newest: Upgrade | None


def releases_in(site: Site) -> tuple[RecordedRelease, ...]:
    """Return the recorded releases that a grid has a column of, oldest first."""
    targets = {column.target for column in site.folded.columns}
    return tuple(release for release in recorded_releases() if release.target in targets)


def neighbours_of(target: str, releases: Sequence[RecordedRelease]) -> tuple[Ends, ...]:
    """Return the upgrades that end or begin at a release: from the one before, to the next, and to the newest.

    Those next to it have the same quorum, or are the same release before or after the migration to KRaft.

    Args:
        target: the id of the release's target; any other target has none.
        releases: those of the grid, the oldest first.
    """
    here = next((each for each in releases if each.target == target), None)
    if here is None:
        return ()
    older = [each for each in releases if each.can_become(here)]
    newer = [each for each in releases if here.can_become(each)]
    before = [each for each in older if each.quorum == here.quorum][-1:]
    after = [each for each in newer if each.quorum == here.quorum][:1]
    migrated = [each for each in (*older, *newer) if each.release == here.release]
    near = sorted({*before, *migrated, *after, *newer[-1:]}, key=releases.index)
    return tuple((each, here) if each in older else (here, each) for each in near)


def write_upgrades(site: Site) -> None:
    """Write upgrade.html, and upgrade/<A>-<B>.html for each two releases of the grid."""
    releases = releases_in(site)
    upgrades = {
        (old, new): upgrade_between(old, new, site.folded)
        for old, new in combinations(releases, 2)
        if old.can_become(new)
    }
    names = [release.short for release in releases]
    linked_names = _Names.of(site)
    for ends, upgrade in upgrades.items():
        site.render(
            addresses.upgrade_page(*(end.short for end in ends)),
            "upgrade_pair",
            upgrade=upgrade,
            sections=sections_of(upgrade, with_steps=False),
            releases=names,
            written=upgrades.keys(),
            with_links=linked_names.with_links,
            sources=SOURCES,
        )
    site.render(
        addresses.UPGRADE,
        "upgrade",
        rows=_rows(releases, upgrades),
        releases=names,
        ends=list(releases),
        written=upgrades.keys(),
    )


def _rows(releases: Sequence[RecordedRelease], upgrades: dict[Ends, Upgrade]) -> list[UpgradeRow]:
    last, _ = last_with_zookeeper()
    return [
        UpgradeRow(
            before=before,
            to_next=next(
                (
                    upgrade
                    for (old, new), upgrade in upgrades.items()
                    if old == before and (new.quorum == old.quorum or old == last)
                ),
                None,
            ),
            to_last_with_zookeeper=upgrades.get((before, last)),
            to_newest=upgrades.get((before, releases[-1])),
        )
        for before in reversed(releases[:-1])
    ]


@dataclass(frozen=True, kw_only=True)
class _Names:
    """The names that have pages, with their addresses, and the clients that operations were tried with."""

    pages: Mapping[str, str]
    clients: Set[str]

    @classmethod
    def of(cls, site: Site) -> _Names:
        """Return those of a site."""
        pages = {clause: addresses.clause_page(clause) for clause in site.folded.cells}
        pages |= {each.id: addresses.target_page(each.id) for each in site.products}
        return cls(
            pages=pages,
            clients={each.client for each in tried_operations(site.folded)},
        )

    def with_links(self, text: str, root: str, owner: str = "") -> Markup:
        """Turn rules, targets, the owner's operations and web addresses in a text into links."""
        if "://" in text:
            return linked(text)
        pieces = (_WORD if owner in self.clients else _NAME).split(text)
        links = [(piece, self._address(piece, owner)) for piece in pieces]
        return Markup("").join(
            Markup('<a href="{}{}">{}</a>').format(root, address, piece) if address else piece
            for piece, address in links
        )

    def _address(self, piece: str, owner: str) -> str:
        return self.pages.get(piece) or self.pages.get(f"{owner}.{piece}", "")
