"""Tests of the page about the grid, and of what several overviews show."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from markupsafe import Markup

from reference_model.profiles.profile import FOLDER
from reports.exports.writing import table_schema_text
from reports.grid import addresses
from reports.grid.addresses import FORMS, table_address
from reports.grid.grid_reading import read_grid
from reports.grid.grid_view import FoldedGrid
from reports.site.build import build_site, read_tables
from reports.site.rendering import sourced
from reports.site.why import evidence_of, quantile_ms, write_why
from tests.reports.roll_up_tables import RUN_ID, cell_row, clause_row, run_row, target_row, write_tables
from tests.reports.site.parsed_pages import all_of, parse, text_of
from tests.reports.site.sites import (
    HOSTILE,
    KNOWN_SIGNATURE,
    NAMES,
    NEW,
    write_small_pages,
    write_small_tables,
)


def test_sources_are_linked() -> None:
    """A proposal leads to its page, an issue to the tracker; all other text is escaped."""
    assert sourced("KAFKA-17011 & KIP-35, x") == Markup(
        '<a href="https://issues.apache.org/jira/browse/KAFKA-17011" rel="noreferrer">KAFKA-17011</a> &amp; '
        '<a href="https://cwiki.apache.org/confluence/display/KAFKA/KIP-35+-+Retrieving+protocol+version" '
        'rel="noreferrer">KIP-35</a>, x'
    )


def test_advertised_tables_have_names_ranges_and_what_is_common(small_site: Path) -> None:
    """Every release serves ApiVersions from v0, and each release has a column."""
    page = parse(small_site / "advertised.html")
    row = next(row for row in all_of(page, "tr") if text_of(row).startswith("ApiVersions 18"))
    cells = [text_of(cell) for cell in row]
    assert cells[1] == "0"
    assert cells[2] == "0–5"
    assert "metadata.version" in text_of(page)


def test_quantile_is_the_upper_end_of_its_bucket() -> None:
    """Bucket 40 ends at 2**10.25 microseconds."""
    buckets = {32: 10, 40: 10}
    assert round(quantile_ms(buckets, 0.5), 3) == round(2**8.25 / 1000, 3)
    assert round(quantile_ms(buckets, 0.95), 3) == round(2**10.25 / 1000, 3)


def test_about_says_how_it_was_made(small_site: Path) -> None:
    """The page has versions, hashes, seed, every refused run with its reason, and notices about accepted runs.

    It also says which defects are found, how fast the latest runs were, and the quantiles of latency.
    """
    text = text_of(parse(small_site / "why.html"))
    for part in (
        *("6.170.15", "cdcdcdcdcdcd", "random", f"/runs/{HOSTILE}", "it was cut off"),
        f"/runs/2-{HOSTILE} not in the catalogue: C.gone",
        "1 of 1 planted defect is found with every seed",
        "names-are-not-checked ✓ always",
        "Apache Kafka 4.4.0 plaintext 30",
        "1,000 10.0 100",
    ):
        assert part in text, part
    assert KNOWN_SIGNATURE not in text


@pytest.mark.parametrize(
    ("load", "sentence"),
    [
        (
            {"load_at_start": 1.4, "highest_load": 20.25},
            "2 CPUs, load 1.4 at the start, 20.2 at most",
        ),
        ({}, "2 CPUs"),
    ],
)
def test_about_says_how_busy_the_machine_was(load: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    """Runs of older suites did not record it."""
    folder = write_small_pages(tmp_path, write_why, runs=[run_row(**load)])
    text = text_of(parse(folder / "why.html"))
    assert f"Linux x86_64, {sentence} 0" in text


def test_about_says_how_many_runs_it_leaves_out(tmp_path: Path) -> None:
    """The page lists the runs that the grid shows, and the newest of the others."""
    late = [run_row(run_id=f"late-{number:03}", in_grid=False) for number in range(201)]
    shown = run_row(started_at=datetime(2026, 1, 1, tzinfo=UTC))
    folder = write_small_pages(tmp_path, write_why, runs=[shown, *late])
    text = text_of(parse(folder / "why.html"))
    assert "202 runs in this grid, newest first; 1 of them only in the exports" in text
    assert RUN_ID in text
    assert "late-200" in text
    assert "late-000" not in text


def test_badges_of_everything_and_of_sources_are_on_the_page_about_the_grid(
    small_site: Path,
) -> None:
    """Each badge is shown as a picture, with links to both of its forms."""
    page = parse(small_site / "why.html")
    names = [picture.get("alt") for picture in all_of(page, "img")]
    assert names == [f"Badge of {name}" for name in ("Everything", "KIP-35", "KIP-511", "PROTOCOL")]
    goals = [link.get("href", "") for link in all_of(page, "a")]
    assert {"exports/badges/all.svg", "exports/badges/sources/KIP-35.json"} <= set(goals)


@pytest.mark.parametrize(
    ("address", "tables"),
    [
        ("advertised.html", {"advertised", "features"}),
        (addresses.clause_page(NAMES), {"cells", "coverage", "mutation"}),
        (addresses.target_page(NEW), {"cells", "targets"}),
        (addresses.cell_page(NAMES, NEW, "plaintext"), {"cells", "transitions", "flakes"}),
    ],
    ids=["advertised", "clause", "target", "cell"],
)
def test_exports_stand_beside_tables(address: str, tables: set[str], small_site: Path) -> None:
    """The content of each table is available in formats for programs and for documents."""
    links = [link.get("aria-label") or "" for link in all_of(parse(small_site / address), "a")]
    for form, _ in FORMS:
        of_form = f" as {form}"
        assert {name.removesuffix(of_form) for name in links if name.endswith(of_form)} == tables


@pytest.mark.parametrize("name", ["advertised", "features"])
def test_recorded_tables_are_exported_as_they_are(name: str, small_site: Path) -> None:
    """JSON follows the published schema, with numbers, and CSV equals the recorded table line by line."""
    document = json.loads((small_site / table_address(name, "json")).read_text())
    Draft202012Validator(json.loads(table_schema_text())).validate(document)
    recorded = (FOLDER / f"{name}.csv").read_bytes()
    assert document["inputs_sha256"] == hashlib.sha256(recorded).hexdigest()
    exported = (small_site / table_address(name, "csv")).read_text(encoding="utf-8")
    assert exported.splitlines() == recorded.decode().splitlines()
    assert len(document["rows"]) == len(exported.splitlines()) - 1


def test_published_site_has_a_card_and_badges_to_copy(tmp_path: Path) -> None:
    """Where the site's address is known, a link to it shows a picture, and badges have it in their Markdown."""
    write_small_tables(tmp_path)
    build_site(*read_tables(tmp_path, pages="https://site.example/kafka/"), tmp_path)
    page = parse(tmp_path / addresses.target_page(NEW))
    sentence = {meta.get("property"): meta.get("content") for meta in all_of(page, "meta")}
    assert sentence["og:url"] == f"https://site.example/kafka/{addresses.target_page(NEW)}"
    assert sentence["og:image"] == "https://site.example/kafka/card.png"
    assert (tmp_path / "card.png").is_file()
    badge = f"https://site.example/kafka/exports/badges/targets/{NEW}.svg"
    (text,) = [text_of(area) for area in all_of(page, "textarea") if "badges" in text_of(area)]
    assert text == f"[![Kafka handshake: Apache Kafka 4.4.0]({badge})]({sentence['og:url']})"


def test_unpublished_site_claims_no_address(small_site: Path) -> None:
    """A grid on a disk has a place to fill in instead."""
    text = (small_site / addresses.target_page(NEW)).read_text(encoding="utf-8")
    assert "og:url" not in text
    assert "(https://ADDRESS-OF-THIS-SITE/exports/badges/" in text


KAFKA, OTHER = "apache-kafka-4.4.0", "other-1.0"


def test_evidence_is_counted_per_cell(tmp_path: Path) -> None:
    """Examples of all listeners count together."""
    model, rule = "MODEL.agrees-with-reference", "KIP-35.keys"
    write_tables(
        tmp_path,
        runs=[run_row(example_rows=123)],
        targets=[target_row(KAFKA), target_row(KAFKA, listener="ssl"), target_row(OTHER)],
        clauses=[clause_row(rule, 0), clause_row(model, 1, source="MODEL")],
        cells=[
            cell_row(rule, KAFKA, examples=6, conforms=6),
            cell_row(rule, KAFKA, listener="ssl", examples=4, conforms=4),
            cell_row(rule, OTHER, examples=9, conforms=9),
            cell_row(model, KAFKA, examples=50, conforms=49),
            cell_row(model, OTHER, "inconclusive", examples=5, conforms=5, reason="it was slow"),
        ],
    )
    evidence = evidence_of(FoldedGrid(read_grid(tmp_path)))
    assert evidence.examples == 123
    assert (evidence.kept, evidence.thin, evidence.unsettled) == (3, 1, 1)
    assert evidence.listeners == ("plaintext", "ssl")
