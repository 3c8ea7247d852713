"""The page of what releases of Apache Kafka list and serve.

That is by API and by feature, with what all releases have in common. The data was recorded from running brokers
(`reference_model/profiles`), not from the runs of this grid.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from reference_model.profiles.known_apis import label_of
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT
from reference_model.profiles.profile import FOLDER, RECORDED_RELEASES
from reference_model.profiles.release_tables import RecordedRelease, recorded_releases
from reference_model.profiles.version_tables import intersection, served_ranges
from reports.exports.writing import ExportedTable, write_tables
from reports.release_changes.client_versions import served_clients
from reports.release_changes.steps import SOURCES, features_of
from reports.site.rendering import Site

_LISTENER_COLUMNS = {"release": str, "quorum": str, "listener": str}
_RANGE = {"min_version": int, "max_version": int}
RECORDED_COLUMNS: Mapping[str, Mapping[str, type]] = {
    "advertised": {**_LISTENER_COLUMNS, "api_key": int, **_RANGE},
    "features": {**_LISTENER_COLUMNS, "level": str, "name": str, **_RANGE, "finalized_level": int},
}
"""Maps each recorded table to the types of its columns, which are those of its CSV file in the profiles."""
_TITLES = {PLAINTEXT: "Brokers", CONTROLLER: "Controllers"}
DASH = "–"
"""Between the ends of a range on pages."""


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
