"""Pages and exports that differ from what the tables make are named, whatever the list of hashes says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reports.errors import StatementWithoutEvidence
from reports.hash_list import write_hash_list
from reports.site.whole_site import build_site, read_tables
from reports.verify.page_verification import differing_pages
from reports.verify.verification import GIVEN_TABLES
from tests.reports.roll_up_tables import run_row, write_tables
from tests.reports.site.sites import site_tables


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a list of hashes, written once."""
    root = write_tables(tmp_path_factory.mktemp("site"), **_lists("/runs"), **site_tables())
    build_site(*read_tables(root), root)
    write_hash_list(root)
    return root


@pytest.fixture
def published(written: Path, tmp_path: Path) -> Path:
    """A copy of it, which a test may change."""
    return Path(shutil.copytree(written, tmp_path / "published"))


@pytest.fixture
def recomputed(tmp_path: Path) -> Path:
    """The tables of the same runs, which have moved to another folder; the rows are in another order."""
    tables = {name: rows[::-1] for name, rows in site_tables().items()}
    taken_over: dict[str, list[dict[str, object]]] = {name: [] for name in GIVEN_TABLES}
    runs = {"runs": [run_row("/elsewhere")]}
    lists = _lists("/elsewhere")
    return write_tables(tmp_path / "again", **lists, **(tables | runs | taken_over))


def _lists(root: str) -> dict[str, list[dict[str, str]]]:
    return {
        "refused": [{"folder": f"{root}/1", "refusal": "cut_off", "reason": "it was cut off"}],
        "notices": [{"folder": f"{root}/2", "notice": "not in the catalogue: C.gone"}],
    }


def _found(published: Path, recomputed: Path, tmp_path: Path) -> list[str]:
    (tmp_path / "scratch").mkdir()
    found = differing_pages(published, recomputed, tmp_path / "scratch", list(GIVEN_TABLES))
    return [f"{difference.part}: {difference.sentence}" for difference in found]


def test_pages_that_the_tables_make_have_no_difference(
    published: Path, recomputed: Path, tmp_path: Path
) -> None:
    """Pages do not depend on the time, the location of the runs, or the order in which Spark wrote rows."""
    assert _found(published, recomputed, tmp_path) == []


def test_address_of_the_pages_is_taken_from_the_grid(
    published: Path, recomputed: Path, tmp_path: Path
) -> None:
    """A grid that was made for an address has its links in every export; they are no difference."""
    build_site(*read_tables(published, pages="https://pages.example/kafka/"), published)
    write_hash_list(published)
    assert "https://pages.example/kafka/" in (published / "exports/changes.atom").read_text()
    assert _found(published, recomputed, tmp_path) == []


def test_painted_files_are_named(published: Path, recomputed: Path, tmp_path: Path) -> None:
    """A falsified page, an added file and a removed one are found, although the list was rewritten."""
    home = published / "index.html"
    home.write_text(home.read_text().replace("violates", "conforms"))
    badge = next((published / "exports" / "badges").rglob("*.svg"))
    badge.write_text("<svg/>")
    (published / "grid.md").unlink()
    (published / "cells" / "more.html").write_text("all is well")
    (published / "tables" / "more.parquet").write_bytes(b"")
    write_hash_list(published)
    assert sorted(_found(published, recomputed, tmp_path)) == [
        "page: cells/more.html is published, but no table produces it",
        f"page: {badge.relative_to(published)} differs from the page that the tables produce",
        "page: grid.md is missing",
        "page: index.html differs from the page that the tables produce",
        "page: tables/more.parquet is published, but no table produces it",
    ]


@pytest.mark.parametrize("name", ["refused", "notices"])
def test_missing_list_is_named(
    published: Path, recomputed: Path, tmp_path: Path, name: str
) -> None:
    """No page can be made without the list; the missing list is reported, and no other finding is lost."""
    (published / f"{name}.json").unlink()
    assert _found(published, recomputed, tmp_path) == [
        f"page: no page can be rendered: {name}.json is missing"
    ]


def test_statement_without_evidence_is_named(
    published: Path, recomputed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the pages cannot be rendered, the reason is the only difference."""

    def render(*arguments: object) -> None:
        raise StatementWithoutEvidence(["C.a has none"])

    monkeypatch.setattr("reports.verify.page_verification.render_site", render)
    (sentence,) = _found(published, recomputed, tmp_path)
    assert sentence.startswith("page: no page can be rendered: ")
    assert sentence.endswith("C.a has none")
