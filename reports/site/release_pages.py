"""The pages about releases of Apache Kafka.

There is a page for each two releases of the grid, an overview that links to each, and a page of what releases list and
serve.

That is by API and by feature, with what all releases have in common. The data was recorded from running brokers
(`reference_model/profiles`), not from the runs of this grid.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations

from markupsafe import Markup

from reference_model.profiles.known_apis import label_of
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT
from reference_model.profiles.profile import FOLDER, RECORDED_RELEASES
from reference_model.profiles.release_tables import RecordedRelease, recorded_releases
from reference_model.profiles.version_tables import intersection, served_ranges
from reports.exports.writing import ExportedTable, write_tables
from reports.grid import addresses
from reports.release_changes.client_versions import served_clients, tried_operations
from reports.release_changes.sections import sections_of
from reports.release_changes.steps import SOURCES, features_of, last_with_zookeeper
from reports.release_changes.upgrade import Upgrade, upgrade_between
from reports.site.rendering import Site, linked

Ends = tuple[RecordedRelease, RecordedRelease]
"""The older and the newer release."""
_LISTENER_COLUMNS = {"release": str, "quorum": str, "listener": str}
_RANGE = {"min_version": int, "max_version": int}
RECORDED_COLUMNS: Mapping[str, Mapping[str, type]] = {
    "advertised": {**_LISTENER_COLUMNS, "api_key": int, **_RANGE},
    "features": {**_LISTENER_COLUMNS, "name": str, **_RANGE, "finalized_level": int},
}
"""Maps each recorded table to the types of its columns, which are those of its CSV file in the profiles."""
_TITLES = {PLAINTEXT: "Brokers", CONTROLLER: "Controllers"}
DASH = "–"
"""Between the ends of a range on pages."""
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
        found = [(piece, self._address(piece, owner)) for piece in pieces]
        return Markup("").join(
            Markup('<a href="{}{}">{}</a>').format(root, address, piece) if address else piece
            for piece, address in found
        )

    def _address(self, piece: str, owner: str) -> str:
        return self.pages.get(piece) or self.pages.get(f"{owner}.{piece}", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """Support of one release for an API or feature, empty if there is none.

    It is new if the previous release with the same quorum has another one.
    """

    text: str
    is_new: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One API or feature, with its range on each release.

    `common` has the versions that all releases serve, empty if there is none.
    """

    key: str
    name: str
    cells: tuple[TableCell, ...]
    common: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvertisedTable:
    """One table: column titles and rows."""

    id: str
    title: str
    releases: tuple[str, ...]
    rows: tuple[TableRow, ...]


def write_advertised(site: Site) -> None:
    """Write advertised.html, and export the recorded rows unchanged along with the other tables."""
    files = {name: (FOLDER / f"{name}.csv").read_bytes() for name in RECORDED_COLUMNS}
    write_tables(
        [exported_table(name, content, RECORDED_COLUMNS[name]) for name, content in files.items()],
        site.out_dir,
    )
    site.render(
        "advertised.html",
        "advertised",
        tables=[*(api_table(listener) for listener in _TITLES), feature_table()],
        served_clients=[served_clients(release, site.folded) for release in reversed(RECORDED_RELEASES)],
        sources=SOURCES,
    )


def rows_in(content: bytes) -> list[dict[str, str]]:
    """Return the rows of a recorded table, given its CSV file."""
    return list(csv.DictReader(content.decode().splitlines()))


def exported_table(name: str, content: bytes, columns: Mapping[str, type]) -> ExportedTable:
    """Return a recorded table as one to export, given its CSV file and the types of its columns."""
    return ExportedTable(
        name=name,
        inputs_sha256=sha256(content).hexdigest(),
        columns=tuple(columns),
        rows=[{column: type_(row[column]) for column, type_ in columns.items()} for row in rows_in(content)],
    )


def api_table(listener: str) -> AdvertisedTable:
    """Return what each release lists and refuses on a listener, newest release first."""
    tables = {release: release.table(listener) for release in reversed(recorded_releases()) if release.table(listener)}
    common = intersection([served_ranges(table) for table in tables.values()])
    releases = list(tables)
    return AdvertisedTable(
        id=f"apis-{listener}",
        title=f"{_TITLES[listener]}: versions of each API, release by release",
        releases=tuple(release.title for release in releases),
        rows=tuple(
            TableRow(
                key=str(key),
                name=label_of(key),
                cells=_cells(
                    releases,
                    [table[key].in_words(between=DASH) if key in table else "" for table in tables.values()],
                ),
                common=common[key].in_words(between=DASH) if key in common else "",
            )
            for key in sorted({key for table in tables.values() for key in table})
        ),
    )


def feature_table() -> AdvertisedTable:
    """Return which features each release supports, and the level that a fresh cluster sets, newest release first."""
    texts: dict[str, dict[RecordedRelease, str]] = {}
    releases = [release for release in reversed(recorded_releases()) if features_of(release)]
    for release in releases:
        for name, text in features_of(release, between=DASH).items():
            texts.setdefault(name, {})[release] = text
    return AdvertisedTable(
        id="features",
        title="Features: supported versions, and the level that a fresh cluster sets",
        releases=tuple(release.title for release in releases),
        rows=tuple(
            TableRow(
                key="",
                name=name,
                cells=_cells(releases, [of.get(release, "") for release in releases]),
                common="",
            )
            for name, of in sorted(texts.items())
        ),
    )


def _cells(releases: Sequence[RecordedRelease], texts: Sequence[str]) -> tuple[TableCell, ...]:
    """Return the cells of a row, given its texts; releases go from new to old."""
    cells = []
    for index, (release, text) in enumerate(zip(releases, texts, strict=True)):
        older = (texts[other] for other in range(index + 1, len(releases)) if releases[other].quorum == release.quorum)
        cells.append(TableCell(text=text, is_new=bool(text) and next(older, text) != text))
    return tuple(cells)
