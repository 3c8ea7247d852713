"""Generated documents, hand-written lists and pictures agree with the code."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from fixtures.run_size import RUN_SIZES
from reference_model.profiles.profile import APACHE_KAFKA, FOLDER
from reports.site.advertised_page import RECORDED_COLUMNS
from reports.site.rendering import Site
from tests.conformance.suite_runs import REPOSITORY
from wire.read_only import READ_ONLY, ReadOnlyApi
from workflows.documents.__main__ import DOCUMENTS, document
from workflows.documents.reference_lists import VARIABLES
from workflows.documents.screenshots import GRID, NAVIGATION, SAMPLE, pictures
from workflows.documents.upgrade_pages import upgrade_pages


@pytest.mark.parametrize("name", DOCUMENTS)
def test_document_is_current(name: str) -> None:
    """Writing it again with `python -m workflows.documents` changes nothing; the diff shows a lost clause, for
    example."""
    assert (REPOSITORY / name).read_text(encoding="utf-8") == document(name)


def test_no_page_of_an_upgrade_is_left_over() -> None:
    """With a new release of Kafka the pages have other names."""
    written = {f"docs/upgrades/{path.name}" for path in (REPOSITORY / "docs" / "upgrades").iterdir()}
    assert written == {*upgrade_pages()}


@pytest.mark.parametrize("table", RECORDED_COLUMNS)
def test_recorded_tables_have_the_columns_of_their_files(table: str) -> None:
    """The CSV file of the profiles and the declared columns name the same columns in the same order."""
    with (FOLDER / f"{table}.csv").open(encoding="utf-8") as file:
        assert next(csv.reader(file)) == list(RECORDED_COLUMNS[table])


@pytest.mark.parametrize("name", [name for name in VARIABLES if name.startswith("KAFKA_")])
def test_variable_is_read_by_the_suite(name: str) -> None:
    """A variable that docs/commands.md names is one that the code knows."""
    folders = ("conformance", "fixtures", "reports")
    files = (path for folder in folders for path in (REPOSITORY / folder).rglob("*.*"))
    texts = (path.read_text("utf-8") for path in files if path.suffix in (".py", ".j2", ".sh"))
    assert any(name in text for text in texts)


_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
PAGE = REPOSITORY / "docs" / "security.md"


def test_every_row_names_a_test_that_exists() -> None:
    """A row without one, or with one that was renamed, is a sentence that nothing shows."""
    rows = [
        line
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and "shown by" not in line
    ]
    assert len(rows) > 30
    for row in rows:
        named = _NAMED.findall(row)
        assert named, row
        for path, name in named:
            text = (REPOSITORY / path).read_text(encoding="utf-8")
            assert f"def {name}(" in text, f"{path}::{name}"


def test_document_has_the_list_of_the_gate() -> None:
    """Every API of the list is in the table, in the order of the keys, with what it reads; and no other one."""
    text = (REPOSITORY / "docs" / "what-it-sends.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| (\d+) \| (.+) \|$", text, re.MULTILINE)
    assert [(int(key), ReadOnlyApi(name, reads)) for name, key, reads in rows] == sorted(READ_ONLY.items())


def test_document_has_the_figures_that_runs_announce() -> None:
    """The table's figures are those of the line before a run."""
    text = (REPOSITORY / "docs" / "what-it-sends.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `--(\S+)(?: --tier (\w+))?` \| ([\d,]+) \| ([\d,]+) \|$", text, re.M)
    found = {
        (tier or "standard", kind): tuple(int(each.replace(",", "")) for each in figures)
        for kind, tier, *figures in rows
    }
    assert found == RUN_SIZES


ROLES = ("broker", "client", "operation")
MAX_BYTES = 100_000
PICTURES = [GRID, *sorted(SAMPLE.glob("*.png"))]


def navigation_of(path: Path) -> list[tuple[str, str]]:
    """Return the navigation that a picture shows: address and title of each entry; none if the picture does not say
    it."""
    with Image.open(path) as image:
        return [(address, title) for address, title in json.loads(image.info.get(NAVIGATION, "[]"))]


def navigation_now() -> list[tuple[str, str]]:
    """Return the navigation of a site with every role, as it is before the first verdict has changed."""
    column = SimpleNamespace(implementation=APACHE_KAFKA)
    folded = SimpleNamespace(by_role=dict.fromkeys(ROLES), columns=[column])
    site: Any = SimpleNamespace(folded=folded, has_changes=False)
    return list(vars(Site)["pages"].func(site))


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_picture_shows_the_navigation_of_now(path: Path) -> None:
    """`nox -s screenshots -- SITE` takes them again."""
    assert navigation_of(path) == navigation_now()


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_picture_is_small(path: Path) -> None:
    """Everyone who clones the repository loads them."""
    assert path.stat().st_size <= MAX_BYTES
    with Image.open(path) as image:
        assert image.mode == "P"


def test_every_picture_is_there() -> None:
    """No picture is left of a page that is not shown any more."""
    assert {each.path for each in pictures("p", "u", "f")} == set(PICTURES)
