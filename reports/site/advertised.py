"""The page about what releases advertise: by API and by feature, and what all releases have in common.

The data was recorded from running brokers (`reference_model/profiles`), not from the runs of this grid.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from reference_model.listeners import CONTROLLER, PLAINTEXT
from reference_model.profile import FOLDER, KRAFT, release_order
from reports.exports.table_files import ExportedTable, write_tables
from reports.site.client_versions import served_clients
from reports.site.rendering import Site

_NAMES = Path(__file__).parent / "api_names.csv"
_PLACE = {"release": str, "quorum": str, "listener": str}
_RANGE = {"min_version": int, "max_version": int}
RECORDED_COLUMNS: Mapping[str, Mapping[str, type]] = {
    "advertised": {**_PLACE, "api_key": int, **_RANGE},
    "features": {**_PLACE, "name": str, **_RANGE, "finalized_level": int},
    "discovery": {
        **{"release": str, "quorum": str, "newest": int},
        **{"with_header_2": int, "answered_with_header_2": int},
        **{"with_header_3": int, "answered_with_header_3": int, "predicted": int},
        **{"offset_delete": str, "get_telemetry_subscriptions": str, "push_telemetry": str},
    },
}
"""Maps each recorded table to the types of its columns, which are those of its CSV file in the profiles."""
_ON_THIS_PAGE = ("advertised", "features")
_TITLES = {PLAINTEXT: "Brokers", CONTROLLER: "Controllers"}

Release = tuple[str, str]
"""Release and quorum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One API or feature: its range on each release, empty if not listed, and the range common to all."""

    key: str
    name: str
    ranges: tuple[str, ...]
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
    files = {name: (FOLDER / f"{name}.csv").read_bytes() for name in _ON_THIS_PAGE}
    recorded = {name: rows_in(content) for name, content in files.items()}
    write_tables(
        [exported_table(name, content) for name, content in files.items()],
        site.out_dir,
    )
    site.render(
        "advertised.html",
        "advertised",
        tables=[
            *(_api_table(recorded["advertised"], listener) for listener in _TITLES),
            _feature_table(recorded["features"]),
        ],
        served_clients=list(served_clients(site.folded)),
    )


def rows_in(content: bytes) -> list[dict[str, str]]:
    """Return the rows of a recorded table, given its CSV file."""
    return list(csv.DictReader(content.decode().splitlines()))


def exported_table(name: str, content: bytes) -> ExportedTable:
    """Return a recorded table as one to export, given its name and its CSV file."""
    columns = RECORDED_COLUMNS[name]
    return ExportedTable(
        name=name,
        inputs_sha256=sha256(content).hexdigest(),
        columns=tuple(columns),
        rows=[
            {column: type_(row[column]) for column, type_ in columns.items()}
            for row in rows_in(content)
        ],
    )


@cache
def api_names() -> Mapping[int, str]:
    """Return the name of every API that a release has had."""
    with _NAMES.open(encoding="utf-8") as file:
        return {int(row["api_key"]): row["name"] for row in csv.DictReader(file)}


def _releases(rows: Iterable[dict[str, str]]) -> list[Release]:
    found = {(row["release"], row["quorum"]) for row in rows}
    return sorted(found, key=lambda each: (release_order(each[0]), each[1] == KRAFT), reverse=True)


def _title(release: Release, releases: list[Release]) -> str:
    twice = sum(each[0] == release[0] for each in releases) > 1
    return f"{release[0]} {release[1]}" if twice else release[0]


def _api_table(rows: list[dict[str, str]], listener: str) -> AdvertisedTable:
    own = [row for row in rows if row["listener"] == listener]
    releases = _releases(own)
    ranges: dict[int, dict[Release, tuple[int, int]]] = {}
    for row in own:
        place = (row["release"], row["quorum"])
        span = (int(row["min_version"]), int(row["max_version"]))
        ranges.setdefault(int(row["api_key"]), {})[place] = span
    return AdvertisedTable(
        id=f"apis-{listener}",
        title=f"{_TITLES[listener]}: versions of each API, release by release",
        releases=tuple(_title(release, releases) for release in releases),
        rows=tuple(
            TableRow(
                key=str(key),
                name=api_names().get(key, f"key {key}"),
                ranges=tuple(_range(spans.get(release)) for release in releases),
                common=_common(spans, releases),
            )
            for key, spans in sorted(ranges.items())
        ),
    )


def _range(span: tuple[int, int] | None) -> str:
    if span is None:
        return ""
    return f"{span[0]}" if span[0] == span[1] else f"{span[0]}–{span[1]}"


def _common(spans: Mapping[Release, tuple[int, int]], releases: list[Release]) -> str:
    """Intersect the ranges, as a client would that has to talk to all releases."""
    if len(spans) < len(releases):
        return ""
    low = max(span[0] for span in spans.values())
    high = min(span[1] for span in spans.values())
    return _range((low, high)) if low <= high else ""


def _feature_table(rows: list[dict[str, str]]) -> AdvertisedTable:
    own = [row for row in rows if row["listener"] == PLAINTEXT]
    releases = _releases(own)
    cells: dict[str, dict[Release, str]] = {}
    for row in own:
        level = int(row["finalized_level"])
        span = _range((int(row["min_version"]), int(row["max_version"])))
        text = f"{span}, level {level}" if level else f"{span}, not set"
        cells.setdefault(row["name"], {})[row["release"], row["quorum"]] = text
    return AdvertisedTable(
        id="features",
        title="Features: supported versions, and the level that a fresh cluster sets",
        releases=tuple(_title(release, releases) for release in releases),
        rows=tuple(
            TableRow(
                key="",
                name=name,
                ranges=tuple(of.get(release, "") for release in releases),
                common="",
            )
            for name, of in sorted(cells.items())
        ),
    )
